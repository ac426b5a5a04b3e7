"""Number of oracle calls until a run reaches a target, with expected values and intervals.

A run reaches a target at its first recorded row where the measure is at most the target; its
runtime is the cost up to that row. The row depends on how often iterates are recorded, so the
parameter `every` must be equal for compared runs.

N. Hansen, A. Auger, D. Brockhoff, T. Tušar, Anytime performance assessment in blackbox
optimization benchmarking, IEEE Transactions on Evolutionary Computation 26 (2022).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pfbench.base.counts import COUNTED
from pfbench.reporting.seed_curves import Array, SeedTraces
from pfbench.runs.loop.run import Stop

# --- costs ----------------------------------------------------------------------------------------

KNOWN_COSTS = (*COUNTED, "products", "iteration", "seconds")
"""Trace columns that can be part of a cost; "products" stands for LO times lmo_products."""


@dataclass(frozen=True)
class Cost:
    """Weighted sum of counts, such as SFO + 50 LO.

    Attributes
    ----------
    weights
        Pairs of a trace column of `KNOWN_COSTS` and the cost of one unit of it.
    """

    weights: tuple[tuple[str, float], ...]

    @classmethod
    def from_weights(cls, weights: str | Mapping[str, float]) -> "Cost":
        """Return the cost given by one kind of oracle calls, or by weights of several kinds."""
        parameters = {weights: 1.0} if isinstance(weights, str) else weights
        return cls(tuple((name, float(weight)) for name, weight in parameters.items() if weight))

    def __str__(self) -> str:
        return " + ".join(_format_term(name, weight) for name, weight in self.weights)

    @property
    def description(self) -> str:
        """Name of the cost for sentences, such as ``SFO + 50 LO calls``."""
        return "products of matrices" if self == PRODUCTS else f"{self} calls"

    def costs_by_row(self, traces: SeedTraces) -> Array:
        """Return the cost up to each recorded row; NaN if the traces lack a needed column."""
        terms = [
            weight * _products_per_lmo(traces)[traces.run_of_row] * traces.stack_column("lo")
            if name == "products"
            else weight * traces.stack_column(name)
            for name, weight in self.weights
        ]
        return np.asarray(np.sum(terms, axis=0))

    def costs_of_whole_runs(self, traces: SeedTraces) -> Array:
        """Return the cost of each whole run, including an incomplete last iteration."""
        terms = []
        for name, weight in self.weights:
            spent = attrgetter(_RUN_TOTALS.get(name, f"counts.{name}"))
            times = _products_per_lmo(traces) if name == "products" else 1.0
            terms.append(weight * times * np.array([*map(spent, traces.runs)], dtype=float))
        return np.asarray(np.sum(terms, axis=0))


_RUN_TOTALS = {"iteration": "iterations", "seconds": "seconds", "products": "counts.lo"}

PRODUCTS = Cost.from_weights("products")
"""Cost in matrix products of the linear minimisations, for runs with lmo_products."""


def _products_per_lmo(traces: SeedTraces) -> Array:
    """Return, for each run, the matrix products in one linear minimisation; 0 if not measured."""
    first = traces.find_first_rows_or_minus_one(np.ones(len(traces.numbers), bool))
    measured = np.append(traces.stack_column("lmo_products"), np.nan)[first]
    return np.where(np.isnan(measured), 0.0, measured)


def _format_term(name: str, weight: float) -> str:
    title = name.upper() if name in COUNTED else name
    return title if weight == 1.0 else f"{weight:g} {title}"


# --- runtimes -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Runtimes:
    """Costs until one target is reached, for the runs of one algorithm on one problem.

    Attributes
    ----------
    calls
        Cost of each run up to the target; infinite if the run misses the target.
    total_calls
        Cost of each whole run.
    """

    calls: Array
    total_calls: Array

    @property
    def is_reached(self) -> npt.NDArray[np.bool_]:
        """Boolean array: whether each run reached the target."""
        return np.isfinite(self.calls)

    @property
    def hits(self) -> int:
        """Number of runs that reached the target."""
        return int(self.is_reached.sum())

    @property
    def is_reached_by_free_runs(self) -> bool:
        """Whether some run reaches the target, and the cost of every run is zero."""
        return bool(self.hits) and not self.calls_charged.any()

    @property
    def calls_charged(self) -> Array:
        """Cost charged to each run.

        It is the cost up to the target, or that of the whole run if the run misses the target.
        """
        return np.where(self.is_reached, self.calls, self.total_calls)


def make_runtimes(traces: SeedTraces, target: Stop, price: Cost) -> Runtimes:
    """Return, for each run, the cost until it reaches a target."""
    costs = np.append(price.costs_by_row(traces), np.inf)[traces.find_first_rows_within(target)]
    return Runtimes(np.where(np.isnan(costs), np.inf, costs), price.costs_of_whole_runs(traces))


def ert(runtimes: Runtimes) -> float:
    """Return the expected runtime to a target.

    It is the total cost charged to the runs over the number of runs that reach the target. This is
    the average cost of restarting until the target is reached. A run that misses the target counts
    with its whole cost. If no run reaches the target, the expected runtime is infinite.
    """
    return float(runtimes.calls_charged.sum() / runtimes.hits) if runtimes.hits else float("inf")


# --- intervals by the bootstrap -------------------------------------------------------------------

# The runs of each problem are resampled with replacement, as many as there are; the problems are
# fixed. R. Agarwal, M. Schwarzer, P. S. Castro, A. C. Courville, M. Bellemare, Deep reinforcement
# learning at the edge of the statistical precipice, NeurIPS 2021.

RESAMPLES = 2000
"""Number of bootstrap resamples."""

LEVEL = 0.95
"""Nominal coverage probability of an interval."""

_SEED = 20190813


class BootstrapInterval(NamedTuple):
    """Lower and upper end of a bootstrap interval; the upper end may be infinite."""

    low: float
    high: float


def resampling_counts(run_counts: Sequence[int], resamples: int) -> Iterator[Array]:
    """Yield, for each problem, how often each run is drawn: an array of shape (resamples, runs).

    Equal arguments give equal draws.

    Parameters
    ----------
    run_counts
        Number of runs of each problem.
    """
    return (
        _draw_compact_counts(problem, runs, resamples).astype(float)
        for problem, runs in enumerate(run_counts)
    )


@lru_cache(maxsize=64)
def _draw_compact_counts(problem: int, runs: int, resamples: int) -> "np.ndarray[Any, Any]":
    """Return the resampling counts of one problem as an array of small integers."""
    rng = np.random.default_rng(np.random.SeedSequence((_SEED, problem)))
    multinomial = rng.multinomial(runs, np.full(runs, 1.0 / runs), resamples)
    return multinomial.astype(np.min_scalar_type(multinomial.max(initial=0)))


def resample_ert(runtimes: Runtimes, resamples: Array) -> Array:
    """Return the expected runtime computed from each bootstrap resample of the runs.

    It is infinite if no run in the resample reaches the target.
    """
    hits = resamples @ runtimes.is_reached.astype(float)
    with np.errstate(divide="ignore"):
        return np.where(
            hits > 0, resamples @ runtimes.calls_charged / np.maximum(hits, 1.0), np.inf
        )


def ert_interval(runtimes: Runtimes, resamples: int = RESAMPLES) -> BootstrapInterval | None:
    """Return the bootstrap interval of the expected runtime.

    Return None for fewer than two runs, or if no run reaches the target.
    """
    if runtimes.calls.size < 2 or not runtimes.hits:
        return None
    counts = next(resampling_counts([runtimes.calls.size], resamples))
    low, high = percentile_interval(resample_ert(runtimes, counts))
    return BootstrapInterval(float(low), float(high))


EVEN = 1.25
"""Two methods are equivalent if the interval of their ratio is within 1/1.25 and 1.25."""


def ert_ratio_interval(runtimes: Runtimes, other: Runtimes) -> BootstrapInterval | None:
    """Return the bootstrap interval of a ratio of two expected runtimes.

    The runs of both algorithms are resampled independently. If neither algorithm reaches the
    target in a resample, its ratio counts as 0 for the lower end and as infinite for the upper
    end. Return None if one algorithm never reaches the target, or has a single run.
    """
    if not (runtimes.hits and other.hits) or min(runtimes.calls.size, other.calls.size) < 2:
        return None
    counts = resampling_counts([runtimes.calls.size, other.calls.size], RESAMPLES)
    above, below = map(resample_ert, (runtimes, other), counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = above / below
    low = percentile_interval(np.nan_to_num(ratios, nan=0.0, posinf=np.inf))[0]
    high = percentile_interval(np.nan_to_num(ratios, nan=np.inf, posinf=np.inf))[1]
    return BootstrapInterval(float(low), float(high))


def is_equivalent(interval: BootstrapInterval | None) -> bool:
    """Return whether the interval of a runtime ratio is contained in [1/`EVEN`, `EVEN`].

    The two methods then count as equivalent.
    """
    return interval is not None and interval.low >= 1.0 / EVEN and interval.high <= EVEN


def percentile_interval(resamples: Array) -> Array:
    """Return the ends of the central interval that contains the share `LEVEL` of the resamples.

    The first axis of `resamples` has the resamples, and that of the result has the two ends.
    """
    tail = (1 - LEVEL) / 2
    # Values as they were drawn: nothing is interpolated between a number and infinity.
    return np.quantile(resamples, [tail, 1 - tail], axis=0, method="inverted_cdf")


@dataclass(frozen=True)
class CumulativeShare:
    """Non-decreasing step function: the share of targets that are reached within x calls.

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
    """Return the share of (problem, target, run) triples that are reached within x calls.

    Every problem has equal weight, and so has every target of a problem. The share ends below 1 if
    some runs miss a target.

    Parameters
    ----------
    runtimes
        Runtimes for each problem and each target. All targets of a problem list the runs in the
        same order.
    """
    calls = [np.stack([runtimes.calls for runtimes in targets]) for targets in runtimes]
    existing = [values[np.isfinite(values)] for values in calls]
    x = np.unique(np.concatenate(existing)) if existing else np.empty(0)
    share, result = np.zeros(x.size), np.zeros((resamples, x.size))
    counts = resampling_counts([values.shape[1] for values in calls], resamples)
    for values, times in zip(calls, counts, strict=True):
        # Of each run, the share of the targets that it has reached at x.
        reached = np.stack([np.searchsorted(np.sort(run), x, side="right") for run in values.T])
        reached = reached / values.shape[0]
        share += reached.mean(axis=0)
        result += times @ reached / values.shape[1]
    number = max(len(calls), 1)
    low, high = percentile_interval(result / number)
    return CumulativeShare(x, share / number, low, high)
