"""Listing of a store: the columns of its entries, checked without their content."""

import gc
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from math import nan
from typing import Any

from pfbench.base.counts import COUNTED
from pfbench.base.escaping import escape_text
from pfbench.runs.loop.run import STATUSES
from pfbench.runs.storage.damage import DAMAGES, KEY, KIND_ORDER, KINDS, DamagedFileError
from pfbench.runs.storage.serialization import CLOCK, LISTED, SHOWN, encode_for_checksum

Row = Mapping[str, Any]
"""Entry in a listing; its keys are `FIELDS`."""

FIELDS = (*LISTED[:SHOWN], "bytes")
"""Fields of a row: the columns of the store, and the bytes of an entry."""

_INDEX = {name: index for index, name in enumerate(LISTED[:SHOWN])} | {"bytes": len(LISTED)}
_STATUS, _ITERATIONS = _INDEX["status"], _INDEX["iterations"]
_COUNTS, _LIMITS = _INDEX["counts"], _INDEX["limits"]
_NUMBER = r"-?\d{1,18}(?:\.\d{1,18})?(?:e[+-]?\d{1,3})?"
_FORM_OF_COUNTS = re.compile(rf'\{{(?:"(?:{"|".join(COUNTED)})": \d{{1,18}}(?:, |(?=\}})))*\}}')
_FORM_OF_LIMITS = re.compile(rf'\{{(?:"\w{{1,40}}": {_NUMBER}(?:, |(?=\}})))*\}}')
_MOST_SECONDS = 2**36


@dataclass(frozen=True)
class Listing:
    """Listing of a store: the columns of its valid entries, and its damaged entries.

    Attributes
    ----------
    rows
        Listed columns of each entry with valid columns, sorted by kind and key.
    damaged
        Kind, key, and damage of each entry with invalid columns.
    """

    rows: list[Row]
    damaged: list[tuple[str, str, DamagedFileError]] = field(default_factory=list)


class _ListedRow(Row):
    """Columns of an entry as a mapping; JSON in them is parsed on access."""

    __slots__ = ("cells",)

    def __init__(self, cells: Sequence[Any]) -> None:
        self.cells = cells

    def __getitem__(self, name: str) -> Any:
        value = self.cells[_INDEX[name]]
        if value is None:
            return nan if name == "seconds" and self.cells[0] == "run" else None
        parse = _PARSERS.get(name)
        return value if parse is None else parse(value)

    def __iter__(self) -> Iterator[str]:
        return iter(FIELDS)

    def __len__(self) -> int:
        return len(FIELDS)

    def __repr__(self) -> str:
        return repr(dict(self))


def check_and_list_rows(cells: Iterable[Sequence[Any]]) -> Listing:
    """Return a listing of rows; a row with a wrong checksum or type is listed as damaged."""
    damaged, valid = [], []
    shared: dict[Any, Any] = {}
    share = shared.setdefault
    for row in cells:
        reason = "incomplete"
        columns = row[:SHOWN]
        if zlib.crc32(encode_for_checksum(columns)) != row[SHOWN]:
            reason = "wrong content"
        elif _has_valid_columns(columns):
            # Equal texts of very many rows are one object.
            valid.append((row[0], row[1], *map(share, row[2:], row[2:])))
            continue
        damage = DamagedFileError(reason, DAMAGES[reason])
        damaged.append((escape_text(str(row[0])), escape_text(str(row[1])), damage))
    valid.sort(key=lambda row: (KIND_ORDER[row[0]], row[1]))
    return Listing([*map(_ListedRow, valid)], damaged)


def _has_valid_columns(row: Sequence[Any]) -> bool:
    """Return whether the columns of a listing have the expected types."""
    kind, key, counts, limits = row[0], row[1], row[_COUNTS], row[_LIMITS]
    return (
        _are_types(kind, tuple(map(type, row)))
        and KEY.fullmatch(key) is not None
        and 0 <= row[CLOCK] < _MOST_SECONDS
        and (row[_ITERATIONS] or 0) >= 0
        and (counts is None or _FORM_OF_COUNTS.fullmatch(counts) is not None)
        and (limits is None or _FORM_OF_LIMITS.fullmatch(limits) is not None)
        and (kind != "run" or row[_STATUS] in STATUSES)
    )


_NUMERIC = {"seed": (int,), "iterations": (int,), "stored": (int,), "seconds": (float, int)}
_TYPES: Sequence[tuple[type, ...]] = [_NUMERIC.get(name, (str,)) for name in LISTED[:SHOWN]]
_ALWAYS = ("kind", "key", "stored")
_IN_RUNS = ("problem", "algorithm", "seed", "status", "stop_reason", "iterations", "counts")


@lru_cache(maxsize=1024)
def _are_types(kind: Any, types: tuple[type, ...]) -> bool:
    if types[0] is not str or kind not in KINDS:
        return False
    needed = {_INDEX[name] for name in (*_ALWAYS, *(_IN_RUNS if kind == "run" else ()))}
    return all(
        own in allowed or (own is type(None) and index not in needed)
        for index, (own, allowed) in enumerate(zip(types, _TYPES, strict=True))
    )


@lru_cache(maxsize=4096)
def _format_time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "counts": json.loads,
    "limits": json.loads,
    "stored": _format_time,
}


@contextmanager
def gc_disabled() -> Iterator[None]:
    """Disable the garbage collector in the block, where very many small objects are created."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
