"""Runs as a store keeps them, made without an algorithm, and runs that an engine makes."""

import sqlite3
import zlib
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from pfbench.base.counts import COUNTED, Counts
from pfbench.runs.engines.run_task import execute_plan, run_from_result
from pfbench.runs.engines.workers import Task
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.storage import serialization
from pfbench.runs.storage.store import Store

ENVIRONMENT = {"python": "3.11", "threads": "1", "numpy": "2.3", "scipy": "1.16"}
LOGISTIC = "nonconvex-logistic[source=synthetic,rows=30,columns=4]"
RECOVERY = "robust-matrix-recovery[rows=12,columns=10,rank=1,density=0.5]"
SVRG = "nfwu-svrg[batch=7,period=4,iterations=3,step=0.1]"


def key_of(name):
    return sha256(str(name).encode()).hexdigest()


def counts_after(k, n):
    return Counts(fo=min(k, 1), sfo=n * (k > 0) + 14 * max(k - 1, 0), lo=k)


def run_of_rows(rows, measures, /, **fields):
    """A run of these rows, the last of which has its iterations, counts and seconds."""
    iterations, *calls, seconds = (rows[-1] if rows else [0] * 10)[: 2 + len(COUNTED)]
    run = Run(
        problem="p",
        algorithm="a",
        parameters={},
        schedule="explicit",
        seed=0,
        status="finished",
        stop_reason="",
        iterations=iterations,
        counts=Counts(*calls),
        final={},
        seconds=seconds,
        oracle_seconds=0.0,
        failure_probability=0.0,
        columns=(*TRACE_COLUMNS, *measures),
        rows=rows,
    )
    return replace(run, **fields)


def made_run(seed=0, *, problem=LOGISTIC, algorithm=SVRG, n=30, rows=4, **changes):
    """A run of `rows` recorded iterates: after k of them k LO calls and n + 14 (k - 1) SFO."""
    trace = [
        (k, *counts_after(k, n).as_dict().values(), 0.25 * k, 2.0**-k, 3.0 - k) for k in range(rows)
    ]
    parameters = {"batch": 7, "period": 4, "iterations": 3, "step": 0.1, "output": "last"}
    fields = {"problem": problem, "algorithm": algorithm, "parameters": parameters, "seed": seed}
    fields |= {"stop_reason": "the schedule ran out", "yields_output": False}
    fields |= {"final": {"objective": 0.125, "fw_gap": None}}
    fields |= {"seconds": 0.75, "oracle_seconds": 0.5}
    return run_of_rows(trace, ("objective", "fw_gap"), **fields | changes)


class Made(NamedTuple):
    """A run that an engine made, and how often it was begun again."""

    run: Run
    retries: int


def made(engine, plans):
    """What became of each planned run, in order."""
    found = {
        result.index: result
        for result in engine.do([Task(execute_plan, (plan,)) for plan in plans])
    }
    assert sorted(found) == list(range(len(plans)))
    return [Made(run_from_result(plan, found[k]), found[k].retries) for k, plan in enumerate(plans)]


def comparable(run):
    """All of a run but its times."""
    place = run.columns.index("seconds")
    rows = np.array([[v for k, v in enumerate(row) if k != place] for row in run.rows])
    return replace(run, seconds=0, oracle_seconds=0, rows=[]).as_json(), run.columns, rows.tobytes()


def change(store, key, kind="run", /, **columns):
    """Change columns of an entry behind the store's back; without any, its hash."""
    columns = columns or {"sha256": b""}
    names = ", ".join(f"{name} = ?" for name in columns)
    with closing(sqlite3.connect(store.path)) as database, database:
        query = f"UPDATE entries SET {names} WHERE kind = ? AND key = ?"
        assert database.execute(query, (*columns.values(), kind, key)).rowcount == 1


def crafted(record, **columns):
    """Return a row of the store with other columns, whose checksum and hash are right."""
    record = record._replace(**columns)
    shown = serialization.encode_for_checksum(record[: serialization.SHOWN])
    parts = [part if isinstance(part, bytes) else b"" for part in (record.meta, record.trace)]
    digest = sha256(b"\0".join((shown, *parts))).digest()
    return record._replace(checksum=zlib.crc32(shown), sha256=digest)


def set_aside(store):
    """Kind, key and reason of what a store has set aside."""
    with closing(sqlite3.connect(store.path)) as database:
        return database.execute("SELECT kind, key, reason FROM damaged ORDER BY id").fetchall()


def stored_runs(folder):
    """The number of runs in all stores below a folder."""
    stores = (Store(path.parent, make=False) for path in folder.rglob("store.sqlite"))
    return sum(len(list(store.keys())) for store in stores)
