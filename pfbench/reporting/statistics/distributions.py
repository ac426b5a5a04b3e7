"""Shares of problems and targets: within so many calls, and within a factor of a reference.

E. D. Dolan, J. J. Moré, Benchmarking optimization software with performance profiles, Mathematical
Programming 91 (2002). Theirs divide by the best of the methods shown, so that adding one changes
the others and may reverse their order (N. Gould, J. Scott, A note on performance profiles for
benchmarking software, ACM Transactions on Mathematical Software 43 (2016)); here the reference is
given and fixed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pfbench.base.errors import InputError
from pfbench.reporting.statistics.bootstrap import (
    RESAMPLES,
    percentile_interval,
    resample_ert,
    resampling_counts,
)
from pfbench.reporting.statistics.runtimes import Runtimes, ert
from pfbench.reporting.statistics.seed_curves import Array


@dataclass(frozen=True)
class CumulativeShare:
    """A share that grows with x, a step at each of its points.

    Attributes
    ----------
    x
        Calls, or factors of the reference; increasing.
    share, low, high
        The share at x and up to the next one, and the ends of its pointwise interval.
    """

    x: Array
    share: Array
    low: Array
    high: Array


def ecdf(runtimes: Sequence[Sequence[Runtimes]], resamples: int = RESAMPLES) -> CumulativeShare:
    """Return the share of (problem, target, run) that is reached within so many calls.

    Every problem weighs the same, as does every target of it. What is never reached is in no step:
    the share ends below 1.

    Parameters
    ----------
    runtimes
        The calls by problem and target; the runs of a problem are in the same order for each.
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


def performance_profile(
    runtimes: Sequence[Sequence[Runtimes]],
    references: Sequence[Sequence[float]],
    resamples: int = RESAMPLES,
) -> CumulativeShare:
    """Return the share of (problem, target) of which the expected runtime is within a factor.

    Parameters
    ----------
    runtimes
        The calls by problem and target.
    references
        For each of them the fixed number of calls that has the factor 1.

    Raises
    ------
    InputError
        If a reference is no positive number.
    """
    flat = [value for by_target in references for value in by_target]
    if not all(0 < value < float("inf") for value in flat):
        raise InputError("a profile needs a positive number of calls for each problem and target.")
    factors = [
        np.array([ert(runtimes) for runtimes in targets]) / np.asarray(reference)
        for targets, reference in zip(runtimes, references, strict=True)
    ]
    finite = [values[np.isfinite(values)] for values in factors]
    x = np.unique(np.concatenate(finite)) if finite else np.empty(0)
    number = max(len(factors), 1)
    share = (
        np.sum([_count_values_up_to_each(values, x) / values.size for values in factors], axis=0)
        / number
    )
    result = np.zeros((resamples, x.size))
    sizes = [targets[0].calls.size for targets in runtimes]
    for targets, reference, times in zip(
        runtimes, references, resampling_counts(sizes, resamples), strict=True
    ):
        for target, by in zip(targets, reference, strict=True):
            inner = resample_ert(target, times)[:, None] / by <= x
            result += inner / len(targets)
    low, high = percentile_interval(result / number)
    return CumulativeShare(x, share, low, high)


def _count_values_up_to_each(values: Array, x: Array) -> Array:
    """Return how many values are at most x."""
    return np.searchsorted(np.sort(values), x, side="right").astype(float)
