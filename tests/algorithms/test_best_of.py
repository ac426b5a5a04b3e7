"""The best of k runs by the full Frank-Wolfe gap (shen2019 remark 3.1), derived a second time."""

import numpy as np
import pytest
from scipy.stats import chi2

from pfbench.algorithms import ALGORITHMS
from pfbench.base.state import State
from pfbench.measures import fw_gap
from pfbench.points import distance, keep

T, K = 6, 5


class Spy:
    """Oracles that remember where a full gradient was asked.

    NFWU with plain mini-batches asks none itself, so these are the points that were compared.
    """

    def __init__(self, ask):
        self._ask, self.compared = ask, []

    def __getattr__(self, name):
        return getattr(self._ask, name)

    def gradient(self, x):
        self.compared.append(keep(x))
        return self._ask.gradient(x)


def best_of(problem, asking, *, seed, k=K, **parameters):
    """Return the yielded (at, x, output), copied, and the points that were compared."""
    spy = Spy(asking(problem))
    cls = ALGORITHMS["nfwu-sg"]
    chosen = cls(iterations=T, step=0.2, batch=2, restarts=k, **parameters)
    states = [
        (keep(state.at), keep(state.x), keep(state.output))
        for state in chosen.run(spy, problem.start(), np.random.default_rng(seed))
    ]
    return states, spy.compared


@pytest.mark.parametrize("seed", range(5))
def test_each_run_compares_one_of_its_own_points(problem, asking, seed):
    states, compared = best_of(problem, asking, seed=seed)
    assert len(states) == K * T
    assert len(compared) == K
    for r, candidate in enumerate(compared):
        own = [at for at, _, _ in states[r * T : (r + 1) * T]]
        assert min(distance(candidate, at) for at in own) < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_output_has_the_least_gap_of_the_compared_points(problem, asking, seed):
    states, compared = best_of(problem, asking, seed=seed)
    gaps = [fw_gap(problem, State(candidate))[1] for candidate in compared]
    assert distance(states[-1][2], compared[int(np.argmin(gaps))]) < 1e-12


def test_output_is_the_best_of_the_runs_that_are_complete(problem, asking):
    states, compared = best_of(problem, asking, seed=1)
    gaps = [fw_gap(problem, State(candidate))[1] for candidate in compared]
    for row, (_, _, output) in enumerate(states, start=1):
        done = row // T
        best = compared[int(np.argmin(gaps[:done]))] if done else problem.start()
        assert distance(output, best) < 1e-12


def test_every_run_begins_at_the_start(problem, asking):
    states, _ = best_of(problem, asking, seed=0)
    assert all(distance(states[r * T][0], problem.start()) == 0.0 for r in range(K))


def test_runs_are_independent(problem, asking):
    states, _ = best_of(problem, asking, seed=0)
    ends = [states[(r + 1) * T - 1][1] for r in range(K)]
    assert all(distance(ends[0], other) > 1e-6 for other in ends[1:])


def test_output_last_compares_the_last_iterates(problem, asking):
    states, compared = best_of(problem, asking, seed=0, output="last")
    for r, candidate in enumerate(compared):
        assert distance(candidate, states[(r + 1) * T - 1][1]) < 1e-12


def test_compared_points_are_uniform_over_the_iterations(problem, asking):
    """Chi-square over 1000 runs; false alarm 1e-7."""
    runs = 1000
    states, compared = best_of(problem, asking, seed=0, k=runs)
    drawn = []
    for r, candidate in enumerate(compared):
        own = [at for at, _, _ in states[r * T : (r + 1) * T]]
        drawn.append(int(np.argmin([distance(candidate, at) for at in own])))
    frequencies = np.bincount(drawn, minlength=T)
    statistic = ((frequencies - runs / T) ** 2 / (runs / T)).sum()
    assert statistic < chi2.isf(1e-7, T - 1)
