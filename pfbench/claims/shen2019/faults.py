"""Faults in the estimators of shen2019 that several of its claims must catch."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pfbench.algorithms.nfwu import NFWUCASPIDERG, NFWUSPIDERG, NFWUSVRG
from pfbench.base.protocols import Asked, Point, State
from pfbench.claims.shen2019.counts import COUNT
from pfbench.claims.shen2019.error_laws import LAW
from pfbench.claims.shen2019.faulty import Faulty
from pfbench.claims.shen2019.matrix_recovery import ONE_NUMBER
from pfbench.claims.shen2019.unbiased import UNBIASED
from pfbench.verification import Mutant


class NeverRefreshed(Faulty, NFWUSPIDERG):
    """Takes its full gradient once and never again."""

    def refreshes(self, t: int) -> bool:
        """Refresh at 0 only."""
        return t == 0


class SnapshotNeverRefreshed(Faulty, NFWUSVRG):
    """Keeps the first snapshot for ever."""

    def refreshes(self, t: int) -> bool:
        """Refresh at 0 only."""
        return t == 0


class LongEpoch(Faulty, NFWUSPIDERG):
    """Refreshes every p + 1 iterations."""

    def refreshes(self, t: int) -> bool:
        """Refresh one iteration late."""
        return t % (self.period + 1) == 0


class RootBatch(Faulty, NFWUSPIDERG):
    """Draws sqrt(S) indices instead of S."""

    def drawn(self, ask: Asked, rng: Any) -> Any:
        """Draw too few."""
        return rng.integers(ask.n, size=math.isqrt(self.batch))


class NotDivided(Faulty, NFWUSVRG):
    """Sums the sampled differences and divides by nothing."""

    def factor(self, ask: Asked) -> float:
        """Return S."""
        return float(self.batch)


class WrongPoint(Faulty, NFWUSPIDERG):
    """SPIDERG with the difference to the snapshot instead of the point before."""

    def reference_point(self, s: Point, previous: Point) -> Point:
        """Return the snapshot."""
        return s


class FreshHessians(NFWUCASPIDERG):
    """Evaluates component Hessians at every point instead of once an epoch."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Ask for Hessians in each iteration."""
        for state in super().run(ask, x, rng):
            ask.hessian(state.x)
            yield state


MUTANTS = (
    Mutant.of("spiderg-never-refreshed", NeverRefreshed, LAW["spiderg"], COUNT["spiderg"]),
    Mutant.of("svrg-snapshot-never-refreshed", SnapshotNeverRefreshed, LAW["svrg"], COUNT["svrg"]),
    Mutant.of("spiderg-epoch-off-by-one", LongEpoch, COUNT["spiderg"], LAW["spiderg"]),
    Mutant.of("spiderg-root-batch", RootBatch, COUNT["spiderg"], LAW["spiderg"]),
    Mutant.of("svrg-not-divided", NotDivided, UNBIASED["svrg"], LAW["svrg"]),
    Mutant.of("spiderg-wrong-point", WrongPoint, UNBIASED["spiderg"], LAW["spiderg"]),
    Mutant.of("caspiderg-fresh-hessians", FreshHessians, COUNT["caspiderg"], ONE_NUMBER),
)
