"""Files that user-defined code opens for reading in this process, with their digests.

Files that a library opens from its own C code raise no Python audit event and are missed.
"""

import hashlib
import multiprocessing
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

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
        """Record an opened file; Python calls this at each audit event."""
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
        """Digest of each file, by relative path as in the code, else by full path."""
        return {full if os.path.isabs(name) else name: d for (name, full), d in self.opened.items()}


@cache
def process_file_watch() -> FileWatch:
    """Return the watch of this process, installed at the first call and never removed."""
    watch = FileWatch()
    sys.addaudithook(watch)
    return watch


@contextmanager
def record_opened_files() -> Iterator[dict[str, str]]:
    """Yield a mapping that gets, after the block, the digests of the files opened in it."""
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
    """Call a function; return its value and the files that user-defined code has read.

    In a worker process these are all files read since its start: the code may keep their content.
    """
    with record_opened_files() as files:
        value = function(*arguments)
    return (
        value,
        files if multiprocessing.parent_process() is None else process_file_watch().digests,
    )


def find_changed_file(files: Mapping[str, str]) -> str:
    """Return the first file whose digest has changed; an empty string if there is none.

    A missing file counts as unchanged: it may be on another machine.
    """
    return next(
        (name for name, d in files.items() if file_digest_or_empty(name) not in ("", d)), ""
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
    """Return whether a file belongs neither to pfbench, Python, a library nor the system."""
    return not any(Path(path).is_relative_to(folder) for folder in _library_folders())


def _is_opened_by_user_code() -> bool:
    """Return whether user-defined code opens a file other than by importing a library."""
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
