"""What goes into an archive beside code: all that the code reads, or no archive is made.

It is looked at twice: where its author is, and in a folder that has nothing but the archive.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pfbench.base.errors import DataError, InputError
from pfbench.base.file_watch import is_users
from pfbench.problems.data.catalogue import DATA_SETS
from pfbench.problems.data.digests import file_digest
from pfbench.problems.data.management import status
from pfbench.runs.reads import Watched, place, watched
from pfbench.runs.storage.archive import CODE, MOST_OF_FILE, can_hold

Dry = Callable[[Any], tuple[dict[str, str], dict[str, tuple[str, str]]]]
"""Does what reads files; returns what came of it in words, and the files that are declared."""


@dataclass(frozen=True)
class Contents:
    """The files that somebody's code reads.

    Attributes
    ----------
    inside
        Bytes of those that go into an archive, by their names there.
    digests
        sha256 of all of them, by their names below `CODE`.
    origins
        Where those are got that do not go in.
    data
        sha256 of the files of data sets of pfbench that are read, by the names of the sets.
    """

    inside: Mapping[str, bytes] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)


def found_by(dry: Dry, asked: Any, elsewhere: Any, code: Mapping[str, bytes]) -> Contents:
    """Return what is read; see to it that it suffices.

    Parameters
    ----------
    dry
        See `Dry`.
    asked, elsewhere
        Its argument here, and where there is nothing but the archive.
    code
        The modules, by their names in an archive.

    Raises
    ------
    InputError
        If a file cannot be in an archive, or what comes of it is another thing there.
    """
    here = watched(dry, (asked,))
    paths, origins, data = _placed(here)
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
    found = Contents(
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
        _check_alone(here, watched(dry, (elsewhere,), folder / CODE), folder)
    return found


def _placed(here: Watched) -> tuple[dict[str, Path], dict[str, str], dict[str, str]]:
    """Return the files that are read by their places, those with an origin, and the data sets."""
    _, files = here.value
    sets = _data_files()
    paths: dict[str, Path] = {}
    origins, data = {}, {}
    for given, full in (*here.opened, *((path, path) for path in files)):
        if full in sets:
            data[sets[full]] = file_digest(Path(full))
            continue
        if not Path(full).is_file():
            raise InputError(f"{full}, which files names, is no file: give its path.")
        name = place(given, full, here.roots, str(Path.cwd()))
        if name is None:
            raise InputError(
                f"{full} is read, and an archive would not have it where its code looks: put it "
                "beside the code, and name it from there."
            )
        if not can_hold(name):
            raise InputError(f"{full} is read, and no archive takes such a name: rename it.")
        if paths.setdefault(name, Path(full)) != Path(full):
            raise InputError(f"{full} and {paths[name]} would be one file {name}: rename one.")
        origin = files.get(full, ("", ""))[1]
        if origin:
            origins[name] = origin
    return paths, origins, data


def _data_files() -> dict[str, str]:
    """Return the names of the data sets whose files are here by these files; none without pooch."""
    try:
        return {str(path): name for name in DATA_SETS if (path := status(name).path) is not None}
    except DataError:
        return {}


def _check_alone(here: Watched, alone: Watched, folder: Path) -> None:
    """Refuse what comes out otherwise where there is nothing but the archive."""
    sets = _data_files()
    for _, full in alone.opened:
        if full not in sets and is_users(full) and not Path(full).is_relative_to(folder):
            raise InputError(
                f"{full} is read wherever the archive is: put it beside the code, and name it "
                "from there."
            )
    before, _ = here.value
    after, _ = alone.value
    for name, said in before.items():
        if after.get(name) != said:
            raise InputError(
                f"{name} comes out otherwise where there is nothing but the archive "
                f"({after.get(name, 'nothing')}; here {said}): what it needs is not found. Import "
                "it by an import statement, or declare it as files."
            )
