"""The estimate of SpiderBoost on the turning bowl: its law, and faults of other hands."""

import numpy as np
import pytest
from judging import trial

from pfbench.algorithms.proximal import ProxSpiderBoost, SpiderBoost
from pfbench.base.state import State
from pfbench.claims.wang2019 import estimate, mean_mapping, theorem3
from pfbench.points import keep


def verdicts(subject):
    found = estimate.decide_law_with_method_schedule(trial(mean_mapping.THM1, subject))
    return {name: decision.verdict for name, decision in found.items()}


def test_the_methods_keep_the_law():
    holds = {"reference gradients": "holds", "error of the estimate": "holds"}
    assert verdicts(SpiderBoost) == holds
    found = estimate.decide_law_with_explicit_schedule(trial(theorem3.THM3), 1.0 / 8.0)
    assert {name: decision.verdict for name, decision in found.items()} == holds


class Written(SpiderBoost):
    """SpiderBoost with what another hand may get wrong as methods."""

    def reference(self, k, path):
        return path[-1]

    def sample(self, k, ask, rng, last):
        return rng.integers(ask.n, size=self.batch)

    def run(self, ask, x, rng):
        path, S, v = [keep(x)], None, None
        for k in range(self.iterations):
            if k % self.period == 0:
                v = np.array(ask.gradient(self.reference(k, path)))
            else:
                S = self.sample(k, ask, rng, S)
                v = v + ask.batch(S, path[-1]) - ask.batch(S, path[-2])
            x = path[-1] - self.step * v
            path.append(x)
            yield State(x, path[-2], v)


class ReferenceBefore(Written):
    """Takes the reference gradient at the point before."""

    def reference(self, k, path):
        return path[max(-2, -len(path))]


class EachBatchTwice(Written):
    """Draws a batch every other iteration."""

    def sample(self, k, ask, rng, last):
        return last if k % 2 == 0 and last is not None else super().sample(k, ask, rng, last)


class HalfBatch(Written):
    """Draws half of the batch."""

    def sample(self, k, ask, rng, last):
        return rng.integers(ask.n, size=self.batch // 2)


def test_another_hand_may_write_it_right():
    assert set(verdicts(Written).values()) == {"holds"}


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (ReferenceBefore, "reference gradients"),
        (EachBatchTwice, "error of the estimate"),
        (HalfBatch, "error of the estimate"),
    ],
)
def test_faults_are_seen(fault, seen):
    assert verdicts(fault)[seen] == "violated"


class WithoutReplacement(Written):
    """Draws its batch without replacement: its error is smaller."""

    def sample(self, k, ask, rng, last):
        return rng.choice(ask.n, size=self.batch, replace=False)


class Silent(ProxSpiderBoost):
    """Says neither where its estimates are formed nor what they are."""

    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            yield State(state.x)


def test_a_right_method_of_another_style_is_not_violated():
    assert set(verdicts(WithoutReplacement).values()) == {"holds"}
    assert verdicts(Silent) == {}
