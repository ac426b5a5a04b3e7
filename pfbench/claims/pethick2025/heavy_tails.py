"""uSCG and Muon with noise of bounded p-th moment, 1 < p <= 2: the mean of |grad f(x_k)|_*.

The statement and its proof are pfbench's. Let d_k be the mean of the g_j with weights c_j of sum 1:
uSCG's average, or Muon's momentum over the sum of its weights, which has the same minimiser. The
error of d_k is at most L_2 rho_2 gamma times the sum of (k - j) c_j, plus the sum of the c_j xi_j.
As |a + b|^p <= |a|^p + p |a|^(p-2) <a, b> + 2^(2-p) |b|^p, the p-th moment of that sum is at most
2^(2-p) sigma_p^p times the sum of the c_j^p. Lemma D.1 of pethick2025 gives the other terms. With
gamma of order K^(-(2p-1)/(3p-2)) and alpha of order K^(-p/(3p-2)), the bound is of order
K^(-(p-1)/(3p-2)).

The instance is one of signs, and so is one of Muon: see the claim pethick2025-muon-diagonal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.claims.pethick2025.descent import descent_bound
from pfbench.problems.additive_noise import SeparableQuadratic
from pfbench.problems.noisy_gradients import NoiseDistribution, NoisyGradient
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.catalogue import norm_ball
from pfbench.sets.whole_space import WholeSpace
from pfbench.verification import Claim, Instance, Trial, make_instance
from pfbench.verification.instruments.normed_quadratics import HorizonProblem
from pfbench.verification.statements.each_instance import Parts, check_each_instance
from pfbench.verification.statistics import decide_mean_sequentially
from pfbench.verification.units import GRADIENT, LENGTH, NUMBER, formula

COPIES = 200
"""Number of independent copies of x^2/2 in one run."""


@dataclass(frozen=True, eq=False, kw_only=True)
class IndependentNoise(NoisyGradient):
    """Sampler whose gradient gets independent noise in each entry."""

    name = "independent-noise"
    atoms = None

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Return independent draws of the noise vector, shape (size, d)."""
        d = self.function.shape[0]
        return self.noise.draw(rng, size * d).reshape(size, d)

    def mean_gradient(self, values: Floats, x: Floats) -> Floats:
        """Return the gradient at x plus the mean of the draws."""
        return np.asarray(self.gradient(x) + values.mean(axis=0))

    def noise_constants(self, constants: Constants, start: Floats) -> dict[str, tuple[float, str]]:
        """Return the variance sigma2 of a draw of the noise, with the reason, by name."""
        return {"sigma2": (start.size * self.noise.moment(2.0), "d variances of an entry: exact")}


def make_copies(K: int, p: float, q: float) -> HorizonProblem:
    """Return independent copies of x^2/2 from 1, with skewed noise of p-th moment 1.

    uSCG over the l-infinity norm moves each copy alone, so that a run has a sample of each. The
    measured mean and its bound are those of one copy.
    """
    d = COPIES
    plain = SeparableQuadratic(
        set=WholeSpace(d), start_point=np.ones(d), noise=np.zeros((1, d)), weights=np.ones(d)
    )
    noise = NoiseDistribution("skewed", order=p, probability=q)
    sampler = IndependentNoise(function=plain, noise=noise)
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
    """Return the bound of the mean |grad f(x_k)|_* for noise of p-th moment `sigma`^p.

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
    parts = Parts()
    name = instance.label
    p = problem.inner.noise.order
    numbers = {"K": problem.K, "L": 1.0, "delta": 0.5, "sigma": 1.0, "p": p}
    step, alpha = step_length(**numbers), averaging_weight(**numbers)
    method = trial.make(iterations=problem.K, batch=1, step=step, alpha=alpha, beta=1.0 - alpha)
    is_muon = trial.claim.algorithm == "signum"
    bound = mean_norm_bound(**numbers, step=step, alpha=alpha, muon=is_muon)
    sizes = partial(mean_norms_by_copy, trial, problem, method)
    samples = map(sizes, trial.seeds(4, name))

    def draw(count: int, samples: Iterator[Floats] = samples) -> Floats:
        return next(samples)

    parts[name], _ = decide_mean_sequentially(draw, bound, batch=COPIES, limit=4 * COPIES)
    return parts


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


CLAIMS = (
    _claim("uSCG", "uscg", "c_k = alpha, c_j = (1-alpha) c_(j+1), but c_1 = (1-alpha)^(k-1)"),
    _claim("Muon and Signum, alpha = 1-beta", "signum", "c_j = alpha beta^(k-j)/(1-beta^k)"),
)
