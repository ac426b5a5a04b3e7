"""Suites: specs of one study, in which some methods may have no runs."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.study import Spec

AvailableRuns = Callable[[Sequence[PlannedRun]], Collection[PlannedRun]]
"""Function that returns which of some runs exist already."""


def suite_labels(suite: Spec) -> list[str]:
    """Return the labels of all methods of a suite, including tuned ones."""
    return list(dict.fromkeys(suite.study.all_labels))


def suite_runs(suite: Spec, labels: Collection[str]) -> set[PlannedRun]:
    """Return the runs of the methods with these labels, without those of the search."""
    study = suite.study
    return {
        plan
        for setting in study.settings
        for problem in study.problems
        for entry in study.algorithms
        if entry.label in labels
        for plan in study.all_plans(problem, entry, setting)
    }


def search_trials(suite: Spec, labels: Collection[str]) -> set[PlannedRun]:
    """Return the search runs of the methods that have these labels after tuning."""
    study = suite.study
    return {
        plan
        for problem, method, setting in study.iterate_tuned()
        if method.tuned_label in labels
        for _, plans in study.iterate_trials(problem, method, setting)
        for plan in plans
    }


def move_to_front(suite: Spec, labels: Collection[str]) -> Spec:
    """Return a suite that lists some methods before the others."""
    ordered = tuple(sorted(suite.study.algorithms, key=lambda entry: entry.label not in labels))
    return suite.map_studies(lambda study: replace(study, algorithms=ordered))


def drop_methods_without_search(
    suite: Spec, kept_labels: Collection[str], available: AvailableRuns
) -> Spec:
    """Return a suite without tuned methods that lack a search run; keep some labels."""
    tune = suite.study.tune
    if tune is None:
        return suite
    tuned = {method.tuned_label: method for method in tune.methods}
    planned_runs = {label: search_trials(suite, [label]) for label in tuned}
    existing = {
        *available(
            [plan for label in tuned if label not in kept_labels for plan in planned_runs[label]]
        )
    }
    methods = tuple(
        method
        for label, method in tuned.items()
        if label in kept_labels or planned_runs[label] <= existing
    )
    left = replace(tune, methods=methods) if methods else None
    return suite.map_studies(lambda study: replace(study, tune=left))


def drop_methods_without_runs(
    suite: Spec, kept_labels: Collection[str], available: AvailableRuns
) -> Spec:
    """Return a suite without methods that lack a run; keep some labels."""
    study = suite.study
    planned_runs = {label: suite_runs(suite, [label]) for label in study.labels}
    existing = {
        *available(
            [
                plan
                for label in planned_runs
                if label not in kept_labels
                for plan in planned_runs[label]
            ]
        )
    }
    return restrict_to_labels(
        suite,
        {
            label
            for label in planned_runs
            if label in kept_labels or planned_runs[label] <= existing
        },
    )


def restrict_to_labels(suite: Spec, labels: Collection[str]) -> Spec:
    """Return a suite with only the algorithms of these labels."""
    selectors = tuple(entry for entry in suite.study.algorithms if entry.label in labels)
    return suite.map_studies(lambda study: replace(study, algorithms=selectors))
