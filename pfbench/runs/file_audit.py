"""What somebody's own code reads from files: watched while it works, in a process of its own.

What is opened in a way that Python does not see (a library's own code in C) is not found; whoever
reads so declares it, in an attribute `files` of the problem or method.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.file_watch import is_user_file, process_file_watch
from pfbench.base.user_code import is_builtin
from pfbench.runs.engines.engine import MultiProcessEngine
from pfbench.runs.engines.workers import Task

LIMIT = 600.0
"""Seconds that what is watched may take."""

_PACKAGE = str(Path(__file__).parents[1])


@dataclass(frozen=True)
class AuditResult:
    """What a function returned, and what was read while it worked.

    Attributes
    ----------
    value
        What it returned.
    opened_files
        The files, as they were named and in full.
    roots
        The folders in which somebody's own modules lie that were imported.
    """

    value: Any
    opened_files: tuple[tuple[str, str], ...]
    roots: tuple[str, ...]


def audit_call(
    function: Callable[..., Any], arguments: tuple[Any, ...], code: Path | None = None
) -> AuditResult:
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
    task = Task(_call_and_audit, (function, arguments, None if code is None else str(code)), LIMIT)
    (result,) = MultiProcessEngine(1).do([task])
    if result.status != "done":
        raise InputError(f"what is read cannot be found out: {result.reason}.")
    audit_call: AuditResult = result.value
    return audit_call


def archive_path(text: str, full: str, roots: Iterable[str], folder: str) -> str | None:
    """Return where an archive has a file, so that code finds it; None if it would look elsewhere.

    Parameters
    ----------
    text, full
        The file, as code names it and in full.
    roots, folder
        Where its modules lie, and where it works: in an archive both are one folder.
    """
    if not os.path.isabs(text):
        inside = os.path.normpath(text)
        if not inside.startswith(os.pardir):
            return Path(inside).as_posix()
    for root in [*sorted(roots, key=len, reverse=True), folder]:
        if Path(full).is_relative_to(root):
            return Path(full).relative_to(root).as_posix()
    return None


def collect_declared_files(*things: Any) -> dict[str, tuple[str, str]]:
    """Return the files that somebody's objects declare, in full, with path and origin.

    `files` is a collection of paths from the folder of the module, or a mapping of each to where
    it is got: what has an origin is not put into an archive, and named by its digest instead.

    Raises
    ------
    InputError
        If it is neither.
    """
    declared_files = {}
    for component in things:
        module = sys.modules.get(type(component).__module__)
        files = getattr(component, "files", None)
        if not files or module is None or is_builtin(module.__name__):
            continue
        origins = files if isinstance(files, Mapping) else dict.fromkeys(files, "")
        texts = [*origins, *origins.values()]
        if isinstance(files, str) or not all(isinstance(text, str) for text in texts):
            raise InputError(
                f"files of {type(component).__name__} must be paths, or a mapping of each to where it "  # noqa: E501
                "is got."
            )
        for path, origin in origins.items():
            declared_files[os.path.join(_module_folder(module), path)] = (path, origin)
    return declared_files


# --- in the process -------------------------------------------------------------------------------


def _call_and_audit(
    function: Callable[..., Any], arguments: tuple[Any, ...], code: str | None
) -> AuditResult:
    if code is not None:
        # Nothing of the packer's: what is not in the folder is missed.
        sys.path[:] = [code, *(name for name in sys.path if name and not is_user_file(name))]
        if not any(Path(_PACKAGE).is_relative_to(name) for name in sys.path):
            sys.path.append(str(Path(_PACKAGE).parent))
    visited = process_file_watch()
    with chdir(code or os.getcwd()):
        value = function(*arguments)
    modules = [module for module in list(sys.modules.values()) if isinstance(module, ModuleType)]
    roots = {
        _import_root(module)
        for module in modules
        if str(getattr(module, "__file__", None) or "").endswith(".py")
        and is_user_file(os.path.abspath(str(module.__file__)))
    }
    return AuditResult(value, tuple(visited.opened), tuple(sorted(roots)))


def _module_folder(module: ModuleType) -> str:
    return os.path.dirname(os.path.abspath(str(module.__file__)))


def _import_root(module: ModuleType) -> str:
    """Return the folder that a module is found in, above the packages that it is in."""
    folder, depth = _module_folder(module), module.__name__.count(".")
    if os.path.basename(str(module.__file__)) == "__init__.py":
        depth += 1
    for _ in range(depth):
        folder = os.path.dirname(folder)
    return folder
