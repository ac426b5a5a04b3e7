"""The nuclear-norm ball against the singular value decomposition."""

import math

import numpy as np
import pytest
from helpers import as_matrix, assert_one_sentence, factored, random_pattern, random_point
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pfbench.base.errors import DivergedError, InputError, RefusedError
from pfbench.points import FactoredMatrix, RankOne, SparseOperator, combine, keep, tilt
from pfbench.points.atoms import Factors
from pfbench.sets import NuclearBall, nuclear
from pfbench.sets.lanczos import leading_singular_triple

SEEDS = st.integers(0, 2**32 - 1)
SHAPES = st.tuples(st.integers(1, 8), st.integers(1, 8))


def dense(factors):
    return (factors.left * factors.weights[:, None]).T @ factors.right


@given(SHAPES, SEEDS, st.floats(0.1, 100.0))
def test_lo_is_a_vertex_that_attains_the_minimum(shape, seed, radius):
    G = np.random.default_rng(seed).standard_normal(shape)
    body = NuclearBall(shape, radius)
    v, least = body.lo(G), -radius * np.linalg.svd(G, compute_uv=False)[0]
    assert isinstance(v, RankOne)
    assert_allclose([np.linalg.norm(v.u), np.linalg.norm(v.v)], 1.0, rtol=1e-13)
    assert abs(v.scale) == radius
    assert_allclose(np.vdot(G, v.matrix()), least, rtol=1e-12)
    assert_allclose(body.minimum(G), (least, least), rtol=1e-12)


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_lo_and_minimum_of_huge_and_tiny_gradients(size):
    G = size * np.array([[3.0, 1.0, 0.0], [0.0, -2.0, 1.0]])
    body, sigma = NuclearBall((2, 3), 2.0), np.linalg.norm(G / size, 2)
    assert_allclose(np.vdot(G / size, body.lo(G).matrix()), -2.0 * sigma, rtol=1e-12)
    assert_allclose(np.array(body.minimum(G)) / size, -2.0 * sigma, rtol=1e-12)


def test_a_zero_gradient_gives_a_vertex():
    body = NuclearBall((3, 2), 2.0)
    assert_allclose(np.linalg.svd(body.lo(np.zeros((3, 2))).matrix())[1], [2.0, 0.0])
    assert body.minimum(np.zeros((3, 2))) == (0.0, 0.0)


def test_a_tilted_gradient_that_cancels_to_zero_gives_a_vertex():
    # Two copies of one point that share no atoms: their difference is 0 only after cancellation.
    pattern = random_pattern(np.random.default_rng(0))
    x, u = (one_atom(pattern) for _ in range(2))
    zero = tilt(np.zeros(pattern.n), x, u, 1.0)
    assert zero.magnitude() > 0.0
    body = NuclearBall(pattern.shape, 2.0)
    assert_allclose(np.linalg.norm(body.lo(zero).matrix()), 2.0)
    certified = leading_singular_triple(
        zero, np.random.default_rng(0), tolerance=1e-3, failure=1e-9
    )
    assert 0.0 == certified.sigma <= certified.upper <= 1e-15
    warm = body.make_warm_lmo(np.random.default_rng(0), 1e-3)
    warm.lo(np.ones(pattern.shape))
    assert_allclose(np.linalg.norm(warm.lo(zero).matrix()), 2.0)


def one_atom(pattern):
    return FactoredMatrix.from_factors(
        pattern, Factors(np.ones(1), np.ones((1, 5)), np.ones((1, 4)))
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_divergence(bad):
    G = np.ones((3, 2))
    G[1, 0] = bad
    body = NuclearBall((3, 2), 1.0)
    for ask in (body.lo, body.minimum, body.project):
        with pytest.raises(DivergedError):
            ask(G)


def test_operators_are_minimised_like_their_matrix():
    rng = np.random.default_rng(0)
    pattern = random_pattern(rng)
    g, x, u = rng.standard_normal(pattern.n), random_point(rng, pattern), random_point(rng, pattern)
    body = NuclearBall(pattern.shape, 3.0)
    for operator in (SparseOperator(pattern, g), tilt(g, x, u, 0.8)):
        least = -3.0 * np.linalg.norm(operator.dense(), 2)
        assert_allclose(operator.inner(body.lo(operator)), least, rtol=1e-12)
        assert_allclose(body.minimum(operator), (least, least), rtol=1e-12)
        assert body.lo(operator).pattern is pattern


def test_a_minimiser_that_starts_near_its_last_vertex_still_minimises():
    """Gradients that turn abruptly: a warm start must not hold the old direction."""
    body, rng = NuclearBall((6, 5), 1.0), np.random.default_rng(0)
    minimiser = body.make_warm_lmo(np.random.default_rng(1), 1e-8)
    for _ in range(30):
        G = rng.standard_normal((6, 5))
        assert_allclose(np.vdot(G, minimiser.lo(G).matrix()), -np.linalg.norm(G, 2), rtol=1e-9)


def test_equal_seeds_give_equal_bits():
    """ANCHORS 2.4: with a start of its own, a "deterministic" run would differ from itself."""
    gradients = np.random.default_rng(0).standard_normal((5, 40, 30))

    def answers():
        minimiser = NuclearBall((40, 30), 1.0).make_warm_lmo(np.random.default_rng(3), 1e-2)
        return [minimiser.lo(G).matrix().tobytes() for G in gradients]

    assert answers() == answers()
    body, G = NuclearBall((40, 30), 1.0), gradients[0]
    assert_array_equal(body.lo(G).matrix(), body.lo(G).matrix())


# --- the certified minimum ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sparse", "clustered", "tilted"])
def test_above_the_exact_size_the_minimum_is_a_certified_bracket(kind, monkeypatch):
    rng = np.random.default_rng(0)
    shape = (520, 500)  # 260 000 entries
    pattern = random_pattern(rng, shape, 5000)
    operator = SparseOperator(pattern, rng.standard_normal(5000))
    if kind == "clustered":
        operator = tilt(np.zeros(5000), clustered(rng, pattern), FactoredMatrix.zero(pattern), 1.0)
    if kind == "tilted":
        operator = tilt(operator.g, random_point(rng, pattern), FactoredMatrix.zero(pattern), 0.1)
    body = NuclearBall(shape, 4.0)
    lower, upper = body.minimum(operator)
    exact = -4.0 * np.linalg.svd(operator.dense(), compute_uv=False)[0]
    assert lower <= exact * (1.0 - 1e-13)
    assert exact * (1.0 + 1e-13) <= upper
    assert lower < upper  # Lanczos, not the exact factorisation
    assert lower >= upper * (1.0 + 1.001e-3)


def clustered(rng, pattern):
    M, N = pattern.shape
    left, right = (np.linalg.qr(rng.standard_normal((size, 60)))[0] for size in (M, N))
    return factored(pattern, (left * np.r_[1.0, np.linspace(0.999, 0.97, 59)]) @ right.T)


def test_the_largest_exact_size_is_exact():
    rng = np.random.default_rng(0)
    pattern = random_pattern(rng, (500, 500), 3000)
    operator = SparseOperator(pattern, rng.standard_normal(3000))
    lower, upper = NuclearBall((500, 500), 1.0).minimum(operator)
    assert lower == upper
    assert_allclose(-lower, np.linalg.svd(operator.dense(), compute_uv=False)[0], rtol=1e-13)


# --- projection -----------------------------------------------------------------------------------


@given(SHAPES, SEEDS, st.floats(0.1, 20.0))
def test_projection_is_feasible_idempotent_and_optimal(shape, seed, radius):
    Y = 2.0 * np.random.default_rng(seed).standard_normal(shape)
    body = NuclearBall(shape, radius)
    P = body.project(Y)
    assert_allclose(dense(body.project_factors(Y)), P, atol=1e-13 * radius)
    assert body.contains(P, 1e-12)
    assert_allclose(body.project(P), P, atol=1e-12 * radius)
    # max over the ball of <Y - P, V - P> is radius sigma_1(Y - P) - <Y - P, P>.
    rest = Y - P
    assert radius * np.linalg.norm(rest, 2) - np.vdot(rest, P) <= 1e-12 * (radius + 10.0) ** 2
    if np.linalg.svd(Y, compute_uv=False).sum() <= radius:
        assert_allclose(P, Y, atol=1e-13)


def test_projection_of_a_matrix_far_outside():
    P = NuclearBall((2, 2), 1.0).project(np.diag([1e17, 2.0]))
    assert_allclose(P, np.diag([1.0, 0.0]), atol=1e-15)


def test_projection_is_refused_where_it_would_form_a_huge_matrix():
    body = NuclearBall((2001, 2000), 1.0)
    with pytest.raises(RefusedError) as error:
        body.project(np.zeros(1))
    assert_one_sentence(error, "2001 x 2000", "projection-free")


def test_the_start_is_a_fresh_zero_matrix():
    body = NuclearBall((3, 2), 1.0)
    body.start()[:] = 7.0
    assert_array_equal(body.start(), np.zeros((3, 2)))


# --- diameter, membership, vertices ---------------------------------------------------------------


@given(SHAPES, SEEDS)
def test_diameter_is_attained_and_never_exceeded(shape, seed):
    body, rng = NuclearBall(shape, 3.0), np.random.default_rng(seed)
    v, w = body.random_vertex(rng).matrix(), body.random_vertex(rng).matrix()
    assert_allclose(np.linalg.norm(v - -v), body.diameter, rtol=1e-13)
    assert np.linalg.norm(v - w) <= body.diameter * (1.0 + 1e-13)
    assert_allclose(np.linalg.svd(v, compute_uv=False)[0], 3.0, rtol=1e-13)
    assert_allclose(np.linalg.svd(v, compute_uv=False)[1:], 0.0, atol=1e-14)


def test_membership_of_arrays_points_and_vertices():
    rng = np.random.default_rng(0)
    pattern, body = random_pattern(rng), NuclearBall((5, 4), 3.0)
    inside = rng.standard_normal((5, 4))
    inside *= 3.0 / np.linalg.svd(inside, compute_uv=False).sum()
    for make in (np.asarray, lambda matrix: factored(pattern, matrix)):
        assert body.contains(make(inside))
        assert body.contains(make(inside * (1.0 + 1e-10)))
        assert not body.contains(make(inside * (1.0 + 1e-8)))
    vertex = body.random_vertex(rng, pattern)
    assert vertex.pattern is pattern
    assert body.contains(vertex)
    assert not body.contains(RankOne(vertex.u, vertex.v, 3.1))
    assert not body.contains(np.full((5, 4), np.nan))
    assert not body.contains(np.zeros((4, 5)))


def test_iterates_of_convex_combinations_stay_inside():
    rng = np.random.default_rng(0)
    pattern, body = random_pattern(rng), NuclearBall((5, 4), 3.0)
    x = FactoredMatrix.zero(pattern)
    for _ in range(200):
        x = combine(x, body.random_vertex(rng, pattern), rng.random())
    assert body.contains(x, 1e-12)
    assert body.contains(keep(x), 1e-12)


def test_a_vertex_of_a_dense_gradient_has_no_pattern():
    assert NuclearBall((2, 2), 1.0).lo(np.eye(2)).pattern is None


@pytest.mark.parametrize(
    ("shape", "radius", "words"),
    [
        ((0, 3), 1.0, ["matrix size=0", "at least 1"]),
        ((3, -1), 1.0, ["matrix size=-1", "at least 1"]),
        ((3, 3), -2.0, ["radius=-2", "greater than 0"]),
        ((3, 3), math.nan, ["radius=nan", "finite"]),
    ],
)
def test_bad_sizes_are_refused_in_one_sentence(shape, radius, words):
    with pytest.raises(InputError) as error:
        NuclearBall(shape, radius)
    assert_one_sentence(error, *words)


def test_the_bound_is_recorded_as_documented():
    """`solve` and the report quote these numbers."""
    assert nuclear.CERTIFICATE_FAILURE == 1e-9
    assert nuclear.DENSE_ENTRIES == 4_000_000


def test_sparse_operator_is_its_matrix():
    pattern = random_pattern(np.random.default_rng(0))
    g = np.arange(1.0, pattern.n + 1.0)
    assert_array_equal(SparseOperator(pattern, g).dense(), as_matrix(pattern, g))


def test_a_multiple_leading_singular_value():
    """The vertex is optimal each time, also where an earlier one took a leading pair away."""
    ball = NuclearBall((8, 8), 1.0)
    g = np.diag([1.0, 1.0, 1.0, 0.5, 0.4, 0.3, 0.2, 0.1])
    for _ in range(3):
        v = ball.lo(g)
        assert np.vdot(g, v.matrix()) == pytest.approx(ball.minimum(g)[0], rel=1e-9)
        g = g + 0.3 * v.matrix()
