"""Checks of a penalty: its value and its proximal map."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.checking.findings import (
    CheckFailed,
    CheckRunner,
    TimeLimit,
    format_brief,
    locate_methods,
    require,
)
from pfbench.checking.lines import norm

_SECONDS = 0.5
_RELATIVE = 1e-9


def check_penalty(penalty: Any, shape: tuple[int, ...], runner: CheckRunner) -> None:
    """Check the value and the proximal map of a penalty at random points of a given shape."""
    checks = PenaltyChecks(penalty, shape)
    for check, point, methods in (
        ("value", checks.check_value_bounds, ("value",)),
        ("convex", checks.check_convexity, ("value",)),
        ("proximal map", checks.check_prox_minimality, ("prox", "value")),
        ("proximal map leaves y unchanged", checks.check_prox_copies_argument, ("prox",)),
        ("proximal map is firmly nonexpansive", checks.check_firmly_nonexpansive, ("prox",)),
    ):
        runner.run_check(check, point, locations=locate_methods(penalty, *methods))


class PenaltyChecks:
    """Checks of a penalty h at random points of many sizes."""

    def __init__(self, penalty: Any, shape: tuple[int, ...]) -> None:
        self.penalty, self.shape = penalty, shape
        self.rng = np.random.default_rng(17)

    def random_point_with_ties(self) -> Floats:
        """Return a random point, whose entries may be 0 or have equal absolute values."""
        rng = self.rng
        if rng.integers(3) == 0:
            return rng.integers(-2, 3, size=self.shape).astype(float)
        return np.asarray(10.0 ** rng.uniform(-2.0, 1.0) * rng.standard_normal(self.shape))

    def check_value_bounds(self) -> str:
        """Check that `value` is finite, at least the stated lower bound, and does not change x."""
        lower = getattr(self.penalty, "lower_bound", 0.0)
        requirement = f"the penalty h(x) must be finite and at least {format_brief(lower)}"
        for _ in range(50):
            x = self.random_point_with_ties()
            before, h = x.copy(), float(self.penalty.value(x))
            observed = "inf: a penalty cannot contain a constraint" if h == np.inf else f"{h}"
            require(lower <= h < np.inf, requirement, observed, x=x)
            is_same = np.array_equal(before, x)
            require(is_same, "value(x) must not change x", "value changes x", x=before)
        return f"finite, at least {format_brief(lower)}"

    def check_convexity(self) -> str:
        """Check that h is convex: h((1 - w) x + w y) <= (1 - w) h(x) + w h(y)."""
        h = self.penalty.value
        for _ in TimeLimit(_SECONDS).rounds(200):
            x, y = self.random_point_with_ties(), self.random_point_with_ties()
            w = float(self.rng.uniform(0.1, 0.9))
            chord = float((1.0 - w) * h(x) + w * h(y))
            middle = float(h((1.0 - w) * x + w * y))
            chord_text = format_brief(chord)
            requirement = f"h((1 - w) x + w y) must be <= {chord_text}, as the penalty h is convex"
            is_below = middle <= chord + _RELATIVE * (1.0 + abs(chord))
            require(is_below, requirement, format_brief(middle), x=x, y=y, w=w)
        return "no point lies above a chord"

    def check_prox_minimality(self) -> str:
        """Check that p = prox(y, t) minimises t h(x) + |x - y|^2/2."""
        h, looked = self.penalty.value, 0
        blamed = locate_methods(self.penalty, "prox")
        for _ in TimeLimit(_SECONDS).rounds(60):
            y, t = self.random_point_with_ties(), float(self.rng.choice([1e-3, 0.3, 1.0, 7.0]))
            p = self.penalty.prox(y.copy(), t)
            if np.shape(p) != self.shape:
                shapes = f"prox(y, t) must have shape {self.shape}", f"shape {np.shape(p)}"
                raise CheckFailed(*shapes, {"y": y, "t": t}, blamed)

            def objective(x: Floats, y: Floats = y, t: float = t) -> float:
                return t * float(h(x)) + 0.5 * norm(x - y) ** 2

            for x in self._competing_points(y, p):
                short = advantage_beyond_strong_convexity(objective, p, x)
                require(
                    short <= _RELATIVE * max(1.0, abs(objective(p)), norm(y) ** 2),
                    "prox(y, t) must minimise t h(x) + |x - y|^2/2, where h is the penalty",
                    f"{format_brief(p)}; x is better by {format_brief(short)} than strong "
                    "convexity allows",
                    **{"y": y, "t": t, "x": x},
                )
            looked += 1
        return f"no point x is better than prox(y, t) for {looked} points y"

    def _competing_points(self, y: Floats, p: Floats) -> list[Floats]:
        random = self.random_point_with_ties()
        points = [y, 0.0 * y, random, 0.5 * (y + p), 2.0 * p - y, 1.01 * p, 0.99 * p]
        size = max(norm(p), norm(y), 1e-3)
        for step in (1e-1, 1e-3):
            points += [p + step * size * self.rng.standard_normal(self.shape) for _ in range(4)]
            for k in self.rng.permutation(p.size)[:6]:
                unit = np.eye(1, p.size, k).reshape(self.shape)
                points += [p + sign * step * size * unit for sign in (-1.0, 1.0)]
        return points

    def check_prox_copies_argument(self) -> str:
        """Check that prox leaves y unchanged and returns new arrays, and that prox(y, 0) = y."""
        for t in (0.0, 1e-3, 1.0):
            y = self.random_point_with_ties()
            before = y.copy()
            p = self.penalty.prox(y, t)
            is_same = np.array_equal(before, y)
            require(is_same, "prox must not change y", "prox changes y", y=before, t=t)
            is_new = not np.shares_memory(p, y)
            require(is_new, "prox must return a new array", "prox(y) is y", y=y, t=t)
            is_identity = t > 0.0 or norm(p - y) <= _RELATIVE * norm(y)
            require(is_identity, "prox(y, 0) must be y", format_brief(p), y=y)
        return "y stays unchanged; prox(y, 0) = y"

    def check_firmly_nonexpansive(self) -> str:
        """Check that |p - q|^2 <= <p - q, y - z> for p = prox(y, t) and q = prox(z, t)."""
        for _ in TimeLimit(_SECONDS).rounds(60):
            y, z = self.random_point_with_ties(), self.random_point_with_ties()
            p, q = self.penalty.prox(y.copy(), 0.5), self.penalty.prox(z.copy(), 0.5)
            excess = norm(p - q) ** 2 - float(np.vdot(p - q, y - z))
            allowed = _RELATIVE * (1.0 + norm(y) ** 2 + norm(z) ** 2)
            needed = "|p - q|^2 must be <= <p - q, y - z>, with p = prox(y, 0.5), q = prox(z, 0.5)"
            observed = f"the left side is larger by {format_brief(excess)}"
            require(excess <= allowed, needed, observed, y=y, z=z)
        return "|p - q|^2 <= <p - q, y - z> for all pairs"


def advantage_beyond_strong_convexity(
    objective: Callable[[Floats], float], p: Floats, x: Floats
) -> float:
    """Return the amount by which x is better than strong convexity around a minimiser p allows.

    The value at each x must exceed that at p by at least |x - p|^2/2. The result is positive
    beyond rounding only if p is not the minimiser of `objective`, which is 1-strongly convex.
    """
    return objective(p) + 0.5 * norm(x - p) ** 2 - objective(x)
