"""ASVRG, Katyusha^ns and RSAG against their references, and against referees."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from following import assert_follows_reference
from linear_reference import (
    DOMAINS,
    Plain,
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
from scipy.stats import chi2

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, RefusedError
from pfbench.runs.loop.solve import solve
from pfbench.sets import L1Penalty

# --- iterates and counts --------------------------------------------------------------------------

EPOCHS = [
    {"iterations": 17, "batch": 3, "period": 5, "step": 0.3},
    {"iterations": 12, "batch": 14, "period": 4, "step": 0.1},
    {"iterations": 3, "batch": 1, "period": 7, "step": 0.2},
]
PLAIN = [{"iterations": 17, "batch": 3, "step": 0.2}, {"iterations": 9, "batch": 14, "step": 0.4}]
CASES = [
    *((name, "asvrg", p) for name in ("asvrg", "prox-asvrg") for p in EPOCHS),
    *(
        (name, "asvrg", EPOCHS[0] | {"smoothness": L})
        for name in ("asvrg", "prox-asvrg")
        for L in (0.1, 9.0)
    ),
    *((name, "katyusha", p) for name in ("katyusha-ns", "prox-katyusha-ns") for p in EPOCHS),
    *(
        (name, "katyusha", EPOCHS[0] | {"option": 2})
        for name in ("katyusha-ns", "prox-katyusha-ns")
    ),
    *((name, "rsag", p) for name in ("rsag", "prox-rsag") for p in PLAIN),
    *((name, "rsag", PLAIN[0] | {"momentum": "convex"}) for name in ("rsag", "prox-rsag")),
    *((name, "rsag", PLAIN[0] | {"batch": 11}) for name in ("rsag", "prox-rsag")),
]
ALL = [
    pytest.param(*case, domain, id=f"{case[0]}-{k}-{domain}")
    for k, case in enumerate(CASES)
    for domain in DOMAINS
    if fits(case[0], domain)
]


@pytest.mark.parametrize(("name", "source", "parameters", "domain"), ALL)
def test_iterates_and_output_are_those_of_the_reference(name, source, parameters, domain):
    assert_follows_reference(model(domain=domain), name, **parameters)


@pytest.mark.parametrize(("name", "source", "parameters", "domain"), ALL)
def test_counts(name, source, parameters, domain):
    problem = model(domain=domain)
    _, counts = run(problem, name, **parameters)
    T, b = parameters["iterations"], parameters["batch"]
    if source == "rsag":
        expected = {"sfo": b * T}
    else:
        full = ceil(T, parameters["period"])
        expected = {"fo": full, "sfo": full * problem.n + 2 * b * T}
    maps = T if source == "asvrg" or parameters.get("option") == 2 else 2 * T
    po = {} if domain == "none" else {"po": maps}
    assert counts == dict.fromkeys(counts, 0) | expected | po


@pytest.mark.parametrize(
    ("name", "source", "parameters"), [case for case in CASES if fits(case[0], "set")]
)
def test_projections_onto_the_nuclear_ball_count_as_po(name, source, parameters):
    if parameters.get("batch") == 11 and source == "rsag":
        parameters = parameters | {"batch": 9}
    counts = counts_on_the_nuclear_ball(name, parameters)
    twice = source != "asvrg" and parameters.get("option") != 2
    assert (counts["po"], counts["lo"]) == ((1 + twice) * parameters["iterations"], 0)


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


@pytest.mark.parametrize("name", ["asvrg", "katyusha-ns", "rsag"])
@pytest.mark.parametrize("domain", ["set", "penalty"])
def test_smooth_forms_are_refused_where_there_is_a_set_or_a_penalty(name, domain):
    parameters = PLAIN[0] if name == "rsag" else EPOCHS[0]
    with pytest.raises(RefusedError, match=rf"^{name} .*it has a .*{domain}\.$"):
        solve(model(domain=domain), algorithm(name, **parameters))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("asvrg", {"smoothness": 0.0}),
        ("katyusha-ns", {"option": 3}),
        ("katyusha-ns", {"step": -1.0}),
        ("asvrg", {"period": 0}),
        ("rsag", {"momentum": "some"}),
        ("rsag", {"batch": 0}),
    ],
)
def test_bad_values_are_refused_by_name(name, wrong):
    parameters = PLAIN[0] if name == "rsag" else EPOCHS[0]
    with pytest.raises(InputError, match=rf"^(unknown value for )?{next(iter(wrong))}[= ]"):
        ALGORITHMS[name](**parameters | wrong)


# --- the theorem's schedule -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["asvrg", "prox-asvrg", "katyusha-ns", "prox-katyusha-ns"])
def test_without_a_theorem_there_is_no_schedule(name):
    c = Constants(n=9, L_f=1.0, L_ms=1.0, L_max=1.0, delta=1.0, sigma2=1.0)
    with pytest.raises(RefusedError, match="no theorem's schedule") as error:
        algorithm(name, epsilon=0.1).resolve(c)
    assert name in str(error.value)


@pytest.mark.parametrize("epsilon", [4.0, 0.3, 1e-3])
def test_theory_of_rsag(epsilon):
    """6 L h0/N <= epsilon, beta = 1/(2L), all components."""
    chosen = ALGORITHMS["rsag"].theory(epsilon, Constants(n=9, L_f=1.5, L_ms=2.5, delta=0.875))
    N = chosen.iterations
    assert epsilon >= 6 * 2.5 * 0.875 / N
    assert N == 1 or epsilon < 6 * 2.5 * 0.875 / (N - 1)
    assert (chosen.step, chosen.batch, chosen.momentum) == (1 / 5.0, 9, "nonconvex")


@pytest.mark.parametrize("epsilon", [900.0, 4.0, 0.3, 1e-3])
@pytest.mark.parametrize("ell", [0.0, 0.75])
def test_theory_of_prox_rsag(epsilon, ell):
    """qu2018, thm 1 II, with exact proximal maps: |theta0 - theta*| <= D, |theta*| <= M."""
    c = Constants(n=9, D=3.0, L_f=1.5, L_ms=2.5, M=2.0, ell=ell)

    def bound(N):
        return 192 * 2.5**2 * 9.0 / (N**2 * (N + 1)) + 48 * ell * 2.5 / N * 3 * 4.0

    chosen, label = algorithm("prox-rsag", epsilon=epsilon).resolve(c)
    N = chosen.iterations
    assert bound(N) <= epsilon
    assert N == 1 or bound(N - 1) > epsilon
    assert (chosen.step, chosen.batch, chosen.momentum, label) == (1 / 5.0, 9, "convex", "theory")
    with pytest.raises(RefusedError, match="the constant D"):
        algorithm("prox-rsag", epsilon=epsilon).resolve(replace(c, D=inf))


def test_the_schedule_of_prox_rsag_meets_its_bound_and_is_ncgs_with_exact_maps():
    problem = model("robust-regression", "set")
    epsilon = 5.0
    c = problem.constants(elsewhere(problem))
    chosen, _ = algorithm("prox-rsag", epsilon=epsilon).resolve(c)
    parameters = {key: getattr(chosen, key) for key in type(chosen).parameters()}
    states, _ = run(problem, "prox-rsag", **parameters)
    P, beta = Plain(problem), chosen.step
    assert min(P.mapping(s.at, beta) ** 2 for s in states) <= epsilon
    theta = ag = elsewhere(problem)
    for k, state in enumerate(states[:40], 1):
        md = (1 - 2 / (k + 1)) * ag + 2 / (k + 1) * theta
        theta = P.prox(theta - k * beta / 2 * P.full(md), k * beta / 2)
        ag = P.prox(md - beta * P.full(md), beta)
        assert_allclose(state.at, md, atol=1e-10)
        assert_allclose(state.x, ag, atol=1e-10)


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


# --- the weighted output --------------------------------------------------------------------------


def test_the_weighted_output_of_rsag_is_drawn_among_x_md_with_its_weights():
    """p_k = k (k + 1)/2 up to a factor; chi-square over 800 seeds, false alarm 1e-7."""
    problem, T, runs = model(n=3, d=2), 5, 800
    chosen = algorithm("rsag", iterations=T, batch=1, step=0.2, output="weighted")
    drawn = []
    for seed in range(runs):
        path = []
        measures = {"at": lambda problem, state, path=path: path.append(state.at) or 0.0}
        result = solve(problem, chosen, seed=seed, measures=measures)
        same = [np.array_equal(result.x, at) for at in path[1 : T + 1]]
        # x_md of k = 1 is the start, and equals no later one.
        assert sum(same) == 1
        drawn.append(same.index(True))
    k = np.arange(1, T + 1)
    expected = runs * (k * (k + 1)) / (k * (k + 1)).sum()
    found = np.bincount(drawn, minlength=T)
    assert ((found - expected) ** 2 / expected).sum() < chi2.isf(1e-7, T - 1)
    # The uniform draw would have been noticed.
    assert ((runs / T - expected) ** 2 / expected).sum() > 10 * chi2.isf(1e-7, T - 1)


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


@pytest.mark.parametrize("smooth", LONG)
def test_agrees_with_scipy_on_a_smooth_problem(smooth):
    problem = model("log-cosh", seed=2, n=11)
    P, expected = Plain(problem), by_scipy(problem)
    states, _ = run(problem, smooth, **LONG[smooth])
    last = states[-1].x if states[-1].output is None else states[-1].output
    assert P.value(last) - P.value(expected) <= 1e-8
    assert_allclose(last, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("smooth", LONG)
def test_agrees_with_scikit_learn(smooth):
    problem, expected = sparse_logistic(30)
    parameters = LONG[smooth] | ({"batch": 30} if smooth == "rsag" else {})
    states, _ = run(problem, f"prox-{smooth}", x=np.zeros(6), **parameters)
    last = states[-1].x if states[-1].output is None else states[-1].output
    P = Plain(problem)
    assert abs(P.value(last) + P.h(last) - P.value(expected) - P.h(expected)) <= 1e-6
    assert_allclose(last, expected, rtol=0, atol=1e-3)
