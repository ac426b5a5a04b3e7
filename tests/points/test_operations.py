"""Operations on points against dense arithmetic, mistakes, and observed positions."""

import math

import numpy as np
import pytest
from helpers import as_matrix, on_pattern, random_pattern, random_point, random_vertex, refused
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pfbench.base.errors import InputError
from pfbench.kernels.numba_compilation import thread_count
from pfbench.points import (
    FactoredMatrix,
    Pattern,
    RankOne,
    combine,
    distance,
    gap_and_distance,
    inner,
    is_finite,
    keep,
    shift,
    tilt,
)
from pfbench.points import pattern as pattern_module
from pfbench.points.atoms import Factors, frobenius_norm, svd_of_factors
from pfbench.points.operators import DenseOperator, SparseOperator

PATTERN = random_pattern(np.random.default_rng(0))
SEEDS = st.integers(0, 2**32 - 1)
REALS = st.floats(-3.0, 3.0)


def several_kinds(rng):
    """Points that are read in different ways: settled, recorded, one behind, zero."""
    settled, recorded = random_point(rng, PATTERN), random_point(rng, PATTERN)
    recorded = combine(recorded, random_vertex(rng, PATTERN), 0.4)
    behind = random_point(rng, PATTERN)
    combine(behind, random_vertex(rng, PATTERN), 0.4).apply_recorded_step()
    return [settled, recorded, behind, FactoredMatrix.zero(PATTERN)]


@given(SEEDS)
def test_inner_distance_and_entries_of_every_kind_of_point(seed):
    rng = np.random.default_rng(seed)
    g, vertex = rng.standard_normal(PATTERN.n), random_vertex(rng, PATTERN)
    G = as_matrix(PATTERN, g)
    points = several_kinds(rng)
    for x in points:
        X = x.matrix()
        assert_allclose(inner(g, x), np.vdot(G, X), atol=1e-12)
        assert_allclose(x.entries([0, 4, 0], [3, 0, 3]), X[[0, 4, 0], [3, 0, 3]], atol=1e-14)
        assert_allclose(distance(x, vertex), np.linalg.norm(X - vertex.matrix()), rtol=1e-12)
        assert_allclose(distance(vertex, x), distance(x, vertex), rtol=1e-14)
        for y in points:
            assert_allclose(distance(x, y), np.linalg.norm(X - y.matrix()), rtol=1e-12, atol=1e-12)
    assert_allclose(inner(g, vertex), np.vdot(G, vertex.matrix()), atol=1e-12)


@given(SEEDS)
def test_descent_is_an_inner_product_and_a_distance(seed):
    """Along a sequence that shares its atoms with its start, and where it does not."""
    rng = np.random.default_rng(seed)
    l, other = rng.standard_normal(PATTERN.n), random_point(rng, PATTERN)  # noqa: E741
    u = FactoredMatrix.from_factors(PATTERN, other.factors())
    x = keep(u)
    for step in range(12):
        vertex = random_vertex(rng, PATTERN)
        for centre in (u, other):
            g = tilt(l, x, centre, 0.7)
            G = as_matrix(PATTERN, l) + 0.7 * (x.matrix() - centre.matrix())
            away = x.matrix() - vertex.matrix()
            expected = np.vdot(G, away), np.linalg.norm(away)
            assert_allclose(gap_and_distance(g, x, vertex), expected, rtol=1e-9, atol=1e-10)
            assert g.gap_and_distance(x, vertex) is not None
        assert_allclose(
            gap_and_distance(l, x, vertex)[0], np.vdot(as_matrix(PATTERN, l), away), atol=1e-10
        )
        # The whole step leaves no atom but the vertex, and no distance to it.
        x = combine(x, vertex, 1.0 if step == 7 else 0.3)
        if step == 7:
            g = tilt(l, x, u, 0.7)
            assert g.gap_and_distance(x, vertex) is None
            assert_allclose(gap_and_distance(g, x, vertex), (0.0, 0.0), atol=1e-7)


def test_products_with_a_centre_are_kept_until_either_list_of_atoms_is_another():
    rng = np.random.default_rng(0)
    l, x = rng.standard_normal(PATTERN.n), random_point(rng, PATTERN)  # noqa: E741
    centres = [random_point(rng, PATTERN), random_point(rng, PATTERN)]
    lists = set()
    for step in range(90):
        # One centre for some steps, then the other; one of them moves in between, too.
        turn = step // 7 % 2
        if step % 20 == 19:
            centres[turn] = combine(centres[turn], random_vertex(rng, PATTERN), 0.5)
        vertex, centre = random_vertex(rng, PATTERN), centres[turn]
        g = tilt(l, x, centre, 0.7)
        G = as_matrix(PATTERN, l) + 0.7 * (x.matrix() - centre.matrix())
        away = x.matrix() - vertex.matrix()
        expected = np.vdot(G, away), np.linalg.norm(away)
        assert_allclose(g.gap_and_distance(x, vertex), expected, rtol=1e-9, atol=1e-10)
        x = combine(x, vertex, 0.2)
        lists.add(id(x.atoms_and_weights()[0]))
    assert len(lists) > 1  # they were compressed on the way


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_dense_moves_are_the_same_in_one_pass(order, kind):
    rng = np.random.default_rng(3)
    g, x, y = (np.array(one, kind, order=order) for one in rng.standard_normal((3, 5, 4)))
    atom = RankOne(np.eye(5)[1], np.ones(4) / 2, -3.0)
    for v, end in ((y, y), (atom, atom.matrix())):
        moved = combine(x, v, 0.3)
        assert_array_equal(moved, (1.0 - 0.3) * x + 0.3 * end)
        assert moved.shape == x.shape
        close = {"rtol": 1e-12 if kind is np.float64 else 1e-5}
        gap, length = np.vdot(g, x - end), np.linalg.norm(x - end)
        assert_allclose(gap_and_distance(g, x, v), (gap, length), **close)
        assert_allclose(distance(x, v), length, **close)
        assert_allclose(distance(v, v), 0.0)
        assert_allclose(inner(g, v), np.vdot(g, end), **close)
    assert_array_equal(tilt(g, x, y, 0.7), g + 0.7 * (x - y))
    copy, before = keep(x), x.copy()
    copy += 1.0
    assert_array_equal(x, before)
    with pytest.raises(InputError):
        combine(x, rng.standard_normal((5, 3)), 0.3)
    with pytest.raises(InputError, match="a weight must be a number"):
        combine(x, y, "0.3")


@given(SEEDS, REALS)
def test_combine_with_a_point_is_new_and_independent_for_any_weight(seed, c):
    rng = np.random.default_rng(seed)
    for x in several_kinds(rng):
        y = random_point(rng, PATTERN)
        expected, y_values = (1 - c) * x.matrix() + c * y.matrix(), y.values()
        z = combine(x, y, c)
        assert_allclose(z.matrix(), expected, atol=1e-12)
        z_values = z.values()
        assert_allclose(z_values, on_pattern(PATTERN, expected), atol=1e-12)
        combine(z, random_vertex(rng, PATTERN), 1.0).apply_recorded_step()
        assert_array_equal(y.values(), y_values)
        z = combine(x, y, c)
        combine(y, random_vertex(rng, PATTERN), 1.0).apply_recorded_step()
        assert_array_equal(z.values(), z_values)


@given(SEEDS, REALS)
def test_tilt_is_the_gradient_plus_a_multiple_of_a_difference(seed, c):
    rng = np.random.default_rng(seed)
    g, vertex, test = rng.standard_normal(PATTERN.n), random_vertex(rng, PATTERN), None
    for x in several_kinds(rng):
        u = random_point(rng, PATTERN)
        dense = as_matrix(PATTERN, g) + c * (x.matrix() - u.matrix())
        tilted = tilt(g, x, u, c)
        assert_allclose(tilted.dense(), dense, atol=1e-12)
        assert_allclose(inner(tilted, vertex), np.vdot(dense, vertex.matrix()), atol=1e-11)
        test = random_point(rng, PATTERN)
        assert_allclose(inner(tilted, test), np.vdot(dense, test.matrix()), atol=1e-11)


def test_tilt_stays_as_it_is_when_its_point_moves_on():
    rng = np.random.default_rng(0)
    x, u = random_point(rng, PATTERN), random_point(rng, PATTERN)
    tilted = tilt(np.zeros(PATTERN.n), x, u, 1.0)
    before = tilted.dense()
    for _ in range(3):
        x = combine(x, random_vertex(rng, PATTERN), 0.5)
    x.apply_recorded_step()
    assert_array_equal(tilted.dense(), before)


@given(SEEDS, st.floats(-5, 5).filter(lambda c: abs(c) > 1e-3), st.booleans())
def test_operators_multiply_like_their_dense_matrix(seed, c, first):
    rng = np.random.default_rng(seed)
    g, x, u = rng.standard_normal(PATTERN.n), random_point(rng, PATTERN), random_point(rng, PATTERN)
    M, N = PATTERN.shape
    v, previous = rng.standard_normal(N), np.zeros(M) if first else rng.standard_normal(M)
    beta = 0.0 if first else 0.7
    for operator in (
        SparseOperator(PATTERN, g),
        DenseOperator(as_matrix(PATTERN, g)),
        tilt(g, x, u, c),
    ):
        for G in (operator, operator.scale(0.25)):
            dense, left, y = G.dense(), np.empty(M), np.full(N, np.nan)
            square = G.write_golub_kahan_products(v, previous, beta, left, y)
            expected = dense @ v - beta * previous
            assert_allclose(left, expected, atol=1e-11)
            assert_allclose(y, dense.T @ expected, atol=1e-10)
            assert_allclose(square, expected @ expected, rtol=1e-11)
            assert G.shape == dense.shape
            assert G.magnitude() > 0.0
        assert_allclose(operator.scale(0.25).dense(), 0.25 * operator.dense(), rtol=1e-15)


@given(st.lists(REALS, min_size=3, max_size=3), REALS)
def test_shift_is_a_point_plus_a_multiple_of_a_difference(entries, c):
    rng, c = np.random.default_rng(0), abs(c)
    x, a, b = (random_point(rng, PATTERN) for _ in range(3))
    expected = x.matrix() + c * (a.matrix() - b.matrix())
    shifted = shift(x, a, b, c)
    assert_allclose(shifted.matrix(), expected, atol=1e-11)
    assert_allclose(shifted.values(), on_pattern(PATTERN, expected), atol=1e-11)
    y = np.array(entries)
    assert_allclose(shift(y, 2.0 * y, np.ones(3), c), y + c * (2.0 * y - 1.0), atol=1e-13)


def test_singular_values_of_a_factored_matrix():
    rng = np.random.default_rng(0)
    parts = Factors(
        rng.standard_normal(9), rng.standard_normal((9, 5)), rng.standard_normal((9, 4))
    )
    whole = (parts.left * parts.weights[:, None]).T @ parts.right
    found = svd_of_factors(parts)
    assert_allclose(found.weights, np.linalg.svd(whole, compute_uv=False), rtol=1e-12)
    assert_allclose((found.left * found.weights[:, None]).T @ found.right, whole, atol=1e-13)
    assert_allclose(found.left @ found.left.T, np.eye(4), atol=1e-13)
    assert_allclose(frobenius_norm(parts), np.linalg.norm(whole), rtol=1e-13)


def test_the_distance_of_nearly_equal_points_that_share_atoms_does_not_cancel():
    rng = np.random.default_rng(0)
    x, vertex = random_point(rng, PATTERN), random_vertex(rng, PATTERN)
    exact = 1e-12 * np.linalg.norm(x.matrix() - vertex.matrix())
    assert_allclose(distance(keep(x), combine(x, vertex, 1e-12)), exact, rtol=1e-3)


def test_what_is_not_finite_is_noticed():
    rng = np.random.default_rng(0)
    x, vertex = random_point(rng, PATTERN), random_vertex(rng, PATTERN)
    assert is_finite(combine(x, vertex, 0.5))
    assert not is_finite(combine(x, vertex, math.nan))
    assert not is_finite(combine(x, RankOne(np.full(5, np.nan), vertex.v, 1.0, PATTERN), 0.5))
    assert not is_finite(np.array([1.0, np.inf]))


OTHER = random_pattern(np.random.default_rng(1))


@pytest.mark.parametrize(
    "wrong",
    [
        RankOne(np.ones(4), np.ones(4), 1.0),
        RankOne(np.ones(1), np.ones(1), 1.0),  # would broadcast
        FactoredMatrix.zero(OTHER),  # the same shape and number of entries, other positions
        FactoredMatrix.zero(random_pattern(np.random.default_rng(0), n=3)),
        np.zeros(PATTERN.shape),
        "x",
    ],
    ids=["shape", "shape 1 x 1", "positions", "number of entries", "dense", "text"],
)
def test_points_that_do_not_belong_together_are_refused(wrong):
    x = random_point(np.random.default_rng(0), PATTERN)
    before = x.matrix()
    with pytest.raises(InputError):
        combine(x, wrong, 0.5)
    assert_array_equal(x.matrix(), before)


def test_what_is_no_point_is_refused():
    with pytest.raises(InputError, match=r"not \[1.0\]"):
        combine([1.0], np.ones(1), 0.5)
    with pytest.raises(InputError, match="str"):
        distance(FactoredMatrix.zero(PATTERN), "x")


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(2),
        np.zeros(PATTERN.n + 1),
        np.zeros((PATTERN.n, 1)),
        np.zeros(PATTERN.n, np.float32),
        [0.0] * PATTERN.n,
    ],
)
def test_values_of_another_form_make_no_point(values):
    """A shorter one was written beyond its end."""
    factors = random_point(np.random.default_rng(0), PATTERN).factors()
    with pytest.raises(InputError, match="values must be an array of float64"):
        FactoredMatrix.from_factors(PATTERN, factors, values)


@pytest.mark.parametrize("part", ["weights", "left", "right"])
def test_factors_of_another_form_make_no_point(part):
    factors = random_point(np.random.default_rng(0), PATTERN).factors()
    wrong = factors._replace(**{part: getattr(factors, part)[:, :-1] if part != "weights" else 3})
    with pytest.raises((InputError, TypeError)):
        FactoredMatrix.from_factors(PATTERN, wrong)


def test_values_that_are_read_only_are_copied():
    factors = random_point(np.random.default_rng(0), PATTERN).factors()
    values = FactoredMatrix.from_factors(PATTERN, factors).values()
    values.setflags(write=False)
    x = FactoredMatrix.from_factors(PATTERN, factors, values)
    combine(x, RankOne(np.ones(5), np.ones(4), 1.0, PATTERN), 0.5).apply_recorded_step()
    assert_array_equal(values, FactoredMatrix.from_factors(PATTERN, factors).values())


# --- observed positions ---------------------------------------------------------------------------


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 8)), min_size=1), st.randoms())
def test_positions_are_sorted_by_row_then_column_whatever_their_order(cells, random):
    cells = list(cells)
    random.shuffle(cells)
    pattern, order = Pattern.from_coordinates(*zip(*cells, strict=True), (7, 9))
    found = list(zip(pattern.row_numbers().tolist(), pattern.rows.indices.tolist(), strict=True))
    assert found == sorted(cells) == list(map(tuple, np.array(cells)[order].tolist()))


@pytest.mark.parametrize(
    ("columns", "kind"), [(1, np.uint16), (1 << 16, np.uint16), ((1 << 16) + 1, np.uint32)]
)
def test_columns_take_16_bits_where_they_fit(columns, kind):
    # Signed columns cost numba the wrap-around checks that stop vectorisation.
    pattern, _ = Pattern.from_coordinates([0, 1], [0, columns - 1], (2, columns))
    assert pattern.rows.indices.dtype == kind
    assert pattern.rows.indptr.dtype == np.uint32
    point = random_point(np.random.default_rng(0), pattern, rank=1)
    np.testing.assert_allclose(point.values(), on_pattern(pattern, point.matrix()), rtol=1e-14)


def test_a_large_pattern_is_cut_into_about_equal_chunks(monkeypatch):
    monkeypatch.setattr(pattern_module, "_ENTRIES_PER_THREAD", 100)
    monkeypatch.setattr(pattern_module, "thread_count", lambda: 4)
    cells = np.random.default_rng(0).choice(200 * 50, size=2000, replace=False)
    pattern, _ = Pattern.from_coordinates(*np.divmod(cells, 50), (200, 50))
    sizes = np.diff(pattern.rows.indptr[pattern.bounds].astype(int))
    assert not pattern.is_serial
    assert pattern.bounds[0] == 0
    assert pattern.bounds[-1] == 200
    assert len(sizes) == 4
    assert sizes.sum() == 2000
    assert abs(sizes - 500).max() <= 50  # no chunk is off by more than one row


def test_a_small_pattern_stays_in_one_piece():
    assert Pattern.from_coordinates([0], [0], (1, 1))[0].is_serial
    assert thread_count() >= 1


@pytest.mark.parametrize(
    ("rows", "columns", "words"),
    [
        ([], [], ["at least one observed entry"]),
        ([0, 1], [0], ["(2,)", "(1,)"]),
        ([[0]], [[0]], ["vectors"]),
        ([3], [0], ["inside", "3 x 2"]),
        ([0], [2], ["inside", "3 x 2"]),
        ([-1], [0], ["inside"]),
        # Another position is good.
        ([0, 1], [-1, 1], ["inside", "3 x 2"]),
        ([0, 1], [0, 2], ["inside", "3 x 2"]),
        ([0, -1], [0, 1], ["inside", "3 x 2"]),
        ([3, 0], [0, 1], ["inside", "3 x 2"]),
        ([0, 2, 0], [1, 1, 1], ["(0, 1)", "more than once"]),
        ([0.5], [0], ["integers"]),
        ([0], ["a"], ["integers"]),
    ],
)
def test_bad_positions_are_refused_in_one_sentence(rows, columns, words):
    with refused(*words):
        Pattern.from_coordinates(rows, columns, (3, 2))
