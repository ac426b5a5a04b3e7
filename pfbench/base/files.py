"""Files that are written whole or not at all, and whether they can be written."""

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
"""The end of the name of a file that is being written, or that a killed process left."""


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a file beside `path` for writing, which takes its place once it is on the disk.

    If the block or the disk fails, or the user interrupts, `path` is as it was and nothing else is
    left. A killed process leaves a hidden file whose name ends in `PARTIAL`.

    Parameters
    ----------
    path
        The file; its folder must exist.

    Yields
    ------
    BinaryIO
        What to write to, from its start.

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
    """Flush to the disk which names a folder has; where a system knows no such thing, nothing."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def translate_os_errors(subject: str) -> Iterator[None]:
    """Say in one sentence that the system does not let something be written inside.

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
    """Refuse what reads or writes Parquet where pyarrow is not installed.

    Raises
    ------
    InputError
        If it is not; `subject` begins the sentence.
    """
    if find_spec("pyarrow") is None:
        raise InputError(f'{subject} needs pyarrow: pip install "pfbench[parquet]".')


def temporary_sibling(path: Path) -> Path:
    """Return a new hidden name beside a file."""
    return path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{PARTIAL}")


def check_writable(
    path: Path,
    name: str = "",
    *,
    folder: bool = False,
    remedy: str = "choose another",
    error: type[PfbenchError] = InputError,
) -> None:
    """Refuse a file or folder that could not be written, before any work is done for it.

    It makes nothing, and leaves nothing behind even if the process is killed. Whether the disk has
    room for what comes is known only when it is written.

    Parameters
    ----------
    path
        What will be written: a file, for which its folder must exist (see `atomic_write`), or a
        folder. A device or a pipe that exists must only be writable itself.
    name
        What the message calls it, e.g. ``--output a.json``; the path if not given.
    folder
        Whether it is a folder, which need not exist yet: the nearest folder above it that exists
        must then be writable.
    remedy
        How another one is chosen, as the message says it.
    error
        The type of the error.

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
                raise error(f"{name}: there is no folder {path.parent}; make it first.")
            with suppress(FileNotFoundError):
                temporary_sibling(path).lstat()  # refuses a name that is too long
            _check_by_writing(path.parent)
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as refused:
        if isinstance(refused, PermissionError):
            remedy += ", or mend its permissions"
        raise error(f"{name} cannot be written ({refused.strerror}): {remedy}.") from refused


def _check_by_writing(folder: Path) -> None:
    """Raise the system's error if no file can be made in a folder."""
    # On Linux it has no name, so that nothing is left even by a kill.
    with TemporaryFile(dir=folder):
        pass
