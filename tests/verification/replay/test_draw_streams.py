"""Draws of a run: those of which the repeats are unknown, and how a coin is read."""

from dataclasses import dataclass

import numpy as np
import pytest
from judging import judge

import pfbench as pf
from pfbench.claims.catalogue import CLAIMS
from pfbench.verification.replay.draw_streams import examine_draw_law
from pfbench.verification.replay.draws import ResolvedDraws
from pfbench.verification.subject import Subject


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("fewest", [0, 8])
def test_a_table_may_be_queried_once_for_a_repeated_component(once, fewest):
    n, size, rng = 16, 4, np.random.default_rng(0)
    log = ResolvedDraws()
    for t in range(600):
        log.batches.append((t, rng.integers(n, size=size)))
        J = rng.integers(fewest, n, size=size)
        distinct = np.unique(J)
        if once or len(distinct) == size:
            log.stored.append((t, distinct, np.full(size, -1)))
        else:
            log.batches.append((t, J))
    found = examine_draw_law([log], n, None)
    assert log.has_table_repeats_queried_once == once
    assert bool(found.violation) == bool(fewest)


@dataclass(frozen=True, kw_only=True)
class Divided(pf.Algorithm):
    """PAGE that divides a difference by the probability with which it takes one."""

    requires = frozenset({"gradient", "difference", "smooth"})
    output: str = "uniform"
    iterations: int
    step: float
    batch: int
    refresh: float

    def run(self, ask, x, rng):
        old = x
        for t in range(self.iterations):
            if t == 0 or rng.random() < self.refresh:
                g = ask.gradient(x)
            else:
                S = rng.integers(ask.n, size=self.batch)
                g = g + ask.difference(S, x, old) / (1.0 - self.refresh)
            old, x = x, x - self.step * g
            yield pf.State(x, old, g)


def test_a_difference_over_all_components_is_read_as_tails():
    found = judge(CLAIMS["methods-run-page"], Subject(Divided))
    assert found.verdict == "violated"
    assert "difference of components [0, 1]" in found.reason
    assert "coin tails at t=1" in found.reason


def test_of_rejected_draws_the_most_deviating_outcome_is_shown():
    drawn = np.random.default_rng(0).integers(5, size=600)
    most = np.bincount(drawn).argmax()
    pairs = f"of 600 groups of 2 indices, {sum(drawn == most)} are [{most}, {most}], expected 24"
    few = "of 600 indices, 0 are [4], expected 120"
    for indices, shown in ((drawn, ""), (drawn % 4, few), (np.repeat(drawn, 2), pairs)):
        log = ResolvedDraws(batches=[(t, indices[t : t + 1]) for t in range(len(indices))])
        assert examine_draw_law([log], 5, None).violation.partition(": ")[2] == shown
