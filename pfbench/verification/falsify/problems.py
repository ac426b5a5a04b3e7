"""Problems of the search, generic in the kind of number: separable functions and quadratics."""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from pfbench.base.sample import weight_indices
from pfbench.verification.falsify.bodies import Body, Genome, Skip, root, vector


def no_number(value: Any) -> Any:
    """Return a number of the search as a float."""
    return float(value)


class SearchConstants:
    """Constants of a searched instance: exact, or certified upper bounds; an unknown one skips it.

    Beside those of `pfbench.base.constants` there are R = |x_0 - x*|, mu (strong convexity) and d.
    """

    def __init__(self, stated: Mapping[str, Any], read: set[str] | None = None) -> None:
        self._stated, self._read = stated, set() if read is None else read

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self._read.add(name)
        if name == "L":
            return max(self.L_f, self.L_ms)
        value = self._stated.get(name)
        if value is None:
            raise Skip(f"{name} is unknown or infinite")
        return value

    def need(self, name: str, purpose: str) -> Any:
        """Return a constant, as `Constants.need`."""
        return getattr(self, name)

    def smoothness(self, purpose: str) -> Any:
        """Return max(L_f, L_ms)."""
        return self.L


class SearchProblem:
    """An instance of the search: the oracles, the set, the minimum, and its constants."""

    name: ClassVar[str] = "search"
    n: int
    d: int
    set: Body
    minimiser: Any
    best: Any
    _constants: dict[str, Any]
    _start: Any

    def __init__(self, genome: Genome, number: Callable[[Any], Any]) -> None:
        self.genome, self.number = genome, number
        self.n, self.d = genome["n"], genome["d"]
        self.set = Body(genome, number, self.d)
        self.read: set[str] = set()
        self.weight = number(genome.get("weight", 0))
        self.norm = None
        self.parameters: Mapping[str, Any] = MappingProxyType(genome)
        self._prepare()
        shape = self.set.diameter
        if self.set.kind != "none":
            self._constants["D"] = shape
        self._constants |= {"n": self.n, "d": self.d}

    def _prepare(self) -> None:
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the points."""
        return (self.d,)

    @property
    def penalty(self) -> Any:
        """The penalty w |x|_1 as a function; None without one."""
        return self._penalty if self.genome.get("weight", 0) else None

    @property
    def best_known(self) -> tuple[Any, str]:
        """The least value of f + h."""
        if self.minimiser is None:
            raise Skip("the minimum is unknown")
        return self.best, "by construction"

    def start(self) -> Any:
        """Return a copy of the start."""
        return self._start.copy()

    def constants(self, start: Any = None) -> SearchConstants:
        """Return the constants; what is read is noted in `read`."""
        stated = dict(self._constants)
        if self.minimiser is not None:
            away = self._start - self.minimiser
            stated["delta"] = self.objective(self._start) - self.best
            stated["R"] = root(away @ away)
        return SearchConstants(stated, self.read)

    def component(self, i: int, x: Any) -> Any:
        """Return grad f_i."""
        raise NotImplementedError

    def value(self, x: Any) -> Any:
        """Return f."""
        raise NotImplementedError

    def gradient(self, x: Any) -> Any:
        """Return grad f."""
        raise NotImplementedError

    def objective(self, x: Any) -> Any:
        """Return f + h."""
        return self.value(x) + self._penalty(x)

    def _penalty(self, x: Any) -> Any:
        return self.weight * sum(abs(x)) if self.genome.get("weight", 0) else 0 * self.weight

    def batch(self, sample: Any, x: Any) -> Any:
        """Return the mean of sampled component gradients."""
        if isinstance(sample, np.ndarray | list | tuple):
            drawn = [int(i) for i in sample]
            return sum(self.component(i, x) for i in drawn) / len(drawn)
        indices, weights = weight_indices(sample)
        return sum(w * self.component(int(i), x) for i, w in zip(indices, weights, strict=True))

    def difference(self, sample: Any, x: Any, y: Any) -> Any:
        """Return the mean of differences of sampled component gradients."""
        return self.batch(sample, x) - self.batch(sample, y)

    def lo(self, g: Any) -> Any:
        """Return a vertex."""
        return self.set.lo(g)

    def prox(self, x: Any, g: Any, lam: Any) -> Any:
        """Return the proximal map of x - lam g."""
        y = x - lam * g
        if not self.genome.get("weight", 0):
            return self.set.project(y)
        cut = lam * self.weight
        return vector([yj - cut if yj > cut else yj + cut if yj < -cut else 0 * yj for yj in y])


class Separable(SearchProblem):
    """Sums over coordinates of functions with piecewise linear derivatives.

    A genome has, for each of its profiles, `knots`, `slopes` (one more than knots), `anchor` (f' at
    the first knot, or at 0) and by component but the last `offsets` of anchor and slopes; the last
    has minus their sum, so that f is what anchor and slopes say.
    """

    def _prepare(self) -> None:
        genome, number = self.genome, self.number
        self.profiles = [_Profile(one, self.n, number) for one in genome["profiles"]]
        count = len(self.profiles)
        self._of = [self.profiles[j % count] for j in range(self.d)]
        starts = genome["start"]
        self._start = vector([number(starts[j % len(starts)]) for j in range(self.d)])
        is_box = self.set.kind == "box"
        if is_box:
            self._start = self.set.project(self._start)
        ends = [(None, None)] * self.d
        if is_box:
            ends = list(zip(self.set.low, self.set.high, strict=True))
        least = [
            profile.minimise(low, high, self.weight if genome.get("weight", 0) else None)
            for profile, (low, high) in zip(self._of, ends, strict=True)
        ]
        self.minimiser = None if None in least else vector(least)
        self._base = self.minimiser if self.minimiser is not None else 0 * self._start
        if self.minimiser is not None:
            self.best = self._penalty(self.minimiser)
        slopes = [s for one in self.profiles for s in one.slopes]
        parts = [row for one in self.profiles for row in zip(*one.component_slopes, strict=True)]
        self._constants = {
            "L_f": max(map(abs, slopes)),
            "L_max": max(abs(s) for row in parts for s in row),
            "L_ms": root(max(sum(s * s for s in row) / self.n for row in parts)),
            "mu": min(slopes) if min(slopes) > 0 else None,
            "ell": -min(slopes),
            "sigma2": self._variance(ends),
        }
        self.properties = frozenset({"convex"} if min(slopes) >= 0 else ())
        self.is_convex = min(slopes) >= 0
        self.components_convex = all(s >= 0 for row in parts for s in row)

    def _variance(self, ends: list[Any]) -> Any:
        parts = [one.variance(*end) for one, end in zip(self._of, ends, strict=True)]
        return None if any(part is None for part in parts) else sum(parts)

    def value(self, x: Any) -> Any:
        """Return f - f(base), base the minimiser where it is known."""
        return sum(
            profile.integral(b, xj) for profile, b, xj in zip(self._of, self._base, x, strict=True)
        )

    def gradient(self, x: Any) -> Any:
        """Return grad f."""
        return vector([profile.slope_at(xj) for profile, xj in zip(self._of, x, strict=True)])

    def component(self, i: int, x: Any) -> Any:
        """Return grad f_i."""
        return vector([profile.slope_at(xj, i) for profile, xj in zip(self._of, x, strict=True)])


class _Profile:
    """A function of one coordinate, and its components."""

    def __init__(self, genome: Genome, n: int, number: Callable[[Any], Any]) -> None:
        self.knots = [number(genome["knots"][0])] if genome["knots"] else []
        for gap in genome["knots"][1:]:
            self.knots.append(self.knots[-1] + abs(number(gap)))
        self.slopes = [number(s) for s in genome["slopes"]]
        zero, n_pieces = number(0), len(self.slopes)
        rows = [[number(v) for v in row] for row in genome["offsets"][: n - 1]]
        rows += [[zero] * (n_pieces + 1)] * (n - 1 - len(rows))
        rows.append([sum((-row[k] for row in rows), zero) for k in range(n_pieces + 1)])
        self._offsets = rows
        self.component_slopes = [
            [s + o for s, o in zip(self.slopes, row[1:], strict=True)] for row in rows
        ]
        self.zero = zero
        self._mean = self._values(number(genome["anchor"]), self.slopes)
        self._away = [self._values(row[0], row[1:]) for row in rows] if n > 1 else []

    def _values(self, anchor: Any, slopes: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return the derivative at the knots, of which there is one at least, and the slopes."""
        values = [anchor]
        for k in range(1, len(self.knots)):
            values.append(values[-1] + slopes[k] * (self.knots[k] - self.knots[k - 1]))
        return values, slopes

    def _evaluate(self, table: tuple[list[Any], list[Any]], x: Any) -> Any:
        values, slopes = table
        piece = bisect_right(self.knots, x)
        at = max(piece - 1, 0)
        return values[at] + slopes[piece] * (x - (self.knots[at] if self.knots else self.zero))

    def slope_at(self, x: Any, i: int | None = None) -> Any:
        """Return the derivative of f, or of component i."""
        mean = self._evaluate(self._mean, x)
        return mean if i is None or not self._away else mean + self._evaluate(self._away[i], x)

    def integral(self, a: Any, b: Any) -> Any:
        """Return f(b) - f(a), without cancellation."""
        if a > b:
            return -self.integral(b, a)
        stops = [a, *(k for k in self.knots if a < k < b), b]
        total, before = self.zero, self.slope_at(a)
        for left, right in pairwise(stops):
            after = self.slope_at(right)
            total, before = total + (before + after) / 2 * (right - left), after
        return total

    def minimise(self, low: Any, high: Any, weight: Any) -> Any:
        """Return a minimiser on an interval (None: without end); None if there is none."""
        w = self.zero if weight is None else weight
        knots = self.knots or [self.zero]
        values = self._mean[0]
        if low is None:
            left = values[0] - w, self.slopes[0]
            right = values[-1] + w, self.slopes[-1]
            if left[1] < 0 or (left[1] == 0 and left[0] > 0):
                return None
            if right[1] < 0 or (right[1] == 0 and right[0] < 0):
                return None
        candidates = [*knots, self.zero]
        for piece, slope in enumerate(self.slopes):
            if slope > 0:
                at = max(piece - 1, 0)
                candidates += [knots[at] - (values[at] + sign * w) / slope for sign in (-1, 1)]
        if low is not None:
            candidates = [c for c in candidates if low <= c <= high] + [low, high]
        best, least = candidates[0], None
        for c in candidates:
            value = self.integral(candidates[0], c) + w * abs(c)
            if least is None or value < least:
                best, least = c, value
        return best

    def variance(self, low: Any, high: Any) -> Any:
        """Return the largest variance of the derivative; None if it is unbounded."""
        if not self._away:
            return self.zero
        points = list(self.knots) or [self.zero]
        if low is None:
            if any(row[1] != 0 or row[-1] != 0 for row in self._offsets):
                return None
        else:
            points = [p for p in points if low <= p <= high] + [low, high]
        squares = [[self._evaluate(one, p) ** 2 for one in self._away] for p in points]
        return max(sum(row) / len(row) for row in squares)


class Quadratic(SearchProblem):
    """f(x) = <s, x - x*> + (x - x*)'H(x - x*)/2, with components that differ by linear terms.

    H is Q diag(eigenvalues) Q with a reflection Q, or tridiagonal with -1, 2, -1 (`chain`,
    L_f <= 4, an upper bound). The gradient s at x* is in minus the normal cone of the set there.
    """

    def _prepare(self) -> None:
        genome, number = self.genome, self.number
        eigenvalues = [
            number(genome["eigenvalues"][j % len(genome["eigenvalues"])]) for j in range(self.d)
        ]
        self._diagonal = vector(eigenvalues)
        self.is_chain = bool(genome.get("chain"))
        axis = genome.get("axis") or []
        self._axis: Any = (
            vector([number(axis[j % len(axis)]) for j in range(self.d)]) if axis else None
        )
        if self._axis is not None and not self._axis @ self._axis > 0:
            self._axis = None
        rows = [vector([number(v) for v in (row * self.d)[: self.d]]) for row in genome["offsets"]]
        rows = rows[: self.n - 1]
        zero = vector([number(0)] * self.d)
        rows += [zero] * (self.n - 1 - len(rows))
        rows.append(sum((-row for row in rows), zero))
        self._offsets = rows
        least, largest = min(eigenvalues), max(map(abs, eigenvalues))
        if self.is_chain:
            scale = largest
            least, largest = number(0), 4 * scale
        self._place()
        self.best = number(0)
        self._constants = {
            "L_f": largest,
            "L_max": largest,
            "L_ms": largest,
            "mu": least if least > 0 else None,
            "ell": 0 * least,
            "sigma2": sum((row @ row for row in rows), number(0)) / self.n,
        }
        self.properties = frozenset({"convex"})
        self.is_convex = self.components_convex = bool(least >= 0)

    def _place(self) -> None:
        """Set the minimiser, the gradient there, and the start."""
        genome, number, body = self.genome, self.number, self.set
        centre = vector([number(v) for v in (genome["centre"] * self.d)[: self.d]])
        start = vector([number(v) for v in (genome["start"] * self.d)[: self.d]])
        push = vector([number(v) for v in (genome["push"] * self.d)[: self.d]])
        if body.kind == "hull":
            values = [push @ v for v in body.vertices]
            face = [
                v for v, value in zip(body.vertices, values, strict=True) if value == min(values)
            ]
            self._minimum = _combination(face, genome["centre"], number)
            self._start = _combination(body.vertices, genome["start"], number)
        elif body.kind == "box":
            inside = body.project(centre)
            ends = body.lo(push)
            self._minimum = vector(
                [c if p == 0 else e for c, p, e in zip(inside, push, ends, strict=True)]
            )
            self._start = body.project(start)
        elif body.kind == "ball":
            t = centre[0]
            self._minimum = 0 * centre
            self._minimum[0] = body.radius * (1 - t * t) / (1 + t * t)
            if self.d > 1:
                self._minimum[1] = body.radius * 2 * t / (1 + t * t)
            push = -abs(push[0]) * self._minimum
            self._start = 0 * start
            self._start[0] = body.radius if start[0] > 0 else -body.radius
        else:
            self._minimum, self._start, push = centre, start, 0 * push
        self._slope = push
        self.minimiser: Any = self._minimum

    def _apply(self, u: Any) -> Any:
        if self.is_chain:
            v = 2 * u
            v[1:] = v[1:] - u[:-1]
            v[:-1] = v[:-1] - u[1:]
            return self._diagonal[0] * v
        if self._axis is None:
            return self._diagonal * u
        return self._reflect(self._diagonal * self._reflect(u))

    def _reflect(self, u: Any) -> Any:
        return u - (2 * (self._axis @ u) / (self._axis @ self._axis)) * self._axis

    def value(self, x: Any) -> Any:
        """Return f, 0 at the minimiser."""
        u = x - self._minimum
        return self._slope @ u + u @ self._apply(u) / 2

    def gradient(self, x: Any) -> Any:
        """Return grad f."""
        return self._slope + self._apply(x - self._minimum)

    def component(self, i: int, x: Any) -> Any:
        """Return grad f_i."""
        return self.gradient(x) + self._offsets[i]


def _combination(points: list[Any], weights: list[Any], number: Callable[[Any], Any]) -> Any:
    """Return the convex combination of points with weights, absolute values of some numbers."""
    used = [abs(number(w)) for w in (weights * len(points))[: len(points)]]
    total = sum(used)
    if not total > 0:
        return points[0].copy()
    return sum((w / total) * p for w, p in zip(used, points, strict=True))


def build(genome: Genome, number: Callable[[Any], Any] = no_number) -> Any:
    """Return the problem of a genome in a kind of number."""
    return (Separable if genome["family"] == "separable" else Quadratic)(genome, number)


def exact_number(kind: Any) -> Callable[[Any], Any]:
    """Return what makes numbers of a genome, floats or fractions, into a kind of `Number`."""
    return lambda value: kind.from_fraction(Fraction(value))
