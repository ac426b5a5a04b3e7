"""Plain tables of numbers: one row a line, no header, the class in the last column."""

import csv
import io
from functools import partial
from typing import IO

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.problems.data.block_reader import (
    HashObject,
    is_finite_number,
    iterate_line_blocks,
    make_content_error,
)
from pfbench.problems.data.svmlight import SparseRows, concatenate


def parse_table(
    stream: IO[bytes], features: int, separator: bytes, digest: HashObject | None = None
) -> SparseRows:
    """Parse a stream of rows of d features and a class number.

    Parameters
    ----------
    stream
        Unpacked bytes.
    features
        Number of features d; each line has d + 1 fields.
    separator
        ``b","`` or ``b" "``.
    digest
        Updated with the bytes that are read.

    Raises
    ------
    ContentError
        Naming the first line that has another number of fields or a field that is not a finite
        number.
    """
    parts = []
    for first, block in iterate_line_blocks(stream, digest):
        table = _parse(block, features + 1, separator)
        if table is None:
            exact = partial(_explain_malformed_line, columns=features + 1, separator=separator)
            raise make_content_error(first, block, exact)
        retained = table[:, :-1] != 0.0
        indptr = np.append(0, np.cumsum(retained.sum(axis=1), dtype=np.int64))
        indices = np.nonzero(retained)[1].astype(np.int32)
        parts.append(SparseRows(indptr, indices, table[:, :-1][retained], table[:, -1].copy()))
    return concatenate(parts)


def _parse(block: bytes, columns: int, separator: bytes) -> Floats | None:
    """Return the table of a block of lines, or None if any of them is malformed."""
    lines = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))
    between = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == separator[0])
    if (np.diff(np.searchsorted(between, lines), prepend=0) != columns - 1).any():
        return None
    try:
        if separator == b",":
            import pandas as pd

            # Fast on integers, but pandas rounds decimals correctly only from version 3.1 on.
            frame = pd.read_csv(
                io.BytesIO(block), header=None, dtype=np.float64, quoting=csv.QUOTE_NONE
            )
            table = frame.to_numpy()
        else:
            table = np.fromstring(block, dtype=np.float64, sep=" ").reshape(-1, columns)
    except ValueError:
        return None
    if table.shape != (lines.size, columns) or not np.isfinite(table).all():
        return None
    return table


def _explain_malformed_line(line: bytes, columns: int, separator: bytes) -> str | None:
    """Return the fault of a line, or None."""
    fields = line.split(separator)
    if len(fields) != columns:
        return f"has {len(fields)} fields instead of {columns}"
    for field in fields:
        if not is_finite_number(field):
            return f"has {field[:20].decode('ascii', 'replace')!r} where a number is expected"
    return None
