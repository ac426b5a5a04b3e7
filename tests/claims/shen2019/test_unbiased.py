"""Conditional means: on the methods, on faults, and where batches cannot be enumerated."""

import numpy as np
import pytest
from claims.own_methods import Stream, Unenumerable
from claims.variants.nfwu_epochs import SpiderSum
from judging import judge

import pfbench as pf
from pfbench.algorithms.nfwu import NFWUSG, NFWUSPIDERG
from pfbench.claims.shen2019.unbiased import FAMILY, UNBIASED
from pfbench.verification.subject import Subject


def test_the_instance_has_three_components_and_follows_its_generator():
    first, again, other = (FAMILY(np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.n == 3
    assert first.digest == again.digest != other.digest


class Shifted(Stream):
    """Never draws the last component, and the first twice as often."""

    def integers(self, n, size):
        return np.maximum(0, super().integers(n, size) - 1)


class Uneven(NFWUSPIDERG):
    """SPIDERG that draws in such a way."""

    def run(self, ask, x, rng):
        yield from super().run(ask, x, Shifted(rng, 1.0))


@pytest.mark.long
@pytest.mark.claims
def test_where_no_draw_can_be_enumerated_the_mean_is_sampled():
    found = judge(UNBIASED["spiderg"], Subject(Unenumerable))
    assert found.verdict == "holds"
    assert 0.0 < found.measured["half width of the interval"] < 0.1


@pytest.mark.claims
def test_a_sampled_mean_that_is_off_is_violated():
    wrong = judge(UNBIASED["spiderg"], Subject(Uneven))
    assert wrong.verdict == "violated"
    assert wrong.p_value < 1e-7


class AtTheStart(SpiderSum):
    """Takes every reference gradient at x_0."""

    reference = staticmethod(lambda start, previous, x: start)

    def run(self, ask, x, rng):
        start, old, v = x.copy(), x, None
        for t in range(self.iterations):
            if t % self.period == 0:
                v = ask.gradient(self.reference(start, old, x))
            else:
                v = v + ask.difference(rng.integers(ask.n, size=self.batch), x, old)
            old, x = x, pf.combine(x, ask.lo(v), self.step)
            yield pf.State(x, old, v)


class OneLate(AtTheStart):
    """Takes every reference gradient at x_{t-1}."""

    reference = staticmethod(lambda start, previous, x: previous)


class OneLateByFloats(OneLate):
    """The same, where draws cannot be enumerated."""

    def run(self, ask, x, rng):
        yield from super().run(ask, x, Stream(rng, 1.0))


class Epochwise(SpiderSum):
    """The batches of an epoch share no component: given the past they are not uniform."""

    def run(self, ask, x, rng):
        old, v = None, None
        for t in range(self.iterations):
            if t % self.period == 0:
                v, order = ask.gradient(x), np.resize(rng.permutation(ask.n), 99)
            else:
                j = t % self.period
                v = v + ask.difference(order[(j - 1) * self.batch : j * self.batch], x, old)
            old, x = x, pf.combine(x, ask.lo(v), self.step)
            yield pf.State(x, old, v)


@pytest.mark.claims
@pytest.mark.parametrize(
    "fault", [AtTheStart, OneLate, pytest.param(OneLateByFloats, marks=pytest.mark.long)]
)
def test_a_reference_gradient_at_another_point_is_caught_at_the_snapshots(fault):
    found = judge(UNBIASED["spiderg"], Subject(fault))
    assert found.verdict == "violated"
    assert found.measured["at snapshots"] > 1e-3


@pytest.mark.claims
def test_the_mean_is_that_given_the_past():
    found = judge(UNBIASED["spiderg"], Subject(Epochwise))
    assert found.verdict == "violated"
    assert found.measured["at snapshots"] < 1e-12


@pytest.mark.claims
def test_a_constant_offset_needs_no_spread_to_be_seen():
    class Off(NFWUSG):
        """Adds 1 to what it minimises; its batch is everybody."""

        requires = NFWUSG.requires | {"gradient"}

        def run(self, ask, x, rng):
            for _ in range(self.iterations):
                rng.normal()
                g = ask.gradient(x) + self.offset
                at, x = x, pf.combine(x, ask.lo(g), self.step)
                yield pf.State(x, at, g)

        offset = 1.0

    class Right(Off):
        """The gradient itself: no spread, and nothing off."""

        offset = 0.0

    assert judge(UNBIASED["sg"], Subject(Off)).verdict == "violated"
    assert judge(UNBIASED["sg"], Subject(Right)).verdict == "holds"
