"""Tuning before a comparison: a search that is the same for all methods, and what it chooses.

Each method makes as many trials, on seeds that the comparison never uses, within its budget. On
each problem at each setting, and for each target that is judged, the trial of the fewest expected
calls to it is chosen: what all its runs spent up to it, over the number that reached it, as
expected runtimes are defined (Hansen et al., Anytime performance assessment, 2022). Where no trial
reaches the target, the lowest last value decides; of equal trials the first of the grid is taken.
All targets choose among the same trials, and so cost nothing more.

Where a choice lies at an end of its grid, the grid goes on beyond it by one value, once.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median_high
from typing import Any

from pfbench.runs.execute import Outcome
from pfbench.runs.loop.run import Run
from pfbench.runs.loop.stop import reached
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.study import Named, Spec, Study
from pfbench.runs.planning.tune import Choice, Trial, Tune

Make = Callable[[Spec, Sequence[PlannedRun]], Sequence[Outcome]]
"""Returns what became of planned runs, which are of the search of a spec."""


def settled(spec: Spec, make: Make) -> Spec:
    """Return a spec in which each tuned method stands at what was chosen; the search is made first.

    A spec without tuning is returned as it is.
    """
    searches = spec.searches()
    if not searches:
        return spec
    runs = {outcome.plan: outcome.entry.run for outcome in make(spec, searches)}
    spec = spec.each(lambda study: _grown(study, _choices(study, runs)))
    further = [plan for plan in spec.searches() if plan not in runs]
    if further:
        runs |= {outcome.plan: outcome.entry.run for outcome in make(spec, further)}
    return spec.each(lambda study: _settled(study, _choices(study, runs)))


def _grown(study: Study, choices: Sequence[Choice]) -> Study:
    """Return a study in which grids go on beyond the ends at which a choice lies."""
    if study.tune and study.tune.beyond:
        choices = [replace(choice, beyond=tuple(choice.further())) for choice in choices]
    return replace(study, choices=tuple(choices))


def _choices(study: Study, runs: Mapping[PlannedRun, Run]) -> tuple[Choice, ...]:
    """Return what is chosen of the trials of each method; nothing where nothing is tuned."""
    if study.tune is None:
        return ()
    beyond = {choice.key: choice.beyond for choice in study.choices}
    choices = []
    for problem, method, setting in study.tuned():
        trials = tuple(
            trial(study.tune, values, [runs[plan] for plan in plans])
            for values, plans in study.trials(problem, method, setting)
        )
        choice = Choice(problem.selector, method.selector, setting.values, trials)
        choices.append(replace(choice, beyond=beyond.get(choice.key, ())))
    return tuple(choices)


def _settled(study: Study, choices: tuple[Choice, ...]) -> Study:
    """Return a study with its tuned methods among the algorithms."""
    tuned = (Named(one.tuned_label, one.selector) for one in study.tuned_methods)
    return replace(study, algorithms=(*study.algorithms, *tuned), choices=choices)


def trial(tune: Tune, values: Mapping[str, Any], runs: Sequence[Run]) -> Trial:
    """Return what became of one point of a grid, from its runs by the seeds of the search."""
    whole = [run.counts.as_dict()[tune.count] for run in runs]
    firsts = [reached(tune.targets, run) for run in runs]
    hits, expected, last = [], [], []
    for at, target in enumerate(tune.targets):
        calls = [found[at]["calls"] for found in firsts]
        spent = sum(
            all_of_it if to_it is None else to_it[tune.count]
            for to_it, all_of_it in zip(calls, whole, strict=True)
        )
        hits.append(sum(to_it is not None for to_it in calls))
        expected.append(spent / hits[-1] if hits[-1] else math.inf)
        last.append(median_high(run.last(target.measure) for run in runs))
    return Trial(values, tuple(hits), tuple(expected), tuple(last), sum(whole))
