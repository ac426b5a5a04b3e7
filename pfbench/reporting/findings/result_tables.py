"""The results of a study as tables: expected calls to each target, last values, ranks."""

import csv
import io
import math
from collections.abc import Collection, Iterator, Sequence

from pfbench.base.counts import COUNTED
from pfbench.base.escaping import escape_spreadsheet
from pfbench.reporting.comparison import (
    Comparison,
    ScoredAlgorithm,
    SettingComparison,
    compare_algorithms,
    truncate_to_equal_counts,
)
from pfbench.reporting.findings.ranking import rank_algorithms, ranking_basis_sentence
from pfbench.reporting.results import StudyResults
from pfbench.reporting.statistics.cost import PRODUCTS, Cost
from pfbench.reporting.statistics.seed_curves import FinalSummary
from pfbench.reporting.statistics.significance import seed_warning
from pfbench.reporting.tables import Cell, Table, TableRow, format_calls
from pfbench.reporting.wording import AXES, name_within_sentence

CSV_HEAD = (
    "problem",
    "setting",
    "algorithm",
    "price",
    "measure",
    "target",
    "expected",
    "low",
    "high",
    "hits",
    "runs",
    "standing",
)


def compare_by_each_price(results: StudyResults) -> list[Comparison]:
    """Return the comparisons of a study: at its price, if stated, then by each kind of calls.

    If lmo_products is measured, the last comparison is by products of matrices. Full gradients
    (FO) are compared only if no run counts component gradients (SFO). A study without targets has
    only the first comparison.
    """
    axes = [
        kind
        for kind in AXES
        if kind in COUNTED and any(group.makes_calls(kind) for group in results)
    ]
    kinds = [kind for kind in axes if kind != "fo" or "sfo" not in axes]
    prices = [Cost.from_weights(kind) for kind in kinds or ["sfo"]]
    costs = [Cost.from_weights(results.study.price)] if results.study.price else []
    products = [PRODUCTS] if "lmo_products" in results.study.measures else []
    other_costs = list(dict.fromkeys([*costs, *prices, *products]))
    equal = list(map(truncate_to_equal_counts, results.panels))
    prices = other_costs[: None if results.study.targets else 1]
    return [compare_algorithms(results, price, equal) for price in prices]


def results_tables(comparisons: Sequence[Comparison]) -> list[Table]:
    """Return a table for each price; only the first has the last values, which depend on none."""
    return [
        results_table(comparison, include_last_values=number == 0)
        for number, comparison in enumerate(comparisons)
    ]


def results_table(
    comparison: Comparison,
    *,
    include_last_values: bool = True,
    labels: Collection[str] | None = None,
) -> Table:
    """Return the table of expected calls to each target, last values and ranks.

    Parameters
    ----------
    include_last_values
        Whether the table has the last values, which then rank algorithms that reach no target.
    labels
        Labels of the algorithms that have a row; all if not given.
    """
    ranked = rank_algorithms(
        comparison.results, comparison.price, use_last_values=include_last_values
    )
    study = comparison.results.study
    displayed = comparison.measures if include_last_values else ()
    rows = []
    for compared, (_, ordered) in zip(comparison.panels, ranked, strict=True):
        ranks = {ranked.group.label: ranked.rank for ranked in ordered}
        for index, scored in enumerate(compared.algorithms):
            if labels is not None and scored.group.label not in labels:
                continue
            rows.append(_algorithm_row(compared, index, ranks[scored.group.label], displayed))
    targets = [f"{target.measure} ≤ {target.target:g}" for target in comparison.targets]
    measures = [f"last {name_within_sentence(measure)}" for measure in displayed]
    limited = any(panel.limits for panel in comparison.panels)
    return Table(
        f"{study.title}: {comparison.price} to each target"
        if targets
        else f"{study.title}: last values{' at equal counts' if limited else ''}",
        _table_note(comparison, include_last_values),
        (comparison.results.head, "algorithm", "place", *targets, *measures),
        rows,
    )


def _table_note(comparison: Comparison, include_last_values: bool) -> str:
    """Return the note that explains the columns and marks of the table of results."""
    parts = []
    if comparison.targets:
        parts.append(
            f"Expected {comparison.price.description} to each target: the calls charged to all runs (to a "  # noqa: E501
            "failed run all its own calls) over the number of runs that reach it; in brackets the "
            "95 % interval over seeds (bootstrap), then how many runs reach the target."
        )
    if include_last_values:
        equal = "; those that reach the hardest target count as equal" if comparison.targets else ""
        parts.append(
            f"Last values are medians (least to greatest) {_panel_title(comparison)}{equal}."
        )
    parts.append(ranking_basis_sentence(comparison.results, comparison.price))
    parts.append(
        "Bold: significantly better than every other method (rank test over the seeds, Holm at 5 % "
        "over the tests of the best against each other method, in all columns)."
    )
    return " ".join(filter(None, [*parts, _seed_warning(comparison)]))


def _seed_warning(comparison: Comparison) -> str:
    """Return a sentence if there are too few seeds for any significant result; or ''."""
    columns = len(comparison.targets) + len(comparison.measures)
    pairs = columns * sum(len(panel.algorithms) - 1 for panel in comparison.panels)
    return seed_warning(
        len(comparison.results.study.seeds), pairs, "tell no two methods apart in a table of"
    )


def _panel_title(comparison: Comparison) -> str:
    budgets = dict.fromkeys(
        ", ".join(f"{format_calls(limit)} {kind.upper()}" for kind, limit in panel.limits.items())
        for panel in comparison.panels
    )
    if list(budgets) == [""]:
        return "at the end of each run, as no budget is stated"
    if len(budgets) > 1:
        return "within the budget that all runs of a panel have"
    return f"within {next(iter(budgets))}"


def _algorithm_row(
    panel: SettingComparison, point: int, index: int | None, measures: Sequence[str]
) -> TableRow:
    scored = panel.algorithms[point]
    cells: list[Cell] = [index, *scored.calls_until_targets]
    leading = list(panel.leader_by_target)
    for measure in measures:
        cells.append(_summarise_last_value(scored, measure))
        leading.append(panel.leader_by_measure[measure])
    best = frozenset(k for k, number in enumerate(leading, 1) if number == point)
    return TableRow(panel.panel.title, scored.group.label, cells, best)


def _leader_mark(leading: int | None, index: int) -> str:
    """Return ``best`` for the significant leader of a column, else ''."""
    return "best" if leading == index else ""


def _summarise_last_value(algorithm: ScoredAlgorithm, measure: str) -> FinalSummary:
    values = algorithm.last_values[measure]
    existing = [value for value in values if math.isfinite(value)]
    if not existing:
        return FinalSummary(math.nan, math.nan, math.nan, 0, len(values))
    return FinalSummary(
        algorithm.median(measure), min(existing), max(existing), len(existing), len(values)
    )


def results_csv(comparisons: Sequence[Comparison]) -> str:
    """Return a study as CSV: a line for each expected calls, last value and exact count.

    A line without a measure has the fewest and the most calls that a run spent in total.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_HEAD)
    for number, comparison in enumerate(comparisons):
        for compared in comparison.panels:
            for index, scored in enumerate(compared.algorithms):
                group = scored.group
                names = map(escape_spreadsheet, (group.problem, group.setting, group.label))
                begin = [*names]
                for line in _csv_lines(
                    comparison, compared, index, include_last_values=number == 0
                ):
                    writer.writerow([*begin, *line])
    for study_results in comparisons[0].results:
        for kind in COUNTED:
            spent = [getattr(run.counts, kind) for run in study_results.runs]
            names = map(
                escape_spreadsheet,
                (study_results.problem, study_results.setting, study_results.label),
            )
            ends = min(spent), max(spent), "", len(spent), ""
            writer.writerow([*names, kind.upper(), "", "", "", *ends])
    return file.getvalue()


def _csv_lines(
    comparison: Comparison, panel: SettingComparison, index: int, *, include_last_values: bool
) -> Iterator[list[Cell]]:
    """Yield the CSV lines of an algorithm: expected calls, and on request last values."""
    scored = panel.algorithms[index]
    for target, cost, leading in zip(
        comparison.targets, scored.calls_until_targets, panel.leader_by_target, strict=True
    ):
        if cost is not None:
            ends = cost.interval or (None, None)
            expected = [cost.value, *ends, cost.hits, cost.planned_runs]
            mark = _leader_mark(leading, index)
            yield [str(comparison.price), target.measure, target.target, *expected, mark]
    for measure in comparison.measures if include_last_values else ():
        cell, mark = (
            _summarise_last_value(scored, measure),
            _leader_mark(panel.leader_by_measure[measure], index),
        )
        yield [
            "",
            measure,
            None,
            cell.median,
            cell.low,
            cell.high,
            cell.runs,
            cell.planned_runs,
            mark,
        ]
