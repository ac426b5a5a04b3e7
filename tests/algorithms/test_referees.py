"""Convex problems that other libraries solve too: copt, by an author of SAGA's, and scikit-learn.

They share no code with pfbench. Objectives agree to 1e-6, and where the method is the very same
(Frank-Wolfe with the open loop, and with backtracking) the iterates agree one by one.
"""

import warnings

import numpy as np
import pytest
from linear_reference import Plain, run
from numpy.testing import assert_allclose

from pfbench.points import keep
from pfbench.problems.linear_models import LeastSquares, NonconvexLogistic
from pfbench.sets import L1Ball, L1Penalty, WholeSpace

WEIGHT = 0.07
ROWS, FEATURES = 40, 6


@pytest.fixture(scope="module")
def copt():
    """The library; it imports a module that scipy deprecates, and compiles at each call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        library = pytest.importorskip("copt")
        for part in ("loss", "penalty", "constraint"):
            pytest.importorskip(f"copt.{part}")
    # By so much its backtracking forgives a violation: 1.2e-7, which would hide differences.
    library.frank_wolfe.EPS = 1e-13
    return library


def data(kind):
    """Features, and labels: signs for the logistic loss."""
    rng = np.random.default_rng(3)
    features = rng.standard_normal((ROWS, FEATURES))
    noise = (3.0 if kind == "logistic" else 1.0) * rng.standard_normal(ROWS)
    scores = features @ [2.0, -1.0, 0.0, 0.0, 1.0, 0.0] + noise
    return features, np.where(scores > 0, 1.0, -1.0) if kind == "logistic" else scores


def problem_of(kind, over=None, penalty=None):
    features, labels = data(kind)
    over = WholeSpace(FEATURES) if over is None else over
    if kind == "logistic":
        return NonconvexLogistic(features, labels, over, 0.0, penalty)
    return LeastSquares(features, labels, over, penalty=penalty)


def loss_of(copt, kind):
    """copt's loss; its logistic one has labels 0 and 1."""
    features, labels = data(kind)
    if kind == "logistic":
        return copt.loss.LogLoss(features, (labels + 1.0) / 2.0)
    return copt.loss.SquareLoss(features, labels)


def last(states):
    state = states[-1]
    return keep(state.x if state.output is None else state.output)


# --- copt -----------------------------------------------------------------------------------------

LONG = {
    "prox-saga": {"iterations": 4000, "batch": 4},
    "prox-svrg": {"iterations": 4000, "batch": 4, "period": 20},
    "prox-svrg-plus": {"iterations": 4000, "batch": 16, "period": 4},
}
OURS = {"minimize_saga": ["prox-saga"], "minimize_svrg": ["prox-svrg", "prox-svrg-plus"]}


@pytest.mark.thin(2)
@pytest.mark.parametrize("method", OURS)
@pytest.mark.parametrize("kind", ["logistic", "lasso"])
def test_copt_agrees_on_composite_problems(copt, kind, method):
    loss, penalty = loss_of(copt, kind), copt.penalty.L1Norm(WEIGHT)
    np.random.seed(0)  # noqa: NPY002 (copt draws from it)
    found = getattr(copt, method)(
        loss.partial_deriv,
        loss.A,
        loss.b,
        np.zeros(FEATURES),
        1.0 / (3.0 * loss.max_lipschitz),
        prox=penalty.prox_factory(FEATURES),
        max_iter=2000,
        tol=1e-10,
    )
    assert found.success
    problem = problem_of(kind, penalty=L1Penalty(WEIGHT))
    P = Plain(problem)
    expected = loss(found.x) + penalty(found.x)
    assert P.value(found.x) + P.h(found.x) == pytest.approx(expected, abs=1e-12)
    assert 0 < np.count_nonzero(found.x) < FEATURES
    step = 1.0 / (5.0 * problem.constants(np.zeros(FEATURES)).L_max)
    for name in OURS[method]:
        states, _ = run(problem, name, x=np.zeros(FEATURES), step=step, **LONG[name])
        x = last(states)
        assert abs(P.value(x) + P.h(x) - expected) <= 1e-6
        assert_allclose(x, found.x, rtol=0, atol=1e-4)


RADIUS = {"interior": 8.0, "vertex": 0.05}


@pytest.mark.thin(2)
@pytest.mark.parametrize("place", RADIUS)
@pytest.mark.parametrize("kind", ["logistic", "lasso"])
def test_copt_agrees_on_frank_wolfe(copt, kind, place):
    """Solutions inside the ball and at a vertex; on a face Frank-Wolfe needs 1/1e-6 steps."""
    loss, radius = loss_of(copt, kind), RADIUS[place]
    found = copt.minimize_frank_wolfe(
        loss.f_grad,
        np.zeros(FEATURES),
        copt.constraint.L1Ball(radius).lmo,
        jac=True,
        step="backtracking",
        lipschitz=loss.lipschitz,
        max_iter=3000,
        tol=1e-5,
    )
    problem = problem_of(kind, L1Ball(FEATURES, radius))
    size = np.abs(found.x).sum()
    assert size < 0.9 * radius if place == "interior" else size == pytest.approx(radius)
    for step in ("line-search", "backtracking"):
        states, _ = run(problem, "frank-wolfe", x=np.zeros(FEATURES), step=step, iterations=1500)
        assert abs(problem.value(last(states)) - loss(found.x)) <= 1e-6


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("sublinear", {"step": "open-loop"}),
        ("backtracking", {"step": "backtracking", "smoothness": True}),
    ],
)
@pytest.mark.parametrize("kind", ["logistic", "lasso"])
@pytest.mark.parametrize("factor", [1.0, 0.02, 50.0])
def test_copt_has_the_same_iterates_of_frank_wolfe(copt, kind, theirs, ours, factor):
    """Backtracking from a right, a too small and a too large first estimate."""
    loss, radius, x = loss_of(copt, kind), 1.3, []
    first = factor * loss.lipschitz
    copt.minimize_frank_wolfe(
        loss.f_grad,
        np.zeros(FEATURES),
        copt.constraint.L1Ball(radius).lmo,
        jac=True,
        step=theirs,
        lipschitz=first,
        max_iter=15,
        callback=lambda found: x.append(found["x"].copy()) if len(x) < 15 else None,
    )
    given = ours | ({"smoothness": first} if "smoothness" in ours else {})
    problem = problem_of(kind, L1Ball(FEATURES, radius))
    states, _ = run(problem, "frank-wolfe", x=np.zeros(FEATURES), iterations=15, **given)
    for state, expected in zip(states, x, strict=True):
        assert_allclose(state.at, expected, rtol=0, atol=1e-9)
    assert np.ptp(x, axis=0).max() > 0.1


# --- scikit-learn ---------------------------------------------------------------------------------

EVERY = {
    "prox-gd": {"iterations": 3000},
    "prox-spiderboost": {"iterations": 4000, "batch": 8, "period": 8},
} | LONG


@pytest.mark.parametrize("name", EVERY)
def test_scikit_learns_lasso_agrees(name):
    """Lasso minimises |A x - b|^2/(2n) + alpha |x|_1."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    features, labels = data("lasso")
    solver = linear_model.Lasso(alpha=WEIGHT, fit_intercept=False, tol=1e-12, max_iter=100_000)
    expected = solver.fit(features, labels).coef_
    problem = problem_of("lasso", penalty=L1Penalty(WEIGHT))
    step = 1.0 / (5.0 * problem.constants(np.zeros(FEATURES)).L_max)
    states, _ = run(problem, name, x=np.zeros(FEATURES), step=step, **EVERY[name])
    P, x = Plain(problem), last(states)
    assert abs(P.value(x) + P.h(x) - P.value(expected) - P.h(expected)) <= 1e-6
    assert 0 < np.count_nonzero(expected) < FEATURES


SMOOTH = {
    "prox-gd": EVERY["prox-gd"],
    "svrg": LONG["prox-svrg"],
    "saga": LONG["prox-saga"],
    "spiderboost": EVERY["prox-spiderboost"],
}


def assert_smooth_agreement(problem, expected, name):
    step = 1.0 / (5.0 * problem.constants(np.zeros(FEATURES)).L_max)
    states, _ = run(problem, name, x=np.zeros(FEATURES), step=step, **SMOOTH[name])
    x = last(states)
    assert abs(problem.value(x) - problem.value(expected)) <= 1e-6
    assert_allclose(x, expected, rtol=0, atol=5e-3)


@pytest.mark.parametrize("name", SMOOTH)
def test_scikit_learns_ridge_agrees(name):
    """|A x - b|^2 + alpha |x|^2 is least squares with the d further rows sqrt(alpha) e_j."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    features, labels = data("ridge")
    alpha = ROWS * WEIGHT
    solver = linear_model.Ridge(alpha=alpha, fit_intercept=False, solver="cholesky")
    expected = solver.fit(features, labels).coef_
    rows = np.vstack([features, np.sqrt(alpha) * np.eye(FEATURES)])
    problem = LeastSquares(rows, np.append(labels, np.zeros(FEATURES)), WholeSpace(FEATURES))
    assert problem.value(expected) == pytest.approx(problem.best_known[0], rel=1e-12)
    assert_smooth_agreement(problem, expected, name)


@pytest.mark.parametrize("name", SMOOTH)
def test_scikit_learns_logistic_regression_agrees(name):
    linear_model = pytest.importorskip("sklearn.linear_model")
    features, labels = data("logistic")
    solver = linear_model.LogisticRegression(
        C=np.inf, fit_intercept=False, tol=1e-10, max_iter=10_000
    )
    expected = solver.fit(features, labels).coef_[0]
    assert np.abs(expected).max() < 10.0, "these labels can be separated"
    assert_smooth_agreement(problem_of("logistic"), expected, name)
