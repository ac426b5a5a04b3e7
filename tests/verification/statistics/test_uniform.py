"""Uniform draws: the e-value by enumeration, its level, what it finds, and outputs of methods."""

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from pfbench.algorithms.nfwu import NFWUSPIDERG
from pfbench.base.errors import InputError
from pfbench.base.state import State
from pfbench.claims.shen2019.theorem31 import THEOREM
from pfbench.verification.statistics import LEVEL, decide_uniform
from pfbench.verification.subject import Subject
from pfbench.verification.trial import Trial


def test_under_uniform_draws_the_e_value_has_mean_one():
    """All 3^6 sequences; so it exceeds 1/level with probability at most the level (Markov)."""
    values = [
        math.exp(decide_uniform(drawn, 3).measured["log_e_value"])
        for drawn in itertools.product(range(3), repeat=6)
    ]
    assert np.mean(values) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ([13, 12, 12, 13, 12, 13, 12, 13], "holds"),
        ([0, 0, 0, 0, 25, 25, 25, 25], "violated"),
        ([100, 0, 0, 0, 0, 0, 0, 0], "violated"),
        ([9, 9, 9, 9, 9, 9, 9, 37], "inconclusive"),
    ],
)
def test_verdicts_of_draws(counts, verdict):
    decision = decide_uniform(np.repeat(np.arange(8), counts), 8)
    assert decision.verdict == verdict
    assert (decision.p_value <= LEVEL) == (verdict == "violated")
    assert decision.measured["largest share"] == max(counts) / sum(counts)


def test_what_is_no_option_rejects_at_once():
    for drawn in ([0, 1, 2, 3, 4], [0, 1, 2, -1]):
        decision = decide_uniform(drawn, 4)
        assert decision.verdict == "violated"
        assert decision.p_value == 0.0


def test_bad_draws_are_refused():
    for drawn, options in (([], 3), ([[1]], 3), ([0], 0)):
        with pytest.raises(InputError, match=r"sample|options"):
            decide_uniform(drawn, options)


# --- outputs of methods ---------------------------------------------------------------------------


class Bare:
    """Yields iterates and nothing else; no dataclass."""

    name = "bare"
    requires = frozenset({"gradient", "lo"})
    assumes = frozenset()
    deterministic = False
    output = "uniform"

    def __init__(self, iterations, step):
        self.iterations, self.step = iterations, step

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            x = self.to(ask, x)
            yield State(x)

    def to(self, ask, x):
        return x + self.step * (ask.lo(ask.gradient(x)) - x)


class OwnDraw(Bare):
    """Draws the iterate that it returns itself."""

    output = "last"

    def first(self):
        return 0

    def run(self, ask, x, rng):
        chosen, drawn = rng.integers(self.first(), self.iterations), x
        for t in range(self.iterations):
            drawn = x if t == chosen else drawn
            at, x = x, self.to(ask, x)
            yield State(x, at, output=drawn)


class SecondHalf(OwnDraw):
    """Draws among the iterates of the second half."""

    def first(self):
        return self.iterations // 2


@dataclass(frozen=True, kw_only=True)
class Last(NFWUSPIDERG):
    """Returns its last iterate."""

    output: str = field(default="last")


class Inside(NFWUSPIDERG):
    """Returns a point between two iterates."""

    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            yield state._replace(output=0.5 * (state.x + state.at))


class Turning(Bare):
    """Comes back to where it was."""

    def run(self, ask, x, rng):
        there = self.to(ask, x)
        for t in range(self.iterations):
            yield State(x if t % 2 else there, x)


@pytest.mark.parametrize(
    ("method", "verdict"),
    [
        pytest.param(NFWUSPIDERG, "holds", marks=pytest.mark.long),
        (Bare, "holds"),
        pytest.param(OwnDraw, "holds", marks=pytest.mark.long),
        (SecondHalf, "violated"),
        (Last, "violated"),
        pytest.param(Inside, "violated", marks=pytest.mark.long),
        (Turning, "inconclusive"),
    ],
)
def test_which_iterate_is_returned(method, verdict):
    trial = Trial(THEOREM["spiderg"], Subject(method))
    assert trial.decide_if_output_is_uniform().verdict == verdict
