"""A suite: a spec of one study, of whose methods some may have no runs."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.study import Spec

There = Callable[[Sequence[PlannedRun]], Collection[PlannedRun]]
"""Returns which of some runs need not be made."""


def labels_of(suite: Spec) -> list[str]:
    """Return the labels of all methods, tuned ones among them."""
    return list(dict.fromkeys(suite.study.every_label))


def runs_of(suite: Spec, labels: Collection[str]) -> set[PlannedRun]:
    """Return the runs of some methods."""
    study = suite.study
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
    study = suite.study
    return {
        plan
        for problem, method, setting in study.tuned()
        if method.tuned_label in labels
        for _, plans in study.trials(problem, method, setting)
        for plan in plans
    }


def with_first(suite: Spec, labels: Collection[str]) -> Spec:
    """Return a suite that lists some methods before the others."""
    ordered = tuple(sorted(suite.study.algorithms, key=lambda one: one.label not in labels))
    return suite.each(lambda study: replace(study, algorithms=ordered))


def with_searches(suite: Spec, labels: Collection[str], there: There) -> Spec:
    """Return a suite without the tuned methods whose search has not been made, but for some."""
    tune = suite.study.tune
    if tune is None:
        return suite
    tuned = {one.tuned_label: one for one in tune.methods}
    of = {label: trials_of(suite, [label]) for label in tuned}
    known = {*there([plan for label in tuned if label not in labels for plan in of[label]])}
    kept = tuple(one for label, one in tuned.items() if label in labels or of[label] <= known)
    left = replace(tune, methods=kept) if kept else None
    return suite.each(lambda study: replace(study, tune=left))


def with_runs(suite: Spec, labels: Collection[str], there: There) -> Spec:
    """Return a suite without the methods whose runs have not been made, but for some."""
    study = suite.study
    of = {label: runs_of(suite, [label]) for label in study.labels}
    known = {*there([plan for label in of if label not in labels for plan in of[label]])}
    return with_labels(suite, {label for label in of if label in labels or of[label] <= known})


def with_labels(suite: Spec, labels: Collection[str]) -> Spec:
    """Return a suite with some of its methods alone."""
    kept = tuple(one for one in suite.study.algorithms if one.label in labels)
    return suite.each(lambda study: replace(study, algorithms=kept))
