"""Checks of a penalty: its value and its proximal map."""

from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.checking.findings import (
    CheckFailed,
    CheckRunner,
    TimeLimit,
    format_brief,
    locate_methods,
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
        for _ in range(50):
            x = self.random_point_with_ties()
            before, h = x.copy(), float(self.penalty.value(x))
            if not lower <= h < np.inf:
                raise CheckFailed(
                    f"the penalty h(x) must be finite and at least {format_brief(lower)}",
                    "inf: a penalty cannot contain a constraint" if h == np.inf else f"{h}",
                    {"x": x},
                )
            if not np.array_equal(before, x):
                raise CheckFailed("value(x) must not change x", "value changes x", {"x": before})
        return f"finite, at least {format_brief(lower)}"

    def check_convexity(self) -> str:
        """Check that h is convex: h((1 - w) x + w y) <= (1 - w) h(x) + w h(y)."""
        h = self.penalty.value
        for _ in TimeLimit(_SECONDS).rounds(200):
            x = self.random_point_with_ties()
            y = self.random_point_with_ties()
            w = self.rng.uniform(0.1, 0.9)
            chord, middle = (1.0 - w) * h(x) + w * h(y), h((1.0 - w) * x + w * y)
            if not middle <= chord + _RELATIVE * (1.0 + abs(chord)):
                raise CheckFailed(
                    f"h((1 - w) x + w y) must be <= {format_brief(float(chord))}, as the penalty h "
                    "is convex",
                    format_brief(float(middle)),
                    {"x": x, "y": y, "w": float(w)},
                )
        return "no point lies above a chord"

    def check_prox_minimality(self) -> str:
        """Check that p = prox(y, t) minimises t h(x) + |x - y|^2/2.

        By strong convexity, the value at each x must exceed that at p by at least |x - p|^2/2.
        """
        h, looked = self.penalty.value, 0
        for _ in TimeLimit(_SECONDS).rounds(60):
            y, t = self.random_point_with_ties(), float(self.rng.choice([1e-3, 0.3, 1.0, 7.0]))
            p = self.penalty.prox(y.copy(), t)
            if np.shape(p) != self.shape:
                shapes = f"prox(y, t) must have shape {self.shape}", f"shape {np.shape(p)}"
                raise CheckFailed(*shapes, {"y": y, "t": t}, locate_methods(self.penalty, "prox"))
            lower = t * h(p) + 0.5 * norm(p - y) ** 2
            for x in self._competing_points(y, p):
                short = lower + 0.5 * norm(x - p) ** 2 - t * h(x) - 0.5 * norm(x - y) ** 2
                if not short <= 1e-9 * max(1.0, abs(lower), norm(y) ** 2):
                    raise CheckFailed(
                        "prox(y, t) must minimise t h(x) + |x - y|^2/2, where h is the penalty",
                        f"{format_brief(p)}; x is better by {format_brief(float(short))} than strong convexity allows",  # noqa: E501
                        {"y": y, "t": t, "x": x},
                    )
            looked += 1
        return f"no point x is better than prox(y, t) for {looked} points y"

    def _competing_points(self, y: Floats, p: Floats) -> list[Floats]:
        competing_points = [
            y,
            0.0 * y,
            self.random_point_with_ties(),
            0.5 * (y + p),
            2.0 * p - y,
            1.01 * p,
            0.99 * p,
        ]
        size = max(norm(p), norm(y), 1e-3)
        for step in (1e-1, 1e-3):
            competing_points += [
                p + step * size * self.rng.standard_normal(self.shape) for _ in range(4)
            ]
            for k in self.rng.permutation(p.size)[:6]:
                for sign in (-1.0, 1.0):
                    x = p.copy()
                    x.ravel()[k] += sign * step * size
                    competing_points.append(x)
        return competing_points

    def check_prox_copies_argument(self) -> str:
        """Check that prox leaves y unchanged and returns new arrays, and that prox(y, 0) = y."""
        for t in (0.0, 1e-3, 1.0):
            y = self.random_point_with_ties()
            before = y.copy()
            p = self.penalty.prox(y, t)
            if not np.array_equal(before, y):
                raise CheckFailed("prox must not change y", "prox changes y", {"y": before, "t": t})
            if np.shares_memory(p, y):
                raise CheckFailed("prox must return a new array", "prox(y) is y", {"y": y, "t": t})
            if t == 0.0 and not norm(p - y) <= _RELATIVE * norm(y):
                raise CheckFailed("prox(y, 0) must be y", format_brief(p), {"y": y})
        return "y stays unchanged; prox(y, 0) = y"

    def check_firmly_nonexpansive(self) -> str:
        """Check that |p - q|^2 <= <p - q, y - z> for p = prox(y, t) and q = prox(z, t)."""
        for _ in TimeLimit(_SECONDS).rounds(60):
            y, z = self.random_point_with_ties(), self.random_point_with_ties()
            p, q = self.penalty.prox(y.copy(), 0.5), self.penalty.prox(z.copy(), 0.5)
            excess = norm(p - q) ** 2 - float(np.vdot(p - q, y - z))
            if not excess <= _RELATIVE * (1.0 + norm(y) ** 2 + norm(z) ** 2):
                raise CheckFailed(
                    "|p - q|^2 must be <= <p - q, y - z>, with p = prox(y, 0.5), q = prox(z, 0.5)",
                    f"the left side is larger by {format_brief(excess)}",
                    {"y": y, "z": z},
                )
        return "|p - q|^2 <= <p - q, y - z> for all pairs"
