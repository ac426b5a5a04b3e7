"""A file that user-defined code reads belongs to the run: edited, it makes new runs."""

import pytest

from pfbench.base.files import find_changed_existing_file, record_opened_files
from pfbench.runs.engines.engine import MultiProcessEngine, SingleProcessEngine
from pfbench.runs.execute import iterate_plan_outcomes, predict_origins
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.store import Store

PROBLEM = """
from functools import cached_property
from pathlib import Path

import numpy as np

from pfbench.problems import FiniteSum
from pfbench.sets import L2Ball

HERE = Path(__file__).parent
{top}

class Patients(FiniteSum):
    n = 2
    set = L2Ball(2)

    def __init__(self):
        {init}

    @cached_property
    def b(self):
        return np.loadtxt(HERE / "patients.csv", delimiter=",")

    def value(self, x):
        return float(np.mean((x - self.b) ** 2))

    def gradient(self, x):
        return x - self.b
"""
WHEN = {
    "the module is imported": {
        "top": 'B = np.loadtxt(HERE / "patients.csv", delimiter=",")',
        "init": "self.__dict__['b'] = B",
    },
    "the problem is built": {"top": "", "init": "self.b"},
    "the method asks": {"top": "", "init": "pass"},
}


@pytest.fixture
def asked(tmp_path, monkeypatch, request):
    """Write the problem, in a module of its own name, and return a run on it."""
    module = f"patients_{request.node.name.translate({ord(c): '_' for c in '-[] .'})}"
    (tmp_path / f"{module}.py").write_text(PROBLEM.format(**request.param))
    (tmp_path / "patients.csv").write_text("0.25,0.5\n")
    monkeypatch.chdir(tmp_path)
    method = "frank-wolfe[step=open-loop,iterations=3]"
    return PlannedRun(f"{module}.py:Patients", method, 0, ("objective",), 1)


def how(asked, store, engine=None):
    (outcome,) = iterate_plan_outcomes([asked], store, engine or MultiProcessEngine(1))
    assert outcome.entry.run.status == "finished"
    return outcome.origin, outcome.entry.run.rows[-1][-1]


@pytest.mark.thin(2)
@pytest.mark.parametrize("asked", WHEN.values(), ids=[*WHEN], indirect=True)
def test_an_edited_file_makes_new_runs(asked, tmp_path):
    store = Store(tmp_path / "store")
    origin, before = how(asked, store)
    assert (origin, how(asked, store)) == ("made", ("stored", before))
    (tmp_path / "patients.csv").write_text("0.75,0.5\n")
    assert list(predict_origins([asked], store.folder, SingleProcessEngine()).values()) == ["made"]
    origin, after = how(asked, store)
    assert (origin, how(asked, store)) == ("made", ("stored", after))
    assert after != before


@pytest.mark.parametrize("asked", [WHEN["the problem is built"]], indirect=True)
def test_the_digest_of_a_file_is_part_of_the_key(asked, tmp_path):
    store = Store(tmp_path / "store")
    before = how(asked, store, SingleProcessEngine())[1]
    (tmp_path / "patients.csv").write_text("0.75,0.5\n")
    assert how(asked, store, SingleProcessEngine())[0] == "made"
    (tmp_path / "patients.csv").write_text("0.25,0.5\n")
    assert how(asked, store, SingleProcessEngine()) == ("stored", before)
    assert len(list(store.keys())) == 2


def test_a_key_without_a_file_has_no_entry_for_it(tmp_path):
    ours = PlannedRun("quadratic[rows=6,columns=4]", "frank-wolfe[iterations=3]", 0, (), 1)
    (outcome,) = iterate_plan_outcomes([ours], Store(tmp_path), SingleProcessEngine())
    assert "files" not in outcome.entry.notes


def test_a_file_that_is_not_there_counts_as_unchanged(tmp_path):
    (tmp_path / "a").write_text("1")
    assert find_changed_existing_file({str(tmp_path / "a"): "0", str(tmp_path / "b"): "0"}) == str(
        tmp_path / "a"
    )
    with record_opened_files() as files:
        (tmp_path / "a").read_text()
    assert find_changed_existing_file(files) == ""
