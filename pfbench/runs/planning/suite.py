"""A suite: a spec of one study, of whose methods some may have no runs."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.study import Spec, Study

There = Callable[[Sequence[PlannedRun]], Collection[PlannedRun]]
"""Returns which of some runs need not be made."""


def labels_of(suite: Spec) -> list[str]:
    """Return the labels of all methods, tuned ones among them."""
    study = _study(suite)
    tuned = study.tune.methods if study.tune else ()
    return list(dict.fromkeys([*study.labels, *(one.tuned_label for one in tuned)]))


def runs_of(suite: Spec, labels: Collection[str]) -> set[PlannedRun]:
    """Return the runs of some methods."""
    study = _study(suite)
    return {
        plan
        for setting in study.settings
        for problem in study.problems
        for one in study.algorithms
        if one.label in labels
        for plan in study.every_plan(problem, one, setting)
    }


def trials_of(suite: Spec, labels: Collection[str]) -> set[PlannedRun]:
    """Return the runs of the search for some methods, which are called as they are once tuned."""
    study = _study(suite)
    return {
        plan
        for problem, method, setting in study.tuned()
        if method.tuned_label in labels
        for _, plans in study.trials(problem, method, setting)
        for plan in plans
    }


def with_first(suite: Spec, labels: Collection[str]) -> Spec:
    """Return a suite that lists some methods before the others."""
    study = _study(suite)
    ordered = sorted(study.algorithms, key=lambda one: one.label not in labels)
    return _with(suite, replace(study, algorithms=tuple(ordered)))


def with_searches(suite: Spec, labels: Collection[str], there: There) -> Spec:
    """Return a suite without the tuned methods whose search has not been made, but for some."""
    study = _study(suite)
    if study.tune is None:
        return suite
    tuned = {one.tuned_label: one for one in study.tune.methods}
    of = {label: trials_of(suite, [label]) for label in tuned}
    known = {*there([plan for label in tuned if label not in labels for plan in of[label]])}
    kept = tuple(one for label, one in tuned.items() if label in labels or of[label] <= known)
    tune = replace(study.tune, methods=kept) if kept else None
    return _with(suite, replace(study, tune=tune))


def with_runs(suite: Spec, labels: Collection[str], there: There) -> Spec:
    """Return a suite without the methods whose runs have not been made, but for some."""
    study = _study(suite)
    of = {label: runs_of(suite, [label]) for label in study.labels}
    known = {*there([plan for label in of if label not in labels for plan in of[label]])}
    kept = tuple(one for one in study.algorithms if one.label in labels or of[one.label] <= known)
    return _with(suite, replace(study, algorithms=kept))


def _study(suite: Spec) -> Study:
    (study,) = suite.studies
    return study


def _with(suite: Spec, study: Study) -> Spec:
    return replace(suite, studies=(study,))
