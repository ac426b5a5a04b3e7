"""A file is written whole or not at all."""

import os
import stat

import pytest

from pfbench.base import files
from pfbench.base.files import PARTIAL, whole


class Full(OSError):
    """What a full disk says."""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def half(path, error):
    """Begin to write, and fail."""
    with whole(path) as file:
        file.write(b"half")
        raise error


@pytest.mark.parametrize("before", [None, b"old"])
def test_what_was_written_takes_the_place_of_the_file(tmp_path, before):
    path = tmp_path / "file"
    if before is not None:
        path.write_bytes(before)
    with whole(path) as file:
        file.write(b"one ")
        file.write(b"two")
        assert (path.read_bytes() if path.exists() else None) == before
        (beside,) = set(names(tmp_path)) - {"file"}
        assert beside.startswith(".file.")
        assert beside.endswith(PARTIAL)
    assert path.read_bytes() == b"one two"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [Full, ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("before", [None, b"old"])
def test_a_block_that_fails_leaves_everything_as_it_was(tmp_path, error, before):
    path = tmp_path / "file"
    if before is not None:
        path.write_bytes(before)
    with pytest.raises(error):
        half(path, error)
    assert (path.read_bytes() if path.exists() else None) == before
    assert names(tmp_path) == ([] if before is None else ["file"])


@pytest.mark.parametrize("where", ["flush", "replace"])
def test_a_disk_that_fails_leaves_everything_as_it_was(tmp_path, monkeypatch, where):
    def fail(*arguments):
        raise Full

    path = tmp_path / "file"
    path.write_bytes(b"old")
    with monkeypatch.context() as patch:
        if where == "flush":
            patch.setattr(os, "fsync", fail)
        else:
            patch.setattr(files.Path, "replace", fail)
        with pytest.raises(Full), whole(path) as file:
            file.write(b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_it_is_on_the_disk_before_it_takes_the_name(tmp_path, monkeypatch):
    path, seen = tmp_path / "file", []
    flush, replace = os.fsync, files.Path.replace

    def flushed(handle):
        seen.append(("flush", os.fstat(handle).st_size))
        flush(handle)

    def renamed(self, target):
        seen.append(("rename", self.stat().st_size))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(files.Path, "replace", renamed)
    with whole(path) as file:
        file.write(b"12345")
    assert seen == [("flush", 5), ("rename", 5)]


def test_writers_at_the_same_time_do_not_meet(tmp_path):
    path = tmp_path / "file"
    with whole(path) as first, whole(path) as second:
        first.write(b"first")
        second.write(b"second")
    # The outer block ends last.
    assert path.read_bytes() == b"first"
    assert names(tmp_path) == ["file"]


def test_a_folder_that_does_not_exist_is_the_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError), whole(tmp_path / "no" / "file"):
        pytest.fail("nothing can be written there")
    assert names(tmp_path) == []


def test_the_file_has_the_usual_permissions(tmp_path):
    with whole(tmp_path / "new") as file:
        file.write(b"x")
    (tmp_path / "plain").write_bytes(b"x")
    new, plain = ((tmp_path / name).stat().st_mode for name in ("new", "plain"))
    assert stat.S_IMODE(new) == stat.S_IMODE(plain)
