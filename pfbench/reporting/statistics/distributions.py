"""Shares of problems and targets reached, against the number of calls."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pfbench.reporting.statistics.bootstrap import RESAMPLES, percentile_interval, resampling_counts
from pfbench.reporting.statistics.runtimes import Runtimes
from pfbench.reporting.statistics.seed_curves import Array


@dataclass(frozen=True)
class CumulativeShare:
    """Non-decreasing step function: the share of targets reached within x calls.

    Attributes
    ----------
    x
        Numbers of calls at which the share increases, in increasing order.
    share, low, high
        The share from x up to the next entry of x, and the ends of its pointwise interval.
    """

    x: Array
    share: Array
    low: Array
    high: Array


def ecdf(runtimes: Sequence[Sequence[Runtimes]], resamples: int = RESAMPLES) -> CumulativeShare:
    """Return the share of (problem, target, run) triples reached, against the number of calls.

    Every problem has equal weight, and so has every target of it. If some triples are never
    reached, the share ends below 1.

    Parameters
    ----------
    runtimes
        The calls by problem and target; all targets of a problem list its runs in the same order.
    """
    calls = [np.stack([runtimes.calls for runtimes in targets]) for targets in runtimes]
    existing = [values[np.isfinite(values)] for values in calls]
    x = np.unique(np.concatenate(existing)) if existing else np.empty(0)
    share, result = np.zeros(x.size), np.zeros((resamples, x.size))
    for values, times in zip(
        calls, resampling_counts([c.shape[1] for c in calls], resamples), strict=True
    ):
        # Of each run, the share of the targets that it has reached at x.
        reached = np.stack([_count_values_up_to_each(run, x) for run in values.T]) / values.shape[0]
        share += reached.mean(axis=0)
        result += times @ reached / values.shape[1]
    number = max(len(calls), 1)
    low, high = percentile_interval(result / number)
    return CumulativeShare(x, share / number, low, high)


def _count_values_up_to_each(values: Array, x: Array) -> Array:
    """Return, for each x, the number of values that are at most x."""
    return np.searchsorted(np.sort(values), x, side="right").astype(float)
