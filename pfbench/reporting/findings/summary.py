"""What the runs of a study show, in a few sentences and two tables, all computed."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from pfbench.reporting.comparison import all_at_equal_counts, at_equal_counts
from pfbench.reporting.results import Group, Panel, Results
from pfbench.reporting.statistics.curves import final, first, nothing_varies
from pfbench.reporting.statistics.significance import Sample, leaders, middle
from pfbench.reporting.tables import Row, Table, ended_as_planned
from pfbench.reporting.words import counted, inside, listed, measure_name, significant, whole
from pfbench.runs.loop.run import Run

AIDED = ("nfwu-casvrg", "nfwu-caspiderg")
PLAIN = ("nfwu-svrg", "nfwu-spiderg")
"""What shen2019 compares: estimators with component Hessians, and those without."""

ERROR = "estimator_error"


def sentences(results: Results) -> list[str]:
    """Return what the runs show."""
    ended, results = [_ended(results), *_cut(results)], all_at_equal_counts(results)
    measured = [
        measure
        for measure in results.study.measures
        if any(math.isfinite(first(group.runs, measure)) for group in results)
    ]
    falls = [_falls(results, measure) for measure in measured]
    return [*ended, *falls, *_aided(results)]


def _cut(results: Results) -> Iterator[str]:
    """Yield what runs are compared within, where some went further."""
    for panel in results.panels:
        limits, equal = at_equal_counts(panel)
        pairs = zip(panel.groups, equal.groups, strict=True)
        cut = sum(
            run.iterations > other.iterations
            for one, others in pairs
            for run, other in zip(one.runs, others.runs, strict=True)
        )
        if cut:
            words = ", ".join(f"{kind.upper()} {whole(int(most))}" for kind, most in limits.items())
            yield (
                f"At {panel.title} all is compared within {words}, the least budget; "
                f"{counted(cut, 'run')} went further, and gained nothing by that."
            )


def _ended(results: Results) -> str:
    as_planned: Counter[str] = Counter()
    early: Counter[str] = Counter()
    for group in results:
        for plan, run in zip(group.plans, group.runs, strict=True):
            (as_planned if ended_as_planned(plan, run) else early)[run.status] += 1
    total = len(results.runs)
    whole = (
        "finished"
        if as_planned.keys() <= {"finished"}
        else f"ended as planned: {_ways(as_planned)}"
    )
    if not early:
        return f"All {counted(total, 'run')} {whole}."
    return (
        f"{counted(total - early.total(), 'run')} of {total} {whole}; the others "
        f"did not run to the end of their schedule ({_ways(early)}), and are listed below."
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


def _ways(statuses: Mapping[str, int]) -> str:
    ways = sorted(statuses.items())
    return listed([f"{whole(number)} {_WAYS[status]}" for status, number in ways])


def _falls(results: Results, measure: str) -> str:
    against = [
        f"{group.label} at {panel.title}"
        for panel, group in results.rows()
        if math.isfinite(first(group.runs, measure))
        and not final(group.runs, measure).median < first(group.runs, measure)
    ]
    name = inside(measure)
    if against:
        return f"The median {name} does not end below its start for {listed(against)}."
    where = f"every {results.place}" if len(results.panels) > 1 else results.panels[0].title
    return f"The median {name} ends below its start for every algorithm at {where}."


def _aided(results: Results) -> Iterator[str]:
    if ERROR not in results.study.measures:
        return
    by_column = {panel.title: found for panel in results.panels if (found := ratios(panel.groups))}
    values = [ratio for found in by_column.values() for ratio in found.values()]
    if not values or not all(math.isfinite(value) for value in values):
        return
    pairs = next(iter(by_column.values()))
    aided, plain = (listed(list(dict.fromkeys(names))) for names in zip(*pairs, strict=True))
    small = [column for column, found in by_column.items() if max(found.values()) < 0.1]
    if len(small) == len(by_column):
        where = f"below a tenth at every {results.place}" if len(small) > 1 else "below a tenth"
    else:
        where = f"below a tenth at {listed(small)} only" if small else "nowhere below a tenth"
    yield (
        f"The {inside(ERROR)} of {aided} ends at {significant(min(values), 2)} to "
        f"{significant(max(values), 2)} times that of {plain}: {where}."
    )


def ratios(groups: tuple[Group, ...]) -> dict[tuple[str, str], float]:
    """Return final median errors of curvature-aided estimators over those of plain ones."""
    last = {group.label: final(group.runs, ERROR).median for group in groups}
    return {
        (aided.label, plain.label): last[aided.label] / last[plain.label]
        if last[plain.label]
        else math.nan
        for aided in groups
        if aided.algorithm in AIDED
        for plain in groups
        if plain.algorithm in PLAIN
    }


def medians(results: Results) -> Table:
    """Return the table of final medians."""
    study, results = results.study, all_at_equal_counts(results)
    where = list(product(study.measures, results.panels))
    runs = [[_runs(panel, label) for label in study.labels] for _, panel in where]

    def sample(some: Sequence[Run], measure: str) -> Sample:
        lasts = np.array([run.last(measure) for run in some], dtype=float)
        return Sample(lasts, bool(some) and nothing_varies(some))

    samples = [
        [sample(some, measure) for some in row]
        for (measure, _), row in zip(where, runs, strict=True)
    ]
    leading = leaders(samples, [[middle(one.values) for one in row] for row in samples])
    rows = []
    for (measure, panel), row, first_of in zip(where, runs, leading, strict=True):
        start = first([run for some in row for run in some], measure)
        cells = [_known(value) for value in (start, *(final(some, measure).median for some in row))]
        best = frozenset() if first_of is None else frozenset({first_of + 1})
        rows.append(Row(measure_name(measure), panel.title, cells, best))
    return Table(
        f"{study.title}: final medians",
        "Median over the seeds of the last recorded value. Bold: less than every other by a rank "
        "test over the seeds (Holm at 5 % over the tests of the least against each other one).",
        ("measure", results.head, "start", *study.labels),
        rows,
    )


def ratio_table(results: Results) -> Table | None:
    """Return the table of error ratios, or None where the study does not compare these."""
    by_column = [ratios(panel.groups) for panel in all_at_equal_counts(results).panels]
    pairs = dict.fromkeys(pair for found in by_column for pair in found)
    if ERROR not in results.study.measures or not pairs:
        return None
    return Table(
        f"{results.study.title}: {measure_name(ERROR)}, with component Hessians over without",
        f"Ratios of the final medians of the {inside(ERROR)}.",
        ("", "ratio", *(panel.title for panel in results.panels)),
        [
            Row("", " / ".join(pair), [_known(found.get(pair, math.nan)) for found in by_column])
            for pair in pairs
        ],
    )


def extents(results: Results) -> Table:
    """Return the table of final values over the seeds: median, least and greatest."""
    study, results = results.study, all_at_equal_counts(results)
    rows = []
    for measure, panel in product(study.measures, results.panels):
        cells = [final(_runs(panel, label), measure) for label in study.labels]
        rows.append(Row(measure_name(measure), panel.title, cells))
    return Table(
        f"{study.title}: final values",
        "Median over the seeds of the last recorded value; in brackets the least and the greatest.",
        ("measure", results.head, *study.labels),
        rows,
    )


def _runs(panel: Panel, label: str) -> tuple[Run, ...]:
    group = panel.of(label)
    return group.runs if group else ()


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
