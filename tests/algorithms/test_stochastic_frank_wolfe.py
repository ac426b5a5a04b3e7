"""sfw, svfw, sagafw against Reddi et al. 2016, algorithms 2 to 4."""

from fractions import Fraction
from math import ceil as up
from math import inf, sqrt

import numpy as np
import pytest
from both_kinds import dense, each_kind, minimiser, small, start
from following import assert_follows_reference
from helpers import assert_one_sentence, reference_of, tiny_logistic

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, RefusedError
from pfbench.oracles import Ledger, Oracles
from pfbench.problems.catalogue import problem as named_problem
from pfbench.runs.loop.solve import solve

NAMES = ("sfw", "svfw", "sagafw")


by_name = pytest.mark.parametrize("name", NAMES)


def run(problem, name, x, seed=5, **parameters):
    """The states of a run from the dense point x, and the counts."""
    ledger = Ledger()
    backend = problem.open(np.random.default_rng(0))
    ask = Oracles(backend, ledger, problem.set.diameter)
    chosen = ALGORITHMS[name](**parameters)
    states = []
    for state in chosen.run(ask, reference_of(problem).point(x), np.random.default_rng(seed)):
        states.append((dense(state.at), np.array(state.estimate), dense(state.x)))
    return states, ledger.counts().as_dict()


# --- iterates -------------------------------------------------------------------------------------

CASES = [
    {"iterations": 13, "step": 0.11, "batch": 3, "period": 4},
    {"iterations": 9, "step": 0.31, "batch": 40, "period": 5},
    {"iterations": 5, "step": 1.0, "batch": 2, "period": 7},
    {"iterations": 6, "step": 0.2, "batch": 1, "period": 1},
]


def of(name, parameters):
    """The parameters that the method has."""
    known = ALGORITHMS[name].parameters()
    return {key: value for key, value in parameters.items() if key in known}


@by_name
@each_kind
@pytest.mark.parametrize("parameters", CASES)
def test_iterates_and_estimates_are_those_of_the_reference(name, kind, parameters):
    assert_follows_reference(small(kind), name, **of(name, parameters))


# --- counts ---------------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("parameters", CASES)
def test_counts(kind, parameters):
    problem = small(kind)
    T, b, m, n = *(parameters[key] for key in ("iterations", "batch", "period")), problem.n
    expected = {
        "sfw": {"sfo": b * T},
        "svfw": {"fo": up(T / m), "sfo": n * up(T / m) + 2 * b * T},
        "sagafw": {"sfo": n + 2 * b * T},
    }
    for name in NAMES:
        _, counts = run(problem, name, start(kind), **of(name, parameters))
        assert counts == dict.fromkeys(counts, 0) | {"lo": T} | expected[name]


def test_an_epoch_of_svfw_costs_n_plus_2bm():
    """Reddi et al. 2016, algorithm 3: SFO n + 2bm, LO m."""
    problem = small("logistic")
    given = {"iterations": 15, "step": 0.1, "batch": 7, "period": 5}
    _, counts = run(problem, "svfw", start("logistic"), **given)
    assert (counts["sfo"], counts["lo"]) == (3 * (21 + 2 * 7 * 5), 3 * 5)


# --- schedules ------------------------------------------------------------------------------------


def constants(n, **other):
    numbers = {"D": 4.0, "L_f": 0.5, "L_ms": 2.0, "L_max": 8.0, "sigma2": 2.25, "delta": 0.75}
    return Constants(n=n, **numbers | other)


def root_up(number, k):
    """Return the least integer r with r^k >= number."""
    r = max(1, round(float(number) ** (1 / k)))
    while r**k < number:
        r += 1
    while r > 1 and (r - 1) ** k >= number:
        r -= 1
    return r


SIZES = [1, 2, 8, 27, 100, 1000, 4097]
ACCURACIES = [Fraction(1), Fraction(1, 8), Fraction(1, 50)]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("epsilon", ACCURACIES)
def test_sfw_schedule(n, epsilon):
    """h0/(T gamma) + L D^2 gamma/2 + D sigma/sqrt b is at most epsilon, and b = T."""
    chosen = ALGORITHMS["sfw"].theory(float(epsilon), constants(n))
    T, gamma, b = chosen.iterations, chosen.step, chosen.batch
    assert b == T

    def bound(T):
        return sqrt(2 * 0.75 * 2.0 * 16.0 / T) + 4.0 * 1.5 / sqrt(T)

    assert gamma == pytest.approx(sqrt(2 * 0.75 / (T * 2.0 * 16.0)), rel=1e-12)
    mean = 0.75 / (T * gamma) + 2.0 * 16.0 * gamma / 2 + 4.0 * 1.5 / sqrt(b)
    assert mean == pytest.approx(bound(T), rel=1e-12)
    assert bound(T) <= epsilon * (1 + 1e-9)
    assert T == 1 or bound(T - 1) > epsilon


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("epsilon", ACCURACIES)
def test_svfw_schedule(n, epsilon):
    """Algorithm 3 there: m = n^(1/3) up, b = m^2, gamma = sqrt(2 h0/(3 T L D^2)), V <= epsilon."""
    chosen = ALGORITHMS["svfw"].theory(float(epsilon), constants(n))
    m = root_up(n, 3)
    assert (chosen.period, chosen.batch) == (m, m * m)
    T = Fraction(6) * 2 * 16 * Fraction(3, 4) / epsilon**2
    assert chosen.iterations == up(T)
    gamma = sqrt(2 * 0.75 / (3 * chosen.iterations * 2.0 * 16.0))
    assert chosen.step == pytest.approx(gamma, rel=1e-12)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("option", ["repaired", "claimed"])
def test_sagafw_schedule(n, option):
    """Algorithm 4: the repaired batch n^(2/3), or the claimed n^(1/3); L is L_max."""
    chosen = ALGORITHMS["sagafw"].theory(0.125, constants(n), option=option)
    b = root_up(n**2, 3) if option == "repaired" else root_up(n, 3)
    assert chosen.batch == b
    error = 0.5 + sqrt(2.0) * n / b**1.5 if option == "repaired" else 1.5
    T = 4.0 * error * 8.0 * 16.0 * 0.75 / 0.125**2
    assert T * (1 - 1e-9) <= chosen.iterations < T + 1
    gamma = chosen.step
    assert gamma == pytest.approx(sqrt(0.75 / (error * chosen.iterations * 128.0)), rel=1e-12)
    bound = 0.75 / (chosen.iterations * gamma) + error * 128.0 * gamma
    assert bound <= 0.125 * (1 + 1e-9)


@by_name
def test_a_schedule_whose_best_step_exceeds_1_takes_more_iterations(name):
    """epsilon far above the first gap: the step is at most 1, also after rounding."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        L, D, k = rng.uniform(0.1, 5.0), rng.uniform(0.1, 5.0), int(rng.integers(1, 50))
        error = {"sfw": 0.5, "svfw": 1.5, "sagafw": 0.5 + sqrt(2.0)}[name]
        exact = constants(64, L_f=L, L_ms=L, L_max=L, D=D, delta=k * error * L * D * D, sigma2=0.0)
        chosen = ALGORITHMS[name].theory(1e9, exact)
        assert 0.999999 < chosen.step <= 1.0
        assert chosen.iterations == k


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        *((name, missing) for name in NAMES for missing in ("D", "delta")),
        *((name, missing) for name in NAMES[:2] for missing in ("L_f", "L_ms")),
        ("sfw", "sigma2"),
        ("sagafw", "L_max"),
    ],
)
def test_a_missing_constant_is_refused_by_name(name, missing):
    with pytest.raises(RefusedError, match=rf"{name} needs the constant {missing} \(") as error:
        ALGORITHMS[name].theory(0.1, constants(9, **{missing: inf}))
    assert_one_sentence(error)


# --- refusals -------------------------------------------------------------------------------------


WRONG = {
    "iterations": (0, 2.5, "x"),
    "step": (0.0, -1.0, 1.0001, inf, "x"),
    "batch": (0, 1.5, None),
    "period": (0, -3, "x"),
    "output": ("mean", 3),
}


@by_name
def test_bad_values_are_refused_by_name(name):
    good = of(name, CASES[0])
    for parameter in ("output", *good):
        for value in WRONG[parameter]:
            with pytest.raises(InputError, match=f"^{parameter}=") as error:
                ALGORITHMS[name](**good | {parameter: value})
            assert_one_sentence(error)


def test_an_unknown_option_of_sagafw_is_refused():
    with pytest.raises(InputError, match=r"option.*'as_claimed'.*did you mean 'claimed'") as error:
        ALGORITHMS["sagafw"](**of("sagafw", CASES[0]), option="as_claimed")
    assert_one_sentence(error)


@by_name
def test_a_problem_without_a_set_is_refused(name):
    problem = named_problem("nonconvex-logistic", source="synthetic", set="none", rows=5, columns=3)
    with pytest.raises(RefusedError, match=f"^{name} queries lo.*it has no feasible set") as error:
        solve(problem, algorithm(name, **of(name, CASES[0])))
    assert_one_sentence(error)


def test_sagafw_says_that_its_complexity_is_disputed():
    cls = ALGORITHMS["sagafw"]
    assert "disputed" in cls.summary
    assert "lower bound" in cls.disputed


# --- convergence ----------------------------------------------------------------------------------

FAR = [
    ("sfw", {"iterations": 1500, "step": 0.004, "batch": 300}, 0.2),
    ("svfw", {"iterations": 1500, "step": 0.004, "batch": 9, "period": 3}, 0.1),
    ("sagafw", {"iterations": 1500, "step": 0.004, "batch": 9}, 0.1),
]


def exact_gap(problem, x):
    P = reference_of(problem)
    g = P.embedded(P.component_gradients(x).mean(axis=0))
    return np.vdot(g, x - minimiser(g, problem.set.radius))


@each_kind
@pytest.mark.parametrize(("name", "parameters", "share"), FAR, ids=NAMES)
def test_the_exact_gap_falls(kind, name, parameters, share):
    problem = small(kind)
    result = solve(problem, algorithm(name, **parameters, output="last"), seed=1)
    assert result.status == "finished"
    first = exact_gap(problem, np.zeros(problem.set.shape))
    assert exact_gap(problem, dense(result.x)) < share * first


@pytest.mark.thin(3)
@by_name
def test_the_theorems_schedule_meets_its_bound(name):
    """The mean of V(x_t) over t and two seeds is at most epsilon."""
    problem = tiny_logistic(n=21, d=4, radius=2.0, spread=1.0)
    epsilon = exact_gap(problem, np.zeros(4)) / 1.2
    chosen = ALGORITHMS[name].theory(epsilon, problem.constants(problem.start()))
    gaps = []
    for seed in range(2):
        ask = Oracles(problem, Ledger(), problem.set.diameter)
        states = chosen.run(ask, problem.start(), np.random.default_rng(seed))
        gaps += [exact_gap(problem, state.at) for state in states]
    assert np.mean(gaps) <= epsilon


@by_name
def test_the_output_is_uniform_among_the_points_before_each_step(name):
    """The last x is never the output; the first is, with one iteration."""
    problem = small("logistic")
    result = solve(problem, algorithm(name, **of(name, CASES[0]) | {"iterations": 1}))
    assert np.array_equal(result.x, problem.start())
