"""Runs at equal counts: what each had done when the budget that all had was spent."""

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
"""The most calls, by the name of the count."""


def common_limits(plans: Iterable[PlannedRun]) -> Limits:
    """Return the least budget of each count among planned runs.

    Where a spec gives all its runs one budget, it is that: no number follows from which methods
    are shown.
    """
    common_limits: dict[str, float] = {}
    for plan in plans:
        for name, limit in (plan.budget.limits if plan.budget else {}).items():
            common_limits[name] = min(limit, common_limits.get(name, math.inf))
    return common_limits


def limits_by_plan(spec: Spec) -> dict[PlannedRun, list[Limits]]:
    """Return the budgets within which each planned run is compared, in all panels that it is in."""
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
    """Truncate a run to smaller limits; return it unchanged if it stays within them.

    Its trace ends at the last recorded row within all limits. It is charged as much as a run of
    that budget could have spent beyond that row: up to its next row, and up to the limits. So
    nothing is gained by a larger budget.
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
"""The column that it is computed from, and the one that it becomes."""


def add_suboptimality(run: Run, best_known: float | None) -> Run:
    """Return a run with its suboptimality as a further column, at each row and at the output.

    It is negative where a run has found a better point than was known: that is no error, and is
    shown. Without a known value, or an objective in the trace, the run stays as it is.
    """
    if best_known is None or OBJECTIVE not in run.columns or SUBOPTIMALITY in run.columns:
        return run
    index = run.columns.index(OBJECTIVE)
    rows = [(*row, None if row[index] is None else row[index] - best_known) for row in run.rows]
    last = run.final.get(OBJECTIVE)
    final = {**run.final, SUBOPTIMALITY: None if last is None else last - best_known}
    return replace(run, columns=(*run.columns, SUBOPTIMALITY), rows=rows, final=final)
