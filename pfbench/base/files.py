"""Atomic writing of files, and recording of the files that user-defined code reads.

Files that a library opens from its own C code raise no Python audit event and are missed.
"""

import errno
import hashlib
import multiprocessing
import os
import secrets
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from pfbench.base.errors import InputError, PfbenchError, StorageError

PARTIAL = ".partial"
"""Suffix of a file that is being written, or that a killed process left behind."""


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file for writing; at the end of the block, it replaces `path`.

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


def flush_folder_to_disk(folder: Path) -> None:
    """Flush the entries of a folder to the disk, if the system supports this."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def as_storage_errors(subject: str) -> Iterator[None]:
    """Convert an OSError in the ``with`` block to a StorageError whose message is one sentence.

    Raises
    ------
    StorageError
        If the block raises an OSError.
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
    """Return a new hidden path in the folder of a file."""
    return path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{PARTIAL}")


def check_writable(
    path: Path,
    name: str = "",
    *,
    folder: bool = False,
    remedy: str = "choose another",
    error: type[PfbenchError] = InputError,
) -> None:
    """Raise if a file or folder cannot be written, before the work whose results go there.

    The check leaves nothing behind, even if the process is killed. It does not check for free disk
    space.

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
        elif path.suffix == ".py" and path.is_file():
            raise error(f"{name} would overwrite code: give another path.")
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
    """Create a file in a folder and remove it; raise the system's error if that fails."""
    # On Linux it has no name, so that nothing is left even by a kill.
    with TemporaryFile(dir=folder):
        pass


_CODE = (".py", ".pyc", ".pyi", ".so", ".pyd", ".nbi", ".nbc")
_PACKAGE = str(Path(__file__).parents[1])
_READERS = tuple(os.path.join(_PACKAGE, room, "") for room in ("problems", "verification"))
"""Subpackages that open the files named in a selector."""


@dataclass
class FileWatch:
    """Audit hook that records the files that user-defined code opens for reading.

    Attributes
    ----------
    opened
        Digest of each file, by the pair of its name in the code and its full path.
    created
        Files that this process created; these are not inputs.
    """

    opened: dict[tuple[str, str], str] = field(default_factory=dict)
    created: set[str] = field(default_factory=set)
    _busy: bool = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record a file if the audit event opens one; Python calls this at each audit event."""
        if event != "open" or self._busy or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        name = os.fsdecode(arguments[0])
        full, flags = os.path.abspath(name), arguments[2] or 0
        if flags & (os.O_WRONLY | os.O_RDWR) and not os.path.exists(full):
            self.created.add(full)
        if flags & os.O_WRONLY or full in self.created or full.endswith(_CODE):
            return
        if is_user_file(full) and _is_opened_by_user_code() and os.path.isfile(full):
            self._busy = True
            try:
                self.opened[name, full] = file_digest_or_empty(full)
            finally:
                self._busy = False

    @property
    def digests(self) -> dict[str, str]:
        """Digests of the recorded files, by relative or absolute path, as written in the code."""
        return {full if os.path.isabs(name) else name: d for (name, full), d in self.opened.items()}


@cache
def process_file_watch() -> FileWatch:
    """Return the file watch of this process; the first call installs it until the process ends."""
    watch = FileWatch()
    sys.addaudithook(watch)
    return watch


@contextmanager
def record_opened_files() -> Iterator[dict[str, str]]:
    """Yield a dict that is filled after the block: digests of the files opened in the block."""
    existing, digests = process_file_watch(), dict[str, str]()
    opened, created = existing.opened, existing.created
    existing.opened, existing.created = {}, set()
    try:
        yield digests
    finally:
        digests |= existing.digests
        existing.opened, existing.created = opened | existing.opened, created | existing.created


def call_and_record_files(
    function: Callable[..., Any], *arguments: Any
) -> tuple[Any, dict[str, str]]:
    """Call a function; return its value, and digests of the files that user-defined code read.

    In a worker process, these are all files read since its start, because the code may keep their
    content.
    """
    with record_opened_files() as files:
        value = function(*arguments)
    return (
        value,
        files if multiprocessing.parent_process() is None else process_file_watch().digests,
    )


def find_changed_existing_file(digests: Mapping[str, str]) -> str:
    """Return the first file whose digest has changed; an empty string if none has changed.

    A missing file counts as unchanged: it may be on another machine.
    """
    return next(
        (name for name, d in digests.items() if file_digest_or_empty(name) not in ("", d)), ""
    )


def file_digest_or_empty(path: str) -> str:
    """Return the SHA-256 of a file; an empty string if it cannot be read."""
    try:
        state = os.stat(path)
        return _digest_by_path_and_stat(
            os.path.abspath(path), state.st_mtime_ns, state.st_size, state.st_ino
        )
    except OSError:
        return ""


@lru_cache(maxsize=4096)
def _digest_by_path_and_stat(path: str, *state: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_user_file(path: str) -> bool:
    """Return whether a file lies in no folder of pfbench, Python, a library or the system."""
    return not any(Path(path).is_relative_to(folder) for folder in _library_folders())


def _is_opened_by_user_code() -> bool:
    """Return whether the current audit event, which opens a file, comes from user-defined code."""
    frame = sys._getframe(2)
    while frame:
        name = frame.f_code.co_filename
        if name.startswith(_READERS) or (name.endswith(".py") and _is_user_module(name)):
            return True
        if name.startswith(("<frozen importlib", _PACKAGE)):
            return False
        frame = frame.f_back  # type: ignore[assignment]
    return False


@cache
def _is_user_module(path: str) -> bool:
    return is_user_file(os.path.abspath(path))


@cache
def _library_folders() -> frozenset[str]:
    """Return the folders of Python, of libraries, of pfbench and of the system."""
    kinds = ("stdlib", "platstdlib", "purelib", "platlib", "data")
    system = ("/proc", "/sys", "/dev", "/etc", "/usr")
    names = {_PACKAGE, sys.prefix, sys.base_prefix, *map(sysconfig.get_path, kinds), *system}
    return frozenset({*names, *map(os.path.realpath, names)} - {"/", ""})
