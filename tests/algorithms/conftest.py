"""Small problems of both kinds, and oracles to ask them."""

import numpy as np
import pytest
from helpers import tiny_logistic, tiny_recovery

from pfbench.oracles import Ledger, Oracles


def build(kind, seed=0):
    if kind == "recovery":
        shape = {"shape": (9, 7), "n": 31, "radius": 8.0, "sigma": 4.0}
        return tiny_recovery(seed, **shape, tolerance=1e-12)
    return tiny_logistic(seed, n=23, d=6, radius=3.0, alpha=0.05, spread=1.0)


@pytest.fixture(params=["recovery", "logistic"])
def problem(request):
    """A problem with an odd number of components: 31 observed entries, or 23 rows."""
    return build(request.param)


@pytest.fixture(params=["recovery-1", "recovery-2", "recovery-3", "logistic-1", "logistic-2"])
def instance(request):
    """One of several random problems of each kind."""
    kind, _, seed = request.param.partition("-")
    return build(kind, int(seed))


@pytest.fixture
def asking():
    """Return what makes fresh oracles for a problem."""

    def ask(problem):
        backend = problem.open(np.random.default_rng(0))
        return Oracles(backend, Ledger(), problem.set.diameter)

    return ask
