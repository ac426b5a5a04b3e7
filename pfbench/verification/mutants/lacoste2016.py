"""Faults planted in Frank-Wolfe (lacoste2016)."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import numpy as np

from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.base.protocols import Asked, Gradient, Problem
from pfbench.base.state import Point, State
from pfbench.points import combine, distance, inner, keep
from pfbench.verification.mutants.base import Mutant
from pfbench.verification.subject import Subject


@dataclass(frozen=True, kw_only=True)
class _Faulty(FrankWolfe):
    """Frank-Wolfe with the places where a fault can be planted; as it is, it has none."""

    def direction(self, history: list[Gradient]) -> Gradient:
        """Return the gradient that is minimised, of those so far."""
        return history[-1]

    def weight(self, ask: Asked, t: int, x: Point, v: Point, gap: float) -> float:
        """Return gamma_t."""
        if self.step == "open-loop":
            return 2.0 / (t + 2.0)
        return self._short_step(gap) if self.step == "adaptive" else self._search(ask, x, v, gap)

    def _search(self, ask: Asked, x: Point, v: Point, gap: float) -> float:
        return self._line_search(ask, x, v, gap)

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As `FrankWolfe.run`."""
        history: list[Gradient] = []
        for t in count() if self.iterations is None else range(self.iterations):
            history.append(ask.gradient(x))
            g = self.direction(history)
            v = ask.lo(g)
            gap = inner(g, x) - inner(g, v)
            at, x = x, combine(x, v, self.weight(ask, t, x, v, gap))
            yield State(x, at, g)


class StaleGradient(_Faulty):
    """Minimises the gradient of the iteration before."""

    def direction(self, history: list[Gradient]) -> Gradient:
        """Return the last but one."""
        return history[-2] if len(history) > 1 else history[-1]


class WrongSign(_Faulty):
    """Minimises minus the gradient."""

    def direction(self, history: list[Gradient]) -> Gradient:
        """Return minus the last."""
        return -history[-1]


class MeanGradient(_Faulty):
    """Minimises the mean of all gradients so far."""

    def direction(self, history: list[Gradient]) -> Gradient:
        """Return the mean."""
        return np.asarray(np.mean(history, axis=0))


class HalvedGradient(_Faulty):
    """Minimises half the gradient, a factor 2 forgotten: so it reads off half the gap."""

    def direction(self, history: list[Gradient]) -> Gradient:
        """Return half the last."""
        return history[-1] / 2.0


class DoubleStep(_Faulty):
    """Takes the step 2g/C: the half of the quadratic bound is forgotten."""

    def _short_step(self, gap: float) -> float:
        return min(2.0 * max(gap, 0.0) / (self.curvature or 1.0), 1.0)


class Unclipped(_Faulty):
    """Takes the step g/C without the minimum with 1."""

    def _short_step(self, gap: float) -> float:
        return gap / (self.curvature or 1.0)


class AlwaysOpenLoop(_Faulty):
    """Takes 2/(t+2) whatever step rule is asked for."""

    def weight(self, ask: Asked, t: int, x: Point, v: Point, gap: float) -> float:
        """Return 2/(t+2)."""
        return 2.0 / (t + 2.0)


class HalfSearch(_Faulty):
    """Searches [0, 1/2] instead of [0, 1]."""

    def _search(self, ask: Asked, x: Point, v: Point, gap: float) -> float:
        return 0.5 * self._line_search(ask, x, combine(keep(x), v, 0.5), gap / 2.0)


class EuclideanStep(_Faulty):
    """Divides by L |v - x|^2 with L = C/D^2: the Euclidean short step."""

    def weight(self, ask: Asked, t: int, x: Point, v: Point, gap: float) -> float:
        """Return min(g D^2/(C |v - x|^2), 1) for the adaptive step."""
        if self.step != "adaptive":
            return super().weight(ask, t, x, v, gap)
        ratio = distance(v, x) / ask.D
        return self._short_step(gap / ratio**2) if ratio > 0.0 else 0.0


class Replayed(_Faulty):
    """Minimises every earlier gradient again in each iteration: its vertices are not kept."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As `FrankWolfe.run`, with t LO more in iteration t."""
        for t, state in enumerate(super().run(ask, x, rng)):
            for _ in range(t):
                ask.lo(state.estimate)
            yield state


class LooseMinimisation:
    """A problem whose LO minimises a gradient that is rounded to one digit."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    name: ClassVar[str] = "loose-minimisation"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

    def open(self, rng: np.random.Generator) -> "LooseMinimisation":
        """Return itself."""
        return self

    def lo(self, g: Gradient) -> Point:
        """Return the vertex for g, rounded to multiples of a third of its largest entry."""
        size = float(np.abs(g).max()) / 3.0
        return self._problem.set.lo(np.round(g / size) if size > 0.0 else g)


def _variant(name: str, cls: type[_Faulty], *expected: str) -> Mutant:
    about = (cls.__doc__ or "").strip()
    claims = tuple(f"lacoste2016-{claim}" for claim in expected)
    return Mutant(name=name, about=about, subject=Subject(cls), expected=claims)


MUTANTS: tuple[Mutant, ...] = (
    _variant("frank-wolfe-stale-gradient", StaleGradient, "descent"),
    _variant("frank-wolfe-wrong-sign", WrongSign, "descent", "thm1"),
    _variant("frank-wolfe-mean-gradient", MeanGradient, "descent"),
    _variant("frank-wolfe-halved-gradient", HalvedGradient, "local"),
    _variant("frank-wolfe-double-step", DoubleStep, "descent"),
    _variant("frank-wolfe-unclipped", Unclipped, "descent", "thm1"),
    _variant("frank-wolfe-always-open-loop", AlwaysOpenLoop, "descent"),
    _variant("frank-wolfe-half-search", HalfSearch, "descent"),
    _variant("frank-wolfe-euclidean-step", EuclideanStep, "affine"),
    _variant("frank-wolfe-replayed", Replayed, "rate"),
    Mutant(
        name="frank-wolfe-loose-minimisation",
        about=(LooseMinimisation.__doc__ or "").strip(),
        subject=Subject(wrap=LooseMinimisation),
        expected=("lacoste2016-descent",),
    ),
)
"""Every mutant of this paper's methods."""
