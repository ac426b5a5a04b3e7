"""Local LMO: its steps against projected ones, and its bound; ratios are in ratios.toml."""

import pytest
from judging import trial

from pfbench.claims.catalogue import CLAIMS
from pfbench.claims.richtarik2026 import local_steps

pytestmark = pytest.mark.claims


def test_projected_steps_are_local_steps():
    claim = CLAIMS["richtarik2026-llo-projection"]
    for instance in claim.instances:
        assert max(claim.check.keywords["measure"](trial(claim), instance.build_seeded(1))) < 1.0


def test_the_bound_is_that_of_the_statement():
    assert local_steps.suboptimality_bound(3.0, 2.0, 4) == 4.0
