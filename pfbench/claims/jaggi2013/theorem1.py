"""Theorem 1 of Jaggi 2013: Frank-Wolfe with the step 2/(t+2) on a convex f."""

from typing import Any

import numpy as np

from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.verification import Claim, Mutant, make_instance
from pfbench.verification.instruments.indefinite import (
    ConvexHull,
    IndefiniteQuadratic,
    curvature_upper_bound,
)
from pfbench.verification.statements.bound import bound
from pfbench.verification.units import VALUE


def suboptimality_bound(C: float, parameters: Any, t: int) -> float:
    """Return 2 C/(t+2), the bound of f(x_t) - min f for t >= 1."""
    return 2.0 * C / (t + 2.0)


def suboptimality(problem: IndefiniteQuadratic, x: Any) -> float:
    """Return f(x) - min f."""
    return problem.value(np.asarray(x)) - problem.minimum_value


def curvature_constant(problem: Any) -> float:
    """Return C_f, which is exact for a convex quadratic."""
    return curvature_upper_bound(problem.set.vertices, problem.A)


def make_simplex_half_square(d: int) -> IndefiniteQuadratic:
    """Return |x|^2/2 on the simplex of d vertices; the start is a vertex.

    x_t has at most t + 1 nonzero entries, so that f(x_t) >= 1/(2(t+1)), and C_f = 2. So for large d
    no method that adds one vertex in each step gets below an eighth of the bound.
    """
    return IndefiniteQuadratic(
        ConvexHull(np.eye(d)), np.eye(d), np.zeros(d), np.eye(d)[0], 0.5 / d, 1.0
    )


def make_interval_quadratic(slope: float) -> IndefiniteQuadratic:
    """Return x^2/2 + slope x on [0, 1]; the start is 1, and C_f = 1.

    With a small negative slope, the second step overshoots the minimiser by nearly 2/3, which is
    0.44 of the bound. With a large positive slope h0 is far above C_f, and only a first step of 1
    makes the run independent of h0.
    """
    ends, lower = ConvexHull(np.array([[0.0], [1.0]])), -0.5 * min(0.0, slope) ** 2
    return IndefiniteQuadratic(ends, np.eye(1), np.array([slope]), np.ones(1), lower, 1.0)


PRIMAL = Claim(
    name="jaggi2013-thm1",
    source="Jaggi 2013 theorem 1",
    statement="f convex: f(x_t) - min f <= 2 C_f/(t+2) for all t >= 1",
    check=bound(
        suboptimality_bound,
        suboptimality,
        statistic="every",
        parameters={"step": "open-loop", "iterations": 40},
        full={"iterations": 80},
        constants=curvature_constant,
    ),
    instances=(
        make_instance(make_simplex_half_square, d=100),
        make_instance(make_interval_quadratic, slope=-0.01).with_title("passed"),
        make_instance(make_interval_quadratic, slope=10.0).with_title("far"),
    ),
    algorithm="frank-wolfe",
    assumptions=("f convex", "C_f finite"),
    schedule="step = open-loop, 2/(t+2)",
    expected_seconds=(0.1, 0.1),
    units={"constants": VALUE, "of": VALUE},
)

CLAIMS = (PRIMAL,)

MUTANTS = (
    Mutant.from_edits(
        FrankWolfe,
        FrankWolfe.run,
        "frank-wolfe-half-step",
        "Takes 1/(t+2), half the step.",
        {"gamma = l / (t + l)": "gamma = 0.5 * l / (t + l)"},
        PRIMAL,
    ),
)
