"""Every set of vectors against its definition: vertices are enumerated, nothing is trusted."""

import contextlib
import itertools
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
POLYTOPES = (L1Ball, LinfBall, Simplex)
VECTORS = st.lists(st.floats(-4.0, 4.0), min_size=4, max_size=4).map(np.array)
RADII = st.floats(0.1, 10.0)


def vertices(body):
    """All vertices of a polytope; for the l2 ball many points of the sphere."""
    if isinstance(body, L1Ball):
        return body.radius * np.concatenate([np.eye(body.d), -np.eye(body.d)])
    if isinstance(body, Simplex):
        return body.radius * np.eye(body.d)
    if isinstance(body, LinfBall):
        return body.radius * np.array(list(itertools.product([-1.0, 1.0], repeat=body.d)))
    sphere = np.random.default_rng(0).standard_normal((4000, body.d))
    return body.radius * sphere / np.linalg.norm(sphere, axis=1, keepdims=True)


def is_vertex(body, v):
    if isinstance(body, L2Ball):
        return math.isclose(np.linalg.norm(v), body.radius, rel_tol=1e-14)
    return any(np.array_equal(v, u) for u in vertices(body))


# --- linear minimisation --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SETS)
@given(g=VECTORS, radius=RADII)
def test_lo_is_a_vertex_with_the_least_inner_product(kind, g, radius):
    body = kind(4, radius)
    v, (lower, upper) = body.lo(g), body.minimum(g)
    assert is_vertex(body, v)
    assert v.dtype == np.float64
    least = -radius * math.hypot(*g) if kind is L2Ball else (vertices(body) @ g).min()
    scale = radius * np.abs(g).max()
    assert_allclose(g @ v, least, rtol=1e-13, atol=1e-14 * scale)
    assert lower == upper
    assert_allclose(lower, least, rtol=1e-13, atol=1e-14 * scale)


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("size", [1e300, 1.0, 1e-300, 5e-324])
def test_lo_and_minimum_do_not_overflow_or_underflow(kind, size):
    body = kind(3, 2.0)
    g = size * np.array([1.0, -3.0, 2.0])
    assert_allclose(body.lo(g), body.lo(np.array([1.0, -3.0, 2.0])), rtol=1e-15)
    norm = {L1Ball: 3.0, L2Ball: math.sqrt(14.0), LinfBall: 6.0, Simplex: 3.0}[kind]
    assert_allclose(body.minimum(g)[0] / size, -2.0 * norm, rtol=0.1 if size < 1e-320 else 1e-14)


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_zero_gradient_gives_a_vertex(kind, zero):
    body = kind(3, 2.0)
    assert is_vertex(body, body.lo(np.full(3, zero)))
    assert body.minimum(np.full(3, zero)) == (0.0, 0.0)


def test_ties_go_to_the_lowest_index():
    assert_array_equal(L1Ball(4).lo(np.array([1.0, -2.0, 2.0, -2.0])), [0, 1, 0, 0])
    assert_array_equal(Simplex(4).lo(np.array([1.0, -2.0, 5.0, -2.0])), [0, 1, 0, 0])
    assert_array_equal(L1Ball(3).lo(np.zeros(3)), [-1, 0, 0])
    assert_array_equal(Simplex(3).lo(np.zeros(3)), [1, 0, 0])


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("where", [0, 2])
def test_nan_is_divergence_and_never_a_vertex(kind, where):
    body, g = kind(3, 2.0), np.array([1.0, -3.0, 2.0])
    g[where] = np.nan
    for ask in (body.lo, body.project):
        with pytest.raises(DivergedError):
            ask(g)
    with contextlib.suppress(DivergedError):  # a measured gap must not look like a number
        assert np.isnan(body.minimum(g)).all()


@pytest.mark.parametrize("kind", [L1Ball, L2Ball, LinfBall])
def test_an_infinite_gradient_is_divergence(kind):
    with pytest.raises(DivergedError):
        kind(3).lo(np.array([1.0, np.inf, 0.0]))


# --- projection -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SETS)
@given(y=VECTORS, radius=RADII)
def test_projection_is_feasible_idempotent_and_satisfies_the_variational_inequality(
    kind, y, radius
):
    body = kind(4, radius)
    p = body.project(y)
    assert body.contains(p, 1e-13)
    # <y - p, v - p> <= 0 for every point v of the set, hence for every vertex, and conversely.
    assert ((vertices(body) - p) @ (y - p)).max() <= 1e-13 * (radius + 4.0) ** 2
    assert_allclose(body.project(p), p, atol=1e-14 * radius)
    if body.contains(y, 0.0):
        assert_allclose(p, y, atol=1e-14 * radius)


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
@pytest.mark.parametrize("size", [1e10, 1e17, 1e300])
def test_points_far_outside_are_projected_into_the_set(kind, size):
    body = kind(3, 1.0)
    for direction in ([1.0, 0.0, 0.0], [1.0, 1.0, -2.0], [-3.0, 2.0, 2.0]):
        y = size * np.array(direction)
        p = body.project(y)
        assert body.contains(p)
        # For y so far out the projection minimises <-y, p> up to the size of the set.
        assert (vertices(body) @ (y / size)).max() <= p @ (y / size) + 10.0 / size + 1e-12


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


@pytest.mark.parametrize("kind", SETS)
def test_projection_leaves_its_argument_alone(kind):
    for y in (np.array([0.1, 0.2, 0.7]), np.array([5.0, -1.0, 2.0])):
        before = y.copy()
        kind(3).project(y)[:] = 7.0
        assert_array_equal(y, before)


# --- diameter, membership, vertices ---------------------------------------------------------------


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("d", [1, 2, 4])
def test_diameter_is_attained_by_two_vertices_and_never_exceeded(kind, d):
    body = kind(d, 1.7)
    if kind is L2Ball:
        pairs = np.linalg.norm(vertices(body)[:50, None] - vertices(body)[None], axis=2)
        assert pairs.max() <= body.diameter * (1.0 + 1e-14)
        v = body.random_vertex(np.random.default_rng(0))
        assert_allclose(np.linalg.norm(v - -v), body.diameter, rtol=1e-14)
    else:
        pairs = np.linalg.norm(vertices(body)[:, None] - vertices(body)[None], axis=2)
        assert_allclose(pairs.max(), body.diameter, rtol=1e-14)


@pytest.mark.parametrize("kind", SETS)
def test_membership_has_a_relative_tolerance(kind):
    for radius in (1e-6, 1.0, 1e6):
        body = kind(3, radius)
        for v in vertices(body)[:8]:
            assert body.contains(v)
            assert body.contains(v * (1.0 + 1e-10))
            assert not body.contains(v * (1.0 + 1e-8))
            assert body.contains(v * 1.05, tolerance=0.1)
        assert not body.contains(np.full(3, np.nan))
        assert not body.contains(np.full(3, np.inf))
        assert not body.contains(np.zeros(2))
        assert not body.contains("x")


def test_the_simplex_is_not_the_ball():
    body = Simplex(2, 1.0)
    assert not body.contains(np.zeros(2))
    assert not body.contains(np.array([1.5, -0.5]))
    assert body.contains(np.array([0.25, 0.75]))


@pytest.mark.parametrize("kind", SETS)
def test_random_vertices_are_vertices_and_all_occur(kind):
    body, rng = kind(3, 2.0), np.random.default_rng(0)
    drawn = [body.random_vertex(rng) for _ in range(300)]
    assert all(is_vertex(body, v) for v in drawn)
    if kind is L2Ball:
        assert np.abs(np.mean(drawn, axis=0)).max() < 0.25  # no preferred side: sd is 0.07
    else:
        assert {tuple(v) for v in drawn} == {tuple(v) for v in vertices(body)}


@pytest.mark.parametrize("kind", SETS)
def test_the_start_is_a_fresh_point_of_the_set(kind):
    body = kind(3, 2.0)
    start = body.start()
    assert body.contains(start)
    start += 9.0
    assert body.contains(body.start())


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
