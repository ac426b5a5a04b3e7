"""The theorems' schedules, derived again in exact arithmetic, and their leading terms."""

from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import pytest
from both_kinds import small
from linear_reference import model

import pfbench as pf
from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.constants import Constants
from pfbench.base.errors import RefusedError
from pfbench.runs.loop.solve import solve
from pfbench.verification.schedules import USUAL

NFWU = ["nfwu-sg", "nfwu-svrg", "nfwu-spiderg", "nfwu-casvrg", "nfwu-caspiderg"]
EPOCH = NFWU[1:]

SIZES = [1, 7, 27, 64, 1000, 4096, 9999]
ACCURACIES = [Fraction(1), Fraction(1, 8), Fraction(1, 50), Fraction(1, 3000), Fraction(1, 10**7)]


def constants(n, *, L_f=Fraction(1, 2), L=Fraction(2), L2=Fraction(3), **other):
    """Return constants that are exact in binary."""
    numbers = {"D": 4.0, "L_f": float(L_f), "L_ms": float(L), "L_max": 64.0, "L2_ms": float(L2)}
    return Constants(n=n, **numbers | {"sigma2": 1.25, "delta": 0.75} | other)


@pytest.mark.parametrize("name", NFWU)
@pytest.mark.parametrize("L2", [3.0, 0.01, 800.0])
def test_condition_9_holds_by_the_laws(name, L2):
    """E|g_t - grad f(x_t)|^2 <= epsilon^2/4 at every j < p, with eta = epsilon/L."""
    for n, eps in product(SIZES, map(float, ACCURACIES)):
        c = constants(n, L2=L2)
        chosen = ALGORITHMS[name].theory(eps, c)
        eta, S, j = eps / 2.0, chosen.batch, getattr(chosen, "period", 1) - 1
        law = {
            "nfwu-sg": c.sigma2 / S,
            "nfwu-svrg": c.L_ms**2 * (j * eta) ** 2 / S,
            "nfwu-spiderg": c.L_ms**2 * j * eta**2 / S,
            "nfwu-casvrg": c.L2_ms**2 * (j * eta) ** 4 / (4 * S),
            "nfwu-caspiderg": c.L2_ms**2 * eta**4 * j * (4 * j**2 - 1) / (12 * S),
        }[name]
        assert law <= eps**2 / 4 * (1 + 1e-9)


@pytest.mark.parametrize("name", NFWU)
def test_L_is_the_largest_that_the_proof_uses(name):
    small_f = ALGORITHMS[name].theory(0.1, constants(100, L_f=Fraction(1, 2), L=Fraction(2)))
    large_f = ALGORITHMS[name].theory(0.1, constants(100, L_f=Fraction(2), L=Fraction(1, 2)))
    assert small_f.step == large_f.step
    assert small_f.iterations == large_f.iterations


@pytest.mark.parametrize("name", NFWU)
def test_epsilon_above_L_D_is_refused_and_L_D_itself_is_not(name):
    assert ALGORITHMS[name].theory(8.0, constants(100)).step == 1.0
    with pytest.raises(RefusedError, match=r"must be at most L D = 8.*cannot exceed 1\.$"):
        ALGORITHMS[name].theory(8.0001, constants(100))


# --- which schedule a choice reads ----------------------------------------------------------------


@pytest.mark.parametrize("name", [*NFWU, "frank-wolfe"])
def test_epsilon_alone_is_the_theorems_schedule(name):
    chosen, schedule = algorithm(name, epsilon=0.25).resolve(constants(100))
    assert schedule == "theory"
    assert chosen == ALGORITHMS[name].theory(0.25, constants(100))


@pytest.mark.parametrize("name", NFWU)
def test_epsilon_with_parameters_that_are_no_schedule_is_still_the_theorems(name):
    chosen, schedule = algorithm(name, epsilon=0.25, output="last", restarts=3).resolve(
        constants(100)
    )
    assert schedule == "theory"
    assert (chosen.output, chosen.run_count) == ("last", 3)


@pytest.mark.parametrize("name", EPOCH)
@pytest.mark.parametrize(
    ("parameter", "value"), [("batch", 3), ("period", 2), ("iterations", 11), ("step", 0.5)]
)
def test_epsilon_with_one_parameter_replaces_that_one(name, parameter, value):
    chosen, schedule = algorithm(name, epsilon=0.25, **{parameter: value}).resolve(constants(100))
    whole = ALGORITHMS[name].theory(0.25, constants(100))
    assert schedule == "explicit"
    for other in ("batch", "period", "iterations", "step"):
        expected = value if other == parameter else getattr(whole, other, None)
        assert getattr(chosen, other, None) == expected


def test_parameters_without_epsilon_are_explicit():
    chosen, schedule = algorithm("nfwu-svrg", batch=3, period=5, iterations=7, step=0.125).resolve(
        constants(100)
    )
    assert schedule == "explicit"
    assert (chosen.batch, chosen.period, chosen.iterations, chosen.step) == (3, 5, 7, 0.125)


# --- page, zerosarah, storm -----------------------------------------------------------------------

COIN_STEPS = {"iterations": 17, "step": 0.3, "batch": 3}
COINED = [COIN_STEPS | {"refresh": p} for p in (0.3, 1.0)]


def test_storm_has_no_schedule_without_a_bound_of_each_gradient():
    with pytest.raises(RefusedError, match="no theorem sets parameters of storm"):
        ALGORITHMS["storm"].theory(0.1, USUAL[0])


def test_coins_are_the_measure_of_a_run():
    found = pf.solve(model(), pf.algorithm("page", **COINED[0]), measures=("coin",))
    coins = found.trace["coin"].to_numpy()
    assert set(coins[2:]) == {0.0, 1.0}  # the start, and the first estimate, have none
    assert found.counts.fo == 1 + int(np.nansum(coins))


@pytest.mark.parametrize(("name", "expected"), [("page", 9.71), ("zerosarah", 10.25)])
def test_the_leading_cost_is_that_of_sqrt_n(name, expected):
    """E SFO per L h0/epsilon^2, over sqrt n."""
    n = 10**10
    chosen = ALGORITHMS[name].theory(1.0, Constants(n=n, L_f=1.0, L_ms=1.0, delta=1e6))
    b = chosen.batch
    step = 2 * b if name == "zerosarah" else chosen.refresh * n + 2 * b * (1 - chosen.refresh)
    assert chosen.iterations * step / 1e6 / sqrt(n) == pytest.approx(expected, rel=4e-3)


def test_a_table_of_zeros_has_no_schedule():
    with pytest.raises(
        RefusedError, match=r"schedule of zerosarah .*gradients at the start point: leave out"
    ):
        ALGORITHMS["zerosarah"].theory(0.1, USUAL[0], table="zero")


# --- sfw, svfw, sagafw against Reddi et al. 2016, algorithms 2 to 4 -------------------------------

SAMPLED = ("sfw", "svfw", "sagafw")


by_sampled = pytest.mark.parametrize("name", SAMPLED)


@by_sampled
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


@by_sampled
def test_the_output_is_uniform_among_the_points_before_each_step(name):
    """The last x is never the output; the first is, with one iteration."""
    problem = small("logistic")
    sizes = {"batch": 3, "period": 4} if name == "svfw" else {"batch": 3}
    result = solve(problem, algorithm(name, iterations=1, step=0.11, **sizes))
    assert np.array_equal(result.x, problem.start())
