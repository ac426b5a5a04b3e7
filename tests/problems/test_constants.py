"""Every constant of every problem: no pair of points violates it, and a search comes close to it.

The search is random over many scales, then local (L-BFGS from several starts) on the definition,
with the plain NumPy references of helpers.py and with all points in the set.
"""

import math

import numpy as np
import pytest
import scipy.sparse
from helpers import (
    constant_ratios,
    flat,
    reference_of,
    tiny_logistic,
    tiny_multiclass,
    tiny_multitask,
    tiny_recovery,
    tiny_regression,
)
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from pfbench.base.constants import MEANING
from pfbench.problems import matrix_recovery
from pfbench.problems.class_models import SIGMOID, SOFTMAX
from pfbench.problems.linear_losses import LOG_COSH, LOGISTIC, ROBUST, SUP_REGULARISER_THIRD
from pfbench.problems.linear_models import (
    LeastSquares,
    LogCosh,
    NonconvexLogistic,
    RobustRegression,
)
from pfbench.sets import L1Ball, Simplex, WholeSpace

PROBLEMS = {
    "recovery": tiny_recovery(shape=(2, 3), n=4),
    "recovery, sum": tiny_recovery(shape=(2, 3), n=4, scaling="sum", sigma=2.3),
    "logistic": tiny_logistic(n=5, d=3, radius=20.0),
    "logistic, long rows": tiny_logistic(n=5, d=3, radius=20.0, spread=8.0),
    "robust": tiny_regression(RobustRegression, n=5, d=3, radius=20.0, spread=2.0),
    "log cosh": tiny_regression(LogCosh, n=5, d=3, radius=20.0),
    "quadratic": tiny_regression(LeastSquares, n=5, d=3, radius=20.0),
    "two classes": tiny_multiclass(n=5, d=3, classes=2, radius=20.0),
    "three classes": tiny_multiclass(n=5, d=3, classes=3, radius=20.0),
    "multitask": tiny_multitask(n=5, d=3, m=2, radius=20.0),
}
EACH = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)

# How far each constant may lie above what the search attains. Matrix recovery separates over its
# entries, so all is attained; linear models lose something by the triangle inequality (L_ms,
# L2_ms), by one supremum for all rows at once (sigma2, ell), and, for the square loss, by a bound
# of the residuals over the set (sigma2).
SLACK = {"L_ms": 1.1, "L2_ms": 1.3, "sigma2": 1.6, "ell": 1.05}
SLACK_OF_THE_QUADRATIC = {"sigma2": 15.0}
# A row of several classes: the largest norm of phi'' wants two classes with probability 1/2. Tasks:
# one supremum for all rows at once.
SLACK_OF_CLASSES = {"L_f": 1.1, "L_ms": 1.2, "L2_ms": 1.2, "sigma2": 1.3}
SLACK_OF_TASKS = {"L2_ms": 1.05, "sigma2": 1.4, "ell": 1.3}
SLACKS = {
    "robust-matrix-recovery": {},
    "quadratic": SLACK_OF_THE_QUADRATIC,
    "multiclass-logistic": SLACK_OF_CLASSES,
    "multitask-sigmoid": SLACK_OF_TASKS,
}
ATTAINED = 1.01


def into(problem, x):
    """x scaled into the feasible set."""
    size = np.linalg.svd(x, compute_uv=False).sum() if x.ndim == 2 else np.abs(x).sum()
    return x * min(1.0, problem.set.radius / size)


def local_search(problem, ratio, enough, starts=6):
    """The largest ratio that L-BFGS finds among points of the set; half of the starts if enough."""
    reference, rng, best = reference_of(problem), np.random.default_rng(0), -np.inf

    def loss(z):
        x, y, u = z.reshape(3, *reference.shape)
        return -ratio(into(problem, x), into(problem, y), u)

    for k in range(starts):
        if k >= starts // 2 and best >= enough:
            break
        x, step, u = (rng.standard_normal(reference.shape) for _ in range(3))
        z = np.concatenate([x, x + 0.3 * step, u], axis=None)
        best = max(best, -minimize(loss, z, method="L-BFGS-B", options={"maxiter": 60}).fun)
    return best


@pytest.mark.thin(7)
@EACH
@pytest.mark.parametrize("name", ["L_f", "L_ms", "L_max", "L2_ms", "sigma2", "ell"])
def test_no_pair_violates_a_constant_and_a_search_comes_close(problem, name):
    reference, rng = reference_of(problem), np.random.default_rng(1)
    constants = problem.constants(problem.start())
    constant, ratio = getattr(constants, name), constant_ratios(reference)[name]
    limit = constant + 1e-7 * max(constant, constants.L_f)  # rounding; ell may be 0
    for _ in range(300):
        size, apart = 10.0 ** rng.uniform(-2.0, 1.5), 10.0 ** rng.uniform(-3.0, 1.0)
        x, step, u = (rng.standard_normal(reference.shape) for _ in range(3))
        x, y = into(problem, size * x), into(problem, size * x + apart * step)
        assert ratio(x, y, u) <= limit
    enough = constant / SLACKS.get(problem.name, SLACK).get(name, ATTAINED)
    assert enough <= max(local_search(problem, ratio, enough), 0.0) <= limit


@EACH
def test_delta_bounds_the_decrease_from_the_start(problem):
    """Attained where a point has no loss; some losses have a positive least value on the set."""
    reference = reference_of(problem)
    delta = problem.constants(problem.start()).delta
    zero = np.zeros(reference.shape)
    assert_allclose(problem.value(problem.start()), reference.components(zero).mean(), rtol=1e-13)

    def loss(z):
        return reference.components(into(problem, z.reshape(reference.shape))).mean()

    rng = np.random.default_rng(0)
    least = min(minimize(loss, rng.standard_normal(zero.size)).fun for _ in range(4))
    decrease = reference.components(zero).mean() - least
    assert decrease <= delta * (1.0 + 1e-12)
    positive = {"nonconvex-logistic": 5.0, "multiclass-logistic": 1.2, "multitask-sigmoid": 1.1}
    assert delta <= positive.get(problem.name, ATTAINED) * decrease


@EACH
def test_delta_belongs_to_the_given_start(problem):
    reference = reference_of(problem)
    elsewhere = reference.point(np.full(reference.shape, 0.7))
    assert problem.constants(elsewhere).delta == problem.value(elsewhere)


@EACH
def test_the_remaining_constants(problem):
    constants = problem.constants(problem.start())
    assert constants.n == problem.n == reference_of(problem).n
    assert_allclose(constants.D, problem.set.diameter, rtol=1e-15)
    assert constants.L_f <= constants.L_ms <= constants.L_max
    assert constants.ell <= constants.L_f


@EACH
def test_every_stated_constant_says_where_it_comes_from(problem):
    constants = problem.constants(problem.start())
    stated = {name for name in MEANING if math.isfinite(getattr(constants, name))}
    assert stated >= {"n", "D", "L_f", "L_ms", "L_max", "L2_ms", "sigma2", "delta", "ell"}
    assert {name for name, words in constants.derivations.items() if words} == stated


def test_matrix_recovery_at_the_papers_scale_has_the_constants_of_theory_section_1():
    """n = 4000, sigma = 1: s = 1, s3 = 1.38012."""
    problem = tiny_recovery(shape=(200, 200), n=4000, sigma=1.0, radius=100.0)
    constants = problem.constants(problem.start())
    n = 4000
    assert_allclose(constants.L_f, 1.0 / n)
    assert_allclose(constants.L_ms, 1.0 / math.sqrt(n))
    assert_allclose(constants.L_max, 1.0)
    assert_allclose(constants.L2_ms, 1.38012 / math.sqrt(n), rtol=1e-6)
    assert_allclose(constants.sigma2, (1.0 - 1.0 / n) * 0.36788, rtol=1e-5)
    assert_allclose(constants.ell, 0.44626 / n, rtol=1e-5)
    assert constants.D == 200.0


# --- the suprema of one variable ------------------------------------------------------------------

Z = np.linspace(-8.0, 8.0, 400_001)
E = np.exp(-Z * Z / 2.0)
P, T = 1.0 / (1.0 + np.exp(-Z)), np.tanh(Z)

S = 1.0 / (1.0 + np.exp(-Z))

SUPREMA = {
    "s^2, slope": (np.max(2.0 * S**2 * (1.0 - S)), SIGMOID.slope),
    "s^2, second": (np.max(2.0 * S**2 * (1.0 - S) * (2.0 - 3.0 * S)), SIGMOID.curvature),
    "s^2, minus second": (-np.min(2.0 * S**2 * (1.0 - S) * (2.0 - 3.0 * S)), SIGMOID.lower),
    "s^2, third": (
        np.max(np.abs(2.0 * S**2 * (1.0 - S) * (4.0 - 15.0 * S + 12.0 * S**2))),
        SIGMOID.third,
    ),
    "psi' squared": (np.max((Z * E) ** 2), matrix_recovery.SUP_SLOPE_SQUARED),
    "psi''' ": (np.max(np.abs((Z**3 - 3.0 * Z) * E)), matrix_recovery.SUP_THIRD),
    "minus psi''": (-np.min((1.0 - Z * Z) * E), matrix_recovery.INF_CURVATURE),
    "logistic phi'''": (np.max(np.abs(P * (1.0 - P) * (1.0 - 2.0 * P))), LOGISTIC.third),
    "log cosh phi'''": (np.max(np.abs(2.0 * T * (1.0 - T * T))), LOG_COSH.third),
    "logistic phi''": (np.max(P * (1.0 - P)), LOGISTIC.curvature),
    "log cosh phi''": (np.max(1.0 - T * T), LOG_COSH.curvature),
    "robust phi''": (np.max((4.0 - 2.0 * Z * Z) / (2.0 + Z * Z) ** 2), ROBUST.curvature),
    "robust phi'": (np.max(2.0 * Z / (2.0 + Z * Z)), ROBUST.slope),
    "robust minus phi''": (np.max((2.0 * Z * Z - 4.0) / (2.0 + Z * Z) ** 2), ROBUST.lower),
    "robust phi'''": (np.max(np.abs(4.0 * Z * (Z * Z - 6.0) / (2.0 + Z * Z) ** 3)), ROBUST.third),
    "r'''": (np.max(np.abs(24.0 * Z * (Z * Z - 1.0) / (1.0 + Z * Z) ** 4)), SUP_REGULARISER_THIRD),
}


@pytest.mark.parametrize("name", SUPREMA)
def test_suprema_are_rounded_up_and_sharp(name):
    on_a_grid, stated = SUPREMA[name]
    assert on_a_grid <= stated <= on_a_grid * (1.0 + 1e-6)


@pytest.mark.parametrize("classes", [2, 3, pytest.param(5, marks=pytest.mark.long)])
def test_the_third_derivative_of_the_softmax_is_the_supremum(classes):
    """The third central moment of a unit vector, by search over vectors and probabilities."""
    rng = np.random.default_rng(classes)

    def minus_moment(v):
        p, u = np.exp(v[:classes] - v[:classes].max()), v[classes:] / np.linalg.norm(v[classes:])
        p /= p.sum()
        return -(p @ (u - p @ u) ** 3)

    starts = 2.0 * rng.standard_normal((20, 2 * classes))
    found = -min(minimize(minus_moment, start).fun for start in starts)
    assert found <= SOFTMAX.third <= found * (1.0 + 1e-5)


# --- norms of the data matrix ---------------------------------------------------------------------


def test_norms_of_a_matrix_too_large_for_a_dense_factorisation():
    rng = np.random.default_rng(0)
    features = scipy.sparse.random_array((1700, 1600), density=2e-3, rng=rng, format="csr")
    labels = np.where(rng.random(1700) < 0.5, -1.0, 1.0)
    problem = NonconvexLogistic(features, labels, L1Ball(1600), alpha=0.0)
    constants = problem.constants(problem.start())
    exact = np.linalg.norm(features.toarray(), 2) ** 2 / 1700 / 4.0
    assert exact <= constants.L_f <= exact * (1.0 + 1e-5)


def test_a_row_of_zeros_and_a_simplex_are_no_special_case():
    problem = NonconvexLogistic(
        np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([1.0, -1.0]), Simplex(2)
    )
    constants = problem.constants(problem.start())
    assert_allclose(constants.L_f, 2.5 / 4.0 + 0.2)
    assert_allclose(constants.L_max, 5.0 / 4.0 + 0.2)
    assert_allclose(constants.D, math.sqrt(2.0))
    assert_allclose(problem.start(), [1.0, 0.0])


def test_on_the_whole_space_what_is_unbounded_is_infinite_and_never_nan():
    rows, labels = np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([1.0, -1.0])
    for kind in (LeastSquares, RobustRegression):
        constants = kind(rows, labels, WholeSpace(2)).constants(np.zeros(2))
        assert constants.D == constants.M == math.inf
        assert_allclose(constants.L_f, 2.5)
        expected = math.inf if kind is LeastSquares else 0.5 * 2.5
        assert_allclose(constants.sigma2, expected)


@pytest.mark.thin(7)
@EACH
def test_no_component_is_less_smooth_than_it_says_and_one_is_as_smooth(problem):
    reference, stated = reference_of(problem), problem.component_smoothness()
    constants = problem.constants(problem.start())
    assert stated.shape == (problem.n,)
    assert_allclose([stated.max(), stated.mean()], [constants.L_max, constants.L_mean])

    def ratio(x, y, u):
        change = reference.component_gradients(x) - reference.component_gradients(y)
        sizes = np.linalg.norm(flat(change), axis=1)
        return (sizes / np.maximum(stated, 1e-300)).max() / np.linalg.norm(x - y)

    assert 1.0 / ATTAINED <= local_search(problem, ratio, 1.0 / ATTAINED) <= 1.0 + 1e-9
