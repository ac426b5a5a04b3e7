"""Times of single compiled loops: ``pytest benchmarks/micro --benchmark-only``."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from benchmarks.timed import problem_of
from pfbench.kernels import dense, linear
from pfbench.points.operators import SparseOperator
from pfbench.runs.loop.steps import random_stream

ROWS, COLUMNS, NONZERO = 32_561, 123, 14
"""Data in the shape of a9a, whose nonzero entries are ones; `dense` has no zeros."""

FORMS = ("ones", "sparse", "dense")
NO_COUNTS = np.empty(0, dtype=np.int64)
RECOVERY = "robust-matrix-recovery[rows=1000,columns=1000,density=0.1]"


@pytest.fixture(scope="module", params=FORMS)
def data(request):
    rng = np.random.default_rng(0)
    each = COLUMNS if request.param == "dense" else NONZERO
    places = np.sort(rng.random((ROWS, COLUMNS)).argsort(axis=1)[:, :each], axis=1)
    values = np.ones(places.size) if request.param == "ones" else rng.standard_normal(places.size)
    pointers = np.arange(0, places.size + 1, each)
    matrix = csr_array((values, places.ravel(), pointers), shape=(ROWS, COLUMNS))
    return linear.RowData.from_matrix(matrix, np.sign(rng.standard_normal(ROWS)))


@pytest.fixture(scope="module")
def recovery():
    return problem_of(RECOVERY)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def sampled(rng):
    """Return indices of distinct rows, two points, and an array for a gradient."""
    rows = rng.integers(ROWS, size=180)
    x, y = rng.standard_normal((2, COLUMNS))
    return (rows, NO_COUNTS, rows.size), x, y, np.zeros(COLUMNS)


def test_linear_full_gradient(benchmark, data, sampled):
    _, x, _, g = sampled
    benchmark(linear.add_gradient_sum, linear.LOGISTIC, data, x, 1.0, g)


def test_linear_total_loss(benchmark, data, sampled):
    _, x, _, _ = sampled
    benchmark(linear.total_loss, linear.LOGISTIC, data, x)


def test_linear_gradients_of_a_sample(benchmark, data, sampled):
    drawn, x, _, g = sampled
    benchmark(linear.write_mean_gradient, linear.LOGISTIC, data, 0.1, *drawn, x, g)


def test_linear_differences_of_a_sample(benchmark, data, sampled):
    drawn, x, y, g = sampled
    benchmark(linear.write_mean_difference, linear.LOGISTIC, data, 0.1, *drawn, x, y, g)


def test_linear_table_replaced(benchmark, data, sampled):
    drawn, x, y, g = sampled
    benchmark(linear.replace_slopes, linear.LOGISTIC, data, *drawn, np.zeros(ROWS), x, g, y)


def test_dense_moves(benchmark, rng):
    """What condg needs beside a linear minimisation, with 10,000 entries."""
    x, u, v, l, out = rng.standard_normal((5, 10_000))  # noqa: E741

    def step():
        dense.write_tilt(l, x, u, 2.0, out)
        dense.inner_products_and_square_distance(out, x, v)
        dense.write_combination(x, v, 0.1, out)

    benchmark(step)


def test_draws(benchmark):
    """Time drawing 180 indices below n, as a run draws them."""
    rng = random_stream(0, "algorithm")
    benchmark(rng.integers, ROWS, size=180)


def test_observed_normal_step(benchmark, recovery, rng):
    """Time one step of Golub-Kahan-Lanczos on 100,000 entries."""
    x = recovery.start()
    operator = SparseOperator(x.pattern, recovery.gradient(x))
    height, width = operator.shape
    v, previous, u, y = (rng.standard_normal(size) for size in (width, height, height, width))
    benchmark(operator.write_golub_kahan_products, v, previous, 0.5, u, y)


def test_observed_copy(benchmark, recovery):
    """Time moving two vectors of that size: the time that memory alone takes."""
    values = np.ones(recovery.n)
    benchmark(np.copyto, np.empty_like(values), values)
