"""The family over epsilon: its bound and its calls."""

import numpy as np
import pytest
from helpers import assert_one_sentence

from pfbench.base.errors import InputError, RefusedError
from pfbench.points import combine
from pfbench.problems.zero_chain import chain_scaling, chain_smoothness
from pfbench.resisting import list_contestants, run_family
from pfbench.resisting.rescaled_family import max_epsilon
from pfbench.resisting.resisting_oracle import ResistingOracle, make_resisting_chain
from pfbench.runs.loop.steps import random_stream

QUICK = ["frank-wolfe", "frank-wolfe[step=backtracking]"]
"""Those that come down in few calls."""


@pytest.mark.parametrize("T", [1, 2, 7, 1000, 123_457])
def test_epsilon_of_is_the_largest_with_that_bound(T):
    # shen2019, theorem 5.1: T = (0.0016/12) L delta/(l eps^2), rounded down
    epsilon = max_epsilon(T)
    assert 0.0016 / 12.0 / (chain_smoothness() * epsilon**2) == pytest.approx(T)
    assert chain_scaling(epsilon, 1.0, 1.0)[0] == T
    if T > 1:
        assert chain_scaling(epsilon * (1.0 + 1e-9), 1.0, 1.0)[0] == T - 1


@pytest.mark.thin(6)
@pytest.mark.parametrize("text", list_contestants())
def test_no_algorithm_reaches_the_target_before_T(text):
    for run in run_family([text], [max_epsilon(T) for T in (1, 3, 6)], limit=2000):
        assert run.calls >= run.T
        assert run.tightness == run.calls / run.T >= 1.0
        assert run.censored or run.calls <= 2000


def test_the_target_is_reached_at_the_last_call_and_not_before():
    """The same run by hand, its gaps on the function that is fixed afterwards."""
    (run,) = run_family(["frank-wolfe[step=open-loop]"], [max_epsilon(2)], limit=3000)
    assert not run.censored
    T, mu = chain_scaling(run.epsilon, 1.0, 1.0)
    oracle = ResistingOracle(
        make_resisting_chain(T, L=1.0, mu=mu), random_stream(0, "oracles"), record=False
    )
    x = np.zeros(oracle.d)
    points = [x]
    for t in range(run.calls):
        x = combine(x, oracle.lo(oracle.gradient(x)), 2.0 / (t + 2.0))
        points.append(x)
    fixed, _ = oracle.finish()
    gaps = []
    for x in points:
        g = fixed.gradient(x)
        gaps.append(g @ x - fixed.set.minimum(g)[0])
    below = [gap <= run.epsilon * fixed.set.diameter for gap in gaps]
    assert below.index(True) == run.calls == len(below) - 1


def test_a_run_that_takes_too_many_calls_is_censored():
    (run,) = run_family(["frank-wolfe[step=open-loop]"], [max_epsilon(5)], limit=50)
    assert run.censored
    assert run.calls == 50
    (run,) = run_family(["ncgs"], [max_epsilon(5)], limit=50)
    assert run.censored
    assert 50 <= run.calls <= 51


def test_seeds_of_the_directions_change_no_count():
    calls = [run_family(["frank-wolfe"], [max_epsilon(5)], seed=seed)[0].calls for seed in range(3)]
    assert len(set(calls)) == 1


def test_what_may_not_stand_is_refused():
    with pytest.raises(RefusedError):
        run_family(["sfw"], [1e-4])
    with pytest.raises(InputError) as error:
        run_family(["frank-wolfe"], [1.0])
    assert_one_sentence(error, "would have no link")
    with pytest.raises(InputError):
        run_family(["frank-wolfe"], [1e-4], limit=0)


def test_runs_come_in_the_order_of_algorithms_and_accuracies():
    runs = run_family(QUICK, [max_epsilon(2), max_epsilon(3)])
    assert [run.T for run in runs] == [2, 3] * 2
    assert [run.algorithm for run in runs] == [QUICK[0]] * 2 + [QUICK[1]] * 2
