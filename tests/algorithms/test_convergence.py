"""Every algorithm comes near a stationary point of a small problem, by the exact gap."""

import numpy as np
import pytest

from pfbench.algorithms import algorithm
from pfbench.base.state import State
from pfbench.measures import fw_gap
from pfbench.runs.loop.solve import solve

EPOCH = {"batch": 12, "period": 6, "iterations": 1500, "step": 0.004, "output": "last"}

RUNS = [
    ("frank-wolfe", {"step": "line-search", "iterations": 300}, 0.01),
    ("frank-wolfe", {"step": "adaptive", "iterations": 1500}, 0.05),
    ("frank-wolfe", {"step": "open-loop", "iterations": 600}, 0.02),
    ("nfwu-sg", {"batch": 300, "iterations": 1500, "step": 0.004, "output": "last"}, 0.2),
    ("nfwu-svrg", EPOCH, 0.1),
    ("nfwu-spiderg", EPOCH, 0.1),
    ("nfwu-casvrg", EPOCH, 0.1),
    ("nfwu-caspiderg", EPOCH, 0.1),
]


@pytest.mark.parametrize(
    ("name", "parameters", "share"), RUNS, ids=[f"{r[0]}-{r[1].get('step')}" for r in RUNS]
)
def test_the_gap_falls_to_a_share_of_the_first(problem, name, parameters, share):
    run = solve(problem, algorithm(name, **parameters), seed=1)
    first = fw_gap(problem, State(problem.start()))[1]
    assert run.status == "finished"
    assert run.final["fw_gap"] < share * first


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "name", ["nfwu-sg", "nfwu-svrg", "nfwu-spiderg", "nfwu-casvrg", "nfwu-caspiderg"]
)
def test_the_theorems_schedule_meets_its_bound(problem, name):
    """The mean of V(x_t) over t and three seeds is at most 2 epsilon D (theorem 3.1, sharp)."""
    constants = problem.constants(problem.start())
    first = fw_gap(problem, State(problem.start()))[1]
    epsilon = first / (2.2 * constants.D)
    chosen = algorithm(name, epsilon=epsilon)
    means = []
    for seed in range(3):
        run = solve(problem, chosen, seed=seed, measures=["fw_gap"])
        assert run.schedule == "theory"
        means.append(run.trace["fw_gap"].to_numpy()[:-1].mean())
    assert 2 * epsilon * constants.D < first
    assert np.mean(means) <= 2 * epsilon * constants.D
