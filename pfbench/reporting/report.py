"""A whole report, from outcomes or from reports: what was planned, what became of it, and where."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pfbench.base.errors import InputError
from pfbench.base.visible import visible
from pfbench.reporting.findings.ranking import table
from pfbench.reporting.results import Results, grouped
from pfbench.reporting.theory import Theory
from pfbench.runs.execute import Outcome
from pfbench.runs.planning.published import Ordering, Unit
from pfbench.runs.planning.study import Spec, Study


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
    theory: Theory | None = None
    mine: tuple[str, ...] = ()
    """The labels of the one method that the report is about; empty if it is about all alike."""

    def _repr_html_(self) -> str:
        """Return the results as Jupyter shows them: who needs how many calls to each target."""
        return "".join(table(one)._repr_html_() for one in self.results)


def collect(spec: Spec, outcomes: Sequence[Outcome]) -> Report:
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
    results = tuple(grouped(study, found) for study in shown.studies)
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


def _ordered(number: Counter[tuple[tuple[str, str], ...]]) -> tuple[Environment, ...]:
    """Return environments, that of most runs first."""
    ordered = sorted(number.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Environment(dict(key), runs) for key, runs in ordered)
