"""What the tests of claims share."""

import os

import pytest
from judging import Judgements

from pfbench.claims.catalogue import CLAIMS
from pfbench.verification.claim import Claim

SLOW = 1.0
"""Seconds: what is tested of a claim that takes as long is marked long."""


def pytest_collection_modifyitems(items):
    for item in items:
        given = getattr(item, "callspec", None)
        for value in given.params.values() if given and item.get_closest_marker("claims") else ():
            claim = CLAIMS.get(value) if isinstance(value, str) else value
            if isinstance(claim, Claim) and (claim.expected_seconds[0] or 0.0) >= SLOW:
                item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def judgements(tmp_path_factory) -> Judgements:
    """Judge each claim, and each planted fault, once for all processes of this session."""
    base = tmp_path_factory.getbasetemp()
    return Judgements((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "verdicts")
