"""The segments of a store: what they hold, by key and as a listing.

Of two with one key the later counts, and a file of its own before any: so a run that is made again
takes the place of a packed one, and nothing that was written is ever changed.
"""

import json
import logging
from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pfbench.base.counts import COUNTED
from pfbench.runs.storage.damage import DAMAGES, DamagedFileError
from pfbench.runs.storage.field_types import mapping_type, number
from pfbench.runs.storage.index import ROW, SCHEMA, Row, format_time, make_row
from pfbench.runs.storage.safe_open import check_folders, is_folder
from pfbench.runs.storage.segment import PackedRun, Segment, unique_texts
from pfbench.runs.storage.segment_writer import SEGMENTS, segment_names
from pfbench.runs.storage.serialization import Columns, StoredRun, make_entry

if TYPE_CHECKING:
    import pyarrow as pa

Content = tuple[StoredRun, Mapping[str, Any]]
"""A run and its metadata."""

_LOG = logging.getLogger(__name__)
_FIELDS = (*ROW, "bytes", "stored")
_LIMITS = mapping_type(number)


class SegmentIndex:
    """All segments of a store; new ones are noticed."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._open_segments: dict[str, Segment | DamagedFileError] = {}
        self._location_cache: dict[str, tuple[str, int, int]] | None = {}

    def read_bytes(self, key: str) -> tuple[bytes, Columns, str] | None:
        """Return metadata, trace and hash of a run; None if no segment has it.

        Raises
        ------
        DamagedFileError
            If it is damaged.
        OSError
            If the system does not let it be read.
        """
        while True:
            self._reload_changed()
            location = self._locations().get(key)
            segment = None if location is None else self._open_segments[location[0]]
            if location is None or not isinstance(segment, Segment):
                return None
            try:
                return segment.raw(*location[1:])
            except FileNotFoundError:  # another process has replaced it
                self._forget(location[0])

    def keys(self) -> Collection[str]:
        """Return the keys of all packed runs."""
        self._reload_changed()
        return self._locations().keys()

    def rows(
        self, loose_keys: AbstractSet[str] = frozenset()
    ) -> tuple[list[Row], list[tuple[str, DamagedFileError]]]:
        """Return a row for each packed run, by key, and what is wrong with which segment.

        Parameters
        ----------
        loose_keys
            Keys of runs with a file of their own, which counts.
        """
        self._reload_changed()
        tables, lost = [], []
        for name, segment in reversed(self._open_segments.items()):
            try:
                if isinstance(segment, DamagedFileError):
                    raise segment
                parts, damages = segment.read_listing()
            except FileNotFoundError:
                self._forget(name)
                return self.rows(loose_keys)
            except DamagedFileError as damage:
                parts, damages = [], [damage]
            tables += [table for _, table in parts]
            lost += [(name, damage) for damage in damages]
        if not tables:
            return [], lost
        import pyarrow as pa

        columns = _ListingColumns(pa.concat_tables(tables))
        keys, last = columns.column("key"), ""
        counting: list[Row] = []
        # The sort is stable: of equal keys that of the latest segment comes first.
        for k in sorted(range(len(keys)), key=keys.__getitem__):
            if keys[k] != last and keys[k] not in loose_keys:
                counting.append(_ListingRow(columns, k))
            last = keys[k]
        return counting, lost

    def damage(self, name: str) -> DamagedFileError | None:
        """Return what is wrong with the files of a segment; None if they are what they were."""
        segment = self._open_segments.get(name)
        if not isinstance(segment, Segment):
            return segment
        result = next(segment.check(), None)
        return result and DamagedFileError(result[1].reason, f"{result[0]}: {result[1].detail}")

    def runs(self, name: str) -> Iterator[tuple[Row, PackedRun | DamagedFileError, Content | None]]:
        """Yield the runs of a segment that count, whole or damaged, in the order of its file.

        Raises
        ------
        OSError
            If the system does not let it be read.
        """
        segment = self._open_segments.get(name)
        if not isinstance(segment, Segment):
            return
        locations = self._locations()
        try:
            parts, _ = segment.read_listing()
        except (DamagedFileError, FileNotFoundError):  # `damage` tells it, or it is gone
            return
        for group, table in parts:
            result = _ListingColumns(table)
            for index, key in enumerate(result.column("key")):
                if locations.get(key) != (name, group, index):
                    continue
                row = _ListingRow(result, index)
                try:
                    text, columns, digest = segment.raw(group, index)
                    entry, header = make_entry(key, text, columns, digest)
                    if _listing_changed(row, make_row("run", key, header)):
                        raise DamagedFileError("wrong content", "it is listed as another run")
                    reported = result.column("bytes")[index], result.column("stored")[index]
                    yield row, PackedRun(row, text, columns, *reported), (entry, header)
                except DamagedFileError as damage:
                    yield row, damage, None

    @property
    def names(self) -> list[str]:
        """The names of all, the newest last."""
        self._reload_changed()
        return list(self._open_segments)

    def _reload_changed(self) -> None:
        """Open what is new, and forget what is gone."""
        names = segment_names(self._store)
        if names == list(self._open_segments):
            return
        opened = {}
        for name in names:
            if name in self._open_segments:
                opened[name] = self._open_segments[name]
                continue
            folder = self._store / SEGMENTS / name
            try:
                check_folders(folder / "any", self._store)
                if not is_folder(folder):
                    raise DamagedFileError("not a file", DAMAGES["not a file"])
                opened[name] = Segment(folder)
            except FileNotFoundError:
                continue
            except DamagedFileError as damage:
                _LOG.warning("segment %s is damaged: %s; its runs count as missing.", name, damage)
                opened[name] = damage
        self._open_segments, self._location_cache = opened, None

    def _locations(self) -> Mapping[str, tuple[str, int, int]]:
        """Return where each packed run is: segment, group of rows, number in it."""
        if self._location_cache is None:
            locations: dict[str, tuple[str, int, int]] = {}
            for name, segment in self._open_segments.items():
                if not isinstance(segment, Segment):
                    continue
                try:
                    for group, keys in segment.keys_by_group():
                        locations.update(
                            (key, (name, group, index)) for index, key in enumerate(keys)
                        )
                except FileNotFoundError:
                    self._forget(name)
                    self._reload_changed()
                    return self._locations()
                except DamagedFileError:
                    continue
            self._location_cache = locations
        return self._location_cache

    def _forget(self, name: str) -> None:
        self._open_segments = {
            other: open_segment
            for other, open_segment in self._open_segments.items()
            if other != name
        }
        self._location_cache = None


def _listing_changed(row: Row, other: Row) -> bool:
    """Return whether two rows of a listing differ; NaN is itself."""
    return any(row[name] != value and value == value for name, value in other.items())


class _ListingColumns:
    """The columns of a listing as lists, each made when it is asked for."""

    def __init__(self, table: "pa.Table") -> None:
        self._table = table
        self._lists: dict[str, list[Any]] = {}

    def column(self, name: str) -> list[Any]:
        results = self._lists.get(name)
        if results is None:
            column = self._table[name]
            is_text = hasattr(column.type, "value_type")
            results = self._lists[name] = unique_texts(column) if is_text else column.to_pylist()
        return results


class _ListingRow(Mapping[str, Any]):
    """A row of a listing; it looks its fields up in columns that all rows share."""

    __slots__ = ("_position", "_table")

    def __init__(self, table: _ListingColumns, index: int) -> None:
        self._table, self._position = table, index

    def __getitem__(self, name: str) -> Any:
        if name in _SAME:
            return _SAME[name]
        if name == "counts":
            counts = {name: self._table.column(name)[self._position] for name in COUNTED}
            return {key: value for key, value in counts.items() if value is not None}
        value = self._table.column(name)[self._position]
        if name == "limits":
            return _limits(value)
        return format_time(value // 10**9) if name == "stored" else value

    def __iter__(self) -> Iterator[str]:
        return iter(_FIELDS)

    def __len__(self) -> int:
        return len(_FIELDS)


_SAME: Mapping[str, Any] = {"schema": SCHEMA, "kind": "run", "claim": None}


@lru_cache(maxsize=4096)
def _limits(text: str | None) -> Mapping[str, float] | None:
    try:
        limits: Any = None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None
    return limits if _LIMITS(limits) else None
