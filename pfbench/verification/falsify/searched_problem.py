"""Problems of the counterexample search: separable functions and quadratics, in any arithmetic."""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, combinations, cycle, pairwise
from typing import Any, cast

import numpy as np

from pfbench.base.constants import Constants
from pfbench.base.sample import IndexSampling
from pfbench.problems.base import GradientSagaTable

Genome = dict[str, Any]
"""Family and parameters of an instance, as numbers and lists of numbers."""


UNKNOWN_CONSTANT = "the constant {} is unknown or infinite"
"""Reason why an instance is skipped, with the name of the constant."""


class Skip(Exception):
    """Exception raised if a statement cannot be measured on an instance; its text is the reason."""


def root(value: Any) -> Any:
    """Return the square root of a number of any type."""
    return value.sqrt() if hasattr(value, "sqrt") else math.sqrt(value)


def vector(entries: Iterable[Any]) -> Any:
    """Return numbers as an array of floats, or of objects if the numbers are of other types."""
    return np.array(list(entries))


def repeat(values: Sequence[Any], length: int) -> list[Any]:
    """Return a list of the given length that repeats the given values cyclically."""
    return [values[j % len(values)] for j in range(length)]


class SearchedSet:
    """Feasible set of a searched problem: a box, a ball, a hull of points, or the whole space."""

    def __init__(self, genome: Genome, number: Callable[[Any], Any]) -> None:
        self.kind: str = genome["set"]
        self.vertices, self.radius = list[Any](), number(0)
        if self.kind == "box":  # sides are a corner and lengths
            sides = repeat(genome["sides"], genome["d"])
            self.low = vector(number(low) for low, _ in sides)
            self.high = self.low + vector(abs(number(length)) for _, length in sides)
            self.vertices = [self.high, self.low]  # two opposite ones
        elif self.kind == "ball":
            self.radius = abs(number(genome["radius"]))
        elif self.kind == "hull":
            self.vertices = [vector(map(number, row)) for row in genome["vertices"]]

    @cached_property
    def diameter(self) -> Any:
        """Euclidean diameter; infinite for the whole space."""
        largest = max(((u - v) @ (u - v) for u, v in combinations(self.vertices, 2)), default=0)
        return {"none": math.inf, "ball": 2 * self.radius}.get(self.kind) or root(largest)

    def lo(self, g: Any) -> Any:
        """Return a minimiser of <g, v> over the set.

        If it is not unique, it is the lower end of a box, the first vertex of a hull, or the
        centre of a ball.
        """
        if self.kind == "box":
            return np.where(g >= 0, self.low, self.high)
        if self.kind == "ball":
            square = g @ g
            return -(self.radius / root(square)) * g if square > 0 else 0 * g
        if self.kind == "hull":
            return min(self.vertices, key=lambda v: g @ v).copy()
        raise Skip("linear minimisation needs a set, but the instance has none")

    def minimum(self, g: Any) -> Any:
        """Return min <g, v> over the set twice, as a lower and as an upper bound."""
        value = g @ self.lo(g)
        return value, value

    def project(self, y: Any) -> Any:
        """Return the point of the set nearest to y."""
        if self.kind == "box":
            return np.minimum(np.maximum(y, self.low), self.high)
        if self.kind == "ball":
            square = y @ y
            return y if square <= self.radius**2 else (self.radius / root(square)) * y
        if self.kind == "hull":
            raise Skip("the set of the instance, a hull of points, has no projection")
        return y


class SearchedConstants:
    """Constants of a searched problem, including R = |x_0 - x*|, mu and d.

    Names that are read are added to the set `read`. An unknown constant raises `Skip`.
    """

    L, smoothness = Constants.L, Constants.smoothness

    def __init__(self, values: Mapping[str, Any], read: set[str]) -> None:
        self._values, self._read = values, read

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self._read.add(name)
        value = self._values.get(name)
        if value is None:
            raise Skip(UNKNOWN_CONSTANT.format(name))
        value = value() if callable(value) else value
        return value.item() if isinstance(value, np.generic) else value  # a division by 0 raises

    def require(self, name: str, purpose: str) -> Any:
        """Return a constant by name, like `Constants.require`."""
        return getattr(self, name)


class SearchedProblem(IndexSampling):
    """Problem of the counterexample search: oracles, feasible set, minimum and constants."""

    name, norm, penalty = "search", None, None
    _prepare: Callable[[], Any]  # minimiser, start, constants, convexity of f, lowest slope of f_i'
    value: Callable[[Any], Any]
    gradient: Callable[[Any], Any]
    component: Callable[[int, Any], Any]

    def __init__(self, genome: Genome, number: Callable[[Any], Any]) -> None:
        self.genome, self.number = genome, number
        self.n, self.d, self.is_chain = genome["n"], genome["d"], bool(genome.get("chain"))
        self.set, self.read = SearchedSet(genome, number), set[str]()
        self.minimiser, self.x_0, bounds, self.is_convex, self.lowest_slope = self._prepare()
        self.shape, self.parameters, self.objective = (self.d,), genome, self.value
        self.properties = frozenset({"convex"} if self.is_convex else ())
        self.lo, self.minimum = self.set.lo, self.set.minimum
        self.bounds = {**bounds, "n": self.n, "d": self.d}

    def _vector(self, name: str) -> Any:
        return vector(map(self.number, repeat(self.genome[name], self.d)))

    @property
    def best_known(self) -> tuple[Any, str]:
        """Minimum of f, and the words "by construction", which tell how the minimum is known."""
        if self.minimiser is None:
            raise Skip("the minimum of the instance's function is unknown")
        return self.number(0), "by construction"

    @property
    def is_minimiser_optimal_or_unknown(self) -> bool:
        """Whether the problem's known minimiser meets the first-order optimality condition.

        The value is also true if no minimiser is known.
        """
        if self.minimiser is None:
            return True
        g, rounding = self.gradient(self.minimiser), self.number(Fraction(1, 10**30))
        away = g if self.set.kind == "none" else self.minimiser - self.set.lo(g)
        return bool(g @ away <= rounding)

    def start(self) -> Any:
        """Return a copy of the start point, shape (d,)."""
        return self.x_0.copy()

    def constants(self, start: Any = None) -> SearchedConstants:
        """Return the constants of the problem at its start point."""
        values = self.bounds | ({} if self.set.kind == "none" else {"D": lambda: self.set.diameter})
        if self.minimiser is not None:
            away = self.x_0 - self.minimiser
            values |= {"delta": self.value(self.x_0), "R": root(away @ away)}
        return SearchedConstants(values, self.read)

    def batch(self, sample: Any, x: Any) -> Any:
        """Return the mean of the sampled component gradients at x, shape (d,)."""
        return _sample_mean(sample, lambda i: self.component(i, x))

    @cached_property
    def gradient_mapping_step(self) -> Any:
        """Step length of the gradient mapping, 1/(2 max(L_f, L_ms)), as of the measure."""
        constants: Any = self.constants()
        return self.number(1) / (2 * constants.L)

    def gradient_mapping_sq(self, x: Any) -> Any:
        """Return the squared norm of the gradient mapping; on the whole space, of the gradient."""
        g = self.gradient(x)
        if self.set.kind != "none":
            g = (x - self.prox(x, g, self.gradient_mapping_step)) / self.gradient_mapping_step
        return g @ g

    def table(self, x: Any) -> "SearchedTable":
        """Return a SAGA table that stores the gradient of every component at x."""
        return SearchedTable(cast(Any, self), x)

    def prox(self, x: Any, g: Any, lam: Any) -> Any:
        """Return the projection of x - lam g onto the set."""
        return self.set.project(x - lam * g)


def _sample_mean(sample: Any, vector_of: Callable[[int], Any]) -> Any:
    """Return the mean of the vectors of the sampled components."""
    indices, counts = getattr(sample, "indices", sample), getattr(sample, "counts", cycle([1]))
    pairs = zip(indices, counts, strict=False)
    return sum(count * vector_of(int(i)) for i, count in pairs) / len(sample)


class SearchedTable(GradientSagaTable):
    """SAGA table of the component gradients of a searched problem, in any arithmetic."""

    def difference(self, sample: Any, x: Any) -> Any:
        """Return the mean over the sample of (grad f_i(x) - stored gradient of f_i)."""
        return self._problem.batch(sample, x) - _sample_mean(sample, self._gradients.__getitem__)


def _offsets_with_zero_sum(
    n: int, rows: Any, zeros: Any, number: Callable[[Any], Any]
) -> list[Any]:
    """Return the offset of each component from the mean; the last one makes their sum 0."""
    offsets = [vector(map(number, repeat(row, len(zeros)))) for row in rows[: n - 1]]
    offsets += [zeros] * (n - 1 - len(offsets))
    return [*offsets, sum((-row for row in offsets), zeros)]


class PiecewiseLinear:
    """Piecewise linear function, given by its line at a base point and its slope changes at knots.

    The changes are triples (knot, change, side), with the side 1 or -1 of the knot on which the
    change acts. `row` has the value at the first knot, or at 0, and the slopes. The form avoids
    cancellation in integrals from a zero of the function.
    """

    def __init__(self, knots: Sequence[Any], row: Any, base: Any) -> None:
        (anchor, *slopes), piece = row, bisect_right(knots, base)
        steps = list(zip(knots, (b - a for a, b in pairwise(slopes)), strict=True))
        moved = base - knots[0] if knots else base
        self.value = anchor + slopes[0] * moved + sum(c * max(base - k, 0) for k, c in steps)
        self.base, self.slope = base, slopes[piece]
        self.changes = [(k, c, 1 if j >= piece else -1) for j, (k, c) in enumerate(steps)]

    def __call__(self, x: Any) -> Any:
        """Return the value of the function at x."""
        hinges = sum(change * max(side * (x - k), 0) for k, change, side in self.changes)
        return self.value + self.slope * (x - self.base) + hinges

    def integral_from_base(self, x: Any) -> Any:
        """Return the integral of the function from the base point to x."""
        y, pairs = x - self.base, ((c * s, max(s * (x - k), 0)) for k, c, s in self.changes)
        return self.value * y + (self.slope * y * y + sum(c * z * z for c, z in pairs)) / 2


class OneDimensionalFunction:
    """One-dimensional function, the mean of components that are given by their derivatives.

    The attribute `base` is the minimiser, if there is one.
    """

    def __init__(self, profile: Genome, ends: Any, n: int, number: Callable[[Any], Any]) -> None:
        gaps = map(number, profile["knots"])
        knots = list(accumulate(abs(gap) if k else gap for k, gap in enumerate(gaps)))
        row = vector(map(number, (profile["anchor"], *profile["slopes"])))
        offsets = _offsets_with_zero_sum(n, profile["offsets"], 0 * row, number)
        self.slopes, points = row[1:], [*(knots or [number(0)])[:1], *knots]
        self.part_slopes = [self.slopes + offset[1:] for offset in offsets]
        f = PiecewiseLinear(knots, row, points[0])
        values = [f(point) for point in points]
        outer = (self.slopes[0], values[0]), (self.slopes[-1], -values[-1])
        falls = any(slope < 0 or (slope == 0 and value > 0) for slope, value in outer)
        self.has_minimum, self.base = bool(ends) or not falls, points[0]
        zeros = [p - v / s for p, v, s in zip(points, values, self.slopes, strict=True) if s > 0]
        points = [p for p in (*points, *zeros, *ends) if not ends or ends[0] <= p <= ends[1]]
        if self.has_minimum:
            self.base = min(points, key=f.integral_from_base)
        self.mean = PiecewiseLinear(knots, row, self.base)
        self.parts = [PiecewiseLinear(knots, row + offset, self.base) for offset in offsets]
        self.variance: Any = None  # the largest, at a knot or an end; else it is unbounded
        if ends or not any(offset[1] != 0 or offset[-1] != 0 for offset in offsets):
            squares = [PiecewiseLinear(knots, offset, self.base) for offset in offsets]
            self.variance = max(sum(part(p) ** 2 for part in squares) for p in points) / n


class SeparableProblem(SearchedProblem):
    """Problem whose objective is a sum of one-dimensional functions of the coordinates.

    The functions have piecewise linear derivatives. A profile of a genome has `knots`, `slopes`
    (one more) and `anchor` (f' at the first knot, or at 0). A profile also has `offsets`, one list
    for each component but the last, which are added to anchor and slopes. The last component has
    minus the sum of the others.
    """

    def _prepare(self) -> Any:
        profiles, ends = self.genome["profiles"], list[Any]([()])
        if self.set.kind == "box":
            ends = list(zip(self.set.low, self.set.high, strict=True))
        period = min(self.d, len(profiles) * len(self.genome.get("sides", "1")))
        pairs = zip(repeat(profiles, period), repeat(ends, period), strict=True)
        self.distinct = [OneDimensionalFunction(*pair, self.n, self.number) for pair in pairs]
        self.coordinates = repeat(self.distinct, self.d)
        self.base = vector(item.base for item in self.coordinates)
        has_minimum = all(item.has_minimum for item in self.distinct)
        slopes = [slope for item in self.distinct for slope in item.slopes]
        pieces = [row for item in self.distinct for row in zip(*item.part_slopes, strict=True)]
        columns = zip(*pieces, strict=True)  # the slopes of each component
        variances = [item.variance for item in self.coordinates]
        bounds = {
            "L_f": max(map(abs, slopes)),
            "L_max": max(abs(slope) for row in pieces for slope in row),
            "L_mean": sum(max(map(abs, column)) for column in columns) / self.n,
            "L_ms": root(max(sum(slope * slope for slope in row) / self.n for row in pieces)),
            "mu": min(slopes) if min(slopes) > 0 else None,
            "ell": -min(slopes),
            "sigma2": None if None in variances else sum(variances),
        }
        convexity = bool(min(slopes) >= 0), min(slope for row in pieces for slope in row)
        start = self.set.project(self._vector("start"))
        return self.base if has_minimum else None, start, bounds, *convexity

    def value(self, x: Any) -> Any:
        """Return f(x) - f(b), where b is the base point: the minimiser of f if there is one."""
        return sum(c.mean.integral_from_base(y) for c, y in zip(self.coordinates, x, strict=True))

    def gradient(self, x: Any) -> Any:
        """Return the gradient of f at x, shape (d,)."""
        return vector(c.mean(entry) for c, entry in zip(self.coordinates, x, strict=True))

    def component(self, i: int, x: Any) -> Any:
        """Return the gradient of component i at x, shape (d,)."""
        return vector(c.parts[i](entry) for c, entry in zip(self.coordinates, x, strict=True))


class QuadraticProblem(SearchedProblem):
    """Quadratic function with a given Hessian, minimiser, and gradient at the minimiser.

    The function is f(x) = <s, x - x*> + (x - x*)'H(x - x*)/2. The components differ by linear
    terms. H is Q diag(eigenvalues) Q with a reflection Q, or tridiagonal if the genome has `chain`.
    The vector -s is in the normal cone of the set at x*.
    """

    def _prepare(self) -> Any:
        genome, number = self.genome, self.number
        self._diagonal = abs(self._vector("eigenvalues"))
        self._axis = self._vector("axis") if genome.get("axis") else 0 * self._diagonal
        self.offsets = _offsets_with_zero_sum(self.n, genome["offsets"], 0 * self._diagonal, number)
        lowest, largest = min(self._diagonal), max(self._diagonal)
        if self.is_chain:
            lowest, largest = number(0), 4 * largest
        minimiser, start, self.slope = self._place_points()
        variance = sum((row @ row for row in self.offsets), number(0)) / self.n
        bounds = dict.fromkeys(("L_f", "L_max", "L_mean", "L_ms"), largest)
        bounds |= {"mu": lowest if lowest > 0 else None, "ell": 0 * lowest, "sigma2": variance}
        return minimiser, start, bounds, True, lowest

    def _place_points(self) -> tuple[Any, Any, Any]:
        """Return the minimiser, the start point, and the gradient at the minimiser, shapes (d,)."""
        genome, number, body = self.genome, self.number, self.set
        centre, start, push = (self._vector(name) for name in ("centre", "start", "push"))
        if body.kind == "hull":
            lowest = min(push @ v for v in body.vertices)
            face = [v for v in body.vertices if push @ v == lowest]
            centre = _convex_combination(face, genome["centre"], number)
            start = _convex_combination(body.vertices, genome["start"], number)
        elif body.kind == "box":
            centre = np.where(push == 0, body.project(centre), body.lo(push))
            start = body.project(start)
        elif body.kind == "ball":
            t, is_right = centre[0], start[0] > 0
            centre, start = 0 * centre, 0 * start
            centre[0] = body.radius * (1 - t * t) / (1 + t * t)
            if self.d > 1:
                centre[1] = body.radius * 2 * t / (1 + t * t)
            elif push[0] != 0:
                centre[0] = body.radius
            push = -abs(push[0]) * centre
            start[0] = body.radius if is_right else -body.radius
        else:
            push = 0 * push
        return centre, start, push

    def apply(self, u: Any) -> Any:
        """Return the Hessian times the vector u."""
        if self.is_chain:
            v = 2 * u
            v[1:] = v[1:] - u[:-1]
            v[:-1] = v[:-1] - u[1:]
            return self._diagonal[0] * v
        return self._reflect(self._diagonal * self._reflect(u))

    def _reflect(self, u: Any) -> Any:
        square = self._axis @ self._axis
        return u - (2 * (self._axis @ u) / square) * self._axis if square > 0 else u

    def value(self, x: Any) -> Any:
        """Return f(x), which is 0 at the minimiser."""
        u = x - self.minimiser
        return self.slope @ u + u @ self.apply(u) / 2

    def gradient(self, x: Any) -> Any:
        """Return the gradient of f at x, shape (d,)."""
        return self.slope + self.apply(x - self.minimiser)

    def component(self, i: int, x: Any) -> Any:
        """Return the gradient of component i at x, shape (d,)."""
        return self.gradient(x) + self.offsets[i]


def _convex_combination(points: list[Any], weights: list[Any], number: Callable[[Any], Any]) -> Any:
    """Return the mean of points, weighted by the absolute values of `weights`."""
    numbers = [abs(number(w)) for w in repeat(weights, len(points))]
    total = sum(numbers)
    if not total > 0:
        return points[0].copy()
    return sum((w / total) * p for w, p in zip(numbers, points, strict=True))


def build_problem(genome: Genome, number: Callable[[Any], Any] = float) -> Any:
    """Return the problem that a genome describes, with numbers of the type `number`."""
    kind = SeparableProblem if genome["family"] == "separable" else QuadraticProblem
    return kind(genome, number)
