"""Problems of the search, generic in the kind of number: separable functions and quadratics."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from pfbench.base.sample import weight_indices
from pfbench.verification.falsify.searched_set import (
    Genome,
    SearchedSet,
    Skip,
    repeat,
    root,
    vector,
)


class SearchedConstants:
    """Constants of a searched instance: exact, or certified upper bounds; an unknown one skips it.

    In addition to those of `pfbench.base.constants` there are R = |x_0 - x*|, mu (strong convexity)
    and d. The names that are read are recorded in `read`.
    """

    def __init__(self, values: Mapping[str, Any], read: set[str]) -> None:
        self._values, self._read = values, read

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self._read.add(name)
        if name == "L":
            return max(self.L_f, self.L_ms)
        value = self._values.get(name)
        if value is None:
            raise Skip(f"{name} is unknown or infinite")
        return value

    def require(self, name: str, purpose: str) -> Any:
        """Return a constant, as `Constants.require`."""
        return getattr(self, name)

    def smoothness(self, purpose: str) -> Any:
        """Return max(L_f, L_ms)."""
        return self.L


class SearchedProblem:
    """An instance of the search: the oracles, the set, the minimum, and its constants."""

    name: ClassVar[str] = "search"
    norm = penalty = None
    is_chain = False
    is_convex: bool
    components_convex: bool
    minimiser: Any
    x_0: Any
    bounds: dict[str, Any]
    value: Any
    gradient: Any
    component: Any

    def __init__(self, genome: Genome, number: Callable[[Any], Any]) -> None:
        self.genome, self.number = genome, number
        self.n, self.d = genome["n"], genome["d"]
        self.set = SearchedSet(genome, number)
        self.read: set[str] = set()
        self.parameters: Mapping[str, Any] = MappingProxyType(genome)
        self._prepare()
        self.properties = frozenset({"convex"} if self.is_convex else ())
        self.shape = (self.d,)
        self.bounds |= {"n": self.n, "d": self.d}
        if self.set.kind != "none":
            self.bounds["D"] = self.set.diameter

    def _prepare(self) -> None:
        raise NotImplementedError

    def objective(self, x: Any) -> Any:
        """Return f."""
        return self.value(x)

    @property
    def best_known(self) -> tuple[Any, str]:
        """The least value of f."""
        if self.minimiser is None:
            raise Skip("the minimum is unknown")
        return self.number(0), "by construction"

    @property
    def is_consistent(self) -> bool:
        """Whether the minimiser is in the set, and meets the first-order condition."""
        if self.minimiser is None:
            return True
        g, rounding = self.gradient(self.minimiser), self.number(Fraction(1, 10**30))
        if self.set.kind == "none":
            return bool(g @ g <= rounding)
        return bool(g @ (self.minimiser - self.set.lo(g)) <= rounding)

    def start(self) -> Any:
        """Return a copy of the start."""
        return self.x_0.copy()

    def constants(self, start: Any = None) -> SearchedConstants:
        """Return the constants; the names that are read are recorded in `read`."""
        values = dict(self.bounds)
        if self.minimiser is not None:
            away = self.x_0 - self.minimiser
            values |= {"delta": self.value(self.x_0), "R": root(away @ away)}
        return SearchedConstants(values, self.read)

    def batch(self, sample: Any, x: Any) -> Any:
        """Return the mean of sampled component gradients."""
        if isinstance(sample, np.ndarray | list | tuple):
            return sum(self.component(int(i), x) for i in sample) / len(sample)
        indices, weights = weight_indices(sample)
        return sum(w * self.component(int(i), x) for i, w in zip(indices, weights, strict=True))

    def difference(self, sample: Any, x: Any, y: Any) -> Any:
        """Return the mean of differences of sampled component gradients."""
        return self.batch(sample, x) - self.batch(sample, y)

    def lo(self, g: Any) -> Any:
        """Return a vertex."""
        return self.set.lo(g)

    def minimum(self, g: Any) -> Any:
        """Return the least <g, v> over the set, as a lower and an upper bound."""
        return self.set.minimum(g)

    def prox(self, x: Any, g: Any, lam: Any) -> Any:
        """Return the projection of x - lam g."""
        return self.set.project(x - lam * g)


def _complete_offsets(genome: Genome, rows: Sequence[Any], length: int, zero: Any) -> list[Any]:
    """Return offsets of all components, the last being minus the sum of the others."""
    n = genome["n"]
    offsets = [vector(row) for row in rows[: n - 1]]
    offsets += [vector([zero] * length)] * (n - 1 - len(offsets))
    return [*offsets, sum((-row for row in offsets), vector([zero] * length))]


class SeparableProblem(SearchedProblem):
    """Sums over coordinates of functions with piecewise linear derivatives.

    A genome has, for each of its profiles, `knots`, `slopes` (one more than knots), `anchor` (f' at
    the first knot, or at 0) and by component but the last `offsets` of anchor and slopes; the last
    has minus their sum, so that f is what anchor and slopes say.
    """

    def _prepare(self) -> None:
        self.profiles = [Profile(row, self.genome, self.number) for row in self.genome["profiles"]]
        self.by_coordinate = repeat(self.profiles, self.d)
        self.x_0 = vector(map(self.number, repeat(self.genome["start"], self.d)))
        ends: list[Any] = [(None, None)] * self.d
        if self.set.kind == "box":
            self.x_0 = self.set.project(self.x_0)
            ends = list(zip(self.set.low, self.set.high, strict=True))
        pairs = list(zip(self.by_coordinate, ends, strict=True))
        minimisers = [profile.minimise(*end) for profile, end in pairs]
        self.minimiser = None if None in minimisers else vector(minimisers)
        self.base = 0 * self.x_0 if self.minimiser is None else self.minimiser
        slopes = [slope for profile in self.profiles for slope in profile.slopes]
        pieces = [row for profile in self.profiles for row in zip(*profile.parts, strict=True)]
        variances = [profile.variance(*end) for profile, end in pairs]
        self.bounds = {
            "L_f": max(map(abs, slopes)),
            "L_max": max(abs(slope) for row in pieces for slope in row),
            "L_ms": root(max(sum(slope * slope for slope in row) / self.n for row in pieces)),
            "mu": min(slopes) if min(slopes) > 0 else None,
            "ell": -min(slopes),
            "sigma2": None if None in variances else sum(variances),
        }
        self.is_convex = bool(min(slopes) >= 0)
        self.components_convex = all(slope >= 0 for row in pieces for slope in row)

    def value(self, x: Any) -> Any:
        """Return f - f(base), base being the minimiser where it is known."""
        points = zip(self.by_coordinate, self.base, x, strict=True)
        return sum(profile.integral(start, end) for profile, start, end in points)

    def gradient(self, x: Any) -> Any:
        """Return grad f."""
        pairs = zip(self.by_coordinate, x, strict=True)
        return vector(profile.slope(entry) for profile, entry in pairs)

    def component(self, i: int, x: Any) -> Any:
        """Return grad f_i."""
        pairs = zip(self.by_coordinate, x, strict=True)
        return vector(profile.slope(entry, i) for profile, entry in pairs)


class Profile:
    """A function of one coordinate, and its components."""

    def __init__(self, row: Genome, genome: Genome, number: Callable[[Any], Any]) -> None:
        self.zero = number(0)
        self.knots = [number(row["knots"][0])] if row["knots"] else []
        for gap in row["knots"][1:]:
            self.knots.append(self.knots[-1] + abs(number(gap)))
        self._points = self.knots or [self.zero]
        self.slopes = [number(slope) for slope in row["slopes"]]
        rows = [[number(value) for value in offset] for offset in row["offsets"]]
        complete = _complete_offsets(genome, rows, len(self.slopes) + 1, self.zero)
        self.offsets = [row.tolist() for row in complete]
        self.parts = [
            [a + b for a, b in zip(self.slopes, row[1:], strict=True)] for row in self.offsets
        ]
        self.anchor = number(row["anchor"])
        self._mean = self._tabulate(self.anchor, self.slopes)
        self._deviations = [self._tabulate(row[0], row[1:]) for row in self.offsets]
        self._is_sum = genome["n"] > 1

    def _tabulate(self, anchor: Any, slopes: Any) -> tuple[list[Any], Any]:
        """Return the derivative at the knots, or at 0 without any, and the slopes."""
        values = [anchor]
        for slope, (left, right) in zip(slopes[1:], pairwise(self.knots), strict=False):
            values.append(values[-1] + slope * (right - left))
        return values, slopes

    def _evaluate(self, table: tuple[list[Any], Any], x: Any) -> Any:
        values, slopes = table
        piece = bisect_right(self.knots, x)
        k = max(piece - 1, 0)
        return values[k] + slopes[piece] * (x - self._points[k])

    def slope(self, x: Any, i: int | None = None) -> Any:
        """Return the derivative of f, or of component i."""
        mean = self._evaluate(self._mean, x)
        has_deviation = self._is_sum and i is not None
        return mean + self._evaluate(self._deviations[i or 0], x) if has_deviation else mean

    def integral(self, a: Any, b: Any) -> Any:
        """Return f(b) - f(a), without cancellation."""
        if a > b:
            return -self.integral(b, a)
        stops = [a, *(k for k in self.knots if a < k < b), b]
        total, before = self.zero, self.slope(a)
        for left, right in pairwise(stops):
            after = self.slope(right)
            total, before = total + (before + after) / 2 * (right - left), after
        return total

    def minimise(self, low: Any, high: Any) -> Any:
        """Return a minimiser on an interval (None: without end); None if there is none."""
        values, slopes = self._mean
        if low is None and (
            slopes[0] < 0
            or slopes[-1] < 0
            or (slopes[0] == 0 and values[0] > 0)
            or (slopes[-1] == 0 and values[-1] < 0)
        ):
            return None
        candidates = [*self._points, self.zero]
        for piece, slope in enumerate(slopes):
            if slope > 0:
                k = max(piece - 1, 0)
                candidates.append(self._points[k] - values[k] / slope)
        if low is not None:
            candidates = [c for c in candidates if low <= c <= high] + [low, high]
        origin = candidates[0]
        return min(candidates, key=lambda c: self.integral(origin, c))

    def variance(self, low: Any, high: Any) -> Any:
        """Return the largest variance of the derivative; None if it is unbounded."""
        points = list(self._points)
        if low is not None:
            points = [p for p in points if low <= p <= high] + [low, high]
        elif any(row[1] != 0 or row[-1] != 0 for row in self.offsets):
            return None
        squares = [sum(self._evaluate(row, p) ** 2 for row in self._deviations) for p in points]
        return max(squares) / len(self._deviations)


class QuadraticProblem(SearchedProblem):
    """f(x) = <s, x - x*> + (x - x*)'H(x - x*)/2, with components that differ by linear terms.

    H is Q diag(eigenvalues) Q with a reflection Q, or tridiagonal with -1, 2, -1 (`chain`,
    L_f <= 4, an upper bound). The gradient s at x* is in minus the normal cone of the set there.
    """

    def _prepare(self) -> None:
        genome, number = self.genome, self.number
        self._diagonal = abs(self._vector("eigenvalues"))
        self.is_chain = bool(genome.get("chain"))
        axis = self._vector("axis") if genome.get("axis") else None
        self._axis: Any = axis if axis is not None and axis @ axis > 0 else None
        rows = [list(map(number, repeat(row, self.d))) for row in genome["offsets"]]
        self.offsets = _complete_offsets(genome, rows, self.d, number(0))
        lowest, largest = min(self._diagonal), max(map(abs, self._diagonal))
        if self.is_chain:
            lowest, largest = number(0), 4 * largest
        self._place_points()
        self.bounds = dict.fromkeys(("L_f", "L_max", "L_ms"), largest) | {
            "mu": lowest if lowest > 0 else None,
            "ell": 0 * lowest,
            "sigma2": sum((row @ row for row in self.offsets), number(0)) / self.n,
        }
        self.is_convex = self.components_convex = True

    def _vector(self, name: str) -> Any:
        return vector(map(self.number, repeat(self.genome[name], self.d)))

    def _place_points(self) -> None:
        """Set the minimiser, the gradient there, and the start."""
        genome, number, body = self.genome, self.number, self.set
        centre, start, push = (self._vector(name) for name in ("centre", "start", "push"))
        if body.kind == "hull":
            values = [push @ v for v in body.vertices]
            pairs = zip(body.vertices, values, strict=True)
            face = [v for v, value in pairs if value == min(values)]
            centre = _combine(face, genome["centre"], number)
            start = _combine(body.vertices, genome["start"], number)
        elif body.kind == "box":
            entries = zip(body.project(centre), push, body.lo(push), strict=True)
            centre = vector(c if p == 0 else end for c, p, end in entries)
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
        self.minimiser, self.x_0, self.slope = centre, start, push

    def apply(self, u: Any) -> Any:
        """Return H u."""
        if self.is_chain:
            v = 2 * u
            v[1:] = v[1:] - u[:-1]
            v[:-1] = v[:-1] - u[1:]
            return self._diagonal[0] * v
        return self._reflect(self._diagonal * self._reflect(u))

    def _reflect(self, u: Any) -> Any:
        if self._axis is None:
            return u
        return u - (2 * (self._axis @ u) / (self._axis @ self._axis)) * self._axis

    def value(self, x: Any) -> Any:
        """Return f, which is 0 at the minimiser."""
        u = x - self.minimiser
        return self.slope @ u + u @ self.apply(u) / 2

    def gradient(self, x: Any) -> Any:
        """Return grad f."""
        return self.slope + self.apply(x - self.minimiser)

    def component(self, i: int, x: Any) -> Any:
        """Return grad f_i."""
        return self.gradient(x) + self.offsets[i]


def _combine(points: list[Any], weights: list[Any], number: Callable[[Any], Any]) -> Any:
    """Return the convex combination of points with weights, absolute values of some numbers."""
    numbers = [abs(number(w)) for w in repeat(weights, len(points))]
    total = sum(numbers)
    if not total > 0:
        return points[0].copy()
    return sum((w / total) * p for w, p in zip(numbers, points, strict=True))


def build_problem(genome: Genome, number: Callable[[Any], Any] = float) -> Any:
    """Return the problem of a genome in a kind of number."""
    kind = SeparableProblem if genome["family"] == "separable" else QuadraticProblem
    return kind(genome, number)


def number_maker(kind: Any) -> Callable[[Any], Any]:
    """Return a function that converts a genome's floats and fractions to a kind of `Number`."""
    return lambda value: kind.from_fraction(Fraction(value))
