"""Comparison of one method with the methods of a suite that have runs."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pfbench.base.errors import InputError
from pfbench.base.status import Status
from pfbench.reporting.report import Report, collect_report
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.planning.candidate import CandidateInterface, add_candidate
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.study import Spec
from pfbench.runs.planning.suite import (
    drop_methods_without_runs,
    drop_methods_without_search,
    move_to_front,
    restrict_to_labels,
    search_trials,
    suite_labels,
    suite_runs,
)
from pfbench.runs.tuning import resolve_tuning


class RunSource(Protocol):
    """Source of the runs of a comparison, cached or new."""

    def find_cached(self, plans: Sequence[PlannedRun]) -> Collection[PlannedRun]:
        """Return the plans whose runs are cached."""

    def fetch(
        self, title: str, plans: Sequence[PlannedRun], candidate_plans: Collection[PlannedRun]
    ) -> Sequence[PlanOutcome]:
        """Return the outcomes of planned runs, executing those that are not cached."""

    def provenance(
        self, spec: Spec, outcomes: Sequence[PlanOutcome], omitted: Sequence[str]
    ) -> list[str]:
        """Return sentences on where the runs come from."""


@dataclass(frozen=True)
class SuiteComparison:
    """Comparison of a candidate with the methods of a suite.

    Attributes
    ----------
    labels
        Labels of the candidate in the suite.
    candidate_outcomes
        Runs of the candidate.
    all_outcomes
        All runs, including those of tuning searches.
    report
        The report of all methods.
    """

    labels: tuple[str, ...]
    candidate_outcomes: Sequence[PlanOutcome]
    all_outcomes: Sequence[PlanOutcome]
    report: Report


def compare_on_suite(
    suite: Spec,
    method: str,
    runs: RunSource,
    *,
    rerun: bool = False,
    interface: CandidateInterface | None = None,
) -> SuiteComparison:
    """Compare a method with a suite: tune it if needed, execute missing runs, and report.

    Parameters
    ----------
    method
        Selector; MODULE:NAME or FILE.py:NAME of a user-defined method, which is imported unless its
        interface is passed.
    rerun
        Whether methods without cached runs are kept and run.

    Raises
    ------
    InputError
        If no such method exists, or it fits no problem of the suite.
    """
    spec, labels = add_candidate(suite, method, interface)
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", f"{labels[0]} on {suite.name}").strip("-.")[:100]
    spec = replace(spec, name=name, title=f"{labels[0]} on {suite.name}")
    existing, full_list = suite_labels(spec), list[PlanOutcome]()
    if not rerun:
        spec = drop_methods_without_search(spec, labels, runs.find_cached)

    def search(spec: Spec, plans: Sequence[PlannedRun]) -> Sequence[PlanOutcome]:
        outcomes = runs.fetch(f"{name}, search", plans, search_trials(spec, labels))
        full_list.extend(outcomes)
        return outcomes

    spec = resolve_tuning(spec, search)
    if not rerun:
        spec = drop_methods_without_runs(spec, labels, runs.find_cached)
    spec, planned_runs = move_to_front(spec, labels), suite_runs(spec, labels)
    outcomes = runs.fetch(name, spec.runs(), planned_runs)
    own = [outcome for outcome in outcomes if outcome.plan in planned_runs]
    _refuse_unsuitable(suite, method, own)
    left_out = [label for label in existing if label not in suite_labels(spec)]
    spec, unfit = remove_fully_refused_methods(spec, labels, outcomes)
    planned = spec.targets
    outcomes = [outcome for outcome in outcomes if outcome.plan in planned]
    provenance = (
        [f"Methods left out, as they fit no problem here: {', '.join(unfit)}."] if unfit else []
    )
    provenance += runs.provenance(spec, outcomes, left_out)
    spec = replace(spec, introduction="\n\n".join([spec.introduction, *provenance]))
    report = replace(collect_report(spec, outcomes), candidate_labels=labels)
    return SuiteComparison(labels, own, [*full_list, *outcomes], report)


def remove_fully_refused_methods(
    suite: Spec, protected_labels: Collection[str], outcomes: Sequence[PlanOutcome]
) -> tuple[Spec, list[str]]:
    """Return a suite without fully refused methods, and the labels of those removed."""
    refused = {outcome.plan for outcome in outcomes if outcome.entry.run.status == Status.REFUSED}
    rest = [label for label in suite.study.labels if label not in protected_labels]
    unfit = [label for label in rest if suite_runs(suite, [label]) <= refused]
    return restrict_to_labels(suite, {*suite.study.labels} - {*unfit}), unfit


def _refuse_unsuitable(suite: Spec, method: str, candidate_outcomes: Sequence[PlanOutcome]) -> None:
    runs = [outcome.entry.run for outcome in candidate_outcomes]
    if all(run.status == Status.REFUSED for run in runs):
        raise InputError(
            f"{method} fits no problem of the suite {suite.name}; the first one refuses it: "
            f"{runs[0].stop_reason.rstrip('.')}. Choose another suite, or a spec file, with "
            "--suite."
        )
