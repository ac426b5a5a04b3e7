"""What is taken from a store: of the files that code reads, of cached tasks, of what is cut off."""

import dataclasses
import py_compile
import sys

import pytest
from command_line import SMALL, SVRG
from stored import change

from pfbench.base.files import find_changed_existing_file, record_opened_files
from pfbench.runs import execute
from pfbench.runs.cached_tasks import CachedTask, run_cached_tasks
from pfbench.runs.engines import run_task
from pfbench.runs.engines.engine import MultiProcessEngine, SingleProcessEngine
from pfbench.runs.engines.workers import Task
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


# --- Questions are answered once for a content, a source and an environment -----------------------


def doubled(number):
    if number < 0:
        raise ArithmeticError("below zero")
    return {"number": 2 * number}


def question(number, *, content=None, modules=("pfbench.runs.loop.run",), kind="verdict"):
    said = {"number": number} if content is None else content
    return CachedTask(kind, said or None, frozenset(modules), Task(doubled, (number,)))


def rows(questions, store, engine=None):
    """Of each question its row, and whether it was made now."""
    found = {}
    for answer in run_cached_tasks(questions, engine or SingleProcessEngine(), store):
        assert answer.index not in found
        found[answer.index] = (answer.row and answer.row["number"], answer.result is not None)
    return [found[index] for index in range(len(questions))]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def test_what_is_missing_is_told_before_it_is_made(store):
    told = []
    rows([question(2)], store)
    asked = [question(1), question(2), question(3)]
    assert len(list(run_cached_tasks(asked, SingleProcessEngine(), store, told.append))) == 3
    assert len(list(run_cached_tasks(asked, SingleProcessEngine(), store, told.append))) == 3
    assert told == [[0, 2]]


def test_without_a_store_all_are_made(tmp_path):
    assert rows([question(1)], None) == rows([question(1)], None) == [(2, True)]
    assert list(tmp_path.iterdir()) == []


def test_what_failed_is_tried_again_and_what_cannot_be_named_is_made_again(store):
    asked = [question(-1), question(5, content={}), question(1)]
    assert rows(asked, store) == [(None, True), (10, True), (2, True)]
    assert rows(asked, store) == [(None, True), (10, True), (2, False)]


def test_what_has_no_source_is_made_again(store, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "asked_compiled.py").write_text("")
    py_compile.compile(tmp_path / "asked_compiled.py", tmp_path / "asked_compiled.pyc")
    (tmp_path / "asked_compiled.py").unlink()
    asked = [question(1, modules=["asked_compiled"]), question(2, modules=["no_such_module"])]
    assert rows(asked, store) == rows(asked, store) == [(2, True), (4, True)]
    assert list(store.keys("verdict")) == []


def test_a_damaged_row_is_made_again(store):
    rows([question(1)], store)
    (key,) = store.keys("verdict")
    change(store, key, "verdict")
    assert rows([question(1)], store) == [(2, True)]
    assert rows([question(1)], store) == [(2, False)]


def test_the_source_of_a_module_counts_and_that_of_another_does_not(store, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "asked_below.py").write_text("")
    (tmp_path / "asked_one.py").write_text("import asked_below")
    (tmp_path / "asked_two.py").write_text("")
    asked = [question(1, modules=["asked_one"]), question(2, modules=["asked_two"])]

    def made():
        found = [new for _, new in rows(asked, store)]
        for name in ("asked_below", "asked_one", "asked_two"):
            sys.modules.pop(name, None)
        return found

    assert made() == [True, True]
    assert made() == [False, False]
    (tmp_path / "asked_below.py").write_text("edited = True")
    assert made() == [True, False]
    (tmp_path / "asked_two.py").write_text("edited = True")
    assert made() == [False, True]


def test_processes_give_the_same_rows(store, tmp_path):
    asked = [question(number) for number in range(5)]
    here = rows(asked, store)
    assert rows(asked, Store(tmp_path / "other"), MultiProcessEngine(2)) == here
    assert rows(asked, store, MultiProcessEngine(2)) == [(number, False) for number, _ in here]


# --- An interrupted run is told as such, and never stored as if it were finished ------------------


def plans(count):
    return [PlannedRun(SMALL, SVRG, seed, ("value",), 5) for seed in range(count)]


def test_a_killed_run_ends_the_work_and_is_not_stored(tmp_path, monkeypatch):
    whole, seeds = run_task.drive, []

    def killed(ready, ledger, *, seed, **options):
        seeds.append(seed)
        run = whole(ready, ledger, seed=seed, **options)
        return dataclasses.replace(run, status="killed") if seed == 1 else run

    store = Store(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(run_task, "drive", killed)
        with pytest.raises(KeyboardInterrupt):
            execute.execute(plans(3), store)
    assert seeds == [0, 1]
    assert len(list(store.keys())) == 1

    made = []
    outcomes = execute.execute(
        plans(3), store, progress=lambda one: made.append(one.origin != "stored")
    )
    assert made == [False, True, True]
    assert [o.entry.run.status for o in outcomes] == ["finished"] * 3
