"""Measures for all problems; they are not counted and do not affect the run.

Each measure takes the problem and a state. It reads the state's point through a view and queries
the problem's exact or certified oracles, never those of the run.
"""

import math
from typing import Any

import numpy as np

from pfbench.base.arrays import norm
from pfbench.base.checks import unwrap_scalar
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.protocols import Gradient, IntervalMeasure, Problem
from pfbench.base.state import Point, State
from pfbench.points import copy_or_view, distance, inner


def view_and_gradient(problem: Problem, x: Point) -> tuple[Point, Gradient]:
    """Return a view of x, and the exact gradient of f at x."""
    x = copy_or_view(x)
    return x, problem.gradient(x)


def value(problem: Problem, state: State) -> float:
    """Return the value f(x) at the state's point x."""
    number: float = unwrap_scalar("value(x)", problem.value(copy_or_view(state.x)))
    return number


def objective(problem: Problem, state: State) -> float:
    """Return the objective at the state's point x: f(x), plus the penalty h(x) if there is one."""
    h = problem.penalty
    return value(problem, state) + (0.0 if h is None else h.value(state.x))


def fw_gap(problem: Problem, state: State) -> IntervalMeasure | None:
    """Return bounds of the Frank-Wolfe gap V(x) = max over u in the set of <grad f(x), x - u>.

    The gap is that of Jaggi 2013. The bounds are equal if the gap is computed exactly. The result
    is None without a feasible set.

    Raises
    ------
    InputError
        If the gap is below 0 by more than rounding, which is impossible with a correct `lo` at a
        point of the set. A run that does not record the gap computes it at its output only.
    """
    if "set" in problem.lacks:
        return None
    x, g = view_and_gradient(problem, state.x)
    at_x = inner(g, x)
    lower, upper = problem.minimum(g)
    gap = at_x - lower
    if gap < 0.0 and gap < -_gap_rounding_tolerance(problem, x, g):
        raise InputError(
            f"the Frank-Wolfe gap is {gap:.6g}, below 0: lo does not minimise <g, v> over the set, "
            "or the point is outside the set"
        )
    return at_x - upper, gap


def _gap_rounding_tolerance(problem: Problem, x: Point, g: Gradient) -> float:
    """Return the largest amount by which rounding can make the gap negative at a point of the set.

    Each entry of x may be outside by 1e-9 times the size of the set; see `ConvexBody.contains`.
    """
    size = problem.set.diameter + (norm(x) if isinstance(x, np.ndarray) else 0.0)
    return 1e-8 * math.sqrt(math.prod(x.shape)) * norm(np.asarray(g)) * size


def gradient_mapping_lambda(problem: Problem, state: State) -> float | None:
    """Return the default lambda of the gradient mapping, 1/(2 max(L_f, L_ms)).

    The result is None if the problem does not state L_f or L_ms.
    """
    L = problem.constants(problem.start()).L
    return 1.0 / (2.0 * L) if 0.0 < L < math.inf else None


def gradient_mapping_sq(problem: Problem, state: State, lam: float | None = None) -> float | None:
    """Return the squared norm of the gradient mapping G_lambda at the state's point x.

    G_lambda(x) = (x - proj(x - lambda grad f(x)))/lambda.

    By default, lambda is the problem's. The result is None if the problem has no lambda, or refuses
    the projection of a matrix with more than 4 000 000 entries.
    """
    lam = lam or gradient_mapping_lambda(problem, state)
    if lam is None:
        return None
    x, g = view_and_gradient(problem, state.x)
    try:
        projected = problem.prox(x, g, lam)
    except RefusedError:
        return None
    size = distance(x, projected) / lam
    return size**2 if size < _ROOT else math.inf  # of a run that diverges


_ROOT = 1e150
"""Largest number that is squared; the square of a larger number could overflow."""


def coin(problem: Problem, state: State) -> float | None:
    """Return 1 if the estimator's coin fell heads in this step, 0 if tails; None without a coin."""
    return None if state.coin is None else float(state.coin)


def estimator_error(problem: Problem, state: State) -> float | None:
    """Return the norm of the gradient estimate's error; None if the state has no estimate.

    In row k of the trace, x_t is the iterate x_{k-1}.
    """
    if state.at is None or state.estimate is None:
        return None
    _, g = view_and_gradient(problem, state.at)
    error: Any = state.estimate - g
    return float((error.ravel() @ error.ravel()) ** 0.5)
