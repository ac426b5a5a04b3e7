"""A run whose objective is not finite at its output has diverged, and reaches no target there."""

import math

import numpy as np
import pytest

import pfbench as pf
from pfbench.adapters import ScipyMinimize, from_functions
from pfbench.reporting.runtimes import Cost, make_runtimes
from pfbench.reporting.seed_curves import SeedTraces
from pfbench.sets import Simplex

T = np.array([0.7, 0.1, 0.1, 0.1])
METHOD = "frank-wolfe[step=open-loop,iterations=3]"  # its last point is beyond 0.6


def squares(x, beyond, value):
    return value if x[0] > beyond else float((x - T) @ (x - T))


def on_simplex(value):
    def jac(x, *_):
        return 2.0 * (x - T)

    args = (0.6, value)
    return from_functions(squares, jac, Simplex(4), start=np.full(4, 0.25), args=args)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("more", [{}, {"stop": "objective=-1"}, {"budget": {"fo": 3}}])
def test_it_is_no_finished_run_and_no_target_reached(value, more):
    run = pf.solve(on_simplex(value), METHOD, measures="objective", **more)
    assert (run.status, run.final["objective"]) == ("diverged", None)
    assert run.stop_reason == "the objective at the output is not finite"
    assert run.first_value("objective", -1.0) is None


def test_a_value_that_is_undefined_on_the_way_changes_nothing():
    run = pf.solve(on_simplex(math.nan), METHOD, budget={"fo": 2})
    assert run.status == "budget"


@pytest.mark.parametrize("method", ["BFGS", "CG", "Nelder-Mead"])
def test_a_black_box_on_an_undefined_function_diverges(method):
    problem = from_functions(
        squares, lambda x, *_: 2.0 * (x - T), start=np.zeros(4), args=(1e-9, math.nan)
    )
    run = pf.solve(problem, ScipyMinimize(method=method))
    assert run.status == ("finished" if run.final["objective"] is not None else "diverged")


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_such_a_row_is_no_hit_of_a_comparison(value):
    run = pf.solve(on_simplex(value), METHOD, measures="objective")
    assert (
        make_runtimes(
            SeedTraces.from_runs([run]), pf.Stop("objective", -1.0), Cost.from_weights("fo")
        ).hits
        == 0
    )
