"""The errors of averaged gradients in pethick2025: lemmas D.2, D.3, D.4, D.6 and D.7.

Let u_k = E|d_k - grad f(x_k)|_2^2. The "sharper" bounds of sqrt(u_k) are pfbench's. These bounds
add a noise term and a bias term by Minkowski's inequality. The noise term is that of an average of
independent gradients; it is attained where f is affine. The bias term is that of steps of equal
length; it is attained along a straight path. The claims methods-run-uscg and methods-run-scg test
the exact law of the error, from which D.2 follows.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from pfbench.claims.pethick2025 import parabolas
from pfbench.verification import Claim, Floats, Instance, NotTestable, Trial, make_instance
from pfbench.verification.instruments.enumerated_random import NotEnumerable, enumerate_draws
from pfbench.verification.instruments.normed_quadratics import HorizonProblem
from pfbench.verification.statements.each_instance import Parts, check_each_instance
from pfbench.verification.statements.path_mean import constants_with_norm
from pfbench.verification.statistics import Decision, decide_inequality
from pfbench.verification.units import GRADIENT, LENGTH, NUMBER, SQUARE, Formula

ALPHA = 0.3

# --- the bounds of sqrt(u_k) ----------------------------------------------------------------------


def constant_alpha_error_bound_printed(
    k: float, alpha: float, L_f: float, s: float, sigma: float
) -> float:
    """Return pethick2025's bound D.3 of the error sqrt(u_k) of averaged gradients, as printed.

    The averaging weight alpha is constant.

    The error is that of uSCG. The longest step is s = rho_2 gamma.
    """
    noise = math.sqrt(alpha) + math.pow(1.0 - alpha / 2.0, k / 2.0)
    return math.sqrt(2.0) * L_f * s / alpha + noise * sigma


def scg_constant_alpha_error_bound_printed(
    k: float, alpha: float, L_f: float, s: float, sigma: float
) -> float:
    """Return pethick2025's bound D.6 of the error sqrt(u_k) of SCG's averaged gradients.

    The averaging weight alpha is constant.

    It has the form that theorem 5.6 uses, and s = D_2 gamma.
    """
    noise = math.sqrt(2.0 * alpha) + math.pow(1.0 - alpha / 2.0, k / 2.0)
    return 2.0 * L_f * s / alpha + noise * sigma


def constant_alpha_error_bound_sharper(
    k: float, alpha: float, L_f: float, s: float, sigma: float
) -> float:
    """Return pfbench's bound, bias plus noise, of the error sqrt(u_k) of averaged gradients.

    The averaging weight alpha is constant.

    The bias is that of steps of length s.
    """
    left = math.pow(1.0 - alpha, k - 1.0)
    bias = L_f * s * (1.0 - alpha) / alpha * (1.0 - left)
    return bias + sigma * math.sqrt((alpha + left**2 * (2.0 - 2.0 * alpha)) / (2.0 - alpha))


def vanishing_alpha_error_bound_printed(k: float, L_f: float, reach: float, sigma: float) -> float:
    """Return pethick2025's bounds D.4 and D.7 of the error sqrt(u_k) of averaged gradients.

    The averaging weight is alpha_k = k^(-1/2).

    `reach` is rho_2, and for SCG it is D_2.
    """
    return math.sqrt((4.0 * sigma**2 + 8.0 * (L_f * reach) ** 2) / math.sqrt(k))


def vanishing_alpha_error_bound_sharper(k: float, L_f: float, s: float, sigma: float) -> float:
    """Return pfbench's bound of the error sqrt(u_k) of averaged gradients, for alpha_k = k^(-1/2).

    It is sigma k^(-1/4) + L_2 s (sqrt(k) - 1).
    """
    return sigma * math.pow(k, -0.25) + L_f * s * (math.sqrt(k) - 1.0)


# --- the bounds of u_k by u_(k-1) -----------------------------------------------------------------


def next_error_bound_printed(u: float, alpha: float, L_f: float, s: float, sigma: float) -> float:
    """Return pethick2025's bound D.2 of the squared gradient error u_k, given u_(k-1) = `u`.

    alpha_k is `alpha`.
    """
    return (1.0 - alpha / 2.0) * u + 2.0 * (L_f * s) ** 2 / alpha + (alpha * sigma) ** 2


def next_error_bound_sharper(u: float, alpha: float, L_f: float, s: float, sigma: float) -> float:
    """Return pfbench's bound of the squared gradient error u_k, given u_(k-1) = `u`.

    The weights in Young's inequality are 1/(1-alpha) and 1/alpha, where alpha_k is `alpha`.
    """
    bias = ((1.0 - alpha) * L_f * s) ** 2 / alpha
    return (1.0 - alpha) * u + bias + (alpha * sigma) ** 2


# --- the checks -----------------------------------------------------------------------------------


def mean_squared_errors(trial: Trial, problem: HorizonProblem, algorithm: Any) -> Floats:
    """Return the mean squared errors, over all draws, of the averaged gradients d_1 .. d_K.

    They are u_k = E|d_k - grad f(x_k)|_2^2. With one component there are no draws, and one run is
    enough.

    Raises
    ------
    NotTestable
        If the draws cannot be enumerated, or the method does not yield its estimates.
    """

    def run_squares(rng: Any) -> Floats:
        pairs = trial.follow_with_previous_point(problem, algorithm, rng=rng)
        errors = (step.estimate - problem.gradient(x) for x, step in pairs)
        return np.array([float(np.vdot(error, error)) for error in errors])

    if problem.n == 1:
        return run_squares(None)
    try:
        return np.asarray(sum(chance * visited for chance, visited in enumerate_draws(run_squares)))
    except NotEnumerable as error:
        raise NotTestable("the random draws of the method cannot be enumerated") from error


@check_each_instance()
def check_errors(
    trial: Trial,
    instance: Instance,
    problem: Any,
    *,
    is_alpha_constant: bool,
    is_constrained: bool,
    printed: Callable[..., float],
) -> Parts:
    """Test that the gradient error sqrt(u_k) is at most the printed and the sharper bound."""
    result, reach, numbers = _error_squares_by_iteration(
        trial, problem, is_alpha_constant=is_alpha_constant, is_constrained=is_constrained
    )
    numbers |= {"alpha": ALPHA} if is_alpha_constant else {}
    way = {"s": numbers.pop("s")}
    sharper = (
        constant_alpha_error_bound_sharper
        if is_alpha_constant
        else vanishing_alpha_error_bound_sharper
    )
    of_printed = way if is_alpha_constant else {"reach": reach}
    ratios: dict[str, list[float]] = {"printed": [], "sharper": []}
    for k, u in enumerate(np.sqrt(result), 1):
        for label, bound in (
            ("printed", printed(k=k, **numbers, **of_printed)),
            ("sharper", sharper(k=k, **numbers, **way)),
        ):
            if bound > 0.0 or u > 1e-9 * reach * max(1.0, numbers["L_f"]):
                ratios[label].append(float(u) / bound if bound > 0.0 else math.inf)
    return {f"{label}, {instance.label}": decide_inequality(some) for label, some in ratios.items()}


@check_each_instance(repetitions=2)
def check_error_recursion(
    trial: Trial, instance: Instance, problem: Any, *, is_constrained: bool
) -> Iterator[tuple[str, Decision]]:
    """Test the bounds of each squared gradient error u_k in terms of the previous one, u_(k-1).

    The momentum is a constant alpha, or alpha_k = k^(-1/2).
    """
    for constant in (True, False):
        u, _, numbers = _error_squares_by_iteration(
            trial, problem, is_alpha_constant=constant, is_constrained=is_constrained
        )
        kind = "constant" if constant else "vanishing"
        name = f"{instance.label}, alpha {kind}"
        for label, bound in (
            ("printed", next_error_bound_printed),
            ("sharper", next_error_bound_sharper),
        ):
            ratios = [
                float(u[k - 1]) / bound(float(u[k - 2]), ALPHA if constant else k**-0.5, **numbers)
                for k in range(2, len(u) + 1)
            ]
            yield f"{label}, {name}", decide_inequality(ratios)


def _error_squares_by_iteration(
    trial: Trial, problem: HorizonProblem, *, is_alpha_constant: bool, is_constrained: bool
) -> tuple[Floats, float, dict[str, float]]:
    """Return the squared gradient errors of all K iterations, and numbers that enter their bounds.

    The numbers are `reach`, the longest step for gamma = 1, and the constants L_f, sigma and
    s = reach gamma.
    """
    c = constants_with_norm(problem)
    step = c["K"] ** -0.75
    reach = (2.0 if is_constrained else 1.0) * c["rho"] * c["zeta"]
    arguments = {"alpha": ALPHA} if is_alpha_constant else {}
    algorithm = trial.make(iterations=c["K"], batch=1, step=step, **arguments)
    numbers = {"L_f": c["L_f"], "sigma": c["sigma"], "s": reach * step}
    return mean_squared_errors(trial, problem, algorithm), reach, numbers


# --- the claims -----------------------------------------------------------------------------------

FREE = (
    make_instance(parabolas.make_pure_noise_problem, K=8),
    make_instance(parabolas.make_distant_parabola, K=8, begin=100.0),
    make_instance(parabolas.make_two_point_noise_parabola, K=8, size=5.0),
)
HELD = (
    make_instance(parabolas.distant_centre_instance, K=8, size=0.0),
    make_instance(parabolas.distant_centre_instance, K=8, size=5.0),
)
_AVERAGED = (
    "sharper (ours): L_2 s (1-alpha)/alpha (1 - (1-alpha)^(k-1)) + sigma sqrt(alpha/(2-alpha) + "
    "(1-alpha)^(2k-2) (2-2alpha)/(2-alpha))"
)


def _claim(number: str, algorithm: str, statement: str, printed: Callable[..., float]) -> Claim:
    constant, retained = printed is not vanishing_alpha_error_bound_printed, algorithm == "scg"
    fixed = {"alpha": ALPHA} if constant else {}
    units = {"sigma": GRADIENT, "s": LENGTH, "reach": LENGTH, "k": NUMBER}
    sharper = (
        constant_alpha_error_bound_sharper if constant else vanishing_alpha_error_bound_sharper
    )
    return Claim(
        name=f"pethick2025-lemD.{number}",
        source=f"pethick2025 lemma D.{number}; sharper: pfbench",
        kind="law",
        statement=statement,
        check=partial(
            check_errors, is_alpha_constant=constant, is_constrained=retained, printed=printed
        ),
        instances=HELD if retained else FREE,
        algorithm=algorithm,
        assumptions=("f smooth in the Euclidean norm", "gradients of variance at most sigma^2"),
        schedule=f"alpha = {ALPHA:g}" if constant else "alpha_k = k^(-1/2), gamma = K^(-3/4)",
        expected_seconds=(0.5, 0.5),
        admits={} if constant else {"step": (0.5, 1.0)},
        formulas=tuple(Formula(item, GRADIENT, fixed, units) for item in (printed, sharper)),
    )


def _recursion_claim(name: str, algorithm: str, statement: str, reach: str) -> Claim:
    units = {"sigma": GRADIENT, "s": LENGTH, "u": SQUARE}
    retained = algorithm == "scg"
    return Claim(
        name=f"pethick2025-{name}",
        source="pethick2025 lemma D.2; sharper: pfbench",
        kind="law",
        statement=(
            f"{statement}: u_k <= (1-alpha_k/2) u_(k-1) + 2 L_2^2 s^2/alpha_k + alpha_k^2 sigma^2, "
            f"s = {reach} gamma; sharper (ours): (1-alpha_k) u_(k-1) + (1-alpha_k)^2 L_2^2 s^2/"
            "alpha_k + alpha_k^2 sigma^2"
        ),
        check=partial(check_error_recursion, is_constrained=retained),
        instances=HELD if retained else FREE,
        algorithm=algorithm,
        assumptions=("f smooth in the Euclidean norm", "gradients of variance at most sigma^2"),
        schedule=f"alpha = {ALPHA:g}, and alpha_k = k^(-1/2); gamma = K^(-3/4)",
        expected_seconds=(1.0, 1.0),
        formulas=tuple(
            Formula(item, SQUARE, {"alpha": ALPHA}, units)
            for item in (next_error_bound_printed, next_error_bound_sharper)
        ),
    )


STEP = _recursion_claim("lemD.2", "uscg", "uSCG", "rho_2")
STEP_HELD = _recursion_claim("lemD.2-scg", "scg", "SCG, as lemma D.2 with D_2 for rho_2", "D_2")
CONSTANT = _claim(
    "3",
    "uscg",
    "uSCG, alpha_1 = 1: sqrt(u_k) <= sqrt(2) L_2 rho_2 gamma/alpha + (sqrt(alpha) + "
    f"(1-alpha/2)^(k/2)) sigma; {_AVERAGED}, s = rho_2 gamma",
    constant_alpha_error_bound_printed,
)
VANISHING = _claim(
    "4",
    "uscg",
    "uSCG, alpha_k = k^(-1/2), gamma <= K^(-3/4): u_k <= (4 sigma^2 + 8 L_2^2 rho_2^2)/sqrt(k); "
    "sharper (ours): sqrt(u_k) <= sigma k^(-1/4) + L_2 rho_2 gamma (sqrt(k) - 1)",
    vanishing_alpha_error_bound_printed,
)
CONSTANT_HELD = _claim(
    "6",
    "scg",
    "SCG, alpha_1 = 1: sqrt(u_k) <= 2 L_2 D_2 gamma/alpha + (sqrt(2 alpha) + (1-alpha/2)^(k/2)) "
    f"sigma, as theorem 5.6 uses it; {_AVERAGED}, s = D_2 gamma",
    scg_constant_alpha_error_bound_printed,
)
VANISHING_HELD = _claim(
    "7",
    "scg",
    "SCG, alpha_k = k^(-1/2), gamma <= K^(-3/4): u_k <= (4 sigma^2 + 8 L_2^2 D_2^2)/sqrt(k); "
    "sharper (ours): sqrt(u_k) <= sigma k^(-1/4) + L_2 D_2 gamma (sqrt(k) - 1)",
    vanishing_alpha_error_bound_printed,
)
