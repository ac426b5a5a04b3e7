"""Objects of the interface pickle and deepcopy; the memory of long vectors is used again."""

import copy
import pickle

import numpy as np
import pytest
from processes import run_python

import pfbench as pf
from pfbench.base import arrays
from pfbench.base.arrays import VectorPool
from pfbench.base.counts import Budget
from pfbench.cli.catalogue import KINDS

COPIES = (lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy)


@pytest.mark.thin(3)
@pytest.mark.parametrize("copied", COPIES, ids=["pickle", "deepcopy"])
@pytest.mark.parametrize("name", [item.name for item in KINDS["problems"]()])
def test_problems_with_their_constants_and_sets(name, copied):
    problem = pf.problem(name)
    start = problem.start()
    for one in (problem, problem.constants(start), problem.set):
        assert type(copied(one)) is type(one)
    assert copied(problem).constants(start) == problem.constants(start)


@pytest.mark.parametrize("copied", COPIES, ids=["pickle", "deepcopy"])
def test_methods_runs_and_budgets(copied):
    method = pf.algorithm("frank-wolfe", step="open-loop", iterations=3)
    run = pf.solve("quadratic", method)
    again = pf.solve(copied(pf.problem("quadratic")), copied(method))
    assert again.counts == run.counts == copied(run).counts
    assert np.array_equal(again.x, copied(run).x)
    assert copied(Budget(sfo=3)) == Budget(sfo=3)
    for item in KINDS["algorithms"]():
        copied(pf.algorithm(item.name))


def test_a_pickle_is_read_in_a_fresh_process(tmp_path):
    file = tmp_path / "p"
    file.write_bytes(pickle.dumps((pf.problem("quadratic"), pf.algorithm("frank-wolfe"))))
    text = f"import pickle; print(pickle.load(open({str(file)!r}, 'rb'))[0].name)"
    assert run_python("-c", text) == ("quadratic\n", "")


# --- The memory of long vectors is used again once nobody can read it any more, and not before ----


@pytest.fixture
def vectors(monkeypatch):
    monkeypatch.setattr(arrays, "_LONG", 8)
    return VectorPool(16)


def address(vector):
    return vector.__array_interface__["data"][0]


def test_what_nobody_holds_is_given_out_again(vectors):
    first = vectors.take()
    assert (type(first), first.shape, first.dtype) == (np.ndarray, (16,), np.float64)
    assert first.flags.c_contiguous
    assert first.flags.writeable
    at = address(first)
    del first
    assert address(vectors.take()) == at


@pytest.mark.parametrize(
    "part",
    [
        lambda v: v,
        lambda v: v[3:],
        lambda v: v.reshape(4, 4)[1:].ravel(),
        lambda v: v.view(),
        memoryview,
    ],
)
def test_what_somebody_holds_a_part_of_is_not(vectors, part):
    first = vectors.take()
    first[:] = 1.0
    held = part(first)
    at = address(first)
    del first
    second = vectors.take()
    assert address(second) != at
    second[:] = 2.0
    assert np.all(np.asarray(held) == 1.0)


def test_one_spare_is_kept_and_it_does_not_travel(vectors):
    several = [vectors.take() for _ in range(3)]
    several.clear()
    assert len(vectors._spare) == 1
    for twin in (pickle.loads(pickle.dumps(vectors)), copy.deepcopy(vectors)):
        assert not twin._spare
        assert twin.take().shape == (16,)


def test_short_vectors_are_the_allocators(vectors):
    assert VectorPool(7).take().base is None
