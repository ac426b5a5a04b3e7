"""The quick search for a counterexample that follows the verdicts on bounds and error laws."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pfbench.base.verdicts import Verdict as VerdictName
from pfbench.runs.engines.engine import Engine
from pfbench.runs.engines.workers import Task
from pfbench.verification.falsify.falsification import search_claim
from pfbench.verification.falsify.reports import REFUSED, SearchReport
from pfbench.verification.verdict import Verdict

SECONDS = {"quick": 1.5, "full": 6.0}
"""Seconds by which the effort of a search is counted."""

_PATIENCE, _START_SECONDS = 8.0, 20.0
_KINDS = ("bound", "law")


def add_worst_ratios(
    rows: Sequence[Verdict], engine: Engine, effort: str, seed: int, *, includes_catalogue: bool
) -> list[Verdict]:
    """Return verdicts with the worst ratio found, on user-defined claims and perhaps on others.

    A confirmed counterexample violates a user-defined claim that states what it assumes. Where the
    claim does not, and on claims of the catalogue, the verdict stays.
    """
    updated, places = list(rows), list[int]()
    for k, row in enumerate(rows):
        is_open = row.verdict.keeps_bound or row.verdict is VerdictName.INCONCLUSIVE
        is_included = includes_catalogue or row.claim.user_source is not None
        if is_open and is_included and not row.lost and row.claim.kind in _KINDS:
            places.append(k)
    limit = _PATIENCE * SECONDS[effort] + _START_SECONDS
    arguments = [(rows[k].claim, SECONDS[effort], seed) for k in places]
    for result in engine.do([Task(_search, each, limit) for each in arguments]) if places else ():
        if result.status == "done":  # a method that hangs on a searched instance is killed
            k = places[result.index]
            updated[k] = _add_report(rows[k], result.value)
    return updated


def _search(claim: Any, seconds: float, seed: int) -> SearchReport:
    options: dict[str, Any] = {"patience": _PATIENCE, "has_script": False}
    return search_claim(claim, seconds=seconds, seed=seed, horizon=128, size=3, **options)


def _add_report(row: Verdict, report: SearchReport) -> Verdict:
    if report.verdict == REFUSED:
        return row
    found = {"worst ratio": report.ratio, "worst ratio at": report.worst_place}
    row = replace(row, measured={**row.measured, **found})
    claim, is_complete = row.claim, not any("no assumption" in remark for remark in report.lint)
    if not (report and claim.user_source and is_complete and report.assumptions):
        return row
    reason = (
        f"A searched instance violates it: {report.measured:.6g} > {report.bound:.6g}, ratio "
        f"{report.ratio:.6g} ({report.arithmetic}); pfbench falsify writes a script."
    )
    return replace(row, verdict=VerdictName.VIOLATED, reason=reason)
