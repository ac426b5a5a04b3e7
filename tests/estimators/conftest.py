"""Two kinds of small problem, each with its definition in plain NumPy, and walks in its set."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from helpers import reference_of, tiny_logistic, tiny_recovery

from pfbench.oracles import Ledger, Oracles
from pfbench.points import combine, keep


@dataclass
class Case:
    """A problem of pfbench and, as `plain`, the same by its definition on dense arrays."""

    problem: Any

    def __post_init__(self):
        self.plain = reference_of(self.problem)

    def dense(self, x):
        """Return a point of pfbench as a dense array."""
        return x.copy() if isinstance(x, np.ndarray) else x.matrix()

    def ask(self):
        """Return fresh oracles."""
        backend = self.problem.open(np.random.default_rng(0))
        return Oracles(backend, Ledger(), self.problem.set.diameter)

    def inside(self):
        """Return a fresh point inside the set, away from 0."""
        x, rng = self.problem.start(), np.random.default_rng(9)
        for w in (0.3, 0.2, 0.4):
            x = combine(x, self.problem.set.random_vertex(rng), w)
        return keep(x)

    def moves(self, count):
        """Return vertices and weights of a walk with steps of differing lengths."""
        rng = np.random.default_rng(0)
        return [
            (self.problem.set.random_vertex(rng), w) for w in rng.uniform(0.05, 0.3, size=count)
        ]


@pytest.fixture(params=["recovery", "logistic"])
def four(request):
    """A problem with n = 4 components, few enough to enumerate every batch."""
    if request.param == "recovery":
        return Case(tiny_recovery(shape=(3, 2), n=4, radius=3.0))
    return Case(tiny_logistic(n=4, d=3, radius=2.0))


@pytest.fixture(params=["recovery", "logistic"])
def small(request):
    """A problem with about twenty components."""
    if request.param == "recovery":
        return Case(tiny_recovery(shape=(6, 5), n=18, radius=3.0, tolerance=1e-12))
    return Case(tiny_logistic(n=21, d=4, radius=2.0))
