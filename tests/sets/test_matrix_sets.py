"""The nuclear ball and the spectrahedron against decompositions, and their certified minima."""

import math

import numpy as np
import pytest
from helpers import factored, random_pattern, random_point, refused
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ortho_group

from pfbench.base.errors import RefusedError
from pfbench.points import FactoredMatrix, RankOne, SparseOperator, inner, tilt
from pfbench.points.atoms import Factors
from pfbench.sets import NuclearBall, Spectrahedron, nuclear, partial_svd
from pfbench.sets.balls import project_simplex
from pfbench.sets.lanczos import leading_singular_triple
from pfbench.sets.partial_svd import RESIDUAL, WORTHWHILE, singular_triplets_above
from pfbench.sets.penalties import NuclearPenalty
from pfbench.sets.square_matrices import _eigenvalue_lower_bound


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
    lower, upper = NuclearBall(shape, 4.0).minimum(operator)
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
    with refused("2001 x 2000", "projection-free", error=RefusedError):
        body.project(np.zeros(1))


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


def test_a_multiple_leading_singular_value():
    """The vertex is optimal each time, also where an earlier one took a leading pair away."""
    ball = NuclearBall((8, 8), 1.0)
    g = np.diag([1.0, 1.0, 1.0, 0.5, 0.4, 0.3, 0.2, 0.1])
    for _ in range(3):
        v = ball.lo(g)
        assert np.vdot(g, v.matrix()) == pytest.approx(ball.minimum(g)[0], rel=1e-9)
        g = g + 0.3 * v.matrix()


# --- the spectrahedron ----------------------------------------------------------------------------

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


# --- singular values above a threshold ------------------------------------------------------------

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
