"""MARS and gradient transport: laws of their estimates, bounds and schedules."""

import itertools

import numpy as np
import pytest
from judging import trial

from pfbench.claims.catalogue import MUTANTS
from pfbench.claims.jang2026 import transported_gradients
from pfbench.claims.shulgin2026 import scaled_correction
from pfbench.verification.statements.setting import ParameterNamespace
from pfbench.verification.trial import Trial

pytestmark = pytest.mark.claims

CUBE = [1.0 + 0.01 * k for k in range(400)]
"""A straight path on x^3/6, whose gradient is x^2/2."""


def errors_along(path, alpha, ahead):
    """Return |d_k - f'(x_k)| of averages of gradients at x_k + `ahead` (x_k - x_{k-1})."""
    d, errors = path[0] ** 2 / 2, [0.0]
    for before, x in itertools.pairwise(path):
        d = (1 - alpha) * d + alpha * (x + ahead * (x - before)) ** 2 / 2
        errors.append(abs(d - x**2 / 2))
    return np.array(errors)


@pytest.mark.parametrize(
    ("ahead", "largest"),
    [(9.0, 1.0), (10.0, 12.1), (1.0, 87.0), (1 / 9, 97.0), (-9.0, 195.0), (0.0, 98.0)],
)
def test_the_bias_on_a_straight_path_of_a_cube(ahead, largest):
    bounds = np.array([transported_gradients.bias_bound(k, 1.0, 0.01, 0.1) for k in range(1, 401)])
    ratios = errors_along(CUBE, 0.1, ahead)[1:] / bounds[1:]
    assert ratios.max() == pytest.approx(largest, rel=0.02)
    if ahead == 9.0:
        assert ratios == pytest.approx(np.ones(399), rel=1e-8)


def test_the_hessian_of_log_cosh_changes_at_most_by_its_constant():
    f = transported_gradients.SeparableLogCosh(np.ones(3), np.zeros(1))
    L2, rng = f.constants(f.start()).L2_ms, np.random.default_rng(0)
    ratios = []
    for _ in range(2000):
        a, b = 2.0 * rng.standard_normal((2, 3))
        rest = f.gradient(a) - f.gradient(b) - (a - b) / np.cosh(b) ** 2
        ratios.append(np.linalg.norm(rest) / np.linalg.norm(a - b) ** 2)
    assert 0.4 * L2 < max(ratios) <= 0.5 * L2


def test_the_bound_sums_the_terms_of_each_step():
    numbers = {"K": 7, "L": 2.0, "rho": 1.5, "delta": 3.0, "step": 0.2, "alpha": 0.4}
    found = transported_gradients.mean_norm_bound(**numbers, L2=0.7, zeta=1.2, sigma=0.5)
    error, s = 0.0, 1.5 * 0.2
    for k in range(1, 8):
        weights = [0.6 ** (k - 1), *(0.4 * 0.6 ** (k - j) for j in range(2, k + 1))]
        error += 1.2 * 0.5 * np.linalg.norm(weights) + transported_gradients.bias_bound(
            k, 0.7, s, 0.4
        )
    assert found == pytest.approx(3.0 / (s * 7) + 2.0 * s / 2 + 2.0 * error / 7)


@pytest.mark.parametrize(
    ("K", "right", "short"),
    [
        (100, 0.9864, 1.2476),
        (1000, 0.9974, 1.1369),
        pytest.param(10_000, 0.9995, 1.0739, marks=pytest.mark.long),
    ],
)
def test_ratios_of_travel(K, right, short):
    faulty = Trial(transported_gradients.MEAN, MUTANTS["transport-short-step"].subject)
    problem = transported_gradients.make_travel(K)
    c = problem.constants(problem.start())
    for test, ratio in ((trial(transported_gradients.MEAN), right), (faulty, short)):
        method = test.make(iterations=K, batch=1, step=problem.step, alpha=1.0)
        points = [x for x, _ in test.follow_with_previous_point(problem, method)]
        bound = transported_gradients.mean_norm_bound(
            K, 1.0, c.L2_ms, 1.0, 1.0, 0.0, c.delta, problem.step, 1.0
        )
        assert np.mean(np.abs(np.tanh(points))) / bound == pytest.approx(ratio, abs=1e-4)


# --- shulgin2026 ----------------------------------------------------------------------------------


def mean_square(c, parameters, **changed):
    """Return the mean over t of E f'(x_t)^2 on L x^2/2, by the recursion of second moments."""
    a, L = ParameterNamespace(**parameters | changed), c.L_f
    start = np.sqrt(2.0 * c.delta / L) * np.array([1.0, L])
    moments = np.outer(start, start)
    moments[1, 1] += c.sigma2 / a.snapshot
    kept = 1.0 - a.alpha
    step = [
        [1.0, -a.step],
        [a.alpha * L, kept * (1.0 - a.gamma * L * a.step) - a.alpha * L * a.step],
    ]
    squares = []
    for _ in range(a.iterations):
        squares.append(L**2 * moments[0, 0])
        moments = np.array(step) @ moments @ np.transpose(step)
        moments[1, 1] += a.alpha**2 * c.sigma2
    return np.mean(squares)


@pytest.mark.parametrize(
    ("result", "begin", "sigma", "changed", "ratios"),
    [
        ("corollary", 1.0, 0.2, {}, (0.2679, 0.3142, 0.4574)),
        ("corollary", 1.0, 0.2, {"step": lambda eta: eta / 8.0}, (1.6791, 1.8260, 2.2886)),
        ("theorem", 3.0, 0.3, {}, (0.4027, 0.4027, 0.4027)),
        ("theorem", 0.3, 3.0, {}, (0.1119, 0.1337, 0.1679)),
        ("theorem", 0.3, 3.0, {"snapshot": lambda first: 1}, (3.1440, 4.5577, 6.4265)),
    ],
    ids=["right", "eta/8", "no average", "right", "first batch of one"],
)
def test_exact_ratios_to_the_bounds(result, begin, sigma, changed, ratios):
    """For each gamma; a function changes a parameter."""
    schedule = getattr(scaled_correction, f"{result}_parameters")
    bound = getattr(scaled_correction, f"bound_of_{result}")
    problem = scaled_correction.make_noisy_parabola(begin, sigma)
    c = problem.constants(problem.start())
    for gamma, ratio in zip(scaled_correction.GAMMAS, ratios, strict=True):
        parameters = schedule(c, gamma=gamma)
        values = {name: change(parameters[name]) for name, change in changed.items()}
        most = bound(c, ParameterNamespace(**parameters))
        assert mean_square(c, parameters, **values) / most == pytest.approx(ratio, abs=1e-4)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.9])
def test_the_schedules_are_those_of_any_delta(gamma):
    """With delta = |gamma-1| L, as printed: sums of terms that the claim's formulas gather."""
    L, D, s2, T, beta = 2.0, 1.5, 0.7, 400.0, 0.3
    delta = abs(gamma - 1.0) * L
    v = abs(gamma - 1.0) * L * D / (s2 * T)
    weight = np.sqrt(v) + 2 ** (-1 / 3) * (delta * D / (s2 * T)) ** (2 / 3)
    assert scaled_correction.corollary_weight(T, L, D, s2, gamma) == pytest.approx(weight)
    step = 1.0 / (L + abs(gamma - 1.0) * L / beta + np.sqrt(2.0) * delta / np.sqrt(beta))
    assert scaled_correction.corollary_step(L, beta, gamma) == pytest.approx(step)
    a = ((1 - beta) ** 3 * (gamma - 1) ** 2 * L**2 / beta + 2 * (1 - beta) ** 2 * delta**2) / beta
    assert scaled_correction.theorem_step(L, beta, gamma) == pytest.approx(1.0 / (L + np.sqrt(a)))
    s = np.sqrt(s2)
    bound = 2 * L * D / T + 4 * s * np.sqrt(abs(gamma - 1) * L * D) / np.sqrt(T)
    bound += 3 * 2 ** (2 / 3) * (delta * D * s) ** (2 / 3) / T ** (2 / 3) + s2 / T
    assert scaled_correction.corollary_bound(T, L, D, s2, gamma) == pytest.approx(bound)
