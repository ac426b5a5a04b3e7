"""Proximal steps (gradient, SG, SVRG, SAGA, SPIDER) against their references and each other."""

from fractions import Fraction

import numpy as np
import pytest
from helpers import assert_one_sentence
from linear_reference import (
    DOMAINS,
    Everyone,
    Plain,
    assert_same,
    elsewhere,
    fits,
    model,
    run,
    same_bits,
)
from numpy.testing import assert_allclose

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.sets import L1Penalty

# --- iterates and counts --------------------------------------------------------------------------

GD = {"iterations": 9, "step": 0.7}
EPOCHS = [
    {"iterations": 17, "step": 0.4, "batch": 3, "period": 5},
    {"iterations": 13, "step": 0.2, "batch": 14, "period": 4},
]
TABLE = [{"iterations": 17, "step": 0.4, "batch": 3}, {"iterations": 11, "step": 0.2, "batch": 14}]


# --- structure ------------------------------------------------------------------------------------

PAIRS = [("svrg", "prox-svrg"), ("saga", "prox-saga"), ("spiderboost", "prox-spiderboost")]


@pytest.mark.parametrize(("smooth", "prox"), PAIRS)
def test_with_h_zero_the_prox_form_is_the_smooth_one_bit_for_bit(smooth, prox):
    free, weightless = model(), model(penalty=L1Penalty(0.0))
    parameters = TABLE[0] if smooth == "saga" else EPOCHS[0]
    expected, counts = run(free, smooth, **parameters)
    same_bits(expected, run(free, prox, **parameters)[0])
    same, paid = run(weightless, prox, **parameters)
    same_bits(expected, same)
    assert paid == counts | {"po": parameters["iterations"]}


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("name", ["prox-spiderboost", "prox-sgd", "prox-svrg", "prox-saga"])
def test_a_batch_of_every_component_gives_gradient_descent(name, domain):
    """SpiderBoost with S = n, each component once; so the other estimates."""
    problem = model(domain=domain)
    parameters = {"batch": problem.n, **GD}
    if "period" in ALGORITHMS[name].parameters():
        parameters["period"] = 4
    states, _ = run(problem, name, rng=Everyone(), **parameters)
    expected, _ = run(problem, "prox-gd", **GD)
    assert_same(states, [(s.at, s.x) for s in expected])


@pytest.mark.parametrize("domain", DOMAINS)
def test_spiderboost_with_period_1_is_gradient_descent_bit_for_bit(domain):
    problem = model(domain=domain)
    states, counts = run(problem, "prox-spiderboost", period=1, batch=3, **GD)
    expected, same = run(problem, "prox-gd", **GD)
    same_bits(states, expected)
    assert counts == same


def test_the_first_step_of_every_epoch_of_svrg_is_a_gradient_step():
    problem = model(domain="penalty")
    states, _ = run(problem, "prox-svrg", **EPOCHS[0])
    for state in states[:: EPOCHS[0]["period"]]:
        assert_allclose(state.estimate, problem.gradient(state.at), rtol=0, atol=1e-15)


# --- the theorems' schedules ----------------------------------------------------------------------

L_F, L_MS, L_MAX, DELTA, SIGMA2 = (Fraction(k, 8) for k in (12, 20, 44, 7, 10))


def constants(n):
    numbers = {"L_f": L_F, "L_ms": L_MS, "L_max": L_MAX, "delta": DELTA, "sigma2": SIGMA2}
    return Constants(n=n, D=4.0, **{name: float(number) for name, number in numbers.items()})


@pytest.mark.parametrize("name", ["prox-svrg-plus", "prox-spiderboost"])
def test_a_sampled_reference_is_not_the_theorems_schedule(name):
    c = constants(100)
    assert algorithm(name, epsilon=0.1).resolve(c)[1] == "theory"
    assert algorithm(name, epsilon=0.1, snapshot=9).resolve(c)[1] == "explicit"


def test_one_step_of_prox_svrg_plus_descends_as_its_schedule_derives():
    """F(x+) <= F(x) + |e|^2/(12L) - |G|^2/(18L) - 5L/2 |x+ - x|^2 for any error e."""
    for domain in ("none", "penalty", "set"):
        problem = model("robust-regression", domain)
        P, rng = Plain(problem), np.random.default_rng(1)
        L = problem.constants(np.zeros(4)).L_f
        for _ in range(200):
            x = P.prox(rng.standard_normal(4) * rng.choice([0.01, 1.0]), 1.0)
            e = rng.standard_normal(4) * rng.choice([0.0, 0.01, 1.0])
            after = P.prox(x - (P.full(x) + e) / (6 * L), 1 / (6 * L))
            promised = e @ e / (12 * L) - P.mapping(x, 1 / (6 * L)) ** 2 / (18 * L)
            promised -= 2.5 * L * (after - x) @ (after - x)
            fall = P.value(after) + P.h(after) - P.value(x) - P.h(x)
            assert fall <= promised + 1e-13


@pytest.mark.parametrize("domain", ["none", "penalty", "set"])
def test_the_online_schedule_meets_its_bound_and_counts_its_batches(domain):
    """E|G|^2 over the run, three seeds: at most epsilon; every reference costs B, none n."""
    problem, epsilon = model("robust-regression", domain, n=400, spread=0.3), 0.02
    choice = algorithm("prox-svrg-plus", epsilon=epsilon, online=True)
    chosen, _ = choice.resolve(problem.constants(elsewhere(problem)))
    assert chosen.snapshot < 400
    parameters = {key: getattr(chosen, key) for key in type(chosen).parameters()}
    squares = []
    for seed in range(3):
        states, counts = run(problem, "prox-svrg-plus", seed=seed, **parameters)
        T, m, b = chosen.iterations, chosen.period, chosen.batch
        assert counts["fo"] == 0
        assert counts["sfo"] == -(-T // m) * chosen.snapshot + 2 * b * T
        squares += [Plain(problem).mapping(s.at, chosen.step) ** 2 for s in states]
    assert np.mean(squares) <= epsilon


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"iterations": 9, "step": 0.1, "batch": 3, "period": 2, "online": True}, "snapshot"),
        ({"epsilon": 0.1, "online": "yes"}, "online='yes'"),
        ({"epsilon": 0.1, "online": 1}, "online=1"),
    ],
)
def test_a_wrong_online_is_refused_by_name(given, words):
    with pytest.raises(InputError) as error:
        algorithm("prox-svrg-plus", **given).resolve(constants(100))
    assert_one_sentence(error, "prox-svrg-plus", words)


# --- convergence ----------------------------------------------------------------------------------

LONG = {
    "prox-gd": {"iterations": 1500, "step": 0.4},
    "projected-gradient": {"iterations": 1500, "step": 0.4},
    "svrg": {"iterations": 3000, "step": 0.2, "batch": 5, "period": 3},
    "prox-svrg": {"iterations": 3000, "step": 0.2, "batch": 5, "period": 3},
    "projected-svrg": {"iterations": 3000, "step": 0.2, "batch": 5, "period": 3},
    "prox-svrg-plus": {"iterations": 3000, "step": 0.1, "batch": 5, "period": 2},
    "saga": {"iterations": 3000, "step": 0.1, "batch": 5},
    "prox-saga": {"iterations": 3000, "step": 0.1, "batch": 5},
    "spiderboost": {"iterations": 3000, "step": 0.2, "batch": 4, "period": 3},
    "prox-spiderboost": {"iterations": 3000, "step": 0.2, "batch": 4, "period": 3},
}


@pytest.mark.parametrize(
    ("name", "domain"),
    [(name, domain) for name in LONG for domain in DOMAINS if fits(name, domain)],
)
def test_the_gradient_mapping_falls_to_zero(name, domain):
    """On a non-convex problem, by the mapping of the second implementation."""
    problem = model(domain=domain)
    states, _ = run(problem, name, **LONG[name])
    plain = Plain(problem)
    assert plain.mapping(elsewhere(problem)) > 0.05
    assert plain.mapping(states[-1].x) < 1e-9


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("prox-sgd", {"batch": 2}),
        ("prox-svrg-plus", {"batch": 5, "period": 3, "snapshot": 2}),
        ("prox-spiderboost", {"batch": 5, "period": 3, "snapshot": 2}),
    ],
)
def test_with_a_fixed_sampled_reference_the_mapping_stalls_at_the_noise(name, extra):
    problem = model(domain="penalty")
    plain = Plain(problem)
    states, _ = run(problem, name, iterations=1500, step=0.05, **extra)
    levels = [plain.mapping(state.at) ** 2 for state in states[500:]]
    assert 1e-5 < np.mean(levels) < plain.mapping(elsewhere(problem)) ** 2


@pytest.mark.parametrize("name", ["prox-gd", "prox-sgd", "prox-svrg", "prox-spiderboost"])
def test_the_theorems_schedule_meets_its_bound(name):
    """The mean of |G_eta(x_t)|^2 over t (and three seeds) is at most epsilon, or its square."""
    problem = model(domain="penalty")
    plain = Plain(problem)
    epsilon = 0.25
    chosen, label = algorithm(name, epsilon=epsilon).resolve(problem.constants(elsewhere(problem)))
    assert label == "theory"
    parameters = {key: getattr(chosen, key) for key in type(chosen).parameters()}
    means = []
    for seed in range(3):
        states, _ = run(problem, name, seed=seed, **parameters)
        means.append(np.mean([plain.mapping(s.at, chosen.step) ** 2 for s in states]))
    squared = name in ("prox-gd", "prox-spiderboost")
    assert np.mean(means) <= (epsilon**2 if squared else epsilon)
