"""Writing segments: whole or not there, and nothing that is loose goes before."""

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pfbench.base.counts import COUNTED
from pfbench.base.files import PARTIAL, sync_folder
from pfbench.runs.storage.content import digest_of
from pfbench.runs.storage.files import storing_in
from pfbench.runs.storage.index import SCHEMA
from pfbench.runs.storage.opening import check_folders
from pfbench.runs.storage.segment import (
    GROUP,
    LISTED,
    MANIFEST,
    MOST_RUNS,
    MOST_TRACES,
    RUNS,
    TRACE,
    Packed,
    files_of,
    metadata_digest,
    schema_of_runs,
    schema_of_trace,
)

if TYPE_CHECKING:
    import pyarrow as pa

SEGMENTS = "segments"
"""The folder of a store for them."""

_NAME = re.compile(r"[0-9]{6}-[0-9a-f]{8}")
_GROUP_NUMBERS, _GROUP_TEXT = 2**21, 2**26


def names_in(store: Path) -> list[str]:
    """Return the names of a store's segments; the later of two is the newer one."""
    try:
        found = sorted(name for name in os.listdir(store / SEGMENTS) if _NAME.fullmatch(name))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return found


def write_segments(store: Path, runs: Iterator[Packed]) -> Iterator[list[str]]:
    """Write runs into as many segments as they need.

    An interruption leaves the whole segment or none, and at most a hidden folder whose name ends
    in `PARTIAL`.

    Parameters
    ----------
    store
        Its folder.
    runs
        By algorithm, problem and seed, so that what is read together lies together.

    Yields
    ------
    list of str
        The keys of a segment that is on the disk.

    Raises
    ------
    StorageError
        If one cannot be written; each run is where it was, or in a segment.
    """
    with storing_in(store, "a segment"):
        yield from _in_segments(store, runs)


def _in_segments(store: Path, runs: Iterator[Packed]) -> Iterator[list[str]]:
    folder = store / SEGMENTS
    for first in runs:
        keys: list[str] = []

        def noted(rest: Iterator[Packed], keys: list[str] = keys) -> Iterator[Packed]:
            for one in rest:
                keys.append(one.row["key"])
                yield one

        check_folders(folder / "any", store)
        folder.mkdir(parents=True, exist_ok=True)
        last = names_in(store)[-1:] or ["0"]
        name = f"{int(last[0].partition('-')[0]) + 1:06d}-{secrets.token_hex(4)}"
        partial = folder / f".{name}{PARTIAL}"
        try:
            partial.mkdir()
            write_segment(noted(chain([first], runs)), partial)
            partial.rename(folder / name)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        sync_folder(folder)
        yield keys


class _Group:
    """The runs that wait for their group of rows; all have the same columns."""

    def __init__(self) -> None:
        self.runs: list[Packed] = []
        self.numbers = self.text = 0

    def is_full(self, next_one: Packed) -> bool:
        """Return whether a run must not be added any more."""
        if not self.runs:
            return False
        last, row = self.runs[-1].row, next_one.row
        same = (last["algorithm"], last["problem"]) == (row["algorithm"], row["problem"])
        large = self.numbers + _numbers(next_one) > _GROUP_NUMBERS or self.text > _GROUP_TEXT
        return large or len(self.runs) >= (GROUP if same else GROUP // 4)

    def add(self, one: Packed) -> None:
        self.runs.append(one)
        self.numbers += _numbers(one)
        self.text += len(one.text)


def write_segment(runs: Iterator[Packed], folder: Path) -> None:
    """Write the files of a segment into an empty folder, and flush them to the disk.

    Parameters
    ----------
    runs
        By algorithm, problem and seed; as many are taken as a segment holds.

    Raises
    ------
    OSError
        If they cannot be written.
    """
    import pyarrow.parquet as pq

    traces: dict[tuple[str, ...], tuple[int, _Group, Any]] = {}
    groups: list[list[int]] = []
    taken = 0
    how = {"write_page_checksum": True, "compression": "zstd"}
    with ExitStack() as stack:

        def writer(name: str, schema: "pa.Schema", stated: Any) -> Any:
            file = stack.enter_context((folder / name).open("xb"))
            made = pq.ParquetWriter(file, schema, write_statistics=stated, **how)
            return stack.enter_context(made)

        head = writer(RUNS, schema_of_runs(), ["problem", "algorithm", "seed", "status"])

        def flush(number: int, group: _Group, trace: Any) -> None:
            if not group.runs:
                return
            head.write_table(_heads(group.runs))
            trace.write_table(_trace(group.runs))
            groups.append([number, sum(one[0] == number for one in groups)])
            group.runs, group.numbers, group.text = [], 0, 0

        for one in runs:
            names = tuple(one.columns)
            if names not in traces:
                schema = schema_of_trace(names)
                trace = writer(TRACE.format(len(traces)), schema, False)
                traces[names] = len(traces), _Group(), trace
            number, group, trace = traces[names]
            if group.is_full(one):
                flush(number, group, trace)
            group.add(one)
            taken += 1
            if taken == MOST_RUNS or len(traces) == MOST_TRACES:
                break
        for waiting in traces.values():
            flush(*waiting)
    files = {name: _summary(folder / name) for name in files_of(len(traces))}
    about = {"schema": SCHEMA, "runs": taken, "groups": groups, "traces": [*map(list, traces)]}
    _write_manifest(folder / MANIFEST, about | {"files": files})
    sync_folder(folder)


def _length(one: Packed) -> int:
    return len(next(iter(one.columns.values())))


def _numbers(one: Packed) -> int:
    return _length(one) * len(one.columns)


def _heads(runs: Sequence[Packed]) -> "pa.Table":
    import pyarrow as pa

    def row(one: Packed) -> dict[str, Any]:
        limits = one.row["limits"]
        return {
            **{name: one.row.get(name) for name in LISTED},
            **{name: (one.row["counts"] or {}).get(name) for name in COUNTED},
            "limits": None if limits is None else json.dumps(limits),
            "bytes": one.size,
            "stored": one.time,
            "length": _length(one),
            "about": one.text,
            "sha256": digest_of(one.text, one.columns),
        }

    return pa.Table.from_pylist([*map(row, runs)], schema=schema_of_runs())


def _trace(runs: Sequence[Packed]) -> "pa.Table":
    import pyarrow as pa

    names = [*runs[0].columns]
    parts = [np.concatenate([one.columns[name] for one in runs]) for name in names]
    return pa.table(parts, schema=schema_of_trace(names))


def _summary(path: Path) -> dict[str, Any]:
    """Return the size of a file, its hash, and that of its metadata; flush it to the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        whole = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": file.tell(), "sha256": whole, "metadata": metadata_digest(file)}


def _write_manifest(path: Path, about: Mapping[str, Any]) -> None:
    said = json.dumps(about, sort_keys=True).encode()
    with path.open("xb") as file:
        file.write(hashlib.sha256(said).hexdigest().encode() + b"\n" + said + b"\n")
        file.flush()
        os.fsync(file.fileno())
