"""The checks of lacoste2016: their bounds, their verdicts, and the faults they must catch."""

from math import sqrt

import numpy as np
import pytest

from pfbench.theory import lacoste2016_bounds as bounds
from pfbench.theory.catalogue import CLAIMS
from pfbench.verification.checks.lacoste2016 import CHECKS
from pfbench.verification.mutants.lacoste2016 import MUTANTS
from pfbench.verification.session import judge
from pfbench.verification.subject import Subject

SLOW = {"lacoste2016-rate"}

FAULTS = [(m, name) for m in MUTANTS for name in m.expected if name not in SLOW]


def test_every_claim_of_the_paper_has_a_check():
    assert set(CHECKS) == {name for name in CLAIMS if name.startswith("lacoste2016-")}


@pytest.mark.parametrize("gap", [0.1, 0.9, 1.0, 1.1, 5.0])
def test_the_decrease_is_the_best_of_the_quadratic_model(gap):
    """(9) is the maximum over gamma in [0, 1] of gamma g - gamma^2 C/2, with C = 1."""
    gamma = np.linspace(0.0, 1.0, 100001)
    best = float((gamma * gap - gamma**2 / 2).max())
    assert bounds.decrease(gap, 1.0) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("h0", [0.1, 0.5, 1.0, 7.3])
def test_the_sharp_bound_follows_from_the_decrease(h0):
    """If g_k >= b for all k <= t then (t+1) decrease(b) <= h0: (15) is the root b of equality."""
    C = 1.0
    for t in range(60):
        root = bounds.sharp_least_gap(h0, C, t)
        assert (t + 1) * bounds.decrease(root, C) == pytest.approx(h0)
        assert root <= bounds.least_gap(h0, C, t) * (1 + 1e-12)
        assert bounds.least_gap(h0, C, t) == max(2 * h0, C) / sqrt(t + 1)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [("descent", "tight"), ("thm1", "tight"), ("affine", "holds"), ("local", "tight")],
)
def test_frank_wolfe_keeps_its_claims(name, verdict):
    row = judge(f"lacoste2016-{name}", Subject(), seed=1)
    assert row.verdict == verdict, row.reason
    assert not row.failed


def test_the_rate_binds_on_the_chain():
    row = judge("lacoste2016-rate", Subject(), seed=1)
    assert row.verdict == "tight", row.reason
    assert row.measured["zero chain, LO: slope"] == pytest.approx(2.0, abs=0.05)


def test_the_bound_15_is_nearly_reached_and_6_within_a_third():
    measured = judge("lacoste2016-thm1", Subject(), seed=2).measured
    assert 0.996 <= measured["(15), adaptive: ratio"] <= 1 + 1e-9
    assert 0.7 <= measured["(6), adaptive: ratio"] <= 1 + 1e-9


@pytest.mark.parametrize(("mutant", "name"), FAULTS, ids=lambda x: getattr(x, "name", x))
def test_a_planted_fault_is_called_violated(mutant, name):
    assert judge(name, mutant.subject, seed=3).verdict == "violated", mutant.about
