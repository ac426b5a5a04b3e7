"""Faults planted in the methods of li2019."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from pfbench.verification.mutants.base import Mutant

from pfbench.algorithms.base import round_down
from pfbench.algorithms.sliding import CGS, STORC, condg, draw
from pfbench.base.constants import Constants
from pfbench.base.protocols import Asked, Problem
from pfbench.base.state import Point, State
from pfbench.points import combine, keep
from pfbench.verification.subject import Subject


@dataclass(frozen=True, kw_only=True)
class Variant(CGS):
    """CGS itself, with the pieces of its loop as methods that a mutant overrides."""

    def weight(self, k: int) -> float:
        """Return gamma_k."""
        return 2.0 / (k + 1.0)

    def beta(self, k: int) -> float:
        """Return beta_k."""
        return 3.0 * self.smoothness / k

    def query(self, x: Point, y: Point, gamma: float) -> Point:
        """Return z_k."""
        return combine(y, x, gamma)

    def centre(self, x: Point, theta: Point) -> Point:
        """Return the point from which condg starts."""
        return x

    def average(self, x: Point, y: Point, gamma: float) -> Point:
        """Return y_k."""
        return combine(y, x, gamma)

    def snapshot(self, theta: Point, first: Point) -> Point:
        """Return the point that STORC's corrections refer to."""
        return theta

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """See `CGS`."""
        theta = first = keep(x)
        for t in range(1, self.restarts + 1):
            x, y, s = keep(theta), keep(theta), self.snapshot(theta, first)
            mean = self.start_gradient(ask, s)
            for k in range(1, self.period + 1):
                gamma = self.weight(k)
                z = self.query(x, y, gamma)
                g = self.gradient(ask, z, s, mean, rng)
                x = condg(ask, g, self.centre(x, theta), 1.0 / self.beta(k), self.eta(t, k))
                y = self.average(x, y, gamma)
                yield State(y, z, g)
            theta = y


class ToleranceNotHalved(CGS):
    """delta0 is not halved between outer iterations."""

    def eta(self, t: int, k: int) -> float:
        """Return eta_{1,k}."""
        return super().eta(1, k)


class StoppedEarly(CGS):
    """condg stops at a hundred times its tolerance."""

    def eta(self, t: int, k: int) -> float:
        """Return 100 eta_{t,k}."""
        return 100.0 * super().eta(t, k)


class ToleranceWithoutK(CGS):
    """condg's tolerance lacks the factor 1/k."""

    def eta(self, t: int, k: int) -> float:
        """Return eta_{t,1}."""
        return super().eta(t, 1)


class ShortPeriod(CGS):
    """An outer iteration is one inner iteration short."""

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **given: Any) -> Self:
        """As the theorem, with N - 1."""
        made = super().theory(epsilon, constants, **given)
        return super().theory(epsilon, constants, **{"period": made.period - 1} | given)


class OneRestartLess(CGS):
    """The outer iterations are rounded down."""

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **given: Any) -> Self:
        """As the theorem, with floor(log2(delta0/epsilon))."""
        count = round_down(math.log2(constants.delta / epsilon))
        return super().theory(epsilon, constants, **{"restarts": count} | given)


class UniformWeights(Variant):
    """gamma_k = 1/(k+1), the weights of plain averaging."""

    def weight(self, k: int) -> float:
        """Return 1/(k+1)."""
        return 1.0 / (k + 1.0)


class ConstantBeta(Variant):
    """beta = 3L at every k: steps do not grow."""

    def beta(self, k: int) -> float:
        """Return 3L."""
        return 3.0 * self.smoothness


class GradientAtX(Variant):
    """The gradient is taken at x_{k-1} instead of z_k."""

    def query(self, x: Point, y: Point, gamma: float) -> Point:
        """Return x."""
        return x


class NotCarried(Variant):
    """condg starts from theta_{t-1} every time: x is not carried on."""

    def centre(self, x: Point, theta: Point) -> Point:
        """Return theta."""
        return theta


class WeightsSwapped(Variant):
    """y_k = gamma_k y_{k-1} + (1 - gamma_k) x_k."""

    def average(self, x: Point, y: Point, gamma: float) -> Point:
        """Return the average with the weights exchanged."""
        return combine(y, x, 1.0 - gamma)


class DoubleMinimisation(CGS):
    """condg asks each linear minimisation twice."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As CGS, with oracles that call lo twice."""
        twice: Any = Twice(ask)
        return super().run(twice, x, rng)


class Twice:
    """Oracles whose lo calls the real one twice."""

    def __init__(self, ask: Asked) -> None:
        self._ask = ask

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._ask, verb)

    def lo(self, g: Any) -> Point:
        """Ask twice and return the second answer."""
        self._ask.lo(g)
        return self._ask.lo(g)


@dataclass(frozen=True, kw_only=True)
class StaleSnapshot(Variant, STORC):
    """The snapshot is not refreshed at the outer iterations."""

    def snapshot(self, theta: Point, first: Point) -> Point:
        """Return the start."""
        return first


class WrongSign(STORC):
    """The correction has the wrong sign."""

    def gradient(self, ask: Asked, z: Point, y0: Point, mean: Any, rng: Any) -> Any:
        """Return mean minus the difference."""
        return mean - ask.difference(draw(rng, ask.n, self.batch), z, y0)


class DividedByN(STORC):
    """The sum over the batch is divided by n instead of m."""

    def gradient(self, ask: Asked, z: Point, y0: Point, mean: Any, rng: Any) -> Any:
        """Return the estimate with the difference times m/n."""
        scale = self.batch / ask.n
        return scale * ask.difference(draw(rng, ask.n, self.batch), z, y0) + mean


class NoReference(STORC):
    """The full gradient at the snapshot is left out."""

    def gradient(self, ask: Asked, z: Point, y0: Point, mean: Any, rng: Any) -> Any:
        """Return the difference alone."""
        return ask.difference(draw(rng, ask.n, self.batch), z, y0)


class RootBatch(STORC):
    """The batch is the square root of the theorem's."""

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **given: Any) -> Self:
        """As the theorem, with a batch of sqrt(m)."""
        m = super().theory(epsilon, constants, **given).batch
        return super().theory(epsilon, constants, **{"batch": round_down(math.sqrt(m))} | given)


class Wrapped:
    """A problem whose oracles are answered by `answer(the real backend)`."""

    def __init__(self, problem: Problem, answer: Callable[[Any], Any]) -> None:
        self._problem, self._answer = problem, answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

    def open(self, rng: np.random.Generator) -> Any:
        """Return the faulty backend."""
        return self._answer(self._problem.open(rng))


class LargeVertices:
    """A backend whose vertices are those of a set half as large again."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._backend, verb)

    def lo(self, g: Any) -> Point:
        """Return 1.5 times the vertex."""
        v = self._backend.lo(g)
        return 1.5 * (v if isinstance(v, np.ndarray) else v.matrix())


class HalfGradient:
    """A backend whose gradient keeps the factor 1/2 of the square."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._backend, verb)

    def gradient(self, x: Point) -> Any:
        """Return half of the gradient."""
        return 0.5 * self._backend.gradient(x)


def too_large(problem: Problem) -> Problem:
    """Return the problem with the linear minimisation of a larger set."""
    return cast(Problem, Wrapped(problem, LargeVertices))


def halved(problem: Problem) -> Problem:
    """Return the problem with half of its gradient."""
    return cast(Problem, Wrapped(problem, HalfGradient))


def _mutant(name: str, algorithm: type[CGS], *expected: str) -> Mutant:
    """Return a mutant of an algorithm; its docstring tells the fault."""
    return Mutant(
        name=f"li2019-{name}",
        about=str(algorithm.__doc__),
        subject=Subject(algorithm=algorithm),
        expected=tuple(f"li2019-{claim}" for claim in expected),
    )


MUTANTS: tuple[Mutant, ...] = (
    _mutant("tolerance-not-halved", ToleranceNotHalved, "thm1", "cor3", "stat", "nonconvex"),
    _mutant("stopped-early", StoppedEarly, "thm1", "cor3", "thm1-fo"),
    _mutant("tolerance-without-k", ToleranceWithoutK, "thm1", "cor3"),
    _mutant("short-period", ShortPeriod, "thm1-fo"),
    _mutant("one-restart-less", OneRestartLess, "thm1-fo"),
    _mutant("uniform-weights", UniformWeights, "cor3"),
    _mutant("constant-beta", ConstantBeta, "thm1", "cor3"),
    _mutant("gradient-at-x", GradientAtX, "thm1", "cor3"),
    _mutant("not-carried", NotCarried, "thm1", "cor3"),
    _mutant("weights-swapped", WeightsSwapped, "thm1", "cor3"),
    _mutant("double-lo", DoubleMinimisation, "thm1-lo"),
    _mutant("stale-snapshot", StaleSnapshot, "variance"),
    _mutant("wrong-sign", WrongSign, "thm2", "variance"),
    _mutant("divided-by-n", DividedByN, "thm2", "variance"),
    _mutant("no-reference", NoReference, "thm2", "variance"),
    _mutant("root-batch", RootBatch, "thm2"),
    Mutant(
        name="li2019-large-vertices",
        about="The linear minimisation answers for a set half as large again.",
        subject=Subject(wrap=too_large),
        expected=("li2019-thm1",),
    ),
    Mutant(
        name="li2019-half-gradient",
        about="The gradient keeps the factor 1/2 of the square.",
        subject=Subject(wrap=halved),
        expected=("li2019-lemma1",),
    ),
)
"""Every mutant of this paper's methods."""
