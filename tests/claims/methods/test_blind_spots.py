"""What the claims about methods once did not see, and what they called violated though right."""

from dataclasses import replace

import numpy as np
import pytest
from judging import judge
from own_styles import Floor, Plain, SlidingVR

import pfbench as pf
from pfbench.algorithms import ALGORITHMS
from pfbench.base.protocols import State
from pfbench.claims.catalogue import CLAIMS
from pfbench.points import keep
from pfbench.verification import Subject, Trial

pytestmark = pytest.mark.claims


def row(what, name, algorithm):
    return judge(CLAIMS[f"methods-{what}-{name}"], Subject(algorithm))


def verdict(what, name, algorithm):
    return row(what, name, algorithm).verdict


# --- seen -----------------------------------------------------------------------------------------


class AsksOn(Floor):
    """Asks a full gradient after its last state."""

    requires = frozenset({"gradient", "batch", "lo"})

    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            x = state.x
            yield state
        ask.gradient(x)


def test_what_is_asked_after_the_last_state_is_counted():
    found = row("count", "sfw", AsksOn)
    assert found.verdict == "violated"
    assert "SFO" in found.reason


def test_a_schedule_from_the_constant_of_f_alone_is_seen():
    class FromLf(ALGORITHMS["prox-svrg"]):
        @classmethod
        def theory(cls, epsilon, constants, **given):
            right = super().theory(epsilon, constants, **given)
            step = 1.0 / (3.0 * constants.L_f)
            return replace(right, step=step)

    found = row("schedule", "prox-svrg", FromLf)
    assert found.verdict == "violated"
    assert "step" in found.reason


class Sampled(Plain):
    """Mini-batch Frank-Wolfe with something of its own."""

    requires = frozenset({"batch", "lo"})

    def __init__(self, iterations, step, batch):
        self.T, self.gamma, self.S = iterations, step, batch

    def sample(self, rng, n):
        return rng.integers(n, size=self.S)

    def changed(self, g):
        return g

    def output_of(self, rng, ats):
        return None

    def run(self, ask, x, rng):
        ats = []
        for t in range(self.T):
            g = self.changed(ask.batch(self.sample(rng, ask.n), x))
            ats.append(keep(x))
            x = x + self.gamma * (ask.lo(g) - x)
            yield State(x, ats[-1], g, self.output_of(rng, ats) if t == self.T - 1 else None)


class OneOfAll(Sampled):
    """Uses one component where the batch is as large as the sum."""

    def sample(self, rng, n):
        drawn = rng.integers(n, size=self.S)
        return np.full(n, drawn[0]) if n == self.S else drawn


class Clipped(Sampled):
    """Clips a long gradient."""

    def changed(self, g):
        return g * min(1.0, 50.0 / np.linalg.norm(g))


class Flat(Sampled):
    """Takes a small gradient for none."""

    def changed(self, g):
        return g if np.linalg.norm(g) > 1e-2 else np.ones_like(g)


@pytest.mark.parametrize("fault", [OneOfAll, Clipped, Flat])
def test_a_fault_at_batches_of_all_and_at_other_scales_is_seen(fault):
    assert verdict("estimate", "sfw", Sampled) == "holds"
    assert verdict("estimate", "sfw", fault) == "violated"


class FirstEight(Sampled):
    """Draws its output among the first eight points."""

    def output_of(self, rng, ats):
        return ats[rng.integers(min(8, len(ats)))]


def test_an_output_is_compared_beyond_eight_iterations():
    assert verdict("steps", "sfw", FirstEight) == "violated"


# --- right ----------------------------------------------------------------------------------------


class Reservoir(Sampled):
    """Keeps each point with the chance of a reservoir; it has no parameter of that name."""

    def run(self, ask, x, rng):
        yield from reservoir(super().run(ask, x, rng), rng)


def reservoir(states, rng):
    kept = None
    for t, state in enumerate(states):
        kept = keep(state.at) if rng.random() < 1.0 / (t + 1.0) else kept
        yield state._replace(output=kept)


class OwnReservoir(ALGORITHMS["sfw"]):
    """Goes by its reservoir whatever `output` it is given."""

    def run(self, ask, x, rng):
        yield from reservoir(super().run(ask, x, rng), rng)


class Last(Sampled):
    """Says itself that its last iterate is the output."""

    output = "last"


def test_an_output_is_held_to_what_the_method_declares():
    assert verdict("steps", "sfw", Reservoir) == "holds"
    assert verdict("steps", "sfw", Last) == "holds"
    found = row("steps", "sfw", OwnReservoir)
    assert found.verdict == "inconclusive"
    assert "does not go by output=last" in found.reason


class Stricter(SlidingVR):
    """Stops its inner loop at half the gap."""

    @property
    def inner(self):
        return 0.2 * self.eta


def test_a_stricter_inner_loop_is_more_work_and_no_violation():
    assert verdict("steps", "ncgs-vr", Stricter) == "holds"
    found = row("count", "ncgs-vr", Stricter)
    assert found.verdict == "inconclusive"
    assert "more work, same guarantee" in found.reason


class HalfSteps(SlidingVR):
    """Goes half as far in each step of its inner loop."""

    def condg(self, ask, v, u):
        z = np.zeros_like(u)
        while True:
            slope = v + 3.0 * self.L * z
            w = ask.lo(slope) - (u + z)
            if -slope @ w <= self.inner:
                return u + z
            z = z + 0.5 * min(1.0, -(slope @ w) / (3.0 * self.L * (w @ w))) * w


class HalfStepsInRestarts(ALGORITHMS["cgs"]):
    """The same in CGS, of whose inner loop the source says that it is a Frank-Wolfe, no more."""

    def run(self, ask, x, rng):
        inner = HalfSteps(1, 1.0, 1, 1)
        y = keep(x)
        for t in range(1, self.restarts + 1):
            x = keep(y)
            for k in range(1, self.period + 1):
                gamma = 2.0 / (k + 1.0)
                z = y + gamma * (x - y)
                inner.L, inner.eta = self.smoothness / k, self.eta(t, k)
                g = ask.gradient(z)
                x = inner.condg(ask, g, x)
                y = y + gamma * (x - y)
                yield State(y, z, g)


def test_an_inner_loop_goes_as_its_source_prints_it():
    assert verdict("steps", "ncgs-vr", HalfSteps) == "holds"
    found = row("count", "ncgs-vr", HalfSteps)
    assert found.verdict == "violated"
    assert "goes another way than its source prints" in found.reason
    assert verdict("count", "cgs", HalfStepsInRestarts) == "holds"


class BlackBox(Plain):
    """Tells its iterates alone."""

    requires = frozenset({"batch", "prox"})

    def __init__(self, iterations, step, batch):
        self.T, self.eta, self.S = iterations, step, batch

    def run(self, ask, x, rng):
        for _ in range(self.T):
            x = ask.prox(x, ask.batch(rng.integers(ask.n, size=self.S), x), self.eta)
            yield State(x)


def test_the_counts_of_a_black_box_need_no_estimate():
    assert verdict("count", "prox-sgd", BlackBox) == "holds"
    assert verdict("steps", "prox-sgd", BlackBox) == "inconclusive"


def test_a_schedule_is_held_to_its_theorem_without_a_practical_one():
    right = ALGORITHMS["storc"]

    class NoPractical:
        theory = right.theory
        run = right.run

        def __init__(self, **given):
            vars(self).update(given)

    assert not hasattr(NoPractical, "practical")
    assert verdict("schedule", "storc", NoPractical) == "holds"


def test_a_vertex_is_an_array_where_points_are_arrays():
    problem = pf.problem("matrix-regression")
    claim = CLAIMS["methods-steps-sfw"]
    steps = list(Trial(claim).follow(problem, Sampled(3, 0.1, 2)))
    assert len(steps) == 3
