"""Contents of an archive other than results: user-defined code, and the files that it reads.

A probe runs the code twice: here, and in a folder that contains only the archive. A file that the
code would not find in that folder is refused by its name.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pfbench.base.errors import DataError, InputError
from pfbench.base.files import is_user_file, process_file_watch
from pfbench.base.names import brief_repr
from pfbench.base.user_code import is_pfbench_module
from pfbench.problems.data.cache import file_digest
from pfbench.problems.data.catalogue import DATA_SETS
from pfbench.problems.data.management import status
from pfbench.runs.engines.engine import MultiProcessEngine
from pfbench.runs.engines.workers import Task
from pfbench.runs.storage.archive import CODE, MOST_OF_FILE, is_valid_data_file_name
from pfbench.runs.storage.content_keys import reachable_files_by_module

LIMIT = 600.0
"""Time limit of a probe, in seconds."""

_PACKAGE = str(Path(__file__).parents[1])

Probe = Callable[[Any], tuple[dict[str, Any], set[str]]]
"""Function that runs code which reads files; returns results, and paths of declared files."""


@dataclass(frozen=True)
class ArchiveContents:
    """User-defined code to be archived, with the files that it reads.

    Attributes
    ----------
    files
        Content of the files to be archived, by name in the archive.
    reads
        sha256 of all files that the code reads, by name below `CODE`.
    data
        sha256 of the files of the built-in data sets that the code reads, by data set.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    reads: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)


def collect_contents(
    modules: Iterable[str], probe: Probe, argument: Any, elsewhere: Any
) -> ArchiveContents:
    """Return user-defined code and the files it reads; check that the code needs nothing else.

    Parameters
    ----------
    modules
        Names of modules; the user-defined modules that they import are included.
    probe, argument, elsewhere
        The probe, its argument here, and its argument in a folder that has only the archive.

    Raises
    ------
    InputError
        If a module or file cannot be archived, or the probe returns other results elsewhere.
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
    statement, declared, opened = _run_probe(probe, argument)
    opened += [(path, path) for path in declared]
    files_by_name, data = _collect_files_and_data_sets(opened, roots)
    for name, file in files_by_name.items():
        if (size := file.stat().st_size) > MOST_OF_FILE:
            raise InputError(
                f"{file} has {size:,} bytes, more than {MOST_OF_FILE:,}: read a smaller file."
            )
        files[f"{CODE}{name}"] = file.read_bytes()
    reads = {name: file_digest(file) for name, file in files_by_name.items()}
    if not files:
        return ArchiveContents(data=data)
    with TemporaryDirectory(prefix="pfbench-archive-") as temporary:
        folder = Path(temporary).resolve()
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        _check_archive_alone_suffices(
            statement, _run_probe(probe, elsewhere, folder / CODE), folder
        )
    return ArchiveContents(files, reads, data)


def _run_probe(probe: Probe, argument: Any, code: Path | None = None) -> Any:
    """Call `probe` with its argument in a new process, and return the result."""
    task = Task(
        _probe_in_folder, (probe, argument, code and str(code)), LIMIT, user_code_name="probe"
    )
    (result,) = MultiProcessEngine(1).do([task])
    if result.status != "done":
        raise InputError(f"the list of files that the code reads is unknown: {result.reason}.")
    return result.value


def _probe_in_folder(probe: Probe, argument: Any, code: str | None) -> Any:
    if code is not None:
        # Nothing of the author's: what is not in the folder is missed.
        sys.path[:] = [code, *(name for name in sys.path if name and not is_user_file(name))]
        if not any(Path(_PACKAGE).is_relative_to(name) for name in sys.path):
            sys.path.append(str(Path(_PACKAGE).parent))
    watch = process_file_watch()
    with chdir(code or os.getcwd()):
        statement, declared = probe(argument)
    return statement, declared, list(watch.opened)


def _collect_files_and_data_sets(
    opened: Iterable[tuple[str, str]], roots: Iterable[str]
) -> tuple[dict[str, Path], dict[str, str]]:
    """Return two dicts on the files that code reads: paths, and digests of built-in data sets.

    The paths are by the name of the file in the archive; the digests are by the name of the data
    set.

    Parameters
    ----------
    opened
        Path of each file as the code writes it, and its absolute path.
    """
    sets = _data_set_names_by_file()
    files_by_name: dict[str, Path] = {}
    data = {}
    for text, full in opened:
        if full in sets:
            data[sets[full]] = file_digest(Path(full))
            continue
        if not Path(full).is_file():
            raise InputError(f"{full}, declared in `files`, is not a file: correct its path.")
        name = archive_path(text, full, roots, str(Path.cwd()))
        if name is None:
            raise InputError(
                f"the code reads {full}, and would not find it in an archive: move it "
                "next to the code, and use a path relative to the code."
            )
        if not is_valid_data_file_name(name):
            raise InputError(f"an archive cannot contain a file named {full}: rename it.")
        if files_by_name.setdefault(name, Path(full)) != Path(full):
            raise InputError(
                f"{full} and {files_by_name[name]} would both be {name} in the archive: rename one."
            )
    return files_by_name, data


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


def collect_declared_files(*things: Any) -> set[str]:
    """Return the absolute paths of the files that objects declare.

    The attribute `files` of an object lists paths relative to the folder of its module.

    Raises
    ------
    InputError
        If `files` is not a collection of paths.
    """
    declared_files = set[str]()
    for component in things:
        module = sys.modules.get(type(component).__module__)
        files = getattr(component, "files", None)
        if not files or module is None or is_pfbench_module(module.__name__):
            continue
        if isinstance(files, str) or not all(isinstance(path, str) for path in files):
            raise InputError(f"{type(component).__name__}.files must be a list of paths.")
        folder = os.path.dirname(os.path.abspath(str(module.__file__)))
        declared_files.update(os.path.abspath(os.path.join(folder, path)) for path in files)
    return declared_files


def _data_set_names_by_file() -> dict[str, str]:
    """Return a dict from paths to names of downloaded data sets; {} if pooch is not installed."""
    try:
        return {str(path): name for name in DATA_SETS if (path := status(name).path) is not None}
    except DataError:
        return {}


def _check_archive_alone_suffices(
    statement_here: Mapping[str, Any], probed_in_copy: Any, archive_copy: Path
) -> None:
    """Raise if archived code reads files outside the archive, or gives different results there."""
    sets = _data_set_names_by_file()
    after, _, opened = probed_in_copy
    for _, full in opened:
        if full not in sets and is_user_file(full) and not Path(full).is_relative_to(archive_copy):
            raise InputError(
                f"{full} is read by an absolute path: move it next to the code, and use a path "
                "relative to the code."
            )
    for name, statement in statement_here.items():
        if after.get(name) != statement:
            raise InputError(
                f"the archive lacks a module or file, as with the archived files alone {name} is "
                f"{brief_repr(after.get(name))} instead of {brief_repr(statement)}: import the "
                "module by an import statement, or declare the file in `files`."
            )
