"""Packing a store down: loose runs go into segments, and segments are written anew without some."""

import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pfbench.base.errors import StorageError
from pfbench.base.files import PARTIAL, beside
from pfbench.runs.storage.content import entry_of, unpacked
from pfbench.runs.storage.damaged import Damaged
from pfbench.runs.storage.files import files_in, is_young
from pfbench.runs.storage.index import Row, row_of
from pfbench.runs.storage.packing import SEGMENTS, write_segments
from pfbench.runs.storage.segment import Packed
from pfbench.runs.storage.store import DAMAGED, Store

MOST_LOOSE = 10_000
"""Runs with a file of their own, beyond which a sweep packs them down."""

ORDER = ("algorithm", "problem", "seed", "key")
"""By what runs lie in a segment."""


@dataclass(frozen=True)
class PackedDown:
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
    damaged: tuple[tuple[str, Damaged], ...] = ()


def order_of(row: Row) -> tuple[object, ...]:
    """Return what runs are sorted by."""
    return tuple(row[name] for name in ORDER)


def pack_if_many(store: Store, most: int = MOST_LOOSE) -> None:
    """Pack a store down if more than `most` runs are loose, and nobody else is at it.

    A store that cannot be packed, as on a full disk, stays as it is.
    """
    loose = sum(1 for _ in files_in(store.folder, ["run"]))
    others = (store.folder / SEGMENTS).glob(f".*{PARTIAL}")
    if loose > most and not any(map(is_young, others)):
        with suppress(StorageError):
            pack_down(store)


def pack_down(store: Store, *, progress: Callable[[], None] = lambda: None) -> PackedDown:
    """Gather all loose runs into new segments.

    A loose file is removed when the segment that has its run is on the disk, and only if it is the
    one that was read: one that was written meanwhile stays, and counts.

    Raises
    ------
    StorageError
        If a segment cannot be written; each run is where it was, or in a segment.
    """
    damaged: list[tuple[str, Damaged]] = []
    stamps = {key: stamp for _, key, _, stamp in files_in(store.folder, ["run"])}
    listing = store.listing(write=False)
    rows = [row for row in listing.rows if row["key"] in stamps and row["kind"] == "run"]

    def read() -> Iterator[Packed]:
        for row in sorted(rows, key=order_of):
            progress()
            try:
                one = _read(store, row["key"], stamps[row["key"]])
            except Damaged as damage:
                damaged.append((row["key"], damage))
                continue
            if one is not None:
                yield one

    runs = segments = 0
    for keys in write_segments(store.folder, read()):
        segments, runs = segments + 1, runs + len(keys)
        for key in keys:
            _remove(store.path(key), stamps[key])
    store.listing()
    damaged += [(key, damage) for kind, key, damage in listing.damaged if kind == "run"]
    return PackedDown(runs, segments, tuple(damaged))


def rewrite(
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
    runs = [one for row, one, _ in store.segments.runs(name) if row["key"] not in without]
    whole = [one for one in runs if isinstance(one, Packed)]
    lost = len(whole) < len(runs) or store.segments.damage(name) is not None
    if lost and not aside:
        return None
    for _ in write_segments(store.folder, iter(whole)):
        pass
    folder = store.folder / SEGMENTS / name
    kept = store.folder / DAMAGED / SEGMENTS / name if aside else beside(folder)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(kept)
    except OSError:
        return None
    if aside:
        return kept
    shutil.rmtree(kept, ignore_errors=True)
    return None


def _read(store: Store, key: str, stamp: os.stat_result) -> Packed | None:
    """Return a loose run as a segment has it; None if it is gone."""
    data = store.read_file("run", key)
    if data is None:
        return None
    text, columns, digest = unpacked(data)
    _, header = entry_of(key, text, columns, digest)
    row = row_of("run", key, header)
    return Packed(row, text, columns, stamp.st_size, stamp.st_mtime_ns)


def _remove(path: Path, stamp: os.stat_result) -> None:
    """Remove a file if it is still the one that was read."""
    hidden = beside(path)
    with suppress(OSError):
        path.rename(hidden)
        now = hidden.lstat()
        if (now.st_ino, now.st_mtime_ns) != (stamp.st_ino, stamp.st_mtime_ns):
            with suppress(FileExistsError):  # written once more
                os.link(hidden, path)
        hidden.unlink()
