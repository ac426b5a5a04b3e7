"""Which differences between methods are more than luck: a rank test over seeds, Holm's correction.

H. B. Mann, D. R. Whitney, On a test of whether one of two random variables is stochastically larger
than the other, Annals of Mathematical Statistics 18 (1947); S. Holm, A simple sequentially
rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, count
from math import comb

import numpy as np

from pfbench.reporting.statistics.curves import Array

SIGNIFICANT = 0.05
"""Probability that a table in which no methods differ has any significant pair."""

_EXACT = 100
"""Up to so many values of both samples the test is exact."""


@dataclass(frozen=True)
class Standing:
    """How the methods of one row of a table stand.

    Attributes
    ----------
    best
        The methods with the least shown number.
    tied
        The others of which the test does not say that they are worse than each of the best.
    """

    best: frozenset[int]
    tied: frozenset[int]

    @property
    def clear(self) -> bool:
        """Whether one method is the best, and the test tells it from every other."""
        return len(self.best) == 1 and not self.tied


def rank_test(x: Array, y: Array) -> float:
    """Return the two-sided p-value of the Mann-Whitney test that two samples are of one law.

    Exact for ties, too, which runs that missed a target always have: given the values, each way to
    part them into two samples is equally probable. Beyond 100 values it is scipy's approximation.
    Infinite values are greater than all others, and equal.
    """
    from scipy.stats import mannwhitneyu, rankdata

    if min(x.size, y.size) == 0:
        return 1.0
    if x.size + y.size > _EXACT:
        ranks = rankdata(np.concatenate([x, y]))
        return float(mannwhitneyu(ranks[: x.size], ranks[x.size :], method="asymptotic").pvalue)
    doubled = np.rint(2 * rankdata(np.concatenate([x, y]))).astype(int)
    ways = _ways(tuple(np.sort(doubled).tolist()), x.size)
    # The sum of the doubled ranks of the first sample, and its mean.
    observed, mean = int(doubled[: x.size].sum()), x.size * (x.size + y.size + 1)
    sums = np.arange(ways.size)
    extreme = np.abs(sums - mean) >= abs(observed - mean)
    return min(1.0, float(ways[extreme].sum()) / comb(x.size + y.size, x.size))


@lru_cache(maxsize=512)  # few patterns of ties fill a table
def _ways(ranks: tuple[int, ...], size: int) -> Array:
    """Return how many subsets of a size there are of sorted ranks, by their sum."""
    total = sum(ranks[-size:])
    ways = np.zeros((size + 1, total + 1))
    ways[0, 0] = 1.0
    for rank in ranks:
        # Downwards, so that each rank is taken at most once.
        for taken in range(size, 0, -1):
            ways[taken, rank:] += ways[taken - 1, : total + 1 - rank]
    found: Array = ways[size]
    found.flags.writeable = False
    return found


def holm(p: Sequence[float]) -> list[float]:
    """Return the p-values as corrected for their number: each may be held to the level itself."""
    found, least = [1.0] * len(p), 0.0
    for number, at in enumerate(np.argsort(p, kind="stable")):
        least = max(least, (len(p) - number) * p[at])
        found[int(at)] = min(1.0, least)
    return found


def seeds_needed(pairs: int) -> int:
    """Return from how many seeds on a table with so many pairs can have a significant one.

    The least p-value of two samples of n values is 2 over the ways to choose n of 2n.
    """
    return next(n for n in count(1) if 2 * pairs <= SIGNIFICANT * comb(2 * n, n))


def standings(
    table: Sequence[Sequence[Array]],
    exact: Sequence[Sequence[bool]] | None = None,
    shown: Sequence[Sequence[float]] | None = None,
) -> list[Standing]:
    """Return how the methods of each row of a table stand; smaller is better.

    All pairs of every row are tested, and Holm's correction is over all of them: which method is
    the best is seen in the same values that are tested. So a further method may take a mark away;
    it changes no number.

    Parameters
    ----------
    table
        By row and method, a value for each seed. A method without values stands nowhere.
    exact
        Whether nothing varies over the seeds of a method: two such methods are told apart by their
        values alone, as no luck is in them.
    shown
        The numbers that the table shows, where these are not the medians.
    """
    worse: set[tuple[int, int, int]] = set()  # row, a method, and one that is worse
    tested, p = [], []
    for row, samples in enumerate(table):
        for one, other in combinations(range(len(samples)), 2):
            x, y = samples[one], samples[other]
            if not (x.size and y.size):
                continue
            side = side_of(x, y)
            pair = (row, one, other) if side < 0 else (row, other, one)
            if exact is not None and exact[row][one] and exact[row][other]:
                worse |= {pair} if side else set()
            else:
                tested.append(pair)
                p.append(rank_test(x, y))
    significant = zip(tested, holm(p), strict=True)
    worse |= {pair for pair, corrected in significant if corrected <= SIGNIFICANT}
    numbers = shown or [[middle(sample) for sample in samples] for samples in table]
    return [_standing(row, table[row], numbers[row], worse) for row in range(len(table))]


def side_of(x: Array, y: Array) -> int:
    """Return -1 if the first sample has the smaller values by rank, 1 if the larger, 0 if none."""
    above = np.count_nonzero(x[:, None] > y) - np.count_nonzero(x[:, None] < y)
    return int(np.sign(above))


def _standing(
    row: int, samples: Sequence[Array], shown: Sequence[float], worse: set[tuple[int, int, int]]
) -> Standing:
    compared = [at for at, sample in enumerate(samples) if sample.size]
    least = min((shown[at] for at in compared), default=float("inf"))
    if least == float("inf"):
        return Standing(frozenset(), frozenset())
    best = frozenset(at for at in compared if shown[at] == least)
    tied = {at for at in compared if any((row, one, at) not in worse for one in best)}
    return Standing(best, frozenset(tied - best))


def middle(sample: Array) -> float:
    """Return the median, the mean of the two middle values of an even number; infinite without any.

    It is infinite where one of these is: half of the runs have no value.
    """
    return float(np.median(sample)) if sample.size else float("inf")
