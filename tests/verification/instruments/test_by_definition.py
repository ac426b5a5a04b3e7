"""The forced path, the turning bowl, the long slope and the valley against their definitions."""

import math

import numpy as np
import pytest
from verification.instruments.by_definition import assert_oracles_are_those_of

from pfbench.algorithms.proximal import ProxSpiderBoost
from pfbench.runs.loop.solve import solve
from pfbench.verification.instruments.forced_path import ForcedPath
from pfbench.verification.instruments.rotating import RotatingBowl
from pfbench.verification.instruments.slopes import ConstantSlopeProblem, Valley

PATH = ForcedPath(
    24, 4, L=0.7, L2=1.3, kappa=0.4, sigma=0.2, gradient_slope=0.9, length=2.0, begin=0.5
)
BOWL = RotatingBowl(n=28, mu=0.3, tau=0.7, sigma=0.2, radius=2.0)
SLOPE = ConstantSlopeProblem(6, g=0.3, gap=2.0, L=1.7, sigma=0.4, weight=0.2, phase=0.5)
PLAIN = ConstantSlopeProblem(6, g=0.3, gap=2.0, L=1.7, sigma=0.4, phase=0.5)
VALLEY = Valley(6, g=0.3, gap=2.0, L=1.7, sigma=0.4, phase=0.5, overshoot=1.5)


def alternate(n):
    return (-1.0) ** np.arange(n)


def on_path(x):
    h = 0.7 * x[0] + 1.3 * x[0] ** 2 / 2 - 0.4 * x[0] ** 3 / 6
    return alternate(24) * (0.2 + h) * x[1 + np.arange(24) // 2 % 3] - 0.9 * x[0]


def in_bowl(x):
    ks = 1 + np.arange(28) // 2 % 7
    turned = np.array([x @ x[np.arange(8) ^ k] for k in ks])
    return 0.3 * (x @ x) / 2 + alternate(28) * (0.7 * turned / 2 + 0.2 * x[ks])


def on_slope(x):
    a = 1.7 / math.sqrt(2.0)
    noise = -0.4 * 0.4 / a * math.cos(a * x[0] / 0.4 + 0.5)
    return 0.3**2 / a * math.log(math.cosh(a * x[0] / 0.3)) + alternate(6) * noise


def on_first_axis(*points):
    return [(np.eye(4)[0] * x, np.eye(4)[0] * y) for x, y in points]


@pytest.mark.parametrize(
    ("problem", "components", "pairs"),
    [
        (PATH, on_path, on_first_axis((0.0, 0.3), (0.3, 1.9), (1.9, 0.4))),
        (BOWL, in_bowl, np.random.default_rng(5).standard_normal((3, 2, 8))),
        (SLOPE, on_slope, np.array([[[-1.3], [0.7]], [[0.05], [0.0]], [[0.0], [2.1]]])),
        (VALLEY, on_slope, np.array([[[0.9], [-1.0]], [[0.4], [0.02]], [[0.1], [0.4]]])),
    ],
    ids=["path", "bowl", "slope", "valley"],
)
def test_oracles_are_those_of_the_components(problem, components, pairs):
    for x, y in pairs:
        lacks = () if problem in (PATH, VALLEY) else ("hessian",)
        assert_oracles_are_those_of(components, problem, x, y, lacks)


def test_the_constants_of_the_path_bound_what_happens_on_the_segment():
    constants = PATH.constants(PATH.start())
    grid = np.linspace(0.0, 2.0, 41)
    rows = np.array(
        [[PATH.batch(np.array([i]), r * np.eye(4)[0]) for i in range(24)] for r in grid]
    )
    moves = np.sqrt((np.diff(rows, axis=0) ** 2).sum(axis=2).mean(axis=1)) / np.diff(grid)
    assert moves.max() <= constants.L_ms <= 1.05 * moves.max()
    bends = np.abs(np.diff(moves) / np.diff(grid)[1:])
    assert bends.max() <= constants.L2_ms * (1 + 1e-9) <= 1.1 * bends.max()
    spread = ((rows - rows.mean(axis=1, keepdims=True)) ** 2).sum(axis=2).mean(axis=1)
    assert spread.max() == pytest.approx(constants.sigma2)


def test_the_mean_squared_smoothness_of_the_bowl_is_attained_everywhere():
    x, y = np.random.default_rng(5).standard_normal((2, 8))
    squares = [np.sum(BOWL.difference(np.array([i]), x, y) ** 2) for i in range(28)]
    L = BOWL.constants(BOWL.start()).L_ms
    assert np.mean(squares) == pytest.approx(L**2 * np.sum((x - y) ** 2))


def test_the_constants_of_the_slope_bound_what_they_say():
    constants = SLOPE.constants(SLOPE.start())
    x = np.linspace(-4.0, 4.0, 4001)
    slopes = np.array([[SLOPE.batch(np.array([i]), np.array([r]))[0] for r in x] for i in (0, 1)])
    change = np.diff(slopes, axis=1) / np.diff(x)
    squares = np.sqrt((change**2).mean(axis=0))
    assert 0.9 * constants.L_ms < squares.max() <= constants.L_ms
    assert np.abs(change.mean(axis=0)).max() <= constants.L_f
    assert np.abs(change).max() <= constants.L_max
    assert slopes.var(axis=0).max() <= constants.sigma2 * (1 + 1e-12)
    assert constants.delta == pytest.approx(2.0, rel=1e-2)


def test_the_proximal_map_of_the_slope_is_the_soft_threshold():
    for y, expected in ((1.0, 0.9), (-1.0, -0.9), (0.05, 0.0), (-0.05, 0.0)):
        assert SLOPE.prox(np.array([y]), np.zeros(1), 0.5)[0] == pytest.approx(expected)


def test_a_step_on_the_slope_lowers_it_by_eta_times_its_square():
    problem = ConstantSlopeProblem(4, g=1e-3, gap=1e-3, weight=1e-3)
    algorithm = ProxSpiderBoost(iterations=10, step=0.5, batch=2, period=2, output="last")
    run = solve(problem, algorithm)
    assert (problem.start() - run.x)[0] == pytest.approx(10 * 0.5 * 2e-3, rel=1e-9)


def test_the_valley_is_the_slope_between_walls():
    start = VALLEY.start()
    np.testing.assert_array_equal(start, PLAIN.start())
    np.testing.assert_array_equal(VALLEY.set.lo(np.array([1.0])), [-1.5])
    np.testing.assert_array_equal(VALLEY.set.lo(np.array([-1.0])), start)
    constants = VALLEY.constants(start)
    assert constants.D == VALLEY.set.diameter == pytest.approx(1.5 + start[0])
    assert constants.L2_ms == PLAIN.constants(start).L2_ms
    assert VALLEY.gradient(start) == PLAIN.gradient(start)
