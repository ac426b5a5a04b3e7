"""What goes into an archive beside code: all that the code reads, or no archive is made.

It is looked at twice: where its author is, and in a folder that has nothing but the archive.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pfbench.base.errors import DataError, InputError
from pfbench.base.file_watch import is_user_file
from pfbench.problems.data.catalogue import DATA_SETS
from pfbench.problems.data.digests import file_digest
from pfbench.problems.data.management import status
from pfbench.runs.file_audit import AuditResult, archive_path, audit_call
from pfbench.runs.storage.archive import CODE, MOST_OF_FILE, is_valid_member_name

Dry = Callable[[Any], tuple[dict[str, str], dict[str, tuple[str, str]]]]
"""Does what reads files; returns what came of it in words, and the files that are declared."""


@dataclass(frozen=True)
class ArchiveInputs:
    """The files that somebody's code reads.

    Attributes
    ----------
    files
        Bytes of those that go into an archive, by their names there.
    digests
        sha256 of all of them, by their names below `CODE`.
    origins
        Where those are got that do not go in.
    data
        sha256 of the files of data sets of pfbench that are read, by the names of the sets.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)


def collect_inputs(
    dry_run: Dry, argument: Any, elsewhere: Any, code: Mapping[str, bytes]
) -> ArchiveInputs:
    """Return what is read; see to it that it suffices.

    Parameters
    ----------
    dry_run
        See `Dry`.
    argument, elsewhere
        Its argument here, and where there is nothing but the archive.
    code
        The modules, by their names in an archive.

    Raises
    ------
    InputError
        If a file cannot be in an archive, or what comes of it is another thing there.
    """
    result = audit_call(dry_run, (argument,))
    paths, origins, data = _assign_paths(result)
    inside = {}
    for name, path in paths.items():
        size = path.stat().st_size
        if name in origins:
            continue
        if size > MOST_OF_FILE:
            raise InputError(
                f"{path} has {size:,} bytes, and an archive takes {MOST_OF_FILE:,}: say where it "
                f'is got, by files = {{"{name}": "https://..."}} of the class that reads it.'
            )
        inside[f"{CODE}{name}"] = path.read_bytes()
    inputs = ArchiveInputs(
        inside, {name: file_digest(path) for name, path in paths.items()}, origins, data
    )
    with TemporaryDirectory(prefix="pfbench-pack-") as temporary:
        folder = Path(temporary).resolve()
        for name, content in {**code, **inside}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        (folder / CODE).mkdir(exist_ok=True)
        for name in origins:
            (folder / CODE / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / CODE / name).symlink_to(paths[name].resolve())
        _compare_with_isolated_run(result, audit_call(dry_run, (elsewhere,), folder / CODE), folder)
    return inputs


def _assign_paths(audit: AuditResult) -> tuple[dict[str, Path], dict[str, str], dict[str, str]]:
    """Return the files that are read by their places, those with an origin, and the data sets."""
    _, files = audit.value
    sets = _data_set_names_by_file()
    paths: dict[str, Path] = {}
    origins, data = {}, {}
    for value, full in (*audit.opened_files, *((path, path) for path in files)):
        if full in sets:
            data[sets[full]] = file_digest(Path(full))
            continue
        if not Path(full).is_file():
            raise InputError(f"{full}, which files names, is no file: give its path.")
        name = archive_path(value, full, audit.roots, str(Path.cwd()))
        if name is None:
            raise InputError(
                f"{full} is read, and an archive would not have it where its code looks: put it "
                "beside the code, and name it from there."
            )
        if not is_valid_member_name(name):
            raise InputError(f"{full} is read, and no archive takes such a name: rename it.")
        if paths.setdefault(name, Path(full)) != Path(full):
            raise InputError(f"{full} and {paths[name]} would be one file {name}: rename one.")
        origin = files.get(full, ("", ""))[1]
        if origin:
            origins[name] = origin
    return paths, origins, data


def _data_set_names_by_file() -> dict[str, str]:
    """Return the names of the data sets whose files are here by these files; none without pooch."""
    try:
        return {str(path): name for name in DATA_SETS if (path := status(name).path) is not None}
    except DataError:
        return {}


def _compare_with_isolated_run(audit: AuditResult, alone: AuditResult, folder: Path) -> None:
    """Refuse what comes out otherwise where there is nothing but the archive."""
    sets = _data_set_names_by_file()
    for _, full in alone.opened_files:
        if full not in sets and is_user_file(full) and not Path(full).is_relative_to(folder):
            raise InputError(
                f"{full} is read wherever the archive is: put it beside the code, and name it "
                "from there."
            )
    before, _ = audit.value
    after, _ = alone.value
    for name, statement in before.items():
        if after.get(name) != statement:
            raise InputError(
                f"{name} comes out otherwise where there is nothing but the archive "
                f"({after.get(name, 'nothing')}; here {statement}): what it needs is not found. Import "  # noqa: E501
                "it by an import statement, or declare it as files."
            )
