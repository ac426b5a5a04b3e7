"""Small problems, and the same problems written down a second time as plain dense NumPy.

The references follow the definitions in the papers and share no code with pfbench, so that a test
against them is a test against the definition.
"""

import math
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pytest
from chain_reference import HardReference

import pfbench as pf
from pfbench.base.errors import InputError
from pfbench.points import FactoredMatrix, Pattern, RankOne
from pfbench.points.atoms import Factors
from pfbench.problems.class_models import MulticlassLogistic, MultitaskSigmoid
from pfbench.problems.linear_models import LinearModel, NonconvexLogistic
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.problems.matrix_regression import MatrixRegression
from pfbench.problems.observations import Observations
from pfbench.problems.sampler import RandomRegression
from pfbench.problems.sensing import SensingData
from pfbench.sets import L1Ball, NuclearBall
from pfbench.sets.whole_space import WholeSpace

# --- making things --------------------------------------------------------------------------------


def random_pattern(rng, shape=(5, 4), n=11):
    """Observed positions in random order, then sorted by the pattern."""
    cells = rng.choice(shape[0] * shape[1], size=n, replace=False)
    return Pattern.from_coordinates(*np.divmod(cells, shape[1]), shape)[0]


def in_chunks(pattern, *cuts):
    """The same pattern, cut into chunks of rows as for several threads."""
    return replace(pattern, bounds=np.array([0, *cuts, pattern.shape[0]]))


def random_vertex(rng, pattern, scale=3.0):
    u, v = (rng.standard_normal(size) for size in pattern.shape)
    return RankOne(u / np.linalg.norm(u), v / np.linalg.norm(v), scale, pattern)


def factored(pattern, matrix):
    """A factored point that equals the dense matrix."""
    u, s, vt = np.linalg.svd(np.asarray(matrix, dtype=float), full_matrices=False)
    return FactoredMatrix.from_factors(pattern, Factors(s, u.T.copy(), vt))


def random_point(rng, pattern, rank=2):
    M, N = pattern.shape
    return factored(pattern, rng.standard_normal((M, rank)) @ rng.standard_normal((rank, N)))


def on_pattern(pattern, matrix):
    """The entries of a dense matrix on the observed positions."""
    return matrix[pattern.row_numbers(), pattern.rows.indices]


def as_matrix(pattern, g):
    """A gradient on the observed positions as a dense matrix."""
    matrix = np.zeros(pattern.shape)
    matrix[pattern.row_numbers(), pattern.rows.indices] = g
    return matrix


def tiny_recovery(seed=0, shape=(5, 4), n=11, cuts=(), **options):
    """Matrix recovery on n entries; `cuts` forces the loops for several threads."""
    rng = np.random.default_rng(seed)
    cells = rng.choice(shape[0] * shape[1], size=n, replace=False)
    rows, columns = np.divmod(cells, shape[1])
    observations = Observations(shape, rows, columns, rng.uniform(-1.5, 1.5, size=n))
    problem = RobustMatrixRecovery(observations, **{"radius": 20.0, "sigma": 0.8} | options)
    if cuts:
        pattern, targets = problem._observations_by_entry
        problem.__dict__["_observations_by_entry"] = in_chunks(pattern, *cuts), targets
    return problem


def tiny_logistic(seed=0, n=7, d=4, radius=5.0, alpha=0.2, spread=2.0):
    """Logistic regression on n rows, some of whose features are 0."""
    rng = np.random.default_rng(seed)
    features = spread * rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    labels = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    return NonconvexLogistic(features, labels, L1Ball(d, radius), alpha)


def tiny_regression(kind, seed=0, n=7, d=4, radius=5.0, spread=1.0, noise=0.0, **options):
    """Regression on n rows; without noise some point of the set has no residual at all."""
    rng = np.random.default_rng(seed)
    features = spread * rng.standard_normal((n, d))
    labels = features @ rng.uniform(-0.5, 0.5, size=d) + noise * rng.standard_normal(n)
    return kind(features, labels, **{"set": L1Ball(d, radius)} | options)


def tiny_multiclass(seed=0, n=9, d=4, classes=3, radius=5.0, spread=1.0):
    """Multinomial logistic regression on n rows, some of whose features are 0."""
    rng = np.random.default_rng(seed)
    features = spread * rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.8)
    labels = np.r_[np.arange(classes), rng.integers(classes, size=n - classes)]
    return MulticlassLogistic(features, labels, NuclearBall((d, classes), radius))


def tiny_multitask(seed=0, n=9, d=4, m=3, radius=5.0, spread=1.0, offsets=True):
    """Rows of m tasks of different length, in no order, with offsets."""
    rng = np.random.default_rng(seed)
    tasks = rng.permutation(np.r_[np.arange(m), rng.integers(m, size=n - m)])
    b = rng.standard_normal(m) if offsets else None
    features, labels = spread * rng.standard_normal((n, d)), rng.integers(2, size=n)
    ball = NuclearBall((d, m), radius)
    return MultitaskSigmoid(features, labels, ball, tasks=tasks, offsets=b)


def tiny_sensing(w=0.0, *, n=9, shape=(3, 4), radius=2.0, seed=0, kind=np.float64, spike=1.0):
    """Matrix regression; n = 9 is no multiple of the four rows that a loop takes at once."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, np.prod(shape)))
    rows[:, 0] *= np.sqrt(spike)
    data = SensingData(shape, rows.astype(kind), rng.standard_normal(n), sensing_variance=w)
    return MatrixRegression(data, NuclearBall(data.shape, radius))


def small_regression():
    """Return least squares on three random rows with unequal probabilities."""
    rng = np.random.default_rng(3)
    return RandomRegression(
        features=rng.standard_normal((3, 2)),
        targets=rng.standard_normal(3),
        probabilities=np.array([0.5, 0.3, 0.2]),
        set=WholeSpace(2),
    )


class Echo:
    """A backend that answers everything, and notes what it was asked."""

    unconstrained = False

    def __init__(self, n=10, seconds=0.0):
        self.n, self.seconds, self.asked = n, seconds, []

    def __getattr__(self, verb):
        def answer(*arguments):
            self.asked.append(verb)
            if self.seconds:
                time.sleep(self.seconds)
            return Echo(self.n)

        return answer


# --- the definitions ------------------------------------------------------------------------------


@dataclass
class RecoveryReference:
    """f_i(X) = c psi(X_k - Y_k), psi(z) = 1 - exp(-z^2/(2 sigma)); c = 1, or n for the sum."""

    problem: RobustMatrixRecovery

    def __post_init__(self):
        data = self.problem.observations
        order = np.lexsort((data.columns, data.rows))
        self.rows, self.columns = data.rows[order], data.columns[order]
        self.targets = data.values[order]
        self.n = len(self.targets)
        self.factor = 1.0 if self.problem.scaling == "mean" else float(self.n)
        self.shape = data.shape

    def point(self, x):
        return factored(self.problem.pattern, x)

    def random(self, rng):
        return rng.standard_normal(self.shape)

    def residuals(self, x):
        return x[self.rows, self.columns] - self.targets

    def components(self, x):
        z = self.residuals(x)
        return self.factor * (1.0 - np.exp(-z * z / (2.0 * self.problem.sigma)))

    def component_gradients(self, x):
        """Shape (n, n): row i is the gradient of f_i on the observed entries."""
        z, sigma = self.residuals(x), self.problem.sigma
        return np.diag(self.factor * z / sigma * np.exp(-z * z / (2.0 * sigma)))

    def component_hessian_products(self, s, u):
        """Shape (n, n): row i is the Hessian of f_i at s, times u."""
        z, sigma = self.residuals(s), self.problem.sigma
        curvature = (1.0 - z * z / sigma) / sigma * np.exp(-z * z / (2.0 * sigma))
        return np.diag(self.factor * curvature * u[self.rows, self.columns])

    def embedded(self, g):
        """A gradient as an array of the shape of x."""
        full = np.zeros(self.shape)
        full[self.rows, self.columns] = g
        return full


# The losses phi(z; b) of linear models, with first and second derivative in z.
LOSSES = {
    "nonconvex-logistic": (
        lambda z, b: np.logaddexp(0.0, -b * z),
        lambda z, b: -b * np.exp(-np.logaddexp(0.0, b * z)),
        lambda z, b: np.exp(-np.logaddexp(0.0, z) - np.logaddexp(0.0, -z)),
    ),
    "robust-regression": (
        lambda z, b: np.log(1.0 + (z - b) ** 2 / 2.0),
        lambda z, b: 2.0 * (z - b) / (2.0 + (z - b) ** 2),
        lambda z, b: (4.0 - 2.0 * (z - b) ** 2) / (2.0 + (z - b) ** 2) ** 2,
    ),
    "log-cosh": (
        lambda z, b: np.logaddexp(z - b, b - z) - np.log(2.0),
        lambda z, b: np.tanh(z - b),
        lambda z, b: np.cosh(np.clip(z - b, -300.0, 300.0)) ** -2.0,
    ),
    "quadratic": (
        lambda z, b: (z - b) ** 2 / 2.0,
        lambda z, b: z - b,
        lambda z, b: np.ones_like(z - b),
    ),
}


class DenseReference:
    """A problem whose points and gradients are arrays of one shape."""

    def point(self, x):
        return x.copy()

    def random(self, rng):
        return rng.standard_normal(self.shape)

    def embedded(self, g):
        return np.reshape(g, self.shape)


@dataclass
class LinearReference(DenseReference):
    """f_i(x) = phi(<a_i, x>; b_i) + alpha sum_j x_j^2/(1 + x_j^2)."""

    problem: LinearModel

    def __post_init__(self):
        self.A = np.asarray(self.problem.features, dtype=float)
        self.b, self.alpha = self.problem.labels, self.problem.alpha
        self.loss, self.slope, self.curvature = LOSSES[self.problem.name]
        self.n, d = self.A.shape
        self.shape = (d,)

    def components(self, x):
        return self.loss(self.A @ x, self.b) + self.alpha * np.sum(x**2 / (1.0 + x**2))

    def component_gradients(self, x):
        slope = self.slope(self.A @ x, self.b)
        return slope[:, None] * self.A + self.alpha * 2.0 * x / (1.0 + x**2) ** 2

    def component_hessian_products(self, s, u):
        curvature = self.curvature(self.A @ s, self.b) * (self.A @ u)
        penalty = self.alpha * (2.0 - 6.0 * s**2) / (1.0 + s**2) ** 3 * u
        return curvature[:, None] * self.A + penalty


@dataclass
class MulticlassReference(DenseReference):
    """f_i(X) = log sum_c exp<a_i, x_c> - <a_i, x_(y_i)>; gradients have the shape of X."""

    problem: MulticlassLogistic

    def __post_init__(self):
        self.A, self.y = self.problem.features, self.problem.labels
        self.n, self.shape = len(self.A), self.problem.shape

    def components(self, x):
        z = self.A @ x
        return np.logaddexp.reduce(z, axis=1) - z[np.arange(self.n), self.y]

    def probabilities(self, x):
        e = np.exp(self.A @ x)
        return e / e.sum(axis=1, keepdims=True)

    def component_gradients(self, x):
        """Shape (n, d, m)."""
        return np.einsum(
            "nd,nm->ndm", self.A, self.probabilities(x) - np.eye(self.shape[1])[self.y]
        )

    def component_hessian_products(self, s, u):
        p, z = self.probabilities(s), self.A @ u
        second = np.einsum("nk,km->nkm", p, np.eye(self.shape[1])) - np.einsum("nk,nm->nkm", p, p)
        return np.einsum("nd,nkm,nm->ndk", self.A, second, z)


@dataclass
class MultitaskReference(MulticlassReference):
    """f_i(X) = (y - 1/(1 + exp(<a_i, x_t> + b_t)))^2, rows in the order of their tasks."""

    problem: MultitaskSigmoid

    def __post_init__(self):
        order = np.argsort(self.problem.tasks, kind="stable")
        self.A, self.y = self.problem.features[order], self.problem.labels[order]
        self.tasks = self.problem.tasks[order]
        self.n, self.shape = len(self.A), self.problem.shape
        b = self.problem.offsets
        self.b = np.zeros(self.n) if b is None else b[self.tasks]

    def scores(self, x):
        return np.einsum("nd,dn->n", self.A, x[:, self.tasks])

    def components(self, x):
        return (self.y - 1.0 / (1.0 + np.exp(self.scores(x) + self.b))) ** 2

    def spread(self, numbers):
        """Shape (n, d, m): the rows, times these numbers, in the columns of their tasks."""
        return np.einsum("n,nd,nm->ndm", numbers, self.A, np.eye(self.shape[1])[self.tasks])

    def component_gradients(self, x):
        q = 1.0 / (1.0 + np.exp(self.scores(x) + self.b))
        return self.spread(2.0 * (self.y - q) * q * (1.0 - q))

    def component_hessian_products(self, s, u):
        q = 1.0 / (1.0 + np.exp(self.scores(s) + self.b))
        # d/dz of 2 (y - q) q (1 - q), with q' = -q (1 - q).
        curvature = -2.0 * q * (1.0 - q) * (self.y * (1.0 - 2.0 * q) - 2.0 * q + 3.0 * q**2)
        return self.spread(curvature * self.scores(u))


@dataclass
class RegressionReference(MulticlassReference):
    """f_i(T) = (y_i - <Z_i, T>)^2/2 - (w/2) |T|_F^2; gradients have the shape of T."""

    problem: MatrixRegression

    def __post_init__(self):
        data = self.problem.data
        self.Z = np.asarray(data.matrices, dtype=float).reshape(-1, *data.shape)
        self.y, self.w = data.targets, data.sensing_variance
        self.n, self.shape = len(self.Z), data.shape

    @property
    def hessians(self):
        z = self.Z.reshape(self.n, -1)
        return z[:, :, None] * z[:, None, :] - self.w * np.eye(z.shape[1])

    def components(self, x):
        return (self.y - (self.Z * x).sum(axis=(1, 2))) ** 2 / 2.0 - self.w / 2.0 * (x**2).sum()

    def component_gradients(self, x):
        residuals = (self.Z * x).sum(axis=(1, 2)) - self.y
        return residuals[:, None, None] * self.Z - self.w * x

    def component_hessian_products(self, s, u):
        return (self.Z * u).sum(axis=(1, 2))[:, None, None] * self.Z - self.w * u


def reference_of(problem):
    if isinstance(problem, MatrixRegression):
        return RegressionReference(problem)
    if isinstance(problem, MulticlassLogistic):
        return MulticlassReference(problem)
    if isinstance(problem, MultitaskSigmoid):
        return MultitaskReference(problem)
    if isinstance(problem, RobustMatrixRecovery):
        return RecoveryReference(problem)
    return (LinearReference if isinstance(problem, LinearModel) else HardReference)(problem)


def constant_ratios(reference):
    """For each constant, what it bounds, as a function of points x, y and a direction u."""

    def gradients(x):
        return flat(reference.component_gradients(x))

    def products(x, u):
        return flat(reference.component_hessian_products(x, u))

    def change(x, y):
        return gradients(x) - gradients(y)

    def second(x, y, u):
        return products(x, u) - products(y, u)

    def far(x, y):
        return np.linalg.norm(x - y)

    def below(x, y):
        """2/|y-x|^2 times how far f(y) lies below its linear model at x."""
        slope = np.vdot(reference.embedded(gradients(x).mean(axis=0)), y - x)
        fall = reference.components(y).mean() - reference.components(x).mean() - slope
        return -2.0 * fall / far(x, y) ** 2

    return {
        "L_f": lambda x, y, u: np.linalg.norm(change(x, y).mean(axis=0)) / far(x, y),
        "L_ms": lambda x, y, u: root_mean(change(x, y)) / far(x, y),
        "L_max": lambda x, y, u: np.linalg.norm(change(x, y), axis=1).max() / far(x, y),
        "L2_ms": lambda x, y, u: root_mean(second(x, y, u)) / (far(x, y) * np.linalg.norm(u)),
        "sigma2": lambda x, y, u: root_mean(gradients(x) - gradients(x).mean(axis=0)) ** 2,
        "ell": lambda x, y, u: below(x, y),
    }


def flat(rows):
    """One row for each component."""
    return rows.reshape(len(rows), -1)


def root_mean(rows):
    return math.sqrt((rows**2).sum(axis=1).mean())


# --- runs -----------------------------------------------------------------------------------------


def followed(problem, method, **options):
    """Return the iterates of a run that finishes, and the run."""
    seen, look = [], {"x": lambda problem, state: seen.append(+state.x) or 0.0}
    run = pf.solve(problem, method, measures=look, **options)
    assert run.status == "finished", run.stop_reason
    return np.array(seen[1 : run.iterations + 1]), run


# --- messages -------------------------------------------------------------------------------------


def assert_one_sentence(error, *words):
    """The message of an error is one sentence that names what is wrong and what to do."""
    message = str(error.value)
    ends = [match.start() for match in re.finditer(r"[.?!](?=\s|$)", message)]
    assert ends == [len(message) - 1], f"not exactly one sentence: {message}"
    assert "\n" not in message
    for word in words:
        assert word in message, f"{word!r} is not named in: {message}"


def message(check, *given, **named):
    """Return the message of a check that fails."""
    with pytest.raises(AssertionError) as failure:
        check(*given, **named)
    return str(failure.value)


@contextmanager
def refused(*words, error=InputError):
    """What is done here is refused in one sentence that has these words."""
    with pytest.raises(error) as caught:
        yield
    assert_one_sentence(caught, *words)


def acting():
    """A text that a terminal, a browser, LaTeX or a spreadsheet would obey."""
    return "=1+1\x1b[2J\x1b]0;x\x07\x9b31m\u202e\r</script><script>\n\\input{x}"
