"""The spectrahedron against its eigenvalues, and its certified minimum."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pfbench.points import RankOne, inner
from pfbench.sets import Spectrahedron
from pfbench.sets.square_matrices import _eigenvalue_lower_bound

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 8)
RADII = st.floats(0.1, 10.0)


def symmetric(rng, d):
    G = rng.standard_normal((d, d))
    return 0.5 * (G + G.T)


@given(SIZES, SEEDS, RADII)
def test_lo_is_a_vertex_that_attains_the_least_eigenvalue(d, seed, radius):
    G = np.random.default_rng(seed).standard_normal((d, d))  # only the symmetric part counts
    body = Spectrahedron(d, radius)
    v, least = body.lo(G), radius * np.linalg.eigvalsh(0.5 * (G + G.T))[0]
    assert isinstance(v, RankOne)
    assert v.u is v.v
    assert v.scale == radius
    assert_allclose(np.linalg.norm(v.u), 1.0, rtol=1e-14)
    assert_allclose(np.vdot(G, v.matrix()), least, atol=1e-13 * radius)
    assert_allclose(inner(G, v), least, atol=1e-13 * radius)
    lower, upper = body.minimum(G)
    assert lower <= least + 1e-15 * radius
    assert least - 1e-15 * radius <= upper
    assert upper - lower <= 1e-12 * radius * np.linalg.norm(G)


def test_the_bracket_holds_the_minimum_that_is_known_exactly():
    """Whole eigenvalues: Q'diag(k)Q by reflections with entries that are exact in binary."""
    d = 64
    v = np.ones(d)
    reflection = np.eye(d) - np.outer(v, v) * (2.0 / d)  # multiples of 2^-5: exact
    for least in (-37.0, 0.0, 3.0):
        values = np.arange(d) + least
        S = reflection @ np.diag(values) @ reflection
        lower, upper = Spectrahedron(d, 1.0).minimum(S)
        assert lower < least < upper
        assert upper - lower <= 1e-9


@pytest.mark.parametrize("gap", [1e-3, 1e-9, 0.0])
def test_clustered_least_eigenvalues_are_bracketed(gap):
    d = 80
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((d, d)))[0]
    values = np.r_[-1.0, np.full(10, -1.0 + gap), np.linspace(0.0, 1.0, d - 11)]
    lower, upper = Spectrahedron(d, 2.0).minimum((Q * values) @ Q.T)
    assert lower <= -2.0 * (1.0 - 1e-14)
    assert upper >= -2.0 * (1.0 + 1e-14)
    assert upper - lower <= 1e-10


def test_the_lower_end_is_proved_and_not_merely_the_eigenvalue_that_was_found():
    """Handed a number above the spectrum's lower end, the factorisation fails."""
    S = symmetric(np.random.default_rng(0), 30)
    values = np.linalg.eigvalsh(S)
    assert _eigenvalue_lower_bound(S, values[1]) is None
    assert _eigenvalue_lower_bound(S, values[0] + 1e-10) is None
    proved = _eigenvalue_lower_bound(S, values[0] - 1e-10)
    assert proved is not None
    assert values[0] - 2e-10 <= proved < values[0] - 1e-10


def test_a_gradient_without_a_symmetric_part_gives_a_vertex():
    body = Spectrahedron(3, 2.0)
    for G in (np.zeros((3, 3)), np.array([[0.0, 1, 2], [-1, 0, 3], [-2, -3, 0]])):
        assert_allclose(np.linalg.eigvalsh(body.lo(G).matrix()), [0, 0, 2], atol=1e-14)
        assert body.minimum(G) == (0.0, 0.0)


@pytest.mark.parametrize("size", [1e17, 1e300, 1.7e308])
def test_projection_of_a_matrix_far_outside(size):
    P = Spectrahedron(3, 1.5).project(np.diag([size, -0.9 * size, 2.0]))
    assert_allclose(P, np.diag([1.5, 0.0, 0.0]), atol=1e-15)


def test_membership():
    body, rng = Spectrahedron(4, 3.0), np.random.default_rng(0)
    for _ in range(20):
        v, w = body.random_vertex(rng), body.random_vertex(rng)
        assert body.contains(v)
        X = 0.3 * v.matrix() + 0.7 * w.matrix()
        assert body.contains(X)
        assert not body.contains(X * (1.0 + 1e-6))  # the trace
        out = v.matrix() + 1e-6 * (v.matrix() - w.matrix())  # a negative eigenvalue
        assert not body.contains(out)
        assert body.contains(v.matrix() + 1e-12 * (v.matrix() - w.matrix()))
        skew = X.copy()
        skew[0, 1] += 1e-6
        assert not body.contains(skew)
    assert not body.contains(RankOne(v.u, v.u, 3.1))
    assert not body.contains(RankOne(v.u, w.u, 3.0))
    assert not body.contains(np.zeros((4, 4)))
    assert not body.contains(np.full((4, 4), np.nan))
    assert not body.contains(np.zeros((4, 3)))


def test_random_vertices_have_no_preferred_direction():
    body, rng = Spectrahedron(3, 1.0), np.random.default_rng(0)
    mean = np.mean([body.random_vertex(rng).matrix() for _ in range(2000)], axis=0)
    assert_allclose(mean, np.eye(3) / 3.0, atol=4.0 * math.sqrt(1.0 / 2000))
