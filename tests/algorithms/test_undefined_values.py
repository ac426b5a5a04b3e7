"""NaN at a trial point loses each search: it counts as infinity."""

import math
import warnings

import numpy as np
import pytest

import pfbench as pf
from pfbench.adapters import from_functions
from pfbench.algorithms.frank_wolfe import line_search
from pfbench.sets import Simplex

T = np.array([0.7, 0.1, 0.1, 0.1])


def half_space(x):
    """The squared distance to T, undefined beyond 0.6."""
    return np.nan if x[0] > 0.6 else float((x - T) @ (x - T))


def entropy(x):
    """The relative entropy with 0 log 0 = NaN."""
    with np.errstate(all="ignore"):
        return float(np.sum(x * np.log(x / (T + 0.1))))


def entropy_slope(x):
    with np.errstate(all="ignore"):
        return np.maximum(np.log(x / (T + 0.1)) + 1.0, -1e3)


def barrier(x):
    with np.errstate(all="ignore"):
        return float(x @ x - 0.1 * np.sum(np.sqrt(x - 0.05)))


def barrier_slope(x):
    with np.errstate(all="ignore"):
        return 2.0 * x - 0.05 / np.sqrt(np.maximum(x - 0.05, 1e-9))


PROBLEMS = {
    "half space": (half_space, lambda x: 2.0 * (x - T), 0.0138),
    "entropy": (entropy, entropy_slope, -0.3363),
    "barrier": (barrier, barrier_slope, 0.07112),
}
STEPS = ["line-search", *(f"backtracking,smoothness={M}" for M in (0.01, 0.1, 1.0)), "backtracking"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_no_step_goes_where_the_objective_is_undefined(name, step):
    fun, jac, reached = PROBLEMS[name]
    problem = from_functions(fun, jac, Simplex(4), start=np.array([0.3, 0.2, 0.25, 0.25]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = pf.solve(problem, f"frank-wolfe[step={step},iterations=60]", measures="objective")
    values = run.trace["objective"].to_numpy()
    assert run.status == "finished", run.stop_reason
    assert (np.diff(values) <= 1e-11).all()
    assert values[-1] < reached + 2e-4


@pytest.mark.parametrize("undefined", [math.nan, math.inf, np.float64("nan")])
@pytest.mark.parametrize("others", [(), (0.3, 0.9)])
def test_a_line_search_takes_the_best_of_the_values_that_are_defined(undefined, others):
    found = line_search(lambda w: (w - 0.7) ** 2 if w <= 0.4 else undefined, 1.0, *others)
    assert 0.3 <= found <= 0.4
    assert line_search(lambda w: undefined, 1.0, *others) == 0.0


def test_a_search_without_a_value_at_its_start_ends():
    """Where no trial point has a value it stays, and the objective of its output is undefined."""
    problem = from_functions(entropy, entropy_slope, Simplex(4), start=np.full(4, 0.25))
    for step in STEPS:
        run = pf.solve(
            problem,
            f"frank-wolfe[step={step},iterations=5]",
            start=np.array([1.0, 0.0, 0.0, 0.0]),
            budget={"fv": 5000},
        )
        assert run.iterations == 5
        undefined = run.final["objective"] is None
        assert run.status == ("diverged" if undefined else "finished")
        assert undefined == (step != "backtracking")  # whose probe leaves the edge without a value
