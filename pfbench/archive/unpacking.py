"""Unpacking of an archive into a folder, and the versions and data that it requires."""

import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import packages_distributions
from pathlib import Path
from sys import path as import_path
from sys import stdlib_module_names
from tempfile import TemporaryDirectory
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.files import as_storage_errors
from pfbench.runs.storage.archive import CODE, Archive
from pfbench.runs.storage.content_keys import library_version
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.serialization import StoredRun, decode
from pfbench.runs.storage.store import Store

MOST_NUMBERS = 2**27
"""Maximum number of values in the traces of all runs of an archive (1 GiB)."""

_TAKEN = frozenset({"pfbench", "sitecustomize", "usercustomize"})
"""Names that no module of an archive may have, in addition to installed packages."""


@contextmanager
def unpack_archive(archive: Archive) -> Iterator[Path]:
    """Unpack an archive in a temporary folder, which exists until the end of the block.

    Nothing in the archive is imported.

    Raises
    ------
    InputError
        If a file of the archive is damaged, or a module has the name of an installed one.
    StorageError
        If the disk is full.
    """
    modules = [name for name in archive.names if name.startswith(CODE) and name.endswith(".py")]
    refuse_module_name_clashes([_module(name) for name in modules])
    with TemporaryDirectory(prefix="pfbench-archive-") as temporary:
        folder = Path(temporary).resolve()
        with as_storage_errors(f"an archive's content in {folder}"):
            (folder / CODE).mkdir()
            archive.unpack(folder)
        yield folder


def read_runs(folder: Path) -> list[StoredRun]:
    """Return the stored runs of an unpacked archive.

    Raises
    ------
    InputError
        If a run is damaged, or all runs have more than `MOST_NUMBERS` numbers.
    """
    store = Store(folder, make=False)
    entries, numbers = [], 0
    for record in filter(None, store.read_runs([*store.keys()])):
        try:
            entry = decode(record)
        except DamagedFileError as damage:
            raise InputError(
                f"the run {record.key} of the archive is damaged ({damage})."
            ) from damage
        entries.append(entry)
        numbers += len(entry.run.rows) * len(entry.run.columns)
        if numbers > MOST_NUMBERS:
            raise InputError(
                f"the archive is too large: its traces have more than {MOST_NUMBERS:,} numbers."
            )
    store.close()
    return entries


def _module(name: str) -> str:
    return name.removeprefix(CODE).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def refuse_module_name_clashes(modules: Sequence[str]) -> None:
    """Raise if an archived module has the name of a module of Python, a library or pfbench.

    Raises
    ------
    InputError
        If a module has the name of another module.
    """
    path = Path.cwd().resolve()
    elsewhere = [folder for folder in import_path if Path(folder or ".").resolve() != path]
    for top in sorted({module.partition(".")[0] for module in modules}):
        is_known = top in stdlib_module_names or top in _TAKEN
        if is_known or PathFinder.find_spec(top, elsewhere):
            raise InputError(
                f"the archive has a module {top}, which clashes with an installed module: check "
                f"the archive in an environment without {top}."
            )


_PACKAGE = Path(__file__).parents[1]


def distribution_versions() -> dict[str, str]:
    """Return a dict from each distribution loaded in this process to its version."""
    loaded = {name.partition(".")[0] for name in list(sys.modules)}
    packages = packages_distributions()
    names = {name for top in loaded & packages.keys() for name in packages[top]}
    return {name: _version(name) for name in sorted({*names, _PACKAGE.name})}


def _version(name: str) -> str:
    is_pfbench = name == _PACKAGE.name  # whose metadata a checkout lacks
    return str(sys.modules[name].__version__) if is_pfbench else library_version(name)


@cache
def source_digest() -> str:
    """Return the hash of the source files of pfbench."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def list_changed_versions(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the packages that differ from their locked versions, each with a description."""
    changed = {
        name: f"{version}, here {current}"
        for name, version in manifest["lock"].items()
        if (current := _version(name)) != version
    }
    if manifest["source"] != source_digest():
        changed.setdefault(_PACKAGE.name, f"{manifest['pfbench']}, here with other files")
    return changed
