"""NorMuon's lower bound: the function that is built along a run, its constants, and Muon on it."""

import math

import numpy as np
import pytest
from judging import planted, trial

from pfbench.claims.zhang2026 import normuon_steps as paper

pytestmark = pytest.mark.claims

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
