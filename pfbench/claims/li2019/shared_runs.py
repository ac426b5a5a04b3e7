"""Shared parts of li2019's theorems: schedule, problems with known minimisers, and runs."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.problems.matrix_regression import MatrixRegression
from pfbench.problems.sensing import draw_synthetic_sensing
from pfbench.sets import L1Ball
from pfbench.verification import (
    ClaimBroken,
    Instance,
    NotTestable,
    StepRecord,
    Trial,
    make_instance,
)
from pfbench.verification.instruments import quadratics
from pfbench.verification.instruments.quadratics import KnownQuadratic
from pfbench.verification.statistics import Decision, best_if_all_hold_else_worst, decide_inequality

STRONG = "restricted strong convexity with sigma_hat > 0"
"""Assumption of every theorem of the paper."""

# --- the schedule ---------------------------------------------------------------------------------


def inner_iteration_count(L: float, sigma_hat: float) -> int:
    """Return ceil(8 sqrt(L/sigma_hat)), the number of inner iterations in an outer iteration."""
    return math.ceil(8.0 * math.sqrt(L / sigma_hat) * (1.0 - 1e-12))


def restart_count(delta0: float, epsilon: float) -> int:
    """Return ceil(log2(delta0/epsilon)), the number of outer iterations to the accuracy epsilon."""
    return math.ceil(math.log2(delta0 / epsilon) * (1.0 - 1e-12))


def compute_halved_gap_bound(delta0: float, t: int) -> float:
    """Return delta0 2^-t, the bound of f(theta_t) - min f after outer iteration t."""
    return delta0 * 2.0**-t


def compute_squared_distance_bound(delta0: float, sigma_hat: float, t: int) -> float:
    """Return 4 delta0 2^-t/sigma_hat, the bound of |theta_{t-1} - minimiser|^2.

    It holds before outer iteration t.

    The paper calls the bound D_t^2.
    """
    return 4.0 * delta0 * 2.0**-t / sigma_hat


# --- problems -------------------------------------------------------------------------------------

_SHAPES: Mapping[str, Callable[..., quadratics.KnownQuadratic]] = {
    "vertex of the simplex": quadratics.vertex_of_simplex,
    "face of the simplex": quadratics.face_of_simplex,
    "face of the l1 ball": quadratics.face_of_l1_ball,
    "boundary of the l2 ball": quadratics.boundary_of_l2_ball,
    "interior of the l2 ball": quadratics.interior_of_l2_ball,
}
"""Constructors of strongly convex quadratics, by the location of the minimiser."""


def quadratics_by_minimiser_location(d: int, kappa: float) -> Mapping[str, Instance]:
    """Return strongly convex quadratics of condition number kappa, by location of the minimiser.

    The keys describe the location in words, such as "interior of the l2 ball".
    """
    return {name: make_instance(build, d=d, kappa=kappa) for name, build in _SHAPES.items()}


@dataclass(frozen=True, eq=False)
class RegressionAboveMinimum(MatrixRegression):
    """Matrix regression minus the constant `lower`, so that its minimum value is 0."""

    lower: float = 0.0

    def value(self, x: Floats) -> float:
        """Return f(x) - `lower`."""
        return super().value(x) - self.lower


def matrix_regression(seed: int = 0) -> RegressionAboveMinimum:
    """Return matrix regression over a nuclear-norm ball, with more rows than matrix entries.

    So f is strongly convex, sigma_hat is the least eigenvalue of the Hessian, and eps_stat = 0. The
    minimum value, which is subtracted, is computed. Of the test problems for li2019, only this one
    has matrices as points and inexact linear minimisation.
    """
    data = draw_synthetic_sensing(seed=seed, rows=8, columns=8, rank=2, n=160, spike=1.0)
    problem = RegressionAboveMinimum(data, data.li2019_ball, tolerance=1e-10)
    return replace(problem, lower=problem.theta_hat(tolerance=1e-9).value)


SINGULAR = make_instance(quadratics.make_restricted_quadratic, d=256, support=3, blind=4)
REGRESSION = make_instance(matrix_regression)


def make_solved_families(
    trial: Trial, quadratics_by_location: Mapping[str, Instance], seeds: int = 1
) -> dict[str, Any]:
    """Return test problems with the minimum value 0 by name, one set for each of `seeds` seeds.

    A set has a strongly convex quadratic for each minimiser location and condition number, one with
    a singular Hessian, and matrix regression.
    """
    d = trial.choose_by_effort(64, 256)
    kappas = trial.choose_by_effort((1.0, 100.0), (1.0, 10.0, 100.0, 1000.0))
    problems: dict[str, Any] = {}
    for i, seed in enumerate(trial.seeds(seeds, "problems"), 1):
        rng = np.random.default_rng(seed)
        for shape, problem in quadratics_by_location.items():
            for kappa in kappas:
                problems[f"{shape}, L/sigma_hat={kappa:g}, {i}"] = problem(rng, d=d, kappa=kappa)
        problems[f"singular Hessian on the l1 ball, {i}"] = SINGULAR(rng)
        problems[f"matrix regression, {i}"] = REGRESSION(seed)
    return problems


# --- runs -----------------------------------------------------------------------------------------


def schedule_constants(problem: Any) -> tuple[Constants, int]:
    """Return the constants of a problem at its start, and the number N_t of inner iterations."""
    c = problem.constants(problem.start())
    return c, inner_iteration_count(c.L_f, c.sigma_hat)


def follow_inner_iterations(
    trial: Trial, problem: Any, restarts: int, seed: int = 0, **overrides: Any
) -> Iterator[tuple[int, int, StepRecord]]:
    """Yield the outer index t, the inner index k and the step of each inner iteration of a run.

    The run has the theorem's schedule, except for the parameters in `overrides`.

    Raises
    ------
    ClaimBroken
        If the run ends early, or leaves the set.
    NotTestable
        If the run makes all inner iterations, but does not yield a state for each.
    """
    c, N = schedule_constants(problem)
    algorithm = trial.make_scheduled(c.delta * 2.0**-restarts, c, **overrides)
    index = 0
    for index, step in enumerate(trial.follow(problem, algorithm, seed=seed), 1):
        yield 1 + (index - 1) // N, 1 + (index - 1) % N, step
    if index < N * restarts:
        if index and step.counts().sfo == problem.n * N * restarts:
            raise NotTestable(f"the method yields {index} states, not {N * restarts}")
        raise ClaimBroken(f"the method makes only {index} of {N * restarts} inner iterations")


def decide_halving(trial: Trial, problem: Any, T: int) -> Decision:
    """Decide whether the gap after each outer iteration t is at most 2^-t times its first bound."""
    c, N = schedule_constants(problem)
    return decide_inequality(
        [
            problem.value(step.state.x) / compute_halved_gap_bound(c.delta, t)
            for t, k, step in follow_inner_iterations(trial, problem, T)
            if k == N
        ]
    )


def combine_with_largest_ratio(parts: Mapping[str, Decision]) -> Decision:
    """Combine the decisions on several instances, and report the largest of their ratios."""
    joined = best_if_all_hold_else_worst(parts)
    ratio = max(part.measured["ratio"] for part in parts.values())
    measured = {"checks": float(len(parts)), "ratio": ratio}
    return replace(joined, measured=measured)


# --- the statistical error ------------------------------------------------------------------------


def statistical_error_squared(
    tau: float, sigma_hat: float, compatibility: float, outside: float, size: float, length: float
) -> float:
    """Return li2019's squared statistical error eps_stat^2, with the constant corrected to 8.

    Parameters
    ----------
    tau
        tau of restricted strong convexity.
    sigma_hat
        Effective strong convexity, positive.
    compatibility
        phi_bar of the model subspace.
    outside
        phi of the part of theta* outside the model subspace.
    size, length
        phi and the Euclidean norm of Delta* = theta_hat - theta*.
    """
    return 8.0 * tau * (outside + size + compatibility * length) ** 2 / sigma_hat


def make_biased_minimiser_problem(d: int, support: int, share: float) -> KnownQuadratic:
    """Return a quadratic on the l1 ball whose minimiser is not the true parameter.

    The Hessian is I - d w w' with w' = (+-1/d, ...), so that sigma = 1 and tau = 1/(2 d), exactly.
    The true parameter theta* has `support` equal entries and the l1 norm 1 - share. The minimiser
    theta_hat = theta* - share w has the l1 norm 1. So eps_stat is positive. The point theta* +
    share w is in the ball and near the start. This point differs from theta_hat only along w,
    where f is nearly flat. So runs come near the bound of |theta - theta_hat|.

    Parameters
    ----------
    d
        Dimension, a power of 2.
    support
        s < d/8.
    share
        l1 norm of theta_hat - truth.
    """
    hadamard = scipy.linalg.hadamard(d).astype(np.float64)
    w, product = hadamard[-1] / d, hadamard[:-1] * math.sqrt((d - 1) / d)
    truth = np.where(np.arange(d) < support, -(1.0 - share) / support * np.sign(w), 0.0)
    begin = 0.5 * (truth + share * w) + 0.5 * np.eye(d)[d // 2]
    sigma_hat, slope = 1.0 - 8.0 * support / d, 1e-6 * np.sign(w)
    return KnownQuadratic(L1Ball(d), product, truth - share * w, slope, begin, sigma_hat)


def statistical_error_squared_if_biased(d: int, support: int, share: float) -> float:
    """Return the squared statistical error of the problem from `make_biased_minimiser_problem`."""
    sigma_hat, length = 1.0 - 8.0 * support / d, share / math.sqrt(d)
    return statistical_error_squared(0.5 / d, sigma_hat, math.sqrt(support), 0.0, share, length)
