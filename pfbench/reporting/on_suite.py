"""One method on a suite, beside the methods that have runs there."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pfbench.base.errors import InputError
from pfbench.reporting.report import Report, collect
from pfbench.runs.execute import Outcome
from pfbench.runs.planning.candidate import entered
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.study import Spec
from pfbench.runs.planning.suite import (
    labels_of,
    runs_of,
    trials_of,
    with_first,
    with_labels,
    with_runs,
    with_searches,
)
from pfbench.runs.tuning import settled


class Runs(Protocol):
    """Where the runs of a comparison come from."""

    def there(self, plans: Sequence[PlannedRun]) -> Collection[PlannedRun]:
        """Return those runs that need not be made."""

    def of(
        self, title: str, plans: Sequence[PlannedRun], mine: Collection[PlannedRun]
    ) -> Sequence[Outcome]:
        """Return what became of runs; `mine` are those of the method itself."""

    def told(self, spec: Spec, outcomes: Sequence[Outcome], left_out: Sequence[str]) -> list[str]:
        """Return where the runs come from, in words."""


@dataclass(frozen=True)
class OnSuite:
    """A method on a suite.

    Attributes
    ----------
    labels
        Its labels there.
    own
        Its runs.
    every
        All runs, those of searches among them.
    report
        The report of all.
    """

    labels: tuple[str, ...]
    own: Sequence[Outcome]
    every: Sequence[Outcome]
    report: Report


def put_on(suite: Spec, method: str, runs: Runs, *, rerun: bool = False) -> OnSuite:
    """Put a method on a suite: tune it if need be, take or make all runs, and compare.

    Parameters
    ----------
    method
        As MODULE:NAME or FILE.py:NAME if it is somebody's own, which is imported.
    rerun
        Whether methods without runs are kept, so that they are made.

    Raises
    ------
    InputError
        If there is no such method, or it fits no problem of the suite.
    """
    spec, labels = entered(suite, method)
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", f"{labels[0]} on {suite.name}").strip("-.")[:100]
    spec = replace(spec, name=name, title=f"{labels[0]} on {suite.name}")
    known, every = labels_of(spec), list[Outcome]()
    if not rerun:
        spec = with_searches(spec, labels, runs.there)

    def search(of: Spec, plans: Sequence[PlannedRun]) -> Sequence[Outcome]:
        found = runs.of(f"{name}, search", plans, trials_of(of, labels))
        every.extend(found)
        return found

    spec = settled(spec, search)
    if not rerun:
        spec = with_runs(spec, labels, runs.there)
    spec, mine = with_first(spec, labels), runs_of(spec, labels)
    outcomes = runs.of(name, spec.runs(), mine)
    own = [one for one in outcomes if one.plan in mine]
    _refuse_who_fits_nowhere(suite, method, own)
    left_out = [label for label in known if label not in labels_of(spec)]
    spec, unfit = without_unfit(spec, labels, outcomes)
    planned = spec.targets
    outcomes = [one for one in outcomes if one.plan in planned]
    said = [f"They fit no problem here, and are left out: {', '.join(unfit)}."] if unfit else []
    said += runs.told(spec, outcomes, left_out)
    spec = replace(spec, about="\n\n".join([spec.about, *said]))
    report = replace(collect(spec, outcomes), mine=labels)
    return OnSuite(labels, own, [*every, *outcomes], report)


def without_unfit(
    suite: Spec, labels: Collection[str], outcomes: Sequence[Outcome]
) -> tuple[Spec, list[str]]:
    """Return a suite without the methods of which every run was refused, but for some; and them."""
    refused = {one.plan for one in outcomes if one.entry.run.status == "refused"}
    others = [label for label in suite.study.labels if label not in labels]
    unfit = [label for label in others if runs_of(suite, [label]) <= refused]
    return with_labels(suite, {*suite.study.labels} - {*unfit}), unfit


def _refuse_who_fits_nowhere(suite: Spec, method: str, mine: Sequence[Outcome]) -> None:
    runs = [one.entry.run for one in mine]
    if all(run.status == "refused" for run in runs):
        raise InputError(
            f"{method} fits no problem of the suite {suite.name}; of the first it is said: "
            f"{runs[0].stop_reason.rstrip('.')}. Name another suite, or a spec of yours, with "
            "--suite."
        )
