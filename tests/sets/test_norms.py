"""Norms by name, proximal maps of penalties, local minimisation and distances to polytopes."""

from functools import partial

import numpy as np
import pytest
from helpers import assert_one_sentence, refused
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar, nnls

from pfbench.base.errors import DivergedError, InputError, RefusedError
from pfbench.base.selectors import Selector
from pfbench.sets import (
    Box,
    GroupPenalty,
    L1Ball,
    L1Penalty,
    L2Ball,
    NormProduct,
    NuclearPenalty,
    Simplex,
    SpectralBall,
)
from pfbench.sets.body import minimise_locally
from pfbench.sets.catalogue import NORMS, layer_norm_ball, norm_ball
from pfbench.sets.matrix_balls import (
    inverse_sqrt_coefficients,
    newton_schulz,
    newton_schulz_scalar,
    quintic_iterations,
)
from pfbench.sets.orthogonalisers import PRESETS, QUINTIC, map_singular_values
from pfbench.sets.polytope_distance import hull_distance_bounds
from pfbench.sets.whole_space import WholeSpace

RNG = np.random.default_rng(3)


def test_the_coefficients_are_those_of_the_inverse_root():
    u = 0.01
    assert inverse_sqrt_coefficients(2) == (1.0, 0.5, 0.375)
    assert sum(c * u**k for k, c in enumerate(inverse_sqrt_coefficients(7))) == pytest.approx(
        (1 - u) ** -0.5
    )


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (1, 4)])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_products_of_matrices_act_on_singular_values_alone(shape, degree):
    M = RNG.standard_normal(shape)
    u, s, vt = np.linalg.svd(M / np.linalg.norm(M), full_matrices=False)
    X = (u * s) @ vt
    for _ in range(3):
        s = newton_schulz_scalar(s, degree)
    np.testing.assert_allclose(newton_schulz(X, degree, 3), (u * s) @ vt, atol=1e-14)
    t = np.linalg.svd(X, compute_uv=False)
    t = map_singular_values(2 * [QUINTIC], t)
    np.testing.assert_allclose(quintic_iterations(X, 2 * [QUINTIC]), (u * t) @ vt, atol=1e-13)


def test_what_an_inexact_minimisation_is_worth_is_told_exactly():
    """By its singular values: lo = sum s h(s)/sum s and hi = max h(s)."""
    M = RNG.standard_normal((4, 6))
    s = np.linalg.svd(M, compute_uv=False)
    linear = partial(newton_schulz_scalar, degree=1)
    for text, products, steps, step in (
        ("spectral[lmo=quintic,steps=3]", 9, 3, partial(map_singular_values, [QUINTIC])),
        ("spectral[lmo=newton-schulz,steps=4,degree=1]", 8, 4, linear),
        *(
            (f"spectral[lmo={name}]", 3 * len(some), 1, partial(map_singular_values, some))
            for name, some in PRESETS.items()
            if some
        ),
    ):
        ball, t = norm_ball(text, M.shape), s / np.linalg.norm(s)
        for _ in range(steps):
            t = step(t)
        found = ball.lmo_quality(7.0 * M)
        assert ball.matrix_products_per_lmo == products
        assert found.lower == pytest.approx((s * t).sum() / s.sum(), rel=1e-12)
        assert found.upper == pytest.approx(t.max(), rel=1e-12)
        assert not ball.lo_zero_if_undetermined(0.0 * M).any()
    assert norm_ball("spectral", (4, 6)).lmo_quality(M) == pytest.approx((1.0, 1.0))


def test_a_product_reads_its_blocks_in_their_order():
    ball = layer_norm_ball("spectral[radius=2]*linf", [(2, 3), (2, 2)])
    x = np.arange(10.0)
    first, second = ball.split(x)
    assert (first.tolist(), second.tolist()) == ([[0, 1, 2], [3, 4, 5]], [[6, 7], [8, 9]])
    assert ball.norm(x) == pytest.approx(max(np.linalg.norm(first, 2) / 2.0, 9.0))
    assert ball.dual_norm(x) == pytest.approx(2.0 * np.linalg.norm(first, "nuc") + 30.0)
    assert ball.block_norm_names == {"spectral", "linf"}
    assert NormProduct((SpectralBall((2, 2)), L1Ball(3))).shape == (7,)


@pytest.mark.parametrize(
    ("text", "shape", "words"),
    [
        ("spectrall", (2, 2), "did you mean 'spectral'"),
        ("spectral", (4,), "is for matrices"),
        ("linf[lmo=quintic]", (4,), "unknown parameter of the norm linf 'lmo'"),
        ("spectral[lmo=svd]", (2, 2), "lmo"),
        ("spectral[radius=0]", (2, 2), "radius"),
    ],
)
def test_bad_norms_are_refused(text, shape, words):
    with pytest.raises(InputError, match=words) as error:
        norm_ball(text, shape)
    assert_one_sentence(error)


def test_a_norm_for_each_block_or_one_for_all():
    assert len(layer_norm_ball("linf", [(2, 3), (3, 4), (1,)]).balls) == 3
    with pytest.raises(InputError, match="names 2 norms for 3 blocks"):
        layer_norm_ball("linf*l2", [(2, 3), (3, 4), (1,)])
    assert set(NORMS) == {
        *("l1", "l2", "linf", "spectral", "nuclear", "max-row-norm", "max-column-norm")
    }


def test_a_selector_may_hold_another_one():
    selector = Selector.parse("p[norm=spectral[radius=2,lmo=quintic],set=none]")
    assert selector.parameters == {"norm": "spectral[radius=2,lmo=quintic]", "set": "none"}
    assert Selector.parse(str(selector)) == selector


# --- penalties ------------------------------------------------------------------------------------

GROUPS = ((3, 0), (1,), (5, 2, 4))
ENTRIES = st.integers(-2, 2).map(float) | st.floats(-4.0, 4.0)
VECTORS = st.lists(ENTRIES, min_size=6, max_size=6).map(np.array)
STEPS = st.sampled_from([1e-3, 0.3, 1.0, 7.0])
WEIGHTS = st.sampled_from([0.0, 0.5, 2.0])
PENALTIES = {
    "l1": lambda weight: L1Penalty(weight),
    "nuclear": lambda weight: NuclearPenalty(weight),
    "group": lambda weight: GroupPenalty(weight, d=6, groups=GROUPS),
}
every_penalty = pytest.mark.parametrize("name", PENALTIES)


def shaped(name, numbers):
    return numbers.reshape(2, 3) if name == "nuclear" else numbers


# The norm, its dual norm, and the projection onto the dual ball: each once more, by definition.


def norm(name, x):
    if name == "l1":
        return sum(abs(float(e)) for e in x)
    if name == "nuclear":
        return np.sqrt(np.maximum(np.linalg.eigvalsh(x @ x.T), 0.0)).sum()
    return sum(np.linalg.norm(x[list(group)]) for group in GROUPS)


def dual_norm(name, x):
    if name == "l1":
        return np.abs(x).max()
    if name == "nuclear":
        return np.linalg.norm(x, 2)
    return max(np.linalg.norm(x[list(group)]) for group in GROUPS)


@every_penalty
@given(numbers=VECTORS, weight=WEIGHTS)
def test_value_is_weight_times_the_norm(name, numbers, weight):
    x, h = shaped(name, numbers), PENALTIES[name](weight)
    assert_allclose(h.value(x), weight * norm(name, x), rtol=1e-7, atol=1e-7)
    assert h.value(x) >= h.lower_bound == 0.0
    assert h.value(0.0 * x) == h.lower_bound


@every_penalty
@given(numbers=VECTORS, weight=WEIGHTS, t=STEPS)
def test_prox_is_optimal_by_the_subgradient_condition(name, numbers, weight, t):
    """(y - p)/t is a subgradient of h at p: within weight times the dual ball, and aligned."""
    y, h = shaped(name, numbers), PENALTIES[name](weight)
    before = y.copy()
    p = h.prox(y, t)
    assert_array_equal(y, before)
    assert p.shape == y.shape
    assert not np.shares_memory(p, y)
    assert dual_norm(name, y - p) <= t * weight + 1e-13
    assert_allclose(np.vdot(y - p, p), t * h.value(p), atol=1e-12)


@every_penalty
def test_small_points_are_set_to_exactly_0(name):
    y = shaped(name, np.array([0.1, -0.2, 0.1, 0.0, 0.1, 0.1]))
    assert not PENALTIES[name](1.0).prox(y, 1.0).any()
    assert_array_equal(PENALTIES[name](0.0).prox(y, 3.0), y)
    assert_array_equal(PENALTIES[name](2.0).prox(y, 0.0), y)


@every_penalty
@pytest.mark.parametrize("size", [1e300, 1e150, 1e-300])
def test_huge_and_tiny_points(name, size):
    y = shaped(name, np.random.default_rng(0).standard_normal(6))
    expected = PENALTIES[name](0.7).prox(y, 1.0)
    assert_allclose(PENALTIES[name](0.7 * size).prox(size * y, 1.0) / size, expected, atol=1e-13)
    assert_allclose(PENALTIES[name](0.7).prox(1e300 * y, 1.0), 1e300 * y, rtol=1e-13)
    assert_allclose(PENALTIES[name](1.0).value(size * y) / size, norm(name, y), rtol=1e-13)


@every_penalty
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_divergence(name, bad):
    y = shaped(name, np.array([0.0, bad, 0.0, 0.0, 0.0, 0.0]))
    with pytest.raises(DivergedError):
        PENALTIES[name](1.0).prox(y, 1.0)


@every_penalty
@pytest.mark.parametrize("t", [-1.0, np.nan, np.inf])
def test_a_bad_step_is_refused_in_one_sentence(name, t):
    with refused(f"t={t}"):
        PENALTIES[name](1.0).prox(shaped(name, np.zeros(6)), t)


def test_points_of_another_shape_are_refused():
    for h, x in ((PENALTIES["group"](1.0), np.zeros(5)), (PENALTIES["nuclear"](1.0), np.zeros(6))):
        for ask in (h.value, lambda x, h=h: h.prox(x, 1.0)):
            with refused(h.name, str(x.shape)):
                ask(x)


def test_the_l1_penalty_takes_matrices():
    y = np.array([[3.0, -0.5], [1.0, -2.0]])
    assert_array_equal(L1Penalty(1.0).prox(y, 1.0), [[2.0, 0.0], [0.0, -1.0]])


def test_a_huge_matrix_is_refused():
    with refused("2001 x 2000", "projection-free", error=RefusedError):
        NuclearPenalty(1.0).prox(np.broadcast_to(0.0, (2001, 2000)), 1.0)


# --- local linear minimisation --------------------------------------------------------------------

SETS = [Box(4), L1Ball(4), L2Ball(4), Simplex(4)]


def least_product(domain, x, g, radius, z):
    """Return a lower bound of <g, y - z> over the y of the set with |y - x| <= radius.

    For each m >= 0 it is the minimum over the set of <g + m (z - x), y - z>, plus m times
    (|z - x|^2 - radius |z - x|), since <z - x, y - x> <= radius |z - x|.
    """
    d = z - x
    length = np.linalg.norm(d)

    def bound(m):
        h = g + m * d
        return h @ (domain.lo(h) - z) + m * (length**2 - radius * length)

    # The bound is concave in m, and best for m = 1/tau, at most |g|/|z - x|.
    if length < 1e-9:  # x is a minimiser
        return bound(0.0)
    upper = 1.1 * np.linalg.norm(g) / length
    best = minimize_scalar(
        lambda m: -bound(m), bounds=(0.0, upper), method="bounded", options={"xatol": 1e-12}
    )
    return max(bound(0.0), bound(best.x), *map(bound, upper * np.geomspace(1e-9, 1.0, 50)))


@pytest.mark.parametrize("domain", SETS, ids=lambda domain: domain.name)
@given(seed=st.integers(0, 10**6), radius=st.floats(1e-3, 4.0))
def test_it_is_optimal_and_within_the_radius(domain, seed, radius):
    rng = np.random.default_rng(seed)
    x, g = domain.project(rng.standard_normal(4)), rng.standard_normal(4)
    z = minimise_locally(domain, x, g, radius)
    assert np.linalg.norm(z - x) <= radius * (1 + 1e-12)
    assert np.linalg.norm(domain.project(z) - z) <= 1e-12
    assert least_product(domain, x, g, radius, z) >= -1e-4 * np.linalg.norm(g)


@pytest.mark.parametrize("domain", SETS, ids=lambda domain: domain.name)
@given(seed=st.integers(0, 10**6), tau=st.floats(0.01, 10.0))
def test_a_projected_step_is_a_local_one(domain, seed, tau):
    rng = np.random.default_rng(seed)
    x, g = domain.project(rng.standard_normal(4)), rng.standard_normal(4)
    y = domain.project(x - tau * g)
    z = minimise_locally(domain, x, g, float(np.linalg.norm(y - x)))
    assert g @ z == pytest.approx(g @ y, abs=1e-9 * np.linalg.norm(g))


def test_without_a_set_it_is_a_normalised_step():
    for size in (1.0, 1e200, 1e-200):
        z = minimise_locally(WholeSpace(2), np.array([1.0, 0.0]), size * np.array([3.0, 4.0]), 0.5)
        assert z == pytest.approx([0.7, -0.4], abs=1e-12)


@pytest.mark.parametrize("radius", [-1.0, float("nan")])
def test_a_bad_radius_is_refused(radius):
    with pytest.raises(InputError, match="radius"):
        minimise_locally(L2Ball(2), np.zeros(2), np.ones(2), radius)


def test_no_radius_or_no_slope_moves_nothing():
    x = np.array([0.3, 0.0])
    assert np.array_equal(minimise_locally(L2Ball(2), x, np.ones(2), 0.0), x)
    assert np.array_equal(minimise_locally(L2Ball(2), x, np.zeros(2), 1.0), x)


# --- the distance to a polytope -------------------------------------------------------------------


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
