"""sfw, svfw, sagafw against Reddi et al. 2016, algorithms 2 to 4."""

from math import sqrt

import numpy as np
import pytest
from both_kinds import small

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.constants import Constants
from pfbench.runs.loop.solve import solve

NAMES = ("sfw", "svfw", "sagafw")


by_name = pytest.mark.parametrize("name", NAMES)


# --- iterates -------------------------------------------------------------------------------------

CASES = [
    {"iterations": 13, "step": 0.11, "batch": 3, "period": 4},
    {"iterations": 9, "step": 0.31, "batch": 40, "period": 5},
    {"iterations": 5, "step": 1.0, "batch": 2, "period": 7},
    {"iterations": 6, "step": 0.2, "batch": 1, "period": 1},
]


def of(name, parameters):
    """The parameters that the method has."""
    known = ALGORITHMS[name].parameters()
    return {key: value for key, value in parameters.items() if key in known}


# --- schedules ------------------------------------------------------------------------------------


def constants(n, **other):
    numbers = {"D": 4.0, "L_f": 0.5, "L_ms": 2.0, "L_max": 8.0, "sigma2": 2.25, "delta": 0.75}
    return Constants(n=n, **numbers | other)


@by_name
def test_a_schedule_whose_best_step_exceeds_1_takes_more_iterations(name):
    """epsilon far above the first gap: the step is at most 1, also after rounding."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        L, D, k = rng.uniform(0.1, 5.0), rng.uniform(0.1, 5.0), int(rng.integers(1, 50))
        error = {"sfw": 0.5, "svfw": 1.5, "sagafw": 0.5 + sqrt(2.0)}[name]
        exact = constants(64, L_f=L, L_ms=L, L_max=L, D=D, delta=k * error * L * D * D, sigma2=0.0)
        chosen = ALGORITHMS[name].theory(1e9, exact)
        assert 0.999999 < chosen.step <= 1.0
        assert chosen.iterations == k


# --- convergence ----------------------------------------------------------------------------------


@by_name
def test_the_output_is_uniform_among_the_points_before_each_step(name):
    """The last x is never the output; the first is, with one iteration."""
    problem = small("logistic")
    result = solve(problem, algorithm(name, **of(name, CASES[0]) | {"iterations": 1}))
    assert np.array_equal(result.x, problem.start())
