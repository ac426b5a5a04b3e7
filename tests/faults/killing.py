"""Kill a sweep at random moments, resume it, and compare its store with an undisturbed one.

As a program it does so many times: ``python tests/faults/killing.py [TIMES] [VICTIM...]``, with
victims parent, worker, stopped (a worker that stands still, and is then woken or killed),
scheduler and dask-worker.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import psutil

from pfbench.runs.storage.store import Store, has_store

SEEDS = 6
SPEC = f"""
problems = "robust-matrix-recovery[rows=40,columns=30,rank=2,density=0.5]"
seeds = {SEEDS}
measures = ["fw_gap", "objective"]
every = 100
[algorithms]
SVRG = "nfwu-svrg[batch=20,period=10,iterations=1000,step=0.001,output=uniform]"
FW = "frank-wolfe[iterations=200]"
"""
RUNS = 2 * SEEDS
PATIENCE = 150.0


class Sweep:
    """A sweep in a folder, as a process."""

    kept = "store"

    def __init__(self, folder, *where, spec=SPEC):
        self.folder, self.where = folder, where or ("--jobs", "2")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "spec.toml").write_text(spec)

    def start(self):
        command = ["run", "spec.toml", "--store", self.kept, "--log", "log", "--quiet", *self.where]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pfbench", *command],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self):
        """Wait for the end; return the exit status and what was complained of."""
        _, complaint = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, complaint

    @property
    def stored(self):
        folder = self.folder / self.kept
        return len(list(Store(folder).keys())) if has_store(folder) else 0

    def reach(self, number):
        """Wait until so many runs are stored, or the sweep has ended; return whether it runs."""
        until = time.monotonic() + PATIENCE
        while self.process.poll() is None and self.stored < number:
            assert time.monotonic() < until
            time.sleep(0.05)
        return self.process.poll() is None

    def workers(self):
        """The processes that make runs: those below the server that forks them."""
        try:
            below = psutil.Process(self.process.pid).children()
            return [worker for server in below for worker in server.children()]
        except psutil.NoSuchProcess:
            return []

    def made(self):
        """How often each run was made, by the log."""
        lines = (self.folder / "log").read_text().splitlines()
        return Counter(line.split("key=")[1].split()[0] for line in lines if " made " in line)

    def results(self):
        """Everything that is stored of each run but its times."""
        store, found = Store(self.folder / self.kept), {}
        for entry in map(store.get, store.keys()):
            run = entry.run
            place = run.columns.index("seconds")
            rows = np.array([[v for k, v in enumerate(row) if k != place] for row in run.rows])
            described = run.as_json()
            del described["seconds"], described["oracle_seconds"]
            found[entry.key] = described, run.columns, rows.tobytes()
        return found


def undisturbed(folder):
    """Return what a sweep stores that nobody disturbs."""
    sweep = Sweep(folder)
    sweep.start()
    assert sweep.end() == (0, "")
    results = sweep.results()
    assert len(results) == RUNS
    return results


def kill_parent(folder, rng, times):
    """Kill the whole sweep at random moments; then let it end."""
    sweep = Sweep(folder)
    kills = 0
    for number in sorted(rng.sample(range(RUNS - 4), times)):
        sweep.start()
        if sweep.reach(number + 1):
            time.sleep(rng.uniform(0.0, 0.1))
            sweep.process.kill()
            kills += 1
        sweep.process.wait(PATIENCE)
        sweep.process.stderr.close()
    sweep.start()
    status, complaint = sweep.end()
    assert (status, complaint) == (0, "")
    # What was stored was not made again.
    assert max(sweep.made().values()) == 1 or sum(sweep.made().values()) <= RUNS + 2 * kills
    return sweep.results(), kills


def kill_worker(folder, rng, times):
    """Kill workers of one sweep at random moments; it goes on by itself."""
    return disturb_workers(folder, rng, times, psutil.Process.kill)


def stop_worker(folder, rng, times):
    """Stop workers (SIGSTOP) at random moments for a while, then wake them or kill them."""

    def stop(worker):
        worker.suspend()
        time.sleep(rng.uniform(0.05, 1.0))
        rng.choice([worker.resume, worker.kill])()

    return disturb_workers(folder, rng, times, stop)


def disturb_workers(folder, rng, times, disturb):
    sweep = Sweep(folder)
    sweep.start()
    hits = 0
    for number in sorted(rng.sample(range(RUNS - 4), times)):
        if sweep.reach(number):
            time.sleep(rng.uniform(0.0, 0.1))
            workers = sweep.workers()
            if workers:
                with suppress(psutil.NoSuchProcess):
                    disturb(rng.choice(workers))
                    hits += 1
    status, complaint = sweep.end()
    if status:  # somebody killed the workers of one run three times
        assert "SIGKILL" in complaint
        sweep.start()
        assert sweep.end() == (0, "")
    return sweep.results(), hits


@contextmanager
def cluster(folder):
    """A Dask scheduler and its two workers, each in a process: its address, and the processes."""
    from distributed import Client

    folder.mkdir(parents=True, exist_ok=True)
    address = folder / "scheduler.json"
    python = [sys.executable, "-m"]
    file = ["--scheduler-file", str(address)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    scheduler = subprocess.Popen(
        [*python, "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", *file], **quiet
    )
    worker = subprocess.Popen(
        [
            *python,
            *("distributed.cli.dask_worker", "--nworkers", "2", "--nthreads", "1"),
            *("--no-dashboard", "--death-timeout", "60"),
            *file,
        ],
        **quiet,
    )
    try:
        until = time.monotonic() + PATIENCE
        while not address.exists():
            assert time.monotonic() < until
            time.sleep(0.1)
        where = json.loads(address.read_text())["address"]
        with Client(where, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=PATIENCE)
        yield where, psutil.Process(scheduler.pid), psutil.Process(worker.pid)
    finally:
        for process in (worker, scheduler):
            with suppress(psutil.NoSuchProcess):
                for child in psutil.Process(process.pid).children(recursive=True):
                    with suppress(psutil.NoSuchProcess):
                        child.kill()
            process.kill()
            process.wait()


def kill_scheduler(folder, rng, times=1):
    """Kill the Dask scheduler at a random moment; then let the sweep end on local processes."""
    with cluster(folder) as (where, scheduler, _):
        sweep = Sweep(folder, "--scheduler", where)
        sweep.start()
        running = sweep.reach(rng.randrange(1, RUNS // 2))
        scheduler.kill()
        status, complaint = sweep.end()
        if running:
            assert status == 1
            assert "lost" in complaint, complaint
            assert sweep.stored == RUNS
    again = Sweep(folder)
    again.start()
    assert again.end() == (0, "")
    return again.results(), int(running)


def kill_dask_worker(folder, rng, times):
    """Kill Dask's workers at random moments; their nannies start others, and the sweep goes on."""
    with cluster(folder) as (where, _, nannies):
        sweep = Sweep(folder, "--scheduler", where)
        sweep.start()
        hits = 0
        for number in sorted(rng.sample(range(RUNS - 4), times)):
            if sweep.reach(number):
                with suppress(psutil.NoSuchProcess):  # one may be ending by itself
                    workers = [
                        child
                        for child in nannies.children()
                        if "multiproc" in " ".join(child.cmdline())
                    ]
                    if workers:
                        rng.choice(workers).kill()
                        hits += 1
        status, complaint = sweep.end()
    if status:  # the workers of one run were killed more often than it is tried again
        again = Sweep(folder)
        again.start()
        assert again.end() == (0, ""), complaint
    return sweep.results(), hits


VICTIMS = {
    "parent": kill_parent,
    "worker": kill_worker,
    "stopped": stop_worker,
    "scheduler": kill_scheduler,
    "dask-worker": kill_dask_worker,
}


def main(times=20, *victims):
    """Kill until so many moments were hit, all victims in turn, and compare each time."""
    rng = random.Random()
    with tempfile.TemporaryDirectory() as folder:
        expected = undisturbed(Path(folder) / "undisturbed")
        hit, number = 0, 0
        while hit < int(times):
            victim = (victims or tuple(VICTIMS))[number % len(victims or VICTIMS)]
            each = 1 if victim == "scheduler" else 3
            found, kills = VICTIMS[victim](Path(folder) / str(number), rng, each)
            hit, number = hit + kills, number + 1
            same = found == expected
            print(f"{victim}: killed {kills} times, {hit} in all; same results: {same}", flush=True)
            if not same:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
