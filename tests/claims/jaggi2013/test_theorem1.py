"""Jaggi 2013 theorem 1, the claim that docs/claims.md shows."""

import numpy as np
import pytest

from pfbench.claims.jaggi2013 import theorem1
from pfbench.verification.instruments import quadratics
from pfbench.verification.instruments.indefinite import curvature_upper_bound


def test_frank_wolfe_keeps_it_and_comes_near(judgements):
    found = judgements(theorem1.PRIMAL)
    assert (found.verdict, found.lost) == ("within-10", False), found.reason
    assert found.measured["passed: ratio"] == pytest.approx((2 / 3 - 0.01) ** 2, rel=1e-3)


def test_the_instances_have_the_curvature_and_the_minimum_that_they_state():
    for d in (2, 7):
        problem = quadratics.make_simplex_half_square(d)
        assert curvature_upper_bound(problem.set.vertices, problem.A) == pytest.approx(2.0)
        assert problem.value(np.full(d, 1.0 / d)) == pytest.approx(problem.minimum_value)
    for slope in (-0.01, -0.5, 10.0):
        problem, grid = quadratics.make_interval_quadratic(slope), np.linspace(0.0, 1.0, 1001)
        assert curvature_upper_bound(problem.set.vertices, problem.A) == pytest.approx(1.0)
        least = min(problem.value(np.array([x])) for x in grid)
        assert problem.minimum_value == pytest.approx(least, abs=1e-9)
