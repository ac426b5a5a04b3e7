"""Compiled loops by themselves: ``pytest benchmarks/micro --benchmark-only``."""

import numpy as np
import pytest

from benchmarks.timed import problem_of
from pfbench.kernels import linear
from pfbench.points.operators import SparseOperator

SPARSE = "nonconvex-logistic[source=synthetic,rows=32561,columns=123,set=none]"
RECOVERY = "robust-matrix-recovery[rows=1000,columns=1000,density=0.1]"


@pytest.fixture(scope="module")
def sparse():
    return problem_of(SPARSE).data


@pytest.fixture(scope="module")
def recovery():
    return problem_of(RECOVERY)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def sampled(sparse, rng):
    """Rows, their weights, two points and room for a gradient."""
    rows = rng.integers(sparse.labels.size, size=180)
    x, y = rng.standard_normal((2, sparse.columns))
    return rows, np.full(rows.size, 1 / rows.size), x, y, np.zeros(sparse.columns)


def test_linear_full_gradient(benchmark, sparse, sampled):
    *_, x, _, g = sampled
    benchmark(linear.add_full_gradient, linear.LOGISTIC, sparse, x, 1.0, g)


def test_linear_total_loss(benchmark, sparse, sampled):
    *_, x, _, _ = sampled
    benchmark(linear.total_loss, linear.LOGISTIC, sparse, x)


def test_linear_gradients_of_a_sample(benchmark, sparse, sampled):
    rows, weights, x, _, g = sampled
    benchmark(linear.add_gradients, linear.LOGISTIC, sparse, rows, weights, x, g)


def test_linear_differences_of_a_sample(benchmark, sparse, sampled):
    rows, weights, x, y, g = sampled
    benchmark(linear.add_differences, linear.LOGISTIC, sparse, rows, weights, x, y, g)


def test_observed_normal_step(benchmark, recovery, rng):
    """One step of Golub-Kahan-Lanczos on 100,000 entries."""
    x = recovery.start()
    operator = SparseOperator(x.pattern, recovery.gradient(x))
    height, width = operator.shape
    v, previous, u, y = (rng.standard_normal(size) for size in (width, height, height, width))
    benchmark(operator.normal_step, v, previous, 0.5, u, y)


def test_observed_copy(benchmark, recovery):
    """Two vectors of the same size moved: what memory alone would take."""
    values = np.ones(recovery.n)
    benchmark(np.copyto, np.empty_like(values), values)
