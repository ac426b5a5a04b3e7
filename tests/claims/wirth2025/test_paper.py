"""Open-loop steps: their instances, their speed by hand, and the steps that break the bounds."""

import math

import numpy as np
import pytest

from pfbench.claims.wirth2025 import open_loop

pytestmark = pytest.mark.claims


def run_on_ball(step, length, T):
    """Return h_0, ..., h_T of Frank-Wolfe on |x - z|^2/2 over the unit ball, |z| = length."""
    problem = open_loop.make_half_square_outside(length)
    z, x = -problem.b, problem.start()
    best = 0.5 * (length - 1.0) ** 2
    gaps = [0.5 * (x - z) @ (x - z) - best]
    for t in range(T):
        v = (z - x) / np.linalg.norm(z - x)
        x = x + step(t) * (v - x)
        gaps.append(0.5 * (x - z) @ (x - z) - best)
    return np.array(gaps)


def test_an_instance_on_the_ball_has_the_minimum_and_the_gradients_that_it_states():
    problem = open_loop.make_half_square_outside(4.0)
    z = -problem.b
    assert problem.value(z / 4.0) == pytest.approx(problem.minimum_value)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    assert min(np.linalg.norm(problem.gradient(x)) for x in X) >= 3.0 - 1e-12
    constants = open_loop.initial_suboptimality_and_kappa(problem)
    assert constants.kappa == pytest.approx(1 / 3)
    assert constants.initial == pytest.approx(problem.decrease(problem.start(), z / 4.0))


@pytest.mark.parametrize("length", [2.0, 4.0])
@pytest.mark.parametrize(("label", "speed"), [("l = 2", 2.0), ("l = 6", 6.0), ("log", None)])
def test_a_run_by_hand_keeps_the_bound_and_has_the_speed_of_its_step(length, label, speed):
    rule = open_loop.STEPS[label]
    step = lambda t: open_loop.open_loop_step(rule["step"], rule["offset"], t)  # noqa: E731
    gaps = run_on_ball(step, length, 200)
    c = open_loop.initial_suboptimality_and_kappa(open_loop.make_half_square_outside(length))
    product = np.cumprod([1.0] + [1.0 - step(s) + c.kappa * step(s) ** 2 for s in range(200)])
    seen = gaps > 1e-13
    assert (gaps <= c.initial * product * (1 + 1e-9))[seen].all()
    last = np.flatnonzero(seen)[-1]
    middle = last // 2
    slope = math.log(gaps[middle] / gaps[last]) / math.log(last / middle)
    assert slope > 5.0 if speed is None else slope == pytest.approx(speed, rel=0.06)


def test_the_step_of_the_paper():
    assert open_loop.open_loop_step("log-adaptive", 2.0, 0) == 1.0
    assert open_loop.open_loop_step("log-adaptive", 2.0, 9) == pytest.approx(
        (2 + math.log(10)) / (11 + math.log(10))
    )
