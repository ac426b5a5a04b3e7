"""The theorems' schedules (lacoste2016, shen2019), derived again in exact arithmetic."""

from fractions import Fraction
from itertools import product

import pytest

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, RefusedError

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


def test_schedule_theory_does_not_take_what_it_sets_itself():
    with pytest.raises(InputError, match="sets batch itself"):
        algorithm("nfwu-svrg", epsilon=0.1, schedule="theory", batch=3).resolve(constants(100))


def test_schedule_explicit_does_not_take_epsilon_alone():
    with pytest.raises(InputError, match=r"explicit.*epsilon"):
        algorithm("nfwu-svrg", epsilon=0.1, schedule="explicit").resolve(constants(100))
