"""How often a comparison errs, and how much it sees: real calls of one method, at seeds of ten."""

import numpy as np
import pytest
from scipy.stats import binom

from pfbench.base.counts import Budget
from pfbench.reporting.runtimes import Cost, make_runtimes
from pfbench.reporting.significance import SeedSample, compare_pairs
from pfbench.runs.engines.run_task import execute_plan
from pfbench.runs.loop.run import Stop
from pfbench.runs.planning.plan import PlannedRun

TARGET = Stop("fw_gap", 0.1)
METHODS, SEEDS, REPETITIONS = 46, 10, 200


@pytest.fixture(scope="module")
def calls():
    """The SFO of 120 real runs of stochastic Frank-Wolfe to a target, each at a seed of its own."""
    problem = "quadratic[rows=60,columns=6,radius=5]"
    runs = [
        execute_plan(
            PlannedRun(
                problem,
                "sfw[iterations=400,step=0.03,batch=8]",
                seed,
                ("fw_gap",),
                1,
                Budget(sfo=3000),
                TARGET,
            )
        )
        for seed in range(120)
    ]
    found = make_runtimes(runs, TARGET, Cost.from_weights("sfo")).calls
    assert np.isfinite(found).mean() > 0.9
    assert np.unique(found).size > 20
    return found


def families(calls, factor=1.0):
    """Yield the pairs of the first method against each other one; it needs `factor` times more."""
    rng = np.random.default_rng(20190813)
    for _ in range(REPETITIONS):
        every = rng.choice(calls, (METHODS, SEEDS))
        mine = SeedSample(factor * every[0])
        yield [(mine, SeedSample(one)) for one in every[1:]]


def test_a_method_is_seldom_told_from_itself_at_other_seeds(calls):
    """In at most 5 % of the families of 45 tests any is said to be better or worse.

    Over 1800 families it was 72, 4.0 %. Of the first 200 it is 15, more than the 10 that would be
    5 %: at a level of 4 % as many come in 1.5 % of cases, at 5 % in 7.8 %. Of the 1600 others it is
    57, 3.6 %. The bound itself is proved: exact tests, by Holm.
    """
    wrong = sum(any(compare_pairs(family)) for family in families(calls))
    assert not far_more_often(wrong)


def far_more_often(wrong):
    """Whether so many errors are more than 5 % by more than chance (1e-6)."""
    return binom.sf(wrong - 1, REPETITIONS, 0.05) < 1e-6


def test_without_a_correction_it_would_often_be(calls):
    """The planted fault: each of the 45 tests held to the level itself."""
    wrong = sum(any(compare_pairs([pair])[0] for pair in family) for family in families(calls))
    assert far_more_often(wrong)
