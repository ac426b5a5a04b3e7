"""Orders under each criterion; sliding with eta = eps on the scale of the Frank-Wolfe gap."""

import numpy as np
import pytest

from pfbench.algorithms.sliding import NCGS
from pfbench.claims.catalogue import claim
from pfbench.verification.criteria import CRITERIA, EXCESS, Complexity, ComplexityOrder
from pfbench.verification.instruments.indefinite import random_on_l1_ball, spread_on_simplex
from pfbench.verification.instruments.quadratics import face_of_l1_ball, face_of_simplex
from pfbench.verification.trial import Trial


def test_orders_under_the_other_criteria():
    gap_scale, square, norm = CRITERIA
    sliding = Complexity("ncgs", square, {"FO": ComplexityOrder(1.0), "LO": ComplexityOrder(2.0)})
    assert sliding.convert(gap_scale).orders == {
        "FO": ComplexityOrder(2.0),
        "LO": ComplexityOrder(4.0),
    }
    assert sliding.convert(norm).orders == {"FO": ComplexityOrder(2.0), "LO": ComplexityOrder(4.0)}
    assert sliding.convert(square) == sliding
    frank_wolfe = Complexity("frank-wolfe", gap_scale, {"LO": ComplexityOrder(2.0)})
    assert frank_wolfe.convert(square).orders == {"LO": ComplexityOrder(2.0)}
    assert frank_wolfe.convert(norm).orders == {"LO": ComplexityOrder(4.0)}
    boost = Complexity("spiderboost", norm, {"SFO": ComplexityOrder(2.0, 0.5)})
    assert boost.convert(square).orders == {"SFO": ComplexityOrder(1.0, 0.5)}
    assert boost.convert(gap_scale).orders == {"SFO": ComplexityOrder(2.0, 0.5)}


PROBLEMS = {
    "l1 ball": random_on_l1_ball(np.random.default_rng(0), 20, 1, 3.0),
    "another l1 ball": random_on_l1_ball(np.random.default_rng(1), 40, 1, 3.0),
    "spread": spread_on_simplex(200),
    "face of the simplex": face_of_simplex(np.random.default_rng(2), 30, 30.0),
    "face of the l1 ball": face_of_l1_ball(np.random.default_rng(3), 30, 30.0),
}


def gap(problem, x):
    g = problem.gradient(x)
    return float(g @ x) - problem.minimum(g)[0]


def until_stationary(problem, epsilon):
    """Yield x_k, x_{k+1} and the counts so far, until V(x_k) <= epsilon."""
    L = problem.constants(problem.start()).L_f
    method = NCGS(iterations=10**6, smoothness=L, tolerance=epsilon)
    x = problem.start()
    for step in Trial(claim("qu2018-cor1")).follow(problem, method):
        y = np.array(step.state.x)
        yield x, y, step.counts()
        if gap(problem, x) <= epsilon:
            return
        x = y


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("epsilon", [0.3, 0.03, 0.01])
def test_sliding_with_eta_epsilon_needs_as_many_calls_as_frank_wolfe(name, epsilon):
    problem = PROBLEMS[name]
    known = problem.constants(problem.start())
    L, D, delta = known.L_f, known.D, known.delta
    assert epsilon <= 2 * L * D**2
    path = list(until_stationary(problem, epsilon))
    x, _, counts = path[-1]
    assert gap(problem, x) <= epsilon
    assert counts.fo <= 4 * L * D**2 * delta / epsilon**2 + 1
    assert counts.lo <= 8 * L * D**2 * delta / epsilon**2 + 1
    steps = counts.lo - counts.fo  # each condg asks once more than it steps
    assert steps <= delta * max(2 * D**2 * 2 * L / epsilon**2, 2 / epsilon)


@pytest.mark.parametrize("name", PROBLEMS)
def test_an_iteration_stands_still_exactly_where_the_gap_is_at_most_eta(name):
    problem = PROBLEMS[name]
    seen = set()
    for x, y, _ in until_stationary(problem, 0.03):
        still = float(np.abs(x - y).max()) <= 1e-14  # theta_md is a mean of two equal points
        assert still == (gap(problem, x) <= 0.03)
        seen.add(still)
    assert True in seen


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_inner_step_lowers_f_by_its_share(name):
    """So each outer iteration lowers f by min(lambda eta^2/(2 D^2), eta/2) for each inner step."""
    problem, epsilon = PROBLEMS[name], 0.03
    known = problem.constants(problem.start())
    share = min(epsilon**2 / (4 * known.L_f * known.D**2), epsilon / 2)
    before = 0
    for x, y, counts in until_stationary(problem, epsilon):
        steps, before = counts.lo - counts.fo - before, counts.lo - counts.fo
        fall = problem.value(x) - problem.value(y)
        assert fall >= steps * share * (1 - 1e-6) - 1e-13


def test_a_rate_of_f_less_its_minimum_has_no_other_criterion_and_a_logarithm_is_said():
    away = Complexity("afw", EXCESS, {"LO": ComplexityOrder(0.0)})
    assert str(away.orders["LO"]) == "log(1/eps)"
    assert away.is_known_under(EXCESS)
    assert not any(away.is_known_under(criterion) for criterion in CRITERIA)
