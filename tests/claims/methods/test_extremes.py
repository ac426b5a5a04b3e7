"""Values that are extreme and legal: each method is its source's there, or refuses and says why."""

import numpy as np
import pytest
from own_styles import Plain

from pfbench.algorithms import ALGORITHMS
from pfbench.base.protocols import State
from pfbench.claims.catalogue import CLAIMS
from pfbench.verification import Subject, Trial
from pfbench.verification.laws.at_size import at_extremes
from pfbench.verification.subject import Broken

pytestmark = pytest.mark.claims


def looked_at(name, algorithm=None, effort="quick"):
    """Return what is decided at extremes alone."""
    claim = CLAIMS[f"methods-run-{name}"]
    return at_extremes(Trial(claim, Subject(algorithm), effort), claim.check.keywords["method"])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_method_of_the_catalogue_is_its_source_s_or_refuses(name):
    found = looked_at(name)
    assert found.verdict == "holds", found.reason
    assert found.reason.endswith("extremes.")
    assert found.measured["runs"] >= 12
    assert found.measured["relative deviation"] <= 1e-9


@pytest.mark.long
@pytest.mark.parametrize("name", ["saga", "prox-saga", "sagafw", "zerosarah", "zerosarah-fw"])
def test_so_it_is_with_a_table_where_an_index_needs_a_third_byte(name):
    assert looked_at(name, effort="full").verdict == "holds"


class Sgd(Plain):
    """Mini-batch Frank-Wolfe, with something of its own."""

    requires = frozenset({"batch", "lo"})

    def __init__(self, iterations, step, batch):
        self.T, self.gamma, self.b = iterations, step, batch

    def sample(self, rng, n):
        return rng.integers(n, size=self.b)

    def changed(self, g, gap):
        return g

    def run(self, ask, x, rng):
        for _ in range(self.T):
            g = self.changed(ask.batch(self.sample(rng, ask.n), x), 0.0)
            at, x = x, x + self.gamma * (ask.lo(g) - x)
            yield State(x, at, g)


class AtMostAll(Sgd):
    """Draws at most n."""

    def sample(self, rng, n):
        return super().sample(rng, n)[:n]


class Scaled(Sgd):
    """Divides by the squared norm, and multiplies by it: both must be numbers."""

    def changed(self, g, gap):
        square = (g @ g) ** 2
        return g / square * square


class SixteenBits(Sgd):
    """Keeps its indices in sixteen bits."""

    def sample(self, rng, n):
        return super().sample(rng, n).astype(np.uint16).astype(int)


class Floored(Sgd):
    """Tells a gradient below 1e-50 that is off by a thousandth: its vertex is the same."""

    def changed(self, g, gap):
        return g if np.abs(g).max() > 1e-50 else g * 1.001


class Stuck(Sgd):
    """Does not move where that is too little for its tolerance."""

    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            yield state if self.gamma > 1e-10 else state._replace(x=x.copy(), at=x.copy())


class Refuses(Sgd):
    """Says no to batches above n."""

    def sample(self, rng, n):
        if self.b > n:
            raise ValueError(f"batch={self.b} is above n={n}")
        return super().sample(rng, n)


class Fails(Sgd):
    """Raises where n is 1."""

    def sample(self, rng, n):
        return [super().sample(rng, n)][n // n - (n == 1) * 5]


def test_a_fault_at_an_extreme_is_seen_and_the_extreme_is_named():
    assert looked_at("sfw", Sgd).verdict == "holds"
    found = looked_at("sfw", AtMostAll)
    assert found.verdict == "violated"
    assert found.reason.startswith("n=1")
    found = looked_at("sfw", SixteenBits)
    assert found.verdict == "violated"
    assert found.reason.startswith("n=200003")
    assert "uniform" in found.reason
    with pytest.raises(Broken, match="flat"):
        looked_at("sfw", Scaled)
    with pytest.raises(Broken, match=r"n=1 .*IndexError"):
        looked_at("sfw", Fails)


def test_what_is_small_is_compared_in_proportion():
    found = looked_at("sfw", Floored)
    assert found.verdict == "violated"
    assert found.reason.startswith("gradients of 1e-100")
    found = looked_at("sfw", Stuck)
    assert found.verdict == "violated"
    assert found.reason.startswith("step 1e-12")


def test_a_refusal_is_no_fault():
    found = looked_at("sfw", Refuses)
    assert found.verdict == "holds"
    assert "It refuses n=1, n=2, batch n + 1." in found.reason
