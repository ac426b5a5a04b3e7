"""Sets of vectors by one number: the l2 ball, and what the polytopes among them share with it.

The polytopes are compared with their vertices in test_polytopes.py.
"""

import math

import numpy as np
import pytest
from helpers import assert_one_sentence
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq, lsq_linear

from pfbench.base.errors import DivergedError, InputError
from pfbench.sets import L1Ball, L2Ball, LinfBall, Simplex

SETS = (L1Ball, L2Ball, LinfBall, Simplex)
VECTORS = st.lists(st.floats(-4.0, 4.0), min_size=4, max_size=4).map(np.array)
RADII = st.floats(0.1, 10.0)


# --- the l2 ball, against points of the sphere ----------------------------------------------------


def sphere(radius):
    """Many points of the sphere of length 4."""
    points = np.random.default_rng(0).standard_normal((4000, 4))
    return radius * points / np.linalg.norm(points, axis=1, keepdims=True)


@given(g=VECTORS, radius=RADII)
def test_lo_is_the_point_of_the_sphere_with_the_least_inner_product(g, radius):
    v, (lower, upper) = L2Ball(4, radius).lo(g), L2Ball(4, radius).minimum(g)
    assert_allclose(np.linalg.norm(v), radius, rtol=1e-14)
    close = {"rtol": 1e-13, "atol": 1e-14 * radius * np.abs(g).max()}
    assert_allclose([g @ v, lower, upper], -radius * math.hypot(*g), **close)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_divergence(bad):
    for ask in (L2Ball(3).lo, L2Ball(3).minimum, L2Ball(3).project):
        with pytest.raises(DivergedError):
            ask(np.array([1.0, bad, 0.0]))


@given(y=VECTORS, radius=RADII, far=st.sampled_from([1.0, 1e10, 1e300]))
def test_projection_is_feasible_and_satisfies_the_variational_inequality(y, radius, far):
    body, before = L2Ball(4, radius), (far * y).copy()
    p = body.project(before)
    assert body.contains(p, 1e-13)
    # <y - p, v - p> <= 0 for every point v of the ball.
    away = (before - p) / far
    assert ((sphere(radius) - p) @ away).max() <= 1e-13 * (radius + 4.0) ** 2
    assert_array_equal(before, far * y)
    assert_allclose(body.project(p), p, atol=1e-14 * radius)


@pytest.mark.parametrize("radius", [1e-6, 1.0, 1e6])
def test_membership_diameter_vertices_and_start(radius):
    body, rng = L2Ball(4, radius), np.random.default_rng(0)
    for v in sphere(radius)[:8]:
        assert body.contains(v * (1.0 + 1e-10))
        assert not body.contains(v * (1.0 + 1e-8))
        assert body.contains(v * 1.05, tolerance=0.1)
    for outside in (np.full(4, np.nan), np.full(4, np.inf), np.zeros(2), "x"):
        assert not body.contains(outside)
    drawn = [body.random_vertex(rng) for _ in range(300)]
    assert_allclose(np.linalg.norm(drawn, axis=1), radius, rtol=1e-14)
    assert np.abs(np.mean(drawn, axis=0)).max() < 0.15 * radius  # no preferred side
    assert body.diameter == 2.0 * radius
    body.start()[:] = 9.0
    assert not body.start().any()


# --- linear minimisation --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("size", [1e300, 1.0, 1e-300, 5e-324])
def test_lo_and_minimum_do_not_overflow_or_underflow(kind, size):
    body = kind(3, 2.0)
    g = size * np.array([1.0, -3.0, 2.0])
    assert_allclose(body.lo(g), body.lo(np.array([1.0, -3.0, 2.0])), rtol=1e-15)
    norm = {L1Ball: 3.0, L2Ball: math.sqrt(14.0), LinfBall: 6.0, Simplex: 3.0}[kind]
    assert_allclose(body.minimum(g)[0] / size, -2.0 * norm, rtol=0.1 if size < 1e-320 else 1e-14)


def test_ties_go_to_the_lowest_index():
    assert_array_equal(L1Ball(4).lo(np.array([1.0, -2.0, 2.0, -2.0])), [0, 1, 0, 0])
    assert_array_equal(Simplex(4).lo(np.array([1.0, -2.0, 5.0, -2.0])), [0, 1, 0, 0])
    assert_array_equal(L1Ball(3).lo(np.zeros(3)), [-1, 0, 0])
    assert_array_equal(Simplex(3).lo(np.zeros(3)), [1, 0, 0])


# --- projection -----------------------------------------------------------------------------------


def by_multiplier(shrink, size, radius):
    """The projection as a root search: shrink y until its size is the radius."""
    if size(shrink(0.0)) <= radius:
        return shrink(0.0)
    top = 1.0
    while size(shrink(top)) > radius:
        top *= 2.0
    return shrink(brentq(lambda t: size(shrink(t)) - radius, 0.0, top, xtol=1e-15, rtol=1e-15))


@given(y=VECTORS, radius=RADII)
def test_projection_agrees_with_a_search_for_the_multiplier(y, radius):
    soft = by_multiplier(
        lambda t: np.sign(y) * np.maximum(np.abs(y) - t, 0.0), lambda x: np.abs(x).sum(), radius
    )
    assert_allclose(L1Ball(4, radius).project(y), soft, atol=1e-12)
    shorter = by_multiplier(lambda t: y / (1.0 + t), np.linalg.norm, radius)
    assert_allclose(L2Ball(4, radius).project(y), shorter, atol=1e-11)
    shifted = y + 100.0  # so that the multiplier is positive
    onto = by_multiplier(lambda t: np.maximum(shifted - t, 0.0), np.sum, radius)
    assert_allclose(Simplex(4, radius).project(y), onto, atol=1e-11)
    box = lsq_linear(np.eye(4), y, bounds=(-radius, radius), tol=1e-14).x
    assert_allclose(LinfBall(4, radius).project(y), box, atol=1e-6)


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("d", [10**3, 10**4, 10**6])
def test_points_with_many_entries_are_projected_into_the_set(kind, d):
    """A vertex that a small step has moved is above the threshold in all entries."""
    rng, vertex = np.random.default_rng(0), np.eye(1, d)[0]
    for y in (0.8 * vertex, vertex + 1e-3 * rng.random(d), -1e3 - rng.random(d), rng.random(d)):
        for radius in (1.0, 20.0):
            body = kind(d, radius)
            p = body.project(radius * y)
            assert body.contains(p, 2e-10)
            # The variational inequality, at the vertex that is worst for it.
            towards = radius * y - p
            worst = body.lo(-towards)
            assert towards @ (worst - p) <= 1e-9 * radius * np.linalg.norm(towards, 1)


# --- diameter, membership, vertices ---------------------------------------------------------------


def test_the_simplex_is_not_the_ball():
    body = Simplex(2, 1.0)
    assert not body.contains(np.zeros(2))
    assert not body.contains(np.array([1.5, -0.5]))
    assert body.contains(np.array([0.25, 0.75]))


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize(
    ("d", "radius", "words"),
    [
        (0, 1.0, ["d=0", "at least 1"]),
        (2.5, 1.0, ["d=2.5", "integer"]),
        (True, 1.0, ["d=True", "integer"]),
        (3, 0.0, ["radius=0", "greater than 0"]),
        (3, -1.0, ["radius=-1", "greater than 0"]),
        (3, math.nan, ["radius=nan", "finite"]),
        (3, math.inf, ["radius=inf", "finite"]),
        (3, "2", ["radius='2'", "number"]),
    ],
)
def test_bad_sizes_are_refused_in_one_sentence(kind, d, radius, words):
    with pytest.raises(InputError) as error:
        kind(d, radius)
    assert_one_sentence(error, *words)
