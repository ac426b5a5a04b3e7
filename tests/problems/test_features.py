"""Data rows from anybody: what points outside itself is refused before a compiled loop reads it."""

import numpy as np
import pytest
import scipy.sparse as sp

import pfbench as pf
from pfbench.base.errors import InputError
from pfbench.problems.linear_models import LeastSquares
from pfbench.problems.row_data import as_csr
from pfbench.sets import L2Ball

GOOD = sp.random_array((20, 5), density=0.5, rng=np.random.default_rng(0)).tocsr()


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_every_sparse_format_is_read(form):
    found = as_csr(GOOD.asformat(form))
    assert found.format == "csr"
    assert np.array_equal(found.toarray(), GOOD.toarray())


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
@pytest.mark.parametrize("index", [10**8, -1, 20])
def test_an_index_outside_is_refused(form, index):
    wrong = GOOD.asformat(form, copy=True)
    (wrong.coords[1] if form == "coo" else wrong.indices)[0] = index
    with pytest.raises(InputError, match="the features must be a matrix"):
        LeastSquares(features=wrong, labels=np.ones(20), set=L2Ball(5, 1.0))


@pytest.mark.parametrize(("place", "pointer"), [(3, 10**6), (3, -1), (0, 1), (-1, 10**6)])
def test_row_pointers_that_lie_are_refused(place, pointer):
    wrong = GOOD.copy()
    wrong.indptr[place] = pointer
    with pytest.raises(InputError, match="the features must be a matrix"):
        as_csr(wrong)


def test_duplicates_are_added_up_and_the_data_copied():
    doubled = sp.csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 5))
    found = as_csr(doubled)
    doubled.data[:] = 7.0
    assert found.toarray().tolist() == [[0, 2, 0, 0, 0], [1, 0, 0, 0, 0]]


def test_more_entries_than_32_bits_number_are_refused(monkeypatch):
    monkeypatch.setattr("pfbench.problems.row_data.MOST_ENTRIES", 10)
    with pytest.raises(InputError, match="at most 2"):
        as_csr(GOOD)


@pytest.mark.parametrize(
    "name", ["quadratic", "nonconvex-logistic", "multitask-sigmoid", "matrix-regression"]
)
@pytest.mark.parametrize("verb", ["gradient", "value", "batch"])
def test_a_point_of_another_size_reaches_no_compiled_loop(name, verb):
    problem = pf.problem(name)
    x = problem.start()
    for wrong in (x[:-1], np.concatenate([x, x])):
        arguments = (np.array([0]), wrong) if verb == "batch" else (wrong,)
        with pytest.raises((InputError, IndexError, ValueError)):
            getattr(problem, verb)(*arguments)
