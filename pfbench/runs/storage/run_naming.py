"""Names that a spec gives to its runs: a store only has their selectors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from pfbench.base.errors import InputError
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.plan import PlannedRun, portable_identity
from pfbench.runs.planning.study import LabelledSelector, Setting, Spec, Study
from pfbench.runs.storage.serialization import StoredRun


@dataclass(frozen=True)
class RunNaming:
    """Name of a run, and its targets; unknown parts are empty.

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
        """Parts of the name, by column of a table."""
        return vars(self) | {"targets": ", ".join(self.targets)}


Planned = tuple[str, str, int]
"""Key of a stored run in a spec: its problem, algorithm and seed."""


def run_names(spec: Spec) -> Mapping[Planned, RunNaming]:
    """Return the name of each run of a spec; of equal runs, that of the first.

    The result of tuning is unknown: a method at any point of its grid counts as tuned on the seeds
    of the study, and as a trial on those of the search.
    """
    namings: dict[Planned, RunNaming] = {}
    for study in spec.studies:
        targets = tuple(map(_format_target, study.targets))
        for setting, label, plan in _iterate_labelled(study):
            namings.setdefault(
                portable_identity(plan), RunNaming(spec.name, setting.title, label, targets)
            )
    return namings


def _iterate_labelled(study: Study) -> Iterator[tuple[Setting, str, PlannedRun]]:
    """Yield all possible runs of a study, with their settings and labels."""
    parts = product(study.settings, study.problems, study.algorithms)
    for setting, problem, algorithm in parts:
        for plan in study.all_plans(problem, algorithm, setting):
            yield setting, algorithm.label, plan
    for problem, method, setting in study.iterate_tuned():
        tuned = LabelledSelector(method.tuned_label, method.selector)
        for point, searched in study.iterate_trials(problem, method, setting):
            other_setting = replace(setting, values={**setting.values, **point})
            for plan in study.all_plans(problem, tuned, other_setting):
                yield setting, tuned.label, plan
            for plan in searched:
                yield setting, f"{method.label}, search", plan


def find_naming(entry: StoredRun, names: Mapping[Planned, RunNaming]) -> RunNaming:
    """Return the name of a stored run; if the spec lacks the run, only its known target."""
    run = entry.run
    naming = names.get(portable_identity(run))
    if naming is not None:
        return naming
    try:
        stop = PlannedRun.from_json(entry.notes.get("plan", {})).stop
    except InputError:
        stop = None
    return RunNaming(targets=() if stop is None else (_format_target(stop),))


def _format_target(target: Stop) -> str:
    return f"{target.measure}={target.target!r}"
