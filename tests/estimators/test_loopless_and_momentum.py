"""Estimators with a coin, a table or an average: their exact laws.

The law of the next error, given the past, is compared by enumerating all 16 batches of two among
four components, and both sides of the coin: equal to 1e-12, or wrong.
"""

from itertools import product

import numpy as np
import pytest
from twisted import Twisted

from pfbench.base.errors import InputError
from pfbench.estimators.epochs import LSVRG, PAGE
from pfbench.estimators.gradient_tables import ZeroSARAH
from pfbench.estimators.momentum import MARS, STORM, HeavyBall, Transport, VanishingWeights
from pfbench.points import combine, keep

S, T, P, ALPHA, LAM, GAMMA = 2, 5, 0.4, 0.3, 0.35, 0.6
FADING = VanishingWeights(0.5, scale=0.9, offset=2.0)

ESTIMATORS = {
    "page": PAGE(S, P),
    "lsvrg": LSVRG(S, P),
    "zerosarah": ZeroSARAH(S, LAM),
    "zerosarah, zero": ZeroSARAH(S, LAM, filled=False),
    "storm": STORM(S, ALPHA),
    "storm, fading": STORM(S, FADING),
    "storm, snapshot": STORM(S, ALPHA, snapshot=3),
    "mars": MARS(S, ALPHA, gamma=GAMMA),
    "mars, snapshot": MARS(S, FADING, 3, GAMMA),
    "heavy-ball": HeavyBall(S, ALPHA),
    "heavy-ball, fading": HeavyBall(S, FADING),
}
COINED = {"page", "lsvrg"}
by_name = pytest.mark.parametrize("name", ESTIMATORS)


class Draws:
    """A stream that draws the given batches and coins."""

    def __init__(self, batches, coins):
        self.batches, self.coins = iter(batches), iter(coins)

    def integers(self, n, size):
        batch = np.array(next(self.batches), dtype=np.int64)
        assert batch.shape == (size,)
        return batch

    def random(self):
        return 0.0 if next(self.coins) else 0.999


def alpha(name, t):
    a = ESTIMATORS[name].alpha
    return min(1.0, 0.9 / (t + 2.0) ** 0.5) if isinstance(a, VanishingWeights) else a


def stored(name, G, batches, t):
    """Return ZeroSARAH's table before step t, from the batches of the steps before."""
    filled = ESTIMATORS[name].filled
    y = G[0].copy() if filled else np.zeros_like(G[0])
    for k, B in enumerate(batches[: t - filled], start=int(filled)):
        y[B] = G[k][B]
    return y


def law(name, g, G, batches, coins):
    """Return E e_t given the past, from what is known before the last step (THEORY2, part A)."""
    t, n, kind = len(G) - 1, len(G[0]), name.partition(",")[0]
    full, before = G[t].mean(axis=0), G[t - 1].mean(axis=0)
    e = ((g - before) ** 2).sum()

    def spread(rows):
        return ((rows - rows.mean(axis=0)) ** 2).sum() / n

    if kind == "page":
        return (1 - P) * (e + spread(G[t] - G[t - 1]) / S)
    if kind == "lsvrg":
        w = max((k for k in range(1, t) if coins[k - 1]), default=0)
        return (1 - P) * spread(G[t] - G[w]) / S
    if kind == "zerosarah":
        X = G[t] - G[t - 1] + LAM * (G[t - 1] - stored(name, G, batches, t))
        return (1 - LAM) ** 2 * e + spread(X) / S
    a = alpha(name, t)
    if kind == "storm":
        return (1 - a) ** 2 * e + spread(G[t] - (1 - a) * G[t - 1]) / S
    if kind == "mars":
        bias = (1 - a) * (g - before + (GAMMA - 1) * (full - before))
        return bias @ bias + spread((1 - a) * GAMMA * (G[t] - G[t - 1]) + a * G[t]) / S
    return (1 - a) ** 2 * ((g - full) ** 2).sum() + a**2 * spread(G[t]) / S


def walked(case, name, batches, coins, steps):
    """Return the estimates and the component gradients at each point."""
    estimate = ESTIMATORS[name].start(case.ask(), Draws(batches, coins))
    x, found, G = case.problem.start(), [], []
    for v, w in case.moves(steps):
        found.append(np.array(estimate(x)))
        G.append(case.plain.component_gradients(case.dense(keep(x))).reshape(case.plain.n, -1))
        x = combine(x, v, w)
    return [g.ravel() for g in found], G


def history(name, seed):
    """Return batches and coins of a run; the first batch may have a size of its own."""
    rng = np.random.default_rng(seed)
    batches = rng.integers(4, size=(T, S)).tolist()
    batches[:2] = [[i, i] for i, _ in batches[:2]]  # a component that is drawn twice is stored once
    if (snapshot := getattr(ESTIMATORS[name], "snapshot", None)) is not None:
        batches[0] = rng.integers(4, size=snapshot).tolist()
    return batches, [bool(b) for b in rng.integers(2, size=T)]


def law_is_off(four, name, estimates):
    """Return the largest relative deviation of E e_t from the law, given each of three pasts."""
    off = 0.0
    for steps in (2, 3, 4):
        batches, coins = history(name, steps)
        mean = 0.0
        for coin in (False, True) if name in COINED else (False,):
            chance = (P if coin else 1 - P) if name in COINED else 1.0
            for B in product(range(4), repeat=S):
                past = batches[: used_before(name, coins, steps - 1)]
                flips = [*coins[: steps - 2], coin]
                found, G = estimates(four, name, [*past, list(B)], flips, steps)
                error = found[-1] - G[-1].mean(axis=0)
                mean += chance * (error @ error) / 4**S
        right = law(name, found[-2], G, batches, coins)
        off = max(off, abs(mean - right) / right)
    return off


def used_before(name, coins, steps):
    """Return how many batches the first `steps` estimates draw."""
    if name in COINED:
        return sum(not coin for coin in coins[: steps - 1])
    return steps - (name == "zerosarah")


@by_name
def test_the_error_has_its_law(four, name):
    assert law_is_off(four, name, walked) < 1e-12


# --- the check can fail: planted faults -----------------------------------------------------------


class OtherBatch(Twisted):
    """Asks one of two points with another batch."""

    calls = 0

    def batch(self, S, x):
        self.calls += 1
        return self.ask.batch(S if self.calls % 2 else (S + 1) % self.n, x)

    def difference(self, S, x, y):
        return self.ask.batch(S, x) - self.ask.batch((S + 1) % self.n, y)


class TwiceStored(Twisted):
    """A table whose mean is updated with multiplicity."""

    def table(self, x):
        ask, n = self.ask, self.n

        class Table:
            right = ask.table(x)
            mean = right.mean

            def difference(self, S, x):
                return self.right.difference(S, x)

            def replace(self, S, x):
                change = self.right.replace(S, x)
                self.mean = self.mean + change * len(S) / n
                return change

        return Table()


def through(oracles):
    def estimates(case, *given):
        right = case.ask

        class Changed:
            problem, plain, moves, dense = case.problem, case.plain, case.moves, case.dense

            def ask(self):
                return oracles(right())

        return walked(Changed(), *given)

    return estimates


@pytest.mark.parametrize("name", ["page", "lsvrg", "storm"])
def test_different_batches_at_the_two_points_are_caught(four, name):
    assert law_is_off(four, name, through(OtherBatch)) > 1e-3


def test_a_mean_that_is_updated_with_multiplicity_is_caught(four):
    assert law_is_off(four, "zerosarah", through(TwiceStored)) > 1e-3


@pytest.mark.parametrize(
    ("name", "faulty"),
    [
        ("storm", STORM(S, 1.0 - ALPHA)),
        ("storm", HeavyBall(S, ALPHA)),
        ("heavy-ball", STORM(S, ALPHA)),
        ("zerosarah", ZeroSARAH(S, 0.9)),
    ],
)
def test_another_weight_and_no_correction_are_caught(four, name, faulty, monkeypatch):
    def estimates(*given):
        with monkeypatch.context() as patch:
            patch.setitem(ESTIMATORS, name, faulty)
            return walked(*given)

    assert law_is_off(four, name, estimates) > 1e-3


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: PAGE(0, P), "batch=0"),
        (lambda: PAGE(2, 0.0), "refresh=0"),
        (lambda: LSVRG(2, 1.5), "refresh=1.5"),
        (lambda: ZeroSARAH(2, 0.0), "lam=0"),
        (lambda: STORM(2, 1.1), "alpha=1.1"),
        (lambda: HeavyBall(2, 0.1, 0), "snapshot=0"),
        (lambda: VanishingWeights(0.0), "power=0"),
    ],
)
def test_bad_parameters_are_refused_by_name(wrong, words):
    with pytest.raises(InputError, match=words):
        wrong()


def test_an_average_is_biased_and_says_so():
    assert not any(cls.unbiased for cls in (HeavyBall, MARS, Transport))
    assert all(cls.unbiased for cls in (PAGE, LSVRG, ZeroSARAH, STORM))


def test_the_weights_fade():
    assert [VanishingWeights(1.0)(t) for t in range(3)] == [1.0, 0.5, 1 / 3]
    assert VanishingWeights(2 / 3, scale=4.0, offset=8.0)(0) == 1.0
    assert VanishingWeights(2 / 3, scale=4.0, offset=8.0)(19) == pytest.approx(4 / 9)
