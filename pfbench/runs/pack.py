"""A sweep as one archive, and a share of an archive made again.

What a reader needs to make the runs of a paper again: the spec, the modules of its own that it
names, the files that these read, the digests of its problems and data, the versions that it was
made with, and every run. What would not be found again elsewhere is refused by its name.
"""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from importlib.machinery import PathFinder
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.files import translate_os_errors
from pfbench.base.selectors import replace_file_by_module
from pfbench.base.status import Status
from pfbench.base.user_code import is_builtin
from pfbench.problems.data.catalogue import DATA_SETS
from pfbench.problems.data.digests import file_digest
from pfbench.problems.data.management import status
from pfbench.runs.archive_inputs import ArchiveInputs, collect_inputs
from pfbench.runs.engines.engine import Engine
from pfbench.runs.engines.run_task import execute_plan
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.file_audit import collect_declared_files
from pfbench.runs.planning.citation_keys import find_data_sets
from pfbench.runs.planning.plan import PlannedRun, list_user_code_names
from pfbench.runs.planning.resolve import resolve
from pfbench.runs.rerun import RerunReport, drop_file_paths, list_file_names, rerun
from pfbench.runs.storage.archive import CODE, LOCK, PACK, SPEC, Archive, ArchiveKind, write_archive
from pfbench.runs.storage.content_keys import reachable
from pfbench.runs.storage.database import NAME
from pfbench.runs.storage.store import Store
from pfbench.runs.version_lock import collect_versions, format_requirements

_TAKEN = frozenset({"pfbench", "sitecustomize", "usercustomize"})
"""Names that no module of an archive may have, beside those that are installed."""

SHARE_SECONDS = 1.0
"""Seconds that each run may take by which is seen what somebody's own code reads."""


def pack(
    name: str, text: str, outcomes: Sequence[PlanOutcome], store: Store, path: Path, *, version: str
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
        If a module of somebody's own cannot be in an archive, or it reads a file that cannot, or
        it is not made again, to the same data, where there is nothing but the archive.
    StorageError
        If a file cannot be read or written.
    """
    keys = dict.fromkeys(outcome.entry.key for outcome in outcomes)
    entries = [entry for key in keys if (entry := store.get(key)) is not None]
    own = list(
        dict.fromkeys(
            text for o in outcomes for text in list_user_code_names(o.plan.user_selectors)
        )
    )
    modules = {m for e in entries for m in (e.notes.get("source") or {}).get("modules", ())}
    code = collect_user_sources(frozenset(m for m in modules if not is_builtin(m)))
    contents = collect_archive_inputs([outcome.plan for outcome in outcomes], code)
    subject = {
        "pfbench": version,
        "name": name,
        "planned": len(outcomes),
        "own": own,
        "environments": _unique_environments(dict(entry.environment) for entry in entries),
        "problems": {o.plan.problem: resolve(o.plan).built_problem.digest for o in outcomes},
        "data": data_digests(o.plan for o in outcomes),
    }
    files = {SPEC: text.encode(), NAME: _copy_store(store, [entry.key for entry in entries])}
    return write_archive_with_code(path, subject, files, code, contents)


def _copy_store(store: Store, keys: Sequence[str]) -> bytes:
    """Return the file of a store that has some of the runs of another."""
    with TemporaryDirectory(prefix="pfbench-pack-") as temporary:
        copy = Store(temporary)
        records = (store.read("run", key) for key in sorted(keys))
        copy.write([record for record in records if record is not None])
        copy.close()
        return copy.path.read_bytes()


def write_archive_with_code(
    path: Path,
    fields: Mapping[str, Any],
    files: Mapping[str, bytes],
    code: Mapping[str, bytes],
    report: ArchiveInputs,
    form: ArchiveKind = PACK,
) -> Mapping[str, Any]:
    """Write an archive with code, what that reads, and the versions that are here.

    Parameters
    ----------
    fields, files, form
        As `write_archive` takes them; ``data`` may be in `fields`.
    code, report
        As `collect_user_sources` and `pfbench.runs.archive_inputs.collect_inputs` return them.

    Returns
    -------
    mapping of str to object
        What the archive says of itself, without the hashes.

    Raises
    ------
    StorageError
        If it cannot be written.
    """
    versions = collect_versions()
    statement = {
        **fields,
        "data": {**fields.get("data", {}), **report.data},
        "reads": dict(report.digests),
        "origins": dict(report.origins),
        "lock": versions,
    }
    inside = {**files, LOCK: format_requirements(versions), **code, **report.files}
    with translate_os_errors(f"the archive {path}"):
        write_archive(path, inside, statement, form)
    return statement


def _unique_environments(environments: Iterator[dict[str, str]]) -> list[dict[str, str]]:
    unique_environments: list[dict[str, str]] = []
    for environment in environments:
        if environment not in unique_environments:
            unique_environments.append(environment)
    return unique_environments


def data_digests(plans: Iterator[PlannedRun]) -> dict[str, str]:
    """Return the sha256 of the file of each data set that planned runs name, if it is here."""
    paths = {name: status(name).path for name in find_data_sets(plan.problem for plan in plans)}
    return {name: file_digest(path) for name, path in paths.items() if path is not None}


def collect_archive_inputs(plans: Sequence[PlannedRun], code: Mapping[str, bytes]) -> ArchiveInputs:
    """Return the files that the code of runs reads, each own selector looked at once."""
    visited: set[str] = set()
    chosen = []
    for plan in plans:
        files = [text for text in (plan.problem, plan.algorithm) if list_file_names(text)]
        if new := {*plan.user_selectors, *files} - visited:
            visited |= new
            chosen.append(plan)
    if not chosen:
        return ArchiveInputs()
    return collect_inputs(_begin_runs, chosen, [drop_file_paths(plan) for plan in chosen], code)


def _begin_runs(plans: Sequence[PlannedRun]) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Build the problems of runs, begin each run, and return what came of it, and what it declares.

    Where somebody's code raises, that is what came of it.
    """
    statement: dict[str, str] = {}
    files: dict[str, tuple[str, str]] = {}
    for plan in plans:
        name = f"{replace_file_by_module(plan.algorithm)} on {replace_file_by_module(plan.problem)}"
        resolved = resolve(plan)
        method = resolved.cached_run.algorithm if resolved.cached_run else None
        files |= collect_declared_files(
            resolved.built_problem.problem, resolved.built_problem.problem.set, method
        )
        run = execute_plan(
            replace(plan, time_limit=min(SHARE_SECONDS, plan.time_limit or SHARE_SECONDS))
        )
        failed = f", {run.stop_reason}" if run.status == Status.ERROR else ""
        statement[name] = f"data {resolved.built_problem.digest}{failed}"
    return statement, files


def collect_user_sources(modules: frozenset[str]) -> dict[str, bytes]:
    """Return the source of somebody's own modules, and of all of his that they import.

    Raises
    ------
    InputError
        If a module has a name that cannot be in an archive.
    """
    files = {}
    for module, path in reachable(modules).items() if modules else ():
        if is_builtin(module):
            continue
        if not all(part.isascii() and part.isidentifier() for part in module.split(".")):
            raise InputError(f"the module {module!r} cannot be in an archive: rename it.")
        last = "/__init__.py" if Path(path).name == "__init__.py" else ".py"
        files[f"{CODE}{module.replace('.', '/')}{last}"] = Path(path).read_bytes()
    return files


# --- the other way --------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnpackedArchive:
    """An archive in a folder of its own.

    Attributes
    ----------
    manifest
        What it says of itself.
    folder
        Where it lies; its runs are a store.
    modules
        The modules of its author that are in it.
    damaged_files
        The files beside them whose bytes are not those that were packed.
    """

    manifest: Mapping[str, Any]
    folder: Path
    modules: tuple[str, ...]
    damaged_files: tuple[str, ...] = ()

    @property
    def spec(self) -> Path:
        """The file of its spec."""
        return self.folder / SPEC

    @property
    def store(self) -> Store:
        """Its runs."""
        return Store(self.folder, make=False)

    def list_changed_data(self) -> dict[str, str]:
        """Return its data sets that are not here with the same bytes, and what is instead."""
        names = [name for name in self.manifest["data"] if name in DATA_SETS]
        paths = {name: status(name).path for name in names}
        changed_data = dict.fromkeys(
            self.manifest["data"].keys() - DATA_SETS.keys(), "not known here"
        )
        for name, path in paths.items():
            if path is None:
                changed_data[name] = "not here"
            elif file_digest(path) != self.manifest["data"][name]:
                changed_data[name] = "here with other bytes"
        return changed_data

    def take(self, folder: Path) -> dict[str, str]:
        """Take from a folder the files that are named in the archive, and not in it.

        Returns
        -------
        dict of str to str
            Why a file was not taken, by its name.
        """
        lacking = {}
        for name, origin in self.manifest.get("origins", {}).items():
            paths = (folder / name, folder / Path(name).name)
            path = next((path.resolve() for path in paths if path.is_file()), None)
            inside = self.folder / CODE / name
            if path is None:
                lacking[name] = f"is not in {folder}: get it from {origin}"
            elif file_digest(path) != self.manifest["reads"][name]:
                lacking[name] = f"has other bytes in {folder} than its author's, from {origin}"
            elif inside.resolve().is_relative_to(self.folder.resolve()) and not inside.exists():
                inside.parent.mkdir(parents=True, exist_ok=True)
                inside.symlink_to(path)
        return lacking


@contextmanager
def unpack_archive(archive: Archive) -> Iterator[UnpackedArchive]:
    """Unpack an archive into a folder that is removed at the end; nothing of it is imported.

    A file beside the code that is damaged is left out, and named.

    Raises
    ------
    InputError
        If a file in it is damaged, or a module has the name of one that is installed here.
    StorageError
        If the disk is full.
    """
    code = [name for name in archive.names if name.startswith(CODE)]
    modules = tuple(sorted(_module(name) for name in code if name.endswith(".py")))
    check_module_names(modules)
    damaged = archive.find_damaged([name for name in code if not name.endswith(".py")])
    with TemporaryDirectory(prefix="pfbench-pack-") as temporary:
        folder = Path(temporary)
        with translate_os_errors(f"an archive's content in {folder}"):
            (folder / CODE).mkdir()
            archive.unpack(folder, but=damaged)
        names = tuple(name.removeprefix(CODE) for name in damaged)
        yield UnpackedArchive(archive.manifest, folder, modules, names)


def rerun_share(
    content: UnpackedArchive, share: float, engine: Engine, notify: Callable[[str], object]
) -> RerunReport:
    """Make a share of an archive's runs again, with the modules that are in it, and compare.

    Its modules are imported here: tell the user before.
    """
    with make_archive_importable(content):
        return rerun(
            content.store,
            share,
            engine,
            notify=notify,
            modules=content.modules,
            ignore_paths=True,
            fields=content.manifest,
        )


@contextmanager
def make_archive_importable(content: UnpackedArchive) -> Iterator[None]:
    """Let the modules of an archive be found, and its files as they name them."""
    code = str(content.folder / CODE)
    # First, also where Python was started in a folder that has a module of the same name.
    sys.path.insert(0, code)
    try:
        with chdir(code):
            yield
    finally:
        sys.path.remove(code)


def count_missing_runs(content: UnpackedArchive, plans: Collection[PlannedRun]) -> int:
    """Return how many runs that its spec plans are not in an archive."""
    rows = content.store.rows()
    identities = {_portable_plan_key(row["problem"], row["algorithm"], row["seed"]) for row in rows}
    return sum(
        _portable_plan_key(plan.problem, plan.algorithm, plan.seed) not in identities
        for plan in plans
    )


def _portable_plan_key(problem: str, algorithm: str, seed: int) -> tuple[str, str, int]:
    """Return what a run is, wherever the files lie that its selectors name."""
    return replace_file_by_module(problem), replace_file_by_module(algorithm), seed


def _module(name: str) -> str:
    path = name.removeprefix(CODE).removesuffix(".py").removesuffix("/__init__")
    return path.replace("/", ".")


def check_module_names(modules: Iterable[str]) -> None:
    """Refuse modules that would stand in the place of one of Python's, or of a library's.

    Raises
    ------
    InputError
        If there is one.
    """
    path = Path.cwd().resolve()
    elsewhere = [folder for folder in sys.path if Path(folder or ".").resolve() != path]
    for top in sorted({module.partition(".")[0] for module in modules}):
        is_known = top in sys.stdlib_module_names or top in _TAKEN
        if is_known or PathFinder.find_spec(top, elsewhere):
            raise InputError(
                f"the archive has a module {top}, and so does this Python: check it where {top} "
                "is not installed."
            )
