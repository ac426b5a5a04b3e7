"""Faults planted in the sliding methods (qu2018)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfbench.algorithms.sliding import NCGS, NCGSVR, StochasticNCGS, condg
from pfbench.base.protocols import Asked, Gradient
from pfbench.base.state import Point, State
from pfbench.points import combine, distance, inner, keep, shift, tilt
from pfbench.verification.mutants.base import Mutant
from pfbench.verification.subject import Subject


@dataclass(frozen=True, kw_only=True)
class _Faulty(NCGS):
    """NCGS with the places where a fault can be planted; as it is, it has none."""

    def inner(self, ask: Asked, l: Gradient, u: Point, lam: float) -> Point:  # noqa: E741
        """Return what condg returns."""
        return condg(ask, l, u, lam, self.eta)

    def gradient(self, ask: Asked, md: Point, ag: Point, first: Gradient | None) -> Gradient:
        """Return the gradient; `first` is the one of the first iteration."""
        return ask.gradient(md)

    def next_ag(
        self,
        ask: Asked,
        g: Gradient,
        md: Point,
        ag: Point,
        before: Point,
        theta: Point,
        ratio: float,
    ) -> Point:
        """Return the next theta_ag; theta has moved from `before`, `ratio` is beta/lambda."""
        if self.option == 1:
            return shift(md, theta, before, ratio)
        return self.inner(ask, g, md, 0.5 / self.smoothness)

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As `NCGS.run`."""
        beta = 1.0 / (2.0 * self.smoothness)
        theta, ag = keep(x), keep(x)
        first: Gradient | None = None
        for k in range(1, self.iterations + 1):
            md = combine(ag, theta, 2.0 / (k + 1.0))
            g = self.gradient(ask, md, ag, first)
            first = g if first is None else first
            lam = beta if self.option == 1 else k * beta / 2.0
            before, theta = theta, self.inner(ask, g, theta, lam)
            ag = self.next_ag(ask, g, md, ag, before, theta, beta / lam)
            yield State(ag, md, g)


class OneInnerStep(_Faulty):
    """Makes one inner Frank-Wolfe step and stops, whatever the gap."""

    def inner(self, ask: Asked, l: Gradient, u: Point, lam: float) -> Point:  # noqa: E741
        """Return the point after one step."""
        v = ask.lo(l)
        gap = inner(l, u) - inner(l, v)
        length = distance(v, u)
        if gap <= 0.0 or length == 0.0:
            return keep(u)
        return combine(keep(u), v, min(1.0, gap * lam / length**2))


class TwiceTheTolerance(_Faulty):
    """Stops at an inner gap of 2 eta."""

    def inner(self, ask: Asked, l: Gradient, u: Point, lam: float) -> Point:  # noqa: E741
        """Return what condg returns for 2 eta."""
        return condg(ask, l, u, lam, 2.0 * self.eta)


class InvertedLambda(_Faulty):
    """Takes lambda where condg wants 1/lambda."""

    def inner(self, ask: Asked, l: Gradient, u: Point, lam: float) -> Point:  # noqa: E741
        """Return what condg returns for 1/lambda."""
        return condg(ask, l, u, 4.0 * lam, self.eta)


class DoubleCall(_Faulty):
    """Asks the linear minimisation twice in each inner step, for the vertex and for the gap."""

    def inner(self, ask: Asked, l: Gradient, u: Point, lam: float) -> Point:  # noqa: E741
        """As `condg`."""
        x = keep(u)
        while True:
            g = tilt(l, x, u, 1.0 / lam)
            gap = inner(g, x) - inner(g, ask.lo(g))
            if gap <= self.eta:
                return x
            v = ask.lo(g)
            x = combine(x, v, min(1.0, gap * lam / distance(v, x) ** 2))


class HalfMomentum(_Faulty):
    """Moves theta_ag in option I by half of what theta moves."""

    def next_ag(
        self,
        ask: Asked,
        g: Gradient,
        md: Point,
        ag: Point,
        before: Point,
        theta: Point,
        ratio: float,
    ) -> Point:
        """Return the point half way for option I."""
        if self.option == 1:
            return combine(keep(before), theta, 0.5)
        return super().next_ag(ask, g, md, ag, before, theta, ratio)


class GradientAtAg(_Faulty):
    """Takes the gradient at theta_ag instead of theta_md."""

    def gradient(self, ask: Asked, md: Point, ag: Point, first: Gradient | None) -> Gradient:
        """Return the gradient at theta_ag."""
        return ask.gradient(ag)


class FirstGradient(_Faulty):
    """Goes on with the gradient of the first iteration."""

    def gradient(self, ask: Asked, md: Point, ag: Point, first: Gradient | None) -> Gradient:
        """Return the first gradient."""
        return ask.gradient(md) if first is None else first


class WrongSign(_Faulty):
    """Goes up: the sign of the gradient is wrong."""

    def gradient(self, ask: Asked, md: Point, ag: Point, first: Gradient | None) -> Gradient:
        """Return minus the gradient."""
        return np.asarray(-ask.gradient(md))


class AgForgotten(_Faulty):
    """Leaves theta_ag where it starts in option II."""

    def next_ag(
        self,
        ask: Asked,
        g: Gradient,
        md: Point,
        ag: Point,
        before: Point,
        theta: Point,
        ratio: float,
    ) -> Point:
        """Return the one before for option II."""
        if self.option == 2:
            return keep(ag)
        return super().next_ag(ask, g, md, ag, before, theta, ratio)


@dataclass(frozen=True, kw_only=True)
class OneSample(StochasticNCGS):
    """Draws one sample in each iteration instead of k."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As `StochasticNCGS.run` with batch 1."""
        return StochasticNCGS(iterations=self.iterations, smoothness=self.smoothness, batch=1).run(
            ask, x, rng
        )


@dataclass(frozen=True, kw_only=True)
class TwoBatches(StochasticNCGS):
    """Draws another batch for the second condg, so that it pays twice."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As `StochasticNCGS.run`."""
        for k, state in enumerate(super().run(ask, x, rng), 1):
            ask.batch(rng.integers(ask.n, size=k), state.at)
            yield state


class _Changed:
    """Oracles of which one is changed; everything else is asked as it is."""

    def __init__(self, ask: Any) -> None:
        self._ask = ask

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ask, name)


class _Ascending(_Changed):
    def batch(self, sample: Any, x: Point) -> Gradient:
        """Return minus the batch gradient."""
        return np.asarray(-self._ask.batch(sample, x))


@dataclass(frozen=True, kw_only=True)
class Ascent(StochasticNCGS):
    """Goes up: the sign of the gradient is wrong."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As `StochasticNCGS.run`."""
        return super().run(_Ascending(ask), x, rng)


@dataclass(frozen=True, kw_only=True)
class SnapshotNeverRefreshed(NCGSVR):
    """Keeps the first snapshot."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As `NCGSVR.run` with one epoch."""
        return NCGSVR(
            iterations=self.iterations,
            smoothness=self.smoothness,
            batch=self.batch,
            period=self.iterations,
        ).run(ask, x, rng)


@dataclass(frozen=True, kw_only=True)
class EpochTooLong(NCGSVR):
    """Refreshes the snapshot every m + 1 iterations."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As `NCGSVR.run` with m + 1."""
        return NCGSVR(
            iterations=self.iterations,
            smoothness=self.smoothness,
            batch=self.batch,
            period=self.period + 1,
        ).run(ask, x, rng)


class _NoMean(_Changed):
    def gradient(self, x: Point) -> Gradient:
        """Pay for the gradient and return 0."""
        return np.zeros_like(self._ask.gradient(x))


@dataclass(frozen=True, kw_only=True)
class MeanForgotten(NCGSVR):
    """Leaves out the full gradient at the snapshot: only the difference is kept."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As `NCGSVR.run`."""
        return super().run(_NoMean(ask), x, rng)


class _Unpaired(_Changed):
    def __init__(self, ask: Any, rng: np.random.Generator) -> None:
        super().__init__(ask)
        self._rng = rng

    def difference(self, sample: Any, x: Point, y: Point) -> Gradient:
        """Return the difference of two means, over two batches."""
        other = self._rng.integers(self._ask.n, size=len(sample))
        return np.asarray(self._ask.batch(sample, x) - self._ask.batch(other, y))


@dataclass(frozen=True, kw_only=True)
class UnpairedBatches(NCGSVR):
    """Draws another batch for the snapshot than for the point."""

    def run(self, ask: Asked, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """As `NCGSVR.run`."""
        return super().run(_Unpaired(ask, rng), x, rng)


def _variant(name: str, cls: Any, *expected: str) -> Mutant:
    about = (cls.__doc__ or "").strip()
    claims = tuple(f"qu2018-{claim}" for claim in expected)
    return Mutant(name=name, about=about, subject=Subject(cls), expected=claims)


MUTANTS: tuple[Mutant, ...] = (
    _variant("ncgs-one-inner-step", OneInnerStep, "condg-stop", "condg-distance"),
    _variant("ncgs-twice-the-tolerance", TwiceTheTolerance, "condg-stop"),
    _variant("ncgs-inverted-lambda", InvertedLambda, "condg-stop", "condg-distance"),
    _variant("ncgs-double-call", DoubleCall, "condg-count"),
    _variant("ncgs-half-momentum", HalfMomentum, "thm1-I"),
    _variant("ncgs-gradient-at-ag", GradientAtAg, "condg-stop"),
    _variant("ncgs-first-gradient", FirstGradient, "condg-stop"),
    _variant("ncgs-wrong-sign", WrongSign, "thm1-I", "thm1-II", "cor1"),
    _variant("ncgs-ag-forgotten", AgForgotten, "thm1-II"),
    _variant("ncgs-stochastic-one-sample", OneSample, "thm2"),
    _variant("ncgs-stochastic-two-batches", TwoBatches, "thm2"),
    _variant("ncgs-stochastic-ascent", Ascent, "cor2"),
    _variant("ncgs-vr-snapshot-never-refreshed", SnapshotNeverRefreshed, "thm3"),
    _variant("ncgs-vr-epoch-too-long", EpochTooLong, "thm3"),
    _variant("ncgs-vr-mean-forgotten", MeanForgotten, "thm3", "cor3"),
    _variant("ncgs-vr-unpaired-batches", UnpairedBatches, "thm3"),
)
"""Every mutant of this paper's methods."""
