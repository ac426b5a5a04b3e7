"""Theorem 2 and corollary 2 of qu2018: stochastic NCGS."""

from typing import Any

from pfbench.algorithms.sliding import StochasticNCGS
from pfbench.base.constants import Constants
from pfbench.claims.qu2018.gradient_mapping import (
    Sample,
    check_means_and_exact_counts,
    compute_weighted_mean,
    decide_calls_and_outputs,
    make_momentum_slope,
    mapping_sq,
    minimiser_distance_and_norm,
    run_at_accuracies,
)
from pfbench.verification import Claim, Evidence, Instance, NotTestable, Trial, make_instance
from pfbench.verification.claim import MAPPING_SQ, complexity
from pfbench.verification.instruments.indefinite import (
    IndefiniteQuadratic,
    noisy_ball,
    random_on_l1_ball,
)
from pfbench.verification.statistics import combine_parts_and_conditions
from pfbench.verification.units import LENGTH, SQUARE, formula

# --- the bound ------------------------------------------------------------------------------------


def stochastic_mapping_bound(
    L: float, ell: float, first: float, norm: float, M: float, sigma2: float, N: int
) -> float:
    """Return the bound of stochastic NCGS's weighted mean squared gradient mapping.

    The statement is theorem 2 of qu2018, with constants that pfbench derived.
    """
    return (
        384.0 * L * L * first**2 / (N * (N + 1.0) * (N + 2.0))
        + 96.0 * L * ell * (norm**2 + M * M) / (N + 2.0)
        + 96.0 * L / (N * (N + 2.0))
        + 36.0 * L / N
        + 48.0 * sigma2 * (N + 3.0) / ((N + 1.0) * (N + 2.0))
    )


# --- instances ------------------------------------------------------------------------------------


NONCONVEX = make_instance(random_on_l1_ball, d=20, n=30, rise=10.0)
# Near the ball's centre the stochastic mapping consists of noise alone.
NOISE = make_instance(noisy_ball, d=2, n=4, radius=40.0, noise=10.0)
SLOPE = make_instance(make_momentum_slope, N=3)
SMALL = make_instance(random_on_l1_ball, d=20, n=30, rise=0.3)
SMALL_NOISE = make_instance(noisy_ball, d=3, n=6, radius=4.0, noise=1.0)


# --- the checks -----------------------------------------------------------------------------------


def check_weighted_mean_mapping(trial: Trial) -> Evidence:
    """Test the bound of stochastic NCGS's mean squared gradient mapping, and the oracle counts.

    The stochastic gradient mapping is g(theta_md_k, G_k, beta), where G_k is the gradient estimate.
    """
    long = trial.choose_by_effort(200, 600)
    samples = {
        f"non-convex on the l1 ball, N={N}": _make_weighted_sample(
            trial, NONCONVEX(trial.rng("l1")), N
        )
        for N in trial.choose_by_effort((20, 50), (20, 100))
    }
    samples[f"noise on a ball, N={long}"] = _make_weighted_sample(trial, NOISE(), long)
    samples["slope, N=3"] = _make_weighted_sample(trial, SLOPE(), 3)
    return check_means_and_exact_counts(trial, samples, trial.choose_by_effort(40, 80))


def _make_weighted_sample(trial: Trial, problem: IndefiniteQuadratic, N: int) -> Sample:
    constants = problem.constants(problem.start())
    L = constants.L
    first, norm = minimiser_distance_and_norm(problem)
    bound = stochastic_mapping_bound(
        L, constants.ell, first, norm, constants.M, constants.sigma2, N
    )
    algorithm = trial.make(iterations=N, smoothness=L, tolerance=None, batch=None)

    def sample(seed: int) -> tuple[float, float, float]:
        squares = []
        for step in trial.follow(problem, algorithm, seed=seed):
            g = step.estimate_yielded
            squares.append(mapping_sq(problem, step.estimate_point, g, 0.5 / L))
        count = len(squares)
        if count != N:
            raise NotTestable(f"the method yields {count} states in {N} iterations, not {N}")
        return compute_weighted_mean(squares) / bound, count * (count + 1) / 2, step.counts().sfo

    return sample


def check_rate(trial: Trial) -> Evidence:
    """Test how call counts grow in 1/eps, and that the mean squared gradient mapping is <= eps.

    The mean is over the draw of the output. LO calls are linear minimisations. The calls are
    component gradients and linear minimisations, with the schedule for eps.
    """

    def sweep(family: Instance, N: int) -> Any:
        def max_tolerance(c: Constants) -> float:
            return stochastic_mapping_bound(c.L, c.ell, c.D, c.M, c.M, c.sigma2, N)

        return run_at_accuracies(trial, family, max_tolerance, 2.0, is_weighted=True)

    sweeps = {
        "l1 ball": sweep(SMALL, trial.choose_by_effort(4, 10)),
        "noise on a ball": sweep(SMALL_NOISE, trial.choose_by_effort(16, 20)),
    }
    sfo, lo, output, runs = decide_calls_and_outputs(trial, sweeps, 2.0)
    parts = {"SFO to the target": sfo, "LO in all": lo}
    decision = combine_parts_and_conditions(parts, {"|G|^2/eps": output})
    return Evidence(decision, {"exponent of SFO": 2.0, "exponent of LO": 2.0}, runs)


# --- the claims -----------------------------------------------------------------------------------

MEAN = Claim(
    name="qu2018-thm2",
    source="qu2018 theorem 2, constants derived",
    kind="bound",
    statement=(
        "sum p_k E|g_k|^2 <= 384 L^2 |theta_0-theta*|^2/(N(N+1)(N+2)) "
        "+ 96 L ell (|theta*|^2+M^2)/(N+2) + 96 L eta/(N+2) + 36 L chi "
        "+ 48 sigma^2 (N+3)/((N+1)(N+2)), g_k the stochastic mapping"
    ),
    check=check_weighted_mean_mapping,
    formulas=(formula(stochastic_mapping_bound, SQUARE, first=LENGTH, norm=LENGTH),),
    scale_dependence=StochasticNCGS.scale_dependence,
    instances=(NONCONVEX, NOISE, SLOPE),
    algorithm="ncgs-stochastic",
    assumptions=("C compact", "L >= max(L_f, L_ms)", "variance at most sigma^2"),
    schedule="explicit: m_k = k, eta = chi = 1/N",
    expected_seconds=(8.0, 13.0),
)

RATE = Claim(
    name="qu2018-cor2",
    source="qu2018 corollary 2",
    kind="rate",
    statement="|G|^2 <= eps after O(1/eps^2) SFO and O(1/eps^2) LO",
    check=check_rate,
    instances=(SMALL, SMALL_NOISE),
    algorithm="ncgs-stochastic",
    assumptions=("C compact",),
    schedule="theory: SFO to the target, LO to the end",
    expected_seconds=(1.0, 21.0),
    complexity=complexity("ncgs-stochastic", MAPPING_SQ, SFO=2.0, LO=2.0),
)
