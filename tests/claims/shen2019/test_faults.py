"""Faults that several claims must catch, and the method they are planted in."""

from dataclasses import dataclass

import numpy as np
import pytest

from pfbench.algorithms.nfwu import NFWUCASPIDERG, NFWUCASVRG, NFWUSPIDERG, NFWUSVRG
from pfbench.claims.shen2019.counts import COUNT
from pfbench.claims.shen2019.faults import MUTANTS
from pfbench.claims.shen2019.faulty import Faulty
from pfbench.claims.shen2019.unbiased import FAMILY
from pfbench.verification.trial import Trial


@pytest.mark.parametrize("method", [NFWUSVRG, NFWUSPIDERG, NFWUCASVRG, NFWUCASPIDERG])
def test_without_a_fault_it_is_the_method_itself(method):
    @dataclass(frozen=True, kw_only=True)
    class Sound(Faulty, method):
        pass

    trial, problem = Trial(COUNT["svrg"]), FAMILY.example()
    given = {"iterations": 12, "step": 0.1, "batch": 3, "period": 5}
    ours, theirs = (list(trial.follow(problem, kind(**given))) for kind in (Sound, method))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one.state.x, other.state.x, rtol=1e-13)
        np.testing.assert_allclose(one.estimate, other.estimate, rtol=1e-12)
    assert ours[-1].counts() == theirs[-1].counts()


@pytest.mark.claims
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_fault_is_caught_by_every_claim(mutant, judgements):
    assert len(mutant.expected) > 1
    for claim in mutant.expected:
        judgements.assert_caught(mutant, claim)
