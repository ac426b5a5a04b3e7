"""Frank-Wolfe whose gradients have an error: the mean of V, for smooth f, convex or not.

The statement and its constants are pfbench's. An answer h at x has the error delta over a set C if
|<h - grad f(x), y - z>| <= delta for all y, z in C. With v = argmin <h, v> and s = argmin <grad
f(x), s> over C,

    <grad f(x), x - v> = V(x) + <grad f(x), s - v> >= V(x) + <grad f(x) - h, s - v> >= V(x) - delta,

as <h, s - v> >= 0. So f(x + gamma (v - x)) <= f(x) - gamma (V(x) - delta) + gamma^2 L D^2/2, and

    mean over t < T of V(x_t) <= delta + Delta/(gamma T) + gamma L D^2/2,

with one delta, which does not add up over the steps.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.problems.wrapper import ProblemWrapper
from pfbench.sets import L2Ball
from pfbench.verification import Claim, Trial, make_instance
from pfbench.verification.instruments.indefinite import ConvexHull, IndefiniteQuadratic
from pfbench.verification.instruments.overrides import OverriddenOracles
from pfbench.verification.statements.each_instance import check_ratios
from pfbench.verification.statements.path_mean import gap
from pfbench.verification.units import VALUE, formula

# --- the oracle, and the instances ----------------------------------------------------------------


class WorstInexactGradients(OverriddenOracles):
    """Oracles whose gradients have the largest allowed error, opposite to the exact gradient.

    The answer is g - (delta/D) g/|g|, which reverses small g.
    """

    def batch(self, sample: Any, x: Floats) -> Floats:
        """Return the gradient plus the largest allowed error, which points against the gradient."""
        g = np.asarray(self._original.gradient(x))
        length = self._original.set.diameter * (np.linalg.norm(g) or 1.0)
        return np.asarray(g - self._original.error / length * g)


@dataclass(frozen=True, eq=False)
class InexactQuadratic(ProblemWrapper):
    """Quadratic whose oracles return gradients with an error; measures use exact gradients.

    Attributes
    ----------
    inner
        The quadratic, of one component.
    K
        Number of steps.
    error
        delta.
    step
        gamma.
    """

    inner: IndefiniteQuadratic
    K: int
    error: float
    step: float
    name = "inexact-quadratic"

    def open(self, rng: np.random.Generator) -> WorstInexactGradients:
        """Return the oracles with inexact gradients for one run."""
        return WorstInexactGradients(self)


def make_slope(K: int, errors: float) -> InexactQuadratic:
    """Return a linear function on [0, 1] with a slope of about `errors` times the oracle's error.

    Runs start at 1, with delta = 0.1 and gamma = 1/2. An error of `errors` delta keeps every
    iterate at 1, where V is the slope.
    """
    ends, slope = ConvexHull(np.array([[0.0], [1.0]])), np.array([0.1 * errors * (1.0 - 1e-9)])
    line = IndefiniteQuadratic(ends, np.zeros((1, 1)), slope, np.ones(1), 0.0, 1.0)
    return InexactQuadratic(line, K, 0.1, 0.5)


def make_square(K: int) -> InexactQuadratic:
    """Return x^2/2 on [-1, 1] with the start 1 and exact gradients."""
    ends = ConvexHull(np.array([[-1.0], [1.0]]))
    square = IndefiniteQuadratic(ends, np.eye(1), np.zeros(1), np.ones(1), 0.0, 1.0)
    return InexactQuadratic(square, K, 0.0, best_step(K, 1.0, 2.0, 0.5))


def make_saddle(K: int, error: float) -> InexactQuadratic:
    """Return (x^2 - y^2)/2 on the unit disc, with the start (0.96, 0.28)."""
    A, start = np.diag([1.0, -1.0]), np.array([0.96, 0.28])
    saddle = IndefiniteQuadratic(L2Ball(2, 1.0), A, np.zeros(2), start, -0.5, 1.0)
    return InexactQuadratic(saddle, K, error, best_step(K, 1.0, 2.0, saddle.value(start) + 0.5))


# --- the bound, and its check ---------------------------------------------------------------------


def best_step(K: int, L: float, D: float, delta: float) -> float:
    """Return the step size sqrt(2 delta/(L D^2 K)), at most 1, which minimises `fw_gap_bound`.

    Here `delta` is f(x_0) - min f.
    """
    return min(1.0, math.sqrt(2.0 * delta / (L * D**2 * K)))


def fw_gap_bound(K: int, L: float, D: float, delta: float, error: float, gamma: float) -> float:
    """Return the upper bound of the mean Frank-Wolfe gap over K steps with inexact gradients."""
    return error + delta / (gamma * K) + gamma * L * D**2 / 2.0


def run_mean_gap_ratio(trial: Trial, problem: InexactQuadratic) -> float:
    """Return the mean Frank-Wolfe gap of a run, divided by its bound."""
    c, gamma = problem.constants(problem.start()), problem.step
    method = trial.make(iterations=problem.K, step=gamma, batch=1)
    gaps = [gap(problem, x) for x, _ in trial.follow_with_previous_point(problem, method)]
    bound = fw_gap_bound(problem.K, c.L_f, c.D, c.delta, problem.error, gamma)
    return float(np.mean(gaps)) / bound


INEXACT = Claim(
    name="hu2026-inexact-fw",
    source="Hu 2026, the setting; the bound: pfbench",
    kind="bound",
    statement=(
        "f smooth, gradients h with |<h - grad f(x), y - z>| <= delta on the set, steps gamma: the "
        "mean of V is at most delta + Delta/(gamma T) + gamma L D^2/2"
    ),
    check=partial(check_ratios, measure=run_mean_gap_ratio),
    instances=(
        *(make_instance(make_slope, K=K, errors=1.0) for K in (100, 1000)),
        *(make_instance(make_slope, K=1000, errors=errors) for errors in (2.0, 4.0)),
        *(make_instance(make_square, K=K) for K in (100, 1000)),
        *(make_instance(make_saddle, K=300, error=error) for error in (0.0, 0.3)),
    ),
    algorithm="sfw",
    assumptions=("grad f Lipschitz", "C compact"),
    schedule="explicit: a constant step",
    expected_seconds=(0.5, 0.5),
    formulas=(formula(best_step, (0, 0)), formula(fw_gap_bound, VALUE, error=VALUE, gamma=(0, 0))),
)
