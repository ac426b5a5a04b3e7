"""Searches in processes; and the quick one that follows verdicts on bounds and error laws."""

from collections.abc import Callable, Mapping, Sequence
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
"""Seconds by which the effort of a search is counted."""

START_SECONDS = 20.0
"""Seconds beyond its limit after which the process of a search is killed: start and imports."""

OPTIONS = {"horizon": 128, "size": 3, "patience": 8.0}
"""Options of the searches that follow verdicts."""


def search_claims(
    engine: Engine,
    claims: Sequence[Claim],
    seconds: float,
    options: Mapping[str, Any],
    on_done: Callable[[], object] | None = None,
) -> list[SearchReport]:
    """Search claims in processes that are killed at their limit."""
    limit = START_SECONDS + seconds * options.get("patience", 1.0)
    search = partial(search_claim, seconds=seconds, **options)
    tasks = [Task(search, (claim,), limit, claim.name) for claim in claims]
    reports: dict[int, SearchReport] = {}
    for result in engine.do(tasks) if tasks else ():
        name, reason = claims[result.index].name, f"{result.status}: {result.reason}"
        failed = SearchReport(claim=name, verdict=REFUSED, reason=reason)
        reports[result.index] = result.value if result.status == "done" else failed
        if on_done is not None:
            on_done()
    return [reports[index] for index in sorted(reports)]


def add_worst_ratios(
    rows: Sequence[Verdict], engine: Engine, effort: str, seed: int, *, includes_catalogue: bool
) -> list[Verdict]:
    """Return verdicts with the worst ratio found, on user-defined claims and perhaps on others.

    A confirmed counterexample violates a user-defined claim that states what it assumes. Where the
    claim does not, and on claims of the catalogue, the verdict stays.
    """
    updated, indices = list(rows), list[int]()
    for k, row in enumerate(rows):
        is_open = row.verdict.keeps_bound or row.verdict is VerdictName.INCONCLUSIVE
        is_included = includes_catalogue or row.claim.user_source is not None
        if is_open and is_included and not row.lost and row.claim.kind in ("bound", "law"):
            indices.append(k)
    claims, options = [rows[k].claim for k in indices], OPTIONS | {"seed": seed}
    reports = search_claims(engine, claims, SECONDS[effort], options)
    for k, report in zip(indices, reports, strict=True):
        updated[k] = _add_report(rows[k], report)
    return updated


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
