"""Statements of pfbench on uSCG: STORM's estimate, heavy tails, and Almond.

The statement and its proof are pfbench's. Steps are rho_2 gamma long, and alpha = L_ms rho_2
gamma/sigma. With a first batch of one sample, the exact law of STORM's error gives sqrt(u_k) <=
sqrt(2 L_ms rho_2 gamma sigma) + (1 - alpha)^(k-1) sigma. Lemma D.1 of pethick2025 gives the other
terms of the bound. The step gamma minimises the sum of the first and the third term.

With noise of bounded p-th moment, 1 < p <= 2, let d_k be the mean of the g_j with weights c_j of
sum 1: uSCG's average, or Muon's momentum over the sum of its weights, which has the same minimiser.
The error of d_k is at most L_2 rho_2 gamma times the sum of (k - j) c_j, plus the sum of the c_j
xi_j. As |a + b|^p <= |a|^p + p |a|^(p-2) <a, b> + 2^(2-p) |b|^p, the p-th moment of that sum is at
most 2^(2-p) sigma_p^p times the sum of the c_j^p. Lemma D.1 of pethick2025 gives the other terms.
With gamma of order K^(-(2p-1)/(3p-2)) and alpha of order K^(-p/(3p-2)), the bound is of order
K^(-(p-1)/(3p-2)). The instance is one of signs, and so is one of Muon: see the claim
pethick2025-muon-diagonal.

Almond averages minimisers in place of gradients, and stops where uSCG continues. Noise of 3 tau
with probability 1/4 and of -tau with 3/4 has mean 0 and median -tau. Averaged signs settle where
the *median* of the stochastic gradient is 0. For this noise they settle at |grad f| = tau =
sigma/sqrt(3), for every alpha and however small the step. The source's own bound has the term
2 zeta sigma, which no step size reduces.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfbench.algorithms.norm_ball_methods import USCG
from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.claims.pethick2025 import parabolas
from pfbench.claims.pethick2025.descent import descent_bound
from pfbench.problems.additive_noise import SeparableQuadratic
from pfbench.problems.noisy_gradients import NoiseDistribution, NoisyGradient
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.catalogue import norm_ball
from pfbench.sets.whole_space import WholeSpace
from pfbench.verification import Claim, Evidence, Instance, Trial, make_instance
from pfbench.verification.instruments.normed_quadratics import HorizonProblem, vector_quadratic
from pfbench.verification.statements.each_instance import Parts, check_each_instance
from pfbench.verification.statements.path_mean import (
    IterateMeanBound,
    Numbers,
    constants_with_norm,
    gradient_dual_norm,
)
from pfbench.verification.statistics import combine_all, decide_exact, decide_mean_sequentially
from pfbench.verification.units import GRADIENT, LENGTH, NUMBER, formula


def storm_step(K: float, L_ms: float, rho: float, zeta: float, sigma: float, delta: float) -> float:
    """Return the step size for which the bound of uSCG with STORM estimates is nearly smallest.

    It is gamma = (2 A/B)^(2/3), A = Delta/(rho K), B = 2 zeta sqrt(2 L_ms rho_2 sigma).
    """
    A = delta / (rho * K)
    B = 2.0 * zeta * math.sqrt(2.0 * L_ms * rho * zeta * sigma)
    return math.pow(2.0 * A / B, 2.0 / 3.0)


def storm_parameters(c: Numbers) -> Numbers:
    """Return the parameters of uSCG with STORM: step gamma, weight alpha, first batch of size 1."""
    names = ("K", "L_ms", "rho", "zeta", "sigma", "delta")
    step = storm_step(**{name: c[name] for name in names})
    alpha = min(1.0, c["L_ms"] * c["rho"] * c["zeta"] * step / c["sigma"])
    return {"step": step, "alpha": alpha, "snapshot": 1}


def storm_bound(
    K: float, L: float, L_ms: float, rho: float, zeta: float, sigma: float, delta: float
) -> float:
    """Return the bound of the mean |grad f(x_k)|_* over K iterations of uSCG with STORM estimates.

    The bound is Delta/(rho gamma K) + L rho gamma/2 + 2 zeta [sqrt(2 L_ms s sigma) + sigma/(alpha
    K)] with s = rho_2 gamma. If alpha is capped at 1, the term of the error is at least sigma.
    """
    gamma = storm_step(K, L_ms, rho, zeta, sigma, delta)
    s = rho * zeta * gamma
    alpha = min(1.0, L_ms * s / sigma)
    error = math.sqrt(2.0 * L_ms * s * sigma) + sigma / (alpha * K)
    return descent_bound(K, gamma, L, rho, delta, zeta, error)


STORM = Claim(
    name="pethick2025-uscg-mvr",
    source="on uSCG of pethick2025 with the estimate of cutkosky2019; pfbench",
    statement=(
        "uSCG along STORM, alpha = L_ms rho_2 gamma/sigma, gamma = (2A/B)^(2/3): mean E|grad f|_* "
        "<= Delta/(rho gamma K) + L rho gamma/2 + 2 zeta sqrt(2 L_ms rho_2 gamma sigma) + 2 zeta "
        "sigma/(alpha K), of order K^(-1/3) (ours)"
    ),
    check=IterateMeanBound(bounds={"ours": storm_bound}, parameters=storm_parameters),
    instances=(
        make_instance(parabolas.make_two_point_noise_parabola, K=1_000, size=1.63),
        make_instance(parabolas.make_linf_quadratic, K=100),
        make_instance(parabolas.make_spectral_least_squares, K=100),
    ),
    algorithm="uscg-mvr",
    assumptions=(
        "|grad f(x) - grad f(y)|_* <= L |x - y|",
        "the f_i smooth in mean square",
        "gradients of variance at most sigma^2",
    ),
    schedule="that of the statement, first batch of one",
    expected_seconds=(2.0, 2.0),
    formulas=(
        formula(storm_bound, GRADIENT, sigma=GRADIENT),
        formula(storm_step, NUMBER, sigma=GRADIENT),
    ),
)


COPIES = 200
"""Number of independent copies of x^2/2 in one run."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EntrywiseIndependentNoise(NoisyGradient):
    """Sampler whose gradient gets independent noise in each entry."""

    name = "independent-noise"
    atoms = None

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Return independent draws of the noise vector, shape (size, d)."""
        d = self.inner.shape[0]
        return self.noise.draw_scalars(rng, size * d).reshape(size, d)

    def mean_gradient(self, values: Floats, x: Floats) -> Floats:
        """Return the gradient at x plus the mean of the draws."""
        return np.asarray(self.gradient(x) + values.mean(axis=0))

    def noise_constants(self, constants: Constants, start: Floats) -> dict[str, tuple[float, str]]:
        """Return the constant sigma2, the noise variance, with the reason for its value."""
        return {"sigma2": (start.size * self.noise.moment(2.0), "d variances of an entry: exact")}


def make_copies(K: int, p: float, q: float) -> HorizonProblem:
    """Return independent copies of x^2/2, started at 1, with skewed noise of p-th moment 1.

    uSCG over the l-infinity norm moves each copy alone, so that a run has a sample of each. The
    measured mean and its bound are those of one copy.
    """
    d = COPIES
    plain = SeparableQuadratic(
        set=WholeSpace(d), start_point=np.ones(d), noise=np.zeros((1, d)), weights=np.ones(d)
    )
    noise = NoiseDistribution("skewed", order=p, probability=q)
    sampler = EntrywiseIndependentNoise(inner=plain, noise=noise)
    return HorizonProblem.from_problem(NormedProblem(sampler, norm_ball("linf", (d,))), K)


def averaging_weight(K: float, L: float, delta: float, sigma: float, p: float) -> float:
    """Return the weight alpha = min(1, 3 (L delta/(sigma^2 K))^(p/(3p-2))) of new gradients."""
    return float(min(1.0, 3.0 * (L * delta / (sigma**2 * K)) ** (p / (3.0 * p - 2.0))))


def step_length(K: float, L: float, delta: float, sigma: float, p: float) -> float:
    """Return the step length 1.2 (sigma/L) (L delta/(sigma^2 K))^((2p-1)/(3p-2))."""
    share = (L * delta / (sigma**2 * K)) ** ((2.0 * p - 1.0) / (3.0 * p - 2.0))
    return float(1.2 * sigma / L * share)


def mean_norm_bound(
    K: float, L: float, delta: float, sigma: float, p: float, step: float, alpha: float, muon: bool
) -> float:
    """Return the bound of uSCG's or Muon's mean |grad f(x_k)|_* for noise of p-th moment sigma^p.

    It is for K steps of uSCG or Muon with zeta = rho = 1.
    """
    left, power = (1.0 - alpha) ** np.arange(K + 1), (1.0 - alpha) ** p
    if muon:
        bias = (1.0 - alpha) / alpha - np.arange(1, K + 1) * left[1:] / (1.0 - left[1:])
        moment = alpha**p * (1.0 - left[1:] ** p) / (1.0 - power) / (1.0 - left[1:]) ** p
    else:
        bias = (1.0 - alpha) / alpha * (1.0 - left[:-1])
        moment = alpha**p * (1.0 - left[:-1] ** p) / (1.0 - power) + left[:-1] ** p
    noise = 2.0 ** ((2.0 - p) / p) * sigma * moment ** (1.0 / p)
    return descent_bound(K, step, L, 1.0, delta, 1.0, float(np.mean(L * step * bias + noise)))


def mean_norms_by_copy(trial: Trial, problem: HorizonProblem, method: Any, seed: int) -> Floats:
    """Return the mean |grad f(x_k)| over a run for each copy of the problem, shape (COPIES,)."""
    run = trial.follow_with_previous_point(problem, method, seed)
    return np.asarray(np.mean([np.abs(x) for x, _ in run], axis=0))


@check_each_instance(repetitions=COPIES)
def check_bound(trial: Trial, instance: Instance, problem: Any) -> Parts:
    """Test the bound of the mean |grad f(x_k)| over runs on independent copies of a problem."""
    p = problem.inner.noise.order
    numbers = {"K": problem.K, "L": 1.0, "delta": 0.5, "sigma": 1.0, "p": p}
    step, alpha = step_length(**numbers), averaging_weight(**numbers)
    method = trial.make(iterations=problem.K, batch=1, step=step, alpha=alpha, beta=1.0 - alpha)
    is_muon = trial.claim.algorithm == "signum"
    bound = mean_norm_bound(**numbers, step=step, alpha=alpha, muon=is_muon)
    seeds = iter(trial.seeds(4, instance.label))

    def draw(count: int) -> Floats:
        return mean_norms_by_copy(trial, problem, method, next(seeds))

    decision, _ = decide_mean_sequentially(draw, bound, batch=COPIES, limit=4 * COPIES)
    return {instance.label: decision}


_VALUES = {"p": 1.5, "alpha": 0.1, "muon": True}
_UNITS = {"sigma": GRADIENT, "step": LENGTH}


def _claim(subject: str, algorithm: str, weights: str) -> Claim:
    return Claim(
        name=f"pethick2025-heavy-tails-{algorithm}",
        source="on uSCG of pethick2025; pfbench",
        kind="bound",
        statement=(
            f"{subject}, noise with E|xi|^p <= sigma_p^p, 1 < p <= 2: mean E|grad f(x_k)|_* <= "
            "Delta/(rho gamma K) + L rho gamma/2 + 2 zeta mean [L_2 rho_2 gamma (sum of (k-j) c_j) "
            "+ 2^((2-p)/p) sigma_p (sum of c_j^p)^(1/p)] (ours), of order K^(-(p-1)/(3p-2)), "
            f"{weights}"
        ),
        check=check_bound,
        instances=tuple(
            make_instance(make_copies, K=K, p=p, q=q)
            for K, p, q in ((10_000, 1.5, 0.5), (1000, 1.5, 0.1), (1000, 1.2, 0.01))
        ),
        algorithm=algorithm,
        assumptions=("|grad f(x) - grad f(y)|_* <= L |x - y|", "noise of bounded p-th moment"),
        schedule="alpha and gamma of the orders for which the bound is of the stated order",
        expected_seconds=(3.0, 3.0),
        formulas=(
            formula(averaging_weight, NUMBER, {"p": 1.5}, sigma=GRADIENT),
            formula(step_length, LENGTH, {"p": 1.5}, sigma=GRADIENT),
            formula(mean_norm_bound, GRADIENT, _VALUES, **_UNITS),
        ),
    )


HEAVY_TAILS = (
    _claim("uSCG", "uscg", "c_k = alpha, c_j = (1-alpha) c_(j+1), but c_1 = (1-alpha)^(k-1)"),
    _claim("Muon and Signum, alpha = 1-beta", "signum", "c_j = alpha beta^(k-j)/(1-beta^k)"),
)


# --- Almond ---------------------------------------------------------------------------------------

TAU = 1.0

FLOOR, BELOW = 0.9, 0.4
"""Least |grad f| of Almond and largest |grad f| of uSCG, in units of tau."""

_SEEDS = 3


def gradient_floor_of_averaged_signs(sigma: float) -> float:
    """Return sigma/sqrt(3), the size at which |grad f| settles in runs with averaged signs."""
    return sigma / math.sqrt(3.0)


def make_skewed_noise_problem(K: int) -> HorizonProblem:
    """Return x^2/2 from x = 3 `TAU`, with skewed gradient noise of mean 0 and median -`TAU`."""
    noise = ((3.0 * TAU,), *((-TAU,),) * 3)
    return HorizonProblem.from_problem(
        vector_quadratic("linf", weights=(1.0,), begin=(3.0 * TAU,), noise=noise), K
    )


def check_settled_gradient_sizes(trial: Trial) -> Evidence:
    """Test that the mean |grad f| is near tau = sigma/sqrt(3) for Almond, and < 0.4 tau for uSCG.

    The mean varies by some hundredths of tau between runs, and its limits for the two methods
    differ by half of tau.
    """
    parts, numbers = {}, {}
    (item,) = trial.claim.instances
    problem = item()
    tau = gradient_floor_of_averaged_signs(constants_with_norm(problem)["sigma"])
    common: Any = {"iterations": problem.K, "batch": 1, "step": 20.0 / problem.K}
    methods: dict[str, list[Any]] = {
        "almond": [trial.make(**common, alpha=alpha) for alpha in (0.1, 0.5)],
        "uscg": [USCG(**common, alpha=0.1)],
    }
    for name, method in methods.items():
        mean_final_distances = [
            _mean_final_distance(trial, problem, created, seed)
            for created in method
            for seed in trial.seeds(_SEEDS, name)
        ]
        right = (
            min(mean_final_distances) >= FLOOR * tau
            if name == "almond"
            else max(mean_final_distances) <= BELOW * tau
        )
        numbers = {
            "least": min(mean_final_distances) / tau,
            "most": max(mean_final_distances) / tau,
        }
        statement = f"It settles between {numbers['least']:.3g} and {numbers['most']:.3g} tau."
        parts[name] = decide_exact(right, statement, numbers)
    return Evidence(combine_all(parts), {"least": FLOOR, "most": BELOW}, 3 * _SEEDS)


def _mean_final_distance(trial: Trial, problem: HorizonProblem, algorithm: Any, seed: int) -> float:
    points = [np.array(x) for x, _ in trial.follow_with_previous_point(problem, algorithm, seed)]
    return float(np.mean([gradient_dual_norm(problem, x) for x in points[len(points) // 2 :]]))


ALMOND_FLOOR = Claim(
    name="pethick2025-almond-floor",
    source="on Almond of pethick2025; pfbench",
    kind="separation",
    statement=(
        "x^2/2 with skewed noise: Almond settles at |grad f| = tau = 0.577 sigma for every alpha "
        "and small step, and uSCG with the same step and alpha = 0.1 below 0.4 tau (ours)"
    ),
    check=check_settled_gradient_sizes,
    instances=(make_instance(make_skewed_noise_problem, K=2_000),),
    algorithm="almond",
    assumptions=("noise whose median is not its mean",),
    schedule="gamma = 0.01, alpha = 0.1 and 0.5",
    expected_seconds=(1.5, 1.5),
    formulas=(formula(gradient_floor_of_averaged_signs, GRADIENT, sigma=GRADIENT),),
)
