"""ASVRG, Katyusha^ns and RSAG against their references, and against referees."""

from math import inf

import pytest
from linear_reference import DOMAINS, Plain, elsewhere, model, run, same_bits

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.constants import Constants
from pfbench.base.errors import RefusedError
from pfbench.sets import L1Penalty

# --- iterates and counts --------------------------------------------------------------------------

EPOCHS = [
    {"iterations": 17, "batch": 3, "period": 5, "step": 0.3},
    {"iterations": 12, "batch": 14, "period": 4, "step": 0.1},
    {"iterations": 3, "batch": 1, "period": 7, "step": 0.2},
]
PLAIN = [{"iterations": 17, "batch": 3, "step": 0.2}, {"iterations": 9, "batch": 14, "step": 0.4}]


# --- structure ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("smooth", "parameters"), [("asvrg", EPOCHS[0]), ("katyusha-ns", EPOCHS[0]), ("rsag", PLAIN[0])]
)
def test_with_h_zero_the_prox_form_is_the_smooth_one_bit_for_bit(smooth, parameters):
    free, weightless = model(), model(penalty=L1Penalty(0.0))
    expected, _ = run(free, smooth, **parameters)
    same_bits(expected, run(free, f"prox-{smooth}", **parameters)[0])
    same_bits(expected, run(weightless, f"prox-{smooth}", **parameters)[0])


def test_asvrg_takes_its_smoothness_from_the_problem():
    problem = model()
    c = problem.constants(problem.start())
    assert algorithm("asvrg", **EPOCHS[0]).resolve(c)[0].smoothness == c.L_max
    assert algorithm("asvrg", **EPOCHS[0], smoothness=3.0).resolve(c)[0].smoothness == 3.0
    nothing = Constants(n=11)
    assert algorithm("asvrg", **EPOCHS[0]).resolve(nothing)[0].smoothness is None


@pytest.mark.parametrize("b", [1, 2, 10, 11, 30])
def test_the_first_weight_of_asvrg_is_between_one_half_and_one(b):
    for step, L in ((0.1, 1.0), (10.0, 1.0), (1.0, inf), (1e-9, 1.0)):
        parameters = EPOCHS[0] | {"batch": b, "step": step}
        smoothness = None if inf == L else L
        weight = ALGORITHMS["asvrg"](**parameters, smoothness=smoothness).first_weight(11)
        assert 0.5 <= weight <= 1.0
        assert weight == 1.0 or b < 11


@pytest.mark.parametrize("name", ["prox-asvrg", "prox-katyusha-ns", "prox-rsag"])
@pytest.mark.parametrize("option", [1, 2])
def test_every_point_is_in_the_set(name, option):
    parameters = dict(EPOCHS[0], iterations=60) if name != "prox-rsag" else dict(PLAIN[0])
    if name == "prox-katyusha-ns":
        parameters["option"] = option
    problem = model(domain="set")
    states, _ = run(problem, name, **parameters)
    for state in states:
        points = [state.at, state.x] + ([] if state.output is None else [state.output])
        assert all(problem.set.contains(point) for point in points)


# --- the theorem's schedule -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["asvrg", "prox-asvrg", "katyusha-ns", "prox-katyusha-ns"])
def test_without_a_theorem_there_is_no_schedule(name):
    c = Constants(n=9, L_f=1.0, L_ms=1.0, L_max=1.0, delta=1.0, sigma2=1.0)
    with pytest.raises(RefusedError, match="no theorem's schedule") as error:
        algorithm(name, epsilon=0.1).resolve(c)
    assert name in str(error.value)


def test_the_convex_weights_of_rsag_are_not_its_theorems_schedule():
    c = Constants(n=9, L_f=1.5, L_ms=2.5, delta=0.875)
    assert algorithm("rsag", epsilon=0.1).resolve(c)[1] == "theory"
    assert algorithm("rsag", epsilon=0.1, momentum="convex").resolve(c)[1] == "explicit"


def test_the_schedule_of_rsag_meets_its_bound_and_draws_nothing():
    problem = model()
    epsilon = 0.02
    chosen, label = algorithm("rsag", epsilon=epsilon).resolve(
        problem.constants(elsewhere(problem))
    )
    assert label == "theory"
    parameters = {key: getattr(chosen, key) for key in type(chosen).parameters()}
    states, _ = run(problem, "rsag", **parameters)
    P = Plain(problem)
    assert min(P.full(s.at) @ P.full(s.at) for s in states) <= epsilon
    same_bits(states, run(problem, "rsag", seed=9, **parameters)[0])


# --- convergence on convex problems ---------------------------------------------------------------

LONG = {
    "asvrg": {"iterations": 4000, "batch": 5, "period": 10, "step": 0.2},
    "katyusha-ns": {"iterations": 4000, "batch": 5, "period": 10, "step": 0.1},
    "rsag": {"iterations": 3000, "batch": 11, "step": 0.2, "momentum": "convex"},
}


@pytest.mark.parametrize("smooth", LONG)
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("loss", ["log-cosh", "quadratic"])
def test_the_gradient_mapping_falls_to_zero(smooth, domain, loss):
    problem = model(loss, domain)
    states, _ = run(problem, f"prox-{smooth}", **LONG[smooth])
    P, last = Plain(problem), states[-1]
    assert P.mapping(elsewhere(problem)) > 0.05
    # Sublinear: the average of an epoch forgets slowly.
    assert P.mapping(last.x if last.output is None else last.output) < 5e-4


def test_rsag_with_its_non_convex_weights_converges_on_a_non_convex_problem():
    problem = model()
    states, _ = run(problem, "rsag", iterations=3000, batch=11, step=0.3)
    assert Plain(problem).mapping(states[-1].x) < 1e-8
