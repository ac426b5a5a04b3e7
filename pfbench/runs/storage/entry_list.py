"""Listing of a store: the columns of its entries, checked without their content."""

import gc
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from math import nan
from operator import attrgetter
from typing import Any, NamedTuple

from pfbench.base.counts import COUNTED
from pfbench.runs.loop.run import STATUSES
from pfbench.runs.storage.damage import KEY, KIND_ORDER, KINDS, DamagedFileError, DamageReport
from pfbench.runs.storage.serialization import encode_for_checksum


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
_required = attrgetter("problem", "algorithm", "seed", "stop_reason", "iterations", "counts")
_NAMES = slice(Row._fields.index("problem"), Row._fields.index("seconds"))


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


def check_and_list_rows(cells: Iterable[Sequence[Any]]) -> Listing:
    """Return a listing of rows; a row with a wrong checksum, type or value is listed as damaged.

    The cells of a row are the listed columns, whether they have their types, and the size.
    """
    listing = Listing([])
    # Equal texts of very many rows are one object.
    share = dict[Any, Any]().setdefault
    for *columns, checksum, has_types, size in cells:
        reason = "incomplete"
        if zlib.crc32(encode_for_checksum(columns)) != checksum:
            reason = "wrong content"
        elif has_types:
            columns[_NAMES] = map(share, columns[_NAMES], columns[_NAMES])
            row = Row._make((*columns, size))
            if _has_valid_values(row):
                is_unknown = row.seconds is None and row.kind == "run"
                listing.rows.append(row._replace(seconds=nan) if is_unknown else row)
                continue
        listing.damaged.append(DamagedFileError(reason).report(*columns[:2]))
    listing.rows.sort(key=_sort_key)
    return listing


def _sort_key(row: Row) -> tuple[object, ...]:
    names = (row.claim or "", row.problem or "", row.algorithm or "")
    return (KIND_ORDER[row.kind], *names, row.seed or 0, row.key)


def _has_valid_values(row: Row) -> bool:
    return (
        row.kind in KINDS
        and KEY.fullmatch(row.key or "") is not None
        and 0 <= (row.stored if row.stored is not None else -1) < _MOST_SECONDS
        and (row.iterations or 0) >= 0
        and _are_json_of_numbers(row.counts, row.limits)
        and (row.kind != "run" or (row.status in STATUSES and None not in _required(row)))
    )


@lru_cache(maxsize=4096)
def _are_json_of_numbers(counts: str | None, limits: str | None) -> bool:
    """Return whether the counts and limits of a row are JSON objects of numbers."""
    return (counts is None or _FORM_OF_COUNTS.fullmatch(counts) is not None) and (
        limits is None or _FORM_OF_LIMITS.fullmatch(limits) is not None
    )


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
