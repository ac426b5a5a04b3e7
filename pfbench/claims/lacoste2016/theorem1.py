"""Theorem 1 of lacoste2016, and (9), what a step takes off f at least."""

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pfbench.base.protocols import Asked, Gradient, Point
from pfbench.claims.lacoste2016.faulty import Faulty
from pfbench.claims.lacoste2016.steps import curvature_of
from pfbench.points import combine, keep
from pfbench.verification import Claim, Mutant, instance
from pfbench.verification.instruments.changed import Changed
from pfbench.verification.instruments.indefinite import Indefinite, random_on_simplex
from pfbench.verification.stating.bound import bound
from pfbench.verification.stating.mean_along import gap as gap_at
from pfbench.verification.units import VALUE, formula

_STEPS = 30
"""Steps that are looked at, of a method that goes on too."""

# --- the bounds -----------------------------------------------------------------------------------


class Known(NamedTuple):
    """A C >= C_f of a problem, and its h0."""

    C: float
    h0: float


def known(problem: Indefinite) -> Known:
    """Return what the bounds take."""
    return Known(curvature_of(problem), problem.value(problem.begin) - problem.least)


def decrease(gap: float, C: float) -> float:
    """Return min{g^2/(2C), g - (C/2) [g > C]}, what a step takes off f at least (9)."""
    return min(gap * gap / (2.0 * C), gap - (C / 2.0 if gap > C else 0.0))


def whole(c: Known, a: Any, t: int) -> float:
    """Return 1, the bound of a share."""
    return 1.0


def least_gap(c: Known, a: Any, t: int) -> float:
    """Return max{2 h0, C}/sqrt(t+1), the bound of the least gap up to t (theorem 1, (6))."""
    return max(2.0 * c.h0, c.C) / math.sqrt(t + 1.0)


def sharp_least_gap(c: Known, a: Any, t: int) -> float:
    """Return the sharper bound (15): h0/(t+1) + C/2 while t+1 <= 2 h0/C, else as (6)."""
    h0, C = c.h0, c.C
    if t + 1.0 <= 2.0 * h0 / C:
        return h0 / (t + 1.0) + C / 2.0
    return math.sqrt(2.0 * h0 * C / (t + 1.0))


# --- instances ------------------------------------------------------------------------------------


def quadratic(rng: np.random.Generator, d: int, slope: float) -> Indefinite:
    """Return a random non-convex quadratic on the simplex of d vertices, from the highest.

    On two vertices (9) and (15) are reached exactly; the slope, the size of the linear part, takes
    h0 from far below C to far above.
    """
    return random_on_simplex(rng, d, slope)


QUADRATICS = tuple(
    instance(quadratic, d=d, slope=slope) for d in (2, 3, 4, 6) for slope in (0.3, 1.0, 3.0)
)


# --- the checks -----------------------------------------------------------------------------------


def with_rule(c: Known, *, rule: str) -> dict[str, Any]:
    """Return the parameters of a run."""
    return {"step": rule, "curvature": c.C, "iterations": _STEPS}


def share_gained(problem: Indefinite, x: Any, y: Any) -> float:
    """Return what (9) promises of a step over what it gains, up to 1e-14 of the size of f."""
    size = 1e-14 * (1.0 + abs(problem.least) + problem.value(problem.begin))
    promised = decrease(gap_at(problem, x), curvature_of(problem))
    gained = problem.decrease(x, y) + size
    return promised / gained if gained > 0.0 else math.inf


_on_quadratics = partial(
    bound,
    parameters={rule: partial(with_rule, rule=rule) for rule in ("adaptive", "line-search")},
    constants=known,
    runs=(4, 20),
    pooled=True,
)

# --- the claims -----------------------------------------------------------------------------------

_claim = partial(
    Claim,
    instances=QUADRATICS,
    algorithm="frank-wolfe",
    assumptions=("C_f finite",),
    schedule="step = adaptive (option II) and line-search (option I)",
    takes=(0.7, 8.0),
)

DESCENT = _claim(
    name="lacoste2016-descent",
    source="lacoste2016 (9)",
    statement="every step: f(x+) <= f(x) - min{g^2/(2C), g - (C/2) [g > C]}",
    check=_on_quadratics(whole, share_gained, over="step"),
    formulas=(formula(decrease, VALUE, gap=VALUE),),
)

THEOREM1 = _claim(
    name="lacoste2016-thm1",
    source="lacoste2016 theorem 1, (6) and (15)",
    statement=(
        "min over k <= t of g_k <= max{2 h0, C}/sqrt(t+1), and <= h0/(t+1) + C/2 while "
        "t+1 <= 2 h0/C, else sqrt(2 h0 C/(t+1))"
    ),
    check=_on_quadratics({"(6)": least_gap, "(15)": sharp_least_gap}, gap_at, over="least"),
    units={"of": VALUE},
)

CLAIMS = (DESCENT, THEOREM1)


# --- planted faults -------------------------------------------------------------------------------


class StaleGradient(Faulty):
    """Minimises the gradient of the iteration before."""

    def direction(self, history: list[Gradient]) -> Gradient:
        """Return the last but one."""
        return history[-2] if len(history) > 1 else history[-1]


class WrongSign(Faulty):
    """Minimises minus the gradient."""

    def direction(self, history: list[Gradient]) -> Gradient:
        """Return minus the last."""
        return -history[-1]


class MeanGradient(Faulty):
    """Minimises the mean of all gradients so far."""

    def direction(self, history: list[Gradient]) -> Gradient:
        """Return the mean."""
        return np.asarray(np.mean(history, axis=0))


class DoubleStep(Faulty):
    """Takes the step 2g/C: the half of the quadratic bound is forgotten."""

    def _short_step(self, gap: float) -> float:
        return min(2.0 * max(gap, 0.0) / (self.curvature or 1.0), 1.0)


class Unclipped(Faulty):
    """Takes the step g/C without the minimum with 1."""

    def _short_step(self, gap: float) -> float:
        return gap / (self.curvature or 1.0)


class AlwaysOpenLoop(Faulty):
    """Takes 2/(t+2) whatever step rule is asked for."""

    def weight(self, ask: Asked, t: int, x: Point, v: Point, gap: float) -> float:
        """Return 2/(t+2)."""
        return 2.0 / (t + 2.0)


class HalfSearch(Faulty):
    """Searches [0, 1/2] instead of [0, 1]."""

    def _line_search(self, ask: Asked, x: Point, v: Point, gap: float) -> float:
        return 0.5 * super()._line_search(ask, x, combine(keep(x), v, 0.5), gap / 2.0)


class LooseMinimisation(Changed):
    """A problem whose LO minimises a gradient that is rounded to one digit."""

    def lo(self, g: Gradient) -> Point:
        """Return the vertex for g, rounded to multiples of a third of its largest entry."""
        size = float(np.abs(g).max()) / 3.0
        found: Point = self._right.lo(np.round(g / size) if size > 0.0 else g)
        return found


MUTANTS = (
    Mutant.of("frank-wolfe-stale-gradient", StaleGradient, DESCENT),
    Mutant.of("frank-wolfe-wrong-sign", WrongSign, DESCENT, THEOREM1),
    Mutant.of("frank-wolfe-mean-gradient", MeanGradient, DESCENT),
    Mutant.of("frank-wolfe-double-step", DoubleStep, DESCENT),
    Mutant.of("frank-wolfe-unclipped", Unclipped, DESCENT, THEOREM1),
    Mutant.of("frank-wolfe-always-open-loop", AlwaysOpenLoop, DESCENT),
    Mutant.of("frank-wolfe-half-search", HalfSearch, DESCENT),
    Mutant.answering("frank-wolfe-loose-minimisation", LooseMinimisation, DESCENT),
)
