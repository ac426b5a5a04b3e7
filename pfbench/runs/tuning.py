"""Tuning before a comparison: a search that is the same for all methods, and what it chooses.

Each method makes as many trials, on seeds that the comparison never uses, within its budget. On
each problem at each setting the trial of the fewest expected calls to the target is chosen: what
all its runs spent up to it, over the number that reached it, as expected runtimes are defined
(Hansen et al., Anytime performance assessment, 2022). Where no trial reaches the target, the lowest
last value decides; of equal trials the first of the grid is taken.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pfbench.runs.execute import Outcome
from pfbench.runs.loop.run import Run
from pfbench.runs.loop.stop import reached
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.study import Named, Spec, Study
from pfbench.runs.planning.tune import Choice, Trial, Tune

Make = Callable[[Sequence[PlannedRun]], Sequence[Outcome]]
"""Returns what became of planned runs."""


def settled(spec: Spec, make: Make) -> Spec:
    """Return a spec in which each tuned method stands at what was chosen; the search is made first.

    A spec without tuning is returned as it is.
    """
    searches = spec.searches()
    if not searches:
        return spec
    runs = {outcome.plan: outcome.entry.run for outcome in make(searches)}
    return replace(spec, studies=tuple(_settled(study, runs) for study in spec.studies))


def _settled(study: Study, runs: Mapping[PlannedRun, Run]) -> Study:
    if study.tune is None:
        return study
    choices = []
    for problem, method, setting in study.tuned():
        trials = tuple(
            trial(study.tune, values, [runs[plan] for plan in plans])
            for values, plans in study.trials(problem, method, setting)
        )
        choices.append(Choice(problem.selector, method.selector, setting.values, trials))
    tuned = (Named(one.tuned_label, one.selector) for one in study.tune.methods)
    return replace(study, algorithms=(*study.algorithms, *tuned), choices=tuple(choices))


def trial(tune: Tune, values: Mapping[str, Any], runs: Sequence[Run]) -> Trial:
    """Return what became of one point of a grid, from its runs by the seeds of the search."""
    firsts = [reached([tune.target], run.columns, run.rows)[0]["calls"] for run in runs]
    spent = [
        (first or run.counts.as_dict())[tune.count] for first, run in zip(firsts, runs, strict=True)
    ]
    hits = sum(first is not None for first in firsts)
    lasts = sorted(run.last(tune.target.measure) for run in runs)
    return Trial(values, hits, sum(spent) / hits if hits else math.inf, lasts[len(lasts) // 2])
