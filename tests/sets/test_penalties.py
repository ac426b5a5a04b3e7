"""Each penalty's proximal map: subgradients, Moreau's identity, and nothing better nearby."""

import numpy as np
import pytest
from helpers import assert_one_sentence
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pfbench.base.errors import DivergedError, InputError, RefusedError
from pfbench.sets import GroupPenalty, L1Penalty, LinfBall, NuclearPenalty

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


def project_dual(name, y, radius):
    """The nearest point whose dual norm is at most `radius`."""
    if name == "l1":
        return LinfBall(6, radius).project(y)
    if name == "nuclear":
        u, s, vt = np.linalg.svd(y, full_matrices=False)
        return (u * np.minimum(s, radius)) @ vt
    p = y.copy()
    for group in map(list, GROUPS):
        size = np.linalg.norm(y[group])
        if size > radius:
            p[group] *= radius / size
    return p


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
@given(numbers=VECTORS, weight=st.sampled_from([0.5, 2.0]), t=STEPS)
def test_moreaus_identity(name, numbers, weight, t):
    y, h = shaped(name, numbers), PENALTIES[name](weight)
    assert_allclose(h.prox(y, t) + project_dual(name, y, t * weight), y, atol=1e-13)


@every_penalty
@given(numbers=VECTORS, t=STEPS)
def test_nothing_nearby_is_better(name, numbers, t):
    y, h = shaped(name, numbers), PENALTIES[name](1.5)
    p, rng = h.prox(y, t), np.random.default_rng(0)
    best = t * h.value(p) + 0.5 * np.sum((p - y) ** 2)
    for size in (1.0, 0.1, 0.01):
        x = p + size * rng.standard_normal(y.shape)
        assert t * h.value(x) + 0.5 * np.sum((x - y) ** 2) >= best + 0.49 * np.sum((x - p) ** 2)


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
    with pytest.raises(InputError) as error:
        PENALTIES[name](1.0).prox(shaped(name, np.zeros(6)), t)
    assert_one_sentence(error, f"t={t}")


def test_points_of_another_shape_are_refused():
    for h, x in ((PENALTIES["group"](1.0), np.zeros(5)), (PENALTIES["nuclear"](1.0), np.zeros(6))):
        for ask in (h.value, lambda x, h=h: h.prox(x, 1.0)):
            with pytest.raises(InputError) as error:
                ask(x)
            assert_one_sentence(error, h.name, str(x.shape))


def test_the_l1_penalty_takes_matrices():
    y = np.array([[3.0, -0.5], [1.0, -2.0]])
    assert_array_equal(L1Penalty(1.0).prox(y, 1.0), [[2.0, 0.0], [0.0, -1.0]])


def test_a_huge_matrix_is_refused():
    with pytest.raises(RefusedError) as error:
        NuclearPenalty(1.0).prox(np.broadcast_to(0.0, (2001, 2000)), 1.0)
    assert_one_sentence(error, "2001 x 2000", "projection-free")
