"""Gradient transport: the recursion of its bias, the terms of its bound, instances and faults."""

import itertools

import numpy as np
import pytest
from judging import trial

from pfbench.claims.catalogue import MUTANTS
from pfbench.claims.jang2026 import transported_gradients as paper
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
    bounds = np.array([paper.bias_bound(k, 1.0, 0.01, 0.1) for k in range(1, 401)])
    ratios = errors_along(CUBE, 0.1, ahead)[1:] / bounds[1:]
    assert ratios.max() == pytest.approx(largest, rel=0.02)
    if ahead == 9.0:
        assert ratios == pytest.approx(np.ones(399), rel=1e-8)


def test_the_hessian_of_log_cosh_changes_at_most_by_its_constant():
    f = paper.SeparableLogCosh(np.ones(3), np.zeros(1))
    L2, rng = f.constants(f.start()).L2_ms, np.random.default_rng(0)
    ratios = []
    for _ in range(2000):
        a, b = 2.0 * rng.standard_normal((2, 3))
        rest = f.gradient(a) - f.gradient(b) - (a - b) / np.cosh(b) ** 2
        ratios.append(np.linalg.norm(rest) / np.linalg.norm(a - b) ** 2)
    assert 0.4 * L2 < max(ratios) <= 0.5 * L2


def test_the_bound_sums_the_terms_of_each_step():
    numbers = {"K": 7, "L": 2.0, "rho": 1.5, "delta": 3.0, "step": 0.2, "alpha": 0.4}
    found = paper.mean_norm_bound(**numbers, L2=0.7, zeta=1.2, sigma=0.5)
    error, s = 0.0, 1.5 * 0.2
    for k in range(1, 8):
        weights = [0.6 ** (k - 1), *(0.4 * 0.6 ** (k - j) for j in range(2, k + 1))]
        error += 1.2 * 0.5 * np.linalg.norm(weights) + paper.bias_bound(k, 0.7, s, 0.4)
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
    faulty = Trial(paper.MEAN, MUTANTS["transport-short-step"].subject)
    problem = paper.make_travel(K)
    c = problem.constants(problem.start())
    for test, ratio in ((trial(paper.MEAN), right), (faulty, short)):
        method = test.make(iterations=K, batch=1, step=problem.step, alpha=1.0)
        points = [x for x, _ in test.follow_with_previous_point(problem, method)]
        bound = paper.mean_norm_bound(K, 1.0, c.L2_ms, 1.0, 1.0, 0.0, c.delta, problem.step, 1.0)
        assert np.mean(np.abs(np.tanh(points))) / bound == pytest.approx(ratio, abs=1e-4)
