"""Times of stores with very many generated runs: ``python -m benchmarks.many DIR --runs 100000``.

    git worktree add ../before COMMIT
    python -m benchmarks.many DIR --runs 100000 --before ../before

makes ten problems times ten methods times so many seeds, with ten rows each, and times commands:
writing them, `list`, `check`, `export`, `report`, and the `run` of a sweep of at most 10^5 of them.
Each is in a process of its own, by the clock on the wall and by that of the processor, with its
peak memory. With `--before` the package of that
checkout makes and reads a store of the same runs beside.
"""

import argparse
import json
import math
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import numpy as np

ROWS = 10
PROBLEM = "nonconvex-logistic[source=synthetic,rows=30,columns={}]"
METHOD = "nfwu-svrg[batch=7,period=4,iterations=9,step={:.2f}]"
MEASURES, STOP = ("objective", "fw_gap"), ("fw_gap", 0.5)
SWEEP = f"""
problems = {[PROBLEM.format(4 + index) for index in range(10)]}
measures = {[*MEASURES]}
targets = ["{STOP[0]}={STOP[1]}"]
seeds = {{}}
[algorithms]
""" + "".join(f"m{index} = '{METHOD.format(0.1 + 0.01 * index)}'\n" for index in range(10))

COMMANDS = {
    "written": ("make", "{runs}"),
    "listed": ("store", "list"),
    "listed as JSON": ("store", "list", "--json"),
    "checked": ("store", "check"),
    "exported csv-wide": ("store", "export", "csv-wide", "-o", "{out}/csv"),
    "exported csv-long": ("store", "export", "csv-long", "-o", "{out}/csv"),
    "exported benchopt": ("store", "export", "benchopt", "-o", "{out}/benchopt"),
    "sweep recognised": ("run", "{store}/sweep.toml"),
    "reported": ("report", "-o", "{out}/report"),
    "long trace written": ("make", "long"),
    "long trace listed": ("store", "list"),
    "long trace checked": ("store", "check"),
    "long trace exported": ("store", "export", "csv-wide", "-o", "{out}/csv"),
}
"""Commands by name; those of a long trace have a store of one run with 10^6 rows."""

TARGETS = {
    "listed": (1.0, 300),
    "checked": (8.0, 300),
    "exported csv-wide": (12.0, 300),
    "exported csv-long": (12.0, 300),
    "exported benchopt": (12.0, 300),
    "sweep recognised": (2.0, 500),
    "reported": (25.0, 500),
    "long trace listed": (math.inf, 150),
    "long trace checked": (math.inf, 150),
    "long trace exported": (math.inf, 150),
}
"""Most seconds of the processor and MB for 10^5 runs, on a quiet core."""


def runs(number):
    """Yield plan and run of `number` runs, by method, problem and seed."""
    from pfbench.base.counts import COUNTED, Counts
    from pfbench.runs.loop.run import TRACE_COLUMNS, Run, Stop
    from pfbench.runs.planning.plan import PlannedRun

    k = np.arange(ROWS)
    for place in range(number):
        pair, seed = divmod(place, max(number // 100, 1))
        method, problem = divmod(pair, 10)
        rng = np.random.default_rng(place)
        # Each method descends at its own speed, with some luck.
        values = np.exp(-k * (0.1 + 0.05 * (method % 10)) * rng.uniform(0.5, 1.5))
        sfo = 30 * (k > 0) + 14 * np.maximum(k - 1, 0)
        counts = dict.fromkeys(COUNTED, np.zeros(ROWS, int))
        counts |= {"fo": (k > 0).astype(int), "sfo": sfo, "lo": k}
        columns = [k, *counts.values(), 0.25 * k, values, 3.0 * values]
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
        yield PlannedRun(run.problem, run.algorithm, seed, MEASURES, 1, None, Stop(*STOP)), run


def make_long(folder, rows=10**6):
    """Write one run with very many rows."""
    from pfbench.runs.storage.content_keys import environment
    from pfbench.runs.storage.serialization import make_record, run_fields
    from pfbench.runs.storage.store import Store

    ((plan, run),) = runs(1)
    k, rng = np.arange(rows), np.random.default_rng(0)
    columns = {name: np.zeros(rows, int) for name in run.columns[:-3]}
    columns |= {"iteration": k, "sfo": 14 * k, "lo": k}
    columns |= {name: rng.uniform(size=rows) for name in run.columns[-3:]}
    meta = {"run": run_fields(run), "environment": environment(), "notes": {"plan": plan.as_json()}}
    Store(folder).write([make_record("run", "0" * 64, meta, columns)])


def make(folder, number):
    """Write the runs, 500 at a time."""
    from pfbench.runs.engines.engine import SingleProcessEngine, use_single_thread
    from pfbench.runs.storage.run_keys import compute_keys
    from pfbench.runs.storage.serialization import run_record
    from pfbench.runs.storage.store import Store

    store, here, some = Store(folder), SingleProcessEngine().environment(), []
    (folder / "sweep.toml").write_text(SWEEP.format(min(max(number // 100, 1), 1000)))
    with use_single_thread():
        all_keys = compute_keys([plan for plan, _ in runs(number)], here)
    for plan, run in runs(number):
        keys = all_keys[plan]
        notes = {"retries": 0, **keys.notes, "family": keys.family, "plan": plan.as_json()}
        some.append(run_record(keys.key, run, here, notes))
        if len(some) == 500:
            store.write(some)
            some.clear()
    store.write(some)


def timed(package, store, out, chosen, number):
    """Return seconds and peak memory in MB of each command."""
    found = {}
    for name in chosen:
        words = [word.format(out=out, runs=number, store=store) for word in COMMANDS[name]]
        if COMMANDS[name][0] == "make":
            shutil.rmtree(store, ignore_errors=True)
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
        print(f"{name}: {found[name]}, at most {TARGETS.get(name, '-')}", file=sys.stderr)
    return found


def inside(words):
    """Run a pfbench command in this process, and print the process's peak memory."""
    from pfbench.cli.main import main

    sys.argv = ["pfbench", *words]
    try:
        if words[:2] == ["make", "long"]:
            make_long(Path(words[-1]))
        elif words[0] == "make":
            make(Path(words[-1]), int(words[1]))
        else:
            main()
    finally:
        used = resource.getrusage(resource.RUSAGE_SELF)
        processor, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3
        print(f"\nprocessor_s {processor:.2f} MB {peak:.0f}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="for the stores, and what is written")
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--before", help="a checkout whose package is timed beside")
    parser.add_argument("--only", default=",".join(COMMANDS), help="of the commands, by commas")
    given = parser.parse_args()
    chosen = given.only.split(",")
    found = {}
    for name, package in (("now", Path(__file__).parents[1]), ("before", given.before)):
        if package:
            out, found[name] = given.folder / "out", {}
            for is_long, number in ((False, given.runs), (True, "long")):
                some = [command for command in chosen if command.startswith("long") == is_long]
                store = given.folder / f"{name}-{number}"
                found[name] |= timed(package, store, out, some, given.runs)
    print(json.dumps({"runs": given.runs, **found}, indent=1))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2:])
    else:
        main()
