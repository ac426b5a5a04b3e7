"""The turning bowl: its oracles against one another, its constants against enumeration."""

import numpy as np
import pytest

from pfbench.base.errors import InputError
from pfbench.verification.instruments.rotating import RotatingBowl

RNG = np.random.default_rng(5)
BOWL = RotatingBowl(n=28, mu=0.3, tau=0.7, sigma=0.2, radius=2.0)


def single(i, x):
    return BOWL.batch(np.array([i]), x)


def test_component_gradients_have_the_gradient_as_their_mean():
    x = RNG.standard_normal(8)
    every = [single(i, x) for i in range(BOWL.n)]
    assert np.mean(every, axis=0) == pytest.approx(BOWL.gradient(x))
    assert BOWL.batch(np.arange(28), x) == pytest.approx(BOWL.gradient(x))


def test_the_gradient_is_that_of_the_value():
    x, h = RNG.standard_normal(8), 1e-6
    steps = h * np.eye(8)
    differences = [(BOWL.value(x + e) - BOWL.value(x - e)) / (2.0 * h) for e in steps]
    assert BOWL.gradient(x) == pytest.approx(np.array(differences), abs=1e-8)


def test_differences_are_those_of_batches():
    x, y, S = RNG.standard_normal(8), RNG.standard_normal(8), RNG.integers(28, size=5)
    expected = BOWL.batch(S, x) - BOWL.batch(S, y)
    assert BOWL.difference(S, x, y) == pytest.approx(expected)


def test_the_mean_squared_smoothness_is_attained_everywhere():
    x, y = RNG.standard_normal(8), RNG.standard_normal(8)
    squares = [np.sum(BOWL.difference(np.array([i]), x, y) ** 2) for i in range(28)]
    L = BOWL.constants(BOWL.start()).L_ms
    assert np.mean(squares) == pytest.approx(L**2 * np.sum((x - y) ** 2))


def test_each_turn_is_symmetric_and_keeps_lengths():
    for i in range(14):
        columns = [single(2 * i, e) - single(2 * i, 0 * e) - 0.3 * e for e in np.eye(8)]
        R = np.array(columns) / 0.7
        assert pytest.approx(R.T) == R
        assert pytest.approx(np.eye(8)) == R @ R
        assert R[0, 0] == 0.0


@pytest.mark.parametrize("wrong", [{"n": 3}, {"d": 6}, {"mu": 0.0}, {"tau": -1.0}])
def test_what_is_out_of_range_is_refused(wrong):
    with pytest.raises(InputError):
        RotatingBowl(**{"n": 4, "mu": 1.0, **wrong})
