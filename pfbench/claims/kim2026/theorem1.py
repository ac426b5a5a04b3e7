"""Theorem 1 of kim2026: the mean |grad f(W_t)|_* of Muon with an inexact orthogonaliser.

The "printed" bound is the line before (8) as we read it, with constants. Equation (8) itself is
stated in O(.), and holds. The "corrected" bound is pfbench's. The corrected bound holds for any
orthogonaliser O with <M, O> >= lo |M|_* and |O| <= hi; both numbers are recorded at every step.
Where beta is capped at 0, the printed bound is below the measured mean, as a test shows. So the
two bounds are compared where beta > 0.

The separation of sign steps from gradient descent is pfbench's. f = (d x_1^2 + x_2^2 + ... +
x_d^2)/2 from (1, ..., 1), and the target is a mean |grad f|_1 of at most (d-1)/2. In the l-infinity
norm, L = 2d - 1. uSCG with exact gradients and gamma = sqrt(2 Delta/(L K)) reaches the target after
K = ceil(4 L^2/(d-1)^2) steps, which is 17 for d >= 18. Gradient descent with a step of 2/d or more
never shrinks x_1, so none of its points has that norm. With a smaller step, the other coordinates
stay above 1/2 for ln 2/(-ln(1 - 2/d)) steps, about 0.35 d. On diagonal matrices, this is a
comparison of Muon with gradient descent.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.algorithms.norm_ball_methods import Muon
from pfbench.runs.loop.steps import steps
from pfbench.verification import Claim, Floats, Instance, Trial, make_instance, statistics
from pfbench.verification.contrast import ExaminationEvidence, compare_ratios, is_at_most_bound
from pfbench.verification.instruments.normed_quadratics import (
    HorizonProblem,
    least_squares,
    parabola,
    vector_quadratic,
)
from pfbench.verification.statements import path_mean
from pfbench.verification.statements.each_instance import check_each_instance
from pfbench.verification.units import GRADIENT, NUMBER, formula

# --- the schedule and the bounds ------------------------------------------------------------------


def beta_and_eta(K: float, r: float, L: float, sigma: float, delta: float) -> tuple[float, float]:
    """Return Muon's momentum beta and step size eta in theorem 1 of kim2026, for batches of one.

    beta = 1 - min(sqrt(L Delta)/(sigma sqrt(r K)), 1).
    """
    noise = sigma * math.sqrt(r * K)
    smallest = min(math.sqrt(L * delta) / noise, 1.0) if noise else 1.0
    return 1.0 - smallest, math.sqrt(smallest * delta / (K * L))


def compute_printed_bound(
    K: float, r: float, L: float, sigma: float, delta: float, lo: float
) -> float:
    """Return kim2026's upper bound of Muon's mean |grad f|_*, as printed before its equation (8).

    The orthogonaliser has epsilon_q = 1 - lo.
    """
    beta, _ = beta_and_eta(K, r, L, sigma, delta)
    late = 1.0 - lo
    first = 0.5 * (1.0 + late) ** 2 * math.sqrt((1.0 - beta) * L * delta / K)
    factor = 1.0 + 2.0 * beta * (1.0 + late) + 2.0 / math.sqrt(1.0 + beta)
    fourth = factor * math.sqrt(math.sqrt(r * sigma**2 * L * delta / K))
    return (first + fourth + 2.0 * math.sqrt(2.0) * beta * sigma * r / math.sqrt(K)) / (1.0 - late)


def compute_corrected_bound(
    K: float, r: float, L: float, sigma: float, delta: float, lo: float, hi: float
) -> float:
    """Return pfbench's bound of Muon's mean |grad f|_*, for inexact orthogonalisers.

    Their results O satisfy <M, O> >= lo |M|_* and |O| <= hi.
    """
    beta, eta = beta_and_eta(K, r, L, sigma, delta)
    bias = beta * L * eta * hi / (1.0 - beta)
    noise = math.sqrt((1.0 - beta) / (1.0 + beta)) * math.sqrt(r) * sigma
    start = beta * math.sqrt(2.0 * L * delta) / (K * (1.0 - beta))
    return (delta / (K * eta) + L * eta * hi**2 / 2.0 + (lo + hi) * (bias + noise + start)) / lo


# --- the check ------------------------------------------------------------------------------------


def muon_parameters(c: path_mean.Numbers) -> path_mean.Numbers:
    """Return Muon's parameters in theorem 1 of kim2026: the step gamma = eta/rho, and beta."""
    beta, eta = beta_and_eta(*(c[name] for name in ("K", "r", "L", "sigma", "delta")))
    return {"step": eta / c["rho"], "beta": beta}


def compute_printed_bound_where_compared(
    problem: Any, K: float, r: float, L: float, sigma: float, delta: float, beta: float
) -> float:
    """Return the printed bound for exact polar factors with noise and beta > 0, else infinity."""
    is_exact = getattr(problem.norm, "lmo", "") == "exact"
    if problem.n == 1 or beta == 0.0 or not is_exact:
        return math.inf
    return compute_printed_bound(K, r, L, sigma, delta, lo=1.0)


_GIVEN = {"lo": 0.9, "hi": 1.05}

THEOREM = Claim(
    name="kim2026-thm1",
    source="kim2026 theorem 1; corrected: pfbench",
    kind="bound",
    statement=(
        "Muon, eta = sqrt((1-beta) Delta/(T L)): mean E|grad f|_* <= (1/lo)[Delta/(T eta) + L eta "
        "hi^2/2 + (lo+hi)(beta L eta hi/(1-beta) + sqrt((1-beta)/(1+beta)) sqrt(r) sigma + beta "
        "sqrt(2 L Delta)/(T (1-beta)))] for any orthogonaliser (ours); where beta > 0 the line "
        "before (8) holds, too"
    ),
    check=path_mean.IterateMeanBound(
        bounds={
            "corrected": compute_corrected_bound,
            "printed": compute_printed_bound_where_compared,
        },
        parameters=muon_parameters,
    ),
    instances=(
        make_instance(parabola, K=100),
        make_instance(least_squares, K=400, sigma=0.0),
        make_instance(least_squares, K=200, sigma=0.0, lmo="newton-schulz"),
        make_instance(least_squares, K=200, sigma=0.0, lmo="quintic"),
        make_instance(least_squares, K=100, sigma=3.0),
        make_instance(least_squares, K=50, sigma=3.0, lmo="quintic"),
    ),
    algorithm="muon",
    assumptions=(
        "|grad f(W) - grad f(V)|_* <= L |W - V|",
        "gradients unbiased, of variance at most sigma^2",
    ),
    schedule="beta and eta of theorem 1",
    expected_seconds=(1.5, 1.5),
    formulas=(
        formula(compute_printed_bound, GRADIENT, {"lo": 0.9}, sigma=GRADIENT, r=NUMBER),
        formula(compute_corrected_bound, GRADIENT, _GIVEN, sigma=GRADIENT, r=NUMBER),
    ),
)


# --- statements that fail as we read them ---------------------------------------------------------

# The text was read in part, in a machine-made copy. So each statement is *doubtful* until it is
# compared with the print.


def examine_noiseless_bound_constant(effort: str, seed: int) -> ExaminationEvidence:
    """Compare a Muon run without noise on w^2/2 with the printed bound and with pfbench's.

    Without noise, the formula of beta gives 0. The printed bound is too small by a constant factor.
    The order of the printed bound is that of (8), and is right.
    """
    problem = parabola(100)
    c = path_mean.constants_with_norm(problem)
    numbers = {"K": 100.0, "r": 1.0, "L": c["L"], "sigma": 0.0, "delta": c["delta"]}
    beta, eta = beta_and_eta(**numbers)
    muon = Muon(iterations=100, step=eta, beta=beta, batch=1)
    states = steps(problem, muon, streams={"algorithm": np.random.default_rng(seed)}).states
    mean = float(np.mean([abs(float(state.at[0, 0])) for state in states]))
    first = compute_printed_bound(**numbers, lo=1.0)
    second = compute_corrected_bound(**numbers, lo=1.0, hi=1.0)
    evidence = compare_ratios(
        mean / first, mean / second, measured=mean, display=first, ours=second
    )
    return evidence.with_ratios_under_other_readings({"in O(.)": mean / (3.0 * first)})


def theta(beta: float, step_factor: float) -> float:
    """Return theta of kim2026's theorem 3, whose proof divides by 1 - 4 theta.

    theta = 4 L^2 eta^2 k/(1-beta)^4, where k = beta^2 + (1-beta)^2 and eta = `step_factor`
    (1-beta)^2/L.
    """
    return 4.0 * step_factor**2 * (beta**2 + (1.0 - beta) ** 2)


def examine_vanishing_divisor(effort: str, seed: int) -> ExaminationEvidence:
    """Examine whether the divisor in kim2026's proof of theorem 3, 1 - 4 `theta`, can be 0.

    The largest 4 theta over beta is computed for the step size in the proof and for half the
    stated step size.
    """
    betas = np.linspace(0.0, 0.999, 1000)
    in_proof = [4.0 * theta(b, 0.25 / np.sqrt(b**2 + (1.0 - b) ** 2)) for b in betas]
    statement, half = ([4.0 * theta(b, share) for b in betas] for share in (0.25, 0.125))
    return ExaminationEvidence(
        printed_fails=not max(in_proof) < 1.0 - 1e-9,
        corrected_holds=is_at_most_bound(4.0 * max(half)),
        numbers={
            "4 theta, step of the proof": max(in_proof),
            "1 - 4 theta as stated, beta = 0.9": 1.0 - statement[900],
            "1 - 4 theta as stated, beta = 0.999": 1.0 - statement[-1],
            "4 theta, half the step": max(half),
        },
        readings={"the step as stated, beta in (0, 1)": max(statement[1:]) < 1.0 - 1e-9},
    )


# --- sign steps against gradient descent ----------------------------------------------------------

STEPS = np.linspace(0.02, 1.5, 38)
"""Steps of gradient descent, in units of 2/d."""


def make_stretched_quadratic(d: int) -> HorizonProblem:
    """Return a problem with the l-infinity norm: a quadratic with one steep coordinate.

    It is (d x_1^2 + x_2^2 + ... + x_d^2)/2 from (1, ..., 1). In this norm uSCG makes sign steps.
    The horizon K of the problem is the number of steps that uSCG needs.
    """
    problem = vector_quadratic("linf", weights=(float(d), *[1.0] * (d - 1)), begin=[1.0] * d)
    return HorizonProblem.from_problem(problem, sign_step_count(d))


def sign_step_count(d: int) -> int:
    """Return ceil(4 L^2/(d-1)^2), L = 2d - 1: the number of sign steps to the target."""
    return math.ceil(4.0 * (2.0 * d - 1.0) ** 2 / (d - 1.0) ** 2 - 1e-12)


def min_gradient_descent_steps(d: int) -> float:
    """Return ln 2/(-ln(1 - 2/d)), a lower bound of gradient descent's steps to the target."""
    return math.log(2.0) / -math.log1p(-2.0 / d)


@check_each_instance(combine=statistics.combine_all, repetitions=len(STEPS) + 1)
def check_separation(
    trial: Trial, instance: Instance, problem: Any
) -> Iterator[tuple[str, statistics.Decision]]:
    """Test that uSCG reaches a target in K steps, which gradient descent misses even in more steps.

    Gradient descent makes fewer than `min_gradient_descent_steps` steps, with each of several step
    sizes.
    """
    c = path_mean.constants_with_norm(problem)
    d, target = problem.shape[0], (problem.shape[0] - 1) / 2.0
    step = math.sqrt(2.0 * c["delta"] / (c["L"] * problem.K)) / c["rho"]
    algorithm = trial.make(iterations=problem.K, batch=1, step=step, alpha=1.0)
    mean = float(np.mean(gradient_norms_of_run(trial, problem, algorithm)))
    words = f"After {problem.K} steps the mean is {mean / target:.3g} of the target."
    yield f"uscg, d = {d}", statistics.decide_exact(mean <= target, words, {"ratio": mean / target})
    max_count = math.ceil(min_gradient_descent_steps(d)) - 1
    lower = math.inf
    for size in STEPS:
        other: Any = ALGORITHMS["prox-gd"]
        slow = other(iterations=max_count, step=size * 2.0 / d)
        lower = min(lower, float(gradient_norms_of_run(trial, problem, slow).min()) / target)
    words = f"In {max_count} steps of gradient descent the least norm is {lower:.3g} of the target."
    measured = {"least over target": lower}
    yield f"descent, d = {d}", statistics.decide_exact(lower > 1.0, words, measured)


def gradient_norms_of_run(trial: Trial, problem: HorizonProblem, algorithm: Any) -> Floats:
    """Return the norms |grad f(x_k)|_1 along a run, k = 1, ..., K."""
    return np.array(
        [
            path_mean.gradient_dual_norm(problem, x)
            for x, _ in trial.follow_with_previous_point(problem, algorithm)
        ]
    )


SEPARATION = Claim(
    name="kim2026-sign-gd-separation",
    source="on theorem 3 of kim2026; pfbench",
    kind="separation",
    statement=(
        "f = (d x_1^2 + x_2^2 + ... + x_d^2)/2 from (1, ..., 1), to a mean of |grad f|_1 of "
        "(d-1)/2: ceil(4(2d-1)^2/(d-1)^2) steps of signs, and at least "
        "ln 2/(-ln(1-2/d)), about 0.35 d, until gradient descent with any fixed step "
        "has a point of that norm (ours)"
    ),
    check=check_separation,
    instances=(
        make_instance(make_stretched_quadratic, d=101),
        make_instance(make_stretched_quadratic, d=301),
    ),
    algorithm="uscg",
    assumptions=("exact gradients",),
    schedule="alpha = 1, gamma = sqrt(2 Delta/(L K))",
    expected_seconds=(0.6, 0.6),
    formulas=(formula(min_gradient_descent_steps, NUMBER, {"d": 101}),),
)
