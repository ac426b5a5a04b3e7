"""Loops over observed entries against dense matrices, in one piece and in several."""

import numpy as np
import pytest
from helpers import as_matrix, in_chunks, on_pattern, random_pattern
from numpy.testing import assert_allclose

from pfbench.kernels import observed_entries, welsch
from pfbench.points import Pattern

# Row 0, two middle rows and the last row are empty: the places where a row search goes wrong.
SPARSE, _ = Pattern.from_coordinates([1, 1, 4, 4, 4], [0, 2, 1, 2, 3], (6, 4))
PATTERNS = {
    "full": random_pattern(np.random.default_rng(0), (5, 4), 20),
    "some": random_pattern(np.random.default_rng(1), (7, 6), 15),
    "empty rows": SPARSE,
}


@pytest.fixture(params=PATTERNS)
def pattern(request):
    return PATTERNS[request.param]


def reading(pattern, rng):
    M, N = pattern.shape
    return observed_entries.EntryView(
        rng.standard_normal(pattern.n), 0.3, 0.7, rng.standard_normal(M), rng.standard_normal(N)
    )


def read(pattern, x):
    dense = 0.3 * as_matrix(pattern, x.values) + 0.7 * np.outer(x.u, x.v)
    return on_pattern(pattern, dense)


def test_read_rows_is_the_rank_one_step(pattern):
    x = reading(pattern, np.random.default_rng(2))
    out = np.empty(pattern.n)
    observed_entries.write_entries(0, pattern.shape[0], pattern.rows, x, out)
    assert_allclose(out, read(pattern, x), rtol=1e-14, atol=1e-15)


def test_read_rows_touches_only_the_given_rows(pattern):
    x = reading(pattern, np.random.default_rng(2))
    out = np.full(pattern.n, np.nan)
    observed_entries.write_entries(1, 3, pattern.rows, x, out)
    assert np.array_equal(~np.isnan(out), np.isin(pattern.row_numbers(), [1, 2]))


def test_row_of_and_read_at_find_each_position(pattern):
    x = reading(pattern, np.random.default_rng(2))
    positions = range(pattern.n)
    found = [observed_entries.find_row(pattern.rows.indptr, k) for k in positions]
    assert found == pattern.row_numbers().tolist()
    entries = observed_entries.read_entries(np.arange(pattern.n), pattern.rows, x)
    assert_allclose(entries, read(pattern, x), rtol=1e-14, atol=1e-15)


def test_inner_is_a_bilinear_form(pattern):
    rng = np.random.default_rng(3)
    g, u, v = (rng.standard_normal(size) for size in (pattern.n, *pattern.shape))
    expected = u @ as_matrix(pattern, g) @ v
    found = observed_entries.inner_with_rank_one_rows(0, pattern.shape[0], pattern.rows, g, u, v)
    assert_allclose(found, expected, rtol=1e-13, atol=1e-14)
    bounds = in_chunks(pattern, 1, 3).bounds
    found = observed_entries.inner_with_rank_one_parallel(bounds, pattern.rows, g, u, v)
    assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


def test_inner_read_is_that_of_what_is_read(pattern):
    rng = np.random.default_rng(3)
    x, g = reading(pattern, rng), rng.standard_normal(pattern.n)
    found = observed_entries.inner_with_iterate_rows(0, pattern.shape[0], pattern.rows, g, x)
    assert_allclose(found, g @ read(pattern, x), rtol=1e-13, atol=1e-14)
    bounds = in_chunks(pattern, 1, 3).bounds
    found = observed_entries.inner_with_iterate_parallel(bounds, pattern.rows, g, x)
    assert_allclose(found, g @ read(pattern, x), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("cuts", [(), (2,), (1, 1, 3)], ids=["one", "two", "an empty chunk"])
def test_normal_step_is_two_products(pattern, cuts):
    rng = np.random.default_rng(4)
    M, N = pattern.shape
    g, v, previous = (rng.standard_normal(size) for size in (pattern.n, N, M))
    G, bounds = as_matrix(pattern, g), in_chunks(pattern, *cuts).bounds
    u, y = np.empty(M), np.zeros(N)
    arguments = (pattern.rows, g, v, previous, 0.4, u, y)
    if cuts:
        square = observed_entries.golub_kahan_sweep_parallel(bounds, *arguments)
    else:
        square = observed_entries.golub_kahan_sweep_rows(0, M, *arguments)
    expected = G @ v - 0.4 * previous
    assert_allclose(u, expected, rtol=1e-13, atol=1e-14)
    assert_allclose(y, G.T @ expected, rtol=1e-13, atol=1e-14)
    assert_allclose(square, expected @ expected, rtol=1e-13)


@pytest.mark.parametrize("cuts", [(), (2,), (1, 1, 3)], ids=["one", "two", "an empty chunk"])
def test_a_first_step_is_two_products_and_the_inner_product_of_entries(pattern, cuts):
    rng = np.random.default_rng(4)
    M, N = pattern.shape
    g, x, v = (rng.standard_normal(size) for size in (pattern.n, pattern.n, N))
    G, u, y = as_matrix(pattern, g), np.empty(M), np.zeros(N)
    arguments = (pattern.rows, g, x, v, u, y)
    if cuts:
        square, inner = observed_entries.first_golub_kahan_sweep_parallel(
            in_chunks(pattern, *cuts).bounds, *arguments
        )
    else:
        square, inner = observed_entries.first_golub_kahan_sweep_rows(0, M, *arguments)
    assert_allclose(u, G @ v, rtol=1e-13, atol=1e-14)
    assert_allclose(y, G.T @ (G @ v), rtol=1e-13, atol=1e-14)
    assert_allclose(square, u @ u, rtol=1e-13)
    assert_allclose(inner, g @ x, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("cuts", [(2,), (1, 1, 3), (1, 2, 3, 4)])
def test_parallel_loops_equal_the_serial_ones(pattern, cuts):
    rng = np.random.default_rng(5)
    M, bounds = pattern.shape[0], in_chunks(pattern, *cuts).bounds
    targets = rng.standard_normal(pattern.n)
    serial = reading(pattern, rng)
    parallel = serial._replace(values=serial.values.copy())
    entries = welsch.WelschEntries(*pattern.rows, targets, 0.8)
    total = welsch.sum_loss_rows(0, M, entries, serial)
    assert_allclose(welsch.sum_loss_parallel(bounds, entries, parallel), total, rtol=1e-14)
    out = np.empty((2, pattern.n))
    observed_entries.write_entries(0, M, pattern.rows, serial, out[0])
    observed_entries.write_entries_parallel(bounds, pattern.rows, parallel, out[1])
    assert_allclose(out[1], out[0], rtol=1e-15)
    g = np.empty((2, pattern.n))
    welsch.fw_step_and_gradient_rows(0, M, entries, serial, 0.1, g[0])
    welsch.fw_step_and_gradient_parallel(bounds, entries, parallel, 0.1, g[1])
    assert_allclose(parallel.values, serial.values, rtol=1e-15)
    assert_allclose(g[1], g[0], rtol=1e-14)
