"""A store of many runs with few rows each: times of writing, listing and exporting them."""

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


MOST_TIMED = 500
"""Runs that are put one by one; the others are written as many at a time."""


def store(runs):
    """Return the seconds and peak memory of a store with `runs` runs of three iterations."""
    from pfbench.runs.storage.content_keys import environment
    from pfbench.runs.storage.export import export
    from pfbench.runs.storage.serialization import run_record
    from pfbench.runs.storage.store import Store

    folder = Path(tempfile.mkdtemp())
    try:
        run = run_of(problem_of(LOGISTIC), "prox-gd[iterations=3,step=0.1]", every=1)
        one, kept = environment(), Store(folder / "store")
        keys = [f"{number * 2**200 + number:064x}" for number in range(runs)]
        Store(folder / "imports").put(keys[0], run, one)
        first = min(runs, MOST_TIMED)

        def put():
            for key in keys[:first]:
                kept.put(key, run, one)

        def written():
            for start in range(first, runs, MOST_TIMED):
                chosen = keys[start : start + MOST_TIMED]
                kept.write([run_record(key, run, one) for key in chosen])

        def listed():
            return Store(folder / "store").listing()

        def exported():
            export(kept, kept.rows(), "csv-long", folder / "csv")

        found = {"put, ms a run": 1e3 * timed(put) / first}
        found |= {"written together, ms a run": 1e3 * timed(written) / max(runs - first, 1)}
        found |= {"listed, s": timed(listed)}
        assert len(listed().rows) == runs
        found |= {"exported, s": timed(exported)}
        kept.close()
        return found | {"bytes a run": kept.path.stat().st_size / runs, "peak, MB": peak()}
    finally:
        shutil.rmtree(folder)
