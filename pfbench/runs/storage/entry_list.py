"""Listing of a store: the columns of its entries, checked without their content."""

import gc
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from math import nan
from typing import Any, NamedTuple

from pfbench.base.counts import COUNTED
from pfbench.runs.loop.run import STATUSES
from pfbench.runs.storage.damage import KEY, KIND_ORDER, KINDS, DamagedFileError, DamageReport
from pfbench.runs.storage.field_types import count, enumeration, integer, number, text
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


_NUMBER = r"-?\d{1,18}(?:\.\d{1,18})?(?:e[+-]?\d{1,3})?"
_FORM_OF_COUNTS = re.compile(rf'\{{(?:"(?:{"|".join(COUNTED)})": \d{{1,18}}(?:, |(?=\}})))*\}}')
_FORM_OF_LIMITS = re.compile(rf'\{{(?:"\w{{1,40}}": {_NUMBER}(?:, |(?=\}})))*\}}')
_MOST_SECONDS = 2**36
_SHARED = frozenset(Row._fields) - {"key", "seconds", "stored", "bytes"}
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


def check_and_list_rows(rows: Iterable[Sequence[Any]], names: Collection[str]) -> Listing:
    """Return a listing of rows; a row with a wrong type or value is listed as damaged.

    The cells are those of a `Row` and the checksum, but None in columns that are not among `names`.
    If `names` are those of all columns, a row with a wrong checksum is listed as damaged, too.
    """
    listing, waiting = Listing([]), iter(rows)
    # Equal texts of very many rows are one object.
    share = dict[Any, Any]().setdefault
    while some := list(islice(waiting, _AT_ONCE)):
        *cells_by_column, checksums = zip(*some, strict=True)
        columns = dict(zip(Row._fields, cells_by_column, strict=True))
        damaged = dict.fromkeys(
            _find_damaged({name: columns[name] for name in names}), "incomplete"
        )
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
        valid = list(map(Row._make, zip(*columns.values(), strict=True)))
        for index in sorted(damaged, reverse=True):
            kind, key, *_ = valid.pop(index)
            listing.damaged.append(DamagedFileError(damaged[index]).report(kind, key))
        listing.rows.extend(valid)
    listing.rows.sort(key=_sort_key)
    return listing


def _find_damaged(columns: Mapping[str, Sequence[Any]]) -> set[int]:
    """Return the indices of rows with a wrong type or value, given the read columns."""
    damaged: set[int] = set()
    for name, is_of_runs, fits in _RULES:
        column = columns.get(name, ())
        if not all(map(fits, set(column))):
            pairs = enumerate(zip(columns["kind"], column, strict=True))
            damaged.update(
                index
                for index, (kind, cell) in pairs
                if not (fits(cell) or (is_of_runs and kind != "run"))
            )
    return damaged


def _sort_key(row: Row) -> tuple[object, ...]:
    names = (row.claim or "", row.problem or "", row.algorithm or "")
    return (KIND_ORDER[row.kind], *names, row.seed or 0, row.key)


_Fits = Callable[[Any], bool]


def _or_none(fits: _Fits) -> _Fits:
    return lambda cell: cell is None or fits(cell)


def _has_form(form: re.Pattern[str]) -> _Fits:
    return lambda cell: text(cell) and form.fullmatch(cell) is not None


_RULES: Sequence[tuple[str, bool, _Fits]] = (
    ("kind", False, enumeration(KINDS)),
    ("key", False, _has_form(KEY)),
    *((name, False, _or_none(text)) for name in ("problem", "algorithm", "claim", "status")),
    *((name, False, _or_none(text)) for name in ("stop_reason", "family")),
    *((name, True, text) for name in ("problem", "algorithm", "stop_reason", "counts")),
    ("status", True, enumeration(tuple(STATUSES))),
    ("seed", False, _or_none(integer)),
    ("seed", True, integer),
    ("iterations", False, _or_none(count)),
    ("iterations", True, count),
    ("seconds", False, _or_none(number)),
    ("counts", False, _or_none(_has_form(_FORM_OF_COUNTS))),
    ("limits", False, _or_none(_has_form(_FORM_OF_LIMITS))),
    ("stored", False, lambda cell: count(cell) and cell < _MOST_SECONDS),
    ("bytes", False, count),
)
"""Columns with their rules: the name, whether the rule is only about runs, and the predicate."""


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
