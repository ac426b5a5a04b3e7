"""Rows in one array are the tuples that they stand for, of the same types."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfbench.runs.loop.trace import TraceRows, rows_from_columns

WHOLE = st.integers(1 - 2**53, 2**53 - 1)
NUMBER = st.floats()
TABLES = st.lists(st.tuples(WHOLE, WHOLE, NUMBER), max_size=6)


def read(table):
    """Return the rows of a table, read from its columns."""
    whole, others, numbers = zip(*table, strict=True) if table else ((), (), ())
    return rows_from_columns(np.array([whole, others], np.int64), np.array([numbers], float))


def told(rows):
    """Return rows in words, in which 1 is not 1.0 and NaN is NaN."""
    return [repr(row) for row in rows]


@given(TABLES, st.integers(-8, 8), st.slices(6))
def test_they_are_the_tuples(table, at, part):
    rows = read(table)
    assert isinstance(rows, TraceRows)
    assert (len(rows), told(rows), repr(rows)) == (len(table), told(table), repr(table))
    assert told(rows[part]) == told(table[part])
    assert told(reversed(rows)) == told(reversed(table))
    if -len(table) <= at < len(table):
        assert repr(rows[at]) == repr(table[at])
    else:
        with pytest.raises(IndexError):
            rows[at]
    assert told(pickle.loads(pickle.dumps(rows))) == told(table)


@given(st.lists(st.tuples(WHOLE, WHOLE, st.floats(allow_nan=False)), max_size=6))
def test_they_are_equal_to_the_tuples_and_to_other_rows(table):
    assert read(table) == table
    assert read(table) == read(table)
    assert read(table) != [*table, (0, 0, 0.0)]
    assert read(table) != tuple(table)


def test_as_an_array_they_are_not_copied_and_cannot_be_changed():
    rows = read([(1, 2, 0.5), (3, 4, np.nan)])
    seen = np.asarray(rows, dtype=float)
    assert np.shares_memory(seen, rows.numbers)
    assert not np.shares_memory(np.array(rows), rows.numbers)
    with pytest.raises(ValueError, match="read-only"):
        seen[0, 0] = 2.0
