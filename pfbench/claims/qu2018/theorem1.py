"""Theorem 1 and corollary 1 of qu2018: NCGS, with options I and II."""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from pfbench.algorithms.sliding import NCGS
from pfbench.base.status import Verdict
from pfbench.claims.qu2018.gradient_mapping import (
    RunCost,
    accuracy_divisors,
    compute_weighted_mean,
    decide_call_exponent,
    initial_seeds,
    make_momentum_slope,
    mapping_sq,
    minimiser_distance_and_norm,
    run_at_accuracies,
    run_for_accuracy,
)
from pfbench.problems.zero_chain import ZeroChain, chain_smoothness
from pfbench.verification import Claim, Evidence, Trial, make_instance, statistics
from pfbench.verification.claim import MAPPING_SQ, complexity
from pfbench.verification.instruments import indefinite
from pfbench.verification.units import LENGTH, SQUARE, formula

# --- the bounds -----------------------------------------------------------------------------------


def option1_min_bound(L: float, delta: float, N: int) -> float:
    """Return (12 L delta + 16 L)/N, the bound of NCGS's smallest squared gradient mapping.

    G is the gradient mapping, and N the number of iterations.
    """
    return (12.0 * L * delta + 16.0 * L) / N


def option1_mean_bound(L: float, delta: float, N: int) -> float:
    """Return (16 L delta + 28 L)/(3N), the bound of NCGS's mean squared gradient mapping.

    G is the gradient mapping, and N the number of iterations.
    """
    return (16.0 * L * delta + 28.0 * L) / (3.0 * N)


def option2_min_bound(L: float, ell: float, first: float, norm: float, M: float, N: int) -> float:
    """Return the bound of the smallest squared gradient mapping in N steps of NCGS, option II.

    The parameters are eta = chi = 1/N.

    |theta_0 - theta*| is `first`, and |theta*| is `norm`; upper bounds are allowed for both. The
    theorem prints the mapping at theta_{k-1} with the gradient at theta_md_k. Here the mapping is
    at theta_md_k. In this point the bound agrees with theorem 2, the same result with noise.
    """
    return (
        192.0 * L * L * first**2 / (N * N * (N + 1.0))
        + 48.0 * ell * L / N * (norm**2 + 2.0 * M * M)
        + 96.0 * L / N
    )


def option2_mean_bound(L: float, ell: float, first: float, norm: float, M: float, N: int) -> float:
    """Return the bound of the weighted mean squared gradient mapping of NCGS with option II.

    The tolerances are eta = chi = 1/N. The weights are proportional to k (k+1).
    """
    return (
        192.0 * L * L * first**2 / (N * (N + 1.0) * (N + 2.0))
        + 48.0 * ell * L * (norm**2 + M * M) / (N + 2.0)
        + 48.0 * L / (N * (N + 2.0))
        + 20.0 * L / N
    )


# --- instances ------------------------------------------------------------------------------------


def make_scaled_simplex_quadratic(d: int, rise: float) -> indefinite.IndefiniteQuadratic:
    """Return rise * |x - c|^2 on the simplex of d vertices, with centre c; the start is a vertex.

    Each exact prox is the mean of many vertices, so that the gap at condg's result is near its
    tolerance.
    """
    problem, factor = indefinite.spread_on_simplex(d), 2.0 * rise
    return replace(
        problem,
        A=factor * problem.A,
        b=factor * problem.b,
        minimum_value=factor * problem.minimum_value,
    )


def make_slope_reached_at_end(N: int) -> indefinite.IndefiniteQuadratic:
    """Return a slope, a linear function on a box, whose end the last of N steps just reaches.

    So every gradient mapping equals the constant gradient, and the bound is nearly attained.
    """
    return indefinite.make_quadratic_linear_along_box(1.0, N / 2.0, 1000.0)


def chain(T: int) -> ZeroChain:
    """Return the zero chain of T links, on which T calls reach an accuracy proportional to 1/T.

    Delta is at most 1, so mu^2 = l/(12 T), and D is fixed. No point is near the target before the
    last link is found. So no method needs fewer full gradients, up to a constant.
    """
    mu = math.sqrt(chain_smoothness() / (12.0 * T))
    return ZeroChain(horizon=T, columns=T + 1, smoothness=1.0, mu=mu)


NONCONVEX = make_instance(indefinite.random_on_l1_ball, d=20, n=30, rise=10.0)
FACE = make_instance(make_scaled_simplex_quadratic, d=100, rise=10.0)
SLOPE = make_instance(make_slope_reached_at_end, N=20)
MOMENTUM_SLOPE = make_instance(make_momentum_slope, N=4)
CHAIN = make_instance(chain, T=32)
SMALL = make_instance(indefinite.random_on_l1_ball, d=20, n=1, rise=0.3)


# --- the checks -----------------------------------------------------------------------------------


def check_option(trial: Trial, *, option: int) -> Evidence:
    """Test the bounds of NCGS's smallest and mean squared gradient mapping, for an option.

    The problems are random non-convex finite sums on the l1 ball, least squares whose minimiser is
    inside a face of the simplex, and a slope. In option I the points theta_md must be the previous
    iterates. In option II the mapping is at theta_md.
    """
    lengths = {1: ((5, 20), (5, 20, 100)), 2: ((4, 50), (3, 4, 5, 20, 100))}[option]
    seeds = trial.seeds(trial.choose_by_effort(2, 10), "problems")
    smallest, mean, same = {}, {}, []
    for N in trial.choose_by_effort(*lengths):
        problems = {
            f"non-convex on the l1 ball, {i}": NONCONVEX(np.random.default_rng(seed))
            for i, seed in enumerate(seeds)
        }
        problems["spread over a face"] = FACE()
        if option == 1 or N <= 5:
            problems["slope"] = SLOPE(N=N) if option == 1 else MOMENTUM_SLOPE(N=N)
        for name, problem in problems.items():
            c = problem.constants(problem.start())
            algorithm = trial.make(iterations=N, smoothness=c.L_f, option=option, tolerance=None)
            squares = []
            for x, step in trial.follow_with_previous_point(problem, algorithm):
                md = step.estimate_point
                same.append(float(np.linalg.norm(md - x)) / c.D)
                point = x if option == 1 else md
                squares.append(mapping_sq(problem, point, problem.gradient(point), 0.5 / c.L_f))
            if option == 1:
                average, of_problem = float(np.mean(squares)), (c.L_f, c.delta, N)
                bounds = option1_min_bound(*of_problem), option1_mean_bound(*of_problem)
            else:
                first, norm = minimiser_distance_and_norm(problem)
                average, sizes = compute_weighted_mean(squares), (c.L_f, c.ell, first, norm, c.M, N)
                bounds = option2_min_bound(*sizes), option2_mean_bound(*sizes)
            label = f"{name}, N={N}"
            smallest[label] = statistics.decide_inequality([min(squares) / bounds[0]])
            mean[label] = statistics.decide_inequality([average / bounds[1]])
    conditions, claimed = {}, {"ratio": 1.0}
    if option == 1:
        conditions["theta_md"] = statistics.decide_deviations({"difference": max(same)}, 1e-9)
        claimed["|theta_md - theta|"] = 0.0
    parts = {"least": smallest, "mean": mean}
    decision = statistics.combine_parts_and_conditions(parts, conditions)
    return Evidence(decision, claimed, len(smallest))


def check_rate(trial: Trial) -> Evidence:
    """Test how NCGS's numbers of full gradients and of linear minimisations grow in 1/eps.

    NCGS has its schedule. Runs on the zero chain stop at the target. Runs on the l1 ball go to
    their end, and must reach |G|^2 <= eps.
    """
    divisor = trial.choose_by_effort(5.0, 10.0)
    rows = run_at_accuracies(
        trial, SMALL, lambda c: option1_min_bound(c.L_f, c.delta, 1) / divisor, 2.0
    )
    divisors, ball = accuracy_divisors(trial), rows(initial_seeds(trial))
    reached = statistics.decide_inequality([run.min_ratio for row in ball for run in row])
    claimed = {"exponent of FO": 1.0, "exponent of LO": 2.0}
    runs = len(ball) * divisors.size
    if reached.verdict == Verdict.VIOLATED:  # then exponents say nothing
        decision = replace(reached, reason=f"|G|^2 <= eps is not reached. {reached.reason}")
        return Evidence(decision, claimed, runs)
    lengths = trial.choose_by_effort((15, 32, 70, 150), (8, 15, 30, 57, 111, 214, 413, 800))
    on_chain = [_cost_to_target_on_chain(trial, T) for T in lengths]
    decades = trial.choose_by_effort(1.0, 2.0)
    parts = {}
    for name, subject, power in (("FO", "sfo_to_target", 1.0), ("LO", "lo", 2.0)):
        calls = [getattr(run, subject) for run in on_chain]
        fit = statistics.fit_exponent(lengths, calls, least_decades=decades)
        parts[name] = {
            f"zero chain, {decades:g} decades of eps": statistics.decide_exponent(fit, power),
            "l1 ball": decide_call_exponent(trial, divisors, rows, subject, power),
        }
    decision = statistics.combine_parts_and_conditions(parts, {"|G|^2/eps": reached})
    return Evidence(decision, claimed, len(lengths) + runs)


def _cost_to_target_on_chain(trial: Trial, chain_length: int) -> RunCost:
    """Return the cost of NCGS on a chain, with option I, until the gradient mapping is small.

    The run ends where |G|^2 <= eps, on a chain of `chain_length` links.

    eps is (mu/l)^2. About 80 iterations are needed for each link. A run with more than 1000 + 120
    `chain_length` iterations counts as censored.
    """
    problem, limit = CHAIN(T=chain_length), 1000.0 + 120.0 * chain_length
    epsilon = (problem.mu / chain_smoothness()) ** 2
    return run_for_accuracy(trial, problem, epsilon, 2.0, limit=limit)


# --- the claims -----------------------------------------------------------------------------------

_bound = partial(Claim, kind="bound", algorithm="ncgs", assumptions=("C compact", "L >= L_f"))

OPTION1 = _bound(
    name="qu2018-thm1-I",
    source="qu2018 theorem 1, option I",
    statement=(
        "min over k of |G_lambda|^2 <= (12 L Delta + 16 L)/N, and the mean over k is at most "
        "(16 L Delta + 28 L)/(3N)"
    ),
    check=partial(check_option, option=1),
    formulas=(formula(option1_min_bound, SQUARE), formula(option1_mean_bound, SQUARE)),
    scale_dependence=NCGS.scale_dependence,
    instances=(NONCONVEX, FACE, SLOPE),
    schedule="alpha = 2/(k+1), beta = lambda = 1/(2L), eta = 1/N",
    expected_seconds=(0.9, 10.0),
)

OPTION2 = _bound(
    name="qu2018-thm1-II",
    source="qu2018 theorem 1, option II (mapping at theta_md_k, as in theorem 2)",
    statement=(
        "min over k of |G_beta|^2 <= 192 L^2 |theta_0-theta*|^2/(N^2(N+1)) "
        "+ (48 ell L/N)(|theta*|^2+2M^2) + 96 L/N, and the mean with p_k ~ k(k+1) likewise"
    ),
    check=partial(check_option, option=2),
    formulas=(
        formula(option2_min_bound, SQUARE, first=LENGTH, norm=LENGTH),
        formula(option2_mean_bound, SQUARE, first=LENGTH, norm=LENGTH),
    ),
    scale_dependence=NCGS.scale_dependence,
    instances=(NONCONVEX, FACE, MOMENTUM_SLOPE),
    schedule="alpha = 2/(k+1), beta = 1/(2L), lambda = k beta/2, eta = chi = 1/N",
    expected_seconds=(1.0, 10.0),
)

RATE = Claim(
    name="qu2018-cor1",
    source="qu2018 corollary 1",
    kind="rate",
    statement="|G|^2 <= eps after O(1/eps) FO and O(1/eps^2) LO",
    check=check_rate,
    instances=(CHAIN, SMALL),
    algorithm="ncgs",
    assumptions=("C compact",),
    schedule="theory, option I",
    expected_seconds=(2.0, 60.0),
    complexity=complexity("ncgs", MAPPING_SQ, FO=1.0, LO=2.0),
)
