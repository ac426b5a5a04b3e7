"""The runs of a report, grouped by study, panel and algorithm.

A panel is a problem at a setting, where algorithms are compared.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from pfbench.base.selectors import Selector
from pfbench.runs.loop.run import Run
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.study import Named, Setting, Study

if TYPE_CHECKING:
    from pfbench.runs.storage.content import Entry


@dataclass(frozen=True)
class Group:
    """The runs of one algorithm on one problem at one setting, by seed.

    Attributes
    ----------
    problem, setting, label
        The problem, the title of the setting and the algorithm, as figures call them.
    algorithm
        Name of the algorithm, without its parameters.
    plans, runs
        What was planned, and what became of it, in the order of the seeds.
    keys
        By what the store knows the runs.
    best_known
        The least known objective of each run's problem, None where none is stored.
    promised
        The measure that the theorem of each run's schedule bounds, and the bound; None where none
        is stored, and where the run did not come to the schedule's end.
    parts
        Of a method that is tuned to several targets, the runs in which it is judged at each; `runs`
        are then those for the hardest. Empty where these are all the same.
    """

    problem: str
    setting: str
    label: str
    algorithm: str
    plans: tuple[PlannedRun, ...]
    runs: tuple[Run, ...]
    keys: tuple[str, ...] = ()
    best_known: tuple[float | None, ...] = ()
    promised: tuple[tuple[str, float] | None, ...] = ()
    parts: "tuple[tuple[Stop, Group], ...]" = ()

    def to(self, target: Stop) -> "Group":
        """Return the runs in which it is judged at a target."""
        return next((part for stop, part in self.parts if stop == target), self)

    @property
    def each(self) -> "list[Group]":
        """These runs, and before them those of other parameters for easier targets."""
        several = {part.plans: part for _, part in self.parts if part.plans != self.plans}
        return [*several.values(), self]

    def makes(self, count: str) -> bool:
        """Return whether any of the runs makes calls of this kind (or took time)."""
        return count == "seconds" or any(getattr(run.counts, count) for run in self.runs)


@dataclass(frozen=True)
class Panel:
    """Algorithms on one problem at one setting.

    Attributes
    ----------
    problem, setting
        As figures call them.
    title
        What distinguishes the panel from the others of its study; of an only one the setting, or
        else the problem.
    groups
        By algorithm, as the study lists them; one that has no run here is left out.
    """

    problem: str
    setting: str
    title: str
    groups: tuple[Group, ...]

    @property
    def best_known(self) -> float | None:
        """The least known objective of the problem, None if none is stored for all its runs."""
        found = {value for group in self.groups for value in group.best_known}
        return found.pop() if len(found) == 1 else None

    def of(self, label: str) -> Group | None:
        """Return the runs of an algorithm, None if it has none here."""
        return next((group for group in self.groups if group.label == label), None)


@dataclass(frozen=True)
class Results:
    """A study with its runs."""

    study: Study
    panels: tuple[Panel, ...]
    """By problem, then by setting."""

    def __iter__(self) -> Iterator[Group]:
        return (group for panel in self.panels for group in panel.groups)

    @property
    def runs(self) -> list[tuple[Group, Run]]:
        """All runs, each with its group."""
        return [(group, run) for group in self for run in group.runs]

    def only(self, labels: Collection[str]) -> "Results":
        """Return the same of some algorithms."""
        algorithms = tuple(one for one in self.study.algorithms if one.label in labels)
        panels = tuple(
            replace(panel, groups=tuple(one for one in panel.groups if one.label in labels))
            for panel in self.panels
        )
        return Results(replace(self.study, algorithms=algorithms), panels)

    def rows(self) -> Iterator[tuple[Panel, Group]]:
        """Yield the groups, each with its panel."""
        return ((panel, group) for panel in self.panels for group in panel.groups)

    @property
    def head(self) -> str:
        """What the titles of the panels are."""
        parts = {"problem": self.study.problems, "setting": self.study.settings}
        several = [name for name, listed in parts.items() if len(listed) > 1]
        return ", ".join(several) or ("setting" if self.panels[0].setting else "problem")

    @property
    def place(self) -> str:
        """What one of the panels is, in a word."""
        return "panel" if "," in self.head else self.head


def grouped(study: Study, found: "Mapping[PlannedRun, Entry]") -> Results:
    """Return a study with its runs, each planned one of which has been found."""
    return Results(
        study,
        tuple(
            Panel(
                problem.label,
                setting.title,
                _title(study, problem, setting),
                tuple(_groups(study, problem, setting, found)),
            )
            for problem, setting in product(study.problems, study.settings)
        ),
    )


def _groups(
    study: Study, problem: Named, setting: Setting, found: "Mapping[PlannedRun, Entry]"
) -> Iterator[Group]:
    for algorithm in study.algorithms:
        labels = problem.label, setting.title, algorithm.label
        planned = study.plans_by_target(problem, algorithm, setting)
        last = list(planned.values())[-1]
        if not last:
            continue
        group = _group(labels, last, found)
        if len(set(planned.values())) > 1:
            parts = (
                (target, _group(labels, plans, found))
                for target, plans in planned.items()
                if target
            )
            group = replace(group, parts=tuple(parts))
        yield group


def _group(
    labels: tuple[str, str, str], plans: tuple[PlannedRun, ...], found: "Mapping[PlannedRun, Entry]"
) -> Group:
    entries = [found[plan] for plan in plans]
    return Group(
        *labels,
        Selector.parse(plans[0].algorithm).name,
        plans,
        tuple(entry.run for entry in entries),
        tuple(entry.key for entry in entries),
        tuple(map(_best_known, entries)),
        tuple(map(_promised, entries)),
    )


def _best_known(entry: "Entry") -> float | None:
    stated = entry.notes.get("best_known")
    return float(stated["value"]) if stated else None


def _promised(entry: "Entry") -> tuple[str, float] | None:
    stated = entry.notes.get("promised")
    if not stated or entry.run.status != "finished" or not math.isfinite(stated["value"]):
        return None
    return str(stated["measure"]), float(stated["value"])


def _title(study: Study, problem: Named, setting: Setting) -> str:
    several = [problem.label] if len(study.problems) > 1 else []
    several += [setting.title] if len(study.settings) > 1 else []
    return ", ".join(several) or setting.title or problem.label
