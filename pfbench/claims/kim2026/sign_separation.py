"""Sign steps against gradient descent with any fixed step, on one steep coordinate.

The comparison is pfbench's. f = (d x_1^2 + x_2^2 + ... + x_d^2)/2 from (1, ..., 1), and the target
is a mean |grad f|_1 of at most (d-1)/2. In the l-infinity norm, L = 2d - 1. uSCG with exact
gradients and gamma = sqrt(2 Delta/(L K)) reaches the target after K = ceil(4 L^2/(d-1)^2) steps,
which is 17 for d >= 18. Gradient descent with a step of 2/d or more never shrinks x_1, so none of
its points has that norm. With a smaller step, the other coordinates stay above 1/2 for ln 2/(-ln(1
- 2/d)) steps, about 0.35 d. On diagonal matrices, this is a comparison of Muon with gradient
descent.
"""

import math
from typing import Any

import numpy as np

from pfbench.verification import Claim, Floats, Instance, Trial, make_instance
from pfbench.verification.instruments.normed_quadratics import HorizonProblem, vector_quadratic
from pfbench.verification.statements.each_instance import Parts, check_each_instance
from pfbench.verification.statements.path_mean import gradient_dual_norm, norm_constants
from pfbench.verification.statistics import combine_all, decide_exact
from pfbench.verification.units import NUMBER, formula

STEPS = np.linspace(0.02, 1.5, 38)
"""Steps of gradient descent, in units of 2/d."""


def make_stretched_quadratic(d: int) -> HorizonProblem:
    """Return a quadratic with one steep coordinate, in the l-infinity norm.

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


@check_each_instance(combine=combine_all, repetitions=len(STEPS) + 1)
def check_separation(trial: Trial, instance: Instance, problem: Any) -> Parts:
    """Test that uSCG reaches the target in K steps, and gradient descent not even in more steps.

    Gradient descent makes fewer than `min_gradient_descent_steps` steps, with each of several step
    sizes.
    """
    parts = Parts()
    c = norm_constants(problem)
    d, target = problem.shape[0], (problem.shape[0] - 1) / 2.0
    step = math.sqrt(2.0 * c["delta"] / (c["L"] * problem.K)) / c["rho"]
    algorithm = trial.make(iterations=problem.K, batch=1, step=step, alpha=1.0)
    mean = float(np.mean(gradient_norms_of_run(trial, problem, algorithm)))
    statement = f"After {problem.K} steps the mean is {mean / target:.3g} of the target."
    ratio = {"ratio": mean / target}
    parts[f"uscg, d = {d}"] = decide_exact(mean <= target, statement, statement, ratio)
    max_count = math.ceil(min_gradient_descent_steps(d)) - 1
    lower = math.inf
    for size in STEPS:
        other: Any = trial.catalogue_algorithm("prox-gd")
        slow = other(iterations=max_count, step=size * 2.0 / d)
        lower = min(lower, float(gradient_norms_of_run(trial, problem, slow).min()) / target)
    statement = (
        f"In {max_count} steps of gradient descent the least norm is {lower:.3g} of the target."
    )
    parts[f"descent, d = {d}"] = decide_exact(
        lower > 1.0, statement, statement, {"least over target": lower}
    )
    return parts


def gradient_norms_of_run(trial: Trial, problem: HorizonProblem, algorithm: Any) -> Floats:
    """Return the norms |grad f(x_k)|_1 along a run, k = 1, ..., K."""
    return np.array(
        [
            gradient_dual_norm(problem, x)
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

CLAIMS = (SEPARATION,)
