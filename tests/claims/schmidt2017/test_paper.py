"""SAG on quadratics: its step maps, and the measured radii and faults of theorem 1."""

import numpy as np
import pytest
from judging import trial

from pfbench.claims.schmidt2017 import theorem1

pytestmark = pytest.mark.claims


def step_maps(a, gamma):
    """Return the maps of a step on (x, phi): an entry is replaced, then x moves by the mean."""
    n = len(a)
    for i in range(n):
        B = np.eye(n + 1)
        B[1 + i] = np.eye(n + 1)[0]
        mean = np.append(0.0, a / n) @ B
        B[0] -= gamma * mean
        yield B


@pytest.mark.parametrize(("n", "mu", "radius"), [(5, 0.05, 0.940), (5, 0.9, 0.853)])
def test_the_radius_is_that_of_the_definition(n, mu, radius):
    problem = theorem1.make_rows(n, mu)
    a = problem.component_smoothness()
    square = sum(np.kron(B, B) for B in step_maps(a, 1.0 / 16.0)) / n
    expected = np.abs(np.linalg.eigvals(square)).max()
    rate = 1.0 - min(a.mean() / 16.0, 1.0 / (8.0 * n))
    assert expected == pytest.approx(radius, abs=1e-3)
    assert theorem1.spectral_radius_ratio(trial(theorem1.RADIUS), problem) * rate == pytest.approx(
        expected
    )


def test_the_expected_excess_is_that_of_all_draws():
    """E F(x_k) by all 2^k sequences of draws, k <= 8."""
    a, gamma = np.array([1.0, 0.05]), 1.0 / 16.0
    states, ratios = [np.array([1.0, 0.0, 0.0])], []
    bound = a.mean() / 2.0 + 4.0 / 2.0
    for _ in range(8):
        states = [B @ z for z in states for B in step_maps(a, gamma)]
        bound *= 1.0 - min(a.mean() / 16.0, 1.0 / 16.0)
        ratios.append(a.mean() / 2.0 * np.mean([z[0] ** 2 for z in states]) / bound)
    measured = theorem1.max_excess_ratio(trial(theorem1.THEOREM), theorem1.make_rows(2, 0.05))
    assert measured == pytest.approx(max(ratios))
    assert measured == pytest.approx(0.116, abs=1e-3)
