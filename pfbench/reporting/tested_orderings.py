"""Tests of published rankings of algorithms: reproduced, flipped, or not decided.

A ranking is tested by a rank test over seeds for each of its pairs of methods. The tests are first
in the units of cost that the paper states, and then in each kind of oracle calls that all of the
algorithms make. The last tests are in seconds. If a method has several forms, which are its
variants, its best form is compared.

A ranking flips only in the unit that its paper states for it. It flips if every form of the second
method is significantly better than every form of the first. If only some forms are better, the
ranking depends on the form. In other units, and for rankings that no paper states, the verdict
"reproduced" is called "holds", and "flips" is called "the other way round".

Holm's correction is over all pairs of a study in one unit. If a ranking has a target, the numbers
of calls to this target are compared; they are infinite for a missed target. Otherwise, the values
are compared at a number of calls that all runs of the pair have made. Differences in run times
below one second decide nothing.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.reporting.results import RunGroup, SettingResults, StudyResults, truncate_study
from pfbench.reporting.runtimes import Cost, make_runtimes
from pfbench.reporting.seed_curves import Array
from pfbench.reporting.significance import SIGNIFICANT, holm_adjust, median, rank_side, rank_test
from pfbench.runs.loop.run import Stop
from pfbench.runs.planning.published import CostUnit, PublishedOrdering
from pfbench.runs.planning.study import Study

FLIPS, TURNS, OPEN, REPRODUCED = "flips", "depends on the form", "not decided", "reproduced"
REVERSED, KEPT = "the other way round", "holds"
"""Verdicts on an order; "flips" and "reproduced" occur only in its paper's unit."""

UNTESTED = f"{REVERSED} for the best forms; not tested for every form"
"""Verdict on a reversed ranking if some forms have no stored runs."""

VERDICTS = FLIPS, REVERSED, UNTESTED, TURNS, OPEN, REPRODUCED, KEPT
"""All verdicts, with those against a ranking first."""

SHORTEST = 1.0
"""Least run time in seconds that decides an order, as other load takes tenths of a second."""

ROUNDING = 1e-12
"""Differences up to this fraction of the largest first value are rounding errors."""


@dataclass(frozen=True)
class OrderingPair:
    """Two methods of a published ranking, of which the first should be the better one.

    Attributes
    ----------
    first, second
        Labels of the two forms, or variants of the methods, that decide the comparison.
    values
        Medians that are compared; infinite if at least half of the runs have no value.
    better_side
        Negative if the first is better by rank, positive if it is worse, 0 if neither.
    p_value
        Corrected p-value of the rank test; 0 if nothing varies over the seeds.
    every_form_p_value
        Corrected p-value of the tests that every form of the second method is better than every
        form of the first. It is the largest p-value of these tests, or NaN if a form has no stored
        runs. If the second method is not better, it equals `p_value`.
    least_certain_form
        Form of the second method that is least significantly better; empty if the second method
        is not better.
    is_too_short_to_time
        Whether the pair is compared by run times that are below `SHORTEST` seconds.
    is_at_start
        Whether each median is still the value at the start of the runs.
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

    def p_value_or_two_minus_p(self, side: int) -> float:
        """Return the pair's p-value p if `side` is the better side, else 2 - p."""
        return self.p_value if self.better_side == side else 2.0 - self.p_value

    @property
    def verdict(self) -> str:
        """Verdict on this pair of methods, one of `VERDICTS`."""
        if self.better_side == 0 or self.p_value > SIGNIFICANT:
            return OPEN
        if self.better_side < 0:
            return REPRODUCED
        if math.isnan(self.every_form_p_value):
            return UNTESTED
        return FLIPS if self.every_form_p_value <= SIGNIFICANT else TURNS


@dataclass(frozen=True)
class OrderingUnit:
    """Unit of cost in which a published ranking is judged.

    Attributes
    ----------
    title
        Name in tables.
    prices
        Cost of the oracle calls, by label of the algorithm.
    unit
        The unit of cost in the spec; None for a count of pfbench.
    """

    title: str
    prices: Mapping[str, Cost]
    unit: CostUnit | None = None

    @property
    def includes_seconds(self) -> bool:
        """Whether the cost includes seconds."""
        return any(name == "seconds" for price in self.prices.values() for name, _ in price.weights)

    def gives_positive_cost(self, group: RunGroup) -> bool:
        """Return whether a group's runs have a positive cost, or the cost includes seconds."""
        price = self.prices[group.label]
        return self.includes_seconds or bool((price.costs_of_whole_runs(group.traces) > 0.0).any())


@dataclass(frozen=True)
class OrderingResult:
    """Test of a ranking on one problem and in one unit of cost, with its pairs of methods."""

    ordering: PublishedOrdering
    panel: SettingResults
    cost_unit: OrderingUnit
    pairs: tuple[OrderingPair, ...]

    @property
    def uses_paper_unit(self) -> bool:
        """Whether the cost unit is the one that the paper states for this ranking."""
        return self.cost_unit.unit is not None and self.cost_unit.unit.has_unit_statement(
            self.ordering
        )

    @property
    def verdict(self) -> str:
        """Verdict on a ranking: "flips" if a pair flips, "reproduced" if all pairs are reproduced.

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
        """Pair of methods that decides the verdict.

        It is the most significant pair against the ranking, if there is one, and else the least
        significant pair.
        """
        deciding = [pair for pair in self.pairs if pair.verdict == self._weakest_pair]
        choose = min if self._weakest_pair in (FLIPS, UNTESTED, TURNS) else max
        return choose(deciding, key=lambda pair: pair.p_value)


def test_orderings(results: StudyResults) -> list[OrderingResult]:
    """Test each published ranking of a study on each problem and in each unit of cost.

    The results are sorted by ranking, unit and panel. The units of the paper come first, then the
    counts of pfbench that equal none of them.
    """
    study = results.study
    if not study.orderings:
        return []
    equal = truncate_study(results)
    units = [(panel, _cost_units_by_key(equal, panel)) for panel in equal.panels]
    by_ordering: list[list[OrderingResult]] = [[] for _ in study.orderings]
    for key in dict.fromkeys(key for _, of_panel in units for key in of_panel):
        tested = [
            (index, OrderingResult(ordering, panel, of_panel[key], tuple(pairs)))
            for index, ordering in enumerate(study.orderings)
            for panel, of_panel in units
            if key in of_panel and ordering.is_about(panel.problem, panel.setting)
            if (pairs := list(_make_pairs(study, ordering, panel, of_panel[key])))
        ]
        corrected = _correct_p_values([result for _, result in tested])
        for (index, _), result in zip(tested, corrected, strict=True):
            by_ordering[index].append(result)
    return [result for results in by_ordering for result in results]


def _cost_units_by_key(results: StudyResults, panel: SettingResults) -> dict[str, OrderingUnit]:
    """Return the units of cost in which rankings are tested on one problem, by key.

    The units of the spec come first, then the counts of pfbench.
    """
    study, labels = results.study, [group.label for group in panel.groups]
    setting = next(setting for setting in study.settings if setting.title == panel.setting)
    units = {}
    for unit in study.units:
        costs = (study.unit_costs(unit, label, setting.values) for label in labels)
        prices = dict(zip(labels, map(Cost.from_weights, costs), strict=True))
        units[f"unit {unit.name}"] = OrderingUnit(unit.name, prices, unit)
    costs_of_units = [set(unit.prices.values()) for unit in units.values()]
    charged = any(group.makes_calls("sfo") for group in results)
    for name in (*COUNTED, "seconds"):
        price = Cost.from_weights(name)
        # Where there are component gradients, those of full ones are among them.
        if {price} not in costs_of_units and not (name == "fo" and charged):
            units[name] = OrderingUnit(str(price), dict.fromkeys(labels, price))
    return units


def _make_pairs(
    study: Study, ordering: PublishedOrdering, panel: SettingResults, cost_unit: OrderingUnit
) -> Iterator[OrderingPair]:
    """Yield the pairs of methods in a ranking, with uncorrected p-values.

    Nothing is yielded if a method has no runs, or makes no calls that cost anything.
    """
    labels = {name: study.labels_of_variants(name) for name in ordering.names}
    groups = {name: list(filter(None, map(panel.find, forms))) for name, forms in labels.items()}
    if not all(
        forms and all(cost_unit.gives_positive_cost(group) for group in forms)
        for forms in groups.values()
    ):
        return
    for first, second in ordering.pairs:
        pair = _decide_pair(ordering, groups[first], groups[second], cost_unit)
        if all(len(groups[name]) == len(labels[name]) for name in (first, second)):
            yield pair
        # Without the runs of a form it is unknown whether the first is ahead of every other form.
        elif pair.better_side > 0:
            yield replace(pair, every_form_p_value=math.nan)
        else:
            yield replace(pair, better_side=0)


def _decide_pair(
    ordering: PublishedOrdering,
    first_forms: Sequence[RunGroup],
    second_forms: Sequence[RunGroup],
    cost_unit: OrderingUnit,
) -> OrderingPair:
    """Compare the best variants of two methods; return the pair with its better side and p-values.

    A form is a variant of a method. The first method is ahead if one of its forms is ahead of each
    form of the second method. Its p-value is the largest of these tests, times the number of forms
    tried. In the same way, the second method is ahead if one of its forms is ahead of each form of
    the first. As the authors may have run any form of the second method, the largest p-value of all
    pairs tells whether every form is ahead.
    """
    by_first = [
        [_test_pair(ordering, group, other, cost_unit) for other in second_forms]
        for group in first_forms
    ]
    by_second = list(zip(*by_first, strict=True))
    ahead, behind = _best_variant_pair(by_first, -1), _best_variant_pair(by_second, 1)
    p_ahead = len(first_forms) * ahead.p_value_or_two_minus_p(-1)
    flipped = len(second_forms) * behind.p_value_or_two_minus_p(1) < p_ahead
    pair, side, tried = (behind, 1, len(second_forms)) if flipped else (ahead, -1, len(first_forms))
    p = min(1.0, tried * pair.p_value)
    last = max(
        (pair for pairs in by_second for pair in pairs), key=lambda p: p.p_value_or_two_minus_p(1)
    )
    return replace(
        pair,
        # Where each has a form that the other does not beat, nothing is told.
        better_side=side if pair.better_side == side else 0,
        p_value=p,
        every_form_p_value=min(1.0, last.p_value_or_two_minus_p(1)) if flipped else p,
        least_certain_form=last.second if flipped else "",
    )


def _best_variant_pair(rows: Sequence[Sequence[OrderingPair]], side: int) -> OrderingPair:
    """Return the pair of a method's most significant variant and that variant's best opponent.

    Each row has the pairs of one form. Of equally significant forms, the one with the best value
    is chosen.
    """
    own, other = (0, 1) if side < 0 else (1, 0)
    strongest = (
        max(row, key=lambda pair: (pair.p_value_or_two_minus_p(side), -pair.values[other]))
        for row in rows
    )
    return min(strongest, key=lambda pair: (pair.p_value_or_two_minus_p(side), pair.values[own]))


def _test_pair(
    ordering: PublishedOrdering, group: RunGroup, other: RunGroup, cost_unit: OrderingUnit
) -> OrderingPair:
    x, y, spent = _two_samples_and_common_cost(ordering, group, other, cost_unit)
    values = median(x), median(y)
    unmoved = (
        _ends_at_start_median(ordering, group, values[0]),
        _ends_at_start_median(ordering, other, values[1]),
    )
    pair = OrderingPair(group.label, other.label, values, 0, 1.0, is_at_start=unmoved)
    if cost_unit.includes_seconds and spent < SHORTEST:
        return replace(pair, is_too_short_to_time=True)
    exact = not cost_unit.includes_seconds and group.is_deterministic and other.is_deterministic
    return replace(pair, better_side=rank_side(x, y), p_value=0.0 if exact else rank_test(x, y))


def _ends_at_start_median(ordering: PublishedOrdering, group: RunGroup, value: float) -> bool:
    """Return whether a method's final median equals its median at the start of the runs."""
    starts = group.traces.start_values(ordering.measure)
    return ordering.target is None and bool(starts.size) and math.isclose(value, median(starts))


def _two_samples_and_common_cost(
    ordering: PublishedOrdering, item: RunGroup, other: RunGroup, cost_unit: OrderingUnit
) -> tuple[Array, Array, float]:
    """Return two methods' values in each run, and the cost at which the methods are compared."""
    groups = [(group, cost_unit.prices[group.label]) for group in (item, other)]
    if ordering.target is not None:
        target = Stop(ordering.measure, ordering.target)
        x, y = (
            make_runtimes(group.group_tuned_for_target(target).traces, target, price).calls
            for group, price in groups
        )
        return x, y, max(median(x), median(y))

    def values_within(limit: float) -> list[Array]:
        return [_final_values_within(g, ordering.measure, price, limit) for g, price in groups]

    ended = [
        price.costs_of_whole_runs(group.traces)[group.traces.is_completed]
        for group, price in groups
    ]
    limit = float(np.concatenate(ended).min(initial=math.inf))
    limit = limit if math.isfinite(limit) else 0.0  # no run completed
    x, y = values_within(limit)
    first = np.concatenate(values_within(0.0))
    unit = ROUNDING * np.abs(first[np.isfinite(first)]).max(initial=0.0)
    # What differs by rounding alone is equal.
    return (unit * np.round(x / unit), unit * np.round(y / unit), limit) if unit else (x, y, limit)


def _final_values_within(group: RunGroup, measure: str, price: Cost, limit: float) -> Array:
    """Return the last value of a measure that each run recorded at a cost of at most `limit`.

    The value is infinite if none is recorded there, or if the run did not complete.
    """
    traces = group.traces
    return traces.select_rows(price.costs_by_row(traces) <= limit).final_values(measure)


def _correct_p_values(results: Sequence[OrderingResult]) -> list[OrderingResult]:
    """Return results with p-values corrected for the number of all tested pairs.

    The tests of the best forms are one family, and those of every form another. A flip requires
    both, so neither family is corrected for the other. A p-value of 0 does not count as a test.
    """
    pairs = [pair for result in results for pair in result.pairs]
    timed = [not pair.is_too_short_to_time for pair in pairs]
    best = _adjust_p_values([pair.p_value for pair in pairs], timed)
    of_every_form = _adjust_p_values([pair.every_form_p_value for pair in pairs], timed)
    corrected = (
        replace(pair, p_value=p, every_form_p_value=p_every)
        for pair, p, p_every in zip(pairs, best, of_every_form, strict=True)
    )
    return [
        replace(result, pairs=tuple(next(corrected) for _ in result.pairs)) for result in results
    ]


def _adjust_p_values(p: Sequence[float], is_tested: Sequence[bool]) -> list[float]:
    """Return the p-values, with Holm's correction of those that are tested and greater than 0.

    Other values are returned unchanged.
    """
    tested = [index for index, value in enumerate(p) if is_tested[index] and value > 0.0]
    adjusted = dict(zip(tested, holm_adjust([p[index] for index in tested]), strict=True))
    return [adjusted.get(index, value) for index, value in enumerate(p)]
