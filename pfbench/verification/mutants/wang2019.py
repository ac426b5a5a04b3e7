"""Faults planted in SpiderBoost, its proximal and its momentum form (wang2019)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from pfbench.verification.mutants.base import Mutant

from pfbench.algorithms.proximal import ProxSpiderBoost, SpiderBoost
from pfbench.algorithms.spider import ProxSpiderBoostM
from pfbench.base.constants import Constants
from pfbench.base.protocols import Asked, Gradient
from pfbench.base.state import Point, State
from pfbench.estimators import SPIDERG
from pfbench.estimators.base import EpochEstimator, Estimate
from pfbench.points import combine, keep, shift
from pfbench.verification.mutants.shen2019 import DividedByN, NeverRefreshed
from pfbench.verification.subject import Subject

# --- faults of the estimate -----------------------------------------------------------------------


@dataclass(frozen=True)
class FaultySpider(EpochEstimator):
    """SPIDER with places for faults; without overriding it is the estimator itself."""

    name = "faulty-spider"
    source = "wang2019 (1)"

    def step(self, ask: Asked, S: Any, path: list[Point], v: Gradient) -> Gradient:
        """Return v_k from v_{k-1} and the points of this epoch, the newest last."""
        return ask.difference(S, path[-1], path[-2]) + v

    def start(self, ask: Asked, rng: np.random.Generator) -> Estimate:
        """See `Estimator.start`."""
        path: list[Point] = []
        v: Any = None

        def estimate(x: Point) -> Gradient:
            nonlocal v
            if len(path) % self.period == 0:
                path.clear()
            path.append(keep(x))
            first = len(path) == 1
            v = ask.gradient(x) if first else self.step(ask, self.draw(ask, rng), path, v)
            found: Gradient = v
            return found

        return estimate


@dataclass(frozen=True)
class WrongSign(FaultySpider):
    """Subtracts the difference."""

    def step(self, ask: Asked, S: Any, path: list[Point], v: Gradient) -> Gradient:
        """Subtract."""
        return v - ask.difference(S, path[-1], path[-2])


@dataclass(frozen=True)
class FromTheSnapshot(FaultySpider):
    """Takes the difference to the snapshot and adds it to v_{k-1} all the same."""

    def step(self, ask: Asked, S: Any, path: list[Point], v: Gradient) -> Gradient:
        """Take it to the first point of the epoch."""
        return ask.difference(S, path[-1], path[0]) + v


@dataclass(frozen=True)
class TwoBack(FaultySpider):
    """Takes the difference to x_{k-2}."""

    def step(self, ask: Asked, S: Any, path: list[Point], v: Gradient) -> Gradient:
        """Take it to the point before the last."""
        return ask.difference(S, path[-1], path[max(-3, -len(path))]) + v


@dataclass(frozen=True)
class ForgetsItself(FaultySpider):
    """Adds the difference to the gradient of the snapshot and not to v_{k-1}."""

    def step(self, ask: Asked, S: Any, path: list[Point], v: Gradient) -> Gradient:
        """Return the estimate without its past."""
        return ask.difference(S, path[-1], path[-2])


@dataclass(frozen=True)
class OneComponent(FaultySpider):
    """Draws one index and repeats it."""

    def draw(self, ask: Asked, rng: np.random.Generator) -> Any:
        """Draw once."""
        return np.repeat(rng.integers(ask.n, size=1), self.batch)


def _with(estimator: type[EpochEstimator]) -> Any:
    """Return SpiderBoost with a faulty estimator, as a class of its own."""

    def estimates(self: Any) -> EpochEstimator:
        return estimator(self.batch, self.period)

    body = {"estimator": property(estimates), "__module__": __name__}
    return dataclass(frozen=True, kw_only=True)(
        type(f"SpiderBoost{estimator.__name__}", (SpiderBoost,), body)
    )


# --- faults of SpiderBoost ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LastOutput(SpiderBoost):
    """Returns the last iterate."""

    output: str = field(default="last")


@dataclass(frozen=True, kw_only=True)
class LongStep(SpiderBoost):
    """Moves by 4/L."""

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **given: Any) -> Self:
        """Take eight times the step."""
        made = super().theory(epsilon, constants, **given)
        return replace(made, step=8.0 * made.step)


@dataclass(frozen=True, kw_only=True)
class ShortRun(SpiderBoost):
    """Stops after a quarter of its iterations."""

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **given: Any) -> Self:
        """Divide T by 4."""
        made = super().theory(epsilon, constants, **given)
        return replace(made, iterations=max(1, made.iterations // 4))


@dataclass(frozen=True, kw_only=True)
class LongEpoch(SpiderBoost):
    """Takes a full gradient every n iterations instead of sqrt n."""

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **given: Any) -> Self:
        """Take q = n."""
        return super().theory(epsilon, constants, **{"period": constants.n, "batch": 1, **given})


@dataclass(frozen=True, kw_only=True)
class OneLength(SpiderBoost):
    """Divides its steps by |v| and keeps their first length."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Normalise."""
        estimate = self.estimator.start(ask, rng)
        first = None
        for _ in range(self.iterations):
            v = estimate(x)
            norm = float(np.linalg.norm(v))
            first = 0.1 * norm if first is None else first
            at, x = x, ask.prox(x, v, self.step * first / max(norm, 1e-300))
            yield State(x, at, v)


# --- faults of the proximal form ------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class NoProx(ProxSpiderBoost):
    """Skips the proximal map."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Take gradient steps."""
        estimate = self.estimator.start(ask, rng)
        for _ in range(self.iterations):
            v = estimate(x)
            at, x = x, x - self.step * v
            yield State(x, at, v)


@dataclass(frozen=True, kw_only=True)
class PenaltyWithoutStep(ProxSpiderBoost):
    """Takes the proximal map of h and not of eta h."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Give the map the parameter 1."""
        estimate = self.estimator.start(ask, rng)
        for _ in range(self.iterations):
            v = estimate(x)
            at, x = x, ask.prox(x, self.step * v, 1.0)
            yield State(x, at, v)


@dataclass(frozen=True, kw_only=True)
class TwoMaps(ProxSpiderBoost):
    """Takes a second proximal map to look at its progress."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Take each twice."""
        estimate = self.estimator.start(ask, rng)
        for _ in range(self.iterations):
            v = estimate(x)
            ask.prox(x, v, self.step)
            at, x = x, ask.prox(x, v, self.step)
            yield State(x, at, v)


@dataclass(frozen=True, kw_only=True)
class EveryGradient(ProxSpiderBoost):
    """Takes a full gradient at every iteration."""

    @property
    def estimator(self) -> SPIDERG:
        """SPIDER with epochs of one iteration."""
        return SPIDERG(self.batch, 1)


@dataclass(frozen=True, kw_only=True)
class BatchOfTenth(ProxSpiderBoost):
    """Draws S = n/10, a batch of practice."""

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **given: Any) -> Self:
        """Take a tenth of the components."""
        batch = math.ceil(constants.n / 10)
        return super().theory(epsilon, constants, **{"batch": batch, **given})


@dataclass(frozen=True, kw_only=True)
class GrowingBatch(ProxSpiderBoost):
    """Draws S = sqrt n/epsilon."""

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **given: Any) -> Self:
        """Let the batch grow with the accuracy."""
        batch = math.ceil(math.sqrt(constants.n) / epsilon)
        return super().theory(epsilon, constants, **{"batch": batch, **given})


# --- faults of the momentum form ------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ShiftedMomentum(ProxSpiderBoostM):
    """Uses alpha_k where alpha_{k+1} belongs, as the paper prints it for lambda_k."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Shift the index."""
        estimate = self.estimator.start(ask, rng)
        y, beta = keep(x), self.step
        for k in range(self.iterations):
            alpha = 2.0 / (math.ceil(k / self.period) + 1.0)
            lam = (1.0 + alpha) * beta
            z = combine(y, x, alpha)
            v = estimate(z)
            before, x = x, ask.prox(x, v, lam)
            y = shift(z, x, before, beta / lam)
            yield State(y, z, v)


@dataclass(frozen=True, kw_only=True)
class WholeMove(ProxSpiderBoostM):
    """Moves y by the whole x_{k+1} - x_k, without beta/lambda_k."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Leave the factor out."""
        estimate = self.estimator.start(ask, rng)
        y, beta = keep(x), self.step
        for k in range(self.iterations):
            alpha = 2.0 / (math.ceil((k + 1) / self.period) + 1.0)
            z = combine(y, x, alpha)
            v = estimate(z)
            before, x = x, ask.prox(x, v, (1.0 + alpha) * beta)
            y = shift(z, x, before, 1.0)
            yield State(y, z, v)


def _mutant(name: str, about: str, algorithm: Any, *expected: str) -> Mutant:
    return Mutant(
        name=name,
        about=about,
        subject=Subject(algorithm=algorithm),
        expected=tuple(f"wang2019-{claim}" for claim in expected),
    )


_NEVER_REFRESHED = _with(NeverRefreshed)
_DIVIDED_BY_N = _with(DividedByN)
_WRONG_SIGN = _with(WrongSign)
_FROM_THE_SNAPSHOT = _with(FromTheSnapshot)
_TWO_BACK = _with(TwoBack)
_FORGETS_ITSELF = _with(ForgetsItself)
_ONE_COMPONENT = _with(OneComponent)

MUTANTS: tuple[Mutant, ...] = (
    _mutant(
        "spiderboost-never-refreshed",
        "the reference gradient is taken once and never again",
        _NEVER_REFRESHED,
        "thm1",
    ),
    _mutant(
        "spiderboost-divided-by-n",
        "the summed difference is divided by n instead of S",
        _DIVIDED_BY_N,
        "thm1",
    ),
    _mutant("spiderboost-wrong-sign", "the difference is subtracted", _WRONG_SIGN, "thm1"),
    _mutant(
        "spiderboost-from-snapshot",
        "the recursion takes its difference to the snapshot",
        _FROM_THE_SNAPSHOT,
        "thm1",
    ),
    _mutant("spiderboost-two-back", "the difference is taken to x_{k-2}", _TWO_BACK, "thm1"),
    _mutant("spiderboost-forgets", "v_{k-1} is left out of the recursion", _FORGETS_ITSELF, "thm1"),
    _mutant("spiderboost-one-index", "one index is drawn S times", _ONE_COMPONENT, "thm1"),
    _mutant("spiderboost-last", "the output is the last iterate", LastOutput, "thm1"),
    _mutant("spiderboost-long-step", "the step is 4/L", LongStep, "thm1"),
    _mutant("spiderboost-short-run", "it stops after K/4 iterations", ShortRun, "thm1"),
    _mutant("spiderboost-long-epoch", "epochs of n iterations with S = 1", LongEpoch, "thm1"),
    _mutant("spiderboost-one-length", "steps of one length, as SPIDER's", OneLength, "step"),
    _mutant("prox-spiderboost-no-prox", "the proximal map is skipped", NoProx, "thm2"),
    _mutant(
        "prox-spiderboost-penalty-without-step",
        "the proximal map is of h and not of eta h",
        PenaltyWithoutStep,
        "thm2",
    ),
    _mutant("prox-spiderboost-two-maps", "two proximal maps an iteration", TwoMaps, "thm2"),
    _mutant(
        "prox-spiderboost-every-gradient",
        "a full gradient at every iteration",
        EveryGradient,
        "table1-prox-spiderboost",
    ),
    _mutant(
        "prox-spiderboost-batch-of-a-tenth",
        "S = n/10, a batch of practice",
        BatchOfTenth,
        "table1-prox-spiderboost",
    ),
    _mutant(
        "prox-spiderboost-growing-batch",
        "S grows with 1/epsilon",
        GrowingBatch,
        "table1-prox-spiderboost",
    ),
    _mutant("momentum-shifted", "alpha_k in place of alpha_{k+1}", ShiftedMomentum, "thm3"),
    _mutant(
        "momentum-whole-move", "y moves by x_{k+1} - x_k without beta/lambda", WholeMove, "thm3"
    ),
)
"""Every mutant of this paper."""
