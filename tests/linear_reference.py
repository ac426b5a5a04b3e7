"""Small linear models on all three kinds of domain, written a second time as dense NumPy.

The algorithms' tests hold their own second implementations against it: `Plain` answers what an
algorithm asks from the definitions f_i(x) = phi(<a_i, x>; b_i) + alpha sum x^2/(1 + x^2) and
prox_h(y, t) = argmin t h(x) + |x - y|^2/2, and shares no code with pfbench.
"""

import warnings

import numpy as np
import pytest
from following import assert_follows_reference
from helpers import reference_of, tiny_recovery
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from pfbench.algorithms import ALGORITHMS
from pfbench.oracles import Ledger, Oracles
from pfbench.points import keep
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

    def products(self, s, u):
        """Shape (n, d): row i is the Hessian of f_i at s, times u."""
        return self.reference.component_hessian_products(s, u)

    def value(self, x):
        return self.components(x).mean()

    def full(self, x):
        return self.gradients(x).mean(axis=0)

    def mean(self, S, x):
        return self.gradients(x)[S].mean(axis=0)

    def change(self, S, x, y):
        return self.mean(S, x) - self.mean(S, y)

    def h(self, x):
        penalty = self.problem.penalty
        return 0.0 if penalty is None else penalty.weight * np.abs(x).sum()

    def prox(self, y, t):
        if self.problem.penalty is not None:
            return np.sign(y) * np.maximum(np.abs(y) - t * self.problem.penalty.weight, 0.0)
        if isinstance(self.problem.set, WholeSpace) or np.abs(y).sum() <= self.problem.set.radius:
            return y.copy()
        # The projection lowers all moduli by the theta at which their sum is the radius.
        moduli = np.sort(np.abs(y))[::-1]
        excess = (np.cumsum(moduli) - self.problem.set.radius) / np.arange(1, y.size + 1)
        theta = excess[np.flatnonzero(moduli > excess)[-1]]
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
            excess = (np.cumsum(s) - self.set.radius) / np.arange(1, s.size + 1)
            s = np.maximum(s - excess[np.flatnonzero(s > excess)[-1]], 0.0)
        return (u * s) @ vt


def counts_on_the_nuclear_ball(name, parameters):
    """Follow a run on factored matrices by its reference on whole ones; return its counts."""
    observations = tiny_recovery(shape=(4, 3), n=9).observations
    problem, ledger = WholeRecovery(observations, radius=2.0, sigma=0.8), Ledger()
    assert_follows_reference(problem, name, **parameters)
    ask = Oracles(problem.open(np.random.default_rng(0)), ledger, problem.set.diameter)
    rng, count = np.random.default_rng(8), 0
    for state in ALGORITHMS[name](**parameters).run(ask, problem.start(), rng):
        # Factored points are read when they are yielded, as the loop does.
        for point in (state.at, state.x, state.output):
            if point is not None:
                nuclear_norm = np.linalg.svd(keep(point).matrix(), compute_uv=False).sum()
                assert nuclear_norm <= 2.0 * (1.0 + 1e-8)
        count += 1
    assert count == parameters["iterations"]
    return ledger.counts().as_dict()


def by_scipy(problem):
    """The minimiser of a smooth and convex model."""
    P = Plain(problem)
    options = {"gtol": 1e-10}
    return minimize(P.value, np.zeros(P.d), jac=P.full, method="BFGS", options=options).x


def sparse_logistic(rows):
    """An l1-regularised logistic regression, and its minimiser by scikit-learn."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(3)
    features = rng.standard_normal((rows, 6))
    scores = features @ [2.0, -1.0, 0.0, 0.0, 1.0, 0.0] + rng.standard_normal(rows)
    labels = np.where(scores > 0, 1.0, -1.0)
    problem = NonconvexLogistic(features, labels, WholeSpace(6), 0.0, L1Penalty(WEIGHT))
    solver = linear_model.LogisticRegression(
        l1_ratio=1.0,
        C=1.0 / (rows * WEIGHT),
        solver="saga",
        tol=1e-12,
        max_iter=200_000,
        fit_intercept=False,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = solver.fit(features, labels).coef_[0]
    assert 0 < np.count_nonzero(found) < 6
    return problem, found


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


def assert_same(states, expected, outputs=False):
    """Compare states with pairs (at, x), or triples (at, x, output)."""
    assert len(states) == len(expected)
    for state, (at, x, *output) in zip(states, expected, strict=True):
        close = {"rtol": 1e-10, "atol": 1e-12}
        assert_allclose(state.at, at, **close)
        assert_allclose(state.x, x, **close)
        assert (state.output is not None) == outputs
        if outputs:
            assert_allclose(state.output, output[0], **close)


def fits(name, domain):
    """Whether an algorithm takes problems over this domain."""
    requires = ALGORITHMS[name].requires
    wrong = {"none": {"set"}, "penalty": {"smooth", "set"}, "set": {"smooth"}}
    return not requires & wrong[domain]


def same_bits(first, second):
    """Compare two runs bit for bit."""
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a.x, b.x)
        assert np.array_equal(a.at, b.at)
        assert np.array_equal(a.estimate, b.estimate)


def ceil(a, b):
    return -(-a // b)


class Everyone:
    """A stream that draws every component once."""

    def integers(self, n, size):
        assert size == n
        return np.arange(n)
