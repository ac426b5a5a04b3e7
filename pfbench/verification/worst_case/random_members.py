"""Random members of the classes over which worst cases are taken, with exact constants."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.protocols import FeasibleSet
from pfbench.base.sample import Indices, weight_indices
from pfbench.problems.base import GradientTable
from pfbench.sets import Box, Simplex
from pfbench.sets.whole_space import WholeSpace
from pfbench.verification.instruments.indefinite import IndefiniteQuadratic


@dataclass(frozen=True, eq=False, kw_only=True)
class SeparableSum(ABC):
    """A finite sum whose components are 1-smooth and act on each entry of x on its own.

    Parameters
    ----------
    set
        The whole space, or a box.
    start_point
        The start point, shape (d,).
    """

    unconstrained: ClassVar[bool] = False

    set: FeasibleSet
    start_point: Floats

    @cached_property
    def n(self) -> int:
        """Number of components."""
        return len(self.component_gradients(self.start_point))

    @abstractmethod
    def component_gradients(self, x: Floats) -> Floats:
        """Return all grad f_i(x), shape (n, d)."""

    def gradient(self, x: Floats) -> Floats:
        """Return grad f(x), shape (d,)."""
        return np.asarray(self.component_gradients(x).mean(axis=0))

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x, shape (d,)."""
        indices, weights = weight_indices(sample)
        return np.asarray(weights @ self.component_gradients(x)[indices])

    def difference(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample, shape (d,)."""
        return self.batch(sample, x) - self.batch(sample, y)

    def prox(self, x: Floats, g: Floats, lam: float) -> Floats:
        """Return the projection of x - lam g onto the set."""
        return np.asarray(self.set.project(x - lam * g))

    def component(self, i: int, x: Floats) -> Floats:
        """Return grad f_i(x), shape (d,)."""
        return np.asarray(self.component_gradients(x)[i])

    def table(self, x: Floats) -> GradientTable:
        """Return a table filled at x."""
        return GradientTable(cast(Any, self), x)


@dataclass(frozen=True, eq=False, kw_only=True)
class CosineSum(SeparableSum):
    """f_i(x) = sum over k of s_ik cos(x_k + p_ik), with |s_ik| <= 1.

    Parameters
    ----------
    size
        s, shape (n, d).
    phase
        p, shape (n, d).
    """

    size: Floats
    phase: Floats

    def component_gradients(self, x: Floats) -> Floats:
        """Return all grad f_i(x), shape (n, d)."""
        return np.asarray(-self.size * np.sin(x + self.phase))

    @property
    def initial_suboptimality(self) -> float:
        """f(start) - min f, exact: in each entry f is one wave, |z| cos(x_k + arg z)."""
        z = (self.size * np.exp(1j * self.phase)).mean(axis=0)
        begin = np.real(z * np.exp(1j * self.start_point))
        if isinstance(self.set, Box):
            ends = [np.broadcast_to(end, z.shape) for end in (self.set.lower, self.set.upper)]
            real = np.min([np.real(z * np.exp(1j * end)) for end in ends], axis=0)
            # The trough is where x_k + arg z is an odd multiple of pi.
            first = np.ceil((ends[0] + np.angle(z) - np.pi) / (2.0 * np.pi))
            trough = (2.0 * first + 1.0) * np.pi - np.angle(z)
            real = np.where(trough <= ends[1], -np.abs(z), real)
        else:
            real = -np.abs(z)
        return float(np.sum(begin - real))


@dataclass(frozen=True, eq=False, kw_only=True)
class Zigzag(SeparableSum):
    """The worst function for gradient descent with step eta <= 1, n times over; d = 1, L = 1.

    From x_0 = 0 the slope is -1 at each of the points eta, 2 eta, ..., (N-1) eta that the method
    visits, and flatter between them by the distance to the nearest one; from the last one on f
    curves up until its minimum.

    Parameters
    ----------
    step
        eta.
    visited
        N.

    References
    ----------
    Abbaszadehpeivast, de Klerk, Zamani, The exact worst-case convergence rate of the gradient
    method with fixed step lengths for L-smooth functions, Optim. Lett. 16, 2022.
    """

    step: float
    visited: int
    copies: int = 2
    set: FeasibleSet = field(default_factory=lambda: WholeSpace(1))
    start_point: Floats = field(default_factory=lambda: np.zeros(1))

    def component_gradients(self, x: Floats) -> Floats:
        """Return all grad f_i(x), shape (n, 1)."""
        right = np.maximum(x, 0.0)
        nearest = np.clip(np.round(right / self.step), 0.0, self.visited - 1.0) * self.step
        return np.repeat((np.abs(right - nearest) - 1.0)[None], self.copies, axis=0)

    @property
    def initial_suboptimality(self) -> float:
        """f(start) - min f, exact."""
        return (self.visited - 1) * self.step * (1.0 - self.step / 4.0) + 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class DiagonalQuadratic(SeparableSum):
    """f_i(x) = sum over k of a_ik x_k^2/2, with |a_ik| <= 1.

    Parameters
    ----------
    curvatures
        a, shape (n, d).
    """

    curvatures: Floats

    def component_gradients(self, x: Floats) -> Floats:
        """Return all grad f_i(x), shape (n, d)."""
        return self.curvatures * x


def make_random_waves(
    rng: np.random.Generator, n: int, *, boxed: bool = False, d: int = 2
) -> CosineSum:
    """Return random waves on the whole space or a random box around the start."""
    begin = rng.uniform(-3.0, 3.0, d)
    size, phase = rng.uniform(-1.0, 1.0, (n, d)), rng.uniform(-3.0, 3.0, (n, d))
    space: FeasibleSet = WholeSpace(d)
    room = rng.uniform(0.0, 3.0, (2, d))
    box = Box(d, begin - room[0], begin + room[1])
    return CosineSum(set=box if boxed else space, start_point=begin, size=size, phase=phase)


def make_random_quadratic(
    rng: np.random.Generator,
    *,
    diameter: float | None,
    delta: float,
    convex: bool = False,
    noise: float = 0.0,
) -> IndefiniteQuadratic:
    """Return a random separable quadratic on a box, L <= 1 and h0 <= delta, from a corner.

    Parameters
    ----------
    rng
        The random stream.
    diameter
        D of the box; None for the D at which h0 is delta.
    delta
        Largest height of the start over the least value, which is exact.
    convex
        Whether all curvatures are at least 0.
    noise
        Norm of the error of each of two component gradients; 0 for one component.
    """
    d = int(rng.integers(1, 4))
    side = (1.0 if diameter is None else diameter) / math.sqrt(d)
    curvatures = np.clip(rng.uniform(0.0 if convex else -2.0, 2.0, d), -1.0, 1.0)
    slope = -rng.uniform(0.0, 1.5, d)
    bottom = np.clip(
        np.divide(-slope, curvatures, where=curvatures > 0.0, out=np.zeros(d)), 0, side
    )

    def value(x: Floats) -> Floats:
        return slope * x + 0.5 * curvatures * x * x

    lower = float(np.minimum(value(bottom), value(np.full(d, side))).sum())
    scale = delta / -lower
    if diameter is None:
        stretch = math.sqrt(scale)
        slope, side, lower = slope * stretch, side * stretch, -delta
    elif scale < 1.0:
        curvatures, slope, lower = curvatures * scale, slope * scale, -delta
    direction = rng.standard_normal(d)
    error = noise * direction / np.linalg.norm(direction)
    errors = np.array([error, -error]) if noise > 0.0 else np.zeros((1, 1))
    box, A, radius = Box(d, 0.0, side), np.diag(curvatures), side * math.sqrt(d)
    return IndefiniteQuadratic(box, A, slope, np.zeros(d), lower, radius, errors)


def make_half_square(d: int) -> IndefiniteQuadratic:
    """Return |x|^2/2 on the simplex of diameter 1, from a vertex (Jaggi 2013)."""
    radius = math.sqrt(0.5)
    begin = radius * np.eye(d)[0]
    lower = 0.5 * radius**2 / d
    return IndefiniteQuadratic(Simplex(d, radius), np.eye(d), np.zeros(d), begin, lower, radius)
