"""Modules written in a test, and forgotten after it."""

import importlib
import itertools
import shutil
import sys
import textwrap
from pathlib import Path

import pytest

_numbers = itertools.count()


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Return a function that imports a text as a module of its own."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text):
        name = f"written_{next(_numbers)}"
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
        return importlib.import_module(name)

    return write


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return the module of a user's method, in a folder of his own."""
    for name in ("own_faults", "helpers_of_own"):
        shutil.copy(Path(__file__).parent / f"{name}.py", tmp_path)
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("own_faults")
    for name in ("own_faults", "helpers_of_own"):
        sys.modules.pop(name, None)
