"""The long slope against its definition."""

import math

import numpy as np
import pytest

from pfbench.algorithms.proximal import ProxSpiderBoost
from pfbench.base.errors import InputError
from pfbench.runs.loop.solve import solve
from pfbench.verification.instruments.slopes import ConstantSlopeProblem, Valley

SLOPE = ConstantSlopeProblem(6, g=0.3, gap=2.0, L=1.7, sigma=0.4, weight=0.2, phase=0.5)


def component(i: int, x: float) -> float:
    """Return f_i of `SLOPE`, from its definition."""
    a = 1.7 / math.sqrt(2.0)
    noise = -0.4 * 0.4 / a * math.cos(a * x / 0.4 + 0.5)
    return 0.3**2 / a * math.log(math.cosh(a * x / 0.3)) + (-1.0) ** i * noise


@pytest.mark.parametrize("x", [-1.3, 0.05, 0.0, 2.1])
def test_components_are_the_derivatives_of_the_definition(x: float) -> None:
    point, other, h = np.array([x]), np.array([0.7]), 1e-6
    for i in range(6):
        slope = (component(i, x + h) - component(i, x - h)) / (2 * h)
        one = np.array([i])
        assert SLOPE.batch(one, point)[0] == pytest.approx(slope, abs=1e-8)
        expected = SLOPE.batch(one, point) - SLOPE.batch(one, other)
        assert SLOPE.difference(one, point, other) == pytest.approx(expected, abs=1e-14)
    everyone = np.arange(6)
    assert SLOPE.gradient(point) == pytest.approx(SLOPE.batch(everyone, point), abs=1e-15)
    mean = np.mean([component(i, x) for i in everyone])
    assert SLOPE.value(point) == pytest.approx(mean, abs=1e-14)


def test_constants_bound_what_they_say() -> None:
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


def test_the_proximal_map_is_the_soft_threshold() -> None:
    for y, expected in ((1.0, 0.9), (-1.0, -0.9), (0.05, 0.0), (-0.05, 0.0)):
        assert SLOPE.prox(np.array([y]), np.zeros(1), 0.5)[0] == pytest.approx(expected)


def test_a_step_lowers_the_slope_by_eta_times_its_square() -> None:
    problem = ConstantSlopeProblem(4, g=1e-3, gap=1e-3, weight=1e-3)
    algorithm = ProxSpiderBoost(iterations=10, step=0.5, batch=2, period=2, output="last")
    run = solve(problem, algorithm)
    assert (problem.start() - run.x)[0] == pytest.approx(10 * 0.5 * 2e-3, rel=1e-9)


@pytest.mark.parametrize("wrong", [{"n": 3}, {"g": 0.0}, {"gap": 1e-9}, {"sigma": -1.0}])
def test_bad_parameters_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        ConstantSlopeProblem(**{"n": 2, "g": 0.1, "gap": 1.0, **wrong})  # type: ignore[arg-type]


# --- the valley -----------------------------------------------------------------------------------

VALLEY = Valley(6, g=0.3, gap=2.0, L=1.7, sigma=0.4, phase=0.5, overshoot=1.5)


def test_the_valley_is_the_slope_between_walls() -> None:
    start = VALLEY.start()
    plain = ConstantSlopeProblem(6, g=0.3, gap=2.0, L=1.7, sigma=0.4, phase=0.5)
    np.testing.assert_array_equal(start, plain.start())
    np.testing.assert_array_equal(VALLEY.set.lo(np.array([1.0])), [-1.5])
    np.testing.assert_array_equal(VALLEY.set.lo(np.array([-1.0])), start)
    constants = VALLEY.constants(start)
    assert constants.D == VALLEY.set.diameter == pytest.approx(1.5 + start[0])
    assert constants.L2_ms == plain.constants(start).L2_ms
    assert VALLEY.gradient(start) == plain.gradient(start)


@pytest.mark.parametrize("r", [-1.0, 0.02, 0.4])
def test_component_hessians_are_the_derivatives_of_the_gradients(r: float) -> None:
    h, x, y = 1e-6, np.array([0.9]), np.array([0.4])
    hessian = VALLEY.hessian(np.array([r]))
    for i in range(6):
        one = np.array([i])
        change = VALLEY.difference(one, np.array([r + h]), np.array([r - h])) / (2 * h)
        assert hessian.batch(one, x, y) == pytest.approx(change * 0.5, abs=1e-8)
    everyone = hessian.batch(np.arange(6), x, y)
    assert hessian.product(x, y) == pytest.approx(everyone, abs=1e-15)
