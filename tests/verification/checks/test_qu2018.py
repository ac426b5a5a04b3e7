"""The checks of qu2018: their bounds, their verdicts, and the faults they must catch."""

import numpy as np
import pytest

from pfbench.algorithms.sliding import NCGS, NCGSVR, StochasticNCGS
from pfbench.base.constants import Constants
from pfbench.theory import qu2018_bounds as bounds
from pfbench.theory.catalogue import CLAIMS, claim
from pfbench.verification.checks.qu2018 import CHECKS
from pfbench.verification.instruments.indefinite import slope
from pfbench.verification.mutants.qu2018 import MUTANTS
from pfbench.verification.session import judge
from pfbench.verification.subject import Subject
from pfbench.verification.trial import Trial

FAST = ("condg-stop", "condg-count", "condg-distance", "thm1-I", "thm1-II", "cor2", "cor3")

FAULTS = [(m, name) for m in MUTANTS for name in m.expected]

CHEAP = [(m, name) for m, name in FAULTS if name not in ("qu2018-thm2", "qu2018-thm3")]

KNOWN = Constants(n=27, D=2.0, L_f=0.5, L_ms=0.5, delta=3.0, sigma2=0.7, M=1.0, ell=0.1)


def test_every_claim_of_the_paper_has_a_check():
    assert set(CHECKS) == {name for name in CLAIMS if name.startswith("qu2018-")}


# --- the formulas ---------------------------------------------------------------------------------


def test_the_schedules_are_the_least_iterations_of_the_bounds():
    epsilon = 0.4
    first = NCGS.theory(epsilon, KNOWN).iterations
    assert (
        bounds.option1_least(0.5, 3.0, first) <= epsilon < bounds.option1_least(0.5, 3.0, first - 1)
    )
    second = NCGS.theory(epsilon, KNOWN, option=2).iterations
    known = 0.5, 0.1, 2.0, 1.0, 1.0
    assert (
        bounds.option2_least(*known, second) <= epsilon < bounds.option2_least(*known, second - 1)
    )
    N = StochasticNCGS.theory(epsilon, KNOWN).iterations
    known = *known, 0.7
    assert bounds.stochastic(*known, N) <= epsilon < bounds.stochastic(*known, N - 1)
    method = NCGSVR.theory(epsilon, KNOWN)
    T, m = method.iterations, method.period
    assert bounds.variance_reduced(0.5, 3.0, T) <= epsilon
    assert bounds.variance_reduced(0.5, 3.0, T - m) > epsilon
    assert bounds.variance_reduced_calls(27, method.batch, m, T) == T // 3 * (27 + 2 * 9 * 3)


def test_the_mean_of_option_one_is_the_sharper_bound():
    for N in (1, 10, 1000):
        assert bounds.option1_mean(1.0, 10.0, N) < bounds.option1_least(1.0, 10.0, N)


def test_a_condg_of_a_loose_tolerance_may_make_two_calls():
    assert bounds.condg_calls(2.0, 1.0, 24.0) == 2
    assert bounds.condg_calls(2.0, 1.0, 23.9) == 3
    assert bounds.condg_calls(1.0, 0.5, 0.01) == 1201


@pytest.mark.parametrize("N", [1, 2, 5])
def test_the_momentum_reaches_the_end_of_its_slope_just_then(N):
    """With that much room all N mappings are g; with 1 % less one of them is not."""
    for room, least in ((1.0 + 1e-9, 0.999999), (0.99, None)):
        problem = slope(1.0, room * bounds.momentum_reach(N) / 2.0, 1e4)
        g = float(np.linalg.norm(problem.gradient(problem.start())))
        sizes = []
        method = NCGS(iterations=N, smoothness=1.0, option=2)
        for step in Trial(claim("qu2018-thm1-II")).follow(problem, method):
            md = step.state.at
            sizes.append(2.0 * np.linalg.norm(md - problem.prox(md, problem.gradient(md), 0.5)))
        if least:
            assert min(sizes) >= least * g
        else:
            assert min(sizes) < 0.999 * g


# --- verdicts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAST)
def test_the_sliding_methods_keep_their_claims(name):
    row = judge(f"qu2018-{name}", Subject(), seed=1)
    expected = "holds" if name.startswith("cor") else "tight"
    assert row.verdict == expected, row.reason
    assert not row.failed


def test_the_inner_calls_are_a_twelfth_of_their_bound_where_eta_is_small():
    measured = judge("qu2018-condg-count", Subject(), seed=1).measured
    share = measured["option 1, spread over a face, eta=0.03: ratio"]
    assert share == pytest.approx(1 / 12, rel=0.05)


@pytest.mark.parametrize(("mutant", "name"), CHEAP, ids=lambda x: getattr(x, "name", x))
def test_a_planted_fault_is_called_violated(mutant, name):
    assert judge(name, mutant.subject, seed=3).verdict == "violated", mutant.about


def test_a_fault_of_variance_reduction_is_called_violated():
    mutant = next(m for m in MUTANTS if m.name == "ncgs-vr-mean-forgotten")
    assert judge("qu2018-thm3", mutant.subject, seed=3).verdict == "violated"
