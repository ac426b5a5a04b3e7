"""A file is written whole or not at all; what cannot be written is told before."""

import errno
import os
import stat

import pytest
from processes import run_python

from pfbench.base import files
from pfbench.base.errors import InputError, StorageError
from pfbench.base.files import PARTIAL, atomic_write, check_writable


class Full(OSError):
    """What a full disk says."""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def half(path, error):
    """Begin to write, and fail."""
    with atomic_write(path) as file:
        file.write(b"half")
        raise error


@pytest.fixture(params=[None, b"old"])
def before(request, tmp_path):
    """What a file has at first, if it is there."""
    if request.param is not None:
        (tmp_path / "file").write_bytes(request.param)
    return request.param


def assert_as_it_was(folder, before):
    assert names(folder) == ([] if before is None else ["file"])
    assert before is None or (folder / "file").read_bytes() == before


def test_what_was_written_takes_the_place_of_the_file(tmp_path, before):
    path = tmp_path / "file"
    with atomic_write(path) as file:
        file.write(b"one ")
        file.write(b"two")
        assert (path.read_bytes() if path.exists() else None) == before
        (beside,) = set(names(tmp_path)) - {"file"}
        assert beside.startswith(".file.")
        assert beside.endswith(PARTIAL)
    assert path.read_bytes() == b"one two"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [Full, ValueError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_everything_as_it_was(tmp_path, error, before):
    with pytest.raises(error):
        half(tmp_path / "file", error)
    assert_as_it_was(tmp_path, before)


@pytest.mark.parametrize("where", ["flush", "replace"])
def test_a_disk_that_fails_leaves_everything_as_it_was(tmp_path, monkeypatch, before, where):
    def fail(*arguments):
        raise Full

    with monkeypatch.context() as patch:
        if where == "flush":
            patch.setattr(os, "fsync", fail)
        else:
            patch.setattr(files.Path, "replace", fail)
        with pytest.raises(Full), atomic_write(tmp_path / "file") as file:
            file.write(b"new")
    assert_as_it_was(tmp_path, before)


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
    with atomic_write(path) as file:
        file.write(b"12345")
    assert seen == [("flush", 5), ("rename", 5)]


def test_writers_at_the_same_time_do_not_meet(tmp_path):
    path = tmp_path / "file"
    with atomic_write(path) as first, atomic_write(path) as second:
        first.write(b"first")
        second.write(b"second")
    # The outer block ends last.
    assert path.read_bytes() == b"first"
    assert names(tmp_path) == ["file"]


def test_a_folder_that_does_not_exist_is_the_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "no" / "file"):
        pytest.fail("nothing can be written there")
    assert names(tmp_path) == []


def test_the_file_has_the_usual_permissions(tmp_path):
    with atomic_write(tmp_path / "new") as file:
        file.write(b"x")
    (tmp_path / "plain").write_bytes(b"x")
    new, plain = ((tmp_path / name).stat().st_mode for name in ("new", "plain"))
    assert stat.S_IMODE(new) == stat.S_IMODE(plain)


# --- writability ----------------------------------------------------------------------------------


@pytest.fixture
def refusing(monkeypatch):
    """Return a function that makes the system refuse new files with an error number."""

    def refuse(number):
        def fail(*, dir):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(files, "TemporaryFile", fail)

    return refuse


def test_a_file_that_can_be_written_is_left_as_it_is(tmp_path, before):
    path = tmp_path / "file"
    if before is not None:
        os.utime(path, (1, 1))
    check_writable(path)
    assert_as_it_was(tmp_path, before)
    assert before is None or path.stat().st_mtime == 1


@pytest.mark.parametrize("inside", ["", "new", "new/deeper"])
def test_a_folder_may_be_there_or_be_made_later(tmp_path, inside):
    check_writable(tmp_path / inside, folder=True)
    assert names(tmp_path) == []


def test_a_device_needs_no_room_beside_it(refusing):
    refusing(errno.EACCES)
    check_writable(files.Path(os.devnull))


@pytest.mark.parametrize("path", ["file", "file/new", "file/new/deeper"])
def test_a_file_in_place_of_a_folder_is_refused(tmp_path, path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match=r"cannot be written \(Not a directory\): choose another"):
        check_writable(tmp_path / path, folder=True)


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.EACCES, "(Permission denied): use -o for another, or fix its permissions."),
        (errno.EPERM, "(Operation not permitted): use -o for another, or fix its permissions."),
        (errno.EROFS, "(Read-only file system): use -o for another."),
        (errno.ENOSPC, "(No space left on device): use -o for another."),
    ],
)
@pytest.mark.parametrize("folder", [False, True])
def test_the_reason_decides_the_remedy(tmp_path, refusing, number, sentence, folder):
    refusing(number)
    with pytest.raises(StorageError) as refused:
        check_writable(
            tmp_path / "x", "it", folder=folder, remedy="use -o for another", error=StorageError
        )
    assert str(refused.value) == f"it cannot be written {sentence}"


def test_a_name_that_leaves_no_room_for_the_partial_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="File name too long"):
        check_writable(tmp_path / ("x" * 250))
    with pytest.raises(InputError, match="would overwrite code"):
        check_writable(files.Path(__file__))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_permissions_count_for_those_whom_they_bind(tmp_path):
    (tmp_path / "locked").mkdir(mode=0o555)
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "file").write_bytes(b"")
    for name, mode in ((".", 0o755), ("open", 0o777), ("open/file", 0o444)):
        (tmp_path / name).chmod(mode)
    code = """
import os, sys
from pathlib import Path
from pfbench.base.errors import InputError
from pfbench.base.files import check_writable
os.setuid(65534)
for path, folder in (("locked/new", True), ("locked/file", False), ("open/file", False),
                     ("open/new", False)):
    try:
        check_writable(Path(path), folder=folder)
    except InputError as error:
        print(error)
    else:
        print("fine")
"""
    # Relative paths: somebody else may not pass through the folders above.
    printed, _ = run_python("-c", code, cwd=tmp_path)
    why = "cannot be written (Permission denied): choose another, or fix its permissions."
    refused = [f"{path} {why}" for path in ("locked/new", "locked/file", "open/file")]
    assert printed.splitlines() == [*refused, "fine"]
