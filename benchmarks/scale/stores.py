"""A store of many runs with a few rows each: what putting, listing and exporting them takes."""

import shutil
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks.scale.recovery import peak
from benchmarks.timed import problem_of, run_of

LOGISTIC = "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]"


def timed(call):
    started = perf_counter()
    call()
    return perf_counter() - started


def store(runs):
    """Return seconds and peak memory at so many runs of three iterations."""
    from pfbench.runs.storage.exports import export
    from pfbench.runs.storage.exports.curves import View
    from pfbench.runs.storage.keys import environment
    from pfbench.runs.storage.store import Store

    folder = Path(tempfile.mkdtemp())
    try:
        run = run_of(problem_of(LOGISTIC), "prox-gd[iterations=3,step=0.1]", every=1)
        one, kept = environment(), Store(folder / "store")

        def put():
            for number in range(runs):
                kept.put(f"{number * 2**200:064x}", run, one)

        def listed():
            Store(folder / "store").listing()

        def exported():
            export(kept, kept.rows(), "csv-long", folder / "csv", View())

        found = {"put, s": timed(put), "listed, s": timed(listed)}
        found |= {"listed again, s": timed(listed), "exported, s": timed(exported)}
        size = sum(path.stat().st_size for path in folder.joinpath("store").rglob("*"))
        return found | {"stored, MB": 1e-6 * size, "peak, MB": peak()}
    finally:
        shutil.rmtree(folder)
