"""Muon, with Nesterov's momentum, and normalised: bounds, laws, products, and the faults."""

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers import small_regression
from judging import planted, trial

from pfbench.algorithms import ALGORITHMS
from pfbench.claims.kim2026 import PAPER, orthogonalisers, theorem1
from pfbench.claims.kim2026.theorem1 import beta_and_eta, compute_corrected_bound
from pfbench.claims.peng2026 import nesterov_momentum
from pfbench.claims.zhang2026 import normuon_steps as paper
from pfbench.oracles import Ledger, Oracles
from pfbench.sets.norms import LmoQuality
from pfbench.sets.orthogonalisers import QUINTIC, map_singular_values
from pfbench.verification.instruments.enumerated_random import enumerate_draws
from pfbench.verification.statements import path_mean
from pfbench.verification.statements.path_mean import constants_with_norm

pytestmark = pytest.mark.claims

# --- kim2026: theorem 1 ---------------------------------------------------------------------------


def ratios(problem, kind=None, seeds=(0,)):
    """The means of what is measured over the corrected and over the printed bound."""
    c = constants_with_norm(problem)
    numbers = {key: c[key] for key in ("K", "L", "sigma", "delta")} | {"r": min(problem.shape)}
    beta, eta = theorem1.beta_and_eta(**numbers)
    found = trial(theorem1.THEOREM, kind)
    made = found.make(iterations=problem.K, batch=1, step=eta, beta=beta)
    every = []
    for seed in seeds:
        measured, lo, hi = path_mean.mean_norm_and_lmo_quality_limits(found, problem, made, seed)
        bounds = (
            theorem1.compute_corrected_bound(**numbers, lo=lo, hi=hi),
            theorem1.compute_printed_bound(**numbers, lo=lo),
        )
        every.append([measured / bound for bound in bounds])
    return np.mean(every, axis=0)


def test_without_noise_the_corrected_bound_is_reached_and_the_printed_one_is_a_third():
    problem = theorem1.parabola(100)
    assert constants_with_norm(problem)["delta"] == 0.5
    corrected, printed = ratios(problem)
    assert corrected == pytest.approx(0.9999, abs=5e-5)
    assert corrected / printed == pytest.approx(1.0 / 3.0, rel=1e-12)
    numbers = {"K": 100, "r": 1, "L": 1.0, "sigma": 0.0, "delta": 0.5}
    assert theorem1.compute_corrected_bound(**numbers, lo=1.0, hi=1.0) == pytest.approx(
        0.1061, abs=5e-5
    )
    assert theorem1.compute_printed_bound(**numbers, lo=1.0) == pytest.approx(0.0354, abs=5e-5)
    corrected, printed = ratios(theorem1.least_squares(400, 0.0))
    assert corrected > 0.999
    assert printed > 2.9


# --- kim2026: products of matrices ----------------------------------------------------------------


@pytest.mark.parametrize("degree", [1, 2])
def test_one_step_of_the_residual_is_a_polynomial(degree):
    """kappa = 1: u^2 (3 + u)/4, and kappa = 2: u^3 (40 + 15 u + 9 u^2)/64."""
    u = np.linspace(0.0, 1.0, 101)
    exact = u**2 * (3 + u) / 4 if degree == 1 else u**3 * (40 + 15 * u + 9 * u**2) / 64
    after = 1.0 - orthogonalisers.newton_schulz_scalar(np.sqrt(1.0 - u), degree) ** 2
    np.testing.assert_allclose(after, exact, rtol=0, atol=1e-14)
    assert (exact <= u ** (degree + 1) + 1e-15).all()


@pytest.mark.parametrize(("degree", "growth"), [(1, 1.5), (2, 1.875)])
def test_the_largest_loss_falls_linearly(degree, growth):
    """c_q <= 0.272 growth^(-q) for q <= 10."""
    losses = [
        orthogonalisers.relative_deficit_bound(1, degree, q) * growth**q for q in range(1, 11)
    ]
    assert max(losses) <= 0.2725


def test_the_numbers_of_the_quintic():
    extremes = map_singular_values([QUINTIC], orthogonalisers.positive_quintic_critical_points())
    assert extremes == pytest.approx([1.2024, 0.6818], abs=5e-5)
    for steps, least in orthogonalisers.REACHED.items():
        assert orthogonalisers.smallest_start_reaching(steps) == pytest.approx(least, rel=0.005)
        s = 0.99 * orthogonalisers.smallest_start_reaching(steps)
        s = map_singular_values([QUINTIC] * steps, s)
        assert s < orthogonalisers.LOW
    assert sum(QUINTIC) != pytest.approx(1.0, abs=0.2)  # 1 is no fixed point


# --- kim2026: the separation ----------------------------------------------------------------------


def least_steps(d, size):
    """Of gradient descent with a step until a point of the target; all but one x_j are equal."""
    for k in range(d):
        if d * abs(1.0 - size * d) ** k + (d - 1.0) * (1.0 - size) ** k <= (d - 1.0) / 2.0:
            return k
    return math.inf


@pytest.mark.parametrize(("d", "floor", "best"), [(101, 35, 38), (1001, 347, 355)])
def test_gradient_descent_needs_a_third_of_d(d, floor, best):
    assert math.ceil(theorem1.min_gradient_descent_steps(d)) == floor
    assert theorem1.sign_step_count(d) == 17
    sizes = np.linspace(0.0, 1.0, 401)[1:] * 2.0 / d
    found = min(least_steps(d, size) for size in sizes)
    assert floor < found <= best


def test_other_norms_and_a_single_step_would_not_show_it():
    """By |.|_2 the target is met at once, and the step 1/d alone would show twice the share."""
    d = 101
    first, others = 0.0, 1.0 - 1.0 / d  # after a step of 1/d
    assert np.hypot(d * first, others * (d - 1) ** 0.5) <= (d - 1) / 2
    assert least_steps(d, 1.0 / d) == pytest.approx(0.69 * d, abs=2)


# --- kim2026: findings ----------------------------------------------------------------------------


def test_the_divisor_of_theorem_3():
    numbers = next(erratum for erratum in PAPER.errata if erratum.name == "kim2026-theta").examine(
        "quick", 1
    )
    assert numbers.numbers["4 theta, step of the proof"] == pytest.approx(1.0, abs=1e-12)
    for beta in (0.9, 0.999):
        left = numbers.numbers[f"1 - 4 theta as stated, beta = {beta:g}"]
        assert left == pytest.approx(2.0 * beta * (1.0 - beta), rel=1e-9)


# --- peng2026: the law of the estimate, exact -----------------------------------------------------

BETA, T = 0.7, 5
PATH = np.random.default_rng(5).standard_normal((T, 2))


class FixedPath(Oracles):
    """Answers a minimisation with the move to the next point of the path."""

    def __init__(self, problem):
        super().__init__(problem, Ledger(), problem.set.diameter)
        self.moves = iter([*np.diff(PATH, axis=0), np.zeros(2)])

    def lo(self, d):
        return next(self.moves)


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


# --- peng2026: the bounds -------------------------------------------------------------------------


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


# --- peng2026: the claim and its faults -----------------------------------------------------------


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
    told, check = nesterov_momentum.THEOREM, nesterov_momentum.THEOREM.check
    test = trial(replace(told, instances=told.instances[:1]), kind)
    for given, ratio in zip(check.parameters.values(), ratios, strict=True):
        measured = replace(check, parameters=given)(test).decision.measured
        assert measured["pfbench's, parabola 100: ratio"] == pytest.approx(ratio, abs=1e-4)


# --- zhang2026 ------------------------------------------------------------------------------------

EPSILON = paper.EPSILON


def run_points(problem, steps, fault=None):
    """Return the points X_0 .. X_{steps - 1} of a run."""
    test = trial(paper.LOWER, fault and planted(fault))
    method = test.make(iterations=steps, batch=1, step=problem.step, beta=0.9, beta2=0.95)
    return [x for x, _ in test.follow_with_previous_point(problem, method)]


class Built:
    """F of the theorem, for the points of a run."""

    def __init__(self, answers, points):
        self.answers, self.slope = answers, 2 * EPSILON * paper.alignment(answers.shape[0])
        self.q = np.array([np.vdot(answers.D, x) for x in points])

    def slope_at(self, q):
        return np.maximum(self.slope - np.abs(np.subtract.outer(q, self.q)), 0.0).max(axis=-1)

    def gradient(self, x):
        along = self.slope_at(np.vdot(self.answers.D, x)) - self.slope
        return self.answers.gradient(x) + along * self.answers.D


@pytest.fixture(params=[(4, 2.0), (4, 0.05), (16, 0.3)], ids=str)
def run(request):
    m, step = request.param
    problem = paper.make_answers(m, 1, step)
    steps = math.floor(paper.count_steps(m, 1.0, 1.0, EPSILON))
    return problem, run_points(problem, steps + 1)


def test_a_run_sees_the_gradients_of_the_function_that_is_built(run):
    problem, points = run
    f = Built(problem.inner, points)
    for x in points:
        seen = problem.inner.gradient(x)
        assert f.gradient(x) == pytest.approx(seen, abs=1e-12)
        assert np.linalg.norm(seen, "nuc") == pytest.approx(2 * EPSILON, rel=1e-12)


def test_the_function_is_smooth_and_falls_by_delta_at_most(run):
    problem, points = run
    f, rng, ratios = Built(problem.inner, points), np.random.default_rng(0), []
    for _ in range(300):
        x = rng.exponential() * rng.standard_normal(problem.shape)
        move = 10 ** rng.uniform(-3, 0) * rng.standard_normal(problem.shape)
        change = f.gradient(x + move) - f.gradient(x)
        ratios.append(np.linalg.norm(change, "nuc") / np.linalg.norm(move, 2))
    assert 0.5 < max(ratios) <= 1.0 + 1e-9
    grid = np.linspace(min(f.q) - 2.0, 0.0, 400_001)
    along = np.trapezoid(f.slope_at(grid[:: 1 + len(f.q) // 40]), grid[:: 1 + len(f.q) // 40])
    fall = along + 2 * EPSILON**2 * np.vdot(problem.inner.P, problem.inner.P)
    assert problem.inner.initial_suboptimality(points) == pytest.approx(fall, rel=1e-3)
    assert fall <= 1.0


def test_muon_needs_a_few_steps_on_the_same_function(run):
    problem, points = run
    f = Built(problem.inner, points)
    needed = []
    for step in np.geomspace(0.01, 3.0, 25):
        x = np.zeros(problem.shape)
        for t in range(20):
            g = f.gradient(x)
            if np.linalg.norm(g) <= EPSILON:
                needed.append(t)
                break
            x = x - step * g / np.linalg.norm(g)  # the polar factor of one column
    assert min(needed) <= len(points) / 5


@pytest.mark.parametrize("m", [2, 4, 16, 64])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.249])
def test_the_printed_number_of_steps_is_never_larger(m, epsilon):
    printed = paper.count_printed_steps(m, 1.0, 1.0, epsilon)
    assert math.floor(printed) <= math.floor(paper.count_steps(m, 1.0, 1.0, epsilon))


@pytest.mark.parametrize(
    "fault", ["normuon-rows-as-they-are", "normuon-columns", "normuon-mean-squares"]
)
def test_a_fault_leaves_the_line_at_the_first_step(fault):
    problem = paper.make_answers(4, 1, 0.5)
    _, x = run_points(problem, 2, fault)
    away = x - np.vdot(problem.inner.D, x) * problem.inner.D
    assert np.linalg.norm(away) > 0.1 * np.linalg.norm(x)
