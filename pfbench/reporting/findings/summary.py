"""What the runs of a study show, in a few sentences and two tables, all computed."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from pfbench.reporting.comparison import truncate_study, truncate_to_equal_counts
from pfbench.reporting.results import RunGroup, SettingResults, StudyResults
from pfbench.reporting.statistics.seed_curves import (
    final_summary,
    is_deterministic,
    median_start_value,
)
from pfbench.reporting.statistics.significance import SeedSample, median, significant_leaders
from pfbench.reporting.tables import Table, TableRow, is_as_planned
from pfbench.reporting.wording import (
    format_integer,
    format_significant,
    inline_name,
    join_items,
    measure_name,
    pluralize,
)
from pfbench.runs.loop.run import Run

CURVATURE_AIDED = ("nfwu-casvrg", "nfwu-caspiderg")
PLAIN = ("nfwu-svrg", "nfwu-spiderg")
"""What shen2019 compares: estimators with component Hessians, and those without."""

ERROR = "estimator_error"


def sentences(results: StudyResults) -> list[str]:
    """Return what the runs show."""
    ended, results = (
        [_ending_sentence(results), *_describe_truncation_to_equal_counts(results)],
        truncate_study(results),
    )
    measured = [
        measure
        for measure in results.study.measures
        if any(math.isfinite(median_start_value(group.runs, measure)) for group in results)
    ]
    falls = [_decrease_sentences(results, measure) for measure in measured]
    return [*ended, *falls, *_estimator_sentences(results)]


def _describe_truncation_to_equal_counts(results: StudyResults) -> Iterator[str]:
    """Yield what runs are compared within, where some went further."""
    for panel in results.panels:
        limits, equal = truncate_to_equal_counts(panel)
        pairs = zip(panel.groups, equal.groups, strict=True)
        cut = sum(
            run.iterations > other.iterations
            for group, rest in pairs
            for run, other in zip(group.runs, rest.runs, strict=True)
        )
        if cut:
            words = ", ".join(
                f"{kind.upper()} {format_integer(int(limit))}" for kind, limit in limits.items()
            )
            yield (
                f"At {panel.title} all is compared within {words}, the least budget; "
                f"{pluralize(cut, 'run')} went further, and gained nothing by that."
            )


def _ending_sentence(results: StudyResults) -> str:
    as_planned: Counter[str] = Counter()
    early: Counter[str] = Counter()
    for group in results:
        for plan, run in zip(group.plans, group.runs, strict=True):
            (as_planned if is_as_planned(plan, run) else early)[run.status] += 1
    total = len(results.runs)
    full_text = (
        "finished"
        if as_planned.keys() <= {"finished"}
        else f"ended as planned: {_format_run_endings(as_planned)}"
    )
    if not early:
        return f"All {pluralize(total, 'run')} {full_text}."
    return (
        f"{pluralize(total - early.total(), 'run')} of {total} {full_text}; the others "
        f"did not run to the end of their schedule ({_format_run_endings(early)}), and are listed below."  # noqa: E501
    )


_WAYS: Mapping[str, str] = {
    "target": "reached the target",
    "budget": "spent the budget",
    "finished": "finished",
    "timeout": "reached the time limit",
    "diverged": "diverged",
    "error": "raised an error",
    "killed": "killed",
    "refused": "refused",
}
"""How runs end, by their status."""


def _format_run_endings(statuses: Mapping[str, int]) -> str:
    ways = sorted(statuses.items())
    return join_items([f"{format_integer(number)} {_WAYS[status]}" for status, number in ways])


def _decrease_sentences(results: StudyResults, measure: str) -> str:
    against = [
        f"{group.label} at {panel.title}"
        for panel, group in results.iterate_groups()
        if math.isfinite(median_start_value(group.runs, measure))
        and not final_summary(group.runs, measure).median < median_start_value(group.runs, measure)
    ]
    name = inline_name(measure)
    if against:
        return f"The median {name} does not end below its start for {join_items(against)}."
    location = (
        f"every {results.panel_position}" if len(results.panels) > 1 else results.panels[0].title
    )
    return f"The median {name} ends below its start for every algorithm at {location}."


def _estimator_sentences(results: StudyResults) -> Iterator[str]:
    if ERROR not in results.study.measures:
        return
    by_column = {
        panel.title: result
        for panel in results.panels
        if (result := curvature_error_ratios(panel.groups))
    }
    values = [ratio for results in by_column.values() for ratio in results.values()]
    if not values or not all(math.isfinite(value) for value in values):
        return
    pairs = next(iter(by_column.values()))
    aided, plain = (join_items(list(dict.fromkeys(names))) for names in zip(*pairs, strict=True))
    small = [column for column, results in by_column.items() if max(results.values()) < 0.1]
    if len(small) == len(by_column):
        location = (
            f"below a tenth at every {results.panel_position}"
            if len(small) > 1
            else "below a tenth"
        )
    else:
        location = (
            f"below a tenth at {join_items(small)} only" if small else "nowhere below a tenth"
        )
    yield (
        f"The {inline_name(ERROR)} of {aided} ends at {format_significant(min(values), 2)} to "
        f"{format_significant(max(values), 2)} times that of {plain}: {location}."
    )


def curvature_error_ratios(groups: tuple[RunGroup, ...]) -> dict[tuple[str, str], float]:
    """Return final median errors of curvature-aided estimators over those of plain ones."""
    last = {group.label: final_summary(group.runs, ERROR).median for group in groups}
    return {
        (aided.label, plain.label): last[aided.label] / last[plain.label]
        if last[plain.label]
        else math.nan
        for aided in groups
        if aided.algorithm in CURVATURE_AIDED
        for plain in groups
        if plain.algorithm in PLAIN
    }


def median_table(results: StudyResults) -> Table:
    """Return the table of final medians."""
    study, results = results.study, truncate_study(results)
    location = list(product(study.measures, results.panels))
    runs = [[_runs_by_label(panel, label) for label in study.labels] for _, panel in location]

    def sample(some: Sequence[Run], measure: str) -> SeedSample:
        lasts = np.array([run.final_value(measure) for run in some], dtype=float)
        return SeedSample(lasts, bool(some) and is_deterministic(some))

    samples = [
        [sample(some, measure) for some in row]
        for (measure, _), row in zip(location, runs, strict=True)
    ]
    leading = significant_leaders(
        samples, [[median(sample.values) for sample in row] for row in samples]
    )
    rows = []
    for (measure, panel), row, first_of in zip(location, runs, leading, strict=True):
        start = median_start_value([run for some in row for run in some], measure)
        cells = [
            _finite_or_none(value)
            for value in (start, *(final_summary(some, measure).median for some in row))
        ]
        best = frozenset() if first_of is None else frozenset({first_of + 1})
        rows.append(TableRow(measure_name(measure), panel.title, cells, best))
    return Table(
        f"{study.title}: final medians",
        "Median over the seeds of the last recorded value. Bold: less than every other by a rank "
        "test over the seeds (Holm at 5 % over the tests of the least against each other one).",
        ("measure", results.head, "start", *study.labels),
        rows,
    )


def ratio_table(results: StudyResults) -> Table | None:
    """Return the table of error ratios, or None where the study does not compare these."""
    by_column = [curvature_error_ratios(panel.groups) for panel in truncate_study(results).panels]
    pairs = dict.fromkeys(pair for results in by_column for pair in results)
    if ERROR not in results.study.measures or not pairs:
        return None
    return Table(
        f"{results.study.title}: {measure_name(ERROR)}, with component Hessians over without",
        f"Ratios of the final medians of the {inline_name(ERROR)}.",
        ("", "ratio", *(panel.title for panel in results.panels)),
        [
            TableRow(
                "",
                " / ".join(pair),
                [_finite_or_none(results.get(pair, math.nan)) for results in by_column],
            )
            for pair in pairs
        ],
    )


def _final_value_table(results: StudyResults) -> Table:
    """Return the table of final values over the seeds: median, least and greatest."""
    study, results = results.study, truncate_study(results)
    rows = []
    for measure, panel in product(study.measures, results.panels):
        cells = [final_summary(_runs_by_label(panel, label), measure) for label in study.labels]
        rows.append(TableRow(measure_name(measure), panel.title, cells))
    return Table(
        f"{study.title}: final values",
        "Median over the seeds of the last recorded value; in brackets the least and the greatest.",
        ("measure", results.head, *study.labels),
        rows,
    )


def _runs_by_label(panel: SettingResults, label: str) -> tuple[Run, ...]:
    group = panel.find(label)
    return group.runs if group else ()


def _finite_or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
