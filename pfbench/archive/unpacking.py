"""Unpacking of an archive into a folder, and the versions, files and data that it requires.

A package's hash is computed from the package's own record of its files. So a wheel has one hash,
whatever program installed it. The hash of pfbench is that of its source files.
"""

import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.metadata import packages_distributions as distributions
from pathlib import Path
from sys import path as import_path
from sys import stdlib_module_names
from tempfile import TemporaryDirectory
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.files import as_storage_errors
from pfbench.problems.data.cache import file_digest
from pfbench.problems.data.catalogue import DATA_SETS
from pfbench.problems.data.management import status
from pfbench.runs.storage.archive import CODE, Archive
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


def link_external_files(archive: Archive, folder: Path, source_folder: Path) -> None:
    """Link the files that an archive names but lacks from `source_folder` into its folder.

    Raises
    ------
    InputError
        If a file is not in the folder, or differs from the author's.
    """
    manifest = archive.manifest
    for name, origin in manifest["origins"].items():
        paths = (source_folder / name, source_folder / Path(name).name)
        path = next((path.resolve() for path in paths if path.is_file()), None)
        if path is None or file_digest(path) != manifest["reads"][name]:
            fault = "is not" if path is None else "differs from the author's"
            raise InputError(
                f"{archive.path} needs the file {name}, which {fault} in {source_folder}: get it "
                f"from {origin}."
            )
        inside = folder / CODE / name
        if not inside.exists():
            inside.parent.mkdir(parents=True, exist_ok=True)
            inside.symlink_to(path)


def list_changed_data(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the data sets of an archive that this machine lacks or has in another version."""
    changed = {}
    for name, digest in manifest["data"].items():
        path = status(name).path if name in DATA_SETS else None
        if path is None:
            changed[name] = "not downloaded" if name in DATA_SETS else "unknown here"
        elif file_digest(path) != digest:
            changed[name] = "another version here"
    return changed


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


_INSTALLERS = ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json")
_PACKAGE = Path(__file__).parents[1]
_OWN = _PACKAGE.name


def collect_loaded_distributions() -> dict[str, dict[str, str]]:
    """Return a dict from each distribution loaded in this process to its version and hash."""
    loaded = {name.partition(".")[0] for name in list(sys.modules)}
    packages = distributions()
    names = sorted({name for top in loaded & packages.keys() for name in packages[top]} | {_OWN})
    records = {name: _distribution_record(name) for name in names}
    return {name: record for name, record in records.items() if record}


def _distribution_record(name: str) -> dict[str, str]:
    if name == _OWN:
        return {"version": str(sys.modules[_OWN].__version__), "content": source_digest()}
    try:
        existing = distribution(name)
    except PackageNotFoundError:
        return {}
    return {"version": existing.version, "content": _digest_distribution_files(existing)}


def _digest_distribution_files(distribution: Distribution) -> str:
    """Return the hash of a distribution's files; empty if its metadata lists no hashed files."""
    rows = sorted(
        f"{path.as_posix()} {path.hash.mode}={path.hash.value}"
        for path in distribution.files or ()
        if path.hash and ".." not in path.parts and path.name not in _INSTALLERS
    )
    return hashlib.sha256("\n".join(rows).encode()).hexdigest() if rows else ""


@cache
def source_digest() -> str:
    """Return the hash of the source files of pfbench."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def format_requirements(versions: Mapping[str, Mapping[str, str]]) -> bytes:
    """Return locked versions as a requirements file for pip, with the hashes in comments."""
    lines = ["# pip install -r lock.txt; `content` is the hash of the installed files."]
    for name, version in versions.items():
        lines.append(f"{name}=={version['version']}  # content {version['content'] or 'unknown'}")
    return "\n".join([*lines, ""]).encode()


def list_changed_versions(versions: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the packages that differ from their locked versions, each with a description."""
    changed = {}
    for name, version in versions.items():
        record = _distribution_record(name)
        if not record:
            changed[name] = f"{version['version']}, not installed here"
        elif record["version"] != version["version"]:
            changed[name] = f"{version['version']}, here {record['version']}"
        elif record["content"] != version["content"]:
            changed[name] = f"{version['version']}, here with other files"
    return changed
