"""Loops are compiled, and numba is imported, when they are first called."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from pfbench.kernels import linear, sensing_kernels
from pfbench.kernels.numba_compilation import (
    CompilationClock,
    check_index,
    compile_parallel,
    compile_reordering_sums,
    compile_serial,
    prange,
)

SIZE = 1000


@compile_serial
def doubled(x):
    """Return 2x."""
    return 2.0 * x


@compile_reordering_sums
def total(x):
    s = 0.0
    for k in range(x.size):
        s += doubled(x[k])
    return s


@compile_parallel
def fill(out):
    for t in prange(out.size):
        out[t] = doubled(t)


@compile_serial
def doubled_if_inside(indices, n):
    s = 0.0
    for k in range(indices.size):
        s += doubled(check_index(indices[k], n))
    return s


def test_loops_call_one_another():
    x = np.arange(float(SIZE))
    assert total(x) == 2.0 * x.sum()
    assert doubled_if_inside(np.arange(SIZE), SIZE) == 2.0 * x.sum()
    with pytest.raises(IndexError, match="outside 0"):
        doubled_if_inside(np.arange(SIZE), SIZE - 1)


def test_a_parallel_loop_runs_over_threads():
    out = np.empty(SIZE)
    fill(out)
    assert np.array_equal(out, 2.0 * np.arange(SIZE))
    made = fill.dispatcher()
    assert made.targetoptions["parallel"]
    made.recompile()  # numba does not show what it has loaded from its cache
    (signature,) = made.signatures
    assert "@do_scheduling" in made.inspect_llvm(signature)


def test_without_numba_the_same_python_code_runs():
    out = np.empty(SIZE)
    fill.__wrapped__(out)
    assert np.array_equal(out, 2.0 * np.arange(SIZE))


@pytest.mark.parametrize(
    "loop",
    [linear.add_row, sensing_kernels.write_products, sensing_kernels.write_products_parallel],
)
def test_machine_code_is_cached_and_the_gil_is_released(loop):
    made = loop.dispatcher()
    assert made.targetoptions["nogil"]
    assert made.targetoptions["error_model"] == "numpy"
    assert made._cache.cache_path == made.stats.cache_path


def test_only_sums_of_vector_loops_may_be_reordered():
    assert total.dispatcher().targetoptions["fastmath"] == {"contract", "reassoc", "nsz"}
    assert "fastmath" not in doubled.dispatcher().targetoptions
    assert "fastmath" not in fill.dispatcher().targetoptions


def test_it_looks_like_the_function_it_was_made_from():
    assert (doubled.__name__, doubled.__doc__) == ("doubled", "Return 2x.")
    assert pickle.loads(pickle.dumps(linear.add_row)) is linear.add_row


def test_the_clock_takes_the_time_of_each_compilation_once():
    @compile_reordering_sums
    def new(x):
        return doubled(x) + 1.0

    begun, took = [], []
    with CompilationClock(lambda: begun.append(len(took)), took.append) as clock:
        assert new(1.0) == 3.0
        assert new(2.0) == 5.0
        first = clock.seconds
        assert first == sum(took) > 0.0
        new(1)
        assert clock.seconds > first
    assert begun == list(range(len(took)))
    after = clock.seconds
    new(np.float32(1.0))
    assert clock.seconds == after == sum(took)


def test_waiting_threads_sleep_and_numba_is_imported_last():
    code = """
import os, sys
os.environ.pop("OMP_WAIT_POLICY", None)
from pfbench.kernels import chain, graphs, linear, tridiagonal, welsch
from pfbench.kernels import multitask_kernels, observed_entries, sensing_kernels
assert "numba" not in sys.modules
assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
from pfbench.kernels.numba_compilation import check_index
assert check_index(1, 3) == 1
assert "numba" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
