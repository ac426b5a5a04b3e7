"""Tables of the results of a study: expected calls to each target, final values, ranks."""

import csv
import io
from collections.abc import Collection, Iterator, Sequence

from pfbench.base.counts import COUNTED
from pfbench.base.escaping import escape_spreadsheet
from pfbench.reporting.comparison import (
    Comparison,
    ScoredAlgorithm,
    SettingComparison,
    compare_algorithms,
)
from pfbench.reporting.ranking import (
    find_compared_measure,
    rank_row,
    ranking_basis_sentence,
    ranking_price,
)
from pfbench.reporting.results import RunGroup, StudyResults
from pfbench.reporting.runtimes import PRODUCTS, Cost
from pfbench.reporting.seed_curves import FinalSummary
from pfbench.reporting.significance import seed_warning
from pfbench.reporting.tables import Table, TableRow
from pfbench.reporting.wording import AXES, NOTES, name_within_sentence

CSV_HEAD = "problem,setting,algorithm,price,measure,target,expected,low,high,hits,runs,standing"


def compare_by_each_price(results: StudyResults) -> list[Comparison]:
    """Return the comparisons of a study by each cost of oracle calls.

    The first one is by the price that the study states, if any; the others are by each kind of
    calls. Full gradients (FO) are compared only if no run counts component gradients (SFO). If
    `lmo_products` is measured, the last comparison is by products of matrices. A study without
    targets has only the first comparison.
    """
    study = results.study
    counts = [k for k in AXES if k in COUNTED and any(group.makes_calls(k) for group in results)]
    kinds = [kind for kind in counts if kind != "fo" or "sfo" not in counts] or ["sfo"]
    costs = dict.fromkeys([Cost.from_weights(study.price)] if study.price else [])
    costs |= dict.fromkeys(Cost.from_weights(kind) for kind in kinds)
    if "lmo_products" in study.measures:
        costs[PRODUCTS] = None
    return [
        compare_algorithms(results, cost) for cost in list(costs)[: None if study.targets else 1]
    ]


def main_results_table(results: StudyResults) -> Table:
    """Return the table of results by the cost of oracle calls that ranks the algorithms."""
    return results_table(compare_algorithms(results, ranking_price(results)))


def results_tables(comparisons: Sequence[Comparison]) -> list[Table]:
    """Return one table of results for each cost of oracle calls.

    Only the first table has the final values, as these do not depend on the cost.
    """
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
    """Return a table of expected calls to each target, final values and ranks.

    Parameters
    ----------
    include_last_values
        Whether the table has the final values. If so, they rank algorithms that reach no target.
    labels
        Labels of the algorithms that have a row; all if not given.
    """
    results, price = comparison.results, comparison.price
    ranking_measure = find_compared_measure(results) if include_last_values else None
    displayed = comparison.measures if include_last_values else ()
    rows = []
    for panel in comparison.panels:
        ranks = rank_row(panel.algorithms, ranking_measure)
        leaders = [*panel.leader_by_target, *(panel.leader_by_measure[name] for name in displayed)]
        for index, (scored, rank) in enumerate(zip(panel.algorithms, ranks, strict=True)):
            label = scored.group.label
            if labels is None or label in labels:
                last = (_summarise_last_value(scored, measure) for measure in displayed)
                cells = [rank, *scored.calls_until_targets, *last]
                best = frozenset(k for k, leader in enumerate(leaders, 1) if leader == index)
                rows.append(TableRow(panel.panel.title, label, cells, best))
    targets = [f"{target.measure} ≤ {target.target:g}" for target in comparison.targets]
    measures = [f"last {name_within_sentence(measure)}" for measure in displayed]
    limited = any(panel.limits for panel in results.panels)
    content = f"last values{' at equal counts' if limited else ''}"
    if targets:
        content = f"{price} to each target"
    note = _table_note(comparison, include_last_values)
    return Table.from_study(results, content, note, ["place", *targets, *measures], rows)


def _table_note(comparison: Comparison, include_last_values: bool) -> str:
    """Return the note that explains the columns and marks of a table of results."""
    parts = []
    if comparison.targets:
        parts.append(NOTES["expected_calls"].format(calls=comparison.price.description))
    if include_last_values:
        parts.append(NOTES["last_values"])
    parts += [ranking_basis_sentence(comparison.results, comparison.price), NOTES["bold"]]
    columns = len(comparison.targets) + len(comparison.measures)
    pairs = columns * sum(len(panel.algorithms) - 1 for panel in comparison.panels)
    seeds = len(comparison.results.study.seeds)
    parts.append(seed_warning(seeds, pairs, "tell no two methods apart in a table of"))
    return " ".join(filter(None, parts))


def _summarise_last_value(algorithm: ScoredAlgorithm, measure: str) -> FinalSummary:
    values = algorithm.last_values[measure]
    return FinalSummary.from_values(algorithm.median_last_value(measure), values, values.size)


def results_csv(comparisons: Sequence[Comparison]) -> str:
    """Return the results of a study as CSV text.

    There is one line for each expected number of calls, each final value, and each exact count. A
    line with an exact count has no measure; its numbers are the fewest and the most calls that a
    run made in total.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_HEAD.split(","))
    for number, comparison in enumerate(comparisons):
        for panel in comparison.panels:
            for index, scored in enumerate(panel.algorithms):
                writer.writerows(_csv_lines_by_target(comparison, panel, index))
                for measure in comparison.measures if number == 0 else ():
                    mark = "best" if panel.leader_by_measure[measure] == index else ""
                    last = _summarise_last_value(scored, measure)
                    numbers = last.median, last.low, last.high, last.runs, last.planned_runs
                    writer.writerow([*_names(scored.group), "", measure, None, *numbers, mark])
    for group in comparisons[0].results:
        for kind in COUNTED:
            spent = [getattr(run.counts, kind) for run in group.runs]
            ends = "", "", "", min(spent), max(spent), "", len(spent), ""
            writer.writerow([*_names(group), kind.upper(), *ends])
    return file.getvalue()


def _csv_lines_by_target(
    comparison: Comparison, panel: SettingComparison, algorithm_index: int
) -> Iterator[list[object]]:
    """Yield the CSV lines with one algorithm's expected calls, one for each target."""
    scored, price = panel.algorithms[algorithm_index], str(comparison.price)
    columns = zip(
        comparison.targets, scored.calls_until_targets, panel.leader_by_target, strict=True
    )
    for target, cost, leader in columns:
        if cost is not None:
            numbers = cost.value, *(cost.interval or (None, None)), cost.hits, cost.planned_runs
            mark = "best" if leader == algorithm_index else ""
            column = price, target.measure, target.target
            yield [*_names(scored.group), *column, *numbers, mark]


def _names(group: RunGroup) -> list[str]:
    return [*map(escape_spreadsheet, (group.problem, group.setting, group.label))]
