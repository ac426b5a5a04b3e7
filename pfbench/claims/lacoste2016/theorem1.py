"""Theorem 1 of lacoste2016, and (9), a lower bound on the decrease of f in a step."""

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pfbench.base.protocols import Gradient, Point
from pfbench.verification import Claim, Mutant, make_instance
from pfbench.verification.instruments.indefinite import (
    IndefiniteQuadratic,
    curvature_bound,
    random_on_simplex,
)
from pfbench.verification.instruments.overrides import OverriddenOracles
from pfbench.verification.statements.bound import bound
from pfbench.verification.statements.path_mean import gap as gap_at
from pfbench.verification.units import VALUE, formula

_STEPS = 30
"""Number of compared steps; a method that continues is stopped there."""

# --- the bounds -----------------------------------------------------------------------------------


class CurvatureAndSuboptimality(NamedTuple):
    """Curvature bound C >= C_f of a problem, and initial suboptimality h0 = f(x_0) - min f."""

    C: float
    h0: float


def instance_constants(problem: IndefiniteQuadratic) -> CurvatureAndSuboptimality:
    """Return the curvature bound C and h0 = f(x_0) - min f of a problem, which the bounds need."""
    return CurvatureAndSuboptimality(
        curvature_bound(problem), problem.value(problem.start_point) - problem.minimum_value
    )


def min_decrease(gap: float, C: float) -> float:
    """Return the least decrease of f in a step, by (9) of lacoste2016, from the Frank-Wolfe gap.

    It is min{g^2/(2C), g - (C/2) [g > C]}, where g is `gap`.
    """
    return min(gap * gap / (2.0 * C), gap - (C / 2.0 if gap > C else 0.0))


def unit_bound_of_decrease_ratio(c: CurvatureAndSuboptimality, a: Any, t: int) -> float:
    """Return 1, the bound of the decrease that (9) of lacoste2016 promises over the actual one."""
    return 1.0


def min_gap_bound(c: CurvatureAndSuboptimality, a: Any, t: int) -> float:
    """Return max{2 h0, C}/sqrt(t+1), lacoste2016's bound (6) on the smallest gap up to step t."""
    return max(2.0 * c.h0, c.C) / math.sqrt(t + 1.0)


def sharper_min_gap_bound(c: CurvatureAndSuboptimality, a: Any, t: int) -> float:
    """Return the bound (15) of lacoste2016 on the smallest gap up to step t, sharper than (6).

    The bound is h0/(t+1) + C/2 while t+1 <= 2 h0/C, and sqrt(2 h0 C/(t+1)) for larger t.
    """
    h0, C = c.h0, c.C
    if t + 1.0 <= 2.0 * h0 / C:
        return h0 / (t + 1.0) + C / 2.0
    return math.sqrt(2.0 * h0 * C / (t + 1.0))


# --- instances ------------------------------------------------------------------------------------


def quadratic(rng: np.random.Generator, d: int, slope: float) -> IndefiniteQuadratic:
    """Return a random non-convex quadratic on the simplex, from the vertex with the largest f.

    With d = 2 vertices, the bounds (9) and (15) are attained exactly. `slope` is the size of the
    linear part: the tested sizes give h0 far below C and far above C.
    """
    return random_on_simplex(rng, d, slope)


QUADRATICS = tuple(
    make_instance(quadratic, d=d, slope=slope) for d in (2, 3, 4, 6) for slope in (0.3, 1.0, 3.0)
)


# --- the checks -----------------------------------------------------------------------------------


def rule_parameters(c: CurvatureAndSuboptimality, *, rule: str) -> dict[str, Any]:
    """Return the parameters of a run with a step rule: `step`, `curvature` and `iterations`."""
    return {"step": rule, "curvature": c.C, "iterations": _STEPS}


def ratio_of_promised_to_actual_decrease(problem: IndefiniteQuadratic, x: Any, y: Any) -> float:
    """Return the decrease of f that (9) of lacoste2016 promises at x, divided by f(x) - f(y).

    A rounding error of 1e-14 of the size of f is added to the actual decrease.
    """
    size = 1e-14 * (1.0 + abs(problem.minimum_value) + problem.value(problem.start_point))
    promised = min_decrease(gap_at(problem, x), curvature_bound(problem))
    gained = problem.decrease(x, y) + size
    return promised / gained if gained > 0.0 else math.inf


_on_quadratics = partial(
    bound,
    parameters={rule: partial(rule_parameters, rule=rule) for rule in ("adaptive", "line-search")},
    constants=instance_constants,
    runs=(4, 20),
    is_pooled=True,
)

# --- the claims -----------------------------------------------------------------------------------

_claim = partial(
    Claim,
    instances=QUADRATICS,
    algorithm="frank-wolfe",
    assumptions=("C_f finite",),
    schedule="step = adaptive (option II) and line-search (option I)",
    expected_seconds=(0.7, 8.0),
)

DESCENT = _claim(
    name="lacoste2016-descent",
    source="lacoste2016 (9)",
    statement="every step: f(x+) <= f(x) - min{g^2/(2C), g - (C/2) [g > C]}",
    check=_on_quadratics(
        unit_bound_of_decrease_ratio, ratio_of_promised_to_actual_decrease, statistic="step"
    ),
    formulas=(formula(min_decrease, VALUE, gap=VALUE),),
)

THEOREM1 = _claim(
    name="lacoste2016-thm1",
    source="lacoste2016 theorem 1, (6) and (15)",
    statement=(
        "min over k <= t of g_k <= max{2 h0, C}/sqrt(t+1), and <= h0/(t+1) + C/2 while "
        "t+1 <= 2 h0/C, else sqrt(2 h0 C/(t+1))"
    ),
    check=_on_quadratics(
        {"(6)": min_gap_bound, "(15)": sharper_min_gap_bound}, gap_at, statistic="least"
    ),
    units={"of": VALUE},
)

CLAIMS = (DESCENT, THEOREM1)


# --- planted faults -------------------------------------------------------------------------------


class FaultyRoundedLO(OverriddenOracles):
    """Faulty linear minimisation that uses a coarsely rounded gradient."""

    def lo(self, g: Gradient) -> Point:
        """Return the vertex that minimises <g, v>, g rounded to thirds of its largest entry."""
        size = float(np.abs(g).max()) / 3.0
        result: Point = self._original.lo(np.round(g / size) if size > 0.0 else g)
        return result


MUTANTS = (Mutant.from_oracles("frank-wolfe-loose-minimisation", FaultyRoundedLO, DESCENT),)
