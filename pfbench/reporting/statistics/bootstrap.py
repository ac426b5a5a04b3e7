"""Intervals by the bootstrap over seeds, stratified by problem.

The runs of each problem are resampled with replacement, as many as there are; the problems are
fixed. R. Agarwal, M. Schwarzer, P. S. Castro, A. C. Courville, M. Bellemare, Deep
reinforcement learning at the edge of the statistical precipice, NeurIPS 2021.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pfbench.reporting.statistics.runtimes import Runtimes
from pfbench.reporting.statistics.seed_curves import Array

RESAMPLES = 2000
"""Number of bootstrap resamples."""

LEVEL = 0.95
"""Nominal coverage probability of an interval."""

_SEED = 20190813


class BootstrapInterval(NamedTuple):
    """Lower and upper end of an interval; the upper end may be infinite."""

    low: float
    high: float


def resampling_counts(numbers: Sequence[int], resamples: int) -> Iterator[Array]:
    """Yield, for each problem, how often each of its runs is drawn: shape (resamples, runs).

    Equal arguments give equal draws.

    Parameters
    ----------
    numbers
        Number of runs of each problem.
    """
    return (
        _draw_resampling_counts(problem, runs, resamples) for problem, runs in enumerate(numbers)
    )


@lru_cache(maxsize=2)
def _draw_resampling_counts(problem: int, runs: int, resamples: int) -> Array:
    bootstrap_indices: Array = _draw_compact_counts(problem, runs, resamples).astype(float)
    bootstrap_indices.flags.writeable = False
    return bootstrap_indices


@lru_cache(maxsize=64)
def _draw_compact_counts(problem: int, runs: int, resamples: int) -> "np.ndarray[Any, Any]":
    """Draw the resampling counts of one problem as small integers."""
    rng = np.random.default_rng(np.random.SeedSequence((_SEED, problem)))
    multinomial = rng.multinomial(runs, np.full(runs, 1.0 / runs), resamples)
    return multinomial.astype(np.min_scalar_type(runs))


def resample_ert(runtimes: Runtimes, resamples: Array) -> Array:
    """Return the expected runtime of each resample; infinite if none of its runs is a hit."""
    hits = resamples @ runtimes.is_reached.astype(float)
    with np.errstate(divide="ignore"):
        return np.where(
            hits > 0, resamples @ runtimes.calls_charged / np.maximum(hits, 1.0), np.inf
        )


def ert_interval(runtimes: Runtimes, resamples: int = RESAMPLES) -> BootstrapInterval | None:
    """Return the interval of the expected runtime; None for fewer than two runs, or no hit."""
    if runtimes.calls.size < 2 or not runtimes.hits:
        return None
    low, high = percentile_interval(
        resample_ert(runtimes, next(resampling_counts([runtimes.calls.size], resamples)))
    )
    return BootstrapInterval(float(low), float(high))


EVEN = 1.25
"""Two methods are equivalent if the interval of their ratio is within 1/1.25 and 1.25."""


def ratio_interval(runtimes: Runtimes, other: Runtimes) -> BootstrapInterval | None:
    """Return the interval of a ratio of expected runtimes; None if one of them has no hit.

    The runs of both are resampled independently. A resample in which neither has a hit counts as 0
    for the lower end and as infinite for the upper one. None is also returned for a single run.
    """
    if not (runtimes.hits and other.hits) or min(runtimes.calls.size, other.calls.size) < 2:
        return None
    sample = resampling_counts([runtimes.calls.size, other.calls.size], RESAMPLES)
    above, below = (
        resample_ert(runtimes, times)
        for runtimes, times in zip((runtimes, other), sample, strict=True)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = above / below
    low = percentile_interval(np.nan_to_num(ratios, nan=0.0, posinf=np.inf))[0]
    high = percentile_interval(np.nan_to_num(ratios, nan=np.inf, posinf=np.inf))[1]
    return BootstrapInterval(float(low), float(high))


def is_equivalent(interval: BootstrapInterval | None) -> bool:
    """Return whether an interval of a ratio shows that two methods are equivalent."""
    return interval is not None and interval.low >= 1.0 / EVEN and interval.high <= EVEN


def percentile_interval(resamples: Array) -> Array:
    """Return the interval ends, along the first axis, of values resampled along theirs."""
    tail = (1 - LEVEL) / 2
    # Values as they were drawn: nothing is interpolated between a number and infinity.
    return np.quantile(resamples, [tail, 1 - tail], axis=0, method="inverted_cdf")
