"""What runs compute with is loaded before their clock starts, and its BLAS has one thread."""

import os
import subprocess
import sys

import pytest
from threadpoolctl import threadpool_info

from pfbench.kernels import libraries
from pfbench.kernels.libraries import LIBRARIES, import_libraries, single_blas_thread

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
