"""The text format of LIBSVM and svmlight: ``label index:value index:value ...``, indices from 1."""

import re
from collections.abc import Sequence
from functools import partial
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, Integers
from pfbench.problems.data.block_reader import (
    ContentError,
    HashObject,
    is_finite_number,
    iterate_line_blocks,
    make_content_error,
)

_COMMENT = re.compile(rb"#[^\n]*")
_SPACE, _COLON, _NEWLINE = 32, ord(":"), ord("\n")


class SparseRows(NamedTuple):
    """Rows in compressed sparse row form, and a label for each.

    `indptr` int64 (n + 1,), `indices` int32 (nnz,) from 0 and sorted in each row, `data` float64
    (nnz,), `labels` float64 (n,) as in the file.
    """

    indptr: Integers
    indices: npt.NDArray[np.int32]
    data: Floats
    labels: Floats


def parse_svmlight(
    stream: IO[bytes], features: int, digest: HashObject | None = None
) -> SparseRows:
    """Parse a stream of LIBSVM text.

    Empty lines and comments (``#`` to the end of the line) are skipped; every value is correctly
    rounded, so the arrays do not depend on the machine.

    Parameters
    ----------
    stream
        Unpacked bytes.
    features
        Number of features d; an index above it is an error.
    digest
        Updated with the bytes that are read.

    Raises
    ------
    ContentError
        Naming the first line that is malformed, has an index that is not an integer in 1..d or
        is repeated, or a number that is not finite.
    """
    return concatenate(
        [
            _parse_block(first, block, features)
            for first, block in iterate_line_blocks(stream, digest)
        ]
    )


def concatenate(parts: Sequence[SparseRows]) -> SparseRows:
    """Return the rows of all parts, one after the other; raise if there are none."""
    if not sum(part.labels.size for part in parts):
        raise ContentError("it is empty")
    counts = np.concatenate([np.diff(part.indptr) for part in parts])
    indptr = np.zeros(counts.size + 1, dtype=np.int64)
    np.cumsum(counts, out=indptr[1:])
    _, *rest = zip(*parts, strict=True)
    return SparseRows(indptr, *map(np.concatenate, rest))


def _parse_block(first: int, block: bytes, features: int) -> SparseRows:
    """Parse whole lines at once; lines that fail are checked one by one."""
    text = _COMMENT.sub(b"", block) if b"#" in block else block
    rows = _parse(text, features)
    if rows is None:
        raise make_content_error(first, block, partial(_explain_malformed_line, features=features))
    return rows


def _parse(text: bytes, features: int) -> SparseRows | None:
    """Return the rows of a text, or None if any of its lines is malformed."""
    if text.isspace():
        nothing = np.zeros(0)
        return SparseRows(np.zeros(1, np.int64), nothing.astype(np.int32), nothing, nothing)
    codes = np.frombuffer(text, dtype=np.uint8)
    inked = codes > _SPACE
    starts = inked.copy()
    starts[1:] &= ~inked[:-1]
    token = np.cumsum(starts)
    ends = np.flatnonzero(codes == _NEWLINE)
    tokens = np.diff(token[ends], prepend=0)
    colons = np.flatnonzero(codes == _COLON)
    pairs = np.diff(np.searchsorted(colons, ends), prepend=0)
    retained = tokens > 0
    heads = token[ends] - tokens + 1
    # Each token but a line's first must have exactly one colon, with something on both sides.
    if not np.array_equal(pairs[retained] + 1, tokens[retained]) or pairs[~retained].any():
        return None
    owner = token[colons]
    if (owner == np.repeat(heads, pairs)).any() or (np.diff(owner) < 1).any():
        return None
    if colons.size and (colons[0] == 0 or not (inked[colons - 1] & inked[colons + 1]).all()):
        return None
    # An index is of digits alone, and no 1.0 or 1e1.
    strange = inked & ((codes < ord("0")) | (codes > ord("9")))
    before: Integers = np.cumsum(strange) - strange  # strange characters before each
    if (before[colons] > before[np.flatnonzero(starts)[owner - 1]]).any():
        return None
    try:
        numbers = np.fromstring(text.replace(b":", b" "), dtype=np.float64, sep=" ")
    except (ValueError, DeprecationWarning):  # the latter before NumPy 2.3
        return None
    pairs = pairs[retained].astype(np.int64)
    if numbers.size != pairs.size + 2 * colons.size or not np.isfinite(numbers).all():
        return None
    indptr = np.zeros(pairs.size + 1, dtype=np.int64)
    np.cumsum(pairs, out=indptr[1:])
    head = 2 * indptr[:-1] + np.arange(pairs.size)
    body = np.ones(numbers.size, dtype=bool)
    body[head] = False
    labels, rest = numbers[head], numbers[body]
    columns, data = rest[::2], rest[1::2].copy()
    if columns.size and not (
        columns.min() >= 1 and columns.max() <= features and (columns == np.floor(columns)).all()
    ):
        return None
    indices = columns.astype(np.int32) - np.int32(1)
    location = np.repeat(np.arange(pairs.size, dtype=np.int64), pairs) * features + indices
    if (np.diff(location) < 1).any():
        order = np.argsort(location, kind="stable")
        if (np.diff(location[order]) < 1).any():
            return None
        indices, data = indices[order], data[order]
    return SparseRows(indptr, indices, data, labels)


def _explain_malformed_line(line: bytes, features: int) -> str | None:
    """Return the fault of a line, or None."""
    tokens = _COMMENT.sub(b"", line).split()
    if not tokens:
        return None
    if not is_finite_number(tokens[0]):
        return "does not begin with a finite number as label"
    indices: set[int] = set()
    for token in tokens[1:]:
        index, colon, value = token.partition(b":")
        decode = token[:20].decode("ascii", "replace")
        if not colon or not index.isdigit() or not is_finite_number(value):
            return f"has {decode!r} where index:value is expected"
        if not 1 <= int(index) <= features:
            return f"has the index {int(index)} outside 1..{features}"
        if int(index) in indices:
            return f"has the index {int(index)} twice"
        indices.add(int(index))
    return None
