"""Theorem 1 of lacoste2016 and (9): their bounds."""

from math import sqrt

import numpy as np
import pytest

from pfbench.claims.lacoste2016 import theorem1


@pytest.mark.parametrize("gap", [0.1, 0.9, 1.0, 1.1, 5.0])
def test_the_decrease_is_the_best_of_the_quadratic_model(gap):
    """(9) is the maximum over gamma in [0, 1] of gamma g - gamma^2 C/2, with C = 1."""
    gamma = np.linspace(0.0, 1.0, 100001)
    best = float((gamma * gap - gamma**2 / 2).max())
    assert theorem1.min_decrease(gap, 1.0) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("h0", [0.1, 0.5, 1.0, 7.3])
def test_the_sharp_bound_follows_from_the_decrease(h0):
    """If g_k >= b for all k <= t then (t+1) decrease(b) <= h0: (15) is the root b of equality."""
    C = 1.0
    for t in range(60):
        root = theorem1.sharper_min_gap_bound(theorem1.CurvatureAndSuboptimality(C, h0), None, t)
        assert (t + 1) * theorem1.min_decrease(root, C) == pytest.approx(h0)
        assert root <= theorem1.min_gap_bound(
            theorem1.CurvatureAndSuboptimality(C, h0), None, t
        ) * (1 + 1e-12)
        assert theorem1.min_gap_bound(theorem1.CurvatureAndSuboptimality(C, h0), None, t) == max(
            2 * h0, C
        ) / sqrt(t + 1)
