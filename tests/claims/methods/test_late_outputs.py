"""The law of the output after long runs: late changes are seen, own draws are no violation."""

import numpy as np
import pytest
from own_styles import Restarted, RightHalf

from pfbench.algorithms import ALGORITHMS
from pfbench.claims.catalogue import CLAIMS
from pfbench.points import keep
from pfbench.verification import Subject, Trial
from pfbench.verification.laws.late_outputs import late_output
from pfbench.verification.laws.sizes import long_by

pytestmark = pytest.mark.claims

SFW, STOCHASTIC = ALGORITHMS["sfw"], ALGORITHMS["ncgs-stochastic"]


def looked_at(name, algorithm=None, at_seed=0):
    """Return what is decided of the output of long runs alone."""
    claim = CLAIMS[f"methods-run-{name}"]
    method = claim.check.keywords["method"]
    long = [long_by(at_seed, one) for one in method.long]
    return late_output(Trial(claim, Subject(algorithm), at_seed=at_seed), method, long)


def reservoir(states, rng, weight=lambda k: 1.0, until=np.inf):
    """Keep each point with the chance of its weight; of those after a time the first alone."""
    total, kept = 0.0, None
    for k, state in enumerate(states, 1):
        total += weight(k)
        if rng.random() * total < weight(k) and k <= until:
            kept = keep(state.at)
        yield state._replace(output=kept)


class Reservoir(SFW):
    """Draws its output by a reservoir."""

    until = np.inf

    def run(self, ask, x, rng):
        yield from reservoir(super().run(ask, x, rng), rng, until=self.until)


class OfFiveHundred(Reservoir):
    """Keeps none of the points beyond iteration 500."""

    until = 500


class LastBeyond(RightHalf):
    """Its output is the last point from 500 iterations on."""

    def first_of(self, T):
        return 0 if T <= 500 else T - 1


class OwnWeights(STOCHASTIC):
    """Draws its weighted output itself."""

    def run(self, ask, x, rng):
        yield from reservoir(super().run(ask, x, rng), rng, lambda k: k * (k + 1.0))


class NoLateWeights(STOCHASTIC):
    """Draws its weighted output itself, among the first 500 points."""

    def run(self, ask, x, rng):
        yield from reservoir(super().run(ask, x, rng), rng, lambda k: k * (k + 1.0), until=500)


class LateWeights(STOCHASTIC):
    """Declares weights that no longer grow beyond iteration 500."""

    def output_weight(self, k):
        return super().output_weight(min(k, 500))


class LateDeclared(RightHalf):
    """Declares another output for long runs."""

    @property
    def output(self):
        return "uniform" if self.T <= 500 else "last"

    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            yield state._replace(output=None)


class LastLoop(ALGORITHMS["sarah"]):
    """Its output after many outer loops is the last point."""

    def run(self, ask, x, rng):
        for t, state in enumerate(super().run(ask, x, rng)):
            yield state._replace(output=keep(state.at)) if t > 500 else state


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("sfw", Reservoir),
        ("storc", None),
        ("ncgs", None),
        *(
            pytest.param(*one, marks=pytest.mark.long)
            for one in (
                ("sfw", RightHalf),
                ("ncgs-stochastic", OwnWeights),
                ("sarah", None),
                ("nfwu-sg", Restarted),
            )
        ),
    ],
)
def test_a_right_output_holds_whoever_draws_it(name, right):
    found = looked_at(name, right, at_seed=3)
    assert found.verdict == "holds", found.reason


@pytest.mark.parametrize(
    ("name", "fault", "words"),
    [
        ("sfw", OfFiveHundred, "another law"),
        ("sfw", LastBeyond, "another law"),
        pytest.param(*("ncgs-stochastic", NoLateWeights, "another law"), marks=pytest.mark.long),
        ("ncgs-stochastic", LateWeights, "iteration 500: its weight"),
        ("sfw", LateDeclared, "output=last for T=2000, and uniform for T=21"),
        pytest.param("sarah", LastLoop, "another law", marks=pytest.mark.long),
    ],
)
def test_a_change_that_comes_late_is_seen(name, fault, words):
    found = looked_at(name, fault)
    assert found.verdict == "violated"
    assert words in found.reason
    assert found.reason.endswith("(--seed 0 --at-seed 0).")


@pytest.mark.long
def test_an_own_output_that_does_not_go_by_the_parameter_is_inconclusive():
    class Last(Reservoir):
        def __init__(self, **given):
            super().__init__(**{**given, "output": "last"})

    assert looked_at("sfw", Last).verdict == "inconclusive"
