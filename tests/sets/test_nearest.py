"""The bounds of the distance to a polytope, against a quadratic program over its vertices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import nnls

from pfbench.sets.polytope_distance import hull_distance_bounds


def distance(vertices, x):
    """By nonnegative least squares; the heavy last row makes the weights sum to 1."""
    heavy = 1e4
    A = np.vstack([vertices.T, np.full(len(vertices), heavy)])
    weights = nnls(A, np.append(x, heavy))[0]
    return np.linalg.norm(weights / weights.sum() @ vertices - x)


@pytest.mark.parametrize("seed", range(60))
def test_bounds_enclose_the_distance_and_answer_the_question(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 7))
    vertices = rng.standard_normal((int(rng.integers(1, 12)), d))
    if seed % 3 == 0:  # whole numbers: many ties and flat faces
        vertices = np.round(vertices)
    x = rng.standard_normal(d) * (2.0 if seed % 2 else 0.3)

    def lo(g):
        return vertices[np.argmin(vertices @ g)]

    exact = distance(vertices, x)
    for enough in (exact - 1e-6, 0.5 * exact, exact + 1e-6):
        lower, upper = hull_distance_bounds(lo, x, enough)
        assert lower <= exact + 1e-8
        assert upper >= exact - 1e-8
        # The question whether the distance is at most `enough` is answered.
        if enough < exact - 1e-8:
            assert lower > enough
        else:
            assert upper <= enough


def test_the_search_ends_when_the_question_is_answered():
    asked = []
    square = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])

    def lo(g):
        asked.append(g)
        return square[np.argmin(square @ g)]

    lower, upper = hull_distance_bounds(lo, np.array([9.0, 0.1]), 1e-9)
    assert lower > 1e-9
    assert len(asked) == 2  # the first vertex, and one separating hyperplane
    asked.clear()
    lower, upper = hull_distance_bounds(lo, np.array([1.0, 1.0]), 1e-9)
    assert (lower, upper) == (0.0, 0.0)
    assert len(asked) == 1


def test_many_dimensions():
    """A point in the middle of a face of the simplex needs all of its vertices."""
    d = 120

    def lo(g):
        return np.eye(d)[np.argmin(g)]

    x = np.full(d, 1.0 / d)
    assert hull_distance_bounds(lo, x, 1e-12)[1] <= 1e-12
    x[0] += 1e-3
    exact = 1e-3 / np.sqrt(d)
    assert_allclose(hull_distance_bounds(lo, x, exact * (1.0 - 1e-7)), exact, rtol=1e-6)
