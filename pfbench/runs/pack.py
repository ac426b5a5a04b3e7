"""A sweep as one archive, and a share of an archive made again.

What a reader needs to make the runs of a paper again: the spec, the modules of its own that it
names, the digests of its problems and data, the versions that it was made with, and every run.
"""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.files import storing
from pfbench.base.selectors import Selector, by_module
from pfbench.base.user_code import is_ours
from pfbench.problems.data.catalogue import DATA_SETS
from pfbench.problems.data.digests import file_digest
from pfbench.problems.data.management import status
from pfbench.runs.engines.engine import Engine
from pfbench.runs.execute import Outcome
from pfbench.runs.planning.plan import PlannedRun, own_names
from pfbench.runs.planning.resolve import resolve
from pfbench.runs.rerun import Rerun, rerun
from pfbench.runs.storage.archive import CODE, SPEC, Archive, write_archive
from pfbench.runs.storage.keys import reachable
from pfbench.runs.storage.kinds import KINDS
from pfbench.runs.storage.store import Store


def pack(
    name: str, text: str, outcomes: Sequence[Outcome], store: Store, path: Path, *, version: str
) -> Mapping[str, Any]:
    """Write an archive of a sweep.

    Parameters
    ----------
    name, text
        The sweep, and its spec as it was read.
    outcomes
        All its runs, as `pfbench.runs.execute.execute` returns them for this store. Of a run that
        was cut from a longer one, the longer one is in the archive.
    path
        The file.
    version
        Of pfbench.

    Returns
    -------
    mapping of str to object
        What the archive says of itself, without the hashes.

    Raises
    ------
    InputError
        If a module of somebody's own cannot be in an archive.
    StorageError
        If a file cannot be read or written.
    """
    keys = dict.fromkeys(outcome.entry.key for outcome in outcomes)
    entries = [entry for key in keys if (entry := store.get(key)) is not None]
    own = list(dict.fromkeys(text for o in outcomes for text in own_names(o.plan.own_selectors)))
    about = {
        "pfbench": version,
        "name": name,
        "planned": len(outcomes),
        "own": own,
        "environments": _each(dict(entry.environment) for entry in entries),
        "problems": {o.plan.problem: _digest(o.plan) for o in outcomes},
        "data": data_digests(outcome.plan for outcome in outcomes),
    }
    modules = {m for e in entries for m in (e.notes.get("source") or {}).get("modules", ())}
    files = {SPEC: text.encode(), **_code(frozenset(m for m in modules if not is_ours(m)))}
    for entry in entries:
        file = KINDS["run"].file.format(shard=entry.key[:2], key=entry.key)
        files[file] = store.read("run", entry.key) or b""
    with storing(f"the archive {path}"):
        write_archive(path, files, about)
    return about


def _each(environments: Iterator[dict[str, str]]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for environment in environments:
        if environment not in found:
            found.append(environment)
    return found


def _digest(plan: PlannedRun) -> str:
    return str(resolve(plan).on.digest)


def data_digests(plans: Iterator[PlannedRun]) -> dict[str, str]:
    """Return the sha256 of the file of each data set that planned runs name, if it is here."""
    names = {Selector.parse(plan.problem).texts.get("source", "") for plan in plans}
    paths = {name: status(name).path for name in sorted(names & DATA_SETS.keys())}
    return {name: file_digest(path) for name, path in paths.items() if path is not None}


def _code(modules: frozenset[str]) -> dict[str, bytes]:
    """Return the source of somebody's own modules, and of all of his that they import."""
    files = {}
    for module, path in reachable(modules).items() if modules else ():
        if is_ours(module):
            continue
        if not all(part.isascii() and part.isidentifier() for part in module.split(".")):
            raise InputError(f"the module {module!r} cannot be in an archive: rename it.")
        last = "/__init__.py" if Path(path).name == "__init__.py" else ".py"
        files[f"{CODE}{module.replace('.', '/')}{last}"] = Path(path).read_bytes()
    return files


# --- the other way --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unpacked:
    """An archive in a folder of its own.

    Attributes
    ----------
    about
        What it says of itself.
    folder
        Where it lies; its runs are a store.
    modules
        The modules of its author that are in it.
    """

    about: Mapping[str, Any]
    folder: Path
    modules: tuple[str, ...]

    @property
    def spec(self) -> Path:
        """The file of its spec."""
        return self.folder / SPEC

    @property
    def store(self) -> Store:
        """Its runs."""
        return Store(self.folder, make=False)

    def other_data(self) -> dict[str, str]:
        """Return its data sets that are not here with the same bytes, and what is instead."""
        names = [name for name in self.about["data"] if name in DATA_SETS]
        paths = {name: status(name).path for name in names}
        found = dict.fromkeys(self.about["data"].keys() - DATA_SETS.keys(), "not known here")
        for name, path in paths.items():
            if path is None:
                found[name] = "not here"
            elif file_digest(path) != self.about["data"][name]:
                found[name] = "here with other bytes"
        return found


@contextmanager
def unpacked(archive: Archive) -> Iterator[Unpacked]:
    """Unpack an archive into a folder that is removed at the end; nothing of it is imported.

    Raises
    ------
    InputError
        If a file in it is damaged, or a module has the name of one that is installed here.
    StorageError
        If the disk is full.
    """
    modules = tuple(sorted(_module(name) for name in archive.names if name.startswith(CODE)))
    for top in sorted({module.partition(".")[0] for module in modules}):
        _check_new(top)
    with TemporaryDirectory(prefix="pfbench-pack-") as temporary:
        folder = Path(temporary)
        with storing(f"an archive's content in {folder}"):
            (folder / "runs").mkdir()
            (folder / CODE).mkdir()
            archive.unpack(folder)
        yield Unpacked(archive.about, folder, modules)


def check(content: Unpacked, share: float, engine: Engine, told: Callable[[str], object]) -> Rerun:
    """Make a share of an archive's runs again, with the modules that are in it, and compare.

    Its modules are imported here: tell the user before.
    """
    code = str(content.folder / CODE)
    # First, also where Python was started in a folder that has a module of the same name.
    sys.path.insert(0, code)
    try:
        with chdir(code):
            return rerun(
                content.store, share, engine, told=told, modules=content.modules, anywhere=True
            )
    finally:
        sys.path.remove(code)


def missing(content: Unpacked, plans: Collection[PlannedRun]) -> int:
    """Return how many runs that its spec plans are not in an archive."""
    rows = content.store.rows()
    there = {_named(row["problem"], row["algorithm"], row["seed"]) for row in rows}
    return sum(_named(plan.problem, plan.algorithm, plan.seed) not in there for plan in plans)


def _named(problem: str, algorithm: str, seed: int) -> tuple[str, str, int]:
    """Return what a run is, wherever the files lie that its selectors name."""
    return by_module(problem), by_module(algorithm), seed


def _module(name: str) -> str:
    path = name.removeprefix(CODE).removesuffix(".py").removesuffix("/__init__")
    return path.replace("/", ".")


def _check_new(top: str) -> None:
    """Refuse a module that would stand in the place of one of Python's, or of a library's."""
    here = Path.cwd().resolve()
    elsewhere = [folder for folder in sys.path if Path(folder or ".").resolve() != here]
    if top in sys.stdlib_module_names or top == "pfbench" or PathFinder.find_spec(top, elsewhere):
        raise InputError(
            f"the archive has a module {top}, and so does this Python: check it where {top} is "
            "not installed."
        )
