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
from pfbench.runs.storage.content import Columns, Entry, entry_of
from pfbench.runs.storage.damaged import DAMAGES, Damaged
from pfbench.runs.storage.index import ROW, SCHEMA, Row, row_of, time_of
from pfbench.runs.storage.opening import check_folders, is_folder
from pfbench.runs.storage.packing import SEGMENTS, names_in
from pfbench.runs.storage.schema import number, table_of
from pfbench.runs.storage.segment import Packed, Segment, texts_of

if TYPE_CHECKING:
    import pyarrow as pa

Content = tuple[Entry, Mapping[str, Any]]
"""A run and its metadata."""

_LOG = logging.getLogger(__name__)
_FIELDS = (*ROW, "bytes", "stored")
_LIMITS = table_of(number)


class Segments:
    """All segments of a store; new ones are noticed."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._opened: dict[str, Segment | Damaged] = {}
        self._places: dict[str, tuple[str, int, int]] | None = {}

    def raw(self, key: str) -> tuple[bytes, Columns, str] | None:
        """Return metadata, trace and hash of a run; None if no segment has it.

        Raises
        ------
        Damaged
            If it is damaged.
        OSError
            If the system does not let it be read.
        """
        while True:
            self._refresh()
            place = self._known().get(key)
            segment = None if place is None else self._opened[place[0]]
            if place is None or not isinstance(segment, Segment):
                return None
            try:
                return segment.raw(*place[1:])
            except FileNotFoundError:  # another process has replaced it
                self._forget(place[0])

    def keys(self) -> Collection[str]:
        """Return the keys of all packed runs."""
        self._refresh()
        return self._known().keys()

    def rows(
        self, loose: AbstractSet[str] = frozenset()
    ) -> tuple[list[Row], list[tuple[str, Damaged]]]:
        """Return a row for each packed run, by key, and what is wrong with which segment.

        Parameters
        ----------
        loose
            Keys of runs with a file of their own, which counts.
        """
        self._refresh()
        tables, lost = [], []
        for name, segment in reversed(self._opened.items()):
            try:
                if isinstance(segment, Damaged):
                    raise segment
                parts, damages = segment.listed()
            except FileNotFoundError:
                self._forget(name)
                return self.rows(loose)
            except Damaged as damage:
                parts, damages = [], [damage]
            tables += [table for _, table in parts]
            lost += [(name, damage) for damage in damages]
        if not tables:
            return [], lost
        import pyarrow as pa

        found = _Table(pa.concat_tables(tables))
        keys, last = found.column("key"), ""
        counting: list[Row] = []
        # The sort is stable: of equal keys that of the latest segment comes first.
        for k in sorted(range(len(keys)), key=keys.__getitem__):
            if keys[k] != last and keys[k] not in loose:
                counting.append(_Row(found, k))
            last = keys[k]
        return counting, lost

    def damage(self, name: str) -> Damaged | None:
        """Return what is wrong with the files of a segment; None if they are what they were."""
        segment = self._opened.get(name)
        if not isinstance(segment, Segment):
            return segment
        found = next(segment.check(), None)
        return found and Damaged(found[1].what, f"{found[0]}: {found[1].detail}")

    def runs(self, name: str) -> Iterator[tuple[Row, Packed | Damaged, Content | None]]:
        """Yield the runs of a segment that count, whole or damaged, in the order of its file.

        Raises
        ------
        OSError
            If the system does not let it be read.
        """
        segment = self._opened.get(name)
        if not isinstance(segment, Segment):
            return
        places = self._known()
        try:
            parts, _ = segment.listed()
        except (Damaged, FileNotFoundError):  # `damage` tells it, or it is gone
            return
        for group, table in parts:
            found = _Table(table)
            for at, key in enumerate(found.column("key")):
                if places.get(key) != (name, group, at):
                    continue
                row = _Row(found, at)
                try:
                    text, columns, digest = segment.raw(group, at)
                    entry, header = entry_of(key, text, columns, digest)
                    if _differ(row, row_of("run", key, header)):
                        raise Damaged("wrong content", "it is listed as another run")
                    told = found.column("bytes")[at], found.column("stored")[at]
                    yield row, Packed(row, text, columns, *told), (entry, header)
                except Damaged as damage:
                    yield row, damage, None

    @property
    def names(self) -> list[str]:
        """The names of all, the newest last."""
        self._refresh()
        return list(self._opened)

    def _refresh(self) -> None:
        """Open what is new, and forget what is gone."""
        names = names_in(self._store)
        if names == list(self._opened):
            return
        opened = {}
        for name in names:
            if name in self._opened:
                opened[name] = self._opened[name]
                continue
            folder = self._store / SEGMENTS / name
            try:
                check_folders(folder / "any", self._store)
                if not is_folder(folder):
                    raise Damaged("not a file", DAMAGES["not a file"])
                opened[name] = Segment(folder)
            except FileNotFoundError:
                continue
            except Damaged as damage:
                _LOG.warning("segment %s is damaged: %s; its runs count as missing.", name, damage)
                opened[name] = damage
        self._opened, self._places = opened, None

    def _known(self) -> Mapping[str, tuple[str, int, int]]:
        """Return where each packed run is: segment, group of rows, number in it."""
        if self._places is None:
            places: dict[str, tuple[str, int, int]] = {}
            for name, segment in self._opened.items():
                if not isinstance(segment, Segment):
                    continue
                try:
                    for group, keys in segment.keys_by_group():
                        places.update((key, (name, group, at)) for at, key in enumerate(keys))
                except FileNotFoundError:
                    self._forget(name)
                    self._refresh()
                    return self._known()
                except Damaged:
                    continue
            self._places = places
        return self._places

    def _forget(self, name: str) -> None:
        self._opened = {other: one for other, one in self._opened.items() if other != name}
        self._places = None


def _differ(row: Row, other: Row) -> bool:
    """Return whether two rows of a listing differ; NaN is itself."""
    return any(row[name] != value and value == value for name, value in other.items())


class _Table:
    """The columns of a listing as lists, each made when it is asked for."""

    def __init__(self, table: "pa.Table") -> None:
        self._table = table
        self._lists: dict[str, list[Any]] = {}

    def column(self, name: str) -> list[Any]:
        found = self._lists.get(name)
        if found is None:
            column = self._table[name]
            is_text = hasattr(column.type, "value_type")
            found = self._lists[name] = texts_of(column) if is_text else column.to_pylist()
        return found


class _Row(Mapping[str, Any]):
    """A row of a listing; it looks its fields up in columns that all rows share."""

    __slots__ = ("_at", "_table")

    def __init__(self, table: _Table, at: int) -> None:
        self._table, self._at = table, at

    def __getitem__(self, name: str) -> Any:
        if name in _SAME:
            return _SAME[name]
        if name == "counts":
            counts = {one: self._table.column(one)[self._at] for one in COUNTED}
            return {one: value for one, value in counts.items() if value is not None}
        value = self._table.column(name)[self._at]
        if name == "limits":
            return _limits(value)
        return time_of(value // 10**9) if name == "stored" else value

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
