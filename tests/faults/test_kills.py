"""A sweep that is killed and resumed stores what an undisturbed one does, bit for bit."""

import random

import pytest
from faults import killing


@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("victim", "times"), [("parent", 1), ("worker", 2), ("stopped", 2)])
def test_nothing_is_lost_and_nothing_differs(tmp_path, victim, times):
    found, _ = killing.VICTIMS[victim](tmp_path / victim, random.Random(1), times)
    assert found == killing.undisturbed(tmp_path / "undisturbed")
