"""The group-lasso ball against its definition by the norms of the groups."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pfbench.base.errors import DivergedError
from pfbench.sets import GroupLassoBall, L1Ball, L2Ball

GROUPS = ((3, 0), (1,), (5, 2, 4))
VECTORS = st.lists(
    st.integers(-2, 2).map(float) | st.floats(-4.0, 4.0), min_size=6, max_size=6
).map(np.array)
RADII = st.floats(0.1, 10.0)


def norms(x):
    return np.array([np.linalg.norm(x[list(group)]) for group in GROUPS])


def is_vertex(v, radius):
    """All of the radius on one group; every such point is extreme, as spheres are round."""
    sizes = norms(v)
    return np.count_nonzero(sizes) == 1 and np.isclose(sizes.max(), radius, rtol=1e-14)


@given(VECTORS, RADII)
@example(np.zeros(6), 1.0)
def test_lo_is_a_vertex_of_least_value(g, radius):
    body = GroupLassoBall(6, radius, groups=GROUPS)
    v, least = body.lo(g), -radius * norms(g).max()  # the dual norm
    assert is_vertex(v, radius)
    assert_allclose(g @ v, least, rtol=1e-13, atol=1e-15)
    assert_allclose(body.minimum(g), (least, least), rtol=1e-13)
    for other in np.random.default_rng(0).standard_normal((50, 6)):
        assert g @ (radius * other / norms(other).sum()) >= least - 1e-12


@given(VECTORS, RADII)
def test_projection_is_feasible_idempotent_and_satisfies_the_variational_inequality(y, radius):
    body = GroupLassoBall(6, radius, groups=GROUPS)
    p = body.project(y)
    assert body.contains(p, 1e-13)
    # max over the ball of <y - p, v> is radius times the dual norm of y - p.
    assert radius * norms(y - p).max() - (y - p) @ p <= 1e-13 * (radius + 10.0) ** 2
    assert_allclose(body.project(p), p, atol=1e-14 * radius)
    if norms(y).sum() <= radius:
        assert_array_equal(p, y)


@given(VECTORS, RADII)
def test_one_group_is_the_l2_ball_and_single_entries_are_the_l1_ball(y, radius):
    for groups, ball in ((6, L2Ball(6, radius)), (1, L1Ball(6, radius))):
        body = GroupLassoBall(6, radius, groups=groups)
        assert_allclose(body.project(y), ball.project(y), atol=1e-13)
        assert_allclose(y @ body.lo(y), y @ ball.lo(y), rtol=1e-13, atol=1e-15)
        assert_allclose(body.minimum(y), ball.minimum(y), rtol=1e-13)


def test_groups_of_one_length_are_consecutive_and_the_last_may_be_shorter():
    body = GroupLassoBall(5, groups=2)
    assert_array_equal(np.flatnonzero(body.lo(np.array([0.0, 0, 0, 0, 1]))), [4])
    assert_array_equal(np.flatnonzero(body.lo(np.array([0.0, 0, 2, 1, 1]))), [2, 3])
    explicit = GroupLassoBall(5, groups=[[0, 1], np.array([2, 3]), (4,)])
    g = np.array([1.0, -2.0, 2.0, 1.5, 0.3])
    assert_array_equal(body.lo(g), explicit.lo(g))
    assert explicit == GroupLassoBall(5, groups=[[0, 1], [2, 3], [4]])
    assert hash(explicit) == hash(GroupLassoBall(5, groups=[[0, 1], [2, 3], [4]]))


def test_ties_go_to_the_lowest_group():
    body = GroupLassoBall(6, 2.0, groups=GROUPS)
    assert_array_equal(np.flatnonzero(body.lo(np.array([3.0, -5.0, 3.0, 4.0, 4.0, 0.0]))), [0, 3])
    assert_array_equal(body.lo(np.zeros(6)), [2, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_lo_and_minimum_of_huge_and_tiny_gradients(size):
    g, body = np.random.default_rng(0).standard_normal(6), GroupLassoBall(6, 2.0, groups=GROUPS)
    assert_allclose(body.lo(size * g), body.lo(g), rtol=1e-14)
    assert_allclose(np.array(body.minimum(size * g)) / size, body.minimum(g), rtol=1e-14)


@pytest.mark.parametrize("radius", [1e-20, 1.0])
@pytest.mark.parametrize("size", [1e17, 1e299, 1e300, 1.7e308])
def test_points_far_outside_are_projected_into_the_set(radius, size):
    body = GroupLassoBall(6, radius, groups=GROUPS)
    for direction in (np.ones(6), -np.eye(6)[1], np.array([1.0, -1.0, 0.5, 0.0, 1.0, -1.0])):
        p = body.project(size * direction)
        assert body.contains(p, 1e-12)
        assert_allclose(p @ direction, radius * norms(direction).max(), rtol=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_divergence(bad):
    body = GroupLassoBall(6, groups=GROUPS)
    for ask in (body.lo, body.minimum, body.project):
        with pytest.raises(DivergedError):
            ask(np.array([1.0, bad, 0.0, 0.0, 0.0, 0.0]))


def test_diameter_membership_and_vertices():
    body, rng = GroupLassoBall(6, 1.7, groups=GROUPS), np.random.default_rng(0)
    drawn = [body.random_vertex(rng) for _ in range(300)]
    assert all(is_vertex(v, 1.7) for v in drawn)
    assert {int(np.argmax(norms(v))) for v in drawn} == {0, 1, 2}
    assert_allclose(np.linalg.norm(drawn[0] - -drawn[0]), body.diameter, rtol=1e-14)
    for v, w in itertools.pairwise(drawn):
        assert np.linalg.norm(v - w) <= body.diameter * (1.0 + 1e-14)
        assert body.contains(0.4 * v + 0.6 * w)
        assert body.contains(v * (1.0 + 1e-10))
        assert not body.contains(v * (1.0 + 1e-8))
    assert not body.contains(np.full(6, np.nan))
    assert not body.contains(np.zeros(5))
    assert not body.start().any()
