"""An active set stays an exact convex combination: against fractions, and over 100 000 steps."""

import math
from fractions import Fraction

import numpy as np
import pytest

from pfbench.points.active_atoms import ActiveSet

D = 6
CORNERS = np.vstack([np.eye(D), -np.eye(D)])


def exactly(S):
    """The weights as fractions, by vertex."""
    return {tuple(S.vertex(i)): Fraction(float(w)) for i, w in enumerate(S.weights)}


def is_exact(S):
    """Whether the weights are above 0 and sum to 1: a wrong multiple of 2^-52 is told by fsum."""
    return S.weights.min() > 0 and math.fsum(S.weights) == 1.0


def test_weights_sum_to_one_exactly_over_many_steps_of_every_kind():
    rng = np.random.default_rng(0)
    S, largest = ActiveSet(CORNERS[0]), 0
    for t in range(10_000):
        kind, v = rng.integers(3), CORNERS[rng.integers(2 * D)]
        gamma = float(rng.choice([rng.random(), 10.0 ** -rng.uniform(0, 20), 0.0, 1.0]))
        at = int(rng.integers(len(S)))
        if kind == 0:
            S.move_toward(v, gamma)
        elif kind == 1 and len(S) > 1:
            S.move_away(at, gamma)
        else:
            S.transfer(at, v, gamma)
        largest = max(largest, len(S))
        assert is_exact(S)
        if t % 1000 == 0:
            assert sum(exactly(S).values()) == 1
            x = sum(float(w) * np.array(v) for v, w in exactly(S).items())
            assert np.abs(S.point() - x).max() <= 1e-15
    assert largest > D


def test_the_point_does_not_drift():
    """A tenth of the weight to and fro, 10 000 times: x is what it was, to the last bits."""
    S = ActiveSet(CORNERS[0])
    for i in range(1, 4):
        S.move_toward(CORNERS[i], 1.0 / (i + 1.0))
    begin = S.point()
    for _ in range(5_000):
        S.transfer(S.find_or_add(CORNERS[1]), CORNERS[2], 0.1)
        S.transfer(S.find_or_add(CORNERS[2]), CORNERS[1], 0.1)
    assert np.abs(S.point() - begin).max() <= 1e-15


@pytest.mark.parametrize("gamma", [0.0, 1e-17, 0.3, 0.5])
def test_each_move_is_what_it_says(gamma):
    S = ActiveSet(CORNERS[0])
    S.move_toward(CORNERS[1], 0.25)
    S.move_toward(CORNERS[2], 0.5)
    x, v = S.point(), CORNERS[5]
    S.move_toward(v, gamma)
    np.testing.assert_allclose(S.point(), (1 - gamma) * x + gamma * v, atol=1e-15)
    x, a = S.point(), S.find_or_add(CORNERS[2])
    share = S.weights[a]
    step = min(gamma, share / (1 - share))
    S.move_away(a, gamma)
    np.testing.assert_allclose(S.point(), x + step * (x - CORNERS[2]), atol=1e-15)
    x, a = S.point(), S.find_or_add(CORNERS[0])
    step = min(gamma, S.weights[a])
    S.transfer(a, CORNERS[7], gamma)
    np.testing.assert_allclose(S.point(), x + step * (CORNERS[7] - CORNERS[0]), atol=1e-15)
    assert is_exact(S)


def test_the_longest_steps_drop_a_vertex():
    S = ActiveSet(CORNERS[0])
    S.move_toward(CORNERS[1], 0.3)
    S.move_away(S.find_or_add(CORNERS[1]), 1.0)
    assert list(exactly(S)) == [tuple(CORNERS[0])]
    S.transfer(0, CORNERS[3], 1.0)
    assert list(exactly(S)) == [tuple(CORNERS[3])]
    S.move_toward(CORNERS[4], 1.0)
    assert list(exactly(S)) == [tuple(CORNERS[4])]


def test_the_extremes_are_those_of_all_products():
    S, g = ActiveSet(CORNERS[0]), np.array([1.0, 3.0, -2.0, 0.0, 0.0, 9.0])
    for i in range(1, 4):
        S.move_toward(CORNERS[i], 0.4)
    a, low = S.argmax_and_argmin_product(g)
    assert (tuple(S.vertex(a)), tuple(S.vertex(low))) == (tuple(CORNERS[1]), tuple(CORNERS[2]))


def test_a_vertex_that_is_a_matrix_keeps_its_shape():
    S = ActiveSet(np.eye(3))
    S.move_toward(np.eye(3)[::-1].copy(), 0.5)
    assert S.point().shape == (3, 3)
    assert len(S) == 2
    S.move_toward(np.eye(3), 0.5)
    assert len(S) == 2
