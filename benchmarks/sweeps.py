"""Sweeps: the overhead of a run, and the gain from a second process."""

import shutil
import tempfile
from pathlib import Path
from time import perf_counter

from pfbench.runs.engines.engine import MultiProcessEngine
from pfbench.runs.execute import iterate_plan_outcomes
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.store import Store

SHORT = "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]"
LONG = "nonconvex-logistic[source=synthetic,rows=20000,columns=200,set=l1,radius=10]"


def seconds(plans, jobs, folder):
    """Execute all runs and store them; return the seconds."""
    started = perf_counter()
    for _ in iterate_plan_outcomes(plans, Store(folder), MultiProcessEngine(jobs)):
        pass
    return perf_counter() - started


class Sweeps:
    version = "1"
    timeout = 600

    def setup(self):
        self.folder = Path(tempfile.mkdtemp())

    def teardown(self):
        shutil.rmtree(self.folder)

    def track_overhead(self):
        """Return the milliseconds of a process for each of 1000 runs of three iterations."""
        plans = [
            PlannedRun(SHORT, "prox-gd[iterations=3,step=0.1]", seed, ("objective",), 1)
            for seed in range(1000)
        ]
        return 2e3 * seconds(plans, 2, self.folder) / len(plans)

    track_overhead.unit = "ms"

    def track_speedup(self):
        """Return the ratio of the time with one job to the time with two.

        There are eight runs of some seconds each.
        """
        plans = [
            PlannedRun(LONG, "prox-gd[iterations=1200,step=0.1]", seed, ("value",), 1200)
            for seed in range(8)
        ]
        one, two = (seconds(plans, jobs, self.folder / str(jobs)) for jobs in (1, 2))
        return one / two

    track_speedup.unit = "x"

    def track_second_call(self):
        """Return the seconds of a sweep of 1000 runs that are all stored."""
        plans = [
            PlannedRun(SHORT, "prox-gd[iterations=3,step=0.1]", seed, ("objective",), 1)
            for seed in range(1000)
        ]
        seconds(plans, 2, self.folder)
        return seconds(plans, 2, self.folder)

    track_second_call.unit = "s"
