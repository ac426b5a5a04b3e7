"""SARAH, SPIDER and Prox-SpiderBoost-M against their references and each other."""

from math import floor, inf, isqrt, sqrt

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
)
from numpy.testing import assert_allclose
from scipy.stats import chi2

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, RefusedError
from pfbench.runs.loop.solve import solve

# --- iterates and counts --------------------------------------------------------------------------

SIZES = [(17, 3, 5), (13, 14, 4), (3, 2, 7), (6, 1, 1)]
"""(T, S, p): also S > n, T < p and p = 1."""
EACH = pytest.mark.parametrize(("T", "S", "p"), SIZES)


def given(T, S, p, **other):
    return {"iterations": T, "batch": S, "period": p, **other}


@EACH
@pytest.mark.parametrize("output", ["last", "uniform"])
def test_sarah_is_its_reference(T, S, p, output):
    assert_follows_reference(model(), "sarah", **given(T, S, p, step=0.4, output=output))


@EACH
@pytest.mark.parametrize(
    "extra",
    [{}, {"lam": 0.3}, {"lam": 5.0}, {"option": 1}, {"option": 1, "tolerance": 0.02}],
    ids=str,
)
def test_spider_is_its_reference(T, S, p, extra):
    assert_follows_reference(model(), "spider", **given(T, S, p, step=0.05, **extra))


@EACH
@pytest.mark.parametrize("domain", DOMAINS)
def test_spiderboost_m_is_its_reference(T, S, p, domain):
    parameters = given(T, S, p, step=0.15)
    assert_follows_reference(model(domain=domain), "prox-spiderboost-m", **parameters)


@EACH
@pytest.mark.parametrize(
    ("name", "domain"),
    [
        (name, domain)
        for name in ("sarah", "spider", "prox-spiderboost-m")
        for domain in DOMAINS
        if fits(name, domain)
    ],
)
def test_counts(T, S, p, name, domain):
    problem = model(domain=domain)
    _, counts = run(problem, name, **given(T, S, p, step=0.05))
    full = ceil(T, p)
    expected = {"fo": full, "sfo": full * problem.n + 2 * S * (T - full)}
    po = {} if domain == "none" else {"po": T}
    assert counts == dict.fromkeys(counts, 0) | expected | po


@EACH
def test_projections_onto_the_nuclear_ball_count_as_po(T, S, p):
    counts = counts_on_the_nuclear_ball("prox-spiderboost-m", given(T, S, p, step=0.15))
    assert (counts["po"], counts["lo"]) == (T, 0)


# --- structure ------------------------------------------------------------------------------------


def test_sarah_that_goes_on_is_spiderboost_but_for_one_draw_an_epoch():
    class NoDraw:
        """A stream whose single draws (of t) take nothing from it."""

        def __init__(self):
            self.rng = np.random.default_rng(0)

        def integers(self, n, size=None):
            return 0 if size is None else self.rng.integers(n, size=size)

    problem = model()
    parameters = given(17, 3, 5, step=0.3)
    sarah_states, _ = run(problem, "sarah", rng=NoDraw(), output="last", **parameters)
    same_bits(sarah_states, run(problem, "spiderboost", **parameters)[0])


@pytest.mark.parametrize("seed", range(3))
def test_spider_with_a_step_that_never_binds_is_spiderboost(seed):
    problem, parameters = model(), given(17, 3, 5)
    states, _ = run(problem, "spider", seed=seed, step=1e9, lam=0.25, **parameters)
    same_bits(states, run(problem, "spiderboost", seed=seed, step=0.25, **parameters)[0])


def test_every_step_of_spider_is_at_most_the_given_length():
    problem = model()
    states, _ = run(problem, "spider", **given(60, 3, 5, step=0.05, lam=0.5))
    lengths = np.array([np.linalg.norm(s.x - s.at) for s in states])
    assert lengths.max() <= 0.05 * (1 + 1e-12)
    assert lengths.min() < 0.04
    states, _ = run(problem, "spider", **given(60, 3, 5, step=0.05, option=1))
    assert_allclose([np.linalg.norm(s.x - s.at) for s in states], 0.05, rtol=1e-12)


def test_spider_of_option_1_returns_the_point_where_it_stopped():
    problem = model()
    chosen = algorithm("spider", **given(500, 11, 1, step=0.01, option=1, tolerance=0.05))
    for seed in range(3):
        result = solve(problem, chosen, seed=seed)
        assert result.status == "finished"
        assert result.iterations < 500
        assert np.linalg.norm(Plain(problem).full(result.x)) <= 0.1


def test_spider_at_a_stationary_point_stays_there():
    problem = model(alpha=0.0, n=3)
    problem = type(problem)(np.zeros((3, 4)), problem.labels, problem.set, 0.0)
    states, _ = run(problem, "spider", **given(4, 2, 2, step=0.1))
    assert all(np.array_equal(s.x, elsewhere(problem)) for s in states)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_first_epoch_of_the_momentum_form_is_prox_spiderboost_with_twice_beta(domain):
    """z = x there, and lambda = 2 beta: only y differs."""
    problem, q = model(domain=domain), 9
    momentum, _ = run(problem, "prox-spiderboost-m", **given(q, 3, q, step=0.1))
    plain, _ = run(problem, "prox-spiderboost", **given(q, 3, q, step=0.2))
    for a, b in zip(momentum, plain, strict=True):
        assert_allclose(a.at, b.at, rtol=0, atol=1e-13)
        assert_allclose(a.estimate, b.estimate, rtol=0, atol=1e-13)
        assert_allclose(a.x, b.at + 0.5 * (b.x - b.at), rtol=0, atol=1e-13)


@pytest.mark.parametrize("domain", DOMAINS)
def test_without_momentum_the_source_is_prox_spiderboost(domain):
    """wang2019: lambda_k = beta makes x = y = z; so for the second implementation."""
    problem = model(domain=domain)
    P, rng = Plain(problem), np.random.default_rng(0)
    x = y = elsewhere(problem)
    plain, _ = run(problem, "prox-spiderboost", **given(15, 3, 4, step=0.2))
    z_before = v = None
    for k, state in enumerate(plain):
        alpha = 2 / (k // 4 + 2)
        z = (1 - alpha) * y + alpha * x
        v = P.full(z) if k % 4 == 0 else P.change(rng.integers(P.n, size=3), z, z_before) + v
        x_new = P.prox(x - 0.2 * v, 0.2)
        y, x, z_before = z + (x_new - x), x_new, z
        assert_allclose(state.at, z, rtol=0, atol=1e-12)
        assert_allclose(state.x, y, rtol=0, atol=1e-12)


def test_the_output_of_sarah_is_uniform_in_the_outer_loop():
    """Chi-square over 1000 runs of one outer loop of five steps; false alarm 1e-7."""
    problem, p, runs = model(n=5), 5, 1000
    drawn = []
    for seed in range(runs):
        states, _ = run(problem, "sarah", seed=seed, **given(p, 1, p, step=0.1))
        ends = [np.array_equal(states[-1].output, s.at) for s in states]
        assert sum(ends) == 1
        drawn.append(ends.index(True))
    found = np.bincount(drawn, minlength=p)
    assert ((found - runs / p) ** 2 / (runs / p)).sum() < chi2.isf(1e-7, p - 1)


def test_the_run_ends_at_the_output_of_sarah():
    problem = model()
    parameters = given(15, 3, 5, step=0.4)
    result = solve(problem, algorithm("sarah", **parameters), seed=3)
    at = solve(problem, algorithm("sarah", **parameters | {"output": "last"}), seed=3)
    assert result.status == at.status == "finished"
    assert not np.array_equal(result.x, at.x)
    mapped = np.linalg.norm(Plain(problem).full(result.x)) ** 2
    assert result.final["gradient_mapping_sq"] == pytest.approx(mapped, rel=1e-9)


@pytest.mark.parametrize("name", ["sarah", "spider"])
@pytest.mark.parametrize("domain", ["set", "penalty"])
def test_smooth_methods_are_refused_where_there_is_a_set_or_a_penalty(name, domain):
    with pytest.raises(RefusedError, match=rf"^{name} .*it has a .*{domain}\.$"):
        solve(model(domain=domain), algorithm(name, **given(5, 2, 3, step=0.1)))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("sarah", {"step": 0}),
        ("spider", {"option": 3}),
        ("spider", {"lam": 0.0}),
        ("spider", {"tolerance": -1}),
        ("prox-spiderboost-m", {"step": inf}),
        ("prox-spiderboost-m", {"period": 0}),
    ],
)
def test_bad_values_are_refused_by_name(name, wrong):
    with pytest.raises(InputError, match=rf"^{next(iter(wrong))}="):
        ALGORITHMS[name](**given(5, 2, 3, step=0.1) | wrong)


# --- the theorems' schedules ----------------------------------------------------------------------

L, DELTA = 2.5, 0.875


def constants(n, **other):
    return Constants(n=n, **{"L_f": 1.5, "L_ms": L, "L_max": 5.5, "delta": DELTA} | other)


@pytest.mark.parametrize("n", [1, 10, 100, 9999])
@pytest.mark.parametrize("epsilon", [2.0, 0.5, 0.03, 1e-3])
def test_theory_of_sarah_is_the_shortest_loop_that_meets_its_bound(n, epsilon):
    """m = p - 1: eta = 2/(L (1 + sqrt(1 + 4m/b))), 2 h0/(eta (m + 1)) <= epsilon."""
    chosen = ALGORITHMS["sarah"].theory(epsilon, constants(n))
    b = chosen.batch
    assert (b - 1) ** 2 < n <= b**2

    def eta(m):
        return 2 / (L * (1 + sqrt(1 + 4 * m / b)))

    def bound(m):
        return 2 * DELTA / (eta(m) * (m + 1))

    m = chosen.period - 1
    assert chosen.iterations == chosen.period
    assert chosen.step == pytest.approx(eta(m), rel=1e-13)
    assert bound(m) <= epsilon
    assert m == 0 or bound(m - 1) > epsilon
    # The condition of the step, re-derived: L^2 eta^2 m/b + L eta <= 1, with equality.
    assert (L * eta(m)) ** 2 * m / b + L * eta(m) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("n", [1, 10, 100, 9999])
@pytest.mark.parametrize("epsilon", [2.0, 0.5, 0.03, 1e-3])
def test_theory_of_spider_and_of_the_momentum_form(n, epsilon):
    chosen = ALGORITHMS["spider"].theory(epsilon, constants(n))
    assert chosen.iterations == floor(4 * L * DELTA / epsilon**2) + 1
    assert (chosen.step, chosen.lam, chosen.option) == (epsilon / L, 1 / (2 * L), 2)
    assert chosen.batch == chosen.period == isqrt(n - 1) + 1
    chosen = ALGORITHMS["prox-spiderboost-m"].theory(epsilon, constants(n))
    assert chosen.step == 1 / (8 * L)
    assert (chosen.batch - 1) ** 2 < n <= chosen.batch**2
    assert chosen.period**2 <= n < (chosen.period + 1) ** 2


def test_a_largest_multiple_of_ones_own_is_not_the_theorems_schedule():
    assert algorithm("spider", epsilon=0.1).resolve(constants(9))[1] == "theory"
    assert algorithm("spider", epsilon=0.1, lam=0.5).resolve(constants(9))[1] == "explicit"


@pytest.mark.parametrize("name", ["sarah", "spider", "prox-spiderboost-m"])
@pytest.mark.parametrize("missing", ["L_f", "L_ms", "delta"])
def test_a_missing_constant_is_refused_by_name(name, missing):
    with pytest.raises(RefusedError, match=rf"schedule of {name} needs the constant {missing} \("):
        ALGORITHMS[name].theory(0.1, constants(9, **{missing: inf}))


@pytest.mark.parametrize("name", ["sarah", "spider"])
def test_the_theorems_schedule_meets_its_bound(name):
    """E|grad f|^2 <= epsilon for SARAH, E|grad f| <= 5 epsilon for SPIDER; over ten seeds."""
    problem = model()
    P = Plain(problem)
    epsilon = {"sarah": 0.1, "spider": 0.05}[name]
    chosen, label = algorithm(name, epsilon=epsilon).resolve(problem.constants(elsewhere(problem)))
    assert label == "theory"
    parameters = {key: getattr(chosen, key) for key in type(chosen).parameters()}
    squares, norms = [], []
    for seed in range(10):
        states, _ = run(problem, name, seed=seed, **parameters)
        norms += [np.linalg.norm(P.full(s.at)) for s in states]
        squares.append(sum(P.full(s.at) @ P.full(s.at) for s in states) / len(states))
    assert np.mean(squares) <= epsilon if name == "sarah" else np.mean(norms) <= 5 * epsilon


# --- convergence ----------------------------------------------------------------------------------

LONG = given(3000, 4, 3)


@pytest.mark.parametrize(
    ("name", "domain", "extra"),
    [
        ("sarah", "none", {"step": 0.2, "output": "last"}),
        ("sarah", "none", {"step": 0.4, "period": 5}),
        ("spider", "none", {"step": 0.1, "lam": 0.2}),
        *(("prox-spiderboost-m", domain, {"step": 0.1}) for domain in DOMAINS),
    ],
)
def test_the_gradient_mapping_falls_to_zero(name, domain, extra):
    problem = model(domain=domain)
    states, _ = run(problem, name, **LONG | extra)
    P, last = Plain(problem), states[-1]
    assert P.mapping(elsewhere(problem)) > 0.05
    assert P.mapping(last.x if last.output is None else last.output) < 1e-7


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("sarah", {"step": 0.2, "output": "last"}),
        ("spider", {"step": 0.1, "lam": 0.2}),
        ("prox-spiderboost-m", {"step": 0.1}),
    ],
)
def test_agrees_with_scipy_on_a_convex_problem(name, extra):
    problem = model("log-cosh", seed=2, n=17)
    states, _ = run(problem, name, **LONG | extra)
    assert_allclose(states[-1].x, by_scipy(problem), rtol=0, atol=1e-6)


def test_spider_stalls_at_its_step_where_spiderboost_converges():
    """`wang2019-step`: normalised steps keep their length."""
    problem = model()
    P = Plain(problem)
    states, _ = run(problem, "spider", **LONG | {"step": 0.02})
    assert min(P.mapping(s.x) for s in states[-50:]) > 1e-4
    states, _ = run(problem, "spiderboost", **LONG | {"step": 0.2})
    assert P.mapping(states[-1].x) < 1e-9
