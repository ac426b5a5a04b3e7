"""Identities of pethick2025: Signum, Muon and normalised steps are uSCG; decay is SCG.

A further claim bounds the distance that uSCG and SCG travel. The problems have one component, so
nothing is drawn. So methods that would draw in different ways have the same iterates.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from pfbench.algorithms.norm_ball_methods import USCG, Signum
from pfbench.claims.pethick2025 import parabolas
from pfbench.points import combine
from pfbench.sets.catalogue import norm_ball
from pfbench.verification import Claim, Floats, Instance, Trial, make_instance, statistics
from pfbench.verification.instruments.normed_quadratics import vector_quadratic
from pfbench.verification.statements.each_instance import Parts, check_each_instance, check_ratios
from pfbench.verification.units import LENGTH, NUMBER, formula

ROUNDING = 1e-9
"""Largest difference of two iterates, relative to their size."""

ALPHA, STEP, DECAY = 0.3, 0.5, 0.4

# --- the same iterates ----------------------------------------------------------------------------


def iterates_after_start(trial: Trial, problem: Any, algorithm: Any) -> Floats:
    """Return the iterates x_2, x_3, ... of a run, stacked in one array along the first axis."""
    return np.array([np.array(step.state.x) for step in trial.follow(problem, algorithm)])


def decide_identical_paths(result: Floats, expected: Floats) -> statistics.Decision:
    """Decide whether two sequences of iterates are equal, up to rounding."""
    shaped = result.shape == expected.shape
    deviation = (
        float(np.abs(result - expected).max() / np.abs(expected).max()) if shaped else np.inf
    )
    return statistics.decide_deviations({"off": deviation}, ROUNDING)


_same_iterates = check_each_instance({"off": 0.0}, statistics.combine_all)


@_same_iterates
def check_is_uscg(trial: Trial, instance: Instance, problem: Any, *, begin: str) -> Parts:
    """Test that a method's iterates equal those of uSCG with the same averaging weight.

    `begin` selects the initial momentum of uSCG: d_0 = 0 or d_1 = g.
    """
    common: Any = {"iterations": problem.K, "batch": 1, "step": STEP}
    methods = trial.make(**common, beta=1.0 - ALPHA), USCG(**common, alpha=ALPHA, begin=begin)
    paths = (iterates_after_start(trial, problem, method) for method in methods)
    return {instance.name: decide_identical_paths(*paths)}


@_same_iterates
def check_decay_is_scg(trial: Trial, instance: Instance, problem: Any) -> Parts:
    """Test that uSCG with weight decay mu equals SCG over the ball of radius rho/mu, step by step.

    SCG steps over the ball of radius rho/mu.
    """
    ball = norm_ball(f"{problem.norm.name}[radius={1.0 / DECAY}]", problem.shape)
    algorithm = trial.make(iterations=problem.K, batch=1, step=STEP, alpha=ALPHA, decay=DECAY)
    pairs = [
        (step.state.x, combine(x, ball.lo_zero_if_undetermined(step.estimate), STEP * DECAY))
        for x, step in trial.follow_with_previous_point(problem, algorithm)
    ]
    return {instance.label: decide_identical_paths(*map(np.array, zip(*pairs, strict=True)))}


@_same_iterates
def check_signum_on_diagonals(trial: Trial, instance: Instance, problem: Any) -> Parts:
    """Test that Muon's iterates, rotated back, are diagonal, with Signum's iterates as diagonals.

    Q'W_k P must be the diagonal matrix of x_k. Signum runs on the sum of h_j x_j^2/2, with the
    weights h_j of the matrix problem.
    """
    common: Any = {"iterations": problem.K, "batch": 1, "step": 0.1, "beta": 1.0 - ALPHA}
    vectors = vector_quadratic("linf", weights=problem.weights, begin=problem.start_point)
    signs = iterates_after_start(trial, vectors, Signum(**common))
    matrices = problem.rotate_back(iterates_after_start(trial, problem, trial.make(**common)))
    diagonals = signs[:, :, None] * np.eye(signs.shape[1])
    return {instance.label: decide_identical_paths(matrices, diagonals)}


# --- how far --------------------------------------------------------------------------------------


def ball_radius_bound(rho: float) -> float:
    """Return the radius rho, which bounds |x_k| for SCG over a ball."""
    return rho


def travel_bound(rho: float, gammas: float) -> float:
    """Return rho times the sum of all step sizes, the bound of uSCG's distance |x_k - x_1|."""
    return rho * gammas


def radius_ratios(trial: Trial, problem: Any) -> Iterator[float]:
    """Yield |x_k| over its bound rho, in the problem's norm, along a run of SCG."""
    for x in _iterates(trial, problem, 0.1):
        yield problem.norm.norm(x) / ball_radius_bound(problem.norm.radius)


def travel_ratios(trial: Trial, problem: Any) -> Iterator[float]:
    """Yield |x_k - x_1| over its bound, in the problem's norm, along a run of uSCG."""
    for k, x in enumerate(_iterates(trial, problem, STEP), 1):
        bound = travel_bound(problem.norm.radius, STEP * k)
        yield problem.norm.norm(x - problem.start()) / bound


def _iterates(trial: Trial, problem: Any, step: float) -> Floats:
    algorithm = trial.make(iterations=problem.K, batch=1, step=step, alpha=ALPHA)
    return iterates_after_start(trial, problem, algorithm)


# --- the claims -----------------------------------------------------------------------------------


def _identity_claim(algorithm: str, norm: str, begin: str) -> Claim:
    start = "d_0 = 0" if begin == "zero" else "d_1 = g_1"
    return Claim(
        name=f"pethick2025-identity-{algorithm}",
        source="pethick2025, examples of uSCG",
        kind="identity",
        statement=(
            f"uSCG over {norm} with alpha = 1 - beta and {start} has the iterates of {algorithm}"
        ),
        check=partial(check_is_uscg, begin=begin),
        instances=(make_instance(parabolas.make_noiseless_least_squares, K=30, norm=norm),),
        algorithm=algorithm,
        schedule="beta = 0.7, gamma = 0.5",
        expected_seconds=(0.05, 0.05),
    )


SIGNUM = _identity_claim("signum", "linf", "zero")
MUON = _identity_claim("muon", "spectral", "zero")
LENGTHS = _identity_claim("normalised-sgd", "l2", "gradient")

DECAYS = Claim(
    name="pethick2025-decay",
    source="pethick2025, on weight decay",
    kind="identity",
    statement=(
        "x + gamma lmo_rho(d) - gamma mu x = (1 - gamma mu) x + gamma mu lmo_(rho/mu)(d): uSCG "
        "with weight decay is SCG over a ball of radius rho/mu"
    ),
    check=check_decay_is_scg,
    instances=(
        make_instance(parabolas.make_spectral_least_squares, K=20),
        make_instance(parabolas.make_noiseless_least_squares, K=20, norm="linf"),
    ),
    algorithm="uscg",
    schedule="gamma = 0.5, mu = 0.4",
    expected_seconds=(0.05, 0.05),
)

DIAGONAL = Claim(
    name="pethick2025-muon-diagonal",
    source="on uSCG of pethick2025; pfbench",
    kind="identity",
    statement=(
        "on f(W) = sum f_j((Q'WP)_jj) from W_1 = Q diag(x_1) P', Q'W_k P of Muon is the diagonal "
        "matrix of Signum's x_k (ours): every instance of signs is one of Muon"
    ),
    check=check_signum_on_diagonals,
    instances=(make_instance(parabolas.make_rotated_instance, K=200),),
    algorithm="muon",
    schedule="beta = 0.7, gamma = 0.1",
    expected_seconds=(0.1, 0.1),
)

HELD = Claim(
    name="pethick2025-radius-scg",
    source="pethick2025, on SCG",
    kind="bound",
    statement="SCG from a point of the ball: |x_k| <= rho in the norm, for every k",
    check=partial(check_ratios, measure=radius_ratios),
    instances=(
        make_instance(parabolas.make_spectral_least_squares, K=60),
        make_instance(parabolas.make_noiseless_least_squares, K=60, norm="linf"),
    ),
    algorithm="scg",
    schedule="alpha = 0.3, gamma = 0.1",
    expected_seconds=(0.05, 0.05),
    formulas=(formula(ball_radius_bound, LENGTH),),
)

FREE = Claim(
    name="pethick2025-radius-uscg",
    source="pethick2025, on uSCG",
    kind="bound",
    statement="uSCG: |x_k - x_1| <= rho times the sum of the steps before, in the norm",
    check=partial(check_ratios, measure=travel_ratios),
    instances=(
        make_instance(parabolas.make_spectral_least_squares, K=20),
        make_instance(parabolas.make_distant_parabola, K=20, begin=100.0),
    ),
    algorithm="uscg",
    schedule="alpha = 0.3, gamma = 0.5",
    expected_seconds=(0.05, 0.05),
    formulas=(formula(travel_bound, LENGTH, gammas=NUMBER),),
)
