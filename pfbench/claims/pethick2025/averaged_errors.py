"""The errors of averaged gradients in pethick2025: lemmas D.2, D.3, D.4, D.6 and D.7.

Let u_k = E|d_k - grad f(x_k)|_2^2. The "sharper" bounds of sqrt(u_k) are pfbench's. These bounds
add a noise term and a bias term by Minkowski's inequality. The noise term is that of an average of
independent gradients; it is attained where f is affine. The bias term is that of steps of equal
length; it is attained along a straight path. The claims methods-run-uscg and methods-run-scg test
the exact law of the error, from which D.2 follows.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.claims.pethick2025 import parabolas
from pfbench.verification import Claim, Floats, Instance, NotTestable, Trial, make_instance
from pfbench.verification.instruments.enumerated_random import NotEnumerable, enumerate_draws
from pfbench.verification.instruments.normed_quadratics import HorizonProblem
from pfbench.verification.statements.each_instance import Parts, check_each_instance
from pfbench.verification.statements.path_mean import call_with_named, constants_with_norm
from pfbench.verification.statistics import decide_inequality
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
    bounds: Mapping[str, Callable[..., float]],
    weights: Mapping[str, float | None],
    is_recursion: bool = False,
) -> Parts:
    """Test bounds of the gradient error sqrt(u_k), or of u_k by u_(k-1), at each step k.

    `weights` has values of alpha by label; None stands for alpha_k = k^(-1/2). The arguments of a
    bound are k, alpha, u (which is u_(k-1)), L_f, sigma, reach (the longest step for gamma = 1) and
    s = reach gamma.
    """
    c, parts = constants_with_norm(problem), Parts()
    step = c["K"] ** -0.75
    reach = (2.0 if trial.claim.algorithm == "scg" else 1.0) * c["rho"] * c["zeta"]
    numbers = {"L_f": c["L_f"], "sigma": c["sigma"], "s": reach * step, "reach": reach}
    rounding = 1e-9 * reach * max(1.0, c["L_f"])
    for kind, alpha in weights.items():
        arguments = {"alpha": alpha} if alpha else {}
        method = trial.make(iterations=c["K"], batch=1, step=step, **arguments)
        u = mean_squared_errors(trial, problem, method)
        measured = u if is_recursion else np.sqrt(u)
        for label, bound in bounds.items():
            ratios = []
            for k in range(2 if is_recursion else 1, len(u) + 1):
                present = {"k": k, "alpha": alpha or k**-0.5, "u": float(u[k - 2])}
                value, upper = float(measured[k - 1]), call_with_named(bound, numbers | present)
                if upper > 0.0 or value > rounding:
                    ratios.append(value / upper if upper > 0.0 else math.inf)
            name = ", ".join(filter(None, (label, instance.label, kind)))
            parts[name] = decide_inequality(ratios)
    return parts


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


def _claim(
    number: str,
    algorithm: str,
    statement: str,
    printed: Callable[..., float],
    sharper: Callable[..., float],
    weights: Mapping[str, float | None],
    is_recursion: bool = False,
) -> Claim:
    unit, is_vanishing = SQUARE if is_recursion else GRADIENT, weights == VANISHES
    fixed = {} if is_vanishing else {"alpha": ALPHA}
    units = {"sigma": GRADIENT, "s": LENGTH, "reach": LENGTH, "k": NUMBER, "u": SQUARE}
    return Claim(
        name=f"pethick2025-lemD.{number}",
        source=f"pethick2025 lemma D.{number[0]}; sharper: pfbench",
        kind="law",
        statement=statement,
        check=partial(
            check_errors,
            bounds={"printed": printed, "sharper": sharper},
            weights=weights,
            is_recursion=is_recursion,
        ),
        instances=HELD if algorithm == "scg" else FREE,
        algorithm=algorithm,
        assumptions=("f smooth in the Euclidean norm", "gradients of variance at most sigma^2"),
        schedule="gamma = K^(-3/4), " + " and ".join(_SCHEDULES[a] for a in weights.values()),
        expected_seconds=(0.5, 0.5),
        admits={"step": (0.5, 1.0)} if is_vanishing else {},
        formulas=tuple(Formula(item, unit, fixed, units) for item in (printed, sharper)),
    )


VANISHES: Mapping[str, float | None] = MappingProxyType({"": None})
CONSTANTLY: Mapping[str, float | None] = MappingProxyType({"": ALPHA})
BOTH: Mapping[str, float | None] = MappingProxyType(
    {"alpha constant": ALPHA, "alpha vanishing": None}
)
_SCHEDULES = {None: "alpha_k = k^(-1/2)", ALPHA: f"alpha = {ALPHA:g}"}

_RECURSION = (
    "u_k <= (1-alpha_k/2) u_(k-1) + 2 L_2^2 s^2/alpha_k + alpha_k^2 sigma^2, s = {} gamma; sharper "
    "(ours): (1-alpha_k) u_(k-1) + (1-alpha_k)^2 L_2^2 s^2/alpha_k + alpha_k^2 sigma^2"
)
_NEXT = (next_error_bound_printed, next_error_bound_sharper, BOTH, True)

STEP = _claim("2", "uscg", "uSCG: " + _RECURSION.format("rho_2"), *_NEXT)
STEP_HELD = _claim(
    "2-scg", "scg", "SCG, as lemma D.2 with D_2 for rho_2: " + _RECURSION.format("D_2"), *_NEXT
)
CONSTANT = _claim(
    "3",
    "uscg",
    "uSCG, alpha_1 = 1: sqrt(u_k) <= sqrt(2) L_2 rho_2 gamma/alpha + (sqrt(alpha) + "
    f"(1-alpha/2)^(k/2)) sigma; {_AVERAGED}, s = rho_2 gamma",
    constant_alpha_error_bound_printed,
    constant_alpha_error_bound_sharper,
    CONSTANTLY,
)
VANISHING = _claim(
    "4",
    "uscg",
    "uSCG, alpha_k = k^(-1/2), gamma <= K^(-3/4): u_k <= (4 sigma^2 + 8 L_2^2 rho_2^2)/sqrt(k); "
    "sharper (ours): sqrt(u_k) <= sigma k^(-1/4) + L_2 rho_2 gamma (sqrt(k) - 1)",
    vanishing_alpha_error_bound_printed,
    vanishing_alpha_error_bound_sharper,
    VANISHES,
)
CONSTANT_HELD = _claim(
    "6",
    "scg",
    "SCG, alpha_1 = 1: sqrt(u_k) <= 2 L_2 D_2 gamma/alpha + (sqrt(2 alpha) + (1-alpha/2)^(k/2)) "
    f"sigma, as theorem 5.6 uses it; {_AVERAGED}, s = D_2 gamma",
    scg_constant_alpha_error_bound_printed,
    constant_alpha_error_bound_sharper,
    CONSTANTLY,
)
VANISHING_HELD = _claim(
    "7",
    "scg",
    "SCG, alpha_k = k^(-1/2), gamma <= K^(-3/4): u_k <= (4 sigma^2 + 8 L_2^2 D_2^2)/sqrt(k); "
    "sharper (ours): sqrt(u_k) <= sigma k^(-1/4) + L_2 D_2 gamma (sqrt(k) - 1)",
    vanishing_alpha_error_bound_printed,
    vanishing_alpha_error_bound_sharper,
    VANISHES,
)
