"""The paper as a whole: its names, its instances, and small theorems."""

import numpy as np
import pytest

from pfbench.base.counts import Counts
from pfbench.claims.shen2019 import PAPER, sagafw
from pfbench.claims.shen2019.epoch_estimators import METHODS
from pfbench.claims.shen2019.recovery_claims import FAMILY, ONE_NUMBER
from pfbench.claims.shen2019.remark31 import REMARK, VALLEY, restart_count
from pfbench.claims.shen2019.table1 import CROSSOVERS, find_min_cost
from pfbench.claims.shen2019.table1_counts import exact_counts
from pfbench.claims.shen2019.theorem51 import CHAIN, gap_floor
from pfbench.points import combine
from pfbench.verification.trial import Trial

SPREAD = next(one for one in PAPER.mutants if one.name == "matrix-recovery-two-entries")


def test_the_claims_have_the_names_of_the_theory():
    five = ("count", "thm3.1", "mse", "unbiased", "table1")
    assert {claim.name for claim in PAPER.claims} == {
        *(f"shen2019-{family}-{estimator}" for family in five for estimator in METHODS),
        *(f"shen2019-crossover-{name}" for name in ("casvrg", "caspiderg")),
        *(f"shen2019-{name}" for name in ("rem3.1", "sagafw", "rlrmr-sso", "thm5.1")),
    }
    assert (len(PAPER.claims), len(PAPER.errata)) == (31, 18)


def test_the_runs_of_a_probability():
    assert [restart_count(delta) for delta in (0.5, 0.25, 0.2, 0.125)] == [1, 2, 3, 3]


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: claim.name)
def test_an_instance_says_what_it_is_and_makes_the_same_problem_each_time(claim):
    for family in claim.instances:
        assert len(family.description) > 40
        assert family.example().digest == family.example().digest


def test_counts_by_hand():
    """n=10, S=3, p=4, T=9: full gradients at 0, 4, 8; six differences."""
    assert exact_counts("sg", n=10, S=3, p=4, T=9) == Counts(sfo=27, lo=9)
    assert exact_counts("svrg", n=10, S=3, p=4, T=9) == Counts(fo=3, sfo=66, lo=9)
    assert exact_counts("casvrg", n=10, S=3, p=4, T=9) == Counts(fo=3, sfo=66, sso=30, hvp=78, lo=9)


@pytest.mark.parametrize("estimator", CROSSOVERS)
def test_at_the_crossover_the_costs_are_equal(estimator):
    n = 10**8
    at = CROSSOVERS[estimator].epsilon(n)
    spider = find_min_cost("spiderg", n, at).cost
    assert find_min_cost(estimator, n, at).cost == pytest.approx(spider, rel=0.02)


@pytest.mark.claims
def test_the_best_of_three_runs_keeps_the_bound_at_its_cost(judgements):
    """Beyond the three runs it costs n SFO and 1 LO each."""
    found = judgements(REMARK)
    assert found.verdict == "holds"
    assert found.measured["missed: ratio"] == 0.0
    assert 0.05 < found.claimed["share above the level"] < 0.1
    assert found.measured["condition all runs miss the level: sampled ratio"] < 2.0
    assert found.measured["condition the choice has the least gap: ratio"] < 1.0
    assert found.measured["condition cost: sfo"] == found.claimed["sfo"] > 3 * VALLEY.example().n


@pytest.mark.claims
def test_calls_to_a_target_leave_the_table_out_and_grow_with_accuracy():
    trial, problem = Trial(sagafw.SAGAFW), sagafw.FAMILY(n=60, seed=3)
    coarse, fine = (sagafw._sfo_to_gap_share(trial, problem, share, 5) for share in (0.3, 0.03))
    assert 0.0 < coarse < fine < np.inf


@pytest.mark.claims
def test_the_bound_of_the_proof_needs_more_than_one_sample_and_fewer_than_all():
    """With S = 1 a table of 64 entries is too old along the path."""
    assert sagafw.PATH().n == 224
    batch = sagafw._min_batch_for_error(Trial(sagafw.SAGAFW), 64)
    assert 1 < batch < 64


def test_the_floor_is_that_of_the_chain():
    """0.08 R; R = 230 sqrt T (shen2019 section 7.1)."""
    problem = CHAIN(T=9)
    assert problem.set.radius == pytest.approx(690.0)
    assert gap_floor(problem.set.diameter) == pytest.approx(0.08 * 690.0)
    assert CHAIN.example().horizon == 10


@pytest.mark.claims
def test_the_faults_are_seen_in_what_they_change(judgements):
    """Two entries in the Hessians alone; the method that pays too often in the count alone."""
    spread = judgements(ONE_NUMBER, SPREAD)
    assert spread.reason == "Hessian is 1, not 0."
    paid = next(one for one in PAPER.mutants if one.name == "caspiderg-fresh-hessians")
    assert judgements(ONE_NUMBER, paid).reason.startswith("SSO is ")


def test_the_faulty_hessian_has_two_entries_and_the_same_sum():
    problem, rng = FAMILY.example(), np.random.default_rng(0)
    x = combine(problem.start(), problem.set.random_vertex(rng), 0.3)
    y, one = problem.start(), np.array([4])
    right = problem.open(rng).hessian(y).batch(one, x, y)
    wrong = SPREAD.subject.problem_under_test(problem).open(rng).hessian(y).batch(one, x, y)
    assert np.flatnonzero(right).tolist() == [4]
    assert np.flatnonzero(wrong).tolist() == [4, 5]
    assert wrong.sum() == pytest.approx(right.sum())
