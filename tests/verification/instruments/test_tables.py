"""Tables of stored gradients against the gradients that were stored, component by component."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pfbench.verification.instruments.forced_path import ForcedPath
from pfbench.verification.instruments.rotating import RotatingBowl
from pfbench.verification.instruments.slopes import ConstantSlopeProblem

PROBLEMS = {
    "path": ForcedPath(24, 4, L=0.7, L2=1.3, kappa=0.4, sigma=0.2, length=2.0, begin=0.5),
    "bowl": RotatingBowl(n=28, mu=0.3, tau=0.7, sigma=0.2, radius=2.0),
    "slope": ConstantSlopeProblem(6, g=0.3, gap=2.0, L=1.7, sigma=0.4, phase=0.5),
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_a_table_holds_what_was_asked(problem):
    def components(x):
        return np.array([problem.batch(np.array([i]), x) for i in range(problem.n)])

    start = problem.start()
    table, stored = problem.table(start), components(start)
    assert_allclose(table.mean, problem.gradient(start), atol=1e-14)
    for factor, sample in ((0.6, [1, 1, 4]), (1.4, [4, 0, 5])):
        x, sample = factor * start, np.array(sample)
        expected = (components(x) - stored)[sample].mean(axis=0)
        assert_allclose(table.difference(sample, x), expected, atol=1e-14)
        assert_allclose(table.replace(sample, x), expected, atol=1e-14)
        stored[sample] = components(x)[sample]
        assert_allclose(table.mean, stored.mean(axis=0), atol=1e-14)
