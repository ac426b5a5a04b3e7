"""A whole report, from outcomes or from reports: what was planned, what became of it, and where."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pfbench.base.errors import InputError
from pfbench.base.escaping import escape_text
from pfbench.reporting.findings.ranking import table
from pfbench.reporting.results import StudyResults, group_results
from pfbench.reporting.theory import MethodTheory
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.planning.published import CostUnit, PublishedOrdering
from pfbench.runs.planning.study import Spec, Study


@dataclass(frozen=True)
class RunEnvironment:
    """Where some of the runs were made."""

    values: Mapping[str, str]
    runs: int


@dataclass(frozen=True)
class Report:
    """What was planned, what became of it, and where; and what is claimed of the methods."""

    spec: Spec
    results: tuple[StudyResults, ...]
    environments: tuple[RunEnvironment, ...]
    theory: MethodTheory | None = None
    candidate_labels: tuple[str, ...] = ()
    """The labels of the one method that the report is about; empty if it is about all alike."""

    def _repr_html_(self) -> str:
        """Return the results as Jupyter shows them: who needs how many calls to each target."""
        return "".join(table(results)._repr_html_() for results in self.results)


def collect_report(spec: Spec, outcomes: Sequence[PlanOutcome]) -> Report:
    """Group the outcomes as the spec orders them; of its texts, nothing acts any more.

    Raises
    ------
    InputError
        If a planned run has no outcome.
    """
    stored_runs = {outcome.plan: outcome.entry for outcome in outcomes}
    missing = [plan for plan in spec.runs() if plan not in stored_runs]
    if missing:
        raise InputError(
            f"{len(missing)} of the {len(spec.runs())} runs of {spec.name} have no outcome (first "
            f"{missing[0].algorithm}, seed {missing[0].seed}): make the runs before the report."
        )
    printable_spec = _printable_spec(spec)
    results = tuple(group_results(study, stored_runs) for study in printable_spec.studies)
    number = Counter(tuple(stored_runs[plan].environment.items()) for plan in spec.runs())
    return Report(printable_spec, results, _list_environments(number))


def _printable_spec(spec: Spec) -> Spec:
    """Return a report whose titles and labels can be printed; its runs are the same."""
    studies = tuple(
        replace(
            study,
            title=escape_text(study.title),
            introduction=escape_text(study.introduction, "\n\t"),
            problems=tuple(
                replace(entry, label=escape_text(entry.label)) for entry in study.problems
            ),
            algorithms=tuple(
                replace(entry, label=escape_text(entry.label)) for entry in study.algorithms
            ),
            settings=tuple(
                replace(setting, title=escape_text(setting.title)) for setting in study.settings
            ),
            orderings=tuple(map(_printable_ordering, study.orderings)),
            forms={
                escape_text(name): tuple(map(escape_text, form))
                for name, form in study.forms.items()
            },
            units=tuple(map(_printable_unit, study.units)),
            assumed_settings=tuple(map(escape_text, study.assumed_settings)),
            tune=study.tune and study.tune.with_escaped_labels(),
        )
        for study in spec.studies
    )
    title, description = escape_text(spec.title), escape_text(spec.introduction, "\n\t")
    return replace(
        spec,
        title=title,
        introduction=description,
        studies=studies,
        text=escape_text(spec.text, "\n\t"),
    )


def _printable_ordering(ordering: PublishedOrdering) -> PublishedOrdering:
    return replace(
        ordering,
        source=escape_text(ordering.source),
        quotation=escape_text(ordering.quotation),
        location=escape_text(ordering.location),
        stated_settings=escape_text(ordering.stated_settings),
        order=tuple(tuple(map(escape_text, location)) for location in ordering.order),
        problems=tuple(map(escape_text, ordering.problems)),
        settings=tuple(map(escape_text, ordering.settings)),
    )


def _printable_unit(unit: CostUnit) -> CostUnit:
    otherwise = {
        escape_text(label): escape_text(weights) for label, weights in unit.exceptions.items()
    }
    statement = {
        subject: escape_text(getattr(unit, subject))
        for subject in ("name", "weights", "says", "place")
    }
    return replace(unit, exceptions=otherwise, **statement)


def merge_reports(name: str, title: str, reports: Sequence[Report]) -> Report:
    """Return several reports as one: their studies one after the other, each with its own key."""
    studies: list[Study] = []
    results: list[StudyResults] = []
    number: Counter[tuple[tuple[str, str], ...]] = Counter()
    for report in reports:
        for result in report.results:
            own = report.spec.name.replace(" ", "-")
            key = f"{own}-{result.study.key}" if result.study.key else own
            heading = result.study.title
            if heading != report.spec.title:
                heading = f"{report.spec.title}: {heading}"
            study = replace(result.study, key=key, title=heading)
            studies.append(study)
            results.append(replace(result, study=study))
        for environment in report.environments:
            number[tuple(environment.values.items())] += environment.runs
    description = "\n\n".join(
        report.spec.introduction for report in reports if report.spec.introduction
    )
    text = "\n".join(
        f"# {report.spec.name}.toml\n{report.spec.text.strip()}\n"
        for report in reports
        if report.spec.text
    )
    spec = Spec(name, title, description, tuple(studies), text)
    return Report(spec, tuple(results), _list_environments(number))


def _list_environments(
    runs_by_environment: Counter[tuple[tuple[str, str], ...]],
) -> tuple[RunEnvironment, ...]:
    """Return environments, that of most runs first."""
    ordered = sorted(runs_by_environment.items(), key=lambda item: (-item[1], item[0]))
    return tuple(RunEnvironment(dict(key), runs) for key, runs in ordered)
