"""Conditional means: on the methods, on faults, and where batches cannot be enumerated."""

import numpy as np
import pytest
from judging import assert_caught, judge

from pfbench.algorithms.nfwu import NFWUSPIDERG
from pfbench.claims.shen2019.unbiased import FAMILY, MUTANTS, UNBIASED
from pfbench.verification.subject import Subject


def test_the_instance_has_four_components_and_follows_its_generator():
    first, again, other = (FAMILY(np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.n == 4
    assert first.digest == again.digest != other.digest


@pytest.mark.claims
@pytest.mark.parametrize("estimator", UNBIASED)
def test_the_methods_are_unbiased_to_rounding(estimator):
    found = judge(UNBIASED[estimator])
    assert found.verdict == "holds"
    assert found.measured["relative deviation"] < 1e-14


@pytest.mark.claims
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_fault_is_caught(mutant):
    for claim in mutant.expected:
        assert_caught(mutant, claim, seed=0)


class Floats:
    """A stream whose draws nobody can enumerate; `shift` lowers some."""

    def __init__(self, rng, shift):
        self.rng, self.shift = rng, shift

    def integers(self, n, size):
        return np.maximum(0, (self.rng.random(size) * n).astype(np.int64) - self.shift)


class Unenumerable(NFWUSPIDERG):
    """SPIDERG that draws in such a way."""

    shift = 0

    def run(self, ask, x, rng):
        yield from super().run(ask, x, Floats(rng, self.shift))


class Uneven(Unenumerable):
    """Never draws the last component, and the first twice as often."""

    shift = 1


@pytest.mark.claims
def test_where_no_draw_can_be_enumerated_the_mean_is_sampled():
    found = judge(UNBIASED["spiderg"], Subject(Unenumerable))
    assert found.verdict == "holds"
    assert 0.0 < found.measured["half width of the interval"] < 0.1
    wrong = judge(UNBIASED["spiderg"], Subject(Uneven))
    assert wrong.verdict == "violated"
    assert wrong.p_value < 1e-7
