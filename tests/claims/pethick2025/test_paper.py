"""What pethick2025 holds can be made, and binds where it is said to."""

import pytest
from judging import assert_complete

from pfbench.claims.pethick2025 import PAPER, geometry


def test_the_paper_is_complete():
    assert_complete(PAPER)


def test_the_gap_bounds_the_gradient_and_is_reached(judgements):
    found = judgements(geometry.DUAL_GAP)
    assert found.verdict == "tight", found.reason
    assert max(found.measured["tight_ratio"]) == pytest.approx(1.0, abs=0.01)
