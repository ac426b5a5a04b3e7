"""The best known value of matrix recovery; those of linear models stand beside their tests."""

from dataclasses import replace

import numpy as np
import pytest

import pfbench as pf
from pfbench.points.atoms import Factors
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.problems.observations import Observations


def recovery(noise=0.0, radius=1.01, factor=1.0):
    """A rank-2 truth of nuclear norm 7, observed with noise; the ball has `radius` times that."""
    rng = np.random.default_rng(4)
    left, right = (np.linalg.qr(rng.standard_normal((k, 2)))[0].T for k in (6, 5))
    truth = Factors(np.array([5.0, 2.0]), left, right)
    cells = rng.choice(30, size=17, replace=False)
    rows, columns = np.divmod(cells, 5)
    full = (left * truth.weights[:, None]).T @ right
    values = factor * full[rows, columns] + noise * rng.standard_normal(17)
    data = Observations((6, 5), rows, columns, values, truth=truth)
    return RobustMatrixRecovery(data, radius=7.0 * radius)


@pytest.mark.parametrize("radius", [1.0, 1.01, 50.0])
def test_zero_is_attained_at_a_truth_inside_the_ball(radius):
    value, words = recovery(radius=radius).best_known
    assert 0.0 <= value < 1e-24
    assert "without noise" in words


@pytest.mark.parametrize("given", [{"noise": 1e-6}, {"radius": 0.999}, {"factor": 1.001}])
def test_nothing_is_known_with_noise_or_a_smaller_ball(given):
    assert recovery(**given).best_known is None


def test_nothing_is_known_without_the_truth():
    known = recovery()
    data = replace(known.observations, truth=None)
    assert RobustMatrixRecovery(data, radius=known.radius).best_known is None


def test_the_generated_problems_say_so_too():
    small = {"rows": 12, "columns": 10, "rank": 1, "outliers": 0.0}
    assert pf.problem("robust-matrix-recovery", **small).best_known[0] < 1e-20
    for other in ({"outliers": 0.5}, {"radius": 0.01}):
        assert pf.problem("robust-matrix-recovery", **small | other).best_known is None
