"""The sampled decisions: how often they would be wrong, and what they find."""

import numpy as np
import pytest
from scipy import stats

from pfbench.verification.laws.estimates import _means, _squares
from pfbench.verification.laws.steps import _compared


def test_a_mean_that_is_off_is_found_and_a_right_one_is_not():
    rng = np.random.default_rng(3)
    errors = rng.choice([-1.0, 1.0], (1000, 2, 3))
    rights = np.full((1000, 2), 3.0)
    assert _means(errors, rights, 1.0).verdict == "holds"
    assert _means(errors + 0.3, rights, 1.0).verdict == "violated"
    assert _means(errors - 0.3 * np.eye(3)[0] * 2.0, rights, 1.0).verdict == "violated"
    assert _means(10.0 * errors, 100.0 * rights, 1.0).verdict == "inconclusive"
    errors[:, 0] = 0.0
    assert _means(errors, rights, 1.0).verdict == "holds"
    errors[:, 0] = 1e-6
    assert _means(errors, rights, 1.0).verdict == "violated"


def test_a_rare_large_error_that_is_right_is_not_called_wrong():
    """A draw in 1500 is large: half of all thousands have none, and a t-test rejects them all."""
    chance = 1.0 / 1500.0
    errors = np.full((1000, 1, 1), -chance) + 1e-5 * np.random.default_rng(1).normal(
        size=(1000, 1, 1)
    )
    rights = np.full((1000, 1), chance * (1.0 - chance) + 1e-10)
    assert stats.ttest_1samp(errors[:, 0, 0], 0.0).pvalue < 1e-12
    assert _means(errors, rights, 1.0).verdict == "holds"


@pytest.mark.parametrize(("factor", "verdict"), [(0.5, "holds"), (1.0, "holds"), (2.0, "violated")])
def test_a_mean_square_is_compared_with_what_it_must_be(factor, verdict):
    squares = factor * np.random.default_rng(4).chisquare(3, 1000) / 3.0
    assert _squares([(one, 1.0) for one in squares], 1e-18, 5).verdict == verdict


def test_a_law_of_the_output_is_compared_point_by_point():
    right = {bytes([k]): 1.0 / 8.0 for k in range(8)}
    counts = np.random.default_rng(5).multinomial(400, [1.0 / 8.0] * 8) / 400.0
    found = {bytes([k]): float(count) for k, count in enumerate(counts)}
    assert _compared(found, right).verdict == "holds"
    half = {bytes([k]): 0.25 for k in range(4, 8)}
    assert _compared(half, right).verdict == "violated"
    assert _compared({b"elsewhere": 1.0}, right).verdict == "violated"
