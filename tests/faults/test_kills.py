"""A sweep that is killed and resumed stores what an undisturbed one does, bit for bit."""

import importlib.util
import random
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.faults,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="needs signals"),
]


@pytest.fixture(scope="module")
def killing():
    """The program beside this file, which does the same many times."""
    path = Path(__file__).with_name("killing.py")
    spec = importlib.util.spec_from_file_location("killing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def expected(killing, tmp_path_factory):
    return killing.undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.parametrize("victim", ["parent", "worker"])
def test_nothing_is_lost_and_nothing_differs(killing, expected, tmp_path, victim):
    found, _ = killing.VICTIMS[victim](tmp_path, random.Random(1), 2)
    assert found == expected


@pytest.mark.long
def test_a_lost_scheduler_is_told_and_its_runs_are_made_elsewhere(killing, expected, tmp_path):
    pytest.importorskip("distributed", reason="needs distributed")
    found, _ = killing.kill_scheduler(tmp_path, random.Random(2))
    assert found == expected
