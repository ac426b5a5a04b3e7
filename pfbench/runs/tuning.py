"""Tuning before a comparison: a search that is the same for all methods.

Each method makes the same number of trials within its budget, on seeds that the comparison never
uses. On each problem, at each setting and for each target, the trial with the fewest expected calls
to the target is chosen. These are the calls that all its runs spent up to the target, divided by
the number of runs that reached it (Hansen et al., Anytime performance assessment, 2022). If no
trial reaches the target, the lowest last value decides; of equal trials the first of the grid is
chosen. All targets choose among the same trials, so further targets cost nothing.

If a choice lies at an end of its grid, the grid is extended once, by one value beyond that end.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median_high
from typing import Any

from pfbench.runs.execute import PlanOutcome
from pfbench.runs.loop.run import Run
from pfbench.runs.loop.stop import first_rows_reaching
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.study import LabelledSelector, Spec, Study
from pfbench.runs.planning.tune import TuningChoice, TuningPlan, TuningTrial

Make = Callable[[Spec, Sequence[PlannedRun]], Sequence[PlanOutcome]]
"""Function that executes search runs of a spec, and returns their outcomes."""


def resolve_tuning(spec: Spec, execute_search: Make) -> Spec:
    """Return a spec with chosen parameters for its tuned methods; execute the searches first.

    A spec without tuning is returned as it is.
    """
    searches = spec.search_runs()
    if not searches:
        return spec
    runs = {outcome.plan: outcome.entry.run for outcome in execute_search(spec, searches)}
    spec = spec.map_studies(lambda study: _extend_grids(study, _choose_parameters(study, runs)))
    further = [plan for plan in spec.search_runs() if plan not in runs]
    if further:
        runs |= {outcome.plan: outcome.entry.run for outcome in execute_search(spec, further)}
    return spec.map_studies(
        lambda study: _add_tuned_algorithms(study, _choose_parameters(study, runs))
    )


def _extend_grids(study: Study, choices: Sequence[TuningChoice]) -> Study:
    """Return a study with choices, whose grids are extended where a choice is at an end."""
    if study.tune and study.tune.extends_grid:
        choices = [
            replace(choice, points_beyond=tuple(choice.points_beyond_ends())) for choice in choices
        ]
    return replace(study, choices=tuple(choices))


def _choose_parameters(study: Study, runs: Mapping[PlannedRun, Run]) -> tuple[TuningChoice, ...]:
    """Return the chosen parameters of each tuned method from its trial runs."""
    if study.tune is None:
        return ()
    points_beyonds = {choice.key: choice.points_beyond for choice in study.choices}
    choices = []
    for problem, method, setting in study.iterate_tuned():
        trials = tuple(
            summarise_trial(study.tune, values, [runs[plan] for plan in plans])
            for values, plans in study.iterate_trials(problem, method, setting)
        )
        choice = TuningChoice(problem.selector, method.selector, setting.values, trials)
        choices.append(replace(choice, points_beyond=points_beyonds.get(choice.key, ())))
    return tuple(choices)


def _add_tuned_algorithms(study: Study, choices: tuple[TuningChoice, ...]) -> Study:
    """Return a study with choices, and its tuned methods among the algorithms."""
    tuned = (
        LabelledSelector(method.tuned_label, method.selector) for method in study.tuned_methods
    )
    return replace(study, algorithms=(*study.algorithms, *tuned), choices=choices)


def summarise_trial(
    tune: TuningPlan, values: Mapping[str, Any], runs: Sequence[Run]
) -> TuningTrial:
    """Summarise the runs of one grid point on the search seeds."""
    complete = [run.counts.as_dict()[tune.count] for run in runs]
    firsts = [first_rows_reaching(tune.targets, run) for run in runs]
    hits, expected, last = [], [], []
    for index, target in enumerate(tune.targets):
        calls = [first[index]["calls"] for first in firsts]
        spent = sum(
            all_of_it if to_it is None else to_it[tune.count]
            for to_it, all_of_it in zip(calls, complete, strict=True)
        )
        hits.append(sum(to_it is not None for to_it in calls))
        expected.append(spent / hits[-1] if hits[-1] else math.inf)
        last.append(median_high(run.final_value(target.measure) for run in runs))
    return TuningTrial(values, tuple(hits), tuple(expected), tuple(last), sum(complete))
