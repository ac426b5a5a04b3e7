"""Kinds of faults that no operator makes: matrices, streams, dependence, control flow, late."""

import re

import numpy as np
import pytest
from judging import judge

import pfbench as pf
from pfbench.algorithms import ALGORITHMS
from pfbench.base.errors import BudgetExhausted
from pfbench.claims.catalogue import CLAIMS
from pfbench.verification.subject import Subject

pytestmark = pytest.mark.claims


def judge_by(what, name, kind):
    return judge(CLAIMS[f"methods-{what}-{name}"], Subject(kind))


class Sampled(ALGORITHMS["sfw"]):
    """SFW with something of its own."""

    def draw(self, ask, rng, t):
        return rng.integers(ask.n, size=self.batch)

    def vertex(self, ask, g):
        return ask.lo(g)

    def length(self, t):
        return self.step

    def run(self, ask, x, rng):
        for t in range(self.iterations):
            g = ask.batch(self.draw(ask, rng, t), x)
            at, x = x, pf.points.combine(x, self.vertex(ask, g), self.length(t))
            yield pf.State(x, at, g)


class Unseeded(Sampled):
    """Ignores its stream."""

    def draw(self, ask, rng, t):
        return super().draw(ask, np.random.default_rng(), t)


class Swallows(Sampled):
    """Lets no exception of an oracle pass."""

    def vertex(self, ask, g):
        try:
            return ask.lo(g)
        except (Exception, BudgetExhausted):
            return 0.0 * g


class HalvedLate(Sampled):
    """Halves its step from step 1000 on."""

    def length(self, t):
        return self.step * (0.5 if t >= 1000 else 1.0)


class CountsOtherVertices(ALGORITHMS["frank-wolfe"]):
    """Its open loop stands still once seven linear minimisations had the same vertex."""

    def run(self, ask, x, rng):
        if self.step != "open-loop":
            yield from super().run(ask, x, rng)
            return
        t, equal, last = 0, 0, None
        for _ in range(self.iterations):
            g = ask.gradient(x)
            v = ask.lo(g)
            equal = equal + 1 if last is not None and np.array_equal(v, last) else 0
            at, x, last = x, pf.points.combine(x, v, self.offset / (t + self.offset)), v
            t += equal < 7
            yield pf.State(x, at, g)


class SpectralNorm(ALGORITHMS["spider"]):
    """Takes the spectral norm for the Euclidean one, which are the same of a vector."""

    def run(self, ask, x, rng):
        estimate = self.estimator.start(ask, rng)
        longest = np.inf if self.lam is None else self.lam
        for _ in range(self.iterations):
            v = estimate(x)
            norm = float(np.linalg.norm(v, 2))
            if self.option == 1 and norm <= 2.0 * self.tolerance:
                return
            eta = self.step / norm if norm > 0.0 else 0.0
            at, x = x, ask.prox(x, v, min(eta, longest) if self.option == 2 else eta)
            yield pf.State(x, at, v, x if self.option == 1 else None)


class Doubled:
    """Oracles whose linear minimisation is doubled for matrices with more rows than columns."""

    def __init__(self, ask):
        self.ask = ask

    def __getattr__(self, name):
        return getattr(self.ask, name)

    def lo(self, g):
        """Return the minimiser of <g, v>, or twice that."""
        v = self.ask.lo(g)
        return 2.0 * v if v.ndim > 1 and len(v) > v.shape[1] else v


class TallDoubled(ALGORITHMS["muon"]):
    """Takes a double step where a matrix has more rows than columns."""

    def run(self, ask, x, rng):
        yield from super().run(Doubled(ask), x, rng)


class Exclusive(ALGORITHMS["prox-saga"]):
    """Stores only components that it did not use; each batch alone is uniform."""

    def run(self, ask, x, rng):
        table = ask.table(x)
        for _ in range(self.iterations):
            I = rng.integers(ask.n, size=self.batch)  # noqa: E741
            J = (I + 1 + rng.integers(ask.n - 1, size=self.batch)) % ask.n if ask.n > 1 else I
            g = table.difference(I, x) + table.mean
            table.replace(J, x)
            at, x = x, ask.prox(x, g, self.step)
            yield pf.State(x, at, g)


class NeverLast(ALGORITHMS["sarah"]):
    """Never goes on from the last point of an epoch, where that has more than four."""

    def run(self, ask, x, rng):
        class Fewer:
            def integers(self, high, size=None):
                return rng.integers(high - (size is None and high > 4), size=size)

        return super().run(ask, x, Fewer())


class Ahead(ALGORITHMS["svrg"]):
    """Queries its next estimate before it yields, with differences the other way round."""

    def run(self, ask, x, rng):
        def estimate(t, x):
            nonlocal snapshot, mean
            if t % self.period == 0:
                snapshot, mean = x, ask.gradient(x)
            return mean - ask.difference(rng.integers(ask.n, size=self.batch), snapshot, x)

        snapshot = mean = None
        g = estimate(0, x)
        for t in range(self.iterations):
            at, x, now = x, ask.prox(x, g, self.step), g
            if t + 1 < self.iterations:
                g = estimate(t + 1, x)
            yield pf.State(x, at, now)


@pytest.mark.long
def test_a_method_that_queries_ahead_and_exchanges_points_is_followed():
    found = judge_by("run", "svrg", Ahead)
    assert found.verdict == "holds", found.reason


@pytest.mark.parametrize(
    ("what", "name", "kind", "words"),
    [
        ("run", "sfw", Unseeded, "two runs with seed"),
        ("run", "sfw", Swallows, "after its budget is spent"),
        ("run", "sfw", HalvedLate, "iteration 1000: State.x"),
        ("run", "frank-wolfe", CountsOtherVertices, "radius=0.45"),
        ("run", "spider", SpectralNorm, "2x3"),
        ("run", "muon", TallDoubled, "3x2"),
        pytest.param("law", "prox-saga", Exclusive, "iteration", marks=pytest.mark.long),
        ("law", "sarah", NeverLast, "continues from points"),
    ],
)
def test_a_fault_is_violated_with_its_place(what, name, kind, words):
    found = judge_by(what, name, kind)
    assert found.verdict == "violated", found.reason
    assert re.search(words, found.reason), found.reason
    assert "--seed" in found.reason or "budget" in words
