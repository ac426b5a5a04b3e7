"""The theorems' schedules (lacoste2016, shen2019), derived again in exact arithmetic."""

from fractions import Fraction
from itertools import product
from math import ceil, inf

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


def root(number, k):
    """Return the largest integer r with r^k <= number, at least 1."""
    r = max(1, round(float(number) ** (1 / k)))
    while r**k > number and r > 1:
        r -= 1
    while (r + 1) ** k <= number:
        r += 1
    return r


def root_up(number, k):
    """Return the least integer r with r^k >= number."""
    r = root(number, k)
    return r if r**k >= number else r + 1


def sizes(name, n, eps, L, L2):
    """Return the batch and the period of shen2019; the variance is 5/4."""
    if name == "nfwu-sg":
        return {"batch": ceil(4 * Fraction(5, 4) / eps**2)}
    if name == "nfwu-svrg":  # S = 4 n^(2/3), p = n^(1/3)
        return {"batch": root_up(64 * n**2, 3), "period": root(n, 3)}
    if name == "nfwu-spiderg":  # S = 4 sqrt n, p = sqrt n
        return {"batch": root_up(16 * n, 2), "period": root(n, 2)}
    if name == "nfwu-casvrg":
        if eps <= L**2 / (L2 * n**2):  # p = L/sqrt(L2 eps)
            return {"batch": 1, "period": root(L**2 / (L2 * eps), 2)}
        p = root(L**4 * n / (L2**2 * eps**2), 5)  # p^5 = L^4 n/(L2 eps)^2
        return {"batch": ceil(Fraction(n, p)), "period": p}
    if eps**2 <= L**4 / (L2**2 * n**3):  # p = (L^2/(L2 eps))^(2/3)
        return {"batch": 2, "period": root((L**2 / (L2 * eps)) ** 2, 3)}
    p = root(L**4 * n / (L2**2 * eps**2), 4)  # p^4 = L^4 n/(L2 eps)^2
    return {"batch": ceil(Fraction(4 * n, 3 * p)), "period": p}


@pytest.mark.parametrize("name", NFWU)
@pytest.mark.parametrize("L2", [Fraction(3), Fraction(1, 100), Fraction(800)])
def test_nfwu_schedule(name, L2):
    L = Fraction(2)
    for n, eps in product(SIZES, ACCURACIES):
        chosen = ALGORITHMS[name].theory(float(eps), constants(n, L2=L2))
        expected = sizes(name, n, eps, L, L2)
        expected["iterations"] = ceil(L * Fraction(3, 4) / eps**2)
        # Equal below 5e11; above, 1e-12 of it is taken for rounding.
        found = {key: getattr(chosen, key) for key in expected}
        assert found == pytest.approx(expected, rel=2e-12)
        assert chosen.step == pytest.approx(float(eps / (L * 4)), rel=1e-14)
        assert chosen.output == "uniform"


@pytest.mark.parametrize("name", ["nfwu-casvrg", "nfwu-caspiderg"])
def test_both_branches_of_the_curvature_schedules_are_reached(name):
    small = [
        sizes(name, n, eps, Fraction(2), Fraction(3))["batch"] <= 2
        for n, eps in product(SIZES[2:], ACCURACIES)
    ]
    assert any(small)
    assert not all(small)


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
    with pytest.raises(RefusedError, match=r"epsilon <= L D = 8.*smaller epsilon\.$"):
        ALGORITHMS[name].theory(8.0001, constants(100))


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        *((name, constant) for name in NFWU for constant in ("L_f", "L_ms", "D", "delta")),
        ("nfwu-sg", "sigma2"),
        ("nfwu-casvrg", "L2_ms"),
        ("nfwu-caspiderg", "L2_ms"),
        *(("frank-wolfe", constant) for constant in ("L_f", "D", "delta")),
    ],
)
def test_a_missing_constant_is_refused_by_name(name, missing):
    with pytest.raises(RefusedError, match=rf"schedule of {name} needs the constant {missing} \("):
        ALGORITHMS[name].theory(0.1, constants(100, **{missing: inf}))


@pytest.mark.parametrize("name", ["nfwu-svrg", "nfwu-spiderg"])
def test_constants_that_a_theorem_does_not_use_may_be_missing(name):
    unused = {"sigma2": inf, "L2_ms": inf, "L_max": inf}
    assert ALGORITHMS[name].theory(0.1, constants(100, **unused)).batch >= 1


@pytest.mark.parametrize("eps", [Fraction(40), Fraction(3, 4), Fraction(1, 10), Fraction(1, 64)])
@pytest.mark.parametrize("delta", [0.75, 100.0])
def test_frank_wolfe_takes_the_least_number_of_iterations(eps, delta):
    """max{2 h0, C}/sqrt(T + 1) <= epsilon holds for T and fails for T - 1 (lacoste2016 (6))."""
    chosen = ALGORITHMS["frank-wolfe"].theory(float(eps), constants(100, delta=delta))
    top = max(2 * Fraction(delta), Fraction(1, 2) * 16)
    T = chosen.iterations
    assert T >= 1
    assert top**2 <= eps**2 * (T + 1)
    assert T == 1 or top**2 > eps**2 * T


def test_frank_wolfe_uses_a_given_curvature():
    chosen = ALGORITHMS["frank-wolfe"].theory(0.5, constants(100), curvature=2.0)
    assert chosen.curvature == 2.0
    assert chosen.iterations == 15


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
