"""li2019 theorem 2: STORC halves the expected gap; and (52), the variance of its estimate."""

import math
from functools import partial
from typing import Any

import numpy as np

from pfbench.claims.li2019 import shared_runs
from pfbench.verification import Claim, Evidence, Trial, make_instance
from pfbench.verification.instruments import quadratics
from pfbench.verification.statistics import (
    Decision,
    combine_parts_and_conditions,
    decide_equality,
    decide_mean,
)
from pfbench.verification.units import NUMBER, SQUARE, VALUE, formula


def batch_size(L: float, L_max: float, sigma_hat: float) -> int:
    """Return STORC's batch size in theorem 2 of li2019, rounded up to an integer.

    It is 5200 N L_max/sigma_hat, where N is the number of inner iterations.
    """
    return math.ceil(
        5200.0 * shared_runs.inner_iteration_count(L, sigma_hat) * L_max / sigma_hat * (1.0 - 1e-12)
    )


def component_gradient_count(n: int, inner_iterations: int, m: int, outer_iterations: int) -> int:
    """Return T (n + 2 m N), the component gradients of T outer times N inner steps with batch m.

    N is the number of inner iterations in each of them.
    """
    return outer_iterations * (n + 2 * m * inner_iterations)


def variance_bound(L: float, squared: float, N: int, k: int) -> float:
    """Return li2019's bound (52) of the gradient estimate's variance in inner iteration k.

    It is E|v_k - grad f(z_k)|^2 <= L^2 D_t^2/(N (k+1)^2).

    D_t^2 is `squared`, and v_k is the gradient estimate at z_k.
    """
    return L**2 * squared / (N * (k + 1.0) ** 2)


# --- the instances --------------------------------------------------------------------------------

_SHAPES = shared_runs.quadratics_by_minimiser_location(d=32, kappa=1.0)
_SINGULAR = make_instance(quadratics.make_restricted_quadratic, d=128, support=2, blind=2)

RUNS = 48
"""Number of runs for a mean: enough to confirm one of 0.4 times its bound."""
_of_storc = partial(
    Claim,
    kind="bound",
    algorithm="storc",
    assumptions=(shared_runs.STRONG, "every f_i convex and L_max-smooth"),
    instances=(*_SHAPES.values(), _SINGULAR),
    schedule="theory: m = 5200 N_t L_max/sigma_hat",
)


def _make_well_conditioned_problems(trial: Trial) -> dict[str, quadratics.KnownQuadratic]:
    """Return test problems with condition number L/sigma_hat <= 25, which keeps batches small."""
    rng, d = trial.rng("problems"), trial.choose_by_effort(32, 128)
    problems = {
        f"{shape}, L/sigma_hat={kappa:g}": problem(rng, d=d, kappa=kappa)
        for shape, problem in _SHAPES.items()
        for kappa in trial.choose_by_effort((1.0,), (1.0, 4.0, 25.0))
    }
    return problems | {"singular Hessian on the l1 ball": _SINGULAR(rng)}


# --- the gap --------------------------------------------------------------------------------------


def check_gap(trial: Trial) -> Evidence:
    """Test E f(theta_t) - min f <= delta0 2^-t, and the number of component gradients."""
    T = trial.choose_by_effort(6, 10)
    means, counts = dict[str, Decision](), dict[str, Decision]()
    for name, problem in _make_well_conditioned_problems(trial).items():
        c, N = shared_runs.schedule_constants(problem)
        ratios = np.zeros((RUNS, T))
        for i, seed in enumerate(trial.seeds(RUNS, name)):
            for t, k, step in shared_runs.follow_inner_iterations(trial, problem, T, seed):
                if k == N and t <= T:
                    gap = max(0.0, problem.value(step.state.x))
                    ratios[i, t - 1] = gap / shared_runs.compute_halved_gap_bound(c.delta, t)
        means |= {f"{name}, t={t + 1}": decide_mean(ratios[:, t], 1.0) for t in range(T)}
        m = batch_size(c.L_f, c.L_max, c.sigma_hat)
        claimed = {"SFO": component_gradient_count(problem.n, N, m, T)}
        counts[name] = decide_equality(claimed, {"SFO": step.counts().sfo})
    decision = combine_parts_and_conditions(
        {"mean": shared_runs.combine_with_largest_ratio(means)}, {"SFO": counts}
    )
    return Evidence(decision, {"mean: ratio": 1.0}, RUNS * len(counts))


THM2 = _of_storc(
    name="li2019-thm2",
    source="li2019 theorem 2",
    statement="E f(theta_t) - f(theta_hat) <= delta0 2^-t at every outer t (eps_stat = 0)",
    expected_seconds=(1.5, 40.0),
    check=check_gap,
    formulas=(formula(shared_runs.compute_halved_gap_bound, VALUE),),
)

# --- the variance ---------------------------------------------------------------------------------


def check_variance(trial: Trial) -> Evidence:
    """Test the bound of the variance of gradient estimates, averaged over each outer iteration.

    The bound is L^2 D_t^2/(N_t (k+1)^2).
    """
    parts = dict[str, Decision]()
    for name, problem in _make_well_conditioned_problems(trial).items():
        # LO grow like 2^T, except where the minimiser is easy to find.
        easy = "l2 ball" in name
        T = trial.choose_by_effort(12, 16) if easy else trial.choose_by_effort(5, 8)
        parts |= decide_variance_by_outer_iteration(trial, name, problem, T, RUNS)
    decision = shared_runs.combine_with_largest_ratio(parts)
    return Evidence(decision, {"ratio": 1.0}, RUNS * len(_SHAPES))


def decide_variance_by_outer_iteration(
    trial: Trial, name: str, problem: quadratics.KnownQuadratic, T: int, runs: int, **overrides: Any
) -> dict[str, Decision]:
    """Decide, for each outer iteration, whether the mean of (squared error)/bound is at most 1.

    The runs have the theorem's schedule, except for the parameters in `overrides`.
    """
    c, N = shared_runs.schedule_constants(problem)
    ratios = np.zeros((runs, T, N))
    for i, seed in enumerate(trial.seeds(runs, name)):
        for t, k, step in shared_runs.follow_inner_iterations(trial, problem, T, seed, **overrides):
            if t <= T:
                error = step.estimate_yielded - problem.gradient(step.estimate_point)
                squared = shared_runs.compute_squared_distance_bound(c.delta, c.sigma_hat, t)
                ratios[i, t - 1, k - 1] = np.vdot(error, error) / variance_bound(
                    c.L_f, squared, N, k
                )
    return {f"{name}, t={t + 1}": decide_mean(ratios[:, t].mean(axis=1), 1.0) for t in range(T)}


VARIANCE = _of_storc(
    name="li2019-variance",
    source="li2019 (52)",
    statement=(
        "E|v_k - grad f(z_k)|^2 <= L^2 D_t^2/(N_t (k+1)^2) with the theorem's m; its mean over k "
        "is tested for each t"
    ),
    expected_seconds=(1.5, 16.0),
    check=check_variance,
    formulas=(
        formula(variance_bound, SQUARE, squared=(0, 2)),
        formula(shared_runs.compute_squared_distance_bound, (0, 2)),
        formula(batch_size, NUMBER),
    ),
)
