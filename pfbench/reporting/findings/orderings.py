"""Orders of algorithms, put to the test: reproduced, flipped, or not decided by the runs.

An order is tested pair by pair, by the rank test over seeds: in the paper's own units first, then
in each kind of calls that all of its algorithms make, and in seconds. Of a method with several
forms the best one counts, on either side. An order flips only in the unit that its paper states
for it, and only if every form of the second method is significantly ahead of every form of the
first; if not every form of the second is, it depends on the form. An order of ours, or in a unit
that is not the paper's, is neither reproduced nor flipped: it holds, or is the other way round.
Holm's correction is over all
pairs of a study in one unit. Where an order has a target, calls to it are compared, and who misses
it needs infinitely many; else the values at the calls that all runs of the pair have spent. Of
seconds less than one decides nothing.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.reporting.comparison import all_at_equal_counts
from pfbench.reporting.results import Group, Panel, Results
from pfbench.reporting.statistics.curves import Array, column, nothing_varies
from pfbench.reporting.statistics.prices import Price
from pfbench.reporting.statistics.runtimes import runtimes
from pfbench.reporting.statistics.significance import SIGNIFICANT, holm, middle, rank_test, side_of
from pfbench.runs.loop.run import HOLDS, Run
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.published import Ordering, Unit
from pfbench.runs.planning.study import Study

FLIPS, TURNS, OPEN, REPRODUCED = "flips", "depends on the form", "not decided", "reproduced"
REVERSED, KEPT = "the other way round", "holds"
"""What becomes of an order; it flips or is reproduced in its paper's unit alone."""

UNTESTED = f"{REVERSED} for the best forms; not tested for every form"
"""What is known where the runs of some forms are not kept."""

VERDICTS = FLIPS, REVERSED, UNTESTED, TURNS, OPEN, REPRODUCED, KEPT
"""What speaks against an order is said first."""

SHORTEST = 1.0
"""Seconds that it takes to judge by seconds: what else a machine does takes tenths of one."""

ROUNDING = 1e-12
"""Values that differ by so much of the largest first one are told apart by rounding alone."""


@dataclass(frozen=True)
class Pair:
    """Two methods of an order, of which the first should be better.

    Attributes
    ----------
    first, second
        The labels of the forms that decide.
    values
        The medians that are compared, in their order; infinite where most runs have none.
    side
        Negative where the first is better by rank, positive where it is worse, 0 if neither.
    p
        The p-value of the rank test, corrected; 0 where nothing varies over the seeds.
    every
        Where it is the other way round: the p-value, corrected, of every form of the second being
        ahead of every form of the first, the largest of these tests, NaN if the runs of some form
        are not kept; else `p`.
    behind
        Where it is the other way round: the form of the second that is least surely ahead.
    short
        Whether it is about seconds, and less than `SHORTEST` of them, which decides nothing.
    unmoved
        Of each median whether it is that of the start: what it has spent was for no iterate yet.
    """

    first: str
    second: str
    values: tuple[float, float]
    side: int
    p: float
    every: float = 0.0
    behind: str = ""
    short: bool = False
    unmoved: tuple[bool, bool] = (False, False)

    @property
    def verdict(self) -> str:
        """What becomes of this pair."""
        if self.side == 0 or self.p > SIGNIFICANT:
            return OPEN
        if self.side < 0:
            return REPRODUCED
        if math.isnan(self.every):
            return UNTESTED
        return FLIPS if self.every <= SIGNIFICANT else TURNS


@dataclass(frozen=True)
class Scale:
    """In what an order is judged.

    Attributes
    ----------
    title
        As tables call it.
    prices
        What a call costs, by the label of the algorithm.
    unit
        The unit of the spec that it is, None for one of our counts.
    """

    title: str
    prices: Mapping[str, Price]
    unit: Unit | None = None

    @property
    def timed(self) -> bool:
        """Whether seconds are charged, which vary in any case."""
        return any(name == "seconds" for price in self.prices.values() for name, _ in price.weights)


@dataclass(frozen=True)
class Tested:
    """An order in one panel and one unit, with each of its pairs."""

    ordering: Ordering
    panel: Panel
    scale: Scale
    pairs: tuple[Pair, ...]

    @property
    def in_papers_unit(self) -> bool:
        """Whether the paper states the unit for this order."""
        return self.scale.unit is not None and self.scale.unit.is_stated_for(self.ordering)

    @property
    def verdict(self) -> str:
        """What becomes of the order: it flips where a pair does, and needs all to be reproduced.

        In a unit that is not the paper's no order flips or is reproduced: there it is the other
        way round, or holds.
        """
        words = {} if self.in_papers_unit else {FLIPS: REVERSED, REPRODUCED: KEPT}
        return words.get(self._worst, self._worst)

    @property
    def _worst(self) -> str:
        return min((pair.verdict for pair in self.pairs), key=VERDICTS.index)

    @property
    def evidence(self) -> Pair:
        """The pair that decides: the surest of those that flip, else the least sure one."""
        deciding = [pair for pair in self.pairs if pair.verdict == self._worst]
        choose = min if self._worst in (FLIPS, UNTESTED, TURNS) else max
        return choose(deciding, key=lambda pair: pair.p)


def tested(results: Results) -> list[Tested]:
    """Return what becomes of each published order of a study, by order, unit and panel.

    The paper's own units come first, then our counts, but for what is the same.
    """
    study = results.study
    if not study.orderings:
        return []
    equal = all_at_equal_counts(results)
    scales = [(panel, _scales(study, panel, _counts(equal))) for panel in equal.panels]
    found: dict[int, list[Tested]] = {at: [] for at in range(len(study.orderings))}
    for key in dict.fromkeys(key for _, of_panel in scales for key in of_panel):
        numbered = [
            (at, Tested(one, panel, of_panel[key], tuple(pairs)))
            for at, one in enumerate(study.orderings)
            for panel, of_panel in scales
            if key in of_panel and one.speaks_of(panel.problem, panel.setting)
            if (pairs := list(_pairs(study, one, panel, of_panel[key])))
        ]
        for (at, _), one in zip(numbered, _corrected([t for _, t in numbered]), strict=True):
            found[at].append(one)
    return [one for at in found for one in found[at]]


def _counts(results: Results) -> list[str]:
    """Return the kinds of calls that orders are judged in."""
    charged = any(group.makes("sfo") for group in results)
    # Where there are component gradients, those of full ones are among them.
    return [name for name in (*COUNTED, "seconds") if name != "fo" or not charged]


def _scales(study: Study, panel: Panel, counts: Sequence[str]) -> dict[str, Scale]:
    """Return in what a panel is judged, by key; a count that is a paper's unit is left out."""
    setting = next(one for one in study.settings if one.title == panel.setting)
    labels = [group.label for group in panel.groups]
    found = {}
    for unit in study.units:
        prices = {label: Price.of(study.charged(unit, label, setting.values)) for label in labels}
        found[f"unit {unit.name}"] = Scale(unit.name, prices, unit)
    theirs = [set(scale.prices.values()) for scale in found.values()]
    for name in counts:
        if {price := Price.of(name)} not in theirs:
            found[name] = Scale(str(price), dict.fromkeys(labels, price))
    return found


def _pairs(study: Study, ordering: Ordering, panel: Panel, scale: Scale) -> Iterator[Pair]:
    """Yield the pairs of an order, uncorrected; none if not all algorithms make such calls."""
    every = {name: [panel.of(label) for label in study.forms_of(name)] for name in ordering.names}
    kept = {name: [group for group in forms if group] for name, forms in every.items()}
    if not all(forms and all(_spends(one, scale) for one in forms) for forms in kept.values()):
        return
    for first, second in ordering.pairs:
        pair = _decided(ordering, kept[first], kept[second], scale)
        whole = all(len(kept[name]) == len(every[name]) for name in (first, second))
        yield pair if whole else _in_part(pair)


def _in_part(pair: Pair) -> Pair:
    """Return what a pair says where the runs of some forms are not kept.

    That the first is before every form of the second is not known then.
    """
    return replace(pair, every=math.nan) if pair.side > 0 else replace(pair, side=0)


def _spends(group: Group, scale: Scale) -> bool:
    return scale.timed or any(scale.prices[group.label].spent(run) > 0.0 for run in group.runs)


def _decided(
    ordering: Ordering, ones: Sequence[Group], others: Sequence[Group], scale: Scale
) -> Pair:
    """Return how the best form of one method stands to the best form of another.

    The first is before the second if one of its forms is before each form of the second: the
    p-value is the largest of these tests, times the number of forms that are tried. It is the
    other way round if a form of the second is ahead of each form of the first. Whether each form
    of the second is, which the authors may have run, is tested by the largest p-value of all.
    """
    table = [[_pair(ordering, one, other, scale) for other in others] for one in ones]
    columns = list(zip(*table, strict=True))
    # Of forms that are told apart alike the best one of each method is shown.
    ahead = min((max(row, key=_hardest(-1)) for row in table), key=_easiest(-1))
    behind = min((max(row, key=_hardest(1)) for row in columns), key=_easiest(1))
    flipped = len(others) * _against(1)(behind) < len(ones) * _against(-1)(ahead)
    pair, side, tried = (behind, 1, len(others)) if flipped else (ahead, -1, len(ones))
    p = min(1.0, tried * pair.p)
    last = max((max(of, key=_against(1)) for of in columns), key=_against(1))
    return replace(
        pair,
        # Where each has a form that the other does not beat, nothing is told.
        side=side if pair.side == side else 0,
        p=p,
        every=min(1.0, _against(1)(last)) if flipped else p,
        behind=last.second if flipped else "",
    )


def _against(side: int) -> Callable[[Pair], float]:
    """Return how little a pair says for one side: its p-value, 1 and more if it is the other."""
    return lambda pair: pair.p if pair.side == side else 2.0 - pair.p


def _hardest(side: int) -> Callable[[Pair], tuple[float, float]]:
    """Return a key that is greatest for the least sure and best opponent of the side's form."""
    return lambda pair: (_against(side)(pair), -pair.values[1 if side < 0 else 0])


def _easiest(side: int) -> Callable[[Pair], tuple[float, float]]:
    """Return a key that is least for the side's form that is ahead most surely, then the best."""
    return lambda pair: (_against(side)(pair), pair.values[0 if side < 0 else 1])


def _pair(ordering: Ordering, one: Group, other: Group, scale: Scale) -> Pair:
    x, y, spent = _samples(ordering, one, other, scale)
    values = middle(x), middle(y)
    unmoved = _unmoved(ordering, one, values[0]), _unmoved(ordering, other, values[1])
    if scale.timed and spent < SHORTEST:
        return Pair(one.label, other.label, values, 0, 1.0, short=True, unmoved=unmoved)
    exact = not scale.timed and nothing_varies(one.runs) and nothing_varies(other.runs)
    p = 0.0 if exact else rank_test(x, y)
    return Pair(one.label, other.label, values, side_of(x, y), p, unmoved=unmoved)


def _unmoved(ordering: Ordering, group: Group, value: float) -> bool:
    """Return whether a median is that of the start, of an order that compares values."""
    starts = [of[0] for run in group.runs if (of := column(run, ordering.measure)).size]
    return ordering.target is None and bool(starts) and math.isclose(value, middle(starts))


def _samples(
    ordering: Ordering, one: Group, other: Group, scale: Scale
) -> tuple[Array, Array, float]:
    """Return what is compared of two algorithms, for each of their runs, and what was spent."""
    groups = [(group, scale.prices[group.label]) for group in (one, other)]
    if ordering.target is not None:
        target = Stop(ordering.measure, ordering.target)
        x, y = (runtimes(group.to(target).runs, target, price).calls for group, price in groups)
        return x, y, max(middle(x), middle(y))
    ended = [
        price.spent(run) for group, price in groups for run in group.runs if run.status in HOLDS
    ]
    limit = min(ended, default=0.0)
    x, y = (
        np.array([_value(run, ordering.measure, price, limit) for run in group.runs])
        for group, price in groups
    )
    first = [_value(run, ordering.measure, price, 0.0) for g, price in groups for run in g.runs]
    unit = ROUNDING * max((abs(value) for value in first if math.isfinite(value)), default=0.0)
    # What differs by rounding alone is equal.
    told = (x, y) if unit == 0.0 else (unit * np.round(x / unit), unit * np.round(y / unit))
    return *told, limit


def _value(run: Run, measure: str, price: Price, limit: float) -> float:
    """Return the last recorded value within a limit; infinite for a run without an answer."""
    spent, values = price.along(run), column(run, measure)
    if run.status not in HOLDS or spent.size != values.size:
        return math.inf
    known = values[(spent <= limit) & ~np.isnan(values)]
    return float(known[-1]) if known.size else math.inf


def _corrected(several: Sequence[Tested]) -> list[Tested]:
    """Return the same with p-values corrected for the number of all pairs that are tested.

    Those of the best forms are one family, those of every form another: to flip an order takes
    both, so that neither is corrected for the other.
    """
    pairs = [pair for one in several for pair in one.pairs]
    # What is not tested is 0 here, so that it is corrected for nothing.
    best, every = (
        iter(
            _adjusted(
                [
                    0.0 if pair.short or math.isnan(p) else p
                    for pair, p in zip(pairs, of, strict=True)
                ]
            )
        )
        for of in ([pair.p for pair in pairs], [pair.every for pair in pairs])
    )

    def mended(pair: Pair) -> Pair:
        p, of_every = next(best), next(every)
        of_every = pair.every if math.isnan(pair.every) else of_every
        return pair if pair.short else replace(pair, p=p, every=of_every)

    return [replace(one, pairs=tuple(map(mended, one.pairs))) for one in several]


def _adjusted(p: Sequence[float]) -> list[float]:
    """Return Holm's p-values of those above 0; where nothing varies nothing is tested."""
    corrected = iter(holm([one for one in p if one > 0.0]))
    return [next(corrected) if one > 0.0 else 0.0 for one in p]
