"""What somebody's own code reads from files: watched while it works, in a process of its own.

What is opened in a way that Python does not see (a library's own code in C) is not found; whoever
reads so declares it, in an attribute `files` of the problem or method.
"""

import os
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.user_code import is_ours
from pfbench.runs.engines.engine import LocalProcesses
from pfbench.runs.engines.workers import Task

LIMIT = 600.0
"""Seconds that what is watched may take."""

_CODE = (".py", ".pyc", ".pyi", ".so", ".pyd", ".nbi", ".nbc")
_PACKAGE = str(Path(__file__).parents[1])
_READERS = tuple(os.path.join(_PACKAGE, room, "") for room in ("problems", "verification"))
"""Rooms of pfbench that open what a selector names."""


@dataclass(frozen=True)
class Watched:
    """What a function returned, and what was read while it worked.

    Attributes
    ----------
    value
        What it returned.
    opened
        The files, as they were named and in full.
    roots
        The folders in which somebody's own modules lie that were imported.
    """

    value: Any
    opened: tuple[tuple[str, str], ...]
    roots: tuple[str, ...]


def watched(
    function: Callable[..., Any], arguments: tuple[Any, ...], code: Path | None = None
) -> Watched:
    """Call a function in a new process, and watch what somebody's own code reads there.

    Parameters
    ----------
    function, arguments
        As a worker takes them: what they import of somebody's must be imported inside.
    code
        Look for somebody's own modules, and work, in this folder alone.

    Raises
    ------
    InputError
        If it raises, dies or takes longer than `LIMIT`.
    """
    task = Task(_watch, (function, arguments, None if code is None else str(code)), LIMIT)
    (result,) = LocalProcesses(1).do([task])
    if result.status != "done":
        raise InputError(f"what is read cannot be found out: {result.reason}.")
    found: Watched = result.value
    return found


def place(given: str, full: str, roots: Iterable[str], folder: str) -> str | None:
    """Return where an archive has a file, so that code finds it; None if it would look elsewhere.

    Parameters
    ----------
    given, full
        The file, as code names it and in full.
    roots, folder
        Where its modules lie, and where it works: in an archive both are one folder.
    """
    if not os.path.isabs(given):
        inside = os.path.normpath(given)
        if not inside.startswith(os.pardir):
            return Path(inside).as_posix()
    for root in [*sorted(roots, key=len, reverse=True), folder]:
        if Path(full).is_relative_to(root):
            return Path(full).relative_to(root).as_posix()
    return None


def declared(*things: Any) -> dict[str, tuple[str, str]]:
    """Return the files that somebody's objects declare, in full, with path and origin.

    `files` is a collection of paths from the folder of the module, or a mapping of each to where
    it is got: what has an origin is not put into an archive, and named by its digest instead.

    Raises
    ------
    InputError
        If it is neither.
    """
    found = {}
    for thing in things:
        module = sys.modules.get(type(thing).__module__)
        files = getattr(thing, "files", None)
        if not files or module is None or is_ours(module.__name__):
            continue
        origins = files if isinstance(files, Mapping) else dict.fromkeys(files, "")
        texts = [*origins, *origins.values()]
        if isinstance(files, str) or not all(isinstance(text, str) for text in texts):
            raise InputError(
                f"files of {type(thing).__name__} must be paths, or a mapping of each to where it "
                "is got."
            )
        for path, origin in origins.items():
            found[os.path.join(_folder(module), path)] = (path, origin)
    return found


def is_somebodys(path: str) -> bool:
    """Return whether a file is neither pfbench's, nor Python's, a library's or the system's."""
    return not any(Path(path).is_relative_to(folder) for folder in _not_his())


# --- in the process -------------------------------------------------------------------------------


@dataclass
class _Watch:
    """An audit hook that notes the files that somebody's code opens for reading."""

    opened: dict[tuple[str, str], None] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        given = os.fsdecode(arguments[0])
        full, flags = os.path.abspath(given), arguments[2] or 0
        if flags & (os.O_WRONLY | os.O_RDWR) and not os.path.exists(full):
            self.made.add(full)
        if flags & os.O_WRONLY or full in self.made or full.endswith(_CODE):
            return
        if is_somebodys(full) and _asked_by_somebody() and os.path.isfile(full):
            self.opened[given, full] = None


def _asked_by_somebody() -> bool:
    """Return whether somebody's code opens a file, not the import of a library from it."""
    frame = sys._getframe(2)
    while frame:
        name = frame.f_code.co_filename
        if name.startswith("<frozen importlib"):
            return False
        if name.startswith(_READERS) or (name.endswith(".py") and _is_his_module(name)):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


@cache
def _is_his_module(path: str) -> bool:
    return is_somebodys(os.path.abspath(path))


@cache
def _not_his() -> frozenset[str]:
    """Return the folders of Python, of libraries, of pfbench and of the system."""
    kinds = ("stdlib", "platstdlib", "purelib", "platlib", "data")
    system = ("/proc", "/sys", "/dev", "/etc", "/usr")
    found = {_PACKAGE, sys.prefix, sys.base_prefix, *map(sysconfig.get_path, kinds), *system}
    return frozenset({*found, *map(os.path.realpath, found)} - {"/", ""})


def _watch(function: Callable[..., Any], arguments: tuple[Any, ...], code: str | None) -> Watched:
    watch = _Watch()
    if code is not None:
        # Nothing of the packer's: what is not in the folder is missed.
        sys.path[:] = [code, *(one for one in sys.path if one and not is_somebodys(one))]
        if not any(Path(_PACKAGE).is_relative_to(one) for one in sys.path):
            sys.path.append(str(Path(_PACKAGE).parent))
    sys.addaudithook(watch)
    with chdir(code or os.getcwd()):
        value = function(*arguments)
    modules = [one for one in list(sys.modules.values()) if isinstance(one, ModuleType)]
    roots = {
        _root(one)
        for one in modules
        if str(getattr(one, "__file__", None) or "").endswith(".py")
        and is_somebodys(os.path.abspath(str(one.__file__)))
    }
    return Watched(value, tuple(watch.opened), tuple(sorted(roots)))


def _folder(module: ModuleType) -> str:
    return os.path.dirname(os.path.abspath(str(module.__file__)))


def _root(module: ModuleType) -> str:
    """Return the folder that a module is found in, above the packages that it is in."""
    folder, depth = _folder(module), module.__name__.count(".")
    if os.path.basename(str(module.__file__)) == "__init__.py":
        depth += 1
    for _ in range(depth):
        folder = os.path.dirname(folder)
    return folder
