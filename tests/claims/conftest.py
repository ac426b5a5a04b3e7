"""What the tests of claims share."""

import os

import pytest
from judging import Judgements


@pytest.fixture(scope="session")
def judgements(tmp_path_factory) -> Judgements:
    """Judge each claim, and each planted fault, once for all processes of this session."""
    base = tmp_path_factory.getbasetemp()
    return Judgements((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "verdicts")
