"""Significant differences between methods: a rank test over seeds with Holm's correction.

H. B. Mann, D. R. Whitney, On a test of whether one of two random variables is stochastically larger
than the other, Annals of Mathematical Statistics 18 (1947); S. Holm, A simple sequentially
rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979).
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from math import comb
from typing import NamedTuple

import numpy as np

from pfbench.reporting.seed_curves import Array
from pfbench.reporting.wording import pluralize

SIGNIFICANT = 0.05
"""Family-wise error rate: probability of any significant difference if no methods differ."""

_EXACT = 100
"""Maximum number of values of both samples together for which the test is exact."""


class SeedSample(NamedTuple):
    """Values of a method over the seeds, and whether the method is deterministic.

    Smaller values are better. The values of a deterministic method on the same data count as one
    number, not as a sample.
    """

    values: Array
    is_deterministic: bool = False


Pair = tuple[SeedSample, SeedSample]


def significant_sides(pairs: Sequence[Pair]) -> list[int]:
    """Return, for each pair of samples, which of the two is significantly smaller.

    The result is -1 for the first, 1 for the second, and 0 for neither. Holm's correction is over
    all tested pairs. Two deterministic samples are compared as numbers, without a test.
    """
    tests = {
        index: _p_value(sample, other)
        for index, (sample, other) in enumerate(pairs)
        if not (sample.is_deterministic and other.is_deterministic)
    }
    corrected = dict(zip(tests, holm_adjust([*tests.values()]), strict=True))
    return [
        rank_side(sample.values, other.values) if corrected.get(index, 0.0) <= SIGNIFICANT else 0
        for index, (sample, other) in enumerate(pairs)
    ]


def significant_leaders(
    table: Sequence[Sequence[SeedSample]], displayed: Sequence[Sequence[float]]
) -> list[int | None]:
    """Return, for each row of a table, the index of the significantly best method, or None.

    The index is None if there is no such method. The method with the smallest displayed number is
    tested against each other method, with Holm's correction over the tests of all rows. Adding a
    method changes no number, but it may remove a mark of significance.

    Parameters
    ----------
    table
        Samples by row and method. A method without values is not compared.
    displayed
        The numbers in the table; infinite if there is none.
    """
    best = [
        _sole_minimum_index(row, numbers) for row, numbers in zip(table, displayed, strict=True)
    ]
    tests = [
        (index, (row[first], other))
        for index, (row, first) in enumerate(zip(table, best, strict=True))
        if first is not None
        for number, other in enumerate(row)
        if number != first and other.values.size
    ]
    sides = significant_sides([pair for _, pair in tests])
    undecided = {index for (index, _), side in zip(tests, sides, strict=True) if side >= 0}
    return [None if index in undecided else first for index, first in enumerate(best)]


def _sole_minimum_index(row: Sequence[SeedSample], displayed: Sequence[float]) -> int | None:
    """Return the index of the smallest displayed number; None if it is infinite or not unique."""
    finite = {
        index: displayed[index]
        for index, sample in enumerate(row)
        if sample.values.size and np.isfinite(displayed[index])
    }
    lowest = [index for index, number in finite.items() if number == min(finite.values())]
    return lowest[0] if len(lowest) == 1 else None


def _p_value(sample: SeedSample, other: SeedSample) -> float:
    """Return the p-value of a rank test, or of a sign test if one sample is deterministic.

    It is 1 if a sample is empty.
    """
    if not (sample.values.size and other.values.size):
        return 1.0
    if sample.is_deterministic:
        return median_sign_test(other.values, float(sample.values[0]))
    if other.is_deterministic:
        return median_sign_test(sample.values, float(other.values[0]))
    return rank_test(sample.values, other.values)


def median_sign_test(x: Array, tested_median: float) -> float:
    """Return the two-sided p-value of the sign test that a sample has a given median.

    Values equal to the given median are ignored.
    """
    below, above = np.count_nonzero(x < tested_median), np.count_nonzero(x > tested_median)
    group = below + above
    tail = sum(comb(group, k) for k in range(min(below, above) + 1)) / 2**group
    return min(1.0, 2.0 * tail)


def rank_test(x: Array, y: Array) -> float:
    """Return the two-sided p-value of the Mann-Whitney test of equal distributions.

    The test is exact even with ties, which occur whenever several runs miss a target. It assumes
    that, given the values, each way to divide them into two samples is equally probable. Beyond
    100 values, scipy's approximation is used. Infinite values are greater than all others, and
    equal to each other. The p-value is 1 if a sample is empty.
    """
    if not (x.size and y.size):
        return 1.0
    values = np.concatenate([x, y])
    ordered = np.sort(values)
    # Twice the ranks; tied numbers share their mean rank.
    doubled = ordered.searchsorted(values, "left") + ordered.searchsorted(values, "right") + 1
    if values.size > _EXACT:
        from scipy.stats import mannwhitneyu  # a second of the processor

        law = mannwhitneyu(doubled[: x.size], doubled[x.size :], method="asymptotic")
        return float(law.pvalue)
    pattern = tuple(np.sort(doubled).tolist())
    return float(_rank_test_p_values(pattern, x.size)[doubled[: x.size].sum()])


@lru_cache(maxsize=512)  # few patterns of ties fill a table
def _rank_test_p_values(ranks: tuple[int, ...], size: int) -> Array:
    """Return an array of p-values, indexed by the rank sum of a sample of `size` values."""
    total, number = sum(ranks[-size:]), len(ranks)
    ways = np.zeros((size + 1, total + 1))
    ways[0, 0] = 1.0
    for rank in ranks:
        # Downwards, so that each rank is taken at most once.
        for index in range(size, 0, -1):
            ways[index, rank:] += ways[index - 1, : total + 1 - rank]
    # The ranks are doubled, so the mean of the sum is whole, and so are distances from it.
    away = np.abs(np.arange(total + 1) - size * (number + 1))
    at_distance = np.bincount(away, weights=ways[size])
    excess = np.cumsum(at_distance[::-1])[::-1]
    minimum: Array = np.minimum(1.0, excess[away] / comb(number, size))
    minimum.flags.writeable = False
    return minimum


def holm_adjust(p: Sequence[float]) -> list[float]:
    """Return p-values with Holm's correction for multiple tests, in the same order."""
    holm, lower = [1.0] * len(p), 0.0
    for number, point in enumerate(np.argsort(p, kind="stable")):
        lower = max(lower, (len(p) - number) * p[point])
        holm[int(point)] = min(1.0, lower)
    return holm


def seeds_needed(pairs: int) -> int:
    """Return the least number of seeds with which one of `pairs` tests can be significant.

    The smallest p-value of two samples of n values is 2 divided by the binomial coefficient (2n,
    n).
    """
    return next(n for n in count(1) if 2 * pairs <= SIGNIFICANT * comb(2 * n, n))


def seed_warning(seeds: int, pairs: int, limitation: str) -> str:
    """Return a warning if none of `pairs` tests can be significant with `seeds` seeds, else ''.

    No test can be significant if there are too few seeds.

    Parameters
    ----------
    seeds, pairs
        Number of seeds, and number of tested pairs, over which Holm's correction is.
    limitation
        Text on what so few seeds cannot show, such as "tell no two methods apart in a table of".

    Returns
    -------
    str
        Empty if the seeds are enough.
    """
    needed = seeds_needed(pairs) if pairs else 0
    if seeds >= needed:
        return ""
    return (
        f"{pluralize(seeds, 'seed')} can {limitation} {pluralize(pairs, 'pair')}, unless nothing "
        f"varies over the seeds: use {needed} seeds or more."
    )


def rank_side(x: Array, y: Array) -> int:
    """Return -1 if values of x rank below those of y, 1 if they rank above, and 0 if neither."""
    above = np.count_nonzero(x[:, None] > y) - np.count_nonzero(x[:, None] < y)
    return int(np.sign(above))


def median(sample: Sequence[float] | Array) -> float:
    """Return the median of a sample; infinite if the sample is empty.

    For an even number of values, the median is the mean of the two middle ones. So the median is
    infinite if half of the values are infinite.
    """
    values, half = np.sort(sample), (len(sample) - 1) // 2
    if not values.size:
        return float("inf")
    low, high = float(values[half]), float(values[len(values) - 1 - half])
    return low if low == high else 0.5 * low + 0.5 * high  # the sum of the two may overflow
