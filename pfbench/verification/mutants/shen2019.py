"""Faults planted in the normalised Frank-Wolfe updates and their gradient estimators (shen2019)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar

import numpy as np
from pfbench.verification.mutants.base import Mutant

from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.algorithms.nfwu import (
    NFWUCASPIDERG,
    NFWUCASVRG,
    NFWUSG,
    NFWUSPIDERG,
    NFWUSVRG,
    EpochNFWU,
)
from pfbench.base.constants import Constants
from pfbench.base.protocols import Asked, Gradient
from pfbench.base.state import Point, State
from pfbench.estimators import SG
from pfbench.estimators.base import EpochEstimator, Estimate
from pfbench.points import combine, keep
from pfbench.verification.subject import Subject


@dataclass(frozen=True)
class Faulty(EpochEstimator):
    """Any of GE 2 to 5, with the places where a fault can be planted.

    Without overriding it is the estimator itself.
    """

    name = "faulty"
    source = "shen2019 GE 2 to 5"
    recursive: ClassVar[bool] = False
    aided: ClassVar[bool] = False

    def refreshes(self, t: int) -> bool:
        """Return whether iteration t takes a full gradient."""
        return t % self.period == 0

    def factor(self, ask: Asked) -> float:
        """Return what the difference is multiplied by."""
        return 1.0

    def reference_point(self, s: Point, previous: Point) -> Point:
        """Return the point that the difference is taken to."""
        return previous if self.recursive else s

    def correction(self, full: Gradient, sampled: Gradient) -> Gradient:
        """Return the correction from the two products."""
        return full - sampled

    def start(self, ask: Asked, rng: np.random.Generator) -> Estimate:
        """See `Estimator.start`."""
        iterations = count()
        g: Any = None
        mean: Any = None
        s: Any = None
        previous: Any = None
        H: Any = None

        def estimate(x: Point) -> Gradient:
            nonlocal g, mean, s, previous, H
            if self.refreshes(next(iterations)):
                g, mean, s = ask.gradient(x), None, keep(x)
                mean = g
                H = ask.hessian(x) if self.aided else None
            else:
                S = self.draw(ask, rng)
                y = self.reference_point(s, previous)
                change = self.factor(ask) * ask.difference(S, x, y)
                g = change + (g if self.recursive else mean)
                if self.aided:
                    g = g + self.correction(H.product(x, y), H.batch(S, x, y))
            previous = keep(x)
            found: Gradient = g
            return found

        return estimate


@dataclass(frozen=True)
class _Recursive(Faulty):
    recursive = True


@dataclass(frozen=True)
class _Aided(Faulty):
    aided = True


@dataclass(frozen=True)
class _AidedRecursive(Faulty):
    aided = recursive = True


# --- faults of the estimators ---------------------------------------------------------------------


@dataclass(frozen=True)
class NeverRefreshed(_Recursive):
    """Takes its full gradient once and never again."""

    def refreshes(self, t: int) -> bool:
        """Refresh at 0 only."""
        return t == 0


@dataclass(frozen=True)
class SnapshotNeverRefreshed(Faulty):
    """Keeps the first snapshot."""

    def refreshes(self, t: int) -> bool:
        """Refresh at 0 only."""
        return t == 0


@dataclass(frozen=True)
class LongEpoch(_Recursive):
    """Refreshes every p + 1 iterations."""

    def refreshes(self, t: int) -> bool:
        """Refresh one iteration late."""
        return t % (self.period + 1) == 0


@dataclass(frozen=True)
class RootBatch(_Recursive):
    """Draws sqrt(S) indices."""

    def draw(self, ask: Asked, rng: np.random.Generator) -> Any:
        """Draw too few."""
        return rng.integers(ask.n, size=math.isqrt(self.batch))


@dataclass(frozen=True)
class DividedByN(_Recursive):
    """Divides the summed difference by n instead of S."""

    def factor(self, ask: Asked) -> float:
        """Return S/n."""
        return self.batch / ask.n


@dataclass(frozen=True)
class NotDivided(Faulty):
    """Sums the difference and divides by nothing."""

    def factor(self, ask: Asked) -> float:
        """Return S."""
        return float(self.batch)


@dataclass(frozen=True)
class WrongPoint(Faulty):
    """SVRG with the difference to the point before instead of the snapshot."""

    def reference_point(self, s: Point, previous: Point) -> Point:
        """Return x_{t-1}."""
        return previous


@dataclass(frozen=True)
class WrongPointRecursive(_Recursive):
    """SPIDERG with the difference to the snapshot instead of the point before."""

    def reference_point(self, s: Point, previous: Point) -> Point:
        """Return the snapshot."""
        return s


@dataclass(frozen=True)
class WrongSign(_Aided):
    """CASVRG that subtracts the correction."""

    def correction(self, full: Gradient, sampled: Gradient) -> Gradient:
        """Return it with the wrong sign."""
        return sampled - full


@dataclass(frozen=True)
class WrongSignRecursive(_AidedRecursive):
    """CASPIDERG that subtracts the correction."""

    def correction(self, full: Gradient, sampled: Gradient) -> Gradient:
        """Return it with the wrong sign."""
        return sampled - full


@dataclass(frozen=True)
class NoMean(_Aided):
    """CASVRG that leaves out the full Hessian's product."""

    def correction(self, full: Gradient, sampled: Gradient) -> Gradient:
        """Return only the sampled part."""
        return -sampled


@dataclass(frozen=True)
class FreshHessians(_AidedRecursive):
    """CASPIDERG that evaluates its Hessians at every point instead of once an epoch."""

    def start(self, ask: Asked, rng: np.random.Generator) -> Estimate:
        """Evaluate component Hessians in each iteration."""
        estimate = super().start(ask, rng)

        def wasteful(x: Point) -> Gradient:
            ask.hessian(x)
            return estimate(x)

        return wasteful


@dataclass(frozen=True)
class OneBatch(_Recursive):
    """Draws one batch for the whole epoch."""

    def start(self, ask: Asked, rng: np.random.Generator) -> Estimate:
        """Draw once."""
        drawn = rng.integers(ask.n, size=self.batch)
        return _RepeatedBatch(self.batch, self.period).start(ask, _Repeating(drawn))  # type: ignore[arg-type]


@dataclass(frozen=True)
class _RepeatedBatch(_Recursive):
    pass


class _Repeating:
    """A stream that returns the same indices for ever."""

    def __init__(self, drawn: Any) -> None:
        self._drawn = drawn

    def integers(self, n: int, size: int) -> Any:
        """Return the indices."""
        return self._drawn


@dataclass(frozen=True)
class NeverTheLast(SG):
    """Draws among n - 1 components."""

    def draw(self, ask: Asked, rng: np.random.Generator) -> Any:
        """Leave out the last component."""
        return np.minimum(rng.integers(ask.n, size=self.batch), ask.n - 2)


def _variant(base: type[EpochNFWU], faulty: type[Faulty]) -> Any:
    """Return the algorithm with a faulty estimator, as a class of its own."""
    return dataclass(frozen=True, kw_only=True)(
        type(f"{base.__name__}{faulty.__name__}", (base,), {"estimates": faulty})
    )


@dataclass(frozen=True, kw_only=True)
class BiasedSG(NFWUSG):
    """NFWU with batches that never hold the last component."""

    @property
    def estimator(self) -> SG:
        """The faulty estimator."""
        return NeverTheLast(self.batch)


# --- faults of the updates ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DoubleLO(NFWUSVRG):
    """Minimises twice an iteration."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Ask once more than needed."""
        for state in super().run(ask, x, rng):
            ask.lo(state.estimate)
            yield state


@dataclass(frozen=True, kw_only=True)
class StepWithoutDiameter(NFWUSPIDERG):
    """Its schedule takes eta where the weight is eta/D."""

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **given: Any) -> "StepWithoutDiameter":
        """Return the schedule with the weight epsilon/L."""
        right = NFWUSPIDERG.theory(epsilon, constants, **given)
        return cls(
            iterations=right.iterations,
            step=min(1.0, right.step * constants.D),
            batch=right.batch,
            period=right.period,
        )


@dataclass(frozen=True, kw_only=True)
class TwiceTheStep(NFWUCASPIDERG):
    """Moves twice as far as its step says."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Move with the weight 2 eta/D."""
        estimate = self.estimator.start(ask, rng)
        for _ in range(self.iterations):
            g = estimate(x)
            v = ask.lo(g)
            at, x = x, combine(x, v, min(1.0, 2.0 * self.step))
            yield State(x, at, g)


@dataclass(frozen=True, kw_only=True)
class PrintedBatch(NFWUSVRG):
    """Takes the printed batch n^(2/3), whose error is four times what (9) wants."""

    @classmethod
    def sample_sizes(cls, epsilon: float, L: float, constants: Constants) -> dict[str, int]:
        """Return the sizes without the factor 4."""
        right = NFWUSVRG.sample_sizes(epsilon, L, constants)
        return right | {"batch": max(1, right["batch"] // 4)}


@dataclass(frozen=True, kw_only=True)
class LastOutput(NFWUCASVRG):
    """Declares its last iterate where the theorem draws one uniformly."""

    output: str = field(default="last")


@dataclass(frozen=True, kw_only=True)
class GapOfTheEstimate(NFWUSPIDERG):
    """Chooses the best of several runs by the estimate instead of the full gradient."""

    def best_of(self, ask: Asked, x0: Point, rng: np.random.Generator) -> Iterator[State]:
        """Choose without a full gradient."""
        yield from super().best_of(_Cheap(ask), x0, rng)


class _Cheap:
    """Oracles whose gradient is a batch; everything else is asked as it is."""

    def __init__(self, ask: Any) -> None:
        self._ask = ask

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ask, name)

    def gradient(self, x: Point) -> Gradient:
        """Return the gradient of one component."""
        found: Gradient = self._ask.batch(np.zeros(1, dtype=np.int64), x)
        return found


@dataclass(frozen=True, kw_only=True)
class GradientSteps(FrankWolfe):
    """Takes two gradient steps for each linear minimisation."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Take gradient steps; minimise after every second."""
        for t in range(self.iterations or 1):
            g = ask.gradient(x)
            at, x = x, x - g / 200.0
            if t % 2:
                ask.lo(g)
            yield State(x, at, g)


@dataclass(frozen=True, kw_only=True)
class RandomStep(FrankWolfe):
    """Declares itself deterministic and draws its step."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Draw the step."""
        for t in range(self.iterations or 1):
            g = ask.gradient(x)
            at, x = x, combine(x, ask.lo(g), rng.random() / (t + 2.0))
            yield State(x, at, g)


def _planted(name: str, about: str, algorithm: Any, *expected: str) -> Mutant:
    return Mutant(
        name=name,
        about=about,
        subject=Subject(algorithm=algorithm),
        expected=tuple(f"shen2019-{claim}" for claim in expected),
    )


MUTANTS: tuple[Mutant, ...] = (
    _planted(
        "spiderg-never-refreshed",
        "the reference gradient is taken once and never refreshed",
        _variant(NFWUSPIDERG, NeverRefreshed),
        *("mse-spiderg", "count-spiderg"),
    ),
    _planted(
        "svrg-snapshot-never-refreshed",
        "the first snapshot is kept for ever",
        _variant(NFWUSVRG, SnapshotNeverRefreshed),
        *("mse-svrg", "count-svrg"),
    ),
    _planted(
        "spiderg-epoch-off-by-one",
        "the reference gradient is taken every p + 1 iterations",
        _variant(NFWUSPIDERG, LongEpoch),
        *("count-spiderg", "mse-spiderg"),
    ),
    _planted(
        "spiderg-root-batch",
        "sqrt(S) indices are drawn instead of S",
        _variant(NFWUSPIDERG, RootBatch),
        *("count-spiderg", "mse-spiderg"),
    ),
    _planted(
        "spiderg-divided-by-n",
        "the difference is divided by n instead of S",
        _variant(NFWUSPIDERG, DividedByN),
        "unbiased-spiderg",
    ),
    _planted(
        "svrg-not-divided",
        "the difference is summed and not divided",
        _variant(NFWUSVRG, NotDivided),
        *("unbiased-svrg", "mse-svrg"),
    ),
    _planted(
        "svrg-wrong-point",
        "SVRG's difference is taken to the point before instead of the snapshot",
        _variant(NFWUSVRG, WrongPoint),
        "unbiased-svrg",
    ),
    _planted(
        "spiderg-wrong-point",
        "SPIDERG's difference is taken to the snapshot instead of the point before",
        _variant(NFWUSPIDERG, WrongPointRecursive),
        *("unbiased-spiderg", "mse-spiderg"),
    ),
    _planted(
        "spiderg-one-batch",
        "one batch is drawn for the whole epoch",
        _variant(NFWUSPIDERG, OneBatch),
        "mse-spiderg",
    ),
    _planted(
        "casvrg-wrong-sign",
        "the correction is subtracted",
        _variant(NFWUCASVRG, WrongSign),
        "mse-casvrg",
    ),
    _planted(
        "caspiderg-wrong-sign",
        "the correction is subtracted",
        _variant(NFWUCASPIDERG, WrongSignRecursive),
        "mse-caspiderg",
    ),
    _planted(
        "casvrg-no-mean",
        "the product with the full Hessian is left out",
        _variant(NFWUCASVRG, NoMean),
        "unbiased-casvrg",
    ),
    _planted(
        "caspiderg-fresh-hessians",
        "component Hessians are evaluated at every point",
        _variant(NFWUCASPIDERG, FreshHessians),
        "count-caspiderg",
    ),
    _planted(
        "sg-never-the-last",
        "the last component is never drawn",
        BiasedSG,
        "unbiased-sg",
    ),
    _planted(
        "svrg-double-lo",
        "the linear minimisation is called twice an iteration",
        DoubleLO,
        "count-svrg",
    ),
    _planted(
        "spiderg-step-without-diameter",
        "the weight is eta instead of eta/D",
        StepWithoutDiameter,
        "thm3.1-spiderg",
    ),
    _planted(
        "caspiderg-twice-the-step",
        "it moves twice as far as its step says",
        TwiceTheStep,
        "mse-caspiderg",
    ),
    _planted(
        "svrg-printed-batch",
        "the batch lacks the factor that condition (9) needs",
        PrintedBatch,
        "thm3.1-svrg",
    ),
    _planted(
        "casvrg-last-output",
        "the last iterate is put out where one is drawn uniformly",
        LastOutput,
        "thm3.1-casvrg",
    ),
    _planted(
        "spiderg-gap-of-the-estimate",
        "the best of several runs is chosen by an estimate of the gradient",
        GapOfTheEstimate,
        "rem3.1",
    ),
    _planted(
        "frank-wolfe-gradient-steps",
        "it moves along gradients that no linear minimisation has seen",
        GradientSteps,
        "thm5.1",
    ),
    _planted(
        "frank-wolfe-random-step",
        "it is declared deterministic and draws its step",
        RandomStep,
        "thm5.1",
    ),
)
"""Every mutant of this paper's methods."""
