"""Natasha1.5 against its reference, and against referees."""

import numpy as np
import pytest
from linear_reference import DOMAINS, Plain, elsewhere, model, run
from numpy.testing import assert_allclose

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.runs.loop.solve import solve

NATASHA = ALGORITHMS["natasha15"]


CASES = [
    {"iterations": 17, "snapshot": 7, "subepochs": 2, "sigma": 0.3, "step": 0.2},
    {"iterations": 29, "snapshot": 11, "subepochs": 3, "sigma": 0.1, "step": 0.4},
    {"iterations": 13, "snapshot": 11, "subepochs": 2, "sigma": 0.0, "step": 0.4, "batch": 2},
    {"iterations": 8, "snapshot": 3, "subepochs": 3, "sigma": 1.0, "step": 0.1, "batch": 14},
]
OVER = pytest.mark.parametrize("domain", DOMAINS)


def test_the_reference_is_a_subset_without_repetition():
    """With sigma = 0 the estimate at the snapshot is the reference itself."""
    problem = model()
    P, x = Plain(problem), elsewhere(problem)
    states, _ = run(
        problem, "natasha15", seed=1, iterations=1, snapshot=10, subepochs=1, sigma=0.0, step=0.1
    )
    leave_one_out = [P.mean(np.delete(np.arange(11), i), x) for i in range(11)]
    errors = [np.abs(states[0].estimate - g).max() for g in leave_one_out]
    assert min(errors) < 1e-14


@OVER
def test_with_one_step_a_sub_epoch_the_centre_never_moves(domain):
    """m = 1: the average of x_0 alone is x_0; so the output stays at the start."""
    problem = model(domain=domain)
    states, _ = run(
        problem, "natasha15", iterations=9, snapshot=3, subepochs=3, sigma=0.2, step=0.1
    )
    for state in states:
        assert_allclose(state.output, elsewhere(problem), rtol=0, atol=0)


def test_the_run_ends_at_the_centre():
    problem = model(domain="penalty")
    parameters = CASES[1]
    result = solve(problem, algorithm("natasha15", **parameters), start=elsewhere(problem))
    assert result.status == "finished"
    P = Plain(problem)
    expected = P.value(result.x) + P.h(result.x)
    assert result.final["objective"] == pytest.approx(expected, rel=1e-12)


def test_a_snapshot_above_n_is_refused_by_name():
    with pytest.raises(InputError, match=r"^snapshot=12 must be at most n = 11"):
        run(model(), "natasha15", **CASES[1] | {"snapshot": 12})


# --- the theorem's schedule -----------------------------------------------------------------------


def constants(n, **other):
    numbers = {"L_f": 1.0, "L_ms": 2.0, "L_max": 4.0, "delta": 0.5, "sigma2": 0.75, "ell": 0.5}
    return Constants(n=n, **numbers | other)


def test_given_sizes_replace_those_of_the_schedule():
    chosen = NATASHA.theory(0.1, constants(300), sigma=2.0, snapshot=64)
    assert (chosen.sigma, chosen.snapshot, chosen.subepochs) == (2.0, 64, 2)
    assert chosen.step == pytest.approx(2.0 / (2 * 4.0) ** 2)
    assert algorithm("natasha15", epsilon=0.1, sigma=2.0).resolve(constants(300))[1] == "explicit"


# --- convergence ----------------------------------------------------------------------------------


@OVER
def test_the_gradient_mapping_falls_to_zero(domain):
    problem = model(domain=domain)
    P = Plain(problem)
    states, _ = run(
        problem, "natasha15", iterations=8800, snapshot=11, subepochs=2, sigma=0.1, step=0.1
    )
    assert P.mapping(elsewhere(problem)) > 0.05
    assert P.mapping(states[-1].output) < 1e-8
