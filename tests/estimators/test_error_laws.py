"""The five laws of shen2019 for E|g_t - grad f(x_t)|^2, with each problem's own constants.

The error is exact: a batch of 1 is enumerated over all n draws, and the draws are independent, so
the two SPIDERs' errors add up along the epoch. A batch of S divides it by S (`test_moments`).
"""

import numpy as np
import pytest

from pfbench.estimators import CASPIDERG, CASVRG, SG, SPIDERG, SVRG
from pfbench.points import combine, keep

PERIOD = 7

LAWS = {
    "sg": lambda c, j, eta: c.sigma2,
    "svrg": lambda c, j, eta: c.L_ms**2 * (j * eta) ** 2,
    "spiderg": lambda c, j, eta: c.L_ms**2 * j * eta**2,
    "casvrg": lambda c, j, eta: c.L2_ms**2 * (j * eta) ** 4 / 4,
    "caspiderg": lambda c, j, eta: c.L2_ms**2 * eta**4 * j * (4 * j**2 - 1) / 12,
}
"""Each law for S = 1: a bound of the error j steps of length eta after the snapshot."""

ESTIMATORS = [SG(1), SVRG(1, PERIOD), SPIDERG(1, PERIOD), CASVRG(1, PERIOD), CASPIDERG(1, PERIOD)]
by_name = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.name)


class Draws:
    """Draws component 0 until the last iteration, then component i."""

    def __init__(self, at, i):
        self.left, self.i = at, i

    def integers(self, n, size):
        self.left -= 1
        return np.full(size, self.i if self.left == 0 else 0)


def errors(case, estimator, moves):
    """Return the exact mean-squared error for j = 1, ..., len(moves) - 1."""
    plain = case.plain
    first = 1 if estimator.name == "sg" else 0

    def run(draws, t):
        estimate = estimator.start(case.ask(), draws)
        x, g, full = case.inside(), [], []
        for v, w in moves[: t + 1]:
            g.append(np.array(estimate(x)))
            full.append(plain.component_gradients(case.dense(keep(x))).mean(axis=0))
            x = combine(x, v, w)
        return g, full

    per_step = []
    for j in range(1, len(moves)):
        squares = []
        for i in range(plain.n):
            g, full = run(Draws(j + first, i), j)
            error = g[j] - full[j]
            if "spider" in estimator.name:
                error = error - (g[j - 1] - full[j - 1])
            squares.append(error @ error)
        per_step.append(np.mean(squares))
    return np.cumsum(per_step) if "spider" in estimator.name else np.array(per_step)


def bounds(case, name, eta):
    constants = case.problem.constants(case.problem.start())
    return np.array([LAWS[name](constants, j, eta) for j in range(1, PERIOD)])


@by_name
@pytest.mark.parametrize("eta", [1e-2, 0.3])
@pytest.mark.parametrize("straight", [True, False])
def test_law_holds(small, estimator, eta, straight):
    measured = errors(small, estimator, small.steps(PERIOD, eta, straight=straight))
    assert (measured <= bounds(small, estimator.name, eta) * (1 + 1e-9)).all()


@pytest.mark.parametrize(
    ("estimator", "law"),
    [(SVRG(1, PERIOD), "casvrg"), (SPIDERG(1, PERIOD), "caspiderg"), (SG(1), "svrg")],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_law_is_broken_by_an_estimator_it_is_not_for(small, estimator, law):
    eta = 1e-2
    measured = errors(small, estimator, small.steps(PERIOD, eta))
    assert (measured > bounds(small, law, eta)).any()


@pytest.mark.parametrize(
    ("estimator", "power"),
    [
        (SVRG(1, PERIOD), 2),
        (SPIDERG(1, PERIOD), 2),
        (CASVRG(1, PERIOD), 4),
        (CASPIDERG(1, PERIOD), 4),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_error_scales_with_the_step_as_the_law_says(small, estimator, power):
    small_steps, steps = (
        errors(small, estimator, small.steps(PERIOD, eta, straight=True))[-1]
        for eta in (1e-3, 2e-3)
    )
    assert steps / small_steps == pytest.approx(2**power, rel=0.05)
