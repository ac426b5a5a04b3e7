"""The runs of a report, grouped by study, panel and algorithm.

A panel is a problem at a setting, where algorithms are compared.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector
from pfbench.base.visible import visible
from pfbench.runs.loop.run import Run
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.published import Ordering, Unit
from pfbench.runs.planning.study import Named, Setting, Spec, Study

if TYPE_CHECKING:
    from pfbench.reporting.theory import Theory
    from pfbench.runs.execute import Outcome
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


@dataclass(frozen=True)
class Environment:
    """Where some of the runs were made."""

    values: Mapping[str, str]
    runs: int


@dataclass(frozen=True)
class Report:
    """What was planned, what became of it, and where; and what is claimed of the methods."""

    spec: Spec
    results: tuple[Results, ...]
    environments: tuple[Environment, ...]
    theory: "Theory | None" = None

    def _repr_html_(self) -> str:
        """Return the results as Jupyter shows them: who needs how many calls to each target."""
        from pfbench.reporting.findings.ranking import table

        return "".join(table(one)._repr_html_() for one in self.results)


def collect(spec: Spec, outcomes: "Sequence[Outcome]") -> Report:
    """Group the outcomes as the spec orders them; of its texts, nothing acts any more.

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
    shown = _shown(spec)
    results = tuple(_results(study, found) for study in shown.studies)
    number = Counter(tuple(found[plan].environment.items()) for plan in spec.runs())
    return Report(shown, results, _ordered(number))


def _shown(spec: Spec) -> Spec:
    """Return a report whose titles and labels can be printed; its runs are the same."""
    studies = tuple(
        replace(
            study,
            title=visible(study.title),
            about=visible(study.about, "\n\t"),
            problems=tuple(replace(one, label=visible(one.label)) for one in study.problems),
            algorithms=tuple(replace(one, label=visible(one.label)) for one in study.algorithms),
            settings=tuple(replace(one, title=visible(one.title)) for one in study.settings),
            orderings=tuple(map(_shown_ordering, study.orderings)),
            forms={visible(name): tuple(map(visible, of)) for name, of in study.forms.items()},
            units=tuple(map(_shown_unit, study.units)),
            assumed=tuple(map(visible, study.assumed)),
            tune=study.tune and study.tune.printable(),
        )
        for study in spec.studies
    )
    title, about = visible(spec.title), visible(spec.about, "\n\t")
    return replace(spec, title=title, about=about, studies=studies, text=visible(spec.text, "\n\t"))


def _shown_ordering(one: Ordering) -> Ordering:
    return replace(
        one,
        source=visible(one.source),
        says=visible(one.says),
        place=visible(one.place),
        states=visible(one.states),
        order=tuple(tuple(map(visible, place)) for place in one.order),
        problems=tuple(map(visible, one.problems)),
        settings=tuple(map(visible, one.settings)),
    )


def _shown_unit(one: Unit) -> Unit:
    otherwise = {visible(label): visible(weights) for label, weights in one.otherwise.items()}
    said = {what: visible(getattr(one, what)) for what in ("name", "weights", "says", "place")}
    return replace(one, otherwise=otherwise, **said)


def together(name: str, title: str, reports: Sequence[Report]) -> Report:
    """Return several reports as one: their studies one after the other, each with its own key."""
    studies: list[Study] = []
    results: list[Results] = []
    number: Counter[tuple[tuple[str, str], ...]] = Counter()
    for report in reports:
        for found in report.results:
            own = report.spec.name.replace(" ", "-")
            key = f"{own}-{found.study.key}" if found.study.key else own
            heading = found.study.title
            if heading != report.spec.title:
                heading = f"{report.spec.title}: {heading}"
            study = replace(found.study, key=key, title=heading)
            studies.append(study)
            results.append(replace(found, study=study))
        for environment in report.environments:
            number[tuple(environment.values.items())] += environment.runs
    about = "\n\n".join(report.spec.about for report in reports if report.spec.about)
    text = "\n".join(
        f"# {report.spec.name}.toml\n{report.spec.text.strip()}\n"
        for report in reports
        if report.spec.text
    )
    spec = Spec(name, title, about, tuple(studies), text)
    return Report(spec, tuple(results), _ordered(number))


def _results(study: Study, found: "Mapping[PlannedRun, Entry]") -> Results:
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
        plans = study.plans(problem, algorithm, setting)
        if plans:
            name = Selector.parse(plans[0].algorithm).name
            runs = tuple(found[plan].run for plan in plans)
            keys = tuple(found[plan].key for plan in plans)
            best = tuple(_best_known(found[plan]) for plan in plans)
            labels = problem.label, setting.title, algorithm.label
            promised = tuple(_promised(found[plan]) for plan in plans)
            yield Group(*labels, name, plans, runs, keys, best, promised)


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


def _ordered(number: Counter[tuple[tuple[str, str], ...]]) -> tuple[Environment, ...]:
    """Return environments, that of most runs first."""
    ordered = sorted(number.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Environment(dict(key), runs) for key, runs in ordered)
