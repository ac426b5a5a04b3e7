"""Singular values above a threshold, against the full decomposition and against what is missed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ortho_group

from pfbench.sets import NuclearBall, partial_svd
from pfbench.sets.balls import project_simplex
from pfbench.sets.partial_svd import RESIDUAL, WORTHWHILE, singular_triplets_above
from pfbench.sets.penalties import NuclearPenalty

N = WORTHWHILE


def matrix(values, shape=(N, N), seed=0):
    """Return a matrix with these singular values, the others 0."""
    rng, k = np.random.default_rng(seed), len(values)
    u, v = (np.linalg.qr(rng.standard_normal((size, k)))[0] for size in shape)
    return (u * np.asarray(values)) @ v.T


def noisy(leading, level=0.01, shape=(N, N)):
    """Return the same, and dense noise of spectral norm near 2 level."""
    noise = np.random.default_rng(1).standard_normal(shape) / np.sqrt(max(shape))
    return matrix(leading, shape) + level * noise


CASES = {
    "noise": noisy([3.0, 2.0, 1.0]),
    "wide": noisy([3.0, 2.0, 1.0], shape=(N, 2 * N)),
    "tall": noisy([3.0, 2.0, 1.0], shape=(2 * N, N)),
    "equal ones": noisy([2.0, 2.0, 2.0, 1.0, 1.0]),
    "as many as a block and more": noisy([2.0] * 15),
    "low rank": matrix([3.0, 2.0, 1.0]),
    "huge": 1e90 * noisy([3.0, 2.0, 1.0]),
    "one row": np.vstack([np.ones(N), np.zeros((N - 1, N))]),
}


def thresholds(s):
    """Return some that keep a few values: between two that differ enough."""
    distinct = [i for i in range(1, 20) if s[i] < 0.9 * s[i - 1] > 1e-6 * s[0]]
    return [0.5 * (s[i] + s[i - 1]) for i in distinct]


@pytest.mark.parametrize("name", CASES)
def test_what_is_kept_is_what_the_full_decomposition_has_above_the_threshold(name):
    y = CASES[name]
    exact = np.linalg.svd(y, compute_uv=False)
    for limit in thresholds(exact):
        u, s, vt = singular_triplets_above(y, lambda s, limit=limit: limit)
        assert_allclose(s, exact[exact > limit], rtol=1e-12)
        assert_allclose(u.T @ u, np.eye(len(s)), atol=1e-13)
        assert_allclose(y @ vt.T, u * s, atol=1e-12 * exact[0])
        assert_allclose(y.T @ u, vt.T * s, atol=1e-12 * exact[0])


@pytest.mark.parametrize("name", CASES)
def test_the_projection_and_the_proximal_map_are_those_of_the_full_decomposition(name):
    y = CASES[name]
    u, exact, vt = np.linalg.svd(y, full_matrices=False)
    size = exact[0]
    radius = 0.5 * exact[exact > 0.5 * size].sum()
    projected = NuclearBall(y.shape, radius).project(y)
    assert_allclose(projected, (u * project_simplex(exact, radius)) @ vt, atol=1e-12 * size)
    lowered = NuclearPenalty(0.2 * size).prox(y, 1.0)
    assert_allclose(lowered, (u * np.maximum(exact - 0.2 * size, 0)) @ vt, atol=1e-12 * size)


@pytest.mark.parametrize(
    ("y", "limit"),
    [
        (np.eye(N), 0.5),
        (np.diag(np.r_[np.ones(90), np.zeros(N - 90)]), 0.5),
        (noisy([2.0] * 120), 1.0),
        (np.diag(np.linspace(1.0, 2.0, N)), 1.5),
        (ortho_group.rvs(N, random_state=0), 0.9),
        (np.zeros((N, N)), 1.0),
        (matrix([3.0, 2.0, 1.0]), 0.0),
        (matrix([3.0, 2.0, 1.0], shape=(N - 1, N)), 0.5),
        (1e200 * matrix([3.0, 2.0, 1.0]), 1.0),
    ],
)
def test_what_is_not_worthwhile_is_left_to_the_full_decomposition(y, limit):
    assert singular_triplets_above(y, lambda s: limit) is None


def test_a_threshold_above_all_values_keeps_none():
    _, s, _ = singular_triplets_above(noisy([1.0]), lambda s: 2.0)
    assert s.size == 0
    assert not NuclearPenalty(2.0).prox(noisy([1.0]), 1.0).any()


def test_a_ball_that_holds_the_matrix_leaves_it():
    y = matrix([0.3, 0.2, 0.1])
    assert_allclose(NuclearBall(y.shape, 1.0).project(y), y, atol=1e-14)


def test_the_same_matrix_gives_the_same_bits():
    ball = NuclearBall((N, N), 2.0)
    assert np.array_equal(ball.project(CASES["noise"]), ball.project(CASES["noise"].copy()))


# --- a space that misses something ----------------------------------------------------------------


class Blind(partial_svd._KrylovSpace):
    """A Krylov space that is orthogonal to the second leading pair of `BLIND`."""

    def __init__(self, y, rng):
        super().__init__(y, rng)
        hidden = np.linalg.svd(y)[2][1]
        self._next_block = np.linalg.qr(
            self._next_block - np.outer(hidden, hidden @ self._next_block)
        )[0]

    def extend(self):
        hidden = np.linalg.svd(self._y)[2][1]
        self._next_block -= np.outer(hidden, hidden @ self._next_block)
        super().extend()


@pytest.mark.parametrize("limit", [0.5, 1.5])
def test_a_value_that_the_space_misses_is_found_out(monkeypatch, limit):
    y = matrix([3.0, 2.0, 1.0, 0.2])
    monkeypatch.setattr(partial_svd, "_KrylovSpace", Blind)
    assert singular_triplets_above(y, lambda s: limit) is None
    monkeypatch.setattr(partial_svd, "_is_remainder_below", lambda *given: True)
    missed = singular_triplets_above(y, lambda s: limit)  # so that this is what told
    assert not np.any(np.abs(missed[1] - 2.0) < 0.5)


class Sloppy(partial_svd._KrylovSpace):
    """A space that says that its triplets have converged, whether they have or not."""

    def ritz_triplets(self):
        u, s, vt, residuals = super().ritz_triplets()
        return u, s, vt, 0.0 * residuals


def test_triplets_that_have_not_converged_are_found_out(monkeypatch):
    y, limit = noisy([3.0, 2.0, 1.0], level=0.02), 0.6
    right = singular_triplets_above(y, lambda s: limit)
    monkeypatch.setattr(partial_svd, "_KrylovSpace", Sloppy)
    same = singular_triplets_above(y, lambda s: limit)
    assert_allclose(same[1], right[1], rtol=10 * RESIDUAL)
    monkeypatch.setattr(partial_svd, "_are_triplets", lambda *given: True)
    wrong = singular_triplets_above(y, lambda s: limit)
    assert np.abs(wrong[1] - right[1]).max() > 100 * RESIDUAL
