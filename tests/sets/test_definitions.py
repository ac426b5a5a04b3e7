"""Norm balls, the simplex and the spectrahedron against their support functions.

The polytopes among them are compared with their vertices, too, in test_polytopes.py.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from helpers import refused
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import pfbench as pf
from pfbench.points import RankOne, combine
from pfbench.sets import (
    ColumnBall,
    GroupLassoBall,
    L1Ball,
    L2Ball,
    LinfBall,
    MaxColumnBall,
    MaxRowBall,
    NuclearBall,
    RowBall,
    Simplex,
    Spectrahedron,
    SpectralBall,
)

GROUPS = ((3, 0), (1,), (5, 2, 4))


@dataclass
class Case:
    """A set by its size, the largest <g, v> over its points v, and its norm if it is a ball."""

    make: Callable[[float], Any]
    support: Callable[[np.ndarray], float]
    norm: Callable[[np.ndarray], float] | None = None


def lengths(axis):
    return lambda x: np.linalg.norm(x, axis=axis)


def of_groups(x):
    return np.array([np.linalg.norm(x[list(group)]) for group in GROUPS])


def modulus_case(cls, parts, *, sums, shape=6, **more):
    """A ball of the sum or the largest of some parts' lengths; the other is the dual norm."""
    norm, dual = (lambda x: parts(x).sum()), (lambda x: parts(x).max())
    norm, dual = (norm, dual) if sums else (dual, norm)
    return Case(lambda radius: cls(shape, radius, **more), dual, norm)


def singular_values(x):
    return np.linalg.svd(x, compute_uv=False)


CASES = {
    "l1": modulus_case(L1Ball, np.abs, sums=True),
    "l2": Case(lambda radius: L2Ball(6, radius), np.linalg.norm, np.linalg.norm),
    "linf": modulus_case(LinfBall, np.abs, sums=False),
    "simplex": Case(lambda radius: Simplex(6, radius), np.max),
    "group-lasso": modulus_case(GroupLassoBall, of_groups, sums=True, groups=GROUPS),
    "spectrahedron": Case(
        lambda radius: Spectrahedron(3, radius), lambda g: np.linalg.eigvalsh((g + g.T) / 2)[-1]
    ),
} | {
    f"{cls.name} {shape}": modulus_case(cls, parts, sums=sums, shape=shape)
    for shape in ((3, 2), (2, 4), (1, 3))
    for cls, parts, sums in (
        (NuclearBall, singular_values, True),
        (SpectralBall, singular_values, False),
        (RowBall, lengths(1), True),
        (ColumnBall, lengths(0), True),
        (MaxRowBall, lengths(1), False),
        (MaxColumnBall, lengths(0), False),
    )
}
EACH = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
BALLS = {name: case for name, case in CASES.items() if case.norm}
EACH_BALL = pytest.mark.parametrize("case", BALLS.values(), ids=BALLS)
NUMBERS = st.lists(
    st.integers(-2, 2).map(float) | st.floats(-4.0, 4.0, allow_subnormal=False),
    min_size=9,
    max_size=9,
).map(np.array)
RADII = st.floats(0.1, 10.0)


def dense(v):
    return v.matrix() if isinstance(v, RankOne) else v


def shaped(body, numbers):
    return np.resize(numbers, body.shape)


# --- linear minimisation and projection -----------------------------------------------------------


@EACH
@settings(max_examples=40)
@given(numbers=NUMBERS, radius=RADII)
@example(numbers=np.zeros(9), radius=1.0)
def test_lo_is_a_point_of_the_set_with_the_least_inner_product(case, numbers, radius):
    body = case.make(radius)
    g = shaped(body, numbers)
    v, least = dense(body.lo(g)), -radius * case.support(-g)
    close = {"rtol": 1e-11, "atol": 1e-12 * radius * np.linalg.norm(g) + 1e-150}
    assert_allclose(np.vdot(g, v), least, **close)
    assert_allclose(body.minimum(g), least, **close)
    assert body.contains(v)
    if case.norm:  # the boundary, even for g = 0
        assert_allclose(case.norm(v), radius, rtol=1e-12)


@EACH
@settings(max_examples=40)
@given(numbers=NUMBERS, radius=RADII, far=st.sampled_from([1.0, 30.0, 1e10]))
def test_projection_is_feasible_idempotent_and_satisfies_the_variational_inequality(
    case, numbers, radius, far
):
    """p is the nearest point if and only if <y - p, v - p> <= 0 for all v in the set."""
    body = case.make(radius)
    y = far * shaped(body, numbers)
    before = y.copy()
    p = body.project(y)
    assert_array_equal(y, before)
    assert body.contains(p)
    away = (y - p) / far
    assert radius * case.support(away) - np.vdot(away, p) <= 1e-10 * (radius + 10.0) ** 2
    assert_allclose(body.project(p), p, atol=1e-12 * radius)
    if case.norm and case.norm(y) <= radius * (1.0 - 1e-12):
        assert_allclose(p, y, atol=1e-13)


@EACH
@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_lo_and_minimum_of_huge_and_tiny_gradients(case, size):
    body = case.make(2.0)
    g = shaped(body, np.random.default_rng(2).standard_normal(9))
    least = -2.0 * case.support(-g)
    assert_allclose(np.vdot(g, dense(body.lo(size * g))), least, rtol=1e-12)
    assert_allclose(np.array(body.minimum(size * g)) / size, least, rtol=1e-12)


@pytest.mark.parametrize("name", ["l1", "l2", "linf", "simplex"])
def test_lo_and_minimum_of_a_subnormal_gradient(name):
    case, g = CASES[name], np.array([1.0, -3.0, 2.0, 0.0, 1.0, -1.0])
    body = case.make(2.0)
    assert_allclose(np.vdot(g, body.lo(5e-324 * g)), -2.0 * case.support(-g), rtol=1e-12)
    assert_allclose(body.minimum(5e-324 * g)[0] / 5e-324, -2.0 * case.support(-g), rtol=0.1)


@EACH
@pytest.mark.parametrize(("radius", "size"), [(1e-20, 1e17), (1.5, 1e17), (1.5, 1e300)])
def test_points_far_outside_are_projected_to_the_face_in_their_direction(case, radius, size):
    body = case.make(radius)
    for signs in np.sign(np.random.default_rng(5).standard_normal((5, 9))):
        direction = shaped(body, signs * [1.0, 0.5, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0])
        p = body.project(size * direction)
        assert body.contains(p)
        assert_allclose(np.vdot(p, direction), radius * case.support(direction), rtol=1e-9)


# --- diameter, membership, vertices, start --------------------------------------------------------


@EACH
def test_random_vertices_are_the_only_minimisers_of_their_functions(case):
    body, rng = case.make(1.7), np.random.default_rng(3)
    vertices = [dense(body.random_vertex(rng)) for _ in range(80)]
    for v in vertices:
        assert body.contains(v)
        assert_allclose(dense(body.lo(-v)), v, atol=1e-11)
    assert np.any(vertices, axis=0).all()
    farthest = max(np.linalg.norm(v - w) for v in vertices for w in vertices)
    assert farthest <= body.diameter * (1.0 + 1e-12)
    largest = max(map(np.linalg.norm, vertices))
    assert largest <= body.max_norm * (1.0 + 1e-12)
    if len(body.shape) == 2:
        assert_allclose(body.max_norm, largest, rtol=1e-12)
    attained = 2.0 * largest if case.norm else math.sqrt(2.0) * largest
    assert_allclose(body.diameter, attained, rtol=1e-12)


@EACH_BALL
@pytest.mark.parametrize("radius", [1e-6, 2.0, 1e6])
def test_membership_is_up_to_a_relative_tolerance(case, radius):
    body = case.make(radius)
    v = dense(body.random_vertex(np.random.default_rng(1)))
    assert body.contains(v * (1.0 + 1e-10))
    assert not body.contains(v * (1.0 + 1e-8))
    assert body.contains(v * 1.05, tolerance=0.1)
    for outside in (math.nan * v, np.full(v.shape, math.inf), np.zeros((7, 2)), v[None], "x"):
        assert not body.contains(outside)


@pytest.mark.parametrize("cls", [SpectralBall, RowBall, ColumnBall, MaxRowBall, MaxColumnBall])
def test_a_matrix_of_rank_one_is_a_member_up_to_the_radius(cls):
    ball, u, v = cls((2, 3), 2.0), np.array([1.0, 0.0]), np.array([0.0, 1.0, 0.0])
    assert ball.contains(RankOne(u, v, 2.0))
    assert not ball.contains(RankOne(u, v, -2.1))


@EACH
def test_the_start_is_fresh_and_iterates_stay_inside(case):
    body, rng = case.make(3), np.random.default_rng(0)
    x = body.start()
    assert body.contains(x)
    assert dense(body.lo(x)).dtype == dense(body.random_vertex(rng)).dtype == np.float64
    assert x.any() == (case.norm is None)
    body.start()[:] = 7.0
    assert_array_equal(body.start(), x)
    for _ in range(100):
        x = combine(x, body.random_vertex(rng), rng.random())
    assert body.contains(x, 1e-12)


@pytest.mark.parametrize("kind", [L1Ball, L2Ball, LinfBall, Simplex])
@pytest.mark.parametrize("d", [10**3, 10**4, 10**6])
def test_points_with_many_entries_are_projected_into_the_set(kind, d):
    """A vertex that a small step has moved is above the threshold in all entries."""
    rng, vertex = np.random.default_rng(0), np.eye(1, d)[0]
    for y in (0.8 * vertex, vertex + 1e-3 * rng.random(d), -1e3 - rng.random(d), rng.random(d)):
        for radius in (1.0, 20.0):
            body = kind(d, radius)
            p = body.project(radius * y)
            assert body.contains(p, 2e-10)
            towards = radius * y - p
            worst = body.lo(-towards)
            assert towards @ (worst - p) <= 1e-9 * radius * np.linalg.norm(towards, 1)


def test_a_point_of_the_sphere_has_no_preferred_side():
    drawn = [L2Ball(4).random_vertex(np.random.default_rng(seed)) for seed in range(300)]
    assert np.abs(np.mean(drawn, axis=0)).max() < 0.15


@pytest.mark.parametrize(
    ("kind", "size", "radius", "words"),
    [
        *(
            (kind, size, radius, words)
            for kind in (L1Ball, L2Ball, LinfBall, Simplex, Spectrahedron)
            for size, radius, words in (
                (0, 1.0, ["d=0", "at least 1"]),
                (2.5, 1.0, ["d=2.5", "integer"]),
                (True, 1.0, ["d=True", "integer"]),
                (3, 0.0, ["radius=0", "greater than 0"]),
                (3, math.nan, ["radius=nan", "finite"]),
                (3, math.inf, ["radius=inf", "finite"]),
                (3, "2", ["radius='2'", "number"]),
            )
        ),
        *(
            (kind, size, radius, words)
            for kind in (NuclearBall, SpectralBall, RowBall, ColumnBall, MaxRowBall, MaxColumnBall)
            for size, radius, words in (
                ((0, 3), 1.0, ["matrix size=0", "at least 1"]),
                ((3, -1), 1.0, ["matrix size=-1", "at least 1"]),
                ((3, 3), -2.0, ["radius=-2", "greater than 0"]),
                ((3, 3), math.nan, ["radius=nan", "finite"]),
            )
        ),
    ],
)
def test_bad_sizes_are_refused_in_one_sentence(kind, size, radius, words):
    with refused(*words):
        kind(size, radius)


# --- groups ---------------------------------------------------------------------------------------


def test_groups_of_one_length_are_consecutive_and_the_last_may_be_shorter():
    body = GroupLassoBall(5, groups=2)
    assert_array_equal(np.flatnonzero(body.lo(np.array([0.0, 0, 0, 0, 1]))), [4])
    assert_array_equal(np.flatnonzero(body.lo(np.array([0.0, 0, 2, 1, 1]))), [2, 3])
    explicit = GroupLassoBall(5, groups=[[0, 1], np.array([2, 3]), (4,)])
    g = np.array([1.0, -2.0, 2.0, 1.5, 0.3])
    assert_array_equal(body.lo(g), explicit.lo(g))
    assert explicit == GroupLassoBall(5, groups=[[0, 1], [2, 3], [4]])
    assert hash(explicit) == hash(GroupLassoBall(5, groups=[[0, 1], [2, 3], [4]]))


def test_ties_go_to_the_lowest_index_or_group():
    assert_array_equal(L1Ball(4).lo(np.array([1.0, -2.0, 2.0, -2.0])), [0, 1, 0, 0])
    assert_array_equal(Simplex(4).lo(np.array([1.0, -2.0, 5.0, -2.0])), [0, 1, 0, 0])
    assert_array_equal(L1Ball(3).lo(np.zeros(3)), [-1, 0, 0])
    assert_array_equal(Simplex(3).lo(np.zeros(3)), [1, 0, 0])
    body = GroupLassoBall(6, 2.0, groups=GROUPS)
    assert_array_equal(np.flatnonzero(body.lo(np.array([3.0, -5.0, 3.0, 4.0, 4.0, 0.0]))), [0, 3])
    assert_array_equal(body.lo(np.zeros(6)), [2, 0, 0, 0, 0, 0])


# --- problems over sets of matrices ---------------------------------------------------------------

FAMILIES = {
    "multiclass-logistic": {"source": "synthetic", "rows": 30, "columns": 4, "classes": 4},
    "multitask-sigmoid": {"rows": 6, "columns": 4, "kinds": 2, "copies": 2},
    "matrix-regression": {"rows": 4, "columns": 4, "rank": 2, "n": 50, "sensing_variance": 0.2},
}
BODIES = [
    *(cls((4, 4), 3.0) for cls in (NuclearBall, SpectralBall, RowBall, ColumnBall)),
    Spectrahedron(4, 3.0),
]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.name)
def test_problems_on_matrices_take_any_set_of_matrices(name, body):
    """Constants that depend on the set hold on it; Frank-Wolfe and projections run on it."""
    problem = pf.problem(name, **FAMILIES[name], set=body.name, radius=3.0)
    assert problem.set == body
    start = problem.start()
    constants = problem.constants(start)
    assert (body.diameter, body.max_norm) == (constants.D, constants.M)
    assert body.contains(start)
    rng, everyone = np.random.default_rng(0), np.arange(problem.n)
    for x in (dense(body.random_vertex(rng)) for _ in range(12)):
        assert problem.value(x) >= problem.value(start) - constants.delta - 1e-12
        mean = problem.gradient(x)
        each = [problem.batch(everyone[i : i + 1], x) for i in range(problem.n)]
        assert np.mean([np.sum((g - mean) ** 2) for g in each]) <= constants.sigma2
    run = pf.solve(
        problem, pf.algorithm("frank-wolfe", iterations=30), measures=["fw_gap"], every=30
    )
    assert (run.status, run.counts.lo) == ("finished", 30)
    assert body.contains(run.x)
    assert -1e-12 <= run.final["fw_gap"] < run.trace["fw_gap"][0]
    projected = pf.solve(problem, pf.algorithm("prox-gd", iterations=30, step=0.5 / constants.L_f))
    assert body.contains(projected.x)
    assert projected.final["objective"] < problem.value(start)
