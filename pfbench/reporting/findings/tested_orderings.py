"""Tests of published orders of algorithms: reproduced, flipped, or not decided.

An order is tested pair by pair, by the rank test over seeds: first in the paper's own units, then
in each kind of calls that all of its algorithms make, then in seconds. If a method has several
forms, its best form counts, on either side of a pair.

An order flips only in the unit that its paper states for it, and only if every form of the second
method is significantly ahead of every form of the first. If only some forms of the second are, the
order depends on the form. In any other unit, and for orders that no paper states, the verdicts are
"holds" and "the other way round" instead of "reproduced" and "flips".

Holm's correction is over all pairs of a study in one unit. If an order has a target, the calls to
it are compared, infinite for a missed target. Otherwise the values are compared at the calls that
all runs of the pair have spent. Less than one second decides nothing.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.reporting.comparison import truncate_study
from pfbench.reporting.results import RunGroup, SettingResults, StudyResults
from pfbench.reporting.statistics.cost import Cost
from pfbench.reporting.statistics.runtimes import make_runtimes
from pfbench.reporting.statistics.seed_curves import Array, is_deterministic, trace_column
from pfbench.reporting.statistics.significance import (
    SIGNIFICANT,
    holm_adjust,
    median,
    rank_side,
    rank_test,
)
from pfbench.runs.loop.run import COMPLETED, Run
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.published import CostUnit, PublishedOrdering
from pfbench.runs.planning.study import Study

FLIPS, TURNS, OPEN, REPRODUCED = "flips", "depends on the form", "not decided", "reproduced"
REVERSED, KEPT = "the other way round", "holds"
"""Verdicts on an order; "flips" and "reproduced" occur only in its paper's unit."""

UNTESTED = f"{REVERSED} for the best forms; not tested for every form"
"""Verdict on a reversed order if the runs of some forms are not kept."""

VERDICTS = FLIPS, REVERSED, UNTESTED, TURNS, OPEN, REPRODUCED, KEPT
"""All verdicts, those against an order first."""

SHORTEST = 1.0
"""Least run time in seconds that decides an order, as other load takes tenths of a second."""

ROUNDING = 1e-12
"""Differences up to this fraction of the largest first value are rounding errors."""


@dataclass(frozen=True)
class OrderingPair:
    """Two methods of an order, of which the first should be better.

    Attributes
    ----------
    first, second
        The labels of the forms that decide.
    values
        The compared medians of first and second; infinite if half of the runs or more have no
        value.
    better_side
        Negative if the first is better by rank, positive if it is worse, 0 if neither.
    p_value
        Corrected p-value of the rank test; 0 if nothing varies over the seeds.
    every_form_p_value
        If the second is ahead: the corrected p-value that every form of the second is ahead of
        every form of the first, which is the largest of these tests. NaN if the runs of some form
        are not kept. Otherwise `p_value`.
    least_certain_form
        If the second is ahead: the form of the second that is least significantly ahead.
    is_too_short_to_time
        Whether the pair is compared in seconds, and takes fewer than `SHORTEST`.
    is_at_start
        Whether each median is still that of the start, as no further iterate is recorded.
    """

    first: str
    second: str
    values: tuple[float, float]
    better_side: int
    p_value: float
    every_form_p_value: float = 0.0
    least_certain_form: str = ""
    is_too_short_to_time: bool = False
    is_at_start: tuple[bool, bool] = (False, False)

    @property
    def verdict(self) -> str:
        """Verdict on this pair, one of `VERDICTS`."""
        if self.better_side == 0 or self.p_value > SIGNIFICANT:
            return OPEN
        if self.better_side < 0:
            return REPRODUCED
        if math.isnan(self.every_form_p_value):
            return UNTESTED
        return FLIPS if self.every_form_p_value <= SIGNIFICANT else TURNS


@dataclass(frozen=True)
class OrderingUnit:
    """Unit of cost in which an order is judged.

    Attributes
    ----------
    title
        Name in tables.
    prices
        Cost of the calls by label of the algorithm.
    unit
        The unit of cost in the spec; None for a count of pfbench.
    """

    title: str
    prices: Mapping[str, Cost]
    unit: CostUnit | None = None

    @property
    def is_timed(self) -> bool:
        """Whether seconds are charged."""
        return any(name == "seconds" for price in self.prices.values() for name, _ in price.weights)


@dataclass(frozen=True)
class OrderingResult:
    """An order in one panel and one unit, with each of its pairs."""

    ordering: PublishedOrdering
    panel: SettingResults
    cost_unit: OrderingUnit
    pairs: tuple[OrderingPair, ...]

    @property
    def uses_paper_unit(self) -> bool:
        """Whether the paper states the unit for this order."""
        return self.cost_unit.unit is not None and self.cost_unit.unit.covers_ordering(
            self.ordering
        )

    @property
    def verdict(self) -> str:
        """Verdict on the order: it flips if a pair flips, and is reproduced if all pairs are.

        In a unit that is not the paper's, "the other way round" replaces "flips", and "holds"
        replaces "reproduced".
        """
        words = {} if self.uses_paper_unit else {FLIPS: REVERSED, REPRODUCED: KEPT}
        return words.get(self._weakest_pair, self._weakest_pair)

    @property
    def _weakest_pair(self) -> str:
        return min((pair.verdict for pair in self.pairs), key=VERDICTS.index)

    @property
    def deciding_pair(self) -> OrderingPair:
        """The pair that decides: the most significant one against the order, else the least."""
        deciding = [pair for pair in self.pairs if pair.verdict == self._weakest_pair]
        choose = min if self._weakest_pair in (FLIPS, UNTESTED, TURNS) else max
        return choose(deciding, key=lambda pair: pair.p_value)


def test_orderings(results: StudyResults) -> list[OrderingResult]:
    """Test each order of a study in each panel and unit; return results by order, unit, panel.

    The paper's own units come first, then pfbench's counts that equal none of them.
    """
    study = results.study
    if not study.orderings:
        return []
    equal = truncate_study(results)
    scales = [
        (panel, _make_units(study, panel, _list_count_kinds(equal))) for panel in equal.panels
    ]
    result: dict[int, list[OrderingResult]] = {index: [] for index in range(len(study.orderings))}
    for key in dict.fromkeys(key for _, of_panel in scales for key in of_panel):
        numbered = [
            (index, OrderingResult(ordering, panel, of_panel[key], tuple(pairs)))
            for index, ordering in enumerate(study.orderings)
            for panel, of_panel in scales
            if key in of_panel and ordering.is_about(panel.problem, panel.setting)
            if (pairs := list(_make_pairs(study, ordering, panel, of_panel[key])))
        ]
        for (point, _), correct_p_value in zip(
            numbered, _correct_p_values([t for _, t in numbered]), strict=True
        ):
            result[point].append(correct_p_value)
    return [item for index in result for item in result[index]]


def _list_count_kinds(results: StudyResults) -> list[str]:
    """Return the kinds of calls in which orders are judged."""
    charged = any(group.makes_calls("sfo") for group in results)
    # Where there are component gradients, those of full ones are among them.
    return [name for name in (*COUNTED, "seconds") if name != "fo" or not charged]


def _make_units(
    study: Study, panel: SettingResults, counts: Sequence[str]
) -> dict[str, OrderingUnit]:
    """Return the units in which a panel is judged, by key: the spec's, then pfbench's counts."""
    setting = next(setting for setting in study.settings if setting.title == panel.setting)
    labels = [group.label for group in panel.groups]
    scales = {}
    for unit in study.units:
        prices = {
            label: Cost.from_weights(study.unit_costs(unit, label, setting.values))
            for label in labels
        }
        scales[f"unit {unit.name}"] = OrderingUnit(unit.name, prices, unit)
    costs = [set(scale.prices.values()) for scale in scales.values()]
    for name in counts:
        if {price := Cost.from_weights(name)} not in costs:
            scales[name] = OrderingUnit(str(price), dict.fromkeys(labels, price))
    return scales


def _make_pairs(
    study: Study, ordering: PublishedOrdering, panel: SettingResults, cost_unit: OrderingUnit
) -> Iterator[OrderingPair]:
    """Yield an order's pairs, with uncorrected p-values; none if an algorithm makes no calls."""
    groups = {
        name: [panel.find(label) for label in study.expand_form(name)] for name in ordering.names
    }
    retained = {name: [group for group in forms if group] for name, forms in groups.items()}
    if not all(
        forms and all(_counts_calls(group, cost_unit) for group in forms)
        for forms in retained.values()
    ):
        return
    for first, second in ordering.pairs:
        pair = _decide_pair(ordering, retained[first], retained[second], cost_unit)
        is_complete = all(len(retained[name]) == len(groups[name]) for name in (first, second))
        yield pair if is_complete else _weaken_incomplete_pair(pair)


def _weaken_incomplete_pair(pair: OrderingPair) -> OrderingPair:
    """Weaken the result of a pair for which the runs of some forms are not kept.

    Without these runs it is unknown whether the first is ahead of every form of the second.
    """
    return (
        replace(pair, every_form_p_value=math.nan)
        if pair.better_side > 0
        else replace(pair, better_side=0)
    )


def _counts_calls(group: RunGroup, cost_unit: OrderingUnit) -> bool:
    return cost_unit.is_timed or any(
        cost_unit.prices[group.label].total_cost(run) > 0.0 for run in group.runs
    )


def _decide_pair(
    ordering: PublishedOrdering,
    first_forms: Sequence[RunGroup],
    second_forms: Sequence[RunGroup],
    cost_unit: OrderingUnit,
) -> OrderingPair:
    """Compare the best forms of two methods; return their pair with the side and p-values.

    The first is ahead if one of its forms is ahead of each form of the second; its p-value is the
    largest of these tests, times the number of forms tried. The second is ahead if one of its
    forms is ahead of each form of the first. The authors may have run any form of the second, so
    the largest p-value of all pairs tests whether every form of the second is ahead.
    """
    table = [
        [_test_pair(ordering, group, other, cost_unit) for other in second_forms]
        for group in first_forms
    ]
    columns = list(zip(*table, strict=True))
    # Of forms whose differences are equally significant the best one of each method is shown.
    ahead = min(
        (max(row, key=_strongest_opponent_key(-1)) for row in table), key=_strongest_form_key(-1)
    )
    behind = min(
        (max(row, key=_strongest_opponent_key(1)) for row in columns), key=_strongest_form_key(1)
    )
    flipped = len(second_forms) * _p_value_for_side(1)(behind) < len(
        first_forms
    ) * _p_value_for_side(-1)(ahead)
    pair, side, tried = (behind, 1, len(second_forms)) if flipped else (ahead, -1, len(first_forms))
    p = min(1.0, tried * pair.p_value)
    last = max(
        (max(column, key=_p_value_for_side(1)) for column in columns), key=_p_value_for_side(1)
    )
    return replace(
        pair,
        # Where each has a form that the other does not beat, nothing is told.
        better_side=side if pair.better_side == side else 0,
        p_value=p,
        every_form_p_value=min(1.0, _p_value_for_side(1)(last)) if flipped else p,
        least_certain_form=last.second if flipped else "",
    )


def _p_value_for_side(side: int) -> Callable[[OrderingPair], float]:
    """Return a key: the p-value if the pair favours the side, else 2 - p."""
    return lambda pair: pair.p_value if pair.better_side == side else 2.0 - pair.p_value


def _strongest_opponent_key(side: int) -> Callable[[OrderingPair], tuple[float, float]]:
    """Return a key whose maximum is the opponent that a form beats least significantly."""
    return lambda pair: (_p_value_for_side(side)(pair), -pair.values[1 if side < 0 else 0])


def _strongest_form_key(side: int) -> Callable[[OrderingPair], tuple[float, float]]:
    """Return a key whose minimum is the form that is most significantly ahead, then best."""
    return lambda pair: (_p_value_for_side(side)(pair), pair.values[0 if side < 0 else 1])


def _test_pair(
    ordering: PublishedOrdering, group: RunGroup, other: RunGroup, cost_unit: OrderingUnit
) -> OrderingPair:
    x, y, spent = _pair_samples_and_calls_spent(ordering, group, other, cost_unit)
    values = median(x), median(y)
    unmoved = (
        _stays_at_start(ordering, group, values[0]),
        _stays_at_start(ordering, other, values[1]),
    )
    if cost_unit.is_timed and spent < SHORTEST:
        return OrderingPair(
            group.label, other.label, values, 0, 1.0, is_too_short_to_time=True, is_at_start=unmoved
        )
    exact = not cost_unit.is_timed and is_deterministic(group.runs) and is_deterministic(other.runs)
    p = 0.0 if exact else rank_test(x, y)
    return OrderingPair(group.label, other.label, values, rank_side(x, y), p, is_at_start=unmoved)


def _stays_at_start(ordering: PublishedOrdering, group: RunGroup, value: float) -> bool:
    """Return whether the median value of a group is still that of its start."""
    starts = [
        source[0] for run in group.runs if (source := trace_column(run, ordering.measure)).size
    ]
    return ordering.target is None and bool(starts) and math.isclose(value, median(starts))


def _pair_samples_and_calls_spent(
    ordering: PublishedOrdering, item: RunGroup, other: RunGroup, cost_unit: OrderingUnit
) -> tuple[Array, Array, float]:
    """Return the compared values of both groups by run, and the cost at the comparison."""
    groups = [(group, cost_unit.prices[group.label]) for group in (item, other)]
    if ordering.target is not None:
        target = Stop(ordering.measure, ordering.target)
        x, y = (
            make_runtimes(group.select_tuned_runs(target).runs, target, price).calls
            for group, price in groups
        )
        return x, y, max(median(x), median(y))
    ended = [
        price.total_cost(run)
        for group, price in groups
        for run in group.runs
        if run.status in COMPLETED
    ]
    limit = min(ended, default=0.0)
    x, y = (
        np.array(
            [_final_value_below_limit(run, ordering.measure, price, limit) for run in group.runs]
        )
        for group, price in groups
    )
    first = [
        _final_value_below_limit(run, ordering.measure, price, 0.0)
        for g, price in groups
        for run in g.runs
    ]
    unit = ROUNDING * max((abs(value) for value in first if math.isfinite(value)), default=0.0)
    # What differs by rounding alone is equal.
    reported = (x, y) if unit == 0.0 else (unit * np.round(x / unit), unit * np.round(y / unit))
    return *reported, limit


def _final_value_below_limit(run: Run, measure: str, price: Cost, limit: float) -> float:
    """Return the last recorded value within a limit of cost; infinite for an incomplete run."""
    spent, values = price.cost_along_trace(run), trace_column(run, measure)
    if run.status not in COMPLETED or spent.size != values.size:
        return math.inf
    value = values[(spent <= limit) & ~np.isnan(values)]
    return float(value[-1]) if value.size else math.inf


def _correct_p_values(results: Sequence[OrderingResult]) -> list[OrderingResult]:
    """Return results with p-values corrected for the number of all tested pairs.

    The tests of the best forms are one family, those of every form another. A flip requires both,
    so neither family is corrected for the other.
    """
    pairs = [pair for result in results for pair in result.pairs]
    # What is not tested is 0 here, so that it is corrected for nothing.
    best, full_list = (
        iter(
            _adjust_p_values(
                [
                    0.0 if pair.is_too_short_to_time or math.isnan(p) else p
                    for pair, p in zip(pairs, source, strict=True)
                ]
            )
        )
        for source in (
            [pair.p_value for pair in pairs],
            [pair.every_form_p_value for pair in pairs],
        )
    )

    def correct_pair(pair: OrderingPair) -> OrderingPair:
        p, of_every = next(best), next(full_list)
        of_every = pair.every_form_p_value if math.isnan(pair.every_form_p_value) else of_every
        return (
            pair
            if pair.is_too_short_to_time
            else replace(pair, p_value=p, every_form_p_value=of_every)
        )

    return [replace(result, pairs=tuple(map(correct_pair, result.pairs))) for result in results]


def _adjust_p_values(p: Sequence[float]) -> list[float]:
    """Return p-values with Holm's correction over those above 0; a p-value of 0 is no test."""
    corrected = iter(holm_adjust([value for value in p if value > 0.0]))
    return [next(corrected) if value > 0.0 else 0.0 for value in p]
