"""Constants of a problem, formulas in them, counts and budgets as the user writes them."""

import math
from fractions import Fraction

import pytest
from helpers import assert_one_sentence, refused
from hypothesis import given
from hypothesis import strategies as st

import pfbench as pf
from pfbench.base import counts
from pfbench.base.constants import MEANING, Constants, evaluate_formulas, is_formula_in_constants
from pfbench.base.counts import COUNTED, Budget, Counts
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.state import State

KNOWN = Constants(n=600, L_f=0.5, L_ms=2.0, delta=0.25, D=20.0)


def worth(formula, constants=KNOWN):
    return evaluate_formulas(constants, {"a": formula}, (), "x")["a"]


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("3/L", 1.5),  # L is the larger of L_f and L_ms
        ("3/L_f", 6.0),
        ("0.1*L", 0.2),
        ("1*delta", 0.25),
        ("ceil(n/8)", 75),
        ("ceil(n/7)", 86),
        ("ceil(sqrt(n))", 25),
        ("8/(n+8)", 8 / 608),
        ("1e-1*L", 0.2),
        ("2 + n - 1", 601),
    ],
)
def test_a_formula_is_its_value(formula, value):
    assert is_formula_in_constants(formula)
    assert worth(formula) == value
    assert isinstance(worth(formula), type(value))


def test_a_period_is_one_pass_over_the_data_for_every_number_and_batch():
    """ceil(n/b) as whole numbers have it, though n/b is rounded."""
    for n in (1, 2, 569, 600, 1797, 10**6 + 3):
        for b in (1, 3, 7, 8, 49, 64, 512):
            least = -(-n // b)
            assert worth(f"ceil(n/{b})", Constants(n=n)) == least == math.ceil(Fraction(n, b))


@pytest.mark.parametrize(
    "text", ["L", "n", "last", "3", "a/L", "3/l", "n_x/3", "L" * 200 + "/2", 3, None]
)
def test_what_else_looks_like_one_stays_as_it_is(text):
    assert not is_formula_in_constants(text)
    assert worth(text) is text


def test_a_text_of_a_method_stays_a_text():
    assert evaluate_formulas(KNOWN, {"place": "n/8"}, ["place"], "x") == {"place": "n/8"}


@pytest.mark.parametrize(
    "formula", ["3//L", "2 L/3", "L/0", "L/(n-600)", "sqrt(0-L)", "L/", "n(3)"]
)
def test_a_formula_without_a_value_is_refused_by_name(formula):
    with pytest.raises(InputError, match="a='") as refused:
        worth(formula)
    assert_one_sentence(refused)


def test_a_constant_that_a_problem_does_not_state_is_named():
    with pytest.raises(RefusedError, match="a=3/L of x needs the constant L_f"):
        worth("3/L", Constants(n=5))
    sampler = pf.problem("regression")
    for method in ("prox-sgd[iterations=3,batch=2,step=0.1+1/n]", "spider-fw[epsilon=0.5]"):
        with pytest.raises(RefusedError, match="needs the constant n"):
            pf.solve(sampler, method)


# --- in methods -----------------------------------------------------------------------------------


def test_a_method_of_the_catalogue_has_the_values_of_its_problem():
    problem = pf.problem("log-cosh", rows=60, columns=4)
    L = problem.constants(problem.start()).L
    chosen = pf.algorithm("prox-svrg[step=3/L,batch=8,period=ceil(n/8),iterations=9]")
    run = pf.solve(problem, chosen)
    assert run.parameters["step"] == 3 / L
    assert run.parameters["period"] == 8
    same = pf.algorithm("prox-svrg", step=3 / L, batch=8, period=8, iterations=9)
    again = pf.solve(problem, same)
    assert run.x.tobytes() == again.x.tobytes()
    assert run.counts == again.counts


def test_where_the_number_would_be_refused_so_is_the_formula():
    problem = pf.problem("log-cosh", rows=60, columns=4)
    with pytest.raises(InputError, match="period"):
        pf.solve(problem, pf.algorithm("prox-svrg[step=3/L,batch=8,period=n/7,iterations=9]"))


# --- Constants that are not stated, declared outputs, and the family of errors --------------------


@pytest.mark.parametrize("name", [name for name in MEANING if name != "n"])
def test_a_constant_that_is_not_stated_is_refused_by_name(name):
    constants = Constants(n=3)
    assert getattr(constants, name) == math.inf
    with refused(name, "the schedule of x", "explicitly", error=RefusedError):
        constants.require(name, "the schedule of x")
    assert Constants(n=3, **{name: 2}).require(name, "x") == 2.0


def test_the_papers_single_l_is_at_least_what_its_proofs_use():
    assert Constants(n=3, L_f=1.0, L_ms=2.0, L_max=9.0).L == 2.0
    assert Constants(n=3, L_f=3.0, L_ms=2.0).L == 3.0


def test_a_state_needs_only_its_point():
    assert State(1.0) == (1.0, None, None, None, None)


# --- Counts by name, and budgets as the user writes them ------------------------------------------


def test_counts_have_the_names_of_the_design_and_of_local_minimisations():
    assert COUNTED == ("fo", "sfo", "sso", "hvp", "lo", "po", "fv", "llo")
    assert set(counts.MEANING) == set(COUNTED)
    assert Counts(*range(8)).as_dict() == dict(zip(COUNTED, range(8), strict=True))


@given(st.dictionaries(st.sampled_from(COUNTED), st.integers(0, 10**15), min_size=1))
def test_a_budget_reads_what_a_user_writes(limits):
    text = ", ".join(f"{name} = {limit}" for name, limit in limits.items())
    budget = Budget.parse(text)
    assert budget == Budget(**limits)
    assert budget.limits
    assert all(getattr(budget, name) == limits.get(name, math.inf) for name in COUNTED)


def test_a_budget_may_be_written_as_a_float_or_be_infinite():
    assert Budget.parse("sfo=1e6,lo=inf") == Budget(sfo=1e6)
    assert not Budget.parse("lo=inf").limits
    assert not Budget().limits
