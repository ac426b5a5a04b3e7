"""Listing of a store: the columns of its entries, checked without their content."""

import gc
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice, repeat
from math import nan
from typing import Any, NamedTuple

from pfbench.runs.storage.damage import KIND_ORDER, DamagedFileError, DamageReport
from pfbench.runs.storage.field_types import FIELDS
from pfbench.runs.storage.serialization import SHOWN, encode_for_checksum


class Row(NamedTuple):
    """Row of a listing of stored results: the main columns of a `Record`, and the entry's size.

    See `Record`. The fields `counts` and `limits` are JSON texts; unknown seconds of a run are NaN.
    """

    kind: str
    key: str
    problem: str | None
    algorithm: str | None
    claim: str | None
    seed: int | None
    status: str | None
    stop_reason: str | None
    iterations: int | None
    counts: str | None
    seconds: float | None
    family: str | None
    limits: str | None
    stored: int
    bytes: int


_SHARED = frozenset({"kind", "problem", "algorithm", "claim", "status", "stop_reason", "limits"})
_AT_ONCE = 4096  # rows


@dataclass(frozen=True)
class Listing:
    """Listing of a store: the columns of its valid entries, and its damaged entries.

    Attributes
    ----------
    rows
        Listed columns of each entry with valid columns, sorted by kind, claim, problem, algorithm,
        seed and key.
    damaged
        Report on each entry with invalid columns.
    """

    rows: list[Row]
    damaged: list[DamageReport] = field(default_factory=list)


def check_and_list_rows(rows: Iterable[Sequence[Any]], names: Sequence[str]) -> Listing:
    """Return a listing of rows; a row with a wrong type or value is listed as damaged.

    The cells are those of the columns `names` of a `Row`, and the checksum; the others become None.
    If `names` are those of all columns, a row with a wrong checksum is listed as damaged, too.
    """
    listing, waiting, unread = Listing([]), iter(rows), dict.fromkeys(Row._fields, repeat(None))
    # Equal texts of very many rows are one object.
    share = dict[Any, Any]().setdefault
    while some := list(islice(waiting, _AT_ONCE)):
        *cells_by_column, checksums = zip(*some, strict=True)
        columns = dict(zip(names, cells_by_column, strict=True))
        damaged = dict.fromkeys(_find_damaged(columns), "incomplete")
        if len(names) == len(Row._fields):
            sums = (zlib.crc32(encode_for_checksum(cells[:SHOWN])) for cells in some)
            pairs = enumerate(zip(sums, checksums, strict=True))
            damaged |= {index: "wrong content" for index, (now, then) in pairs if now != then}
        for name in _SHARED.intersection(names):
            columns[name] = tuple(map(share, columns[name], columns[name]))
        if "seconds" in names:
            timed = zip(columns["kind"], columns["seconds"], strict=True)
            columns["seconds"] = tuple(
                nan if seconds is None and kind == "run" else seconds for kind, seconds in timed
            )
        valid = list(map(Row._make, zip(*{**unread, **columns}.values(), strict=False)))
        for index in sorted(damaged, reverse=True):
            kind, key, *_ = valid.pop(index)
            listing.damaged.append(DamagedFileError(damaged[index]).report(kind, key))
        listing.rows.extend(valid)
    listing.rows.sort(key=_sort_key)
    return listing


def _find_damaged(columns: Mapping[str, Sequence[Any]]) -> set[int]:
    """Return the indices of rows with a wrong type or value, given the read columns."""
    damaged: set[int] = set()
    for name, column in columns.items():
        fits = FIELDS["listed"][name]
        fits_run = FIELDS["listed-run"].get(name, fits)
        if not all(map(fits_run, set(column))):
            pairs = enumerate(zip(columns["kind"], column, strict=True))
            damaged.update(
                index
                for index, (kind, cell) in pairs
                if not (fits_run if kind == "run" else fits)(cell)
            )
    return damaged


def _sort_key(row: Row) -> tuple[object, ...]:
    names = (row.claim or "", row.problem or "", row.algorithm or "")
    return (KIND_ORDER[row.kind], *names, row.seed or 0, row.key)


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
