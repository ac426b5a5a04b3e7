"""Matrix recovery: one number a component Hessian, faults that break it, and the errata."""

import numpy as np
import pytest
from judging import assert_shown

from pfbench.claims.shen2019 import PAPER
from pfbench.claims.shen2019.recovery_claims import (
    ERRATA,
    FAMILY,
    MUTANTS,
    ONE_NUMBER,
    SIZES,
    examine_sum_or_mean,
    examine_weight_of_section_6,
)
from pfbench.points import combine


@pytest.mark.claims
def test_a_component_hessian_is_one_number_paid_once_an_epoch(judgements):
    """T = 40, p = 11: four epochs."""
    found = judgements(ONE_NUMBER)
    assert found.verdict == "holds"
    assert SIZES[1:] == (11, 40)
    n = FAMILY.example().n
    seen = {"largest n": n, "largest d": 72, "largest T": 40, "largest components": n}
    assert found.measured == {"gradient": 0.0, "Hessian": 0.0, "SSO": 4.0 * n, **seen}


@pytest.mark.claims
def test_the_faults_are_seen_in_what_they_change(judgements):
    """Two entries in the Hessians alone; the method that pays too often in the count alone."""
    spread = judgements(ONE_NUMBER, MUTANTS[0])
    assert spread.reason == "Hessian is 1, not 0."
    paid = next(one for one in PAPER.mutants if one.name == "caspiderg-fresh-hessians")
    assert judgements(ONE_NUMBER, paid).reason.startswith("SSO is ")


def test_the_faulty_hessian_has_two_entries_and_the_same_sum():
    problem, rng = FAMILY.example(), np.random.default_rng(0)
    x = combine(problem.start(), problem.set.random_vertex(rng), 0.3)
    y, one = problem.start(), np.array([4])
    right = problem.open(rng).hessian(y).batch(one, x, y)
    wrong = MUTANTS[0].subject.problem_under_test(problem).open(rng).hessian(y).batch(one, x, y)
    assert np.flatnonzero(right).tolist() == [4]
    assert np.flatnonzero(wrong).tolist() == [4, 5]
    assert wrong.sum() == pytest.approx(right.sum())


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: erratum.name)
def test_an_erratum_is_shown(erratum):
    assert erratum.claim is None
    assert_shown(erratum)


RIGHT = {
    "shen2019-(4)": {"f_i = n psi", "V in units of f"},
    "shen2019-section6-eta": {"eta of algorithm 1", "T counts iterations", "p is a share of n"},
}


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: erratum.name)
def test_these_readings_make_the_printed_form_right(erratum):
    found = erratum.examine("quick", 4).readings
    assert {name for name, right in found.items() if right} == RIGHT[erratum.name]


def as_eta(p, T, D):
    return p / T / D


@pytest.mark.parametrize(
    ("examination", "correction"),
    [(examine_sum_or_mean, {"printed": float}), (examine_weight_of_section_6, {"printed": as_eta})],
)
def test_the_corrected_statement_is_not_seen_to_fail(examination, correction):
    found = examination("quick", 1, **correction)
    assert not found.printed_fails
    assert found.corrected_holds
