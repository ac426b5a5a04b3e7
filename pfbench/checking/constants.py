"""Every stated constant of a problem, searched for a counter-example.

A pair of points (or one point) that shows that a constant is too small is a proof. The search is by
random pairs over many scales, then by ascent: along the direction in which gradients change most,
which is a power iteration on the Hessian.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from time import thread_time
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.constants import Constants
from pfbench.base.state import Point
from pfbench.checking.findings import Patience, Skipped, Wrong, check_has, in_brief, places
from pfbench.checking.lines import Line, OnSpace, Space, moved, norm, size, value_at
from pfbench.points import distance, keep

_SLACK = 1e-6
"""A constant may be exceeded by so much of itself, for the rounding of whoever computed it."""

_ENTRIES = 4_000_000
"""Up to so many entries of all component gradients at one point are held."""

_ASCENT = 12

_FEWEST = 100
"""So many components are asked at a point, if there are more than there is time for."""

_OF_COMPONENTS = frozenset({"L_ms", "L_max", "L_mean", "L2_ms", "sigma2"})
"""Constants of all components."""

_SIGMAS = 6.0
"""So many standard errors a mean over drawn components is lowered by."""


@dataclass(frozen=True)
class Found:
    """A value of what a constant bounds, and where it is taken."""

    value: float
    at: Mapping[str, Any]


_NONE = Found(-math.inf, MappingProxyType({}))


def _largest(found: Iterable[Found]) -> Found:
    """Return the one with the largest value."""
    return max(itertools.chain([_NONE], found), key=lambda one: one.value)


class Search(OnSpace):
    """Searches large values of what the constants of one problem bound; see `SEARCHES`."""

    @cached_property
    def constants(self) -> Constants:
        """What is stated at the start."""
        found: Constants = self.problem.constants(self.problem.start())
        return found

    def stated(self) -> list[str]:
        """Return the names of the stated constants that are searched here."""
        return [name for name in SEARCHES if math.isfinite(getattr(self.constants, name))]

    def counter_example(self, name: str) -> str:
        """Search a point, or a pair, at which a constant is too small."""
        stated = float(getattr(self.constants, name))
        search, meaning = SEARCHES[name]
        found = _largest(search(self))
        excess = found.value - stated * (1.0 + _SLACK if stated > 0.0 else 1.0)
        if excess > 1e-12 * max(1.0, abs(stated)):
            derivation = self.constants.derivations.get(name, "")
            from_where = f" ({derivation})" if derivation else ""
            raise Wrong(
                f"{meaning} at most {name} = {in_brief(stated)}{from_where}",
                in_brief(found.value),
                found.at,
                places(self.problem, "constants"),
            )
        share = f", {found.value / stated:.3g} of it" if stated > 0.0 else ""
        drawn = self._indices.size if name in _OF_COMPONENTS else self.problem.n
        few = f" (by {drawn} components of {self.problem.n})" if drawn < self.problem.n else ""
        return (
            f"{in_brief(stated)} stated; the largest found is {in_brief(found.value)}{share}{few}"
        )

    # --- smoothness -------------------------------------------------------------------------------

    def gradients(self) -> Iterator[Found]:
        """Yield |grad f(x) - grad f(y)|/|x - y|."""
        yield self._steepest(self.problem.gradient, 1.0)

    def components(self) -> Iterator[Found]:
        """Yield |grad f_i(x) - grad f_i(y)|/|x - y|."""
        problem = self.problem
        check_has(problem, "batch")
        yield self._steepest(problem.gradient, 0.2)
        chosen: dict[int, float] = {}
        for x, y in self._pairs(30, self.patience / 2.0):
            far = distance(x, y)
            if far > 0.0:
                changes = self._components(x) - self._components(y)
                sizes = np.sqrt((changes**2).sum(axis=1))
                worst = int(np.argmax(sizes))
                i = int(self._indices[worst])
                yield Found(self._less_noise(float(sizes[worst]), x, y), {"x": x, "y": y, "i": i})
                chosen[i] = max(chosen.get(i, 0.0), float(sizes[worst]) / far)
        for i in sorted(chosen, key=chosen.__getitem__, reverse=True)[:3]:
            one = np.array([i])
            found = self._steepest(partial(problem.batch, one), 0.1)
            yield Found(found.value, {**found.at, "i": i})

    def each_component(self) -> Iterator[Found]:
        """Yield the mean over i of the largest |grad f_i(x) - grad f_i(y)|/|x - y|.

        Raises
        ------
        Wrong
            If the problem states a smaller L_i.
        """
        check_has(self.problem, "batch")
        largest, problem, pair = np.zeros(self._indices.size), self.problem, {}
        for x, y in self._pairs(30, 0.5 * self.patience):
            changes = np.linalg.norm(self._components(x) - self._components(y), axis=1)
            ratios = np.array([self._less_noise(float(one), x, y) for one in changes])
            largest, pair = np.maximum(largest, ratios), {"x": x, "y": y}
        if "component_smoothness" not in problem.lacks:
            stated = problem.component_smoothness()[self._indices]
            for k in np.argsort(largest / np.maximum(stated, 1e-300))[::-1][:3].tolist():
                one = self._indices[k : k + 1]
                found = self._steepest(partial(problem.batch, one), 0.1)
                largest[k] = max(largest[k], found.value)
                if not largest[k] <= stated[k] * (1.0 + _SLACK):
                    least, (_, meaning) = in_brief(float(stated[k])), SEARCHES["L_max"]
                    raise Wrong(
                        f"{meaning} at most L_{int(one[0])} = {least}",
                        in_brief(float(largest[k])),
                        found.at,
                        places(problem, "component_smoothness"),
                    )
        yield Found(self._mean(largest), pair)

    def mean_square(self) -> Iterator[Found]:
        """Yield sqrt(E_i |grad f_i(x) - grad f_i(y)|^2)/|x - y|."""
        check_has(self.problem, "batch")
        yield self._steepest(self.problem.gradient, 0.2)  # at most the one in mean square
        patience = Patience(0.8 * self.patience)
        for _ in patience.rounds(6):
            x = self.space.member()
            y = self.space.near(x)
            for _ in patience.rounds(_ASCENT):
                changes = self._components(x) - self._components(y)
                root = math.sqrt(self._mean((changes**2).sum(axis=1)))
                yield Found(self._less_noise(root, x, y), {"x": x, "y": y})
                if root == 0.0 or not self.space.dense:
                    y = self.space.near(x)
                    continue
                y = self.space.toward(x, self._second(x, changes, root))

    def _second(self, x: Floats, changes: Floats, root: float) -> Floats:
        """Return the mean of H_i w_i for the changes w_i = H_i u: a step of a power iteration."""
        u = np.zeros(x.shape)
        h = 1e-4 * self.space.scale / root
        at_x = self._components(x)
        for k in Patience(0.2 * self.patience).rounds(len(at_x)):
            w = changes[k].reshape(x.shape)
            if w.any():
                beyond = self.problem.batch(self._indices[k : k + 1], x + h * w)
                u = u + (np.ravel(beyond) - at_x[k]).reshape(x.shape)
        return u

    def hessians(self) -> Iterator[Found]:
        """Yield sqrt(E_i |(H_i(x) - H_i(y)) u|^2)/(|x - y| |u|)."""
        check_has(self.problem, "hessian")
        check_has(self.problem, "batch")
        for x, y in self._pairs(40, self.patience):
            far, line = distance(x, y), Line(x, self.space.member())
            if self.space.rng.integers(2):
                line = Line(x, y)
            H, K = self.problem.hessian(keep(x)), self.problem.hessian(keep(y))
            squares = []
            for k in range(len(self._indices)):
                one = self._indices[k : k + 1]
                change = H.batch(one, line.y, line.x) - K.batch(one, line.y, line.x)
                squares.append(norm(change) ** 2)
            scale = far * line.length
            if scale > 0.0:
                root = math.sqrt(self._mean(np.array(squares)))
                noise = 1e-13 * norm(H.product(line.y, line.x)) / scale
                yield Found(root / scale - noise, {"x": x, "y": y, "u": line.y})

    def lower(self) -> Iterator[Found]:
        """Yield -2 (f(y) - f(x) - <grad f(x), y - x>)/|y - x|^2."""
        problem = self.problem
        for x, y in itertools.chain(self._bent(), self._pairs(100, 0.5 * self.patience)):
            line = Line(x, y)
            far = line.length
            if far > 0.0:
                at_x, at_y = value_at(problem, keep(x)), value_at(problem, keep(y))
                fall = at_x + line.slope(problem.gradient(keep(x))) - at_y
                noise = 1e-14 * (abs(at_x) + abs(at_y))
                yield Found(2.0 * (fall - noise) / far**2, {"x": x, "y": y})

    def _bent(self) -> Iterator[tuple[Point, Point]]:
        """Yield pairs along which f bends down most: power iterations on L - H."""
        if not self.space.dense:
            return
        problem, patience = self.problem, Patience(0.5 * self.patience)
        for _ in patience.rounds(8):
            x = self.space.member()
            y, L = self.space.near(x), 0.0
            for _ in patience.rounds(2 * _ASCENT):
                change = problem.gradient(keep(y)) - problem.gradient(keep(x))
                far = distance(x, y)
                if far == 0.0:
                    break
                L = max(L, norm(change) / far)
                yield x, y
                y = self.space.toward(x, L * (y - x) - change)

    def variance(self) -> Iterator[Found]:
        """Yield the largest E_i |grad f_i(x) - grad f(x)|^2."""
        check_has(self.problem, "batch")
        best, space = _NONE, self.space
        for k in Patience(self.patience).rounds(100):
            x = space.start() if k == 0 else space.member()
            if not space.bounded and k % 3 == 1:
                x = x * 10.0 ** space.rng.uniform(0.0, 2.0)
            elif k % 3 == 1:
                x = moved(x, space.vertex(), 1.0)
            elif k % 3 == 2 and space.bounded:
                x = moved(best.at["x"], space.vertex(), 10.0 ** space.rng.uniform(-2.0, 0.0))
            mean = np.ravel(self.problem.gradient(keep(x)))
            spread = self._mean(((self._components(x) - mean) ** 2).sum(axis=1))
            best = _largest([best, Found(spread, {"x": x})])
        yield best

    # --- the set and the start --------------------------------------------------------------------

    def diameter(self) -> Iterator[Found]:
        """Yield distances of two members."""
        check_has(self.problem, "lo")
        start, space = self.space.start(), self.space
        for _ in Patience(self.patience).rounds(12):
            g = space.direction()
            for _ in range(4):
                v, w = (moved(start, space.vertex(one), 1.0) for one in (g, -g))
                yield Found(distance(v, w), {"v": v, "w": w})
                if not space.dense:
                    break
                g = w - v

    def largest_norm(self) -> Iterator[Found]:
        """Yield norms of members."""
        check_has(self.problem, "lo")
        space = self.space
        for k in Patience(self.patience).rounds(40):
            x = space.start() if k == 0 else space.member()
            if k:
                x = moved(x, space.vertex(-x if space.dense and k % 2 else None), 1.0)
            yield Found(size(x), {"x": x})

    def decrease(self) -> Iterator[Found]:
        """Yield f(start) - f(x), penalties included, along a descent."""
        problem, h = self.problem, self.problem.penalty

        def objective(x: Point) -> float:
            return value_at(problem, keep(x)) + (0.0 if h is None else float(h.value(x)))

        first = objective(problem.start())
        for x in self._descent():
            yield Found(first - objective(x), {"x": x})

    def _descent(self) -> Iterator[Point]:
        """Yield points with lower and lower objective: Frank-Wolfe, or proximal gradient steps."""
        problem, space = self.problem, self.space
        x, patience = problem.start(), Patience(self.patience)
        L = self.constants.L_f if math.isfinite(self.constants.L_f) else 1.0
        lam = 1.0 / L if L > 0.0 else 1.0
        for _ in patience.rounds(100):
            g = problem.gradient(x)
            if space.bounded:
                x = self._frank_wolfe(x, g)
            elif problem.penalty is None:
                x = x - lam * g
            else:
                x = problem.prox(x, g, lam)
            yield x

    def _frank_wolfe(self, x: Point, g: Any) -> Point:
        """Return the best of a few steps towards the vertex against the gradient."""
        v, x = self.space.vertex(g), keep(x)
        steps = (moved(x, v, 0.5**k) for k in range(12))
        return min(itertools.chain([x], steps), key=partial(value_at, self.problem))

    # --- what the searches share ------------------------------------------------------------------

    def _pairs(self, most: int, seconds: float) -> Iterator[tuple[Point, Point]]:
        for _ in Patience(seconds).rounds(most):
            x = self.space.member()
            yield keep(x), keep(self.space.near(x))

    def _steepest(self, gradient: Callable[[Point], Any], share: float) -> Found:
        """Return the largest |g(x) - g(y)|/|x - y|, by ascent from random points."""
        return _largest(self._ascent(gradient, share))

    def _ascent(self, gradient: Callable[[Point], Any], share: float) -> Iterator[Found]:
        space, patience = self.space, Patience(share * self.patience)
        for _ in patience.rounds(12):
            x = space.member()
            y = space.near(x)
            for _ in range(_ASCENT):
                change = gradient(keep(y)) - gradient(keep(x))
                yield Found(self._less_noise(norm(change), x, y), {"x": x, "y": y})
                if not change.any() or patience.over:
                    break
                y = space.toward(x, change)

    def _less_noise(self, change: float, x: Point, y: Point) -> float:
        """Return a change of gradients over the distance, less what rounding may have made."""
        far = distance(x, y)
        if far == 0.0:
            return -math.inf
        noise = 1e-14 * (norm(self.problem.gradient(keep(x))) + change)
        return (change - noise) / far

    @cached_property
    def _indices(self) -> Integers:
        """All components, or as many drawn ones as there is time for a few times."""
        n, x = self.problem.n, self.space.member()
        size = int(np.size(self.problem.gradient(keep(x))))
        few = np.arange(min(n, 20))
        self.problem.batch(few[:1], keep(x))
        began = thread_time()
        for k in few:
            self.problem.batch(few[k : k + 1], keep(x))
        each = (thread_time() - began) / few.size
        most = max(_FEWEST, min(_ENTRIES // size, int(0.1 * self.patience / max(each, 1e-9))))
        return np.arange(n) if n <= most else self.space.rng.integers(n, size=most)

    def _components(self, x: Point) -> Floats:
        """Return component gradients at x, one a row."""
        asked, chosen = keep(x), self._indices
        rows = [self.problem.batch(chosen[k : k + 1], asked) for k in range(chosen.size)]
        return np.array([np.ravel(row) for row in rows])

    def _mean(self, squares: Floats) -> float:
        """Return the mean over all components; of drawn ones, six standard errors less."""
        mean, m = float(squares.mean()), squares.size
        if m == self.problem.n:
            return mean
        return max(0.0, mean - _SIGMAS * float(squares.std()) / math.sqrt(m))


def convex(problem: Any, space: Space, patience: float) -> str:
    """Look for a chord of f that lies below its tangent, where f is said to be convex."""
    if "convex" not in problem.properties:
        raise Skipped("it is not said to be convex")
    found = _largest(Search(problem, space, patience).lower())
    allowed = 1e-9 * max(1.0, abs(value_at(problem, problem.start())))
    if found.value > allowed:
        raise Wrong(
            "f(y) >= f(x) + <gradient(x), y - x>, since `properties` say that f is convex",
            f"f lies below by {in_brief(0.5 * found.value)} |y - x|^2",
            found.at,
            places(problem, "properties", "gradient"),
        )
    return "no chord lies below a tangent"


SEARCHES: Mapping[str, tuple[Callable[[Search], Iterator[Found]], str]] = MappingProxyType(
    {
        "D": (Search.diameter, "the distance of two members"),
        "L_f": (Search.gradients, "|grad f(x) - grad f(y)|/|x - y|"),
        "L_ms": (Search.mean_square, "sqrt(E_i |grad f_i(x) - grad f_i(y)|^2)/|x - y|"),
        "L_max": (Search.components, "|grad f_i(x) - grad f_i(y)|/|x - y|"),
        "L_mean": (
            Search.each_component,
            "the mean of the largest |grad f_i(x) - grad f_i(y)|/|x - y|",
        ),
        "L2_ms": (Search.hessians, "sqrt(E_i |(H_i(x) - H_i(y)) u|^2)/(|x - y| |u|)"),
        "sigma2": (Search.variance, "E_i |grad f_i(x) - grad f(x)|^2"),
        "delta": (Search.decrease, "f(start) - f(x), with the penalty if there is one,"),
        "M": (Search.largest_norm, "|x|"),
        "ell": (Search.lower, "2 (f(x) + <grad f(x), y - x> - f(y))/|y - x|^2"),
    }
)
"""What finds values of what each constant bounds, and what that is in words."""
