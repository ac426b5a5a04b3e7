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
from pfbench.base.selectors import by_module
from pfbench.base.user_code import is_ours
from pfbench.runs.loop.run import SAYS_NOTHING, Run
from pfbench.runs.storage.content import Entry, parse
from pfbench.runs.storage.damaged import Damaged
from pfbench.runs.storage.files import files_in, is_young
from pfbench.runs.storage.gathering import rewrite
from pfbench.runs.storage.keys import source_digest
from pfbench.runs.storage.kinds import KINDS
from pfbench.runs.storage.opening import check_folders, is_file
from pfbench.runs.storage.packing import SEGMENTS, write_segments
from pfbench.runs.storage.schema import list_of, text
from pfbench.runs.storage.segment import Packed
from pfbench.runs.storage.store import DAMAGED, Store

TIMES = frozenset({"seconds", "oracle_seconds"})
"""What may differ where a run is made again."""

Progress = Callable[[], None]


@dataclass(frozen=True)
class Damage:
    """A damaged file.

    Attributes
    ----------
    kind, key, path
        The entry, and its file.
    what, detail
        One of `pfbench.runs.storage.damaged.DAMAGES`, and what was seen.
    aside
        Where it was moved to; None if it was not.
    """

    kind: str
    key: str
    path: Path
    what: str
    detail: str
    aside: Path | None = None


def check_files(
    store: Store, *, repair: bool = False, progress: Progress = lambda: None
) -> tuple[int, list[Damage]]:
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
    number, found = 0, []
    for kind, key, _, content in _contents(store, progress):
        number += 1
        if isinstance(content, Damage):
            packed = content.path.parent.name == SEGMENTS
            aside = store.set_aside(kind, key) if repair and not packed else None
            found.append(replace(content, aside=aside))
    for name in store.segments.names:
        damage, place = store.segments.damage(name), store.folder / SEGMENTS / name
        if damage is not None:
            found.append(Damage("segment", name, place, damage.what, damage.detail))
    if repair:
        for place in {one.path for one in found if one.path.parent.name == SEGMENTS}:
            kept = rewrite(store, place.name, aside=True)
            found = [replace(one, aside=kept) if one.path == place else one for one in found]
        _take_up(store)
    return number, found


Content = tuple[Any, Mapping[str, Any]] | Damage
"""What a file has, as `parse` returns it, or what is wrong with it."""


def _contents(
    store: Store, progress: Progress
) -> Iterator[tuple[str, str, bytes | Packed, Content]]:
    """Yield kind, key, bytes and content of every entry that is still there."""
    for kind in KINDS:
        loose = [key for _, key, _, _ in files_in(store.folder, [kind])]
        for key in loose:
            progress()
            data: bytes | None = b""
            try:
                data = store.read_file(kind, key)
                if data is None:
                    continue
                content: Content = parse(kind, key, data)
            except Damaged as damage:
                path = store.path(key, kind)
                content = Damage(kind, key, path, damage.what, damage.detail)
            yield kind, key, data or b"", content
        if kind == "run":
            yield from _packed(store, frozenset(loose), progress)


def _packed(
    store: Store, loose: frozenset[str], progress: Progress
) -> Iterator[tuple[str, str, bytes | Packed, Content]]:
    """Yield the same of all packed runs that have no file of their own."""
    for name in store.segments.names:
        path = store.folder / SEGMENTS / name
        for row, one, content in store.segments.runs(name):
            key = row["key"]
            if key in loose:
                continue
            progress()
            if isinstance(one, Packed) and content is not None:
                yield "run", key, one, content
            elif isinstance(one, Damaged):
                yield "run", key, b"", Damage("run", key, path, one.what, one.detail)


def _take_up(store: Store) -> None:
    """Move what pfbench 0.1 set aside beside the runs to where it is now."""
    folder = store.folder / DAMAGED / "runs"
    for path in _found(store.folder, "runs/??/*.damaged"):
        aside = folder / f"{path.stem}.parquet"
        if not aside.exists():
            folder.mkdir(parents=True, exist_ok=True)
            path.rename(aside)


def _found(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a store that a pattern finds; nothing behind a link is its own."""
    found = []
    for path in sorted(folder.glob(pattern)):
        with suppress(Damaged):
            check_folders(path, folder)
            found += [path] if is_file(path) else []
    return found


# --- clearing away --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Collected:
    """What `collect` removed, or would remove, and what it kept.

    Attributes
    ----------
    leftovers
        Temporary files of killed processes, and what only earlier versions of pfbench read.
    outdated
        Kind and key of entries that a source which has changed since has made: nobody asks for
        them any more.
    bytes
        The size of both.
    kept
        How many entries and files are kept, by the reason.
    """

    leftovers: list[Path]
    outdated: list[tuple[str, str]]
    bytes: int
    kept: Mapping[str, int]


def collect(store: Store, *, dry: bool = False, progress: Progress = lambda: None) -> Collected:
    """Remove leftovers, and the entries whose source is no longer current.

    An entry is outdated if the source of pfbench that it could reach differs from today's. Kept
    are what is set aside, damaged files (see `check`), temporary files younger than an hour
    (another process may be writing them), entries of somebody's own modules (nothing that a store
    names is imported), and entries that do not say what made them.

    Parameters
    ----------
    dry
        Remove nothing, and say what would be.
    """
    leftovers, size, kept = [], 0, dict.fromkeys(KEPT, 0)
    for path in (path for pattern in _LEFTOVERS for path in _found(store.folder, pattern)):
        try:
            stamp = path.lstat()
        except FileNotFoundError:
            continue
        temporary = path.name.endswith(PARTIAL) or path.parent.name.endswith(PARTIAL)
        if temporary and is_young(path):
            kept["young"] += 1
            continue
        leftovers.append(path)
        size += stamp.st_size
    outdated, packed = [], set()
    sources = cache(source_digest)
    for kind, key, data, content in _contents(store, progress):
        state = "damaged" if isinstance(content, Damage) else _state(content[1], sources)
        if state != "outdated":
            kept[state] += 1
            continue
        outdated.append((kind, key))
        if isinstance(data, Packed):
            packed.add(key)
        size += data.size if isinstance(data, Packed) else len(data)
    if not dry:
        loose = (store.path(key, kind) for kind, key in outdated if key not in packed)
        for path in [*leftovers, *loose]:
            path.unlink(missing_ok=True)
        for name in store.segments.names if packed else ():
            if any(row["key"] in packed for row, _, _ in store.segments.runs(name)):
                rewrite(store, name, packed)
        _remove_folders(store, leftovers)
        store.listing()
    return Collected(leftovers, outdated, size, {name: n for name, n in kept.items() if n})


def _remove_folders(store: Store, leftovers: Collection[Path]) -> None:
    """Remove folders that have nothing in them, and to which nobody writes any more."""
    emptied = {path.parent for path in leftovers}
    for pattern in ("checkpoints/??", "checkpoints", f"{SEGMENTS}/.*{PARTIAL}"):
        for folder in store.folder.glob(pattern):
            with suppress(OSError, Damaged):  # something may be left in them
                check_folders(folder, store.folder)
                if folder in emptied or pattern[0] == "c" or not is_young(folder):
                    folder.rmdir()


KEPT = {
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
    if not isinstance(note, Mapping) or not list_of(text)(note.get("modules")):
        return "unnoted"
    modules = frozenset(note["modules"])
    if not all(map(is_ours, modules)):
        return "own"
    return "current" if sources(modules) == note.get("digest") else "outdated"


# --- merging --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Merged:
    """What became of the entries of another store.

    Attributes
    ----------
    taken, equal
        How many were copied, and how many were here already.
    refused
        Kind and key of those that are here with another content, and in what they differ.
    damaged
        Those that cannot be read there.
    """

    taken: int
    equal: int
    refused: list[tuple[str, str, str]]
    damaged: list[Damage]


def merge(store: Store, other: Store, *, progress: Progress = lambda: None) -> Merged:
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
    taken = equal = 0
    refused: list[tuple[str, str, str]] = []
    damaged: list[Damage] = []

    def packed() -> Iterator[Packed]:
        """Copy what has a file, and yield what goes into a segment."""
        nonlocal taken, equal
        for kind, key, data, content in _contents(other, progress):
            if isinstance(content, Damage):
                damaged.append(content)
                continue
            theirs, header = content
            ours = store.get(key) if kind == "run" else store.get_row(kind, key)
            differs = None if ours is None else difference(kind, ours, theirs)
            if ours is None and isinstance(data, Packed):
                taken += 1
                yield data
            elif ours is None or (differs and _killed(ours)):
                whole = other.read(kind, key) if isinstance(data, Packed) else data
                store.write(kind, key, whole or b"", header)
                taken += 1
            elif differs is None or _killed(theirs):
                equal += 1
            else:
                refused.append((kind, key, differs))

    for _ in write_segments(store.folder, packed()):
        pass
    return Merged(taken, equal, refused, damaged)


def _killed(content: Any) -> bool:
    return isinstance(content, Entry) and content.run.status in SAYS_NOTHING


def difference(kind: str, ours: Any, theirs: Any) -> str | None:
    """Return the first thing in which two entries of a key differ, None if they agree.

    They may differ in times, and in notes.
    """
    if kind != "run":
        return _first_difference(ours, theirs)
    found = _first_difference(_comparable(ours.run), _comparable(theirs.run))
    if found is None and dict(ours.environment) != dict(theirs.environment):
        return "environment"
    return found or trace_difference(ours.run, theirs.run)


def _comparable(run: Run) -> dict[str, Any]:
    """Return a run as JSON; a file that its selectors name may lie anywhere."""
    names = {"problem": by_module(run.problem), "algorithm": by_module(run.algorithm)}
    return run.as_json() | names


def _first_difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str | None:
    for name in (one for one in dict.fromkeys([*ours, *theirs]) if one not in TIMES):
        # As JSON, so that two NaN are the same.
        texts = [json.dumps(row.get(name), sort_keys=True, default=str) for row in (ours, theirs)]
        if texts[0] != texts[1] or (name in ours) != (name in theirs):
            return str(name)
    return None


def trace_difference(ours: Run, theirs: Run, tolerance: float | None = None) -> str | None:
    """Return the first thing in which two traces differ but for times, None if they agree.

    A measure may differ by `tolerance` of the largest of its column; without one, in no bit.
    """
    if ours.columns != theirs.columns:
        return "columns of the trace"
    if len(ours.rows) != len(theirs.rows):
        return "length of the trace"
    columns = zip(*ours.rows, strict=True), zip(*theirs.rows, strict=True)
    far = "" if tolerance is None else f", by more than {tolerance:g} of its largest"
    for name, mine, other in zip(ours.columns, *columns, strict=False):
        if name not in TIMES and not _alike(mine, other, tolerance):
            return f"column {name} of the trace{far}"
    return None


def _alike(ours: Sequence[Any], theirs: Sequence[Any], tolerance: float | None) -> bool:
    if tolerance is None:
        return np.array_equal(ours, theirs, equal_nan=True)
    one, other = (np.array(each, dtype=float) for each in (ours, theirs))
    scale = float(np.max(np.abs(one), initial=0.0, where=np.isfinite(one)))
    return np.allclose(one, other, rtol=0.0, atol=tolerance * scale, equal_nan=True)
