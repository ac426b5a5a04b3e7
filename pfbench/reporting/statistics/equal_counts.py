"""Runs at equal counts: each is truncated to the budget that all runs have."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product

from pfbench.base.counts import COUNTED, Counts
from pfbench.base.status import Status
from pfbench.runs.loop.run import Run
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.study import Spec

Limits = Mapping[str, float]
"""The largest number of calls by count."""


def common_limits(plans: Iterable[PlannedRun]) -> Limits:
    """Return the least budget of each count among planned runs.

    If a spec gives all its runs one budget, the result is that budget, and does not depend on which
    methods are compared.
    """
    common_limits: dict[str, float] = {}
    for plan in plans:
        for name, limit in (plan.budget.limits if plan.budget else {}).items():
            common_limits[name] = min(limit, common_limits.get(name, math.inf))
    return common_limits


def limits_by_plan(spec: Spec) -> dict[PlannedRun, list[Limits]]:
    """Return the budgets within which each planned run is compared, one for each panel."""
    results: dict[PlannedRun, list[Limits]] = {}
    for study in spec.studies:
        for problem, setting in product(study.problems, study.settings):
            planned = [study.plans_by_target(problem, entry, setting) for entry in study.algorithms]
            hardest = (plan for by_target in planned for plan in [*by_target.values()][-1])
            limits = common_limits(hardest)
            for plan in {
                plan
                for planned_runs in planned
                for plans in planned_runs.values()
                for plan in plans
            }:
                results.setdefault(plan, []).append(limits)
    return results


def truncate_run(run: Run, limits: Limits) -> Run:
    """Return a run truncated to limits, or the run itself if it stays within them.

    The trace ends at the last recorded row within all limits. The run is charged as much as a run
    with that budget could have spent: the counts of its next row, but no more than the limits. So a
    larger budget is no advantage.
    """
    further = {**run.counts.as_dict(), "iteration": run.iterations, "seconds": run.seconds}
    if all(further[name] <= limit for name, limit in limits.items()):
        return run
    number = first_row_beyond_limits(run, limits)
    if number < len(run.rows):
        further = dict(zip(run.columns, run.rows[number], strict=True))
    counts = {name: int(min(further[name], limits.get(name, math.inf))) for name in COUNTED}
    allowed = ", ".join(f"{name}={limit:g}" for name, limit in limits.items())
    return replace(
        run,
        status=Status.BUDGET,
        stop_reason=f"compared within {allowed}",
        iterations=int(further["iteration"]),
        counts=Counts(**counts),
        final={},
        seconds=float(further["seconds"]),
        oracle_seconds=math.nan,
        rows=run.rows[:number],
    )


def first_row_beyond_limits(run: Run, limits: Limits) -> int:
    """Return the index of the first row beyond any limit, or the number of rows."""
    locations = [(run.columns.index(name), limit) for name, limit in limits.items() if run.columns]
    exceeding = (
        index
        for index, row in enumerate(run.rows)
        if any(row[position] > limit for position, limit in locations)
    )
    return next(exceeding, len(run.rows))


OBJECTIVE, SUBOPTIMALITY = "objective", "suboptimality"
"""Trace columns: the objective, and the suboptimality computed from it."""


def add_suboptimality(run: Run, best_known: float | None) -> Run:
    """Return a run with its suboptimality as a further column, at each row and at the output.

    The suboptimality is negative where a run has found a better point than was known; this is no
    error. Without a known value, or without an objective in the trace, the run is returned
    unchanged.
    """
    if best_known is None or OBJECTIVE not in run.columns or SUBOPTIMALITY in run.columns:
        return run
    index = run.columns.index(OBJECTIVE)
    rows = [(*row, None if row[index] is None else row[index] - best_known) for row in run.rows]
    last = run.final.get(OBJECTIVE)
    final = {**run.final, SUBOPTIMALITY: None if last is None else last - best_known}
    return replace(run, columns=(*run.columns, SUBOPTIMALITY), rows=rows, final=final)
