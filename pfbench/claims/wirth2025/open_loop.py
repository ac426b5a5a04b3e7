"""Steps eta_t = g(t)/(t + g(t)) on convex f, g >= 2 not decreasing: two bounds of h_t.

Here h_t = f(x_t) - min f. On any set, h_{t+1} <= (1 - eta_t) h_t + eta_t^2 L D^2/2. By induction,
h_t <= L D^2 eta_{t-1} for t >= 1. The induction starts with eta_0 = 1, and its step needs
eta_{t-1} (1 - eta_t) <= eta_t (1 - eta_t/2), which g >= 2 gives.

On a ball of radius r with |grad f| >= lambda, the gap is V(x) >= |grad f(x)| |v - x|^2/(2r). So
h_{t+1} <= (1 - eta_t + kappa eta_t^2) h_t with kappa = L r/lambda. For kappa <= 1, h_t is at most
h_0 times the product of these factors. The product decreases as t^-l for g = l. For the
log-adaptive step g = 2 + log(t + 1), it decreases faster than every power.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfbench.sets import L2Ball
from pfbench.verification import Claim, make_instance
from pfbench.verification.instruments import quadratics
from pfbench.verification.instruments.indefinite import IndefiniteQuadratic
from pfbench.verification.statements.bound import bound
from pfbench.verification.units import VALUE

STEPS = {
    "l = 2": {"step": "open-loop", "offset": 2.0},
    "l = 6": {"step": "open-loop", "offset": 6.0},
    "log": {"step": "log-adaptive", "offset": 2.0},
}
"""Step rules, by label."""


def open_loop_step(step: str, offset: float, t: int) -> float:
    """Return the step size g/(t + g) in step t, where g is 2 + log(t + 1) or `offset`."""
    g = 2.0 + math.log(t + 1.0) if step == "log-adaptive" else offset
    return g / (t + g)


def suboptimality_bound(c: Any, a: Any, t: int) -> float:
    """Return L D^2 eta_{t-1}, the bound of f(x_t) - min f for t >= 1 and steps eta_t."""
    return float(c.L_f * c.D**2 * open_loop_step(a.step, a.offset, t - 1))


# --- the ball, with a gradient that is bounded below ----------------------------------------------


@dataclass(frozen=True)
class GrowthConstants:
    """Constants f(x_0) - min f and kappa = L radius/lambda of a bound, where lambda <= |grad f|.

    r is the radius, and lambda a lower bound of |grad f|.

    Attributes
    ----------
    initial
        h_0.
    kappa
        L r/lambda, at most 1.
    """

    initial: float
    kappa: float


def make_half_square_outside(length: float) -> IndefiniteQuadratic:
    """Return |x - z|^2/2 on the unit ball of R^3, with z outside it: |z| = 1 + lambda = `length`.

    The start is a point of the sphere.
    """
    z = np.array([0.6 * length, 0.0, -0.8 * length])
    lower = 0.5 * (length - 1.0) ** 2 - 0.5 * length**2
    start = np.array([0.0, 1.0, 0.0])
    return IndefiniteQuadratic(L2Ball(3, 1.0), np.eye(3), -z, start, lower, 1.0)


def initial_suboptimality_and_kappa(problem: IndefiniteQuadratic) -> GrowthConstants:
    """Return f(x_0) - min f, and kappa = 1/lambda for the least |grad f| = lambda on the ball."""
    slack = float(np.linalg.norm(problem.b)) - 1.0
    return GrowthConstants(quadratics.suboptimality(problem, problem.start_point), 1.0 / slack)


def growth_bound(c: GrowthConstants, a: Any, t: int) -> float:
    """Return the bound of f(x_t) - min f on a ball: f(x_0) - min f times one factor per step.

    The factors are 1 - eta_s + kappa eta_s^2 for s < t.
    """
    steps = [open_loop_step(a.step, a.offset, s) for s in range(t)]
    return c.initial * math.prod(1.0 - eta + c.kappa * eta**2 for eta in steps)


def parameters_by_step_rule(iterations: int) -> dict[str, dict[str, Any]]:
    """Return the parameters of a run for each step rule, by label, with `iterations` iterations."""
    return {label: rule | {"iterations": iterations} for label, rule in STEPS.items()}


ANY = Claim(
    name="wirth2025-any",
    source="Wirth, Pena, Pokutta 2025, the steps; bounds: pfbench",
    statement="f convex, eta_t = g(t)/(t+g(t)), g >= 2: f(x_t) - min f <= L D^2 eta_(t-1), t >= 1",
    check=bound(
        suboptimality_bound,
        quadratics.suboptimality,
        statistic="every",
        parameters=parameters_by_step_rule(60),
        full={"iterations": 400},
        has_own_constant=True,
    ),
    instances=(
        make_instance(quadratics.make_simplex_half_square, d=200),
        make_instance(quadratics.make_interval_quadratic, slope=-0.01).with_title("passed"),
        make_instance(quadratics.make_interval_quadratic, slope=10.0).with_title("far"),
    ),
    algorithm="frank-wolfe",
    assumptions=("f convex",),
    schedule="step = open-loop with offset >= 2, or log-adaptive",
    expected_seconds=(0.5, 15.0),
    units={"constants": VALUE, "of": VALUE},
)

GROWTH = Claim(
    name="wirth2025-growth",
    source="Wirth, Pena, Pokutta 2025, the steps; bounds: pfbench",
    statement=(
        "f convex on a ball of radius r, |grad f| >= lambda on it, kappa = L r/lambda <= 1: "
        "f(x_t) - min f <= (f(x_0) - min f) times the product of 1 - eta_s + kappa eta_s^2, s < t"
    ),
    check=bound(
        growth_bound,
        quadratics.suboptimality,
        statistic="every",
        parameters=parameters_by_step_rule(60),
        full={"iterations": 150},
        constants=initial_suboptimality_and_kappa,
        has_own_constant=True,
    ),
    instances=(
        make_instance(make_half_square_outside, length=2.0).with_title("lambda = 1"),
        make_instance(make_half_square_outside, length=4.0).with_title("lambda = 3"),
    ),
    algorithm="frank-wolfe",
    assumptions=("f convex", "|grad f| >= lambda on the ball"),
    schedule="step = open-loop with offset >= 2, or log-adaptive",
    expected_seconds=(0.1, 0.5),
    units={"initial": VALUE, "kappa": (0, 0), "of": VALUE},
)
