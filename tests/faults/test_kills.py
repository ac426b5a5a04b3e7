"""A sweep that is killed and resumed stores what an undisturbed one does, bit for bit."""

import importlib
import random
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.faults,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="needs signals"),
]


@pytest.fixture(scope="module", autouse=True)
def programs():
    """The programs beside this file, which do the same many times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parent)
        yield


@pytest.fixture(scope="module")
def killing(programs):
    return importlib.import_module("killing")


@pytest.fixture(scope="module")
def expected(killing, tmp_path_factory):
    return killing.undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.long
@pytest.mark.parametrize(("victim", "times"), [("parent", 1), ("worker", 2), ("stopped", 2)])
def test_nothing_is_lost_and_nothing_differs(killing, expected, tmp_path, victim, times):
    found, _ = killing.VICTIMS[victim](tmp_path, random.Random(1), times)
    assert found == expected


@pytest.mark.long
def test_a_lost_scheduler_is_told_and_its_runs_are_made_elsewhere(killing, expected, tmp_path):
    pytest.importorskip("distributed", reason="needs distributed")
    found, _ = killing.kill_scheduler(tmp_path, random.Random(2))
    assert found == expected


@pytest.mark.long
def test_lost_dask_workers_are_replaced(killing, expected, tmp_path):
    pytest.importorskip("distributed", reason="needs distributed")
    found, _ = killing.kill_dask_worker(tmp_path, random.Random(3), 2)
    assert found == expected


@pytest.mark.long
def test_four_sweeps_beside_all_verbs(expected, tmp_path):
    crowding = importlib.import_module("crowding")
    stored, merged, done = crowding.crowd(tmp_path / "crowded", random.Random(4))
    assert stored == merged == expected
    assert len(done) == 5
