"""Packing a store down: loose runs go into segments, and segments are written anew without some."""

import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pfbench.base.errors import StorageError
from pfbench.base.files import PARTIAL, temporary_sibling
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.index import Row, make_row
from pfbench.runs.storage.segment import PackedRun
from pfbench.runs.storage.segment_writer import SEGMENTS, write_segments
from pfbench.runs.storage.serialization import make_entry, split_run_file
from pfbench.runs.storage.store import DAMAGED, Store
from pfbench.runs.storage.store_files import is_young, iterate_files

MAX_LOOSE_FILES = 10_000
"""Runs with a file of their own, beyond which a sweep packs them down."""

SORT_COLUMNS = ("algorithm", "problem", "seed", "key")
"""By what runs lie in a segment."""


@dataclass(frozen=True)
class CompactionReport:
    """What became of the loose runs of a store.

    Attributes
    ----------
    runs, segments
        How many runs went into how many new segments.
    damaged
        Key of each of which the file is damaged, and what is wrong; it stays where it is.
    """

    runs: int
    segments: int
    damaged: tuple[tuple[str, DamagedFileError], ...] = ()


def sort_key(row: Row) -> tuple[object, ...]:
    """Return what runs are sorted by."""
    return tuple(row[name] for name in SORT_COLUMNS)


def compact_if_many(store: Store, limit: int = MAX_LOOSE_FILES) -> None:
    """Pack a store down if more than `limit` runs are loose, and nobody else is at it.

    A store that cannot be packed, as on a full disk, stays as it is.
    """
    loose = sum(1 for _ in iterate_files(store.folder, ["run"]))
    paths = (store.folder / SEGMENTS).glob(f".*{PARTIAL}")
    if loose > limit and not any(map(is_young, paths)):
        with suppress(StorageError):
            compact(store)


def compact(store: Store, *, progress: Callable[[], None] = lambda: None) -> CompactionReport:
    """Gather all loose runs into new segments.

    A loose file is removed when the segment that has its run is on the disk, and only if it is the
    one that was read: one that was written meanwhile stays, and counts.

    Raises
    ------
    StorageError
        If a segment cannot be written; each run is where it was, or in a segment.
    """
    damaged: list[tuple[str, DamagedFileError]] = []
    stamps = {key: stamp for _, key, _, stamp in iterate_files(store.folder, ["run"])}
    listing = store.listing(write=False)
    rows = [row for row in listing.rows if row["key"] in stamps and row["kind"] == "run"]

    def iterate_loose() -> Iterator[PackedRun]:
        for row in sorted(rows, key=sort_key):
            progress()
            try:
                run = _read_loose(store, row["key"], stamps[row["key"]])
            except DamagedFileError as damage:
                damaged.append((row["key"], damage))
                continue
            if run is not None:
                yield run

    runs = segments = 0
    for keys in write_segments(store.folder, iterate_loose()):
        segments, runs = segments + 1, runs + len(keys)
        for key in keys:
            _remove(store.path(key), stamps[key])
    store.listing()
    damaged += [(key, damage) for kind, key, damage in listing.damaged if kind == "run"]
    return CompactionReport(runs, segments, tuple(damaged))


def rewrite_segments(
    store: Store, name: str, without: Collection[str] = (), *, aside: bool = False
) -> Path | None:
    """Write the whole runs of a segment anew, without some, in place of it.

    Parameters
    ----------
    without
        Keys of runs that are left out.
    aside
        Whether the segment is kept, among what is damaged; if not, and one of its runs is damaged,
        nothing is done.

    Returns
    -------
    Path or None
        Where the segment is kept; None if it is not.
    """
    runs = [item for row, item, _ in store.segments.runs(name) if row["key"] not in without]
    packed_runs = [run for run in runs if isinstance(run, PackedRun)]
    lost = len(packed_runs) < len(runs) or store.segments.damage(name) is not None
    if lost and not aside:
        return None
    for _ in write_segments(store.folder, iter(packed_runs)):
        pass
    folder = store.folder / SEGMENTS / name
    path = store.folder / DAMAGED / SEGMENTS / name if aside else temporary_sibling(folder)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(path)
    except OSError:
        return None
    if aside:
        return path
    shutil.rmtree(path, ignore_errors=True)
    return None


def _read_loose(store: Store, key: str, stamp: os.stat_result) -> PackedRun | None:
    """Return a loose run as a segment has it; None if it is gone."""
    data = store.read_file("run", key)
    if data is None:
        return None
    text, columns, digest = split_run_file(data)
    _, header = make_entry(key, text, columns, digest)
    row = make_row("run", key, header)
    return PackedRun(row, text, columns, stamp.st_size, stamp.st_mtime_ns)


def _remove(path: Path, stamp: os.stat_result) -> None:
    """Remove a file if it is still the one that was read."""
    hidden = temporary_sibling(path)
    with suppress(OSError):
        path.rename(hidden)
        now = hidden.lstat()
        if (now.st_ino, now.st_mtime_ns) != (stamp.st_ino, stamp.st_mtime_ns):
            with suppress(FileExistsError):  # written once more
                os.link(hidden, path)
        hidden.unlink()
