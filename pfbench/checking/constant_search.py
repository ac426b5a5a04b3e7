"""Search for counterexamples to the constants that a problem states.

A pair of points (or one point) at which a constant is too small disproves the constant. The search
tries random pairs over many scales. It then ascends along the direction in which gradients change
most, by a power iteration on the Hessian.
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
from pfbench.base.sample import Draws
from pfbench.base.state import Point
from pfbench.checking.findings import (
    CheckSkipped,
    TimeLimit,
    format_brief,
    require,
    skip_unless_offered,
)
from pfbench.checking.lines import (
    LineSegment,
    ProblemChecks,
    move_point_toward,
    norm,
    point_norm,
    value_as_float,
)
from pfbench.points import distance, keep

_SLACK = 1e-6
"""Relative amount by which a constant may be exceeded, for rounding in its computation."""

_ENTRIES = 4_000_000
"""Maximum number of stored entries of component gradients at one point."""

_ASCENT = 12

_FEWEST = 100
"""Minimum number of components queried at a point (all, if there are fewer), whatever the time."""

_OF_COMPONENTS = frozenset({"L_ms", "L_max", "L_mean", "L2_ms", "sigma2"})
"""Constants that are defined by the component gradients, not by f alone."""

_SIGMAS = 6.0
"""Number of standard errors that are subtracted from a mean over drawn components."""


@dataclass(frozen=True)
class Witness:
    """Value of the quantity that a constant bounds, and the points at which it has this value."""

    value: float
    arguments: Mapping[str, Any]


_NONE = Witness(-math.inf, MappingProxyType({}))


def _select_largest(witnesses: Iterable[Witness]) -> Witness:
    """Return the witness with the largest value."""
    return max(itertools.chain([_NONE], witnesses), key=lambda witness: witness.value)


Search = Callable[["ConstantSearch"], Iterator[Witness]]
"""Search for large values of the quantity that a constant bounds."""


class ConstantSearch(ProblemChecks):
    """Search for counterexamples: large values of the quantities that a problem's constants bound.

    The searches are listed in `SEARCHES`.
    """

    @cached_property
    def constants(self) -> Constants:
        """Constants that the problem states for its start point."""
        constants: Constants = self.problem.constants(self.problem.start())
        return constants

    def list_stated_constants(self) -> list[str]:
        """Return the names of the constants that the problem states and that a search can test."""
        # `SamplerChecks` has those of components for a sampler with infinitely many values.
        left_out = _OF_COMPONENTS if self._component_count is None else ()
        names = (name for name in SEARCHES if name not in left_out)
        return [name for name in names if math.isfinite(getattr(self.constants, name))]

    def compare_constant_with_search(self, name: str) -> str:
        """Return a text that compares a stated constant with the largest value that a search finds.

        Raise `CheckFailed` if the value exceeds the constant.
        """
        value = float(getattr(self.constants, name))
        search, meaning = SEARCHES[name]
        witness = _select_largest(search(self))
        excess = witness.value - value * (1.0 + _SLACK if value > 0.0 else 1.0)
        observed = format_brief(witness.value)
        derivation = self.constants.derivations.get(name, "")
        from_where = f" ({derivation})" if derivation else ""
        requirement = f"{meaning} must not exceed {name} = {format_brief(value)}{from_where}"
        is_kept = not excess > 1e-12 * max(1.0, abs(value))
        require(is_kept, requirement, observed, **witness.arguments)
        share = f", {witness.value / value:.3g} of it" if value > 0.0 else ""
        n: Any = self._component_count
        size = self._component_indices.size if name in _OF_COMPONENTS else n
        few = f" (from {size} of {n} components)" if n is not None and size < n else ""
        return f"stated: {format_brief(value)}; largest value found: {observed}{share}{few}"

    def check_convexity(self) -> str:
        """Check that f lies above its tangents, if the problem declares f convex."""
        problem = self.problem
        if "convex" not in problem.properties:
            raise CheckSkipped("the problem's `properties` do not contain convex")
        witness = _select_largest(self.lower_curvatures())
        allowed = 1e-9 * max(1.0, abs(value_as_float(problem, problem.start())))
        needed = "f(y) must be >= f(x) + <gradient(x), y - x>, as `properties` say that f is convex"
        observed = f"f(y) is less, by {format_brief(0.5 * witness.value)} |y - x|^2"
        require(not witness.value > allowed, needed, observed, **witness.arguments)
        return "f lies nowhere below a tangent"

    # --- smoothness -------------------------------------------------------------------------------

    def gradient_change_ratios(self) -> Iterator[Witness]:
        """Yield the largest value found of |grad f(x) - grad f(y)|/|x - y|."""
        yield from self._ascent(self.problem.gradient, 1.0)

    def component_change_ratios(self) -> Iterator[Witness]:
        """Yield values of |grad f_i(x) - grad f_i(y)|/|x - y| for several pairs and components."""
        problem = self.problem
        skip_unless_offered(problem, "batch")
        yield from self._ascent(problem.gradient, 0.2)
        chosen: dict[int, float] = {}
        for x, y in self._pairs(30, self.seconds_per_check / 2.0):
            changes = self._component_gradients(x) - self._component_gradients(y)
            sizes = np.sqrt((changes**2).sum(axis=1))
            worst = int(np.argmax(sizes))
            i = int(self._component_indices[worst])
            ratio = self._ratio_without_rounding(float(sizes[worst]), x, y)
            yield Witness(ratio, {"x": x, "y": y, "i": i})
            chosen[worst] = max(chosen.get(worst, 0.0), ratio)
        for k in sorted(chosen, key=chosen.__getitem__, reverse=True)[:3]:
            component = partial(problem.batch, self._single_component_sample(k))
            witness = _select_largest(self._ascent(component, 0.1))
            i = int(self._component_indices[k])
            yield Witness(witness.value, {**witness.arguments, "i": i})

    def mean_of_largest_component_ratios(self) -> Iterator[Witness]:
        """Yield the mean over components of their largest |grad f_i(x) - grad f_i(y)|/|x - y|.

        Raises
        ------
        CheckFailed
            If the problem states a smaller constant L_i of a component.
        """
        skip_unless_offered(self.problem, "batch")
        largest, problem, pair = np.zeros(self._component_indices.size), self.problem, {}
        for x, y in self._pairs(30, 0.5 * self.seconds_per_check):
            changes = self._component_gradients(x) - self._component_gradients(y)
            sizes = np.linalg.norm(changes, axis=1).tolist()
            ratios = [self._ratio_without_rounding(size, x, y) for size in sizes]
            largest, pair = np.maximum(largest, ratios), {"x": x, "y": y}
        if "component_smoothness" not in problem.lacks:
            limits = problem.component_smoothness()[self._component_indices]
            for k in np.argsort(largest / np.maximum(limits, 1e-300))[::-1][:3].tolist():
                indices = self._component_indices[k : k + 1]
                witness = _select_largest(self._ascent(partial(problem.batch, indices), 0.1))
                largest[k] = max(largest[k], witness.value)
                brief = f"{format_brief(float(limits[k]))}, the smoothness stated for component i"
                require(
                    largest[k] <= limits[k] * (1.0 + _SLACK),
                    f"{SEARCHES['L_max'][1]} must not exceed {brief} = {int(indices[0])}",
                    format_brief(float(largest[k])),
                    **witness.arguments,
                )
        yield Witness(self._mean_or_lower_limit(largest), pair)

    def mean_square_change_ratios(self) -> Iterator[Witness]:
        """Yield values of sqrt(E_i |grad f_i(x) - grad f_i(y)|^2)/|x - y| for several pairs."""
        skip_unless_offered(self.problem, "batch")
        yield from self._ascent(self.problem.gradient, 0.2)  # at most the one in mean square
        patience = TimeLimit(0.8 * self.seconds_per_check)
        for _ in patience.rounds(6):
            x = self.space.random_member()
            y = self.space.sample_near(x)
            for _ in patience.rounds(_ASCENT):
                changes = self._component_gradients(x) - self._component_gradients(y)
                root = math.sqrt(self._mean_or_lower_limit((changes**2).sum(axis=1)))
                yield Witness(self._ratio_without_rounding(root, x, y), {"x": x, "y": y})
                if root == 0.0 or not self.space.dense:
                    y = self.space.sample_near(x)
                    continue
                y = self.space.sample_member_toward(
                    x, self._power_iteration_product(x, changes, root)
                )

    def _power_iteration_product(self, x: Floats, changes: Floats, root: float) -> Floats:
        """Return the next vector of a power iteration on the mean of squared component Hessians.

        The vector is the sum of H_i w_i for w_i = H_i u, not normalised. H_i is the Hessian of
        component i at x, and `changes` contains multiples of the w_i.
        """
        u = np.zeros(x.shape)
        h = 1e-4 * self.space.scale / root
        at_x = self._component_gradients(x)
        for k in TimeLimit(0.2 * self.seconds_per_check).rounds(len(at_x)):
            w = changes[k].reshape(x.shape)
            if w.any():
                batch = self.problem.batch(self._single_component_sample(k), x + h * w)
                u = u + (np.ravel(batch) - at_x[k]).reshape(x.shape)
        return u

    def hessian_change_ratios(self) -> Iterator[Witness]:
        """Yield sqrt(E_i |(H_i(x) - H_i(y)) u|^2)/(|x - y| |u|) for component Hessians H_i."""
        skip_unless_offered(self.problem, "hessian")
        skip_unless_offered(self.problem, "batch")
        for x, y in self._pairs(40, self.seconds_per_check):
            far, line = distance(x, y), LineSegment(x, self.space.random_member())
            if self.space.rng.integers(2):
                line = LineSegment(x, y)
            H, K = self.problem.hessian(keep(x)), self.problem.hessian(keep(y))
            squares = []
            for k in range(len(self._component_indices)):
                indices = self._component_indices[k : k + 1]
                change = H.batch(indices, line.y, line.x) - K.batch(indices, line.y, line.x)
                squares.append(norm(change) ** 2)
            scale = far * line.length
            if scale > 0.0:
                root = math.sqrt(self._mean_or_lower_limit(np.array(squares)))
                noise = 1e-13 * norm(H.product(line.y, line.x)) / scale
                yield Witness(root / scale - noise, {"x": x, "y": y, "u": line.y})

    def lower_curvatures(self) -> Iterator[Witness]:
        """Yield values of the lower curvature -2 (f(y) - f(x) - <grad f(x), y - x>)/|y - x|^2."""
        problem = self.problem
        usual = self._pairs(100, 0.5 * self.seconds_per_check)
        for x, y in itertools.chain(self._pairs_with_negative_curvature(), usual):
            line = LineSegment(x, y)
            if line.length > 0.0:
                at_x, at_y = value_as_float(problem, keep(x)), value_as_float(problem, keep(y))
                fall = at_x + line.directional_derivative(problem.gradient(keep(x))) - at_y
                noise = 1e-14 * (abs(at_x) + abs(at_y))
                yield Witness(2.0 * (fall - noise) / line.length**2, {"x": x, "y": y})

    def _pairs_with_negative_curvature(self) -> Iterator[tuple[Point, Point]]:
        """Yield pairs of points between which f has a very negative curvature.

        Power iterations on L I - H find the direction, where H is the Hessian.
        """
        if not self.space.dense:
            return
        problem, patience = self.problem, TimeLimit(0.5 * self.seconds_per_check)
        for _ in patience.rounds(8):
            x = self.space.random_member()
            y, L = self.space.sample_near(x), 0.0
            for _ in patience.rounds(2 * _ASCENT):
                change = problem.gradient(keep(y)) - problem.gradient(keep(x))
                far = distance(x, y)
                if far == 0.0:
                    break
                L = max(L, norm(change) / far)
                yield x, y
                y = self.space.sample_member_toward(x, L * (y - x) - change)

    def variance(self) -> Iterator[Witness]:
        """Yield the largest value found of E_i |grad f_i(x) - grad f(x)|^2."""
        skip_unless_offered(self.problem, "batch")
        best, space = _NONE, self.space
        for k in TimeLimit(self.seconds_per_check).rounds(100):
            x = space.start() if k == 0 else space.random_member()
            if not space.is_bounded and k % 3 == 1:
                x = x * 10.0 ** space.rng.uniform(0.0, 2.0)
            elif k % 3 == 1:
                x = move_point_toward(x, space.vertex(), 1.0)
            elif k % 3 == 2 and space.is_bounded:
                share = 10.0 ** space.rng.uniform(-2.0, 0.0)
                x = move_point_toward(best.arguments["x"], space.vertex(), share)
            mean = np.ravel(self.problem.gradient(keep(x)))
            squares = ((self._component_gradients(x) - mean) ** 2).sum(axis=1)
            best = _select_largest([best, Witness(self._mean_or_lower_limit(squares), {"x": x})])
        yield best

    # --- the set and the start --------------------------------------------------------------------

    def member_distances(self) -> Iterator[Witness]:
        """Yield distances between two points of the feasible set."""
        skip_unless_offered(self.problem, "lo")
        start, space = self.space.start(), self.space
        for _ in TimeLimit(self.seconds_per_check).rounds(12):
            g = space.random_gradient()
            for _ in range(4):
                v, w = (move_point_toward(start, space.vertex(item), 1.0) for item in (g, -g))
                yield Witness(distance(v, w), {"v": v, "w": w})
                if not space.dense:
                    break
                g = w - v

    def member_norms(self) -> Iterator[Witness]:
        """Yield norms of points of the feasible set."""
        skip_unless_offered(self.problem, "lo")
        space = self.space
        for k in TimeLimit(self.seconds_per_check).rounds(40):
            x = space.start() if k == 0 else space.random_member()
            if k:
                x = move_point_toward(x, space.vertex(-x if space.dense and k % 2 else None), 1.0)
            yield Witness(point_norm(x), {"x": x})

    def objective_decreases(self) -> Iterator[Witness]:
        """Yield decreases of the objective (f plus penalty) from the start to later iterates."""
        problem, h = self.problem, self.problem.penalty

        def objective(x: Point) -> float:
            return value_as_float(problem, keep(x)) + (0.0 if h is None else float(h.value(x)))

        first = objective(problem.start())
        for x in self._descent_iterates():
            yield Witness(first - objective(x), {"x": x})

    def _descent_iterates(self) -> Iterator[Point]:
        """Yield the iterates of a descent method: Frank-Wolfe, or (proximal) gradient steps."""
        problem, x = self.problem, self.problem.start()
        L = self.constants.L_f
        lam = 1.0 / L if 0.0 < L < math.inf else 1.0
        for _ in TimeLimit(self.seconds_per_check).rounds(100):
            g = problem.gradient(x)
            if self.space.is_bounded:
                v, x = self.space.vertex(g), keep(x)
                steps = [x, *(move_point_toward(x, v, 0.5**k) for k in range(12))]
                x = min(steps, key=partial(value_as_float, problem))
            else:
                x = x - lam * g if problem.penalty is None else problem.prox(x, g, lam)
            yield x

    # --- what the searches share ------------------------------------------------------------------

    def _pairs(self, limit: int, seconds: float) -> Iterator[tuple[Point, Point]]:
        for _ in TimeLimit(seconds).rounds(limit):
            x = self.space.random_member()
            yield keep(x), keep(self.space.sample_near(x))

    def _ascent(self, gradient: Callable[[Point], Any], share: float) -> Iterator[Witness]:
        """Yield ratios |g(x) - g(y)|/|x - y| of a gradient g, which ascend from random points."""
        space, patience = self.space, TimeLimit(share * self.seconds_per_check)
        for _ in patience.rounds(12):
            x = space.random_member()
            y = space.sample_near(x)
            for _ in range(_ASCENT):
                change = gradient(keep(y)) - gradient(keep(x))
                yield Witness(self._ratio_without_rounding(norm(change), x, y), {"x": x, "y": y})
                if not change.any() or patience.is_over:
                    break
                y = space.sample_member_toward(x, change)

    def _ratio_without_rounding(self, change: float, x: Point, y: Point) -> float:
        """Return (change - e)/|x - y|, where e bounds the rounding error of `change`."""
        far = distance(x, y)
        if far == 0.0:
            return -math.inf
        noise = 1e-14 * (norm(self.problem.gradient(keep(x))) + change)
        return (change - noise) / far

    @cached_property
    def _component_count(self) -> int | None:
        """Number of components, or of the values of a sampler; None if it has infinitely many."""
        atoms = self.problem.atoms if self.problem.n is None else None
        return self.problem.n if atoms is None else len(atoms.probabilities)

    def _single_component_sample(self, k: int) -> Any:
        """Return a sample of searched component k alone, or of value k of a sampler."""
        if self.problem.n is None:
            return Draws(self.problem.atoms.values[k : k + 1], 1)
        return self._component_indices[k : k + 1]

    @cached_property
    def _component_indices(self) -> Integers:
        """Indices of all components, or of as many random ones as time allows.

        For a sampler, they are those of all values.
        """
        if self.problem.n is None:
            return np.arange(len(self.problem.atoms.probabilities))
        n, x = self.problem.n, self.space.random_member()
        size = int(np.size(self.problem.gradient(keep(x))))
        few = min(n, 20)
        self.problem.batch(np.arange(1), keep(x))  # it may load compiled loops
        began = thread_time()
        for k in range(few):
            self.problem.batch(np.array([k]), keep(x))
        each = max((thread_time() - began) / few, 1e-9)
        number_in_time = int(0.1 * self.seconds_per_check / each)
        max_count = max(_FEWEST, min(_ENTRIES // size, number_in_time))
        return np.arange(n) if n <= max_count else self.space.rng.integers(n, size=max_count)

    def _component_gradients(self, x: Point) -> Floats:
        """Return the gradients of the components in `_component_indices` at x, one in each row."""
        request = keep(x)
        samples = map(self._single_component_sample, range(self._component_indices.size))
        return np.array([np.ravel(self.problem.batch(sample, request)) for sample in samples])

    def _mean_or_lower_limit(self, squares: Floats) -> float:
        """Return the mean of `squares`, or a lower confidence limit if components were sampled."""
        if self.problem.n is None:
            return float(self.problem.atoms.probabilities @ squares)
        mean, m = float(squares.mean()), squares.size
        if m == self.problem.n:
            return mean
        return max(0.0, mean - _SIGMAS * float(squares.std()) / math.sqrt(m))


SEARCHES: Mapping[str, tuple[Search, str]] = MappingProxyType(
    {
        "D": (ConstantSearch.member_distances, "the distance between two members"),
        "L_f": (ConstantSearch.gradient_change_ratios, "|grad f(x) - grad f(y)|/|x - y|"),
        "L_ms": (
            ConstantSearch.mean_square_change_ratios,
            "sqrt(E_i |grad f_i(x) - grad f_i(y)|^2)/|x - y|",
        ),
        "L_max": (ConstantSearch.component_change_ratios, "|grad f_i(x) - grad f_i(y)|/|x - y|"),
        "L_mean": (
            ConstantSearch.mean_of_largest_component_ratios,
            "the mean over i of the largest |grad f_i(x) - grad f_i(y)|/|x - y|",
        ),
        "L2_ms": (
            ConstantSearch.hessian_change_ratios,
            "sqrt(E_i |(H_i(x) - H_i(y)) u|^2)/(|x - y| |u|)",
        ),
        "sigma2": (ConstantSearch.variance, "E_i |grad f_i(x) - grad f(x)|^2"),
        "delta": (
            ConstantSearch.objective_decreases,
            "the decrease of f (plus penalty) from the start to x",
        ),
        "M": (ConstantSearch.member_norms, "|x|"),
        "ell": (ConstantSearch.lower_curvatures, "2 (f(x) + <grad f(x), y - x> - f(y))/|y - x|^2"),
    }
)
"""For each constant: the search for a counterexample, and the quantity that the constant bounds."""
