"""Counterexample searches that a verification adds, with their effort and their effect on it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pfbench.base.status import Verdict as VerdictName
from pfbench.runs.engines.engine import Engine
from pfbench.verification.falsify.falsification import search_claims
from pfbench.verification.falsify.reports import (
    REFUSED,
    Counterexample,
    SearchReport,
    format_distinct,
)
from pfbench.verification.session import Session, Verification
from pfbench.verification.verdict import Verdict

SECONDS = {"quick": 1.5, "full": 6.0}
"""Effort of a search in seconds (see `STEPS_PER_SECOND`), by the effort of the verification."""

OPTIONS = {"horizon": 128, "size": 3, "patience": 8.0}
"""Options of the searches."""


def search_counterexamples(
    session: Session, verification: Verification, *, includes_catalogue: bool = False
) -> Verification:
    """Search for counterexamples to verified claims; return the verdicts with the search results.

    User-defined bounds and error laws that are not violated are searched. With
    `includes_catalogue`, those of the catalogue are searched, too. See `add_report`.
    """
    rows = verification.rows
    if not includes_catalogue and all(row.claim.user_source is None for row in rows):
        return verification

    def is_open(row: Verdict) -> bool:
        is_included = includes_catalogue or row.claim.user_source is not None
        return is_included and (row.verdict.keeps_bound or row.verdict is VerdictName.INCONCLUSIVE)

    reports = search_claims_of_verdicts(rows, session.engine, session.effort, session.seed, is_open)
    return Verification([add_report(row, reports.get(index)) for index, row in enumerate(rows)])


def search_claims_of_verdicts(
    rows: Sequence[Verdict],
    engine: Engine,
    effort: str,
    seed: int,
    is_selected: Callable[[Verdict], bool],
) -> dict[int, SearchReport]:
    """Search for counterexamples to the claims of verdicts; return reports by index in `rows`.

    Only bounds and error laws are searched, and no verdict that is lost, or for which the function
    `is_selected` returns False.
    """
    claims = {k: row.claim for k, row in enumerate(rows) if not row.lost and is_selected(row)}
    searched = {k: claim for k, claim in claims.items() if claim.kind in ("bound", "law")}
    options = OPTIONS | {"seed": seed, "seconds": SECONDS[effort]}
    return dict(zip(searched, search_claims(engine, [*searched.values()], options), strict=True))


def add_report(row: Verdict, report: SearchReport | None) -> Verdict:
    """Add the result of a counterexample search, if any, to a verdict.

    A confirmed counterexample changes the verdict of a user-defined claim to *violated*, if the
    claim states its assumptions. All other verdicts stay.
    """
    if report is None or report.verdict == REFUSED:
        return row
    worst = {"worst ratio": report.ratio, "worst ratio at": report.place_of_worst_ratio}
    row = replace(row, measured={**row.measured, **worst})
    if not (isinstance(report, Counterexample) and report.assumptions and row.claim.user_source):
        return row
    if any("no assumption" in remark for remark in report.lint):
        return row
    script = "; pfbench falsify writes a script" if report.script else ""
    measured, bound = format_distinct(report.measured, report.bound, digits=6)
    ratio, _ = format_distinct(report.ratio, 1.0, digits=6)
    reason = (
        f"A searched instance violates it: {measured} > {bound}, ratio {ratio} "
        f"({report.arithmetic}){script}."
    )
    numbers = {**row.measured, "searched instance: ratio": report.ratio}
    return replace(row, verdict=VerdictName.VIOLATED, reason=reason, measured=numbers)
