"""Published orders of algorithms, put to the test: reproduced, flipped, or not decided by the runs.

An order is tested pair by pair, by the rank test over seeds, in each kind of calls that all of its
algorithms make, and in seconds. Holm's correction is over all pairs of a study in one price.
Where an order has a target, calls to it are compared, and who misses it needs infinitely many; else
the values at the calls that all runs of the pair have spent.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.reporting.comparison import all_at_equal_counts
from pfbench.reporting.findings.seeds import too_few
from pfbench.reporting.results import Group, Panel, Results
from pfbench.reporting.statistics import (
    HOLDS,
    Price,
    column,
    holm,
    middle,
    nothing_varies,
    rank_test,
    runtimes,
)
from pfbench.reporting.statistics.curves import Array
from pfbench.reporting.statistics.significance import SIGNIFICANT, side_of
from pfbench.reporting.tables import Row, Table
from pfbench.reporting.words import calls_as_text, counted, inside, listed, significant, whole
from pfbench.runs.loop.run import Run
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.study import Ordering, Study

FLIPS, OPEN, REPRODUCED = "flips", "not decided", "reproduced"
"""What becomes of an order; what speaks against it is said first."""

_VERDICTS = FLIPS, OPEN, REPRODUCED


@dataclass(frozen=True)
class Pair:
    """Two algorithms of an order, of which the first should be better.

    Attributes
    ----------
    first, second
        Their labels.
    values
        The medians that are compared, in their order; infinite where most runs have none.
    side
        Negative where the first is better by rank, positive where it is worse, 0 if neither.
    p
        The p-value of the rank test, corrected; 0 where nothing varies over the seeds.
    """

    first: str
    second: str
    values: tuple[float, float]
    side: int
    p: float

    @property
    def verdict(self) -> str:
        """What becomes of this pair."""
        if self.side == 0 or self.p > SIGNIFICANT:
            return OPEN
        return REPRODUCED if self.side < 0 else FLIPS


@dataclass(frozen=True)
class Tested:
    """An order in one panel and one price, with each of its pairs."""

    ordering: Ordering
    panel: Panel
    price: Price
    pairs: tuple[Pair, ...]

    @property
    def verdict(self) -> str:
        """What becomes of the order: it flips where a pair does, and needs all to be reproduced."""
        return min((pair.verdict for pair in self.pairs), key=_VERDICTS.index)

    @property
    def evidence(self) -> Pair:
        """The pair that decides: the surest of those that flip, else the least sure one."""
        deciding = [pair for pair in self.pairs if pair.verdict == self.verdict]
        choose = min if self.verdict == FLIPS else max
        return choose(deciding, key=lambda pair: pair.p)


def tested(results: Results) -> list[Tested]:
    """Return what becomes of each published order of a study, by order, price and panel."""
    orderings = results.study.orderings
    if not orderings:
        return []
    equal = all_at_equal_counts(results)
    found: dict[int, list[Tested]] = {at: [] for at in range(len(orderings))}
    for name in (*COUNTED, "seconds"):
        if name == "fo" and any(group.makes("sfo") for group in equal):
            continue  # its component gradients are in the SFO
        numbered = [
            (at, Tested(one, panel, Price.of(name), tuple(pairs)))
            for at, one in enumerate(orderings)
            for panel in _panels(one, equal)
            if (pairs := list(_pairs(one, panel, name)))
        ]
        for (at, _), one in zip(numbered, _corrected([t for _, t in numbered]), strict=True):
            found[at].append(one)
    return [one for at in found for one in found[at]]


def sentences(several: Sequence[Tested]) -> list[str]:
    """Return a sentence for each order, with its evidence; what flips comes first."""
    return [_sentence(of) for of in sorted(_grouped(several), key=_worst)]


def in_brief(several: Sequence[Tested]) -> list[str]:
    """Return which orders flip, and in what, in a sentence; nothing without orders."""
    grouped = _grouped(several)
    if not grouped:
        return []
    flipped = [
        f"{_order(of[0].ordering)} (by {listed(list(prices))})"
        for of in grouped
        if (prices := dict.fromkeys(str(one.price) for one in of if one.verdict == FLIPS))
    ]
    if flipped:
        return [f"Published orders that flip, {len(flipped)} of {len(grouped)}: {listed(flipped)}."]
    held = sum(all(one.verdict == REPRODUCED for one in of) for of in grouped)
    return [f"No published order flips; {held} of {len(grouped)} are reproduced throughout."]


def _grouped(several: Sequence[Tested]) -> list[list[Tested]]:
    """Return what becomes of each order, in all panels and prices."""
    grouped: dict[int, list[Tested]] = {}
    for one in several:
        grouped.setdefault(id(one.ordering), []).append(one)
    return list(grouped.values())


def too_few_seeds(study: Study) -> str:
    """Return a sentence where a study has too few seeds to decide any published order, else ''."""
    vain = "decide no published order in a test of"
    return too_few(len(study.seeds), study.ordered_pairs, vain)


def table(study: Study, several: Sequence[Tested]) -> Table | None:
    """Return the verdict on each order in each panel and price; None without orders."""
    if not several:
        return None
    rows = [
        Row(
            f"{one.ordering.source}: {_order(one.ordering)} ({_compared(one.ordering)})",
            one.panel.title,
            [str(one.price), one.verdict, _evidence(one)],
        )
        for one in several
    ]
    note = (
        "A published order is reproduced where every pair of it is, by a rank test over the seeds "
        "(Holm at 5 % over the study); it flips where one pair is significantly the other way "
        "round. The evidence is the pair that decides, with medians over the seeds. Seconds are "
        "those of the machine that made the runs."
    )
    if any(one.verdict == OPEN for one in several):
        note = f"{note} {too_few_seeds(study)}".strip()
    return Table(
        f"{study.title}: published orders",
        note,
        ("order", "where", "in", "verdict", "evidence"),
        rows,
    )


def as_json(several: Sequence[Tested]) -> list[dict[str, Any]]:
    """Return the same for programs; what is infinite is None."""
    return [
        {
            "source": one.ordering.source,
            "order": [list(place) for place in one.ordering.order],
            "measure": one.ordering.measure,
            "target": one.ordering.target,
            "problem": one.panel.problem,
            "setting": one.panel.setting,
            "price": str(one.price),
            "verdict": one.verdict,
            "pairs": [
                {
                    "first": pair.first,
                    "second": pair.second,
                    "medians": [v if math.isfinite(v) else None for v in pair.values],
                    "p": pair.p,
                    "verdict": pair.verdict,
                }
                for pair in one.pairs
            ],
        }
        for one in several
    ]


def _panels(ordering: Ordering, results: Results) -> Iterator[Panel]:
    """Yield the panels that an order speaks of."""
    for panel in results.panels:
        if ordering.speaks_of(panel.problem, panel.setting):
            yield panel


def _pairs(ordering: Ordering, panel: Panel, name: str) -> Iterator[Pair]:
    """Yield the pairs of an order, uncorrected; none if not all algorithms make such calls."""
    groups = {label: panel.of(label) for place in ordering.order for label in place}
    if not all(group and group.makes(name) for group in groups.values()):
        return
    for first, second in ordering.pairs:
        one, other = groups[first], groups[second]
        if one and other:
            yield _pair(ordering, one, other, Price.of(name))


def _pair(ordering: Ordering, one: Group, other: Group, price: Price) -> Pair:
    x, y = _samples(ordering, one, other, price)
    timed = any(name == "seconds" for name, _ in price.weights)
    exact = not timed and nothing_varies(one.runs) and nothing_varies(other.runs)
    p = 0.0 if exact else rank_test(x, y)
    return Pair(one.label, other.label, (middle(x), middle(y)), side_of(x, y), p)


def _samples(ordering: Ordering, one: Group, other: Group, price: Price) -> tuple[Array, Array]:
    """Return what is compared of two algorithms, for each of their runs."""
    if ordering.target is not None:
        target = Stop(ordering.measure, ordering.target)
        return runtimes(one.runs, target, price).calls, runtimes(other.runs, target, price).calls
    ended = [run for run in (*one.runs, *other.runs) if run.status in HOLDS]
    limit = min((price.spent(run) for run in ended), default=0.0)

    def values(group: Group) -> Array:
        return np.array([_value(run, ordering.measure, price, limit) for run in group.runs])

    return values(one), values(other)


def _value(run: Run, measure: str, price: Price, limit: float) -> float:
    """Return the last recorded value within a limit; infinite for a run without an answer."""
    spent, values = price.along(run), column(run, measure)
    if run.status not in HOLDS or spent.size != values.size:
        return math.inf
    known = values[(spent <= limit) & ~np.isnan(values)]
    return float(known[-1]) if known.size else math.inf


def _corrected(several: Sequence[Tested]) -> list[Tested]:
    """Return the same with p-values corrected for the number of all pairs that are tested."""
    at_risk = [pair.p for one in several for pair in one.pairs if pair.p > 0.0]
    corrected = iter(holm(at_risk))

    def mended(pair: Pair) -> Pair:
        return replace(pair, p=next(corrected)) if pair.p > 0.0 else pair

    return [replace(one, pairs=tuple(map(mended, one.pairs))) for one in several]


def _worst(several: Sequence[Tested]) -> int:
    return min(_VERDICTS.index(one.verdict) for one in several)


def _sentence(several: Sequence[Tested]) -> str:
    """Return what becomes of one order in each price."""
    ordering = several[0].ordering
    by_price: dict[str, list[Tested]] = {}
    for one in several:
        by_price.setdefault(str(one.price), []).append(one)
    becomes = "; ".join(f"by {price} {_becomes(of)}" for price, of in by_price.items())
    said = f": “{ordering.says}”" if ordering.says else ""
    return f"{_order(ordering)} in {_compared(ordering)} ({ordering.source}{said}): {becomes}."


def _becomes(several: Sequence[Tested]) -> str:
    """Return what becomes of an order in one price over its panels, with the evidence of one."""
    shown = min(several, key=lambda one: _VERDICTS.index(one.verdict))
    if len(several) == 1:
        return f"{shown.verdict} ({_evidence(shown)})"
    number = Counter(one.verdict for one in several)
    ways = [f"{way} on {whole(number[way])}" for way in _VERDICTS if number[way]]
    total = counted(len(several), "panel")
    return f"{listed(ways)} of {total} (at {shown.panel.title}: {_evidence(shown)})"


def _order(ordering: Ordering) -> str:
    places = [listed(place) for place in ordering.order]
    return f"{' before '.join(places)}"


def _compared(ordering: Ordering) -> str:
    if ordering.target is None:
        return inside(ordering.measure)
    return f"calls to {inside(ordering.measure)} ≤ {significant(ordering.target)}"


def _evidence(one: Tested) -> str:
    pair, calls = one.evidence, one.ordering.target is not None
    first, second = map(calls_as_text if calls else _value_as_text, pair.values)
    sure = "nothing varies" if pair.p == 0.0 else f"p = {significant(pair.p, 2)}"
    return f"{pair.first} {first}, {pair.second} {second}, {sure}"


def _value_as_text(value: float) -> str:
    return significant(value) if math.isfinite(value) else "no value"
