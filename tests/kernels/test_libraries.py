"""What runs compute with is loaded before their clock starts, and its BLAS has one thread."""

import os
import subprocess
import sys

from threadpoolctl import threadpool_info

from pfbench.kernels.libraries import LIBRARIES, load, one_blas_thread

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
    load()
    assert set(LIBRARIES) <= set(sys.modules)
    with one_blas_thread():
        assert {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"} == {1}


def test_a_run_finds_all_loaded_and_every_blas_limited():
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "2")
    subprocess.run([sys.executable, "-c", RUN], env=os.environ | threads, check=True)
