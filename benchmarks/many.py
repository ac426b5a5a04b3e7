"""Stores of very many runs, made by a generator: ``python -m benchmarks.many DIR --runs 100000``.

    git worktree add ../before COMMIT
    python -m benchmarks.many DIR --runs 100000 --before ../before

makes ten problems times ten methods times so many seeds, with ten rows each, and times commands:
`list` (anew, and again), `export` and `report`, each in a process of its own, by the clock on the
wall and by that of the processor, with its peak memory. The runs lie in segments, as a sweep leaves
them; with `--before` the same runs lie in a file each beside, and the package of that checkout is
timed on these.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np

ROWS = 10
PROBLEM = "nonconvex-logistic[source=synthetic,rows=30,columns={}]"
METHOD = "nfwu-svrg[batch=7,period=4,iterations=9,step={}]"

COMMANDS = {
    "listed anew": ("store", "list"),
    "listed": ("store", "list"),
    "listed as JSON": ("store", "list", "--json"),
    "exported csv-long": ("store", "export", "csv-long", "-o", "{out}/csv"),
    "exported benchopt": ("store", "export", "benchopt", "-o", "{out}/benchopt"),
    "reported": ("report", "-o", "{out}/report"),
}


def runs(number):
    """Yield key, run and notes of so many runs, by method, problem and seed."""
    from pfbench.base.counts import Counts
    from pfbench.runs.loop.run import TRACE_COLUMNS, Run
    from pfbench.runs.loop.stop import Stop
    from pfbench.runs.planning.plan import PlannedRun

    k = np.arange(ROWS)
    source = {"modules": ["pfbench.runs.loop.drive"], "digest": "0" * 64}
    for place in range(number):
        pair, seed = divmod(place, max(number // 100, 1))
        method, problem = divmod(pair, 10)
        rng = np.random.default_rng(place)
        # Each method descends at its own speed, with some luck.
        values = np.exp(-k * (0.1 + 0.05 * (method % 10)) * rng.uniform(0.5, 1.5))
        sfo = 30 * (k > 0) + 14 * np.maximum(k - 1, 0)
        zeros = np.zeros(ROWS, int)
        columns = [k, k > 0, sfo, zeros, zeros, k, zeros, zeros, 0.25 * k, values, 3.0 * values]
        run = Run(
            problem=PROBLEM.format(problem + 4),
            algorithm=METHOD.format(0.1 + 0.01 * method),
            parameters={"batch": 7, "period": 4, "iterations": 9, "step": 0.1, "output": "last"},
            schedule="explicit",
            seed=seed,
            status="finished",
            stop_reason="the schedule ran out",
            iterations=ROWS - 1,
            counts=Counts(fo=1, sfo=int(sfo[-1]), lo=ROWS - 1),
            final={"objective": float(values[-1]), "value": None, "fw_gap": None},
            seconds=2.5,
            oracle_seconds=1.0,
            failure_probability=0.0,
            columns=(*TRACE_COLUMNS, "objective", "fw_gap"),
            rows=list(zip(*(column.tolist() for column in columns), strict=True)),
        )
        stop = Stop("fw_gap", 0.5)
        plan = PlannedRun(run.problem, run.algorithm, seed, ("objective", "fw_gap"), 1, None, stop)
        notes = {"retries": 0, "family": f"{pair:064x}", "limits": {}, "source": source}
        notes |= {"dimension": 4, "plan": plan.as_json()}
        rows = [(row[0], int(row[1]), *row[2:]) for row in run.rows]
        yield f"{place * 2**200 + place:064x}", replace(run, rows=rows), notes


def make(folder, number):
    """Write the runs into segments."""
    from pfbench.runs.storage.content_keys import environment
    from pfbench.runs.storage.index import make_row
    from pfbench.runs.storage.segment import PackedRun
    from pfbench.runs.storage.segment_writer import write_segments
    from pfbench.runs.storage.serialization import encode_metadata, run_columns, run_metadata
    from pfbench.runs.storage.store import Store

    store, here = Store(folder), environment()
    size = 4900  # of the file that such a run would have, about

    def packed():
        for key, run, notes in runs(number):
            header = run_metadata(key, run, here, notes)
            row = make_row("run", key, header)
            yield PackedRun(row, encode_metadata(header), run_columns(run), size, 10**18)

    for keys in write_segments(store.folder, packed()):
        print(f"{len(keys):,} runs in a segment", file=sys.stderr)


def unpack(folder, packed):
    """Write the runs of a store into a file each, without waiting for the disk."""
    from pfbench.runs.storage.store import Store

    source = Store(packed)
    keys = source.keys()
    for key in keys:
        path = folder / "runs" / key[:2] / f"{key}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.read("run", key))


def timed(package, store, out, chosen):
    """Return seconds and peak memory in MB of each command."""
    found = {}
    for name in chosen:
        words = [word.format(out=out) for word in COMMANDS[name]]
        if name == "listed anew":
            (store / "index.jsonl").unlink(missing_ok=True)
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        inside = [sys.executable, "-m", "benchmarks.many", "--inside", *words, "--store", store]
        where = {**os.environ, "PYTHONPATH": f"{Path(package).resolve()}"}
        # This file stands in every checkout's place: the one before may not have it.
        inside[1:3] = [str(Path(__file__).resolve())]
        started = perf_counter()
        done = subprocess.run(
            [*map(str, inside)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=where
        )
        seconds = perf_counter() - started
        lines = done.stderr.decode().splitlines()
        said = lines[-1].split() if lines else []
        found[name] = {"s": round(seconds, 2)} | dict(
            zip(said[::2], map(float, said[1::2]), strict=False)
        )
        print(f"{name}: {found[name]}", file=sys.stderr)
    return found


def inside(words):
    """Give a command, and say the peak memory of this process."""
    from pfbench.cli.main import main

    sys.argv = ["pfbench", *words]
    try:
        main()
    finally:
        used = resource.getrusage(resource.RUSAGE_SELF)
        processor, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3
        print(f"\nprocessor_s {processor:.2f} MB {peak:.0f}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="for the stores, and what is written")
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--before", help="a checkout whose package is timed on single files")
    parser.add_argument("--only", default=",".join(COMMANDS), help="of the commands, by commas")
    given = parser.parse_args()
    chosen = given.only.split(",")
    store = given.folder / f"packed-{given.runs}"
    if not store.exists():
        make(store, given.runs)
    found = {"segments": timed(Path(__file__).parents[1], store, given.folder / "out", chosen)}
    if given.before:
        single = given.folder / f"single-{given.runs}"
        if not single.exists():
            unpack(single, store)
        found["before"] = timed(given.before, single, given.folder / "out", chosen)
    print(json.dumps({"runs": given.runs, **found}, indent=1))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2:])
    else:
        main()
