"""Theorem 1 of Jaggi 2013: Frank-Wolfe with the step 2/(t+2) on a convex f."""

from typing import Any

from pfbench.verification import Claim, make_instance
from pfbench.verification.instruments import quadratics
from pfbench.verification.instruments.indefinite import curvature_upper_bound
from pfbench.verification.statements.bound import bound
from pfbench.verification.units import VALUE


def exact_lo_suboptimality_bound(C: float, parameters: Any, t: int) -> float:
    """Return 2 C/(t+2), the bound of f(x_t) - min f for t >= 1; C is the curvature constant."""
    return 2.0 * C / (t + 2.0)


def curvature_constant_upper_bound(problem: Any) -> float:
    """Return an upper bound of the curvature constant C_f, exact if f is a convex quadratic."""
    return curvature_upper_bound(problem.set.vertices, problem.A)


PRIMAL = Claim(
    name="jaggi2013-thm1",
    source="Jaggi 2013 theorem 1",
    statement="f convex: f(x_t) - min f <= 2 C_f/(t+2) for all t >= 1",
    check=bound(
        exact_lo_suboptimality_bound,
        quadratics.suboptimality,
        statistic="every",
        parameters={"step": "open-loop", "iterations": 40},
        full={"iterations": 80},
        constants=curvature_constant_upper_bound,
    ),
    instances=(
        make_instance(quadratics.make_simplex_half_square, d=100),
        make_instance(quadratics.make_interval_quadratic, slope=-0.01).with_title("passed"),
        make_instance(quadratics.make_interval_quadratic, slope=10.0).with_title("far"),
    ),
    algorithm="frank-wolfe",
    assumptions=("f convex", "C_f finite"),
    schedule="step = open-loop, 2/(t+2)",
    expected_seconds=(1.5, 75.0),
    units={"constants": VALUE, "of": VALUE},
)
