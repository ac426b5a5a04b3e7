"""Natasha1.5 against its reference, and against referees."""

from math import inf

import numpy as np
import pytest
from following import assert_follows_reference
from linear_reference import DOMAINS, Plain, ceil, counts_on_the_nuclear_ball, elsewhere, model, run
from numpy.testing import assert_allclose

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, RefusedError
from pfbench.runs.loop.solve import solve

NATASHA = ALGORITHMS["natasha15"]


CASES = [
    {"iterations": 17, "snapshot": 7, "subepochs": 2, "sigma": 0.3, "step": 0.2},
    {"iterations": 29, "snapshot": 11, "subepochs": 3, "sigma": 0.1, "step": 0.4},
    {"iterations": 13, "snapshot": 11, "subepochs": 2, "sigma": 0.0, "step": 0.4, "batch": 2},
    {"iterations": 8, "snapshot": 3, "subepochs": 3, "sigma": 1.0, "step": 0.1, "batch": 14},
]
EACH = pytest.mark.parametrize("parameters", CASES)
OVER = pytest.mark.parametrize("domain", DOMAINS)


@EACH
@OVER
def test_iterates_and_output_are_those_of_the_reference(parameters, domain):
    assert_follows_reference(model(domain=domain), "natasha15", **parameters)


@EACH
@OVER
def test_counts(parameters, domain):
    problem = model(domain=domain)
    _, counts = run(problem, "natasha15", **parameters)
    T, B, p = (parameters[key] for key in ("iterations", "snapshot", "subepochs"))
    b = parameters.get("batch", 1)
    epochs = ceil(T, p * max(1, B // (p * b)))
    expected = {"sfo": B * epochs + 2 * b * T, "fo": epochs if problem.n == B else 0}
    po = {} if domain == "none" else {"po": T}
    assert counts == dict.fromkeys(counts, 0) | expected | po


def test_projections_onto_the_nuclear_ball_count_as_po():
    for parameters in (CASES[0], CASES[1] | {"snapshot": 9}):
        counts = counts_on_the_nuclear_ball("natasha15", parameters)
        assert (counts["po"], counts["lo"]) == (parameters["iterations"], 0)


def test_an_epoch_costs_three_times_its_reference():
    """Allen-Zhu 2018, Natasha1.5: SFO B + 2pm = 3B, PO pm = B, where p divides B."""
    problem = model(domain="penalty", n=12)
    _, counts = run(
        problem, "natasha15", iterations=30, snapshot=10, subepochs=5, sigma=0.1, step=0.1
    )
    assert (counts["sfo"], counts["po"]) == (3 * 30, 30)


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


@pytest.mark.parametrize(
    "wrong", [{"subepochs": 12}, {"sigma": -0.1}, {"step": 0.0}, {"snapshot": 0}, {"batch": 0}]
)
def test_bad_values_are_refused_by_name(wrong):
    with pytest.raises(InputError, match=rf"^{next(iter(wrong))}="):
        NATASHA(**CASES[1] | wrong)


def test_a_snapshot_above_n_is_refused_by_name():
    with pytest.raises(InputError, match=r"^snapshot=12 must be at most n = 11"):
        run(model(), "natasha15", **CASES[1] | {"snapshot": 12})


# --- the theorem's schedule -----------------------------------------------------------------------


def constants(n, **other):
    numbers = {"L_f": 1.0, "L_ms": 2.0, "L_max": 4.0, "delta": 0.5, "sigma2": 0.75, "ell": 0.5}
    return Constants(n=n, **numbers | other)


@pytest.mark.parametrize("n", [1, 9, 300, 10**6])
@pytest.mark.parametrize("epsilon", [1.0, 0.1, 0.01])
def test_theory(n, epsilon):
    chosen = NATASHA.theory(epsilon, constants(n))
    B, p, sigma, L = chosen.snapshot, chosen.subepochs, chosen.sigma, 4.0
    assert n == B or B - 1 < 0.75 / epsilon**2 <= B * (1 + 1e-12)
    assert sigma == min(L, max(0.5, epsilon * L))
    assert p**3 <= sigma**2 * B / L**2 * (1 + 1e-9) or p == 1
    assert (p + 1) ** 3 > sigma**2 * B / L**2 or p == B
    assert chosen.step == pytest.approx(sigma / (p * L) ** 2, rel=1e-13)
    T = (L**2 * sigma) ** (1 / 3) * 0.5 * B ** (2 / 3) / epsilon**2
    assert T <= chosen.iterations * (1 + 1e-9) < T + 1 + 1e-6 * T
    assert chosen.batch == 1


def test_given_sizes_replace_those_of_the_schedule():
    chosen = NATASHA.theory(0.1, constants(300), sigma=2.0, snapshot=64)
    assert (chosen.sigma, chosen.snapshot, chosen.subepochs) == (2.0, 64, 2)
    assert chosen.step == pytest.approx(2.0 / (2 * 4.0) ** 2)
    assert algorithm("natasha15", epsilon=0.1, sigma=2.0).resolve(constants(300))[1] == "explicit"


@pytest.mark.parametrize("wrong", [{"sigma": 0}, {"sigma": "x"}, {"snapshot": "x"}])
def test_a_bad_value_beside_epsilon_is_refused_by_name(wrong):
    with pytest.raises(InputError, match=rf"^{next(iter(wrong))}="):
        algorithm("natasha15", epsilon=0.1, **wrong).resolve(constants(300))


@pytest.mark.parametrize("missing", ["L_max", "delta", "sigma2", "ell"])
def test_a_missing_constant_is_refused_by_name(missing):
    with pytest.raises(RefusedError, match=rf"natasha15 needs the constant {missing} \("):
        NATASHA.theory(0.1, constants(9, **{missing: inf}))


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


def test_agrees_with_prox_gradient_on_a_convex_problem():
    problem = model(domain="penalty", alpha=0.0)
    states, _ = run(
        problem, "natasha15", iterations=8800, snapshot=11, subepochs=2, sigma=0.1, step=0.4
    )
    expected, _ = run(problem, "prox-gd", iterations=3000, step=0.4)
    assert_allclose(states[-1].output, expected[-1].x, rtol=0, atol=1e-6)
