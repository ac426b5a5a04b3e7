"""Matrix recovery: one number a component Hessian, faults that break it, and the errata."""

import numpy as np
import pytest

from pfbench.claims.shen2019 import PAPER
from pfbench.claims.shen2019.recovery_claims import FAMILY, MUTANTS, ONE_NUMBER
from pfbench.points import combine


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
