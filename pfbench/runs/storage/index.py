"""The index of a store: a line of JSON for each entry, so that a listing reads one file.

It is a copy, never trusted over the files: a line (size, time of change, then the fields of `ROW`)
counts only while its file has the size and time that the line was written for. Lines are appended,
each in one piece, by whoever writes an entry; of an index that is torn, stale or deleted, what is
missing is read from the files, and the index is written anew.
"""

import gc
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from pfbench.base.files import atomic_write
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.field_types import has_listed_type
from pfbench.runs.storage.safe_open import append_line, read_file

NAME = "index.jsonl"

MOST_BYTES = 2**28
"""Bytes of the largest index that is read; of a larger one, the files are."""

_MOST_BRACKETS = 64

SCHEMA = 1
"""Version of a row; a line of the index that has another is not read."""

Row = Mapping[str, Any]
"""One entry in a listing; `ROW` has the fields."""

ROW = (
    "schema",
    "kind",
    "key",
    "problem",
    "algorithm",
    "claim",
    "seed",
    "status",
    "stop_reason",
    "iterations",
    "counts",
    "seconds",
    "family",
    "limits",
)
"""The fields of a row that the index keeps; null where a kind has no such thing. A listing adds
``bytes`` and ``stored``, the file's size and time. The last two are notes on a run: the key that
its limits do not change, and these limits."""


@dataclass(frozen=True)
class Listing:
    """The entries of a store.

    Attributes
    ----------
    rows
        One for each entry that is whole, by kind and key.
    damaged
        Kind, key, and what is wrong.
    """

    rows: list[Row]
    damaged: list[tuple[str, str, DamagedFileError]] = field(default_factory=list)


def make_row(kind: str, key: str, header: Mapping[str, Any]) -> Row:
    """Return the row of an entry from the metadata of its file."""
    content = header["run"] if kind == "run" else header["row"]
    results = {name: content.get(name) for name in ROW}
    if kind == "run":
        notes = header.get("notes", {})
        results |= {name: notes.get(name) for name in ("family", "limits")}
    elif kind == "verdict":
        results["status"] = content.get("verdict")
    else:
        statement = "shown" if kind == "finding" else "certified"
        results["status"] = statement if content.get(statement) else f"not {statement}"
    return results | {"schema": SCHEMA, "kind": kind, "key": key}


@contextmanager
def gc_disabled() -> Iterator[None]:
    """Let nobody look for garbage inside.

    Of half a million small objects none is garbage: looking for it takes as long as the rest.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class StoreIndex:
    """The index file of a store."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME

    def add(self, row: Row, stamp: os.stat_result) -> None:
        """Append the row of an entry whose file was just written.

        That it cannot be written (a full disk) is no error: the file itself will be read.
        """
        # A line that a full disk cut short must not swallow this one.
        with suppress(OSError, DamagedFileError):
            append_line(self._path, f"\n{_line(row, stamp)}\n")

    @gc_disabled()
    def listing(
        self,
        files: Iterable[tuple[str, str, str, os.stat_result]],
        read: Callable[[str, str, str], Row],
        *,
        write: bool,
    ) -> Listing:
        """Return a row for each file, from the index if it knows the file as it is.

        Parameters
        ----------
        files
            Kind, key, path, size and time of each file.
        read
            Returns the row of a file; raises `DamagedFileError`, or FileNotFoundError if it is
            gone.
        write
            Whether an index that lacks something is written anew.
        """
        existing = self._read_rows()
        rows: list[Row] = []
        lines, damaged, stale = [], [], False
        for kind, key, path, stamp in files:
            line = existing.get((kind, key))
            row: dict[str, Any]
            if line is not None and line[:2] == [stamp.st_size, stamp.st_mtime_ns]:
                row = dict(zip(ROW, line[2:], strict=True))
            else:
                stale = True
                try:
                    row = dict(read(kind, key, path))
                except FileNotFoundError:
                    continue
                except DamagedFileError as damage:
                    damaged.append((kind, key, damage))
                    continue
            lines.append((row, stamp))
            row |= {"bytes": stamp.st_size, "stored": format_time(int(stamp.st_mtime))}
            rows.append(row)
        if write and (stale or len(existing) != len(rows)):
            self._write(lines)
        return Listing(rows, damaged)

    def _read_rows(self) -> dict[tuple[str, str], list[Any]]:
        lines: dict[tuple[str, str], list[Any]] = {}
        try:
            text = read_file(self._path, MOST_BYTES).decode("utf-8", errors="replace")
        except (OSError, DamagedFileError):
            return lines
        for line in _parse_lines([line for line in text.split("\n") if line and _is_flat(line)]):
            if _is_line(line):
                _, _, _, kind, key, *_ = line
                lines[kind, key] = line
        return lines

    def _write(self, lines: Iterable[tuple[Row, os.stat_result]]) -> None:
        """Write the index anew; a store that cannot be written keeps the old one."""
        with suppress(OSError), atomic_write(self._path) as file:
            file.writelines(f"{_line(row, stamp)}\n".encode() for row, stamp in lines)


def _parse_lines(lines: list[str]) -> Iterator[Any]:
    """Yield the lines that are JSON: all at once, for speed, or one by one if any is torn."""
    try:
        yield from json.loads(f"[{','.join(lines)}]")
    except (ValueError, RecursionError):
        for line in lines:
            with suppress(ValueError, RecursionError):
                yield json.loads(line)


def _is_flat(text: str) -> bool:
    """Return whether a line cannot be nested deep; one that might be is read from its file."""
    return text.count("[") + text.count("{") <= _MOST_BRACKETS


def _is_line(line: Any) -> bool:
    """Return whether a line is a row of this version, with the types of its fields."""
    if not isinstance(line, list) or len(line) != 2 + len(ROW):
        return False
    row = dict(zip(ROW, line[2:], strict=True))
    named = isinstance(row["kind"], str) and isinstance(row["key"], str)
    return row["schema"] == SCHEMA and named and has_listed_type(row["kind"], row)


def _line(row: Row, stamp: os.stat_result) -> str:
    return json.dumps([stamp.st_size, stamp.st_mtime_ns, *(row[name] for name in ROW)], default=str)


@lru_cache(maxsize=4096)
def format_time(seconds: int) -> str:
    """Return a time in seconds as a listing has it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
