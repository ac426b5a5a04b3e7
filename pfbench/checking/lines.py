"""Random points of a problem, lines through these points, and numerical derivatives along lines."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pfbench.base import arrays
from pfbench.base.arrays import Floats
from pfbench.base.checks import unwrap_scalar
from pfbench.base.protocols import Problem
from pfbench.base.state import Point
from pfbench.checking.findings import require
from pfbench.points import (
    DensePointFormat,
    FactoredMatrix,
    combine,
    distance,
    infer_format,
    inner,
    keep,
)
from pfbench.points.atoms import frobenius_norm

_COLUMNS = 8
"""Maximum number of times that the step of a finite difference is halved."""

_STEPS = (1.0, 0.07, 0.005)
"""Initial steps of finite differences, in units of the line's length."""

_FINEST = 1e-9
"""Smallest step of a difference, in units of the line's length; below, rounding dominates."""

_VERTICES = 300
"""Number of random vertices that determine the centre and the tangent directions of a set."""

_TANGENT = 150
"""Maximum number of entries of a point for which the tangent space of a set is computed."""


def value_as_float(problem: Any, x: Point) -> float:
    """Return f(x) as a float, also if `problem.value` returns an array with one entry."""
    return float(unwrap_scalar("value(x)", problem.value(x)))


def norm(g: Any) -> float:
    """Return the Euclidean norm of an array of any shape."""
    return arrays.norm(np.asarray(g, dtype=np.float64))


def as_dense_array(v: Any) -> Floats:
    """Return a vertex, which may be a factored matrix, as a dense array."""
    return v if isinstance(v, np.ndarray) else np.asarray(v.matrix())


def move_point_toward(x: Point, v: Any, w: float) -> Point:
    """Return (1 - w) x + w v as a new point, which stays valid in later steps."""
    return keep(combine(keep(x), v, w))


def point_norm(x: Point) -> float:
    """Return the Euclidean norm of a point."""
    return frobenius_norm(x.factors()) if isinstance(x, FactoredMatrix) else norm(x)


@dataclass(frozen=True)
class LineSegment:
    """Segment from x to y, on the line of the points x + t (y - x).

    Attributes
    ----------
    x, y
        The points at t = 0 and t = 1.
    """

    x: Point
    y: Point

    def directional_derivative(self, g: Any) -> float:
        """Return the directional derivative <g, y - x> for a gradient g."""
        if isinstance(self.x, np.ndarray):
            return float(np.vdot(g, self.y - self.x))
        return inner(g, self.y) - inner(g, self.x)

    @property
    def length(self) -> float:
        """Distance |y - x| of the two points."""
        return distance(self.x, self.y)


def check_start(start: Callable[[], Any], contains: Callable[[Any], Any]) -> str:
    """Check that `start` returns a point of the feasible set, as a new copy in each call."""
    x, other = start(), start()
    require(contains(x), "the start must be in the set", "contains is False", start=x)
    if not isinstance(x, np.ndarray):
        return "in the set"
    copy = x.copy()
    require(np.array_equal(x, other), "all starts must be equal", "two starts differ", start=x)
    x += 1.0
    needed = "each call of start must return a new copy of the start point"
    observed = "a change of one start changes the next: return a copy"
    require(np.array_equal(start(), copy), needed, observed, start=copy)
    return "in the set, a fresh copy each time"


class ProblemChecks:
    """Base class of checks of a user-defined problem.

    Parameters
    ----------
    problem, space
        The problem, and a sampler of its points.
    seconds_per_check
        Seconds for each of the checks.
    """

    def __init__(self, problem: Problem, space: "PointSampler", seconds_per_check: float) -> None:
        self.problem: Any = problem
        self.space, self.seconds_per_check = space, seconds_per_check


class PointSampler:
    """Sampler of random points of a problem's feasible set, and of lines through them.

    Parameters
    ----------
    problem
        The problem.
    seed
        Seed of the random numbers.

    Attributes
    ----------
    dense
        Whether points are arrays.
    is_bounded
        Whether the feasible set is bounded.
    """

    def __init__(self, problem: Problem, seed: int = 0) -> None:
        self.problem: Any = problem
        self.rng = np.random.default_rng(np.random.SeedSequence((seed, 17)))
        form = infer_format(problem.start(), problem.name)
        self.dense = isinstance(form, DensePointFormat)
        self.is_bounded = math.isfinite(problem.set.diameter)
        self._gradients = np.shape(problem.gradient(problem.start()))
        self.scale = problem.set.diameter if self.is_bounded else 1.0
        if self.dense:  # it loads compiled loops before a check limits its time
            combine(problem.start(), problem.start(), 0.5)

    def random_gradient(self) -> Floats:
        """Return a standard normal array with the shape of the gradient."""
        return self.rng.standard_normal(self._gradients)

    def vertex(self, g: Any = None) -> Point:
        """Return lo(g), a vertex that minimises <g, v>; by default for a random g."""
        return self.problem.lo(self.random_gradient() if g is None else g)

    def start(self) -> Point:
        """Return the problem's start point."""
        return self.problem.start()

    def random_member(self) -> Point:
        """Return a random point of the set: a convex combination of its start and vertices.

        If the set is unbounded, the point is normally distributed around the start.
        """
        x = self.problem.start()
        if not self.is_bounded:
            return x + 10.0 ** self.rng.uniform(-1.0, 1.0) * self.rng.standard_normal(x.shape)
        if self.dense and self.rng.integers(2):
            mean = self._mean_and_tangents[0].copy()
            x = combine(x, mean, self.rng.uniform(0.3, 0.9))
        for _ in range(self.rng.integers(1, 8)):
            x = move_point_toward(x, self.vertex(), self.rng.uniform(0.05, 0.9))
        if self.rng.integers(3) == 0:
            x = move_point_toward(
                x, self.problem.start(), 1.0 - 10.0 ** self.rng.uniform(-2.0, 0.0)
            )
        return x

    @cached_property
    def _mean_and_tangents(self) -> tuple[Floats, Floats | None]:
        """Mean of many random vertices, usually an interior point, and a basis of tangents.

        Tangents are differences of vertices; None if points have too many entries for this.
        """
        vertices = np.array([as_dense_array(self.vertex()) for _ in range(_VERTICES)])
        if vertices[0].size > _TANGENT:
            return np.asarray(vertices.mean(axis=0)), None
        spread = (vertices - vertices[0]).reshape(_VERTICES, -1)
        s, basis = np.linalg.svd(spread, full_matrices=False)[1:]
        return np.asarray(vertices.mean(axis=0)), basis[s > 1e-9 * s[0]]

    def sample_near(self, x: Point) -> Point:
        """Return a random point of the set near x, at distances of various orders of magnitude."""
        w = 10.0 ** self.rng.uniform(-3.0, 0.0)
        if self.is_bounded:
            return move_point_toward(x, self.random_member(), w)
        return x + w * 10.0 * self.rng.standard_normal(x.shape)

    def random_line_anywhere(self, x: Point) -> LineSegment:
        """Return a short line through x in a random direction, which may leave the set.

        If points are not arrays, the line leads from x to a point of the set.
        """
        if not self.dense:
            return LineSegment(x, move_point_toward(x, self.random_member(), 0.1))
        u = self.rng.standard_normal(x.shape)
        return LineSegment(x, x + (0.05 * self._reach(x) / norm(u)) * u)

    def sample_member_toward(self, x: Point, u: Floats) -> Point:
        """Return a point of the set near x in the direction u.

        If the set ends in this direction, return a point towards the vertex lo(-u).
        """
        if self.dense:
            tangents = self._mean_and_tangents[1] if self.is_bounded else None
            if tangents is not None:
                u = ((tangents @ u.ravel()) @ tangents).reshape(u.shape)
            for step in (0.1, 1e-2, 1e-3, 1e-4):
                y = x + (step * self._reach(x) / max(norm(u), 1e-300)) * u
                if not self.is_bounded or self.problem.set.contains(y, 1e-12):
                    return y
        return move_point_toward(x, self.vertex(-u), 0.01)

    def _reach(self, x: Point) -> float:
        return self.scale if self.is_bounded else max(1.0, norm(x))


def derivative(path: Callable[[float], Any]) -> tuple[Floats, float]:
    """Return the derivative at 0 of a function of a real variable, and an estimate of its error.

    Central differences are extrapolated to step 0 (Ridders 1982) from each of three initial steps.
    The result is one of the two neighbouring extrapolations that agree best, and the error covers
    their difference. A kink within the first step, or rounding errors, therefore give a large
    error, not a wrong value.
    """
    extrapolates = [_extrapolate(path, first) for first in _STEPS]
    agreed = [
        (b[0], max(a[1], b[1], norm(a[0] - b[0]))) for a, b in itertools.pairwise(extrapolates)
    ]
    return min(agreed, key=lambda item: item[1] / max(norm(item[0]), 1e-300))


def _extrapolate(path: Callable[[float], Any], step: float) -> tuple[Floats, float]:
    """Return the best derivative at 0 extrapolated from `step`, and an estimate of its error."""
    best, error = np.zeros(()), math.inf
    last: list[Floats] = []
    for _ in range(_COLUMNS):
        above, below = np.asarray(path(step)), np.asarray(path(-step))
        row = [(above - below) / (2.0 * step)]
        for k, before in enumerate(last):
            factor = 4.0 ** (k + 1)
            row.append((factor * row[-1] - before) / (factor - 1.0))
            deviation = max(norm(row[-1] - row[-2]), norm(row[-1] - before))
            if deviation < error:
                best, error = row[-1], deviation
        if last and norm(row[-1] - last[-1]) > 1e3 * error:
            break
        last, step = row, step / 2.0
    return best, error


def central_difference_at_finest_step(
    path: Callable[[float], Any], rounding_tolerance: float
) -> Floats:
    """Return the central difference at 0 with the smallest step whose rounding error is tolerable.

    Extrapolations may agree by chance if a function has a kink within each step. Columns of very
    different scales cause this. Callers therefore report a failure only if this difference, too,
    deviates from the claimed value.
    """
    rounding = float(np.finfo(float).eps) * norm(path(0.0))
    step = min(max(_FINEST, rounding / rounding_tolerance), _STEPS[-1])  # the finest if it is NaN
    return np.asarray((np.asarray(path(step)) - np.asarray(path(-step))) / (2.0 * step))


def is_derivative_wrong(
    claimed: Any, expected: Any, allowed: float, path: Callable[[float], Any]
) -> bool:
    """Return whether a claimed derivative of `path` at 0 is wrong.

    It must be away from the numerical derivative `expected` by more than `allowed`. The central
    difference with the finest step must confirm this.
    """
    deviation = norm(claimed - expected)
    if deviation <= allowed or not math.isfinite(deviation):
        return not deviation <= allowed
    fine = central_difference_at_finest_step(path, 0.01 * deviation)
    return not norm(claimed - fine) <= deviation / 2.0


def restrict_to_line(function: Callable[[Point], Any], line: LineSegment) -> Callable[[float], Any]:
    """Return the function of t that evaluates `function` at x + t (y - x) on the given line."""
    return lambda t: function(combine(line.x, line.y, t))
