"""SARAH, SPIDER and Prox-SpiderBoost-M against their references and each other."""

import numpy as np
import pytest
from linear_reference import DOMAINS, Plain, elsewhere, model, run, same_bits
from numpy.testing import assert_allclose

from pfbench.algorithms import algorithm
from pfbench.base.constants import Constants
from pfbench.runs.loop.solve import solve

# --- iterates and counts --------------------------------------------------------------------------


def given(T, S, p, **other):
    return {"iterations": T, "batch": S, "period": p, **other}


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


def test_the_run_ends_at_the_output_of_sarah():
    problem = model()
    parameters = given(15, 3, 5, step=0.4)
    result = solve(problem, algorithm("sarah", **parameters), seed=3)
    at = solve(problem, algorithm("sarah", **parameters | {"output": "last"}), seed=3)
    assert result.status == at.status == "finished"
    assert not np.array_equal(result.x, at.x)
    mapped = np.linalg.norm(Plain(problem).full(result.x)) ** 2
    assert result.final["gradient_mapping_sq"] == pytest.approx(mapped, rel=1e-9)


# --- the theorems' schedules ----------------------------------------------------------------------

L, DELTA = 2.5, 0.875


def constants(n, **other):
    return Constants(n=n, **{"L_f": 1.5, "L_ms": L, "L_max": 5.5, "delta": DELTA} | other)


def test_a_largest_multiple_of_ones_own_is_not_the_theorems_schedule():
    assert algorithm("spider", epsilon=0.1).resolve(constants(9))[1] == "theory"
    assert algorithm("spider", epsilon=0.1, lam=0.5).resolve(constants(9))[1] == "explicit"


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
