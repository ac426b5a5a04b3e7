"""The forced path against its definition; enumerated draws against theirs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pfbench.base.errors import InputError
from pfbench.base.sample import Sample
from pfbench.verification.instruments.forced_path import ForcedPath

PATH = ForcedPath(
    24, 4, L=0.7, L2=1.3, kappa=0.4, sigma=0.2, gradient_slope=0.9, length=2.0, begin=0.5
)


def component(problem, i, x):
    """f_i as the docstring defines it."""
    r = x[0]
    h = problem.L * r + problem.L2 * r**2 / 2 - problem.kappa * r**3 / 6
    sign = 1.0 if i % 2 == 0 else -1.0
    return (
        sign * (problem.sigma + h) * x[1 + (i // 2) % (problem.d - 1)] - problem.gradient_slope * r
    )


def slope(function, x, step=1e-6):
    unit = np.eye(len(x)) * step
    return np.array([(function(x + u) - function(x - u)) / (2 * step) for u in unit])


def on(r):
    return np.array([r, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("r", [0.0, 0.3, 1.9])
def test_gradients_on_the_segment(r):
    expected = np.array([slope(lambda x, i=i: component(PATH, i, x), on(r)) for i in range(24)])
    for i in range(24):
        assert_allclose(PATH.batch(np.array([i]), on(r)), expected[i], atol=1e-9)
    assert_allclose(PATH.gradient(on(r)), expected.mean(axis=0), atol=1e-9)
    sample = np.array([3, 3, 7, 20])
    assert_allclose(PATH.batch(sample, on(r)), expected[sample].mean(axis=0), atol=1e-9)
    drawn = Sample(np.array([3, 7, 20]), np.array([2, 1, 1]))
    assert_allclose(PATH.batch(drawn, on(r)), PATH.batch(sample, on(r)), atol=1e-15)
    assert PATH.value(on(r)) == pytest.approx(
        np.mean([component(PATH, i, on(r)) for i in range(24)])
    )


def test_differences_and_hessians():
    sample = np.array([0, 5, 5, 22])
    x, y = on(1.2), on(0.4)
    assert_allclose(
        PATH.difference(sample, x, y), PATH.batch(sample, x) - PATH.batch(sample, y), atol=1e-15
    )
    step = 1e-6
    near = (PATH.batch(sample, on(0.4 + step)) - PATH.batch(sample, on(0.4 - step))) / (2 * step)
    H = PATH.hessian(y)
    assert_allclose(H.batch(sample, x, y), near * 0.8, atol=1e-8)
    assert_allclose(H.product(x, y), 0.0)


def test_the_constants_bound_what_happens_on_the_segment():
    constants = PATH.constants(PATH.start())
    grid = np.linspace(0.0, 2.0, 41)
    everything = np.arange(24)
    rows = np.array([[PATH.batch(np.array([i]), on(r)) for i in everything] for r in grid])
    moves = np.sqrt((np.diff(rows, axis=0) ** 2).sum(axis=2).mean(axis=1)) / np.diff(grid)
    assert moves.max() <= constants.L_ms <= 1.05 * moves.max()
    bends = np.abs(np.diff(moves) / np.diff(grid)[1:])
    assert bends.max() <= constants.L2_ms * (1 + 1e-9) <= 1.1 * bends.max()
    spread = ((rows - rows.mean(axis=1, keepdims=True)) ** 2).sum(axis=2).mean(axis=1)
    assert spread.max() == pytest.approx(constants.sigma2)


def test_an_unbalanced_size_is_refused():
    with pytest.raises(InputError, match="multiple of 2"):
        ForcedPath(25, 4)
