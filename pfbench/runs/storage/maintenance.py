"""Looking after a store: checking every file, clearing away, and merging two stores."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.base.files import PARTIAL
from pfbench.base.selectors import replace_file_by_module
from pfbench.base.user_code import is_builtin
from pfbench.runs.loop.run import UNINFORMATIVE, Run
from pfbench.runs.storage.compaction import rewrite_segments
from pfbench.runs.storage.content_keys import source_digest
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.entry_kinds import KINDS
from pfbench.runs.storage.field_types import list_type, text
from pfbench.runs.storage.safe_open import check_folders, is_file
from pfbench.runs.storage.segment import PackedRun
from pfbench.runs.storage.segment_writer import SEGMENTS, write_segments
from pfbench.runs.storage.serialization import StoredRun, parse
from pfbench.runs.storage.store import DAMAGED, Store
from pfbench.runs.storage.store_files import is_young, iterate_files

TIMES = frozenset({"seconds", "oracle_seconds"})
"""What may differ where a run is made again."""

Progress = Callable[[], None]


@dataclass(frozen=True)
class DamageReport:
    """A damaged file.

    Attributes
    ----------
    kind, key, path
        The entry, and its file.
    reason, detail
        One of `pfbench.runs.storage.damage.DAMAGES`, and what was seen.
    aside
        Where it was moved to; None if it was not.
    """

    kind: str
    key: str
    path: Path
    reason: str
    detail: str
    aside: Path | None = None


def check_files(
    store: Store, *, repair: bool = False, progress: Progress = lambda: None
) -> tuple[int, list[DamageReport]]:
    """Read every file of a store whole.

    Parameters
    ----------
    repair
        Set what is damaged aside, so that it counts as missing and is made again.

    Returns
    -------
    int, list of Damage
        How many files were read, and which of them are damaged.

    Raises
    ------
    StorageError
        If the system does not let a file be read.
    """
    number, reports = 0, []
    for kind, key, _, content in _contents(store, progress):
        number += 1
        if isinstance(content, DamageReport):
            packed = content.path.parent.name == SEGMENTS
            aside = store.quarantine(kind, key) if repair and not packed else None
            reports.append(replace(content, aside=aside))
    for name in store.segments.names:
        damage, path = store.segments.damage(name), store.folder / SEGMENTS / name
        if damage is not None:
            reports.append(DamageReport("segment", name, path, damage.reason, damage.detail))
    if repair:
        for path in {report.path for report in reports if report.path.parent.name == SEGMENTS}:
            retained = rewrite_segments(store, path.name, aside=True)
            reports = [
                replace(report, aside=retained) if report.path == path else report
                for report in reports
            ]
        _merge_entry(store)
    return number, reports


Content = tuple[Any, Mapping[str, Any]] | DamageReport
"""What a file has, as `parse` returns it, or what is wrong with it."""


def _contents(
    store: Store, progress: Progress
) -> Iterator[tuple[str, str, bytes | PackedRun, Content]]:
    """Yield kind, key, bytes and content of every entry that is still there."""
    for kind in KINDS:
        loose = [key for _, key, _, _ in iterate_files(store.folder, [kind])]
        for key in loose:
            progress()
            data: bytes | None = b""
            try:
                data = store.read_file(kind, key)
                if data is None:
                    continue
                content: Content = parse(kind, key, data)
            except DamagedFileError as damage:
                path = store.path(key, kind)
                content = DamageReport(kind, key, path, damage.reason, damage.detail)
            yield kind, key, data or b"", content
        if kind == "run":
            yield from _iterate_packed(store, frozenset(loose), progress)


def _iterate_packed(
    store: Store, loose_keys: frozenset[str], progress: Progress
) -> Iterator[tuple[str, str, bytes | PackedRun, Content]]:
    """Yield the same of all packed runs that have no file of their own."""
    for name in store.segments.names:
        path = store.folder / SEGMENTS / name
        for row, item, content in store.segments.runs(name):
            key = row["key"]
            if key in loose_keys:
                continue
            progress()
            if isinstance(item, PackedRun) and content is not None:
                yield "run", key, item, content
            elif isinstance(item, DamagedFileError):
                yield "run", key, b"", DamageReport("run", key, path, item.reason, item.detail)


def _merge_entry(store: Store) -> None:
    """Move what pfbench 0.1 set aside beside the runs to where it is now."""
    folder = store.folder / DAMAGED / "runs"
    for path in _find_files(store.folder, "runs/??/*.damaged"):
        aside = folder / f"{path.stem}.parquet"
        if not aside.exists():
            folder.mkdir(parents=True, exist_ok=True)
            path.rename(aside)


def _find_files(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a store that a pattern finds; nothing behind a link is its own."""
    paths = []
    for path in sorted(folder.glob(pattern)):
        with suppress(DamagedFileError):
            check_folders(path, folder)
            paths += [path] if is_file(path) else []
    return paths


# --- clearing away --------------------------------------------------------------------------------


@dataclass(frozen=True)
class GarbageReport:
    """What `collect_garbage` removed, or would remove, and what it kept.

    Attributes
    ----------
    leftovers
        Temporary files of killed processes, and what only earlier versions of pfbench read.
    outdated_entries
        Kind and key of entries that a source which has changed since has made: nobody asks for
        them any more.
    bytes
        The size of both.
    retained
        How many entries and files are kept, by the reason.
    """

    leftovers: list[Path]
    outdated_entries: list[tuple[str, str]]
    bytes: int
    retained: Mapping[str, int]


def collect_garbage(
    store: Store, *, dry_run: bool = False, progress: Progress = lambda: None
) -> GarbageReport:
    """Remove leftovers, and the entries whose source is no longer current.

    An entry is outdated if the source of pfbench that it could reach differs from today's. Kept
    are what is set aside, damaged files (see `check`), temporary files younger than an hour
    (another process may be writing them), entries of somebody's own modules (nothing that a store
    names is imported), and entries that do not say what made them.

    Parameters
    ----------
    dry_run
        Remove nothing, and say what would be.
    """
    leftovers, size, retained = [], 0, dict.fromkeys(RETAINED_KINDS, 0)
    for path in (path for pattern in _LEFTOVERS for path in _find_files(store.folder, pattern)):
        try:
            stamp = path.lstat()
        except FileNotFoundError:
            continue
        temporary = path.name.endswith(PARTIAL) or path.parent.name.endswith(PARTIAL)
        if temporary and is_young(path):
            retained["young"] += 1
            continue
        leftovers.append(path)
        size += stamp.st_size
    outdated, packed = [], set()
    sources = cache(source_digest)
    for kind, key, data, content in _contents(store, progress):
        state = "damaged" if isinstance(content, DamageReport) else _state(content[1], sources)
        if state != "outdated":
            retained[state] += 1
            continue
        outdated.append((kind, key))
        if isinstance(data, PackedRun):
            packed.add(key)
        size += data.size if isinstance(data, PackedRun) else len(data)
    if not dry_run:
        loose = (store.path(key, kind) for kind, key in outdated if key not in packed)
        for path in [*leftovers, *loose]:
            path.unlink(missing_ok=True)
        for name in store.segments.names if packed else ():
            if any(row["key"] in packed for row, _, _ in store.segments.runs(name)):
                rewrite_segments(store, name, packed)
        _remove_folders(store, leftovers)
        store.listing()
    return GarbageReport(leftovers, outdated, size, {name: n for name, n in retained.items() if n})


def _remove_folders(store: Store, leftovers: Collection[Path]) -> None:
    """Remove folders that have nothing in them, and to which nobody writes any more."""
    emptied = {path.parent for path in leftovers}
    for pattern in ("checkpoints/??", "checkpoints", f"{SEGMENTS}/.*{PARTIAL}"):
        for folder in store.folder.glob(pattern):
            with suppress(OSError, DamagedFileError):  # something may be left in them
                check_folders(folder, store.folder)
                if folder in emptied or pattern[0] == "c" or not is_young(folder):
                    folder.rmdir()


RETAINED_KINDS = {
    "current": "entries of the current source",
    "unnoted": "entries that do not say which source made them",
    "own": "entries of somebody's own modules",
    "damaged": "damaged files (`pfbench store check --repair` sets them aside)",
    "young": "files younger than an hour that may still be needed",
}
"""Why something is kept, by name."""


_LEFTOVERS = (
    *(f".*{PARTIAL}", f"*/??/.*{PARTIAL}", f"{SEGMENTS}/.*{PARTIAL}/*"),
    *("checkpoints/??/[!.]*.npz", "families.jsonl"),
)
"""Files that nobody reads: temporary ones, and two kinds of earlier versions, which kept from where
a run could be extended, and an index of the limits of runs."""


def _state(header: Mapping[str, Any], sources: Callable[[frozenset[str]], str]) -> str:
    """Return whether an entry is outdated, or why it is kept."""
    note = header.get("notes", {}).get("source")
    if not isinstance(note, Mapping) or not list_type(text)(note.get("modules")):
        return "unnoted"
    modules = frozenset(note["modules"])
    if not all(map(is_builtin, modules)):
        return "own"
    return "current" if sources(modules) == note.get("digest") else "outdated"


# --- merging --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MergeReport:
    """What became of the entries of another store.

    Attributes
    ----------
    added, equal
        How many were copied, and how many were here already.
    refused
        Kind and key of those that are here with another content, and in what they differ.
    damaged
        Those that cannot be read there.
    """

    added: int
    equal: int
    refused: list[tuple[str, str, str]]
    damaged: list[DamageReport]


def merge(store: Store, other: Store, *, progress: Progress = lambda: None) -> MergeReport:
    """Copy what another store has and this one lacks.

    Where both have a key, they must agree in everything but times: the run's ``seconds``, its
    column ``seconds``, and its notes. If they do not, that entry is refused, and this store keeps
    its own. A run that was killed from outside says nothing, and gives way to the other's.

    Raises
    ------
    InputError
        If both are the same folder.
    StorageError
        If a file cannot be read or written; what is copied already stays.
    """
    if store.folder.resolve() == other.folder.resolve():
        raise InputError(f"{other.folder} is the store itself: name another one to merge.")
    selected = equal = 0
    refused: list[tuple[str, str, str]] = []
    damaged: list[DamageReport] = []

    def iterate_packed() -> Iterator[PackedRun]:
        """Copy what has a file, and yield what goes into a segment."""
        nonlocal selected, equal
        for kind, key, data, content in _contents(other, progress):
            if isinstance(content, DamageReport):
                damaged.append(content)
                continue
            reference, header = content
            row = store.get(key) if kind == "run" else store.get_row(kind, key)
            differs = None if row is None else difference(kind, row, reference)
            if row is None and isinstance(data, PackedRun):
                selected += 1
                yield data
            elif row is None or (differs and _was_killed(row)):
                complete = other.read(kind, key) if isinstance(data, PackedRun) else data
                store.write(kind, key, complete or b"", header)
                selected += 1
            elif differs is None or _was_killed(reference):
                equal += 1
            else:
                refused.append((kind, key, differs))

    for _ in write_segments(store.folder, iterate_packed()):
        pass
    return MergeReport(selected, equal, refused, damaged)


def _was_killed(content: Any) -> bool:
    return isinstance(content, StoredRun) and content.run.status in UNINFORMATIVE


def difference(kind: str, computed: Any, reference: Any) -> str | None:
    """Return the first thing in which two entries of a key differ, None if they agree.

    They may differ in times, and in notes.
    """
    if kind != "run":
        return _first_difference(computed, reference)
    first_difference = _first_difference(_comparable(computed.run), _comparable(reference.run))
    if first_difference is None and dict(computed.environment) != dict(reference.environment):
        return "environment"
    return first_difference or trace_difference(computed.run, reference.run)


def _comparable(run: Run) -> dict[str, Any]:
    """Return a run as JSON; a file that its selectors name may lie anywhere."""
    names = {
        "problem": replace_file_by_module(run.problem),
        "algorithm": replace_file_by_module(run.algorithm),
    }
    return run.as_json() | names


def _first_difference(computed: Mapping[str, Any], reference: Mapping[str, Any]) -> str | None:
    for name in (name for name in dict.fromkeys([*computed, *reference]) if name not in TIMES):
        # As JSON, so that two NaN are the same.
        texts = [
            json.dumps(row.get(name), sort_keys=True, default=str) for row in (computed, reference)
        ]
        if texts[0] != texts[1] or (name in computed) != (name in reference):
            return str(name)
    return None


def trace_difference(run: Run, recorded: Run, tolerance: float | None = None) -> str | None:
    """Return the first thing in which two traces differ but for times, None if they agree.

    A measure may differ by `tolerance` of the largest of its column; without one, in no bit.
    """
    if run.columns != recorded.columns:
        return "columns of the trace"
    if len(run.rows) != len(recorded.rows):
        return "length of the trace"
    columns = zip(*run.rows, strict=True), zip(*recorded.rows, strict=True)
    far = "" if tolerance is None else f", by more than {tolerance:g} of its largest"
    for name, column, other in zip(run.columns, *columns, strict=False):
        if name not in TIMES and not _values_equal(column, other, tolerance):
            return f"column {name} of the trace{far}"
    return None


def _values_equal(
    computed: Sequence[Any], reference: Sequence[Any], tolerance: float | None
) -> bool:
    if tolerance is None:
        return np.array_equal(computed, reference, equal_nan=True)
    item, other = (np.array(each, dtype=float) for each in (computed, reference))
    scale = float(np.max(np.abs(item), initial=0.0, where=np.isfinite(item)))
    return np.allclose(item, other, rtol=0.0, atol=tolerance * scale, equal_nan=True)
