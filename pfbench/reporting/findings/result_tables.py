"""The results of a study as tables: expected calls to each target, last values, ranks."""

import csv
import io
import math
from collections.abc import Collection, Iterator, Sequence

from pfbench.base.counts import COUNTED
from pfbench.base.visible import spreadsheet_text
from pfbench.reporting.comparison import Compared, Comparison, Scored, at_equal_counts, compare
from pfbench.reporting.findings.ranking import ranked_by, ranking
from pfbench.reporting.findings.seeds import too_few
from pfbench.reporting.results import Results
from pfbench.reporting.statistics.curves import Final
from pfbench.reporting.statistics.prices import PRODUCTS, Price
from pfbench.reporting.tables import Cell, Row, Table, calls
from pfbench.reporting.words import AXES, inside

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


def comparisons(results: Results) -> list[Comparison]:
    """Return the comparison of a study in its price, if it states one, then in each kind of calls.

    Last, where lmo_products is measured, stand products of matrices. Full gradients are no kind of
    their own where their component gradients are in the SFO. Without targets there are no calls to
    them, and one comparison.
    """
    made = [kind for kind in AXES if kind in COUNTED and any(one.makes(kind) for one in results)]
    kinds = [kind for kind in made if kind != "fo" or "sfo" not in made]
    prices = [Price.of(kind) for kind in kinds or ["sfo"]]
    stated = [Price.of(results.study.price)] if results.study.price else []
    products = [PRODUCTS] if "lmo_products" in results.study.measures else []
    several = list(dict.fromkeys([*stated, *prices, *products]))
    equal = list(map(at_equal_counts, results.panels))
    prices = several[: None if results.study.targets else 1]
    return [compare(results, price, equal) for price in prices]


def results_tables(compared: Sequence[Comparison]) -> list[Table]:
    """Return a table for each kind of calls; the first has the last values, which have no kind."""
    return [results_table(one, last=number == 0) for number, one in enumerate(compared)]


def results_table(
    comparison: Comparison, *, last: bool = True, only: Collection[str] | None = None
) -> Table:
    """Return who needs how many calls to each target, where all end, and in which order.

    Parameters
    ----------
    last
        Whether the last values are in it, which then rank those that reach no target.
    only
        The algorithms that have a row; all, if it is not given.
    """
    ranked = ranking(comparison.results, comparison.price, last=last)
    study = comparison.results.study
    shown = comparison.measures if last else ()
    rows = []
    for compared, (_, ordered) in zip(comparison.panels, ranked, strict=True):
        places = {one.group.label: one.place for one in ordered}
        for at, scored in enumerate(compared.scored):
            if only is not None and scored.group.label not in only:
                continue
            rows.append(_row(compared, at, places[scored.group.label], shown))
    targets = [f"{target.measure} ≤ {target.target:g}" for target in comparison.targets]
    measures = [f"last {inside(measure)}" for measure in shown]
    limited = any(one.limits for one in comparison.panels)
    return Table(
        f"{study.title}: {comparison.price} to each target"
        if targets
        else f"{study.title}: last values{' at equal counts' if limited else ''}",
        _note(comparison, last),
        (comparison.results.head, "algorithm", "place", *targets, *measures),
        rows,
    )


def _note(comparison: Comparison, last: bool) -> str:
    """Return how to read the table of results."""
    parts = []
    if comparison.targets:
        parts.append(
            f"Expected {comparison.price.calls} to each target: all that the runs were charged, a "
            "failed one what it spent itself, over the number that reached it; in brackets the "
            "95 % interval over seeds (bootstrap), then how many runs reached it."
        )
    if last:
        equal = "; those that reach the hardest target count as equal" if comparison.targets else ""
        parts.append(f"Last values are medians (least to greatest) {_where(comparison)}{equal}.")
    parts.append(ranked_by(comparison.results, comparison.price))
    parts.append(
        "Bold: better than every other by a rank test over the seeds (Holm at 5 % over the tests "
        "of the best against each other one, in all columns)."
    )
    return " ".join(filter(None, [*parts, _too_few(comparison)]))


def _too_few(comparison: Comparison) -> str:
    """Return a sentence where so few seeds can tell nothing, whatever they are."""
    columns = len(comparison.targets) + len(comparison.measures)
    pairs = columns * sum(len(one.scored) - 1 for one in comparison.panels)
    return too_few(
        len(comparison.results.study.seeds), pairs, "tell no two methods apart in a table of"
    )


def _where(comparison: Comparison) -> str:
    budgets = dict.fromkeys(
        ", ".join(f"{calls(limit)} {kind.upper()}" for kind, limit in one.limits.items())
        for one in comparison.panels
    )
    if list(budgets) == [""]:
        return "where each run ended by itself, as no budget is stated"
    if len(budgets) > 1:
        return "within the budget that all runs of a panel have"
    return f"within {next(iter(budgets))}"


def _row(compared: Compared, at: int, place: int | None, measures: Sequence[str]) -> Row:
    scored = compared.scored[at]
    cells: list[Cell] = [place, *scored.expected]
    leading = list(compared.by_target)
    for measure in measures:
        cells.append(_last(scored, measure))
        leading.append(compared.by_measure[measure])
    best = frozenset(k for k, one in enumerate(leading, 1) if one == at)
    return Row(compared.panel.title, scored.group.label, cells, best)


def _mark(leading: int | None, at: int) -> str:
    """Return how the table marks an algorithm."""
    return "best" if leading == at else ""


def _last(scored: Scored, measure: str) -> Final:
    values = scored.last[measure]
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return Final(math.nan, math.nan, math.nan, 0, len(values))
    return Final(scored.median(measure), min(known), max(known), len(known), len(values))


def results_csv(comparisons: Sequence[Comparison]) -> str:
    """Return expected calls and last values as CSV, one line for each number."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_HEAD)
    for number, comparison in enumerate(comparisons):
        for compared in comparison.panels:
            for at, scored in enumerate(compared.scored):
                group = scored.group
                names = map(spreadsheet_text, (group.problem, group.setting, group.label))
                begin = [*names]
                for line in _lines(comparison, compared, at, last=number == 0):
                    writer.writerow([*begin, *line])
    return file.getvalue()


def _lines(
    comparison: Comparison, compared: Compared, at: int, *, last: bool
) -> Iterator[list[Cell]]:
    """Yield the lines of an algorithm; the last values, which have no price, only if asked for."""
    scored = compared.scored[at]
    for target, found, leading in zip(
        comparison.targets, scored.expected, compared.by_target, strict=True
    ):
        if found is not None:
            ends = found.interval or (None, None)
            expected = [found.value, *ends, found.hits, found.planned]
            mark = _mark(leading, at)
            yield [str(comparison.price), target.measure, target.target, *expected, mark]
    for measure in comparison.measures if last else ():
        cell, mark = _last(scored, measure), _mark(compared.by_measure[measure], at)
        yield ["", measure, None, cell.median, cell.low, cell.high, cell.runs, cell.planned, mark]
