"""The runs of a report, grouped by study, setting and algorithm."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector
from pfbench.runs.loop.run import Run
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.study import Column, Spec, Study

if TYPE_CHECKING:
    from pfbench.runs.execute import Outcome
    from pfbench.runs.storage.content import Entry


@dataclass(frozen=True)
class Group:
    """The runs of one algorithm at one setting, by seed.

    Attributes
    ----------
    column, label
        Title of the setting and name of the algorithm, as figures show them.
    algorithm
        Name of the algorithm, without its parameters.
    plans, runs
        What was planned, and what became of it, in the order of the seeds.
    """

    column: str
    label: str
    algorithm: str
    plans: tuple[PlannedRun, ...]
    runs: tuple[Run, ...]

    def makes(self, count: str) -> bool:
        """Return whether any of the runs makes calls of this kind (or took time)."""
        return count == "seconds" or any(getattr(run.counts, count) for run in self.runs)


@dataclass(frozen=True)
class Results:
    """A study with its runs."""

    study: Study
    groups: tuple[tuple[Group, ...], ...]
    """By column, then by algorithm."""

    def __iter__(self) -> Iterator[Group]:
        return chain.from_iterable(self.groups)

    @property
    def runs(self) -> list[tuple[Group, Run]]:
        """All runs, each with its group."""
        return [(group, run) for group in self for run in group.runs]


@dataclass(frozen=True)
class Environment:
    """Where some of the runs were made."""

    values: Mapping[str, str]
    runs: int


def collect(spec: Spec, outcomes: "Sequence[Outcome]") -> list[Results]:
    """Group the outcomes as the spec orders them.

    Raises
    ------
    InputError
        If a planned run has no outcome.
    """
    found = {outcome.plan: outcome.entry for outcome in outcomes}
    missing = [plan for plan in spec.runs() if plan not in found]
    if missing:
        raise InputError(
            f"{len(missing)} of the {len(spec.runs())} runs of {spec.name} have no outcome (first "
            f"{missing[0].algorithm}, seed {missing[0].seed}): make the runs before the report."
        )
    return [_results(study, found) for study in spec.studies]


def _results(study: Study, found: "Mapping[PlannedRun, Entry]") -> Results:
    def group(column: Column, label: str, algorithm: str) -> Group:
        plans = tuple(study.run(algorithm, column, seed) for seed in range(study.seeds))
        runs = tuple(found[plan].run for plan in plans)
        return Group(column.title, label, Selector.parse(plans[0].algorithm).name, plans, runs)

    algorithms = list(zip(study.labels, study.algorithms, strict=True))
    return Results(
        study, tuple(tuple(group(column, *one) for one in algorithms) for column in study.columns)
    )


def environments(spec: Spec, outcomes: "Sequence[Outcome]") -> list[Environment]:
    """Return the environments of the runs, most frequent first."""
    wanted = set(spec.runs())
    number = Counter(tuple(one.entry.environment.items()) for one in outcomes if one.plan in wanted)
    ordered = sorted(number.items(), key=lambda item: (-item[1], item[0]))
    return [Environment(dict(key), runs) for key, runs in ordered]
