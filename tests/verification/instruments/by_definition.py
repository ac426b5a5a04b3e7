"""The oracles of a finite sum on arrays against the values of its components."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pfbench.base.sample import Sample

STEP = 1e-6
NEAR = {"rtol": 1e-8, "atol": 1e-8}


def gradients_by_quotients(components, x):
    """Return the gradients of all components, from a function that returns their values."""
    units = STEP * np.eye(x.size)
    return np.transpose([components(x + u) - components(x - u) for u in units]) / (2 * STEP)


def assert_oracles_are_those_of(components, problem, x, y, lacks=()):
    """Every oracle of first order at x, those that compare x with y, Hessians, and a table."""
    at_x, at_y = gradients_by_quotients(components, x), gradients_by_quotients(components, y)

    def each(x):
        return np.array([problem.batch(np.array([i]), x) for i in range(problem.n)])

    assert problem.value(x) == pytest.approx(np.mean(components(x)))
    assert_allclose(problem.gradient(x), at_x.mean(axis=0), **NEAR)
    assert_allclose(each(x), at_x, **NEAR)
    drawn = np.array([0, 1, 3, 3])
    change = (at_x - at_y)[drawn].mean(axis=0)
    for sample in (drawn, Sample(np.array([0, 1, 3]), np.array([1, 1, 2]))):
        assert_allclose(problem.batch(sample, x), at_x[drawn].mean(axis=0), **NEAR)
        assert_allclose(problem.difference(sample, x, y), change, **NEAR)
    if "hessian" not in lacks:
        h, hessian = STEP * (x - y), problem.hessian(y)
        along = (each(y + h) - each(y - h)) / (2 * STEP)
        assert_allclose(hessian.product(x, y), along.mean(axis=0), **NEAR)
        assert_allclose(hessian.batch(drawn, x, y), along[drawn].mean(axis=0), **NEAR)
    if "table" not in lacks:
        table, at_y[drawn] = problem.table(y), at_x[drawn]
        assert_allclose(table.difference(drawn, x), change, **NEAR)
        assert_allclose(table.replace(drawn, x), change, **NEAR)
        assert_allclose(table.mean, at_y.mean(axis=0), **NEAR)
        assert_allclose(table.difference(drawn, x), 0.0, **NEAR)
