"""The rate of lacoste2016."""

import pytest

from pfbench.claims.lacoste2016.theorem1 import RATE


@pytest.mark.long
def test_the_rate_binds_on_the_chain(judgements):
    found = judgements(RATE)
    assert found.verdict == "within-10", found.reason
    assert found.measured["zero chain, LO, 1.0 decades of eps: slope"] == pytest.approx(
        2.0, abs=0.05
    )
