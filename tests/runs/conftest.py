"""Problems with everything that a run can measure, and small algorithms written as a user would."""

from dataclasses import dataclass

import numpy as np
import pytest
from helpers import tiny_logistic

from pfbench.algorithms.base import Algorithm
from pfbench.base.state import State
from pfbench.points import combine
from pfbench.points.atoms import Factors
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.problems.observations import Observations


def recovery():
    """Matrix recovery with a truth and held-out entries, so that all measures exist."""
    rng = np.random.default_rng(3)
    M, N = 8, 6
    truth = Factors(np.array([2.0, 1.0]), rng.standard_normal((2, M)), rng.standard_normal((2, N)))
    full = (truth.left * truth.weights[:, None]).T @ truth.right
    (rows, held_rows), (columns, held_columns) = (
        np.split(part, [27]) for part in np.divmod(rng.permutation(M * N)[:35], N)
    )
    data = Observations(
        (M, N),
        rows,
        columns,
        full[rows, columns],
        held_rows,
        held_columns,
        full[held_rows, held_columns],
        truth,
    )
    return RobustMatrixRecovery(data, radius=6.0, sigma=5.0)


def logistic():
    return tiny_logistic(n=23, d=6, radius=3.0, alpha=0.05, spread=1.0)


@pytest.fixture(params=["recovery", "logistic"])
def problem(request):
    """A small problem of each kind."""
    return recovery() if request.param == "recovery" else logistic()


@pytest.fixture
def dense():
    """A small problem whose points are arrays: 23 rows of 6 features over the l1 ball."""
    return logistic()


@dataclass(frozen=True, kw_only=True)
class Walk(Algorithm):
    """A user's own algorithm: full gradients, one linear minimisation, a constant weight."""

    name = "walk"
    summary = "constant steps towards vertices"
    source = "a test"
    counts = "T iterations: FO T, SFO nT, LO T"
    requires = frozenset({"gradient", "lo"})

    iterations: int = 10
    step: float = 0.1

    def run(self, ask, x, rng):
        for t in range(self.iterations):
            self.before(t, ask, x)
            g = ask.gradient(x)
            at, x = x, combine(x, ask.lo(g), self.step)
            yield self.after(t, State(x, at, g))

    def before(self, t, ask, x):
        """What a subclass does before each iteration."""

    def after(self, t, state):
        """Return what a subclass yields instead."""
        return state


@pytest.fixture
def walk():
    """The class `Walk`, for tests that run it or derive from it."""
    return Walk
