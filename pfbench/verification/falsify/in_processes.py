"""Searches in worker processes, and the quick searches that `pfbench verify` adds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pfbench.base.verdicts import Verdict as VerdictName
from pfbench.runs.engines.engine import Engine
from pfbench.runs.engines.workers import Task
from pfbench.verification.claim import Claim
from pfbench.verification.falsify.falsification import search_claim
from pfbench.verification.falsify.reports import REFUSED, Counterexample, SearchReport
from pfbench.verification.verdict import Verdict

SECONDS = {"quick": 1.5, "full": 6.0}
"""Effort of a search that `verify` adds, in seconds (see `STEPS_PER_SECOND`), by its own effort."""

START_SECONDS = 20.0
"""Seconds that a process may take beyond its time limit, for its start and imports."""

OPTIONS = {"horizon": 128, "size": 3, "patience": 8.0}
"""Options of the searches that `verify` adds."""


def search_claims(
    engine: Engine, claims: Sequence[Claim], options: Mapping[str, Any], on_done: Any = None
) -> list[SearchReport]:
    """Search claims in processes that are killed at their limit.

    Parameters
    ----------
    engine
        Executes the searches.
    claims
        The claims.
    options
        The keyword arguments of `search_claim`, with `seconds` among them.
    on_done
        A function without arguments, called after each search.

    Returns
    -------
    list[SearchReport]
        The report on each claim; a search that was killed is refused.
    """
    limit = START_SECONDS + options["seconds"] * options.get("patience", 1.0)
    search = partial(search_claim, **options)
    tasks = [Task(search, (claim,), limit, claim.name) for claim in claims]
    reports = [SearchReport(claim=claim.name, verdict=REFUSED) for claim in claims]
    for result in engine.do(tasks) if tasks else ():
        failed = replace(reports[result.index], reason=f"{result.status}: {result.reason}")
        reports[result.index] = result.value if result.status == "done" else failed
        if on_done is not None:
            on_done()
    return reports


def add_worst_ratios(
    rows: Sequence[Verdict], engine: Engine, effort: str, seed: int, *, includes_catalogue: bool
) -> list[Verdict]:
    """Return verdicts with the largest ratio of a search, if the claim has been searched.

    User-defined bounds and error laws that are not violated are searched, and those of the
    catalogue with `includes_catalogue`. A confirmed counterexample changes the verdict of a
    user-defined claim that states its assumptions to violated. All other verdicts stay.
    """

    def is_searched(row: Verdict) -> bool:
        is_open = row.verdict.keeps_bound or row.verdict is VerdictName.INCONCLUSIVE
        is_included = includes_catalogue or row.claim.user_source is not None
        return is_open and is_included and not row.lost and row.claim.kind in ("bound", "law")

    claims = [row.claim for row in rows if is_searched(row)]
    options = OPTIONS | {"seed": seed, "seconds": SECONDS[effort]}
    reports = iter(search_claims(engine, claims, options))
    return [_add_report(row, next(reports)) if is_searched(row) else row for row in rows]


def _add_report(row: Verdict, report: SearchReport) -> Verdict:
    if report.verdict == REFUSED:
        return row
    row = replace(row, measured={**row.measured, **report.ratio_and_place})
    if not (isinstance(report, Counterexample) and report.assumptions and row.claim.user_source):
        return row
    if any("no assumption" in remark for remark in report.lint):
        return row
    reason = (
        f"A searched instance violates it: {report.measured:.6g} > {report.bound:.6g}, ratio "
        f"{report.ratio:.6g} ({report.arithmetic}); pfbench falsify writes a script."
    )
    return replace(row, verdict=VerdictName.VIOLATED, reason=reason)
