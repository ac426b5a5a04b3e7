"""Runtimes to a target (in calls), and their expected value.

A run reaches a target at its first recorded row where the measure is at most the target; its
runtime is the cost up to that row. The row depends on how often iterates are recorded, so the
parameter `every` must be equal for compared runs.

N. Hansen, A. Auger, D. Brockhoff, T. Tušar, Anytime performance assessment in blackbox optimization
benchmarking, IEEE Transactions on Evolutionary Computation 26 (2022).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pfbench.reporting.statistics.cost import Cost
from pfbench.reporting.statistics.seed_curves import Array, trace_array
from pfbench.runs.loop.run import Run
from pfbench.runs.loop.stop import Stop


@dataclass(frozen=True)
class Runtimes:
    """The calls to one target of the runs of one algorithm on one problem.

    Attributes
    ----------
    calls
        Cost of each run up to the target; infinite if it misses the target.
    total_calls
        Cost of each whole run.
    """

    calls: Array
    total_calls: Array

    @property
    def is_reached(self) -> npt.NDArray[np.bool_]:
        """Whether each run reached the target."""
        return np.isfinite(self.calls)

    @property
    def hits(self) -> int:
        """Number of runs that reached the target."""
        return int(self.is_reached.sum())

    @property
    def needs_none(self) -> bool:
        """Whether the target is reached without any charged call."""
        return bool(self.hits) and not self.calls_charged.any()

    @property
    def calls_charged(self) -> Array:
        """Cost charged to each run: its calls to the target, or, if it failed, all it spent."""
        return np.where(self.is_reached, self.calls, self.total_calls)


def make_runtimes(
    runs: Sequence[Run], target: Stop, price: Cost, traces: Sequence[Array] | None = None
) -> Runtimes:
    """Return the runtimes of runs to a target; `traces` are their `trace_array`, if known."""
    existing = map(trace_array, runs) if traces is None else traces
    calls = [
        _calls_to_target(run, trace, target, price)
        for run, trace in zip(runs, existing, strict=True)
    ]
    return Runtimes(
        np.array(calls, dtype=float), np.array([price.total_cost(run) for run in runs], dtype=float)
    )


def ert(runtimes: Runtimes) -> float:
    """Return the expected runtime: the total cost charged to the runs over the number of hits.

    This is the average cost of restarting until the target is reached. Each failed run is charged
    its own cost. Without a hit, the expected runtime is infinite.
    """
    return float(runtimes.calls_charged.sum() / runtimes.hits) if runtimes.hits else float("inf")


def _calls_to_target(run: Run, trace: Array, target: Stop, price: Cost) -> float:
    priced = price.column_costs(run)
    needed = (target.measure, *(name for name, _ in priced))
    if not run.rows or any(name not in run.columns for name in needed):
        return float("inf")
    measured = trace[:, run.columns.index(target.measure)]
    reached = (-np.inf < measured) & (measured <= target.target)  # False without a value
    first = int(reached.argmax())
    if not reached[first]:
        return float("inf")
    return sum(
        weight * float(trace[first, run.columns.index(subject)]) for subject, weight in priced
    )
