"""Observed positions: order, column types, and what is refused."""

import numpy as np
import pytest
from helpers import assert_one_sentence, on_pattern, random_point
from hypothesis import given
from hypothesis import strategies as st

from pfbench.base.errors import InputError
from pfbench.kernels.numba_compilation import thread_count
from pfbench.points import Pattern
from pfbench.points import pattern as pattern_module


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
    rng = np.random.default_rng(0)
    cells = rng.choice(200 * 50, size=2000, replace=False)
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
    with pytest.raises(InputError) as error:
        Pattern.from_coordinates(rows, columns, (3, 2))
    assert_one_sentence(error, *words)
