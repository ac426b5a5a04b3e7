"""Muon with Nesterov's momentum: the law of its estimate, its two bounds, and the faults."""

import math

import numpy as np
import pytest
from judging import planted, trial

from pfbench.algorithms import ALGORITHMS
from pfbench.claims.kim2026.theorem1 import beta_and_eta, compute_corrected_bound, parabola
from pfbench.claims.peng2026 import nesterov_momentum
from pfbench.oracles import Ledger, Oracles
from pfbench.problems.sampler import RandomRegression
from pfbench.sets.norms import LmoQuality
from pfbench.sets.whole_space import WholeSpace
from pfbench.verification.instruments.enumerated_random import enumerate_draws

pytestmark = pytest.mark.claims


# --- the law of the estimate, exact ---------------------------------------------------------------

BETA, T = 0.7, 5
PATH = np.random.default_rng(5).standard_normal((T, 2))


class FixedPath(Oracles):
    """Answers a minimisation with the move to the next point of the path."""

    def __init__(self, problem):
        super().__init__(problem, Ledger(), problem.set.diameter)
        self.moves = iter([*np.diff(PATH, axis=0), np.zeros(2)])

    def lo(self, d):
        return next(self.moves)


def small_regression():
    """Return least squares on three random rows with unequal probabilities."""
    rng = np.random.default_rng(3)
    return RandomRegression(
        features=rng.standard_normal((3, 2)),
        targets=rng.standard_normal(3),
        probabilities=np.array([0.5, 0.3, 0.2]),
        set=WholeSpace(2),
    )


def enumerated_errors(problem, name):
    """Return E|d_t - grad f(x_t)|^2 along the path over all sequences of draws."""
    method = ALGORITHMS[name](iterations=T, step=1.0, batch=1, beta=BETA)

    def errors(rng):
        states = method.run(FixedPath(problem), PATH[0], rng)
        return [
            ((state.estimate - problem.gradient(x)) ** 2).sum()
            for x, state in zip(PATH, states, strict=True)
        ]

    outcomes = list(enumerate_draws(errors))
    assert len(outcomes) == 3**T
    return sum(chance * np.array(result) for chance, result in outcomes)


def expected_errors(problem, beta1, beta2):
    """Return the same by the weights of the gradients' errors and of the path in e_t."""
    gradients = [problem.gradient(x) for x in PATH]
    rows, targets = problem.features, problem.targets
    variances = []
    for x, mean in zip(PATH, gradients, strict=True):
        singles = rows * (rows @ x - targets)[:, None]
        variances.append(problem.probabilities @ ((singles - mean) ** 2).sum(axis=1))
    expected = []
    for t in range(1, T + 1):
        powers = beta1 ** np.arange(t - 1, -1, -1.0)
        weights = beta2 * (1 - beta1) * powers
        weights[-1] = 1 - beta1 * beta2
        moves = -np.diff(gradients[:t], axis=0, prepend=[np.zeros(2)])
        bias = beta1 * beta2 * powers @ moves
        expected.append(bias @ bias + weights**2 @ variances[:t])
    return expected


@pytest.mark.parametrize(("name", "beta2"), [("muon-nesterov", BETA), ("muon", 1.0)])
def test_the_law_of_the_estimate(name, beta2):
    problem = small_regression()
    law = enumerated_errors(problem, name)
    np.testing.assert_allclose(law, expected_errors(problem, BETA, beta2), rtol=1e-12)
    assert np.abs(law / expected_errors(problem, BETA, BETA + 1.0 - beta2) - 1.0).max() > 0.1


# --- the bounds -----------------------------------------------------------------------------------


def test_v_is_the_limit_of_the_squares_of_the_weights():
    weights = 0.8 * 0.1 * 0.9 ** np.arange(1, 400)
    assert nesterov_momentum.limit_of_squared_weights(0.9, 0.8) == pytest.approx(
        (1 - 0.9 * 0.8) ** 2 + weights @ weights, rel=1e-12
    )
    assert nesterov_momentum.limit_of_squared_weights(0.9, 0.9) == pytest.approx(0.0706, abs=5e-5)
    assert nesterov_momentum.limit_of_squared_weights(0.9, 1.0) == pytest.approx(1 / 19)


def test_with_beta2_of_1_the_bound_is_that_of_muon():
    numbers = {"K": 50, "L": 2.0, "delta": 1.5}
    beta, eta = beta_and_eta(**numbers, r=3, sigma=0.7)
    bound = nesterov_momentum.norm_bound_sharper(
        **numbers,
        initial=math.sqrt(2 * 2.0 * 1.5),
        noise=math.sqrt(3) * 0.7,
        eta=eta,
        beta1=beta,
        beta2=1.0,
        quality=LmoQuality(0.8, 1.1),
    )
    corrected = compute_corrected_bound(**numbers, r=3, sigma=0.7, lo=0.8, hi=1.1)
    assert beta > 0.0
    assert bound == pytest.approx(corrected, rel=1e-12)


@pytest.mark.parametrize("beta1", [0.0, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("beta2", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("sigma", [0.0, 2.0])
def test_the_printed_bound_is_never_smaller_and_the_step_is_the_best(beta1, beta2, sigma):
    numbers = {"K": 50, "delta": 1.5, "beta1": beta1, "beta2": beta2}

    def bound(eta):
        return nesterov_momentum.norm_bound_sharper(
            **numbers,
            L=3.0,
            initial=0.6,
            noise=math.sqrt(3) * sigma,
            eta=eta,
            quality=nesterov_momentum.EXACT,
        )

    best = nesterov_momentum.noiseless_best_step(L=3.0, **numbers)
    assert bound(best) <= min(bound(1.01 * best), bound(0.99 * best))
    printed = nesterov_momentum.norm_bound_printed(
        **numbers, r=3, L_f=1.0, sigma=sigma, initial=0.6 / math.sqrt(3), eta=best
    )
    assert bound(best) <= printed * (1 + 1e-12)


# --- the claim and its faults ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "ratios"),
    [
        (None, (1.0, 0.6296, 0.4198)),
        ("muon-nesterov-long-step", (4.04, 1.3942, 0.1726)),
        ("muon-nesterov-short-step", (2.125, 1.9300, 1.0621)),
    ],
    ids=["right", "8 eta", "eta/4"],
)
def test_ratios_of_the_parabola(fault, ratios):
    kind = fault and planted(fault)
    for beta, ratio in zip(nesterov_momentum.BETAS, ratios, strict=True):
        decisions, _ = nesterov_momentum._check_instance(
            trial(nesterov_momentum.THEOREM, kind), parabola(100), beta, "parabola"
        )
        measured = decisions["pfbench's, parabola"].measured["ratio"]
        assert measured == pytest.approx(ratio, abs=1e-4)
