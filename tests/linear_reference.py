"""Small linear models on all three kinds of domain, written a second time as dense NumPy.

The algorithms' tests hold their own second implementations against it: `Plain` answers what an
algorithm asks from the definitions f_i(x) = phi(<a_i, x>; b_i) + alpha sum x^2/(1 + x^2) and
prox_h(y, t) = argmin t h(x) + |x - y|^2/2, and shares no code with pfbench.
"""

import numpy as np
from helpers import reference_of

from pfbench.algorithms import ALGORITHMS
from pfbench.oracles import Ledger, Oracles
from pfbench.problems.linear_models import (
    LeastSquares,
    LogCosh,
    NonconvexLogistic,
    RobustRegression,
)
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.sets import L1Ball, L1Penalty, WholeSpace

DOMAINS = ("none", "penalty", "set")
WEIGHT, RADIUS = 0.07, 1.3

MODELS = {cls.name: cls for cls in (NonconvexLogistic, RobustRegression, LogCosh, LeastSquares)}


def model(name="nonconvex-logistic", domain="none", *, seed=0, n=11, d=4, spread=1.0, **options):
    """A model on n rows, some of whose features are 0; over R^d, with 0.07 |x|_1, or a ball."""
    rng = np.random.default_rng(seed)
    features = spread * rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.8)
    labels = features @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n)
    if name == "nonconvex-logistic":
        labels = np.where(labels > 0.0, 1.0, -1.0)
        options = {"alpha": 0.2} | options
    over = L1Ball(d, RADIUS) if domain == "set" else WholeSpace(d)
    penalty = L1Penalty(WEIGHT) if domain == "penalty" else None
    return MODELS[name](features, labels, over, **{"penalty": penalty} | options)


def threshold(moduli, radius):
    """Return the theta by which falling moduli are lowered to have this sum."""
    excess = (np.cumsum(moduli) - radius) / np.arange(1, moduli.size + 1)
    return excess[np.flatnonzero(moduli > excess)[-1]]


class Plain:
    """f, its components, and the proximal map of h, from the definitions."""

    def __init__(self, problem):
        self.problem, self.reference = problem, reference_of(problem)
        self.n, self.d = problem.n, int(np.prod(self.reference.shape))

    def components(self, x):
        return self.reference.components(x)

    def gradients(self, x):
        """Shape (n, d): row i is the gradient of f_i."""
        return self.reference.component_gradients(x)

    def value(self, x):
        return self.components(x).mean()

    def full(self, x):
        return self.gradients(x).mean(axis=0)

    def mean(self, S, x):
        return self.gradients(x)[S].mean(axis=0)

    def h(self, x):
        penalty = self.problem.penalty
        return 0.0 if penalty is None else penalty.weight * np.abs(x).sum()

    def prox(self, y, t):
        if self.problem.penalty is not None:
            return np.sign(y) * np.maximum(np.abs(y) - t * self.problem.penalty.weight, 0.0)
        if isinstance(self.problem.set, WholeSpace) or np.abs(y).sum() <= self.problem.set.radius:
            return y.copy()
        # The projection lowers all moduli by the theta at which their sum is the radius.
        theta = threshold(np.sort(np.abs(y))[::-1], self.problem.set.radius)
        return np.sign(y) * np.maximum(np.abs(y) - theta, 0.0)

    def mapping(self, x, t=0.1):
        """The norm of the gradient mapping at x."""
        return np.linalg.norm(x - self.prox(x - t * self.full(x), t)) / t


class WholeRecovery(RobustMatrixRecovery):
    """Matrix recovery that projects whole matrices, too, as references ask."""

    def prox(self, x, g, lam):
        if not isinstance(x, np.ndarray):
            return super().prox(x, g, lam)
        u, s, vt = np.linalg.svd(x - lam * g, full_matrices=False)
        if s.sum() > self.set.radius:
            s = np.maximum(s - threshold(s, self.set.radius), 0.0)
        return (u * s) @ vt


def elsewhere(problem):
    """A start that is not 0, inside the set."""
    return 0.2 * np.cos(3.0 + np.arange(problem.d))


def run(problem, name, *, seed=0, x=None, rng=None, **parameters):
    """Every state of a run, and its counts."""
    ledger = Ledger()
    ask = Oracles(problem, ledger, problem.set.diameter)
    start = elsewhere(problem) if x is None else x
    rng = np.random.default_rng(seed) if rng is None else rng
    before = start.copy()
    states = list(ALGORITHMS[name](**parameters).run(ask, start, rng))
    assert np.array_equal(start, before), "the start was changed"
    return states, ledger.counts().as_dict()


def fits(name, domain):
    """Whether an algorithm takes problems over this domain."""
    requires = ALGORITHMS[name].requires
    wrong = {"none": {"set"}, "penalty": {"smooth", "set"}, "set": {"smooth"}}
    return not requires & wrong[domain]
