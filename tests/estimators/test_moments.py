"""Mean and mean square of every estimator, exact by enumerating all batches (shen2019 GE 1-5).

With n = 4 and S = 2 there are 16 batches, so no sampling noise is left: what is compared is equal
or wrong.
"""

from itertools import product

import numpy as np
import pytest

from pfbench.estimators import CASPIDERG, CASVRG, SG, SPIDERG, SVRG
from pfbench.points import combine, keep

S, PERIOD, ITERATIONS = 2, 3, 6

ESTIMATORS = [SG(S), SVRG(S, PERIOD), SPIDERG(S, PERIOD), CASVRG(S, PERIOD), CASPIDERG(S, PERIOD)]
by_name = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.name)


class Scripted:
    """A random generator that draws the given batches (a faulty estimator may ask for more)."""

    def __init__(self, batches):
        self.batches = iter(batches)

    def integers(self, n, size):
        batch = np.array(next(self.batches, ()) or (0,) * size)
        assert batch.size == size
        assert batch.max() < n
        return batch


def follow(case, estimator, moves, rng):
    """Return the estimates and the plain points of a run that walks as told."""
    estimate = estimator.start(case.ask(), rng)
    x, estimates, points = case.problem.start(), [], []
    for v, w in moves:
        estimates.append(np.array(estimate(x)))
        points.append(case.dense(keep(x)))
        x = combine(x, v, w)
    return estimates, points


def sampled(estimator, t):
    return estimator.name == "sg" or t % PERIOD != 0


def contributions(case, name, points, t):
    """Return what component i adds to g_t (to g_t - g_{t-1} for the two SPIDERs), row by row."""
    plain, x, s = case.plain, points[t], points[t - t % PERIOD]
    if name == "sg":
        return plain.component_gradients(x)
    y = points[t - 1] if "spider" in name else s
    change = plain.component_gradients(x) - plain.component_gradients(y)
    if name.startswith("ca"):
        change = change - plain.component_hessian_products(s, x - y)
    return change


def variance(rows):
    """Return E|row - mean|^2 over uniformly drawn rows."""
    return ((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean()


def faults(case, estimator):
    """Return which statements fail: the snapshot's gradient, the mean, or the mean square."""
    found, close = set(), {"rtol": 1e-12, "atol": 1e-12}
    moves = case.moves(ITERATIONS)
    history = np.random.default_rng(5).integers(case.plain.n, size=(ITERATIONS, S)).tolist()
    for t in range(ITERATIONS):
        before = [history[k] for k in range(t) if sampled(estimator, k)]
        last = product(range(case.plain.n), repeat=S if sampled(estimator, t) else 0)
        runs = [follow(case, estimator, moves[: t + 1], Scripted([*before, B])) for B in last]
        points = runs[0][1]
        full = [case.plain.component_gradients(x).mean(axis=0) for x in points]
        g = np.array([estimates[t] for estimates, _ in runs])
        if not sampled(estimator, t):
            if not np.allclose(g[0], full[t], **close):
                found.add("snapshot")
            continue
        expected = full[t]
        if "spider" in estimator.name:
            expected = runs[0][0][t - 1] + full[t] - full[t - 1]
        if not np.allclose(g.mean(axis=0), expected, **close):
            found.add("mean")
        exact = variance(contributions(case, estimator.name, points, t)) / S
        if not np.isclose(((g - expected) ** 2).sum(axis=1).mean(), exact, **close):
            found.add("mean square")
    return found


@by_name
def test_conditional_mean_and_mean_square_are_exact(four, estimator):
    assert faults(four, estimator) == set()


@by_name
def test_mean_squared_error_of_an_epoch_adds_up(four, estimator):
    """E|g_2 - grad f(x_2)|^2 over all 256 pairs of batches at j = 1, 2."""
    moves = four.moves(3)
    batches = list(product(range(four.plain.n), repeat=S))
    first = [batches[0]] if estimator.name == "sg" else []
    errors = []
    for B1, B2 in product(batches, repeat=2):
        estimates, points = follow(four, estimator, moves, Scripted([*first, B1, B2]))
        errors.append(
            ((estimates[2] - four.plain.component_gradients(points[2]).mean(axis=0)) ** 2).sum()
        )
    terms = (1, 2) if "spider" in estimator.name else (2,)
    exact = sum(variance(contributions(four, estimator.name, points, t)) for t in terms) / S
    assert np.mean(errors) == pytest.approx(exact, rel=1e-10, abs=1e-14)
