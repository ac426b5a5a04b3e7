"""Peers on many runs in two processes: pfbench's sweep with its store, and a plain joblib loop."""

import tempfile
from pathlib import Path

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits
from timing import OURS, compare

import pfbench as pf
from pfbench.runs.engines.engine import MultiProcessEngine
from pfbench.runs.execute import iterate_plan_outcomes
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.store import Store

SHORT = "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]"
LONG = "nonconvex-logistic[source=synthetic,rows=20000,columns=200,set=l1,radius=10]"
STEP = 0.1


def one(problem, iterations, seed):
    """Make a run as a user's own loop would."""
    import numba

    numba.set_num_threads(1)
    with threadpool_limits(1):
        chosen = pf.algorithm("prox-gd", iterations=iterations, step=STEP)
        return pf.solve(problem, chosen, seed=seed).counts


def comparisons(quick):
    from pfbench.base.selectors import Selector
    from pfbench.problems.catalogue import problem

    short, long = (SHORT, 3, 1000), (LONG, 300, 8)
    for text, iterations, runs in ((SHORT, 3, 100),) if quick else (short, long):
        selector = Selector.parse(text)
        plans = [
            PlannedRun(text, f"prox-gd[iterations={iterations},step={STEP}]", seed, (), 10**9)
            for seed in range(runs)
        ]

        def stored(plans=plans):
            with tempfile.TemporaryDirectory() as folder:
                list(iterate_plan_outcomes(plans, Store(Path(folder)), MultiProcessEngine(2)))

        def bare(selector=selector, iterations=iterations, runs=runs):
            built = problem(selector.name, **selector.parameters)
            Parallel(n_jobs=2)(delayed(one)(built, iterations, seed) for seed in range(runs))

        yield compare(
            f"{runs} runs of {iterations} iterations on two processes",
            "A sweep that stores every run, and a bare loop that keeps nothing.",
            {OURS: stored, "joblib": bare},
            {OURS: "every run stored", "joblib": "nothing kept"},
        )
