"""Atomic writing of files, and checks that they can be written."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from pfbench.base.errors import InputError, PfbenchError, StorageError

PARTIAL = ".partial"
"""Suffix of a file that is being written, or that a killed process left behind."""


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file for writing, which replaces `path` once it is on the disk.

    If the block or the disk fails, or the user interrupts, `path` is unchanged and nothing else is
    left. A killed process leaves a hidden file whose name ends in `PARTIAL`.

    Parameters
    ----------
    path
        The file; its folder must exist.

    Yields
    ------
    BinaryIO
        An empty file, open for writing.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    partial = temporary_sibling(path)
    try:
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to the disk, where the system supports it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def translate_os_errors(subject: str) -> Iterator[None]:
    """Convert an OSError of the block to a StorageError with one sentence.

    Raises
    ------
    StorageError
        In place of an OSError.
    """
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{subject} could not be written ({error.strerror}): free some space or choose another "
            "folder."
        ) from error


def require_pyarrow(subject: str) -> None:
    """Raise unless pyarrow, which reads and writes Parquet, is installed.

    Raises
    ------
    InputError
        If pyarrow is not installed; `subject` begins the message.
    """
    if find_spec("pyarrow") is None:
        raise InputError(f'{subject} needs pyarrow: pip install "pfbench[parquet]".')


def temporary_sibling(path: Path) -> Path:
    """Return a new hidden name in the folder of a file."""
    return path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{PARTIAL}")


def check_writable(
    path: Path,
    name: str = "",
    *,
    folder: bool = False,
    remedy: str = "choose another",
    error: type[PfbenchError] = InputError,
) -> None:
    """Raise if a file or folder cannot be written, before any work is done for it.

    The check leaves nothing behind, even if the process is killed. Free disk space is not checked.

    Parameters
    ----------
    path
        Path to be written: a file, for which its folder must exist (see `atomic_write`), or a
        folder. A device or a pipe that exists must only be writable itself.
    name
        Name of the path in the message, e.g. ``--output a.json``; by default the path.
    folder
        Whether it is a folder, which need not exist yet: the nearest folder above it that exists
        must then be writable.
    remedy
        Remedy in the message: how to choose another path.
    error
        Type of the error.

    Raises
    ------
    error
        If a folder is missing or stands where a file should, a file stands where a folder should,
        a permission is lacking, the disk is read-only, or a name is too long.
    """
    name = name or str(path)
    try:
        if folder:
            _check_by_writing(next(path for path in (path, *path.parents) if os.path.lexists(path)))
        elif path.is_dir():
            raise error(f"{name} is a folder: give the path of a file.")
        elif not path.exists() or path.is_file():
            if not path.parent.is_dir():
                raise error(f"{name}: there is no folder {path.parent}; create it first.")
            with suppress(FileNotFoundError):
                temporary_sibling(path).lstat()  # refuses a name that is too long
            _check_by_writing(path.parent)
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as refused:
        if isinstance(refused, PermissionError):
            remedy += ", or fix its permissions"
        raise error(f"{name} cannot be written ({refused.strerror}): {remedy}.") from refused


def _check_by_writing(folder: Path) -> None:
    """Raise the system's error if no file can be created in a folder."""
    # On Linux it has no name, so that nothing is left even by a kill.
    with TemporaryFile(dir=folder):
        pass
