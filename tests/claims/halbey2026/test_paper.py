"""The worst start of Frank-Wolfe on the ball: made again by another way, and lost by a rounding."""

import math

import numpy as np
import pytest

from pfbench.claims.halbey2026 import worst_start

pytestmark = pytest.mark.claims


@pytest.mark.parametrize(("end", "T", "height"), [("0.1", 7, 0.405), ("0.03", 24, 0.304)])
def test_a_run_of_each_length_is_as_slow_as_said(end, T, height):
    found = worst_start.steps_and_scaled_suboptimality(end)
    assert found == (T, pytest.approx(height, abs=5e-4))
    assert found[1] >= 9 / 32


def test_a_start_that_is_off_by_a_rounding_loses_the_run():
    right, moved = (
        worst_start.steps_and_scaled_suboptimality("0.01", by)[1] for by in ("0", "1e-16")
    )
    assert moved < right / 4 < 9 / 32


def test_in_angles_and_floats_a_short_run_is_the_same():
    """By arccos, in floats, from the end backward, and forward by the geometry of the chord."""
    r, theta = 0.1, math.acos(1 - 0.1 / 3)
    for _ in range(7):
        phi = math.acos(math.cos(theta) - r)
        r, theta = r / math.cos(phi), phi - theta
    x, p = np.array([1 - r * math.cos(theta), r * math.sin(theta)]), np.array([1.0, 0.0])
    assert np.linalg.norm(x) <= 1.0
    np.testing.assert_allclose(x, worst_start.make_worst_instance("0.1").start_point, atol=1e-12)
    for _ in range(7):
        v = (p - x) / np.linalg.norm(p - x)
        x = x + (p - x) @ (v - x) / ((v - x) @ (v - x)) * (v - x)
    assert np.linalg.norm(x - p) == pytest.approx(0.1, rel=1e-9)


def test_samples_would_have_said_a_faster_rate(judgements):
    found = judgements(worst_start.WORST)
    assert found.verdict == "holds", found.reason
    seen = [found.measured[f"T = {T}: sampled"] for T in (7, 75, 250)]
    assert seen[0] > 9 / 32
    assert 0.05 < seen[1] < 0.2 < 9 / 32
    assert seen[2] < 0.03
    slope = math.log(seen[2] / seen[1]) / math.log(250 / 75) - 2
    assert slope < -2.7
