"""Proximal steps (gradient, SG, SVRG, SAGA, SPIDER) against their references and each other."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import ceil as up
from math import floor, inf, sqrt

import numpy as np
import pytest
from following import assert_follows_reference
from helpers import assert_one_sentence
from linear_reference import (
    DOMAINS,
    Everyone,
    Plain,
    assert_same,
    by_scipy,
    ceil,
    counts_on_the_nuclear_ball,
    elsewhere,
    fits,
    model,
    run,
    same_bits,
    sparse_logistic,
)
from numpy.testing import assert_allclose

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, RefusedError
from pfbench.runs.loop.solve import solve
from pfbench.sets import L1Penalty

# --- iterates and counts --------------------------------------------------------------------------

GD = {"iterations": 9, "step": 0.7}
SGD = {"iterations": 13, "step": 0.3, "batch": 5}
EPOCHS = [
    {"iterations": 17, "step": 0.4, "batch": 3, "period": 5},
    {"iterations": 13, "step": 0.2, "batch": 14, "period": 4},
]
ONLINE = [p | {"snapshot": 7} for p in EPOCHS]
TABLE = [{"iterations": 17, "step": 0.4, "batch": 3}, {"iterations": 11, "step": 0.2, "batch": 14}]

CASES = [
    ("prox-gd", "gradient_descent", [GD]),
    ("projected-gradient", "gradient_descent", [GD]),
    ("prox-sgd", "stochastic_gradient", [SGD]),
    ("svrg", "svrg", EPOCHS),
    ("prox-svrg", "svrg", EPOCHS),
    ("projected-svrg", "svrg", EPOCHS),
    ("prox-svrg-plus", "svrg", EPOCHS + ONLINE),
    ("saga", "saga", TABLE),
    ("prox-saga", "saga", TABLE),
    ("spiderboost", "spiderboost", EPOCHS + ONLINE),
    ("prox-spiderboost", "spiderboost", EPOCHS + ONLINE),
]


ALL = [
    pytest.param(name, source, domain, parameters, id=f"{name}-{domain}-{k}")
    for name, source, choices in CASES
    for domain in DOMAINS
    if fits(name, domain)
    for k, parameters in enumerate(choices)
]


@pytest.mark.parametrize(("name", "source", "domain", "parameters"), ALL)
def test_iterates_are_those_of_the_reference(name, source, domain, parameters):
    assert_follows_reference(model(domain=domain), name, **parameters)


@pytest.mark.parametrize(("name", "source", "domain", "parameters"), ALL)
def test_counts(name, source, domain, parameters):
    problem = model(domain=domain)
    _, counts = run(problem, name, **parameters)
    n, T = problem.n, parameters["iterations"]
    b, m, B = (parameters.get(key) for key in ("batch", "period", "snapshot"))
    epochs = ceil(T, m) if m else 0
    full = 0 if B else {"gradient_descent": T}.get(source, epochs)
    samples = {
        "gradient_descent": 0,
        "stochastic_gradient": (b or 0) * T,
        "svrg": 2 * (b or 0) * T,
        "saga": n + 2 * (b or 0) * T,
        "spiderboost": 2 * (b or 0) * (T - epochs),
    }[source]
    expected = {"fo": full, "sfo": full * n + samples + (B or 0) * epochs}
    po = {} if domain == "none" else {"po": T}
    assert counts == dict.fromkeys(counts, 0) | expected | po


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        (name, parameters)
        for name, _, choices in CASES
        for parameters in choices
        if fits(name, "set")
    ],
)
def test_projections_onto_the_nuclear_ball_count_as_po(name, parameters):
    counts = counts_on_the_nuclear_ball(name, parameters)
    assert (counts["po"], counts["lo"]) == (parameters["iterations"], 0)


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


# --- where a method does not fit ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["svrg", "saga", "spiderboost"])
@pytest.mark.parametrize("domain", ["set", "penalty"])
def test_smooth_forms_are_refused_where_there_is_a_set_or_a_penalty(name, domain):
    parameters = TABLE[0] if name == "saga" else EPOCHS[0]
    with pytest.raises(RefusedError, match=rf"^{name} .*it has a .*{domain}\.$"):
        solve(model(domain=domain), algorithm(name, **parameters))


@pytest.mark.parametrize("name", ["projected-gradient", "projected-svrg"])
@pytest.mark.parametrize("domain", ["none", "penalty"])
def test_projected_forms_are_refused_without_a_set(name, domain):
    parameters = GD if name == "projected-gradient" else EPOCHS[0]
    with pytest.raises(RefusedError, match=rf"^{name} .*no feasible set\.$"):
        solve(model(domain=domain), algorithm(name, **parameters))


# --- the theorems' schedules ----------------------------------------------------------------------

L_F, L_MS, L_MAX, DELTA, SIGMA2 = (Fraction(k, 8) for k in (12, 20, 44, 7, 10))


def constants(n):
    numbers = {"L_f": L_F, "L_ms": L_MS, "L_max": L_MAX, "delta": DELTA, "sigma2": SIGMA2}
    return Constants(n=n, D=4.0, **{name: float(number) for name, number in numbers.items()})


def root(number, k):
    """The largest integer r with r^k <= number."""
    r = round(float(number) ** (1 / k)) + 1
    while r**k > number:
        r -= 1
    return r


def root_up(number, k):
    r = root(number, k)
    return r if r**k == number else r + 1


def schedule(name, n, eps):
    """What the papers print, in exact arithmetic."""
    two_thirds, third = root_up(n * n, 3), max(1, root(n, 3))
    if name in ("prox-gd", "projected-gradient"):  # sqrt(2 L h0/(t+1)) <= eps
        return {"iterations": max(1, up(2 * L_F * DELTA / eps**2) - 1), "step": 1 / L_F}
    if name == "prox-sgd":
        T, b = up(16 * L_MS * DELTA / eps), up(12 * SIGMA2 / eps)
        return {"iterations": T, "batch": b, "step": 1 / (2 * L_MS)}
    if name in ("svrg", "prox-svrg", "projected-svrg"):
        sizes = {"batch": two_thirds, "period": third}
        return sizes | {"iterations": up(18 * L_MS * DELTA / eps), "step": 1 / (3 * L_MS)}
    if name == "prox-svrg-plus":
        b = root_up(min(Fraction(n), 1 / eps) ** 2, 3)
        sizes = {"batch": b, "period": max(1, root(b, 2))}
        return sizes | {"iterations": up(36 * L_MS * DELTA / eps), "step": 1 / (6 * L_MS)}
    if name == "prox-saga":
        sizes = {"batch": two_thirds, "step": 1 / (5 * L_MAX)}
        return sizes | {"iterations": up(50 * L_MAX * DELTA / (3 * eps))}
    if name == "saga":
        # 3 L N h0/eps over 1 - 1/(12 N), N = n^(2/3)
        N = Decimal(n * n) ** (Decimal(1) / 3)
        exact = Decimal(36 * float(L_MAX * DELTA / eps)) * N * N / (12 * N - 1)
        return {
            "iterations": math.ceil(exact * (1 - Decimal("1e-12"))),
            "batch": 1,
            "step": 1 / (3 * float(L_MAX) * n ** (2 / 3)),
        }
    c = {"spiderboost": 4, "prox-spiderboost": 20}[name]
    sizes = {"batch": root_up(n, 2), "period": root(n, 2)}
    return sizes | {"iterations": up(c * L_MS * DELTA / eps**2), "step": 1 / (2 * L_MS)}


@pytest.mark.parametrize("name", [case[0] for case in CASES])
@pytest.mark.parametrize("n", [1, 7, 27, 64, 1000, 9999])
def test_theory_schedule(name, n):
    for eps in (Fraction(1), Fraction(1, 8), Fraction(1, 50), Fraction(1, 3000)):
        chosen = ALGORITHMS[name].theory(float(eps), constants(n))
        expected = schedule(name, n, eps)
        for key, number in expected.items():
            assert getattr(chosen, key) == pytest.approx(float(number), rel=2e-12), key
        assert chosen.output == ("last" if chosen.deterministic else "uniform")


@pytest.mark.parametrize("name", ["prox-svrg-plus", "prox-spiderboost"])
def test_a_sampled_reference_is_not_the_theorems_schedule(name):
    c = constants(100)
    assert algorithm(name, epsilon=0.1).resolve(c)[1] == "theory"
    assert algorithm(name, epsilon=0.1, snapshot=9).resolve(c)[1] == "explicit"


@pytest.mark.parametrize("n", [1, 7, 60, 61, 1000, 9999])
def test_the_online_schedule_of_prox_svrg_plus(n):
    """Li and Li 2018: B = min(n, 6 sigma^2/epsilon), n being the full gradient; else the same."""
    for eps in (Fraction(20), Fraction(1), Fraction(1, 8), Fraction(1, 50), Fraction(1, 3000)):
        choice = algorithm("prox-svrg-plus", epsilon=float(eps), online=True)
        chosen, label = choice.resolve(constants(n))
        B = up(6 * SIGMA2 / eps)
        assert (label, chosen.snapshot) == ("theory", B if n > B else None)
        for key, number in schedule("prox-svrg-plus", n, eps).items():
            assert getattr(chosen, key) == pytest.approx(float(number), rel=2e-12), key
        # What the derivation of the schedule needs: 18 L h0/T + 3 sigma^2/(2B) <= epsilon.
        noise = 0 if chosen.snapshot is None else 3 * SIGMA2 / (2 * chosen.snapshot)
        assert 18 * L_MS * DELTA / chosen.iterations + noise <= eps


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


def test_the_online_form_without_a_variance_is_refused():
    c = replace(constants(100), sigma2=inf)
    with pytest.raises(RefusedError, match="sigma2"):
        algorithm("prox-svrg-plus", epsilon=0.1, online=True).resolve(c)
    assert algorithm("prox-svrg-plus", epsilon=0.1).resolve(c)[1] == "theory"


@pytest.mark.parametrize("batch", ["many", 0, 2.5, None])
def test_a_bad_batch_beside_epsilon_is_refused_by_name(batch):
    with pytest.raises(InputError, match=r"^batch="):
        algorithm("prox-svrg-plus", epsilon=0.1, batch=batch).resolve(constants(100))


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


# --- independent referees -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solved():
    return sparse_logistic(40)


@pytest.mark.parametrize(
    "name", ["prox-gd", "prox-svrg", "prox-svrg-plus", "prox-saga", "prox-spiderboost"]
)
def test_agrees_with_scikit_learn(solved, name):
    problem, expected = solved
    states, _ = run(problem, name, x=np.zeros(6), **LONG[name])
    assert_allclose(states[-1].x, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["prox-gd", "svrg", "saga", "spiderboost"])
def test_agrees_with_scipy_on_a_smooth_problem(name):
    problem = model("log-cosh", seed=2, n=17)
    states, _ = run(problem, name, **LONG[name])
    assert_allclose(states[-1].x, by_scipy(problem), rtol=0, atol=1e-6)


def test_the_sizes_of_a_root_are_exact():
    """The helper of the schedules above, at perfect powers and beside them."""
    for r in (1, 2, 10, 99):
        assert (root(r**2, 2), root(r**2 - 1, 2) if r > 1 else 0) == (r, r - 1)
        assert (root_up(r**3, 3), root_up(r**3 + 1, 3)) == (r, r + 1)
        assert root(r**2, 2) == floor(sqrt(r**2))
