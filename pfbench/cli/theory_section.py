"""Section of a report on claims about its methods: rates, and stored verdicts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pfbench.reporting.report import MethodTheory, RateLine, StatedClaim
from pfbench.runs.engines.engine import SingleProcessEngine
from pfbench.runs.engines.workers import Task, TaskResult

if TYPE_CHECKING:
    from pfbench.reporting.report import Report
    from pfbench.runs.storage.store import Store
    from pfbench.verification.claim import Claim
    from pfbench.verification.verdict import Verdict

_MEASURES = {
    "V <= eps": ("fw_gap", 1.0),
    "|G|^2 <= eps": ("gradient_mapping_sq", 1.0),
    "|G| <= eps": ("gradient_mapping_sq", 2.0),
    "f - min f <= eps": ("suboptimality", 1.0),
}
"""Measure of the trace and power of eps, by criterion."""


class _StoreOnlyEngine(SingleProcessEngine):
    """Engine that executes no task: results are only looked up."""

    def do(self, tasks: Sequence[Task]) -> Iterator[TaskResult]:
        """Yield a lost result for each task; see `Engine.do`."""
        return (TaskResult(index, None, "lost", "", 0.0) for index, _ in enumerate(tasks))


def add_theory(report: "Report", stores: "Sequence[Store]") -> "Report":
    """Return a report with the claims about its methods.

    Parameters
    ----------
    stores
        Stores in which verdicts of the present source are looked up; nothing is verified. Without
        any, no verdict is known.
    """
    from pfbench.claims.catalogue import claims_about

    methods = dict.fromkeys(group.algorithm for results in report.results for group in results)
    claims = [claim for method in methods for claim in claims_about(method)]
    verdicts = {
        name: verdict for store in stores for name, verdict in _look_up_verdicts(claims, store)
    }
    theory = MethodTheory(
        tuple(rate for claim in claims for rate in _claim_rate_lines(claim)),
        tuple(_make_stated_claim(claim, verdicts.get(claim.name)) for claim in claims),
    )
    return replace(report, theory=theory)


def _look_up_verdicts(claims: "Sequence[Claim]", store: "Store") -> "Iterator[tuple[str, Verdict]]":
    """Yield names and stored verdicts of claims: first with quick, then with full effort."""
    from pfbench.verification.session import Session

    for effort in ("quick", "full"):
        session = Session(engine=_StoreOnlyEngine(), effort=effort, store=store)
        rows = session.verify(claims).rows
        yield from ((row.claim.name, row) for row in rows if not row.lost)


def _make_stated_claim(claim: "Claim", verdict: "Verdict | None") -> StatedClaim:
    statement = (verdict.verdict, verdict.reason) if verdict else ("", "")
    return StatedClaim(claim.name, claim.method, claim.source, claim.statement, *statement)


def _claim_rate_lines(claim: "Claim") -> Iterator[RateLine]:
    """Yield the rates of a claim: after eps^-a calls to reach eps, eps is calls^(-1/a).

    Rates that need convexity are left out: a report does not know whether its problems are convex.
    """
    if claim.complexity is None or any("convex" in assumed for assumed in claim.assumptions):
        return
    measure, of_eps = _MEASURES[claim.complexity.criterion]
    for kind, order in claim.complexity.orders.items():
        if order.eps > 0.0:
            text = f"{claim.name}, {order} {kind} to {claim.complexity.criterion}"
            power = of_eps / order.eps
            yield RateLine(claim.name, claim.method, measure, kind.lower(), power, text)
