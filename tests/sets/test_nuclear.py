"""The nuclear-norm ball against the singular value decomposition."""

import numpy as np
import pytest
from helpers import as_matrix, assert_one_sentence, factored, random_pattern, random_point
from numpy.testing import assert_allclose, assert_array_equal

from pfbench.base.errors import RefusedError
from pfbench.points import FactoredMatrix, RankOne, SparseOperator, tilt
from pfbench.points.atoms import Factors
from pfbench.sets import NuclearBall, nuclear
from pfbench.sets.lanczos import leading_singular_triple


def test_a_vertex_has_unit_factors():
    v = NuclearBall((5, 4), 3.0).lo(np.random.default_rng(0).standard_normal((5, 4)))
    assert isinstance(v, RankOne)
    assert_allclose([np.linalg.norm(v.u), np.linalg.norm(v.v), abs(v.scale)], [1.0, 1.0, 3.0])


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


@pytest.mark.parametrize("radius", [0.3, 20.0])
def test_the_factors_of_a_projection_are_those_of_its_matrix(radius):
    Y = 2.0 * np.random.default_rng(0).standard_normal((5, 4))
    body = NuclearBall((5, 4), radius)
    factors = body.project_factors(Y)
    dense = (factors.left * factors.weights[:, None]).T @ factors.right
    assert_allclose(dense, body.project(Y), atol=1e-13 * radius)


def test_projection_is_refused_where_it_would_form_a_huge_matrix():
    body = NuclearBall((2001, 2000), 1.0)
    with pytest.raises(RefusedError) as error:
        body.project(np.zeros(1))
    assert_one_sentence(error, "2001 x 2000", "projection-free")


# --- diameter, membership, vertices ---------------------------------------------------------------


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


def test_a_vertex_of_a_dense_gradient_has_no_pattern():
    assert NuclearBall((2, 2), 1.0).lo(np.eye(2)).pattern is None


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
