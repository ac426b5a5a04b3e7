"""Theorem 1 and corollary 1 of MARS, and the law of its error e_t = g_t - grad f(x_t).

With beta the weight of the newest gradient and D = grad f(x_t) - grad f(x_{t-1}), the error given
the past has the mean (1 - beta) (e_{t-1} + (gamma - 1) D), and the variance of (1 - beta) gamma
(grad f(x_t, xi) - grad f(x_{t-1}, xi)) + beta grad f(x_t, xi). Theorem and corollary need delta,
with E|gamma (grad f(x, xi) - grad f(y, xi)) - (grad f(x) - grad f(y))|^2 <= delta^2 |x - y|^2. If
only additive noise separates the gradients, delta = |gamma - 1| L, as on the instances of both.
"""

import math
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.problems.additive_noise import SeparableQuadratic, make_noise
from pfbench.problems.base import FiniteSum
from pfbench.problems.catalogue import problem
from pfbench.sets.whole_space import WholeSpace
from pfbench.verification import Claim, make_instance
from pfbench.verification.statements.bound import bound
from pfbench.verification.statements.error_law import Past, error_law
from pfbench.verification.units import NUMBER, SQUARE, STEP, formula

GAMMAS = (0.0, 0.5, 0.9)
"""Values of gamma: the heavy ball, and two between it and STORM."""

# --- the instances --------------------------------------------------------------------------------


def make_noisy_parabola(begin: float, sigma: float) -> SeparableQuadratic:
    """Return x^2/2 from `begin` with noise of plus or minus `sigma`: a sum of two components."""
    return SeparableQuadratic(
        set=WholeSpace(1),
        start_point=np.array([begin]),
        noise=np.array([[sigma], [-sigma]]),
        weights=np.ones(1),
    )


def make_noisy_bowl(sigma: float) -> SeparableQuadratic:
    """Return a quadratic of five variables as a finite sum of 16 components with normal noise."""
    return SeparableQuadratic(
        set=WholeSpace(5),
        start_point=np.ones(5),
        noise=make_noise("normal", sigma, (5,), 16, np.random.default_rng(3)),
        weights=np.linspace(0.2, 1.0, 5),
    )


def make_curved_components() -> FiniteSum:
    """Return robust regression on four rows; differences of component gradients depend on x."""
    return problem("robust-regression", source="synthetic", rows=4, columns=2, seed=3, set="none")


def gradient_norm_squared(f: Any, x: Floats) -> float:
    """Return |grad f(x)|^2."""
    return float(np.sum(f.gradient(x) ** 2))


# --- the schedules and the bounds -----------------------------------------------------------------


def corollary_weight(T: float, L: float, delta: float, sigma2: float, gamma: float) -> float:
    """Return the weight beta of shulgin2026 corollary 1, for additive noise."""
    v = abs(gamma - 1.0) * L * delta / (sigma2 * T)
    return float(math.sqrt(v) + v ** (2.0 / 3.0) / math.cbrt(2.0))


def corollary_step(L: float, beta: float, gamma: float) -> float:
    """Return the step size eta of shulgin2026 corollary 1, for additive noise."""
    return 1.0 / (L * (1.0 + abs(gamma - 1.0) * (1.0 / beta + math.sqrt(2.0 / beta))))


def corollary_bound(T: float, L: float, delta: float, sigma2: float, gamma: float) -> float:
    """Return shulgin2026's bound (9) of the mean squared gradient, for additive noise."""
    v = abs(gamma - 1.0) * L * delta
    slow = 4.0 * math.sqrt(sigma2 * v / T) + 3.0 * math.cbrt(4.0 * v**2 * sigma2 / T**2)
    return (2.0 * L * delta + sigma2) / T + slow


def theorem_step(L: float, beta: float, gamma: float) -> float:
    """Return the step size eta of shulgin2026 theorem 1, for additive noise."""
    a = ((1.0 - beta) ** 3 / beta + 2.0 * (1.0 - beta) ** 2) * (gamma - 1.0) ** 2 / beta
    return 1.0 / (L * (1.0 + math.sqrt(a)))


def corollary_parameters(c: Constants, *, gamma: float) -> dict[str, Any]:
    """Return the parameters of shulgin2026 corollary 1; T makes the weight beta at most 0.8."""
    v = abs(gamma - 1.0) * c.L_f * c.delta / c.sigma2
    T = max(50, math.ceil(4.2 * v))
    beta = corollary_weight(T, c.L_f, c.delta, c.sigma2, gamma)
    return _parameters(T, beta, corollary_step(c.L_f, beta, gamma), gamma)


def theorem_parameters(c: Constants, *, gamma: float) -> dict[str, Any]:
    """Return the parameters of shulgin2026 theorem 1, with epsilon^2 = sigma sqrt(L delta/20)."""
    square = math.sqrt(c.L_f * c.delta * c.sigma2 / 20.0)
    beta = min(1.0, square / c.sigma2)
    eta = theorem_step(c.L_f, beta, gamma)
    T = math.ceil(2.0 * c.delta / (eta * square) + c.sigma2 / square)
    return {**_parameters(T, beta, eta, gamma), "epsilon": math.sqrt(square)}


def _parameters(T: int, beta: float, eta: float, gamma: float) -> dict[str, Any]:
    first = math.ceil(1.0 / beta * (1.0 - 1e-12))
    settings = {"iterations": T, "alpha": beta, "step": eta, "gamma": gamma}
    return {**settings, "batch": 1, "snapshot": first}


def bound_of_corollary(c: Constants, a: Any) -> float:
    """Return shulgin2026's bound (9) of the mean squared gradient for a claim's parameters."""
    return corollary_bound(a.iterations, c.L_f, c.delta, c.sigma2, a.gamma)


def bound_of_theorem(c: Constants, a: Any) -> float:
    """Return 4 epsilon^2, the bound of the mean squared gradient in shulgin2026 theorem 1."""
    return float(4.0 * a.epsilon**2)


# --- the law of the error -------------------------------------------------------------------------


def mean_error_vector(c: Constants, a: Any, past: Past) -> Floats:
    """Return the mean, given the past, of the error of MARS's gradient estimate."""
    change = past.problem.gradient(past.x) - past.problem.gradient(past.x - past.step)
    old_weight = 0.0 if past.t == 0 else 1.0 - a.alpha
    return np.asarray(old_weight * (past.error + (a.gamma - 1.0) * change))


def mean_squared_error(c: Constants, a: Any, past: Past) -> float:
    """Return the mean square, given the past, of MARS's estimate error for batches of one."""
    problem: Any = past.problem
    old_weight = 0.0 if past.t == 0 else 1.0 - a.alpha
    new, old = (
        np.array([problem.batch(np.array([i]), x) for i in range(problem.n)])
        for x in (past.x, past.x - past.step)
    )
    terms = old_weight * a.gamma * (new - old) + (1.0 - old_weight) * new
    mean = mean_error_vector(c, a, past)
    return float(mean @ mean + terms.var(axis=0).sum())


# --- the claims -----------------------------------------------------------------------------------

_NOISE = (
    "f L-smooth; delta = |gamma-1| L, as for additive noise",
    "gradients unbiased, of variance sigma^2",
)
_GAMMA = {"gamma": 0.5}

LAW = Claim(
    name="shulgin2026-law",
    source="Shulgin, Gadaev, Khirirat, Richtarik 2026, algorithm 1; the law: pfbench",
    statement=(
        "MARS, given the past: E e_t = (1-beta)(e_{t-1} + (gamma-1) D), D = grad f(x_t) - grad "
        "f(x_{t-1}), and the variance is that of (1-beta) gamma (grad f(x_t, xi) - grad f(x_{t-1}, "
        "xi)) + beta grad f(x_t, xi)"
    ),
    check=error_law(
        mean_squared_error,
        mean=mean_error_vector,
        exact=True,
        parameters={"iterations": 3, "batch": 1, "step": 0.2, "alpha": 0.3, "gamma": 0.6},
    ),
    instances=(make_instance(make_curved_components),),
    algorithm="mars",
    schedule="none: a statement about every step",
    expected_seconds=(0.5, 0.5),
    scale_dependence="the law takes gradients of the instance, which has units of its own",
)

COROLLARY = Claim(
    name="shulgin2026-cor1",
    source="Shulgin, Gadaev, Khirirat, Richtarik 2026 corollary 1",
    statement=(
        "MARS: E|grad f(x)|^2 <= 2 L Delta/T + 4 sigma sqrt(|gamma-1| L Delta/T) + 3 2^(2/3) "
        "(delta Delta sigma/T)^(2/3) + sigma^2/T, x uniform among x_0 .. x_{T-1}; gamma = 0, 0.5, "
        "0.9"
    ),
    check=bound(
        bound_of_corollary,
        gradient_norm_squared,
        parameters={f"gamma = {g:g}": partial(corollary_parameters, gamma=g) for g in GAMMAS},
        runs=(80, 160),
    ),
    instances=(
        make_instance(make_noisy_parabola, begin=1.0, sigma=0.2),
        make_instance(make_noisy_bowl, sigma=0.5),
    ),
    algorithm="mars",
    assumptions=_NOISE,
    schedule="beta and eta of the corollary, first batch 1/beta",
    expected_seconds=(5.0, 10.0),
    formulas=(
        formula(corollary_weight, NUMBER, _GAMMA, sigma2=SQUARE),
        formula(corollary_step, STEP, _GAMMA | {"beta": 0.3}),
        formula(corollary_bound, SQUARE, _GAMMA, sigma2=SQUARE),
    ),
)

THEOREM = Claim(
    name="shulgin2026-thm1",
    source="Shulgin, Gadaev, Khirirat, Richtarik 2026 theorem 1",
    statement=(
        "MARS: E|grad f(x)|^2 <= 4 epsilon^2 after T >= 2 Delta/(eta epsilon^2) + "
        "sigma^2/epsilon^2, x uniform among x_0 .. x_{T-1}, for gamma = 0, 0.5, 0.9"
    ),
    check=bound(
        bound_of_theorem,
        gradient_norm_squared,
        parameters={f"gamma = {g:g}": partial(theorem_parameters, gamma=g) for g in GAMMAS},
        runs=(80, 160),
    ),
    instances=(
        make_instance(make_noisy_parabola, begin=3.0, sigma=0.3),
        make_instance(make_noisy_parabola, begin=0.3, sigma=3.0),
    ),
    algorithm="mars",
    assumptions=_NOISE,
    schedule="beta = min(1, epsilon^2/sigma^2), eta of the theorem, first batch 1/beta",
    expected_seconds=(5.0, 10.0),
    formulas=(formula(theorem_step, STEP, _GAMMA | {"beta": 0.3}),),
)
