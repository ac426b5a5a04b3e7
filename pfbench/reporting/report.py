"""Data of a whole report, made from outcomes of runs or from other reports."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import product
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.escaping import escape_hidden
from pfbench.reporting.result_tables import main_results_table
from pfbench.reporting.results import StudyResults, group_results
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.planning.study import Spec, Study


@dataclass(frozen=True)
class RateCurve:
    """Convergence rate, drawn in a log-log figure as the line measure = C / calls^power.

    Attributes
    ----------
    claim, method
        The claim that states the rate, and the method's name in the catalogue.
    measure, count
        Columns of the trace.
    power
        Exponent of the rate. The claim states no constant C; the figure takes C from the runs.
    text
        The rate as the paper states it.
    """

    claim: str
    method: str
    measure: str
    count: str
    power: float
    text: str


@dataclass(frozen=True)
class RunEnvironment:
    """Software and hardware environment of some runs, and the number of these runs."""

    values: Mapping[str, str]
    runs: int


@dataclass(frozen=True)
class Report:
    """Data of a report: spec, results, environments, and published rates of its methods."""

    spec: Spec
    results: tuple[StudyResults, ...]
    environments: tuple[RunEnvironment, ...]
    rates: tuple[RateCurve, ...] = ()
    """Published rates of the methods, for the figures of the page."""
    candidate_labels: tuple[str, ...] = ()
    """Labels of the candidate; empty in a report without a candidate."""

    def _repr_html_(self) -> str:
        """Return the tables of results as HTML, for Jupyter."""
        return "".join(main_results_table(results)._repr_html_() for results in self.results)


def collect_report(spec: Spec, outcomes: Sequence[PlanOutcome]) -> Report:
    """Return a report on the outcomes of the planned runs, grouped as in the spec.

    All texts of the spec are escaped.

    Raises
    ------
    InputError
        If a planned run has no outcome.
    """
    stored_runs = {outcome.plan: outcome.entry for outcome in outcomes}
    missing = [plan for plan in spec.runs() if plan not in stored_runs]
    if missing:
        raise InputError(
            f"{len(missing)} of the {len(spec.runs())} runs of {spec.name} have no outcome, e.g. "
            f"{missing[0].algorithm} with seed {missing[0].seed}: make the runs before the report."
        )
    printable_spec: Spec = _escape_displayed(spec)
    results = tuple(group_results(study, stored_runs) for study in printable_spec.studies)
    number = Counter(tuple(stored_runs[plan].environment.items()) for plan in spec.runs())
    return Report(printable_spec, results, _list_environments(number))


_PRINTED = re.compile(
    "title|introduction|text|name|label|studies|problems|algorithms|settings|orderings|forms|units"
    "|assumed_settings|tune|methods|source|quotation|location|stated_settings|order|weights"
    "|exceptions"
)
"""Fields of a spec that hold displayed texts, or parts with such fields; no selectors."""

_PARAGRAPHS = frozenset({"introduction", "text"})


def _escape_displayed(value: Any, allowed: str = "") -> Any:
    """Return a spec or a part of it, with displayed texts escaped; selectors stay unchanged."""
    if isinstance(value, str):
        return escape_hidden(value, allowed)
    if isinstance(value, tuple):
        return tuple(map(_escape_displayed, value))
    if isinstance(value, Mapping):
        return {_escape_displayed(key): _escape_displayed(part) for key, part in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    printed = [field.name for field in fields(value) if _PRINTED.fullmatch(field.name)]
    return replace(
        value,
        **{
            name: _escape_displayed(getattr(value, name), "\n\t" if name in _PARAGRAPHS else "")
            for name in printed
        },
    )


def merge_reports(name: str, title: str, reports: Sequence[Report]) -> Report:
    """Merge several reports into one with all their studies; each study gets a unique key."""
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
    """Return the distinct environments of the runs, the most frequent first."""
    ordered = sorted(runs_by_environment.items(), key=lambda item: (-item[1], item[0]))
    return tuple(RunEnvironment(dict(key), runs) for key, runs in ordered)


# --- rates ----------------------------------------------------------------------------------------


def figure_rates(results: StudyResults, rates: Sequence[RateCurve]) -> list[tuple[str, RateCurve]]:
    """Return (label, rate) pairs of the rates that a study's figure can show."""
    measures = {target.measure for target in results.study.targets} | {*results.study.measures}
    names = {group.label: group.algorithm for group in results}
    return [
        (label, rate)
        for (label, method), rate in product(names.items(), rates)
        if method == rate.method and rate.measure in measures
    ]
