"""Units of constants, bounds and schedules: against scaled problems, and with lost factors."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from twisted import with_schedule

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.algorithms.proximal import ProxGD
from pfbench.base.constants import MEANING
from pfbench.claims.catalogue import CLAIMS, ERRATA
from pfbench.problems.linear_models import LeastSquares
from pfbench.sets import L2Ball
from pfbench.verification import Claim, make_instance
from pfbench.verification.homogeneity import check_claim_units, check_erratum_units, check_schedule
from pfbench.verification.instruments.slopes import ConstantSlopeProblem
from pfbench.verification.statements.bound import bound
from pfbench.verification.statements.error_law import error_law
from pfbench.verification.units import (
    CONSTANTS,
    GRADIENT,
    LENGTH,
    NUMBER,
    SQUARE,
    VALUE,
    Scaling,
    formula,
    power_product,
)

# --- constants ------------------------------------------------------------------------------------


def test_every_constant_has_a_unit():
    assert set(MEANING) <= set(CONSTANTS)


@pytest.mark.parametrize(("f", "x"), [(4.0, 1.0), (1.0, 8.0), (16.0, 0.25)])
def test_units_of_constants_are_those_of_a_problem_in_other_units(f, x):
    """Least squares: features and labels times sqrt(f), features and radius for x."""
    rng = np.random.default_rng(0)
    rows, labels = rng.standard_normal((12, 3)), rng.standard_normal(12)
    plain = LeastSquares(rows, labels, L2Ball(3, 1.5))
    root = math.sqrt(f)
    other = LeastSquares(rows * root / x, labels * root, L2Ball(3, 1.5 * x))
    found = other.constants(other.start())
    expected = Scaling(f, x).constants(plain.constants(plain.start()))
    for name in MEANING:
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9), name


# --- STORM's theorem 1, with the factor sqrt(M) that its printed form has lost --------------------


def _storm(L, G, sigma2, Delta, T, *, lost):
    """Return the bound of theorem 1 with b = c = 1 where these are numbers; G^3 has a unit, too."""
    k = G ** (2.0 / 3.0) / L
    c = 28.0 * L**2 + G**2 / (7.0 * L * k**3)
    w = max((4.0 * L * k) ** 3, 2.0 * G**2, (c * k / (4.0 * L)) ** 3)
    M = 8.0 * Delta / k + w ** (1 / 3) * sigma2 / (4.0 * L**2 * k**2)
    M += k**2 * c**2 * math.log(T + 2.0) / (2.0 * L**2)
    root = math.sqrt(2.0 * M)
    first = w ** (1 / 6) * root + 2.0 * M**0.75
    spread = 1.0 if lost else root
    return first / math.sqrt(T) + spread * (2.0 * sigma2) ** (1 / 6) / T ** (1 / 3)


def test_a_lost_square_root_shows_at_once():
    units = {"G": GRADIENT}
    assert formula(_storm, GRADIENT, {"lost": False}, **units).find_departure() is None
    gone = formula(_storm, GRADIENT, {"lost": True}, **units).find_departure()
    assert "f by 2^4" in str(gone)
    assert gone.expected == 16.0
    assert gone.measured != pytest.approx(16.0, rel=1e-3)


def test_each_scaling_is_told():
    assert "x by 2^4" in str(power_product(VALUE, {"L": 1, "D": 1}).find_departure())
    assert power_product(VALUE, {"L": 1, "D": 2}).find_departure() is None
    assert "f by 2^4" in str(power_product(NUMBER, {"delta": 1}).find_departure())


def _least(L, D, delta):
    return max(L * D**2, delta + 1e-3)


def test_a_term_that_seldom_counts_is_found():
    assert formula(_least, VALUE).find_departure() is not None


# --- theorems of somebody's own -------------------------------------------------------------------

SLOPE = (make_instance(ConstantSlopeProblem, n=2, g=0.2, gap=1.0),)


def _stated(most, step=lambda c: 1.0 / c.L_f, of="gradient_mapping_sq", **more):
    check = bound(most, of, parameters=lambda c: {"iterations": 20, "step": step(c)})
    claim = Claim(
        name="own-thm", statement="", algorithm="prox-gd", instances=SLOPE, check=check, **more
    )
    return check_claim_units(claim)


def explained(found):
    """Whether a reason is given where, and only where, it does not keep its units."""
    return (found.homogeneous is False) == bool(found.normalised)


def test_a_right_theorem_is_homogeneous():
    found = _stated(lambda c, a: 2.0 * c.L_f * c.delta / a.iterations)
    assert (found.homogeneous, explained(found)) == (True, True)
    assert "f^2 x^-2" in found.sentence
    assert _stated(lambda c, a: 2.0 * c.delta / (a.step * a.iterations)).homogeneous


@pytest.mark.parametrize(
    "most",
    [
        lambda c, a: 2.0 * c.L_f * (c.delta + 1.0) / a.iterations,
        lambda c, a: 2.0 * c.delta / a.iterations,
        lambda c, a: math.sqrt(2.0 * c.L_f * c.delta / a.iterations),
    ],
)
def test_lost_factors_of_a_theorem_are_said(most):
    found = _stated(most)
    assert (found.homogeneous, explained(found)) == (False, False)
    assert "the bound is" in found.description
    assert explained(_stated(most, scale_dependence="the paper has delta <= 1"))


def test_a_constant_that_the_instance_does_not_state_has_a_unit():
    assert _stated(lambda c, a: c.L_f**2 * c.D**2 / math.ceil(a.iterations / 3)).homogeneous
    assert _stated(lambda c, a: c.L_f**2 * c.D / a.iterations).homogeneous is False


def test_a_step_in_no_units_is_said():
    found = _stated(
        lambda c, a: 2.0 * c.L_f * c.delta / a.iterations, step=lambda c: 1.0 / (c.L_f + 1.0)
    )
    assert not found.homogeneous
    assert "step is" in found.description


@pytest.mark.parametrize(("unit", "homogeneous"), [(LENGTH, True), (NUMBER, False), (None, False)])
def test_a_stated_unit_replaces_that_of_a_usual_name(unit, homogeneous):
    def parameters(c):
        return {"iterations": 20, "gamma": math.sqrt(2.0 * c.delta / (20 * c.L_f))}

    check = bound(lambda c, a: c.L_f * c.delta, "gradient_mapping_sq", parameters=parameters)
    units = {} if unit is None else {"gamma": unit}
    claim = Claim(name="thm", statement="", algorithm="prox-gd", instances=SLOPE, check=check)
    found = check_claim_units(replace(claim, units=units))
    assert found.homogeneous is homogeneous
    assert homogeneous or "gamma is 16 times" in found.description


def test_what_is_measured_by_a_function_has_any_unit_but_one():
    def root(c, a):
        return math.sqrt(c.L_f * c.delta / a.iterations)

    assert _stated(root, of=lambda problem, x: 1.0).homogeneous
    assert not _stated(root, of=lambda problem, x: 1.0, units={"of": VALUE}).homogeneous


def test_a_reason_where_there_is_nothing_to_explain_is_found():
    found = _stated(lambda c, a: c.L_f * c.delta / a.iterations, scale_dependence="because")
    assert not explained(found)


def test_a_law_is_held_to_its_unit():
    def of(square):
        check = error_law(square, parameters={"iterations": 3, "step": 0.1})
        claim = Claim(
            name="own-law", statement="", algorithm="prox-gd", instances=SLOPE, check=check
        )
        return check_claim_units(claim).homogeneous

    assert of(lambda c, a, past: past.error_sq + c.L_ms**2 * past.step_sq)
    assert not of(lambda c, a, past: past.error_sq + c.L_ms * past.step_sq)


def test_functions_that_fail_in_other_units_are_told():
    def most(c, a):
        return c.L_f * c.delta * math.sqrt(1.5 - c.delta)

    assert _stated(most).homogeneous is None


# --- the catalogue --------------------------------------------------------------------------------

NO_FORMULA = {"rate", "identity", "count", "computed"}
"""Kinds of claims that need no formula with units."""

COMPARED = {
    "defazio2014-unbiased",
    "defazio2014-weights",
    "lacoste2016-local",
    "layers-network",
    "martinezrubio2025-recursion",
    "relatives-importance-fewer",
    *(f"richtarik2026-llo-{name}" for name in ("projection", "step", "strong")),
    "wang2019-step",
}
"""Claims that compare two things that are measured, in the same units."""


def test_claims_are_homogeneous_or_say_why_not_and_stand_in_the_table():
    table = (Path(__file__).parents[2] / "reports" / "units.md").read_text()
    lost = table.split("## Not homogeneous")[1].split("## Homogeneous")[0]
    named = {line.split(" | ")[0].removeprefix("| ") for line in lost.splitlines() if "|" in line}
    for name, claim in CLAIMS.items():
        found = check_claim_units(claim)
        assert explained(found), found.sentence
        of_methods = name.startswith(("methods-", "shen2019-unbiased-"))
        if found.homogeneous is None and not of_methods:
            assert claim.kind in NO_FORMULA or name in COMPARED, found.sentence
        if name.startswith("methods-schedule-"):
            assert found.homogeneous is not None, name
        assert name in (named if found.homogeneous is False else table), name


def test_corrected_errata_are_homogeneous_and_some_printed_ones_are_found():
    found = [
        homogeneity for erratum in ERRATA.values() for homogeneity in check_erratum_units(erratum)
    ]
    corrected = [homogeneity for homogeneity in found if homogeneity.kind == "erratum as corrected"]
    assert corrected
    assert all(homogeneity.homogeneous for homogeneity in corrected)
    lost = {
        homogeneity.name
        for homogeneity in found
        if homogeneity.kind == "erratum as printed" and not homogeneity.homogeneous
    }
    assert {"shen2019-(10)", "shen2019-4.1-powers", "li2019-(22)", "li2019-(74)"} <= lost


def test_schedules_keep_their_units_or_say_why_not_and_five_do_not():
    lost = set()
    for name, method in ALGORITHMS.items():
        found = check_schedule(method)
        if found is None:
            assert not method.scale_dependence, name
            continue
        assert found.homogeneous is not None, name
        assert explained(found), found.sentence
        if not found.homogeneous:
            lost.add(found.name)
    assert lost == {"ncgs", "ncgs-stochastic", "ncgs-vr", "prox-svrg-plus", "natasha15"}


def test_schedules_that_lose_their_units_are_found():
    def more(epsilon, c):
        return math.ceil(2.0 * c.L_f * (c.delta + 1.0) / epsilon**2)

    step = check_schedule(with_schedule(ProxGD, step=lambda epsilon, c: 1.0 / (c.L_f + 1.0)))
    count = check_schedule(with_schedule(ProxGD, iterations=more))
    assert not step.homogeneous
    assert step.always
    assert "step is" in step.description
    assert not count.homogeneous
    assert not count.always
    assert "iterations is" in count.description
    assert check_schedule(ProxGD).accuracy == GRADIENT


def test_formulas_need_the_units_of_all_that_they_read():
    from pfbench.base.errors import InputError

    with pytest.raises(InputError, match="state the unit of strange"):
        formula(lambda strange: strange, SQUARE).find_departure()
    assert formula(lambda strange: strange**2, SQUARE, strange=GRADIENT).find_departure() is None
    assert formula(lambda eta: eta, LENGTH, eta=LENGTH).find_departure() is None
