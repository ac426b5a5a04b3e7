"""What a spec calls the runs that it plans: a store knows them by their selectors alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from pfbench.base.errors import InputError
from pfbench.base.selectors import by_module
from pfbench.runs.loop.run import Run
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.study import Named, Setting, Spec, Study
from pfbench.runs.storage.content import Entry


@dataclass(frozen=True)
class Naming:
    """What a run is called, and what it was to reach; what is not known is empty.

    Attributes
    ----------
    sweep, setting, label
        The spec, the title of the setting, and the algorithm.
    targets
        As MEASURE=NUMBER, the hardest last.
    """

    sweep: str = ""
    setting: str = ""
    label: str = ""
    targets: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[str, str]:
        """The same by the names of columns."""
        return vars(self) | {"targets": ", ".join(self.targets)}


Planned = tuple[str, str, int]
"""By what a stored run is found in a spec: its problem, algorithm and seed."""


def _planned(of: PlannedRun | Run) -> Planned:
    return by_module(of.problem), by_module(of.algorithm), of.seed


def namings(spec: Spec) -> Mapping[Planned, Naming]:
    """Return what a spec calls each run; of equal runs, the first counts.

    What tuning will choose is not known: a method at any point of its grid is the tuned one on the
    seeds of the study, and a search on those of the search.
    """
    found: dict[Planned, Naming] = {}
    for study in spec.studies:
        targets = tuple(map(_written, study.targets))
        for setting, label, plan in _labelled(study):
            found.setdefault(_planned(plan), Naming(spec.name, setting.title, label, targets))
    return found


def _labelled(study: Study) -> Iterator[tuple[Setting, str, PlannedRun]]:
    """Yield all runs that may be made for a study, with their settings and labels."""
    parts = product(study.settings, study.problems, study.algorithms)
    for setting, problem, algorithm in parts:
        for plan in study.every_plan(problem, algorithm, setting):
            yield setting, algorithm.label, plan
    for problem, method, setting in study.tuned():
        tuned = Named(method.tuned_label, method.selector)
        for point, searched in study.trials(problem, method, setting):
            at = replace(setting, values={**setting.values, **point})
            for plan in study.every_plan(problem, tuned, at):
                yield setting, tuned.label, plan
            for plan in searched:
                yield setting, f"{method.label}, search", plan


def naming_of(entry: Entry, names: Mapping[Planned, Naming]) -> Naming:
    """Return what a stored run is called; of one that no spec names, its target where known."""
    run = entry.run
    known = names.get(_planned(run))
    if known is not None:
        return known
    try:
        stop = PlannedRun.of_json(entry.notes.get("plan", {})).stop
    except InputError:
        stop = None
    return Naming(targets=() if stop is None else (_written(stop),))


def _written(target: Stop) -> str:
    return f"{target.measure}={target.target!r}"
