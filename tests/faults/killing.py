"""Kill a sweep at random moments, resume it, and compare its store with an undisturbed one.

As a program it does so many times: ``python tests/faults/killing.py [TIMES] [VICTIM...]``, with
victims parent, worker and stopped (a worker that stands still, and is then woken or killed).
"""

import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil

from pfbench.runs.storage.store import Store, has_store

sys.path.append(str(Path(__file__).parents[1]))

from stored import comparable

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
        store = Store(self.folder / self.kept)
        return {key: comparable(store.get(key).run) for key in store.keys()}  # noqa: SIM118


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


VICTIMS = {"parent": kill_parent, "worker": kill_worker, "stopped": stop_worker}


def main(times=20, *victims):
    """Kill until so many moments were hit, all victims in turn, and compare each time."""
    rng = random.Random()
    with tempfile.TemporaryDirectory() as folder:
        expected = undisturbed(Path(folder) / "undisturbed")
        hit, number = 0, 0
        while hit < int(times):
            victim = (victims or tuple(VICTIMS))[number % len(victims or VICTIMS)]
            found, kills = VICTIMS[victim](Path(folder) / str(number), rng, 3)
            hit, number = hit + kills, number + 1
            same = found == expected
            print(f"{victim}: killed {kills} times, {hit} in all; same results: {same}", flush=True)
            if not same:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
