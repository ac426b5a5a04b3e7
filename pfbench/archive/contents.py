"""Contents of an archive other than results: user-defined code, and the files that it reads.

The code is started in a new process, where its files are seen. Further files are those that stored
runs have read.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pfbench.base.errors import DataError, InputError
from pfbench.base.files import call_and_record_files
from pfbench.base.user_code import is_pfbench_module
from pfbench.problems.data.catalogue import DATA_SETS
from pfbench.problems.data.management import status
from pfbench.runs.engines.engine import MultiProcessEngine
from pfbench.runs.engines.workers import Task
from pfbench.runs.storage.archive import CODE, MOST_OF_FILE, is_valid_data_file_name
from pfbench.runs.storage.content_keys import reachable_files_by_module

LIMIT = 600.0
"""Time limit in seconds for the start of the code."""


def collect_code_and_data(
    modules: Iterable[str], start: Callable[[Any], object], argument: Any, read_files: Iterable[str]
) -> dict[str, bytes]:
    """Return the user-defined code to be archived and the files that it reads, by archived name.

    Parameters
    ----------
    modules
        Names of modules; the user-defined modules that they import are included.
    start, argument
        Function that starts the code in a new process, and its argument.
    read_files
        Further files that the code has read.

    Raises
    ------
    InputError
        If a module or file cannot be archived.
    """
    names = frozenset(name for name in modules if not is_pfbench_module(name))
    paths = {
        name: path
        for name, path in reachable_files_by_module(names).items()
        if not is_pfbench_module(name)
    }
    files, roots = {}, set()
    for module, path in paths.items():
        parts, package = module.split("."), Path(path).name == "__init__.py"
        if not all(part.isascii() and part.isidentifier() for part in parts):
            raise InputError(f"the module {module!r} cannot be archived: give it a name in ASCII.")
        last = "/__init__.py" if package else ".py"
        files[f"{CODE}{'/'.join(parts)}{last}"] = Path(path).read_bytes()
        roots.add(str(Path(os.path.abspath(path)).parents[len(parts) - (not package)]))
    task = Task(call_and_record_files, (start, argument), LIMIT, user_code_name="start")
    (result,) = MultiProcessEngine(1).do([task])
    if result.status != "done":
        raise InputError(f"the list of files that the code reads is unknown: {result.reason}.")
    _, opened = result.value
    files_by_name = _files_by_archived_name({*opened, *read_files}, roots)
    for name, file in files_by_name.items():
        if (size := file.stat().st_size) > MOST_OF_FILE:
            raise InputError(
                f"{file} has {size:,} bytes, more than {MOST_OF_FILE:,}: read a smaller file."
            )
        files[f"{CODE}{name}"] = file.read_bytes()
    return files


def _files_by_archived_name(opened: Iterable[str], roots: Iterable[str]) -> dict[str, Path]:
    """Return the paths of files by their names in the archive, without built-in data sets.

    Parameters
    ----------
    opened
        Path of each file as the code writes it.
    """
    data_sets = _data_set_files()
    files_by_name: dict[str, Path] = {}
    for text in sorted(opened):
        full = os.path.abspath(text)
        if full in data_sets:
            continue
        name = archive_path(text, full, roots, str(Path.cwd()))
        is_valid = name is not None and is_valid_data_file_name(name) and os.path.isfile(full)
        if not is_valid or files_by_name.setdefault(str(name), Path(full)) != Path(full):
            raise InputError(
                f"an archive cannot hold the file {full}, which the code reads: name a file next "
                "to the code by a relative path, with a plain name that no other file has."
            )
    return files_by_name


def archive_path(
    path_as_written: str, absolute_path: str, roots: Iterable[str], working_folder: str
) -> str | None:
    """Return a file's path in an archive; None if archived code would not find the file there.

    Parameters
    ----------
    path_as_written, absolute_path
        Path of the file as the code writes it, and its absolute path.
    roots, working_folder
        Folders of the modules, and the working folder; in an archive all are one folder.
    """
    if not os.path.isabs(path_as_written):
        inside = os.path.normpath(path_as_written)
        if not inside.startswith(os.pardir):
            return Path(inside).as_posix()
    for root in [*sorted(roots, key=len, reverse=True), working_folder]:
        if Path(absolute_path).is_relative_to(root):
            return Path(absolute_path).relative_to(root).as_posix()
    return None


def _data_set_files() -> set[str]:
    """Return the paths of downloaded data sets; an empty set if pooch is not installed."""
    try:
        return {str(status(name).path) for name in DATA_SETS}
    except DataError:
        return set()
