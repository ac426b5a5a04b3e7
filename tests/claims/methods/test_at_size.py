"""Runs at the size of use: what shows late, rarely or only there is named with its iteration."""

import re
from dataclasses import replace
from functools import partial
from statistics import median
from time import process_time

import numpy as np
import pytest
from own_styles import RIGHT, Golden, Plain
from twisted import FixedTable, OneUsed, Twice, Twisted, twisted

import pfbench.algorithms.sliding as sliding
from benchmarks.own_spider import OwnProximal
from pfbench.algorithms import ALGORITHMS
from pfbench.base.protocols import State
from pfbench.base.sample import Sample
from pfbench.claims.catalogue import CLAIMS
from pfbench.points import keep
from pfbench.verification import Subject, Trial, instance
from pfbench.verification.laws import Setting, Wanted
from pfbench.verification.laws.at_size import _decided, runs_as_its_source
from pfbench.verification.laws.method import runnable
from pfbench.verification.laws.sizes import drawn_by, scheduled
from pfbench.verification.verdict import judged

pytestmark = pytest.mark.claims

RUNS = [name.removeprefix("methods-run-") for name in CLAIMS if name.startswith("methods-run-")]
SOME = ("nfwu-caspiderg", "sagafw", "storc", "natasha15")


def sampled(names, few):
    """Return the names, all but a few marked long."""
    return [name if name in few else pytest.param(name, marks=pytest.mark.long) for name in names]


def row(name, algorithm=None, seed=0, at_seed=0):
    return judged(
        Trial(CLAIMS[f"methods-run-{name}"], Subject(algorithm), seed=seed, at_seed=at_seed)
    )


def iteration(name, algorithm):
    """Return the iteration at which a violation shows."""
    found = row(name, algorithm)
    assert found.verdict == "violated", found.reason
    return int(re.search(r"[iI]teration (\d+)", found.reason)[1])


def test_every_method_has_a_run_at_size():
    assert set(RUNS) == set(ALGORITHMS)


@pytest.mark.parametrize("name", sampled(RUNS, SOME))
def test_a_method_of_the_catalogue_holds(name):
    began = process_time()
    found = row(name, seed=7, at_seed=7)
    assert process_time() - began < 15.0
    assert found.verdict == "holds", found.reason
    assert all(v <= 1e-8 for k, v in found.measured.items() if k.endswith("deviation"))


# --- planted by hand ------------------------------------------------------------------------------


class Sgd(Plain):
    """RSPG, written anew."""

    requires = frozenset({"batch", "prox"})

    def __init__(self, iterations, step, batch):
        self.T, self.eta, self.b = iterations, step, batch

    def sample(self, rng, n, t):
        return rng.integers(n, size=self.b)

    def estimate(self, ask, rng, x, t):
        return ask.batch(self.sample(rng, ask.n, t), x)

    def run(self, ask, x, rng):
        for t in range(self.T):
            g = self.estimate(ask, rng, x, t)
            at, x = x, ask.prox(x, g, self.eta)
            yield State(x, at, g)


class EightBits(Sgd):
    """Keeps its indices in eight bits."""

    def sample(self, rng, n, t):
        return super().sample(rng, n, t).astype(np.uint8)


class EightBitsLate(EightBits):
    """Does so after iteration 1500."""

    def sample(self, rng, n, t):
        return super().sample(rng, n, t) if t >= 1500 else Sgd.sample(self, rng, n, t)


class Clipped(Sgd):
    """Clips an estimate at ten times the median of the norms so far."""

    def run(self, ask, x, rng):
        self.norms = []
        yield from super().run(ask, x, rng)

    acted = []  # noqa: RUF012

    def estimate(self, ask, rng, x, t):
        g = super().estimate(ask, rng, x, t)
        self.norms.append(np.linalg.norm(g))
        factor = min(1.0, 10.0 * median(self.norms) / max(self.norms[-1], 1e-300))
        if factor < 1.0:
            self.acted.append((ask.n, t))
        return g * factor


class LateSnapshots(Plain):
    """Prox-SVRG, written anew; after the tenth epoch a snapshot every 2p."""

    requires = frozenset({"gradient", "difference", "prox"})

    def __init__(self, iterations, step, batch, period):
        self.T, self.eta, self.b, self.p = iterations, step, batch, period

    def run(self, ask, x, rng):
        for t in range(self.T):
            if t % self.p == 0 and (t < 10 * self.p or t % (2 * self.p) == 0):
                mean, s = ask.gradient(x), keep(x)
            v = mean + ask.difference(rng.integers(ask.n, size=self.b), x, s)
            at, x = x, ask.prox(x, v, self.eta)
            yield State(x, at, v)


class Capped(sliding.StochasticNCGS):
    """Ends condg after fifty linear minimisations."""

    ended = []  # noqa: RUF012

    def run(self, ask, x, rng):
        for t, state in enumerate(super().run(ask, x, rng)):
            self.ended += [(ask.n, t)] * (capped.ended and not self.ended)
            yield state


def capped(ask, l, u, lam, eta):  # noqa: E741
    """As condg, with a cap of fifty."""
    x = keep(u)
    for _ in range(50):
        g = l + (x - u) / lam
        v = ask.lo(g)
        gap = g @ (x - v)
        if gap <= eta:
            return x
        x = x + min(1.0, gap * lam / ((v - x) @ (v - x))) * (v - x)
    capped.ended = True
    return x


capped.ended = False


def test_faults_planted_by_hand_are_named_with_their_iteration(monkeypatch):
    assert row("prox-sgd", Sgd).verdict == "holds"
    assert iteration("prox-sgd", EightBits) == 0
    assert 1500 <= iteration("prox-sgd", EightBitsLate) <= 1502
    first = iteration("prox-sgd", Clipped)
    assert 0 < first < 200  # one batch in thirty has a large component
    assert (10_000, first) == next(one for one in Clipped.acted if one[0] == 10_000)
    # A snapshot left out shows a step later: at the old one there is a difference.
    assert iteration("prox-svrg", LateSnapshots) == 11 * 4
    monkeypatch.setattr(sliding, "condg", capped)
    first = iteration("ncgs-stochastic", Capped)
    assert [(10_000, first)] == Capped.ended


class CoarseLate(Golden):
    """Searches on its grid alone from iteration 20 on."""

    searched = 0

    def search(self, ask, x, d):
        self.searched += 1
        self.width = 1e-9 if self.searched <= 20 else 1.0
        return super().search(ask, x, d)


def coarse(kind, first):
    """Return a method whose line search is that of a grid from a step on."""

    class Coarse(kind):
        calls = []  # noqa: RUF012

        def run(self, ask, x, rng):
            self.calls.clear()
            yield from super().run(ask, x, rng)

        def length(self, ask, x, g, d, most):
            found = super().length(ask, x, g, d, most)
            self.calls.append(found)
            if self.step == "short" or len(self.calls) < first:
                return found
            return most * round(4.0 * found / most) / 4.0

    return Coarse


def test_a_line_search_is_followed():
    assert iteration("frank-wolfe", CoarseLate) == 20


@pytest.mark.parametrize(("name", "first"), [("afw", 20), ("pfw", 10), ("bpfw", 10)])
def test_so_it_is_with_an_active_set(name, first):
    claim = CLAIMS[f"methods-run-{name}"]
    method = claim.check.keywords["method"]
    searching = [one for one in method.sized if one.parameters.get("step") == "line-search"]
    for where in searching:
        trial = Trial(claim, Subject(coarse(ALGORITHMS[name], first)))
        ((_, algorithm),) = runnable(trial, [where])
        found = _decided(trial, method, where, algorithm)
        assert found.verdict == "violated"
        assert first <= int(re.search(r"Iteration (\d+)", found.reason)[1]) < first + 10


class OwnBacktracking(Plain):
    """Pedregosa and others' step, each value asked anew, what is enough to the last digit."""

    requires = frozenset({"gradient", "lo", "value"})
    deterministic, output = True, "last"

    def __init__(self, iterations, step, smoothness=None):
        if step != "backtracking":
            raise ValueError(step)
        self.T, self.L = iterations, smoothness

    def run(self, ask, x, rng):
        L, before = self.L, None
        for t in range(self.T):
            g = ask.gradient(x)
            d = ask.lo(g) - x
            gap, norm, f = -np.dot(g, d), np.linalg.norm(d), ask.value(x)
            if gap <= 0:
                yield State(x, estimate=g)
                continue
            if L is None:
                L = np.linalg.norm(ask.gradient(x + 1e-3 * d) - g) / (1e-3 * norm)
            if before is not None and before > f:
                L = np.clip((gap / norm) ** 2 / (2 * (before - f)), 0.9 * L, L)
            gamma = min(gap / L / norm**2, 1)
            while ask.value(x + gamma * d) > f + gamma * (0.5 * gamma * L * norm**2 - gap):
                L *= 2
                gamma = min(gap / L / norm**2, 1)
            before, x = f, x + self.changed(gamma, t) * d
            yield State(x, estimate=g)

    def changed(self, gamma, t):
        return gamma


class ShortLate(OwnBacktracking):
    """Goes 0.999 of the way from iteration 300 on."""

    def changed(self, gamma, t):
        return gamma if t < 300 else 0.999 * gamma


def backtracked(algorithm, at_seed):
    """Return what is decided in each setting that backtracks, at drawn sizes."""
    claim = CLAIMS["methods-run-frank-wolfe"]
    method = claim.check.keywords["method"]
    trial = Trial(claim, Subject(algorithm), at_seed=at_seed)
    for where in method.sized:
        if where.parameters.get("step") == "backtracking":
            drawn = drawn_by(at_seed, where) if at_seed else where
            ((_, made),) = runnable(trial, [drawn])
            yield _decided(trial, method, drawn, made)


@pytest.mark.parametrize("at_seed", [0, 10, 22])
@pytest.mark.parametrize("algorithm", [None, OwnBacktracking])
def test_backtracking_that_rounding_decides_is_right(algorithm, at_seed):
    # At these sizes the catalogue's own was called violated.
    for found in backtracked(algorithm, at_seed):
        assert found.verdict == "holds", found.reason


@pytest.mark.parametrize("at_seed", [0, 10])
def test_backtracking_that_goes_wrong_late_is_seen(at_seed):
    found = [one for one in backtracked(ShortLate, at_seed) if one.verdict == "violated"]
    assert found
    assert all(300 <= int(re.search(r"Iteration (\d+)", one.reason)[1]) < 310 for one in found)


def test_the_run_by_the_source_s_own_schedule_ends_in_time():
    methods = {name: CLAIMS[f"methods-run-{name}"].check.keywords["method"] for name in RUNS}
    for name in ("nfwu-spiderg", "prox-svrg", "spider", "sfw"):
        where = methods[name].sized[0]
        found = scheduled(methods[name], where)
        assert found is not None, name
        assert 10 < found.parameters["iterations"] <= 2000
        printed = methods[name].schedule(Wanted(1.0, where.problem().bounds))
        assert set(found.parameters) >= {k for k, v in printed.items() if v is not None}
    for name in ("cgs", "ncgs-stochastic"):  # no T; inner loops without end
        assert scheduled(methods[name], methods[name].sized[0]) is None


def test_a_seed_draws_the_sizes_and_a_violation_tells_it():
    found, again, other = (row("prox-sgd", EightBitsLate, at_seed=seed) for seed in (5, 5, 6))
    assert found.reason == again.reason != other.reason
    assert found.reason.endswith("(--seed 0 --at-seed 5).")
    sizes = [
        re.search(r"n=(\d+).*iterations=(\d+) batch=(\d+)", one.reason) for one in (found, other)
    ]
    for number, one in enumerate(zip(*(size.groups() for size in sizes), strict=True)):
        assert one[0] != one[1], number
    right = row("prox-sgd", Sgd, at_seed=5)
    assert right.verdict == "holds"
    n, T = (float(one) for one in sizes[0].groups()[:2])
    assert right.measured["largest n"] == n
    assert right.measured["largest T"] > T  # of the run of many epochs


def test_the_drawn_sizes_are_legal():
    (natasha,) = (one for one in CLAIMS["methods-run-natasha15"].check.keywords["method"].sized[1:])
    for seed in range(1, 30):
        one = drawn_by(seed, natasha)
        assert one.parameters["snapshot"] == one.problem.parameters["n"] >= 8000
        assert one.parameters["iterations"] >= 2000
        assert 1 <= one.parameters["batch"] <= 15
    assert drawn_by(0, natasha) is natasha


def test_the_drawn_start_is_another_one_in_every_set():
    for name in ("nfwu-sg", "prox-sgd", "cgs", "muon"):
        sized = CLAIMS[f"methods-run-{name}"].check.keywords["method"].sized[0]
        problems = [drawn_by(seed, sized).problem() for seed in (0, 1, 2, 2)]
        starts = [one.start() for one in problems]
        assert np.array_equal(starts[2], starts[3])
        assert all(one.set.contains(x) for one, x in zip(problems, starts, strict=True))
        norms = {round(float(np.linalg.norm(x)), 9) for x in starts}
        assert len(norms) == 3


class Fewer(ALGORITHMS["prox-page"]):
    """Its coin never falls heads after iteration 500."""

    def run(self, ask, x, rng):
        class Stream:
            flips = 0

            def __getattr__(self, name):
                return getattr(rng, name)

            def random(self):
                self.flips += 1
                return rng.random() if self.flips <= 500 else 1.0 - 1e-9

        yield from super().run(ask, x, Stream())


def test_a_coin_that_no_longer_falls_is_seen():
    found = row("prox-page", Fewer)
    assert found.verdict == "violated"
    assert "coin falls heads with another chance" in found.reason


class FromSecondHalf(ALGORITHMS["sarah"]):
    """Goes on from the second half of an outer loop, after sixty of them."""

    def run(self, ask, x, rng):
        class Stream:
            chosen = 0

            def __getattr__(self, name):
                return getattr(rng, name)

            def integers(self, *given, **more):
                found = rng.integers(*given, **more)
                if not more:  # no batch
                    self.chosen += 1
                    found = given[0] // 2 + found // 2 if self.chosen > 60 else found
                return found

        yield from super().run(ask, x, Stream())


def test_a_point_to_go_on_from_that_is_drawn_otherwise_is_seen():
    assert 60 * 8 < iteration("sarah", FromSecondHalf) < 130 * 8


# --- faults and styles that any method can be given -----------------------------------------------


ONE_A_STEP = "storm"
"""It has no batch: what is drawn twice shows later."""


def test_components_used_twice_are_caught():
    assert iteration(ONE_A_STEP, twisted(ALGORITHMS[ONE_A_STEP], stream=Twice)) < 60


@pytest.mark.parametrize(
    "name",
    sampled([n for n in RUNS if not (ALGORITHMS[n].deterministic or n == ONE_A_STEP)], SOME[:1]),
)
def test_batches_used_twice_and_batches_of_one_component_are_caught(name):
    assert iteration(name, twisted(ALGORITHMS[name], stream=Twice)) < 10
    assert iteration(name, twisted(ALGORITHMS[name], OneUsed)) < 10


@pytest.mark.parametrize("name", sampled(["saga", "prox-saga", "sagafw"], ["sagafw"]))
def test_a_table_that_is_never_renewed_is_caught(name):
    assert iteration(name, twisted(ALGORITHMS[name], FixedTable)) < 10


@pytest.mark.parametrize("name", sampled(RIGHT, ["nfwu-spiderg", "frank-wolfe"]))
def test_a_right_method_in_another_style_holds(name):
    found = row(name, RIGHT[name])
    assert found.verdict == "holds", found.reason


class OneByOne(Sgd):
    """Asks its components one by one."""

    def estimate(self, ask, rng, x, t):
        return np.mean([ask.batch(np.array([i]), x) for i in self.sample(rng, ask.n, t)], axis=0)


class Sorted(Sgd):
    """Sorts its indices."""

    def sample(self, rng, n, t):
        return np.sort(super().sample(rng, n, t))


class Counted(Sgd):
    """Hands over counts in place of repeated indices."""

    def sample(self, rng, n, t):
        return Sample(*np.unique(super().sample(rng, n, t), return_counts=True))


class Ahead(Sgd):
    """Draws a thousand batches at once, as floats cast back; asks the next one before it yields."""

    def sample(self, rng, n, t):
        if t % 1000 == 0:
            self.drawn = np.floor(rng.random((1000, self.b)) * n).astype(np.float32)
        return self.drawn[t % 1000].astype(np.int64)

    def run(self, ask, x, rng):
        g = self.estimate(ask, rng, x, 0)
        for t in range(self.T):
            at, told, x = x, g, ask.prox(x, g, self.eta)
            g = self.estimate(ask, rng, x, t + 1) if t + 1 < self.T else None
            yield State(x, at, told)


class OneAfterOther(OwnProximal):
    """Asks both means of a difference one after the other, as OwnProximal does; here one by one."""

    def run(self, ask, x, rng):
        yield from super().run(Single(ask), x, rng)


class Single(Twisted):
    def batch(self, S, x):
        return np.mean([self.ask.batch(np.array([i]), x) for i in S], axis=0)


class EachPair(OwnProximal):
    """Asks for each drawn component at both points; the next estimate before it yields."""

    def run(self, ask, x, rng):
        g = ask.gradient(x)
        for t in range(1, self.iterations + 1):
            before, told, x = x, g, ask.prox(x, g, self.step)
            if t % self.period == 0:
                g = ask.gradient(x)
            elif t < self.iterations:
                drawn = rng.integers(ask.n, size=(self.batch, 1))
                pairs = [(ask.batch(i, x), ask.batch(i, before)) for i in drawn]
                g = g + np.mean([new - old for new, old in pairs], axis=0)
            yield State(x, before, told)


@pytest.mark.parametrize("kind", [OwnProximal, OneAfterOther, EachPair])
def test_a_method_that_stands_still_may_ask_both_means_of_a_difference(kind):
    """Its two points are one, at which it asks each batch twice; a batch used twice is caught."""
    claim = CLAIMS["methods-run-prox-spiderboost"]
    method = claim.check.keywords["method"]
    (still,) = [one for one in method.extreme if one.problem.title == "start at an optimum"]
    many = Setting(instance(still.problem, n=10_000), {**method.sized[0].parameters, **SHORT})
    one = replace(method, extreme=(), sized=(many,), schedule=None, whose="")
    brief = replace(claim, check=partial(runs_as_its_source, method=one))
    for given, verdict in ((kind, "holds"), (twisted(kind, stream=Twice), "violated")):
        found = judged(Trial(brief, Subject(given)))
        assert found.verdict == verdict, found.reason


SHORT = {"iterations": 90, "batch": 8, "period": 20}


class OwnGenerator(Sgd):
    """Draws from a generator of its own."""

    def run(self, ask, x, rng):
        yield from super().run(ask, x, np.random.Generator(np.random.MT19937(rng.integers(2**32))))


class Choice(Sgd):
    """Draws by `choice`."""

    def sample(self, rng, n, t):
        return rng.choice(n, self.b)


class Inclusive(Sgd):
    """Draws with the end counted in, as unsigned integers."""

    def sample(self, rng, n, t):
        return rng.integers(0, n - 1, size=self.b, endpoint=True, dtype=np.uint16)


class Listed(Sgd):
    """Draws a list, one by one."""

    def sample(self, rng, n, t):
        return np.array([int(rng.integers(n)) for _ in range(self.b)])


class Halves(Sgd):
    """Asks a batch in two parts, the second first."""

    def estimate(self, ask, rng, x, t):
        S = self.sample(rng, ask.n, t)
        k = self.b // 2
        parts = ask.batch(S[k:], x) * (self.b - k) + ask.batch(S[:k], x) * k
        return parts / self.b


class InPlace(Sgd):
    """Moves one array in place, and yields it again and again."""

    def run(self, ask, x, rng):
        x, at, g = x.copy(), x.copy(), np.empty_like(x)
        for t in range(self.T):
            g[:] = self.estimate(ask, rng, x, t)
            at[:] = x
            x[:] = ask.prox(x, g, self.eta)
            yield State(x, at, g)


class Weighted(Sgd):
    """Averages by weights of its own."""

    def estimate(self, ask, rng, x, t):
        S, often = np.unique(self.sample(rng, ask.n, t), return_counts=True)
        weights = often / self.b
        return ask.batch(Sample(S, often), x) * weights.sum()


class Shuffled(Sgd):
    """Shuffles its draws."""

    def sample(self, rng, n, t):
        return rng.permutation(super().sample(rng, n, t))


class ByNormals(Sgd):
    """Draws by the angles of pairs of normal numbers."""

    def sample(self, rng, n, t):
        angle = np.arctan2(*rng.normal(size=(2, self.b))) / (2.0 * np.pi) + 0.5
        return np.minimum((angle * n).astype(np.int32), n - 1)


STYLES = [
    *(OneByOne, Sorted, Counted, Ahead, OwnGenerator, Choice, Inclusive, Listed, Halves),
    *(InPlace, Weighted, Shuffled, ByNormals),
]


@pytest.mark.parametrize(
    "style",
    [
        one if n % 3 == 2 else pytest.param(one, marks=pytest.mark.long)
        for n, one in enumerate(STYLES)
    ],
)
def test_right_draws_in_another_style_hold(style):
    found = row("prox-sgd", style)
    assert found.verdict == "holds", found.reason
