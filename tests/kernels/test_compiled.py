"""Loops are compiled when they are first called; libraries, and the cache on disk."""

import errno
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from pfbench.kernels import libraries, linear, numba_hooks, sensing_kernels
from pfbench.kernels.libraries import LIBRARIES, import_libraries, single_blas_thread
from pfbench.kernels.numba_compilation import (
    check_index,
    compile_parallel,
    compile_reordering_sums,
    compile_serial,
    prange,
    warn_if_uncached,
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
    with numba_hooks.CompilationClock(lambda: begun.append(len(took)), took.append) as clock:
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


# --- libraries are loaded before a run ------------------------------------------------------------

RUN = """
import sys
from threadpoolctl import threadpool_info
import pfbench as pf
from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.kernels.libraries import LIBRARIES

seen = []

class Looks(FrankWolfe):
    def run(self, ask, x, rng):
        seen.extend(name in sys.modules for name in LIBRARIES)
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        assert len(pools) >= 2, pools
        seen.extend(pool["num_threads"] == 1 for pool in pools)
        yield from super().run(ask, x, rng)

problem = pf.problem("simplex-norm", columns=5)
assert "scipy.linalg" not in sys.modules
run = pf.solve(problem, Looks(iterations=2))
assert run.status == "finished", run.reason
assert seen and all(seen), seen
"""


def test_what_is_loaded_has_one_blas_thread_inside():
    import_libraries()
    assert set(LIBRARIES) <= set(sys.modules)
    with single_blas_thread():
        assert {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"} == {1}


def test_libraries_are_looked_for_once_more_when_a_module_was_imported(monkeypatch):
    find, looks = libraries.ThreadpoolController, []
    monkeypatch.setattr(libraries, "ThreadpoolController", lambda: (looks.append(0), find())[1])
    for name in ("brought_one_blas", "brought_one_blas", "brought_another"):
        monkeypatch.setitem(sys.modules, name, sys)
        with single_blas_thread():
            pass
    assert len(looks) == 2


def test_a_run_finds_all_loaded_and_every_blas_limited():
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "2")
    subprocess.run([sys.executable, "-c", RUN], env=os.environ | threads, check=True)


HASWELL, ZEN = "openblas 0.3.30 Haswell, openblas 0.3.31.188.0 Haswell", "openblas 0.3.30 Zen"
SHOW = "import os; print(os.environ.get('OPENBLAS_CORETYPE'))"


@pytest.mark.parametrize(
    ("there", "here", "works", "taken"),
    [
        (HASWELL, ZEN, 0, "Haswell"),
        (HASWELL, HASWELL, 0, ""),
        (HASWELL, ZEN, -4, ""),  # this processor has not what they need
        ("openblas 0.3.30 Haswell, openblas 0.3.31 Zen", ZEN, 0, ""),
        ("mkl 2025", ZEN, 0, ""),
        ("openblas 0.3.30 $(reboot)", ZEN, 0, ""),
    ],
)
def test_the_authors_kernels_are_taken_where_they_can_be(monkeypatch, there, here, works, taken):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    run, tried = subprocess.run, []

    def trial(command, **options):
        tried.append(options["env"]["OPENBLAS_CORETYPE"])
        return subprocess.CompletedProcess(command, works)

    monkeypatch.setattr(libraries.subprocess, "run", trial)
    with libraries.use_recorded_blas_in_child_processes(there, here) as kernels:
        inside = run([sys.executable, "-c", SHOW], capture_output=True, text=True).stdout.strip()
    assert (kernels, inside) == (taken, taken or "None")
    assert tried == ["Haswell"] * (bool(taken) or works != 0)
    assert "OPENBLAS_CORETYPE" not in os.environ


def test_kernels_that_the_checker_chose_are_left(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    with libraries.use_recorded_blas_in_child_processes(
        HASWELL, "openblas 0.3.30 Nehalem"
    ) as kernels:
        assert kernels == ""
    assert os.environ["OPENBLAS_CORETYPE"] == "Nehalem"


# --- the cache on disk ----------------------------------------------------------------------------

caching = pytest.importorskip("numba.core.caching")


@pytest.fixture(autouse=True)
def unsaid(monkeypatch):
    monkeypatch.delenv(numba_hooks.IS_SAID, raising=False)
    yield
    os.environ.pop(numba_hooks.IS_SAID, None)


@pytest.fixture
def loop():
    @compile_serial
    def tripled(x):
        return 3.0 * x

    return tripled


def raises(error):
    def method(*_):
        raise error

    return method


def test_a_loop_is_compiled_where_no_folder_can_be_written(loop, monkeypatch, capfd):
    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])
    assert loop(2.0) == 6.0
    check_index.dispatcher.cache_clear()
    monkeypatch.setattr(os, "access", lambda *_: False)
    warn_if_uncached()  # before processes are started
    error = capfd.readouterr().err
    assert error.count("\n") == 1
    assert "no cache folder can be written: set NUMBA_CACHE_DIR" in error


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES])
def test_a_loop_is_compiled_where_the_folder_cannot_take_it(loop, monkeypatch, capfd, number):
    error = OSError(number, os.strerror(number))
    monkeypatch.setattr(caching.IndexDataCacheFile, "save", raises(error))
    assert loop(2.0) == 6.0
    assert loop(2) == 6.0
    printed = capfd.readouterr().err
    assert printed.count("\n") == 1
    assert os.strerror(number) in printed


@pytest.mark.parametrize("kept", [0, 1, 40])
def test_a_damaged_cache_is_replaced(tmp_path, monkeypatch, capfd, kept):
    from numba.core import config

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    def fresh():
        @compile_serial
        def fourfold(x):
            return 4.0 * x

        return fourfold

    assert fresh()(2.0) == 8.0
    files = [*tmp_path.rglob("*.nbi"), *tmp_path.rglob("*.nbc")]
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:kept])
    assert fresh()(2.0) == 8.0
    assert {file.stat().st_size > 40 for file in files} == {True}
    assert capfd.readouterr().err == ""


MISSES = """from pfbench.kernels.numba_compilation import check_index as loop
loop(1, 2), print(*loop.dispatcher().stats.cache_misses.values())"""


@pytest.mark.skipif(sys.platform == "win32", reason="locks no files")
def test_one_process_compiles_a_loop_for_all(tmp_path):
    command, folder = [sys.executable, "-c", MISSES], {"NUMBA_CACHE_DIR": str(tmp_path)}
    options = {"env": os.environ | folder, "stdout": subprocess.PIPE, "text": True}
    runs = [subprocess.Popen(command, **options) for _ in range(3)]
    assert sorted(run.communicate()[0].strip() for run in runs) == ["", "", "1"]
