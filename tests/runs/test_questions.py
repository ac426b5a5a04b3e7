"""Questions are answered once for a content, a source and an environment."""

import py_compile
import sys

import pytest
from stored import change

from pfbench.runs.cached_tasks import CachedTask, run_cached_tasks
from pfbench.runs.engines.engine import MultiProcessEngine, SingleProcessEngine
from pfbench.runs.engines.workers import Task
from pfbench.runs.storage.store import Store


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


def test_a_second_call_makes_what_is_new_and_nothing_else(store):
    assert rows([question(1), question(2)], store) == [(2, True), (4, True)]
    assert rows([question(2), question(3), question(1)], store) == [
        (4, False),
        (6, True),
        (2, False),
    ]
    assert len(list(store.keys("verdict"))) == 3


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


def test_an_interruption_keeps_what_is_finished(store):
    asked = [question(number) for number in range(3)]
    going = run_cached_tasks(asked, SingleProcessEngine(), store)
    assert [next(going).row["number"], next(going).row["number"]] == [0, 2]
    going.close()
    assert [new for _, new in rows(asked, store)] == [False, False, True]
