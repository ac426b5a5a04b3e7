"""Ratings files as MovieLens publishes them: ``ratings.csv``, ``ratings.dat`` and ``u.data``."""

import csv
import io
import math
from functools import partial
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats
from pfbench.problems.data.block_reader import (
    ContentError,
    HashObject,
    excerpt,
    iterate_line_blocks,
    make_content_error,
)

MEMBERS = ("ratings.csv", "ratings.dat", "u.data")
"""Names of the file in the home's archives."""

LOWEST, HIGHEST = 0.5, 5.0
"""Scale of the ratings, in stars."""

_HEADER = (b"userId", b"movieId", b"rating")
_LARGEST = 2**31 - 1


class RatingTriples(NamedTuple):
    """Ratings sorted by user, then item: `users` and `items` int32, `values` float64, all (n,)."""

    users: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    values: Floats


class _RatingLayout(NamedTuple):
    """Layout of the lines: the separator, and the columns of user, item and rating."""

    separator: bytes
    columns: tuple[int, int, int]
    fields: int
    header: bool


def parse_ratings(stream: IO[bytes], digest: HashObject | None = None) -> RatingTriples:
    """Parse a stream of ratings in any of the three formats.

    The format is detected from the first line: ``::`` or a tab between the fields, or else a header
    with the columns ``userId``, ``movieId`` and ``rating``. Timestamps are dropped.

    Parameters
    ----------
    stream
        Unpacked bytes.
    digest
        Updated with the bytes that are read.

    Raises
    ------
    ContentError
        If the file is empty or lacks a column; naming the first line that is malformed, has an id
        that is no integer in 0..2**31 - 1, or a rating that is not a number from 0.5 to 5; or
        naming a user and an item that have two ratings, with the line of the second.
    """
    layout: _RatingLayout | None = None
    parts: list[RatingTriples] = []
    for first, block in iterate_line_blocks(stream, digest):
        if layout is None:
            layout = _detect_layout(block)
            if layout.header:
                first, block = 2, block[block.index(b"\n") + 1 :]
        if not block.strip():
            continue
        part = _parse(block, layout)
        if part is None:
            raise make_content_error(
                first, _strip_empty_lines(block), partial(_explain_malformed_line, layout=layout)
            )
        parts.append(part)
    if layout is None or not parts:
        raise ContentError("it holds no rating")
    joined = RatingTriples(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    return _sort_ratings(joined, first=2 if layout.header else 1)


def _detect_layout(block: bytes) -> _RatingLayout:
    """Detect the format from the first line."""
    line = block[: block.index(b"\n")].strip()
    for separator in (b"::", b"\t"):
        if separator in line:
            fields = line.count(separator) + 1
            if fields < 3:
                raise ContentError(
                    f"line 1 ({excerpt(line)}) has {fields} columns where user, item and rating "
                    "are needed"
                )
            return _RatingLayout(separator, (0, 1, 2), fields, header=False)
    names = [name.strip(b' "') for name in line.removeprefix(b"\xef\xbb\xbf").split(b",")]
    missing = [name.decode() for name in _HEADER if name not in names]
    if len(missing) == len(_HEADER):
        raise ContentError(
            f"line 1 ({excerpt(line)}) is neither a header with userId,movieId,rating nor "
            "ratings divided by '::' or tabs"
        )
    if missing:
        raise ContentError(f"its header lacks the column {' and '.join(missing)}")
    user, item, rating = (names.index(name) for name in _HEADER)
    return _RatingLayout(b",", (user, item, rating), len(names), header=True)


def _strip_empty_lines(block: bytes) -> bytes:
    """Return a block without the empty lines at its end."""
    return block.rstrip(b" \r\n") + b"\n"  # a tab divides fields, the last of which may be empty


def _parse(block: bytes, layout: _RatingLayout) -> RatingTriples | None:
    """Return the ratings of whole lines, or None if any line is invalid."""
    import pandas as pd

    text = _strip_empty_lines(block)
    if layout.separator == b"::":
        text = text.replace(b"\t", b" ").replace(b"::", b"\t")
    codes = np.frombuffer(text, dtype=np.uint8)
    separator = ord("," if layout.separator == b"," else "\t")
    ends = np.flatnonzero(codes == ord("\n"))
    fields = 1 + np.diff(np.searchsorted(np.flatnonzero(codes == separator), ends), prepend=0)
    if (fields != layout.fields).any():
        return None
    user, item, rating = layout.columns
    try:
        frame = pd.read_csv(
            io.BytesIO(text),
            sep=chr(separator),
            header=None,
            quoting=csv.QUOTE_NONE,
            skip_blank_lines=False,
            usecols=[user, item, rating],  # the others may hold anything, in any encoding
            encoding="latin-1",
            dtype={user: np.int64, item: np.int64, rating: np.float64},
        )
    except (ValueError, OverflowError):
        return None
    if len(frame) != text.count(b"\n"):
        return None
    users, items = (frame[column].to_numpy(dtype=np.int64) for column in (user, item))
    values = frame[rating].to_numpy(dtype=np.float64)
    if min(users.min(), items.min()) < 0 or max(users.max(), items.max()) > _LARGEST:
        return None
    # Written so that NaN fails it too.
    if not ((values >= LOWEST) & (values <= HIGHEST)).all():
        return None
    return RatingTriples(users.astype(np.int32), items.astype(np.int32), values)


def _explain_malformed_line(line: bytes, layout: _RatingLayout) -> str | None:
    """Return the fault of a line, or None."""
    if not line.strip():
        return "is empty"
    fields = line.split(layout.separator)
    if len(fields) != layout.fields:
        return f"has {len(fields)} columns instead of {layout.fields}"
    for column, subject in zip(layout.columns[:2], ("user", "item"), strict=True):
        text = fields[column].strip()
        if not text.isdigit() or int(text) > _LARGEST:
            return f"has {text[:20].decode('ascii', 'replace')!r} as {subject} number"
    text = fields[layout.columns[2]].strip()
    try:
        rating = float(text)
    except ValueError:
        rating = math.nan
    if not LOWEST <= rating <= HIGHEST:
        decode = text[:20].decode("ascii", "replace")
        return f"has the rating {decode!r} where a number from {LOWEST} to {HIGHEST} is expected"
    return None


def _sort_ratings(triples: RatingTriples, first: int) -> RatingTriples:
    """Sort by user, then item; raise for a repeated pair."""
    pair = (triples.users.astype(np.int64) << 32) | triples.items
    if (np.diff(pair) > 0).all():
        return triples
    order = np.argsort(pair, kind="stable")
    twice = np.flatnonzero(np.diff(pair[order]) == 0)
    if twice.size:
        index = int(order[twice + 1].min())
        raise ContentError(
            f"line {first + index} rates item {triples.items[index]} by user {triples.users[index]} a second "  # noqa: E501
            "time"
        )
    return RatingTriples(triples.users[order], triples.items[order], triples.values[order])
