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
from pfbench.runs.storage.index import SCHEMA
from pfbench.runs.storage.safe_open import check_folders
from pfbench.runs.storage.segment import (
    GROUP,
    LISTED,
    MANIFEST,
    MOST_RUNS,
    MOST_TRACES,
    RUNS,
    TRACE,
    PackedRun,
    metadata_digest,
    schema_of_runs,
    schema_of_trace,
    segment_files,
)
from pfbench.runs.storage.serialization import run_digest
from pfbench.runs.storage.store_files import translate_os_errors

if TYPE_CHECKING:
    import pyarrow as pa

SEGMENTS = "segments"
"""The folder of a store for them."""

_NAME = re.compile(r"[0-9]{6}-[0-9a-f]{8}")
_GROUP_NUMBERS, _GROUP_TEXT = 2**21, 2**26


def segment_names(store: Path) -> list[str]:
    """Return the names of a store's segments; the later of two is the newer one."""
    try:
        listdir = sorted(name for name in os.listdir(store / SEGMENTS) if _NAME.fullmatch(name))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return listdir


def write_segments(store: Path, runs: Iterator[PackedRun]) -> Iterator[list[str]]:
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
    with translate_os_errors(store, "a segment"):
        yield from _write_in_segments(store, runs)


def _write_in_segments(store: Path, runs: Iterator[PackedRun]) -> Iterator[list[str]]:
    folder = store / SEGMENTS
    for first in runs:
        keys: list[str] = []

        def record_keys(rest: Iterator[PackedRun], keys: list[str] = keys) -> Iterator[PackedRun]:
            for run in rest:
                keys.append(run.row["key"])
                yield run

        check_folders(folder / "any", store)
        folder.mkdir(parents=True, exist_ok=True)
        last = segment_names(store)[-1:] or ["0"]
        name = f"{int(last[0].partition('-')[0]) + 1:06d}-{secrets.token_hex(4)}"
        partial = folder / f".{name}{PARTIAL}"
        try:
            partial.mkdir()
            write_segment(record_keys(chain([first], runs)), partial)
            partial.rename(folder / name)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        sync_folder(folder)
        yield keys


class _RowGroup:
    """The runs that wait for their group of rows; all have the same columns."""

    def __init__(self) -> None:
        self.runs: list[PackedRun] = []
        self.numbers = self.text = 0

    def is_full(self, next_one: PackedRun) -> bool:
        """Return whether a run must not be added any more."""
        if not self.runs:
            return False
        last, row = self.runs[-1].row, next_one.row
        same = (last["algorithm"], last["problem"]) == (row["algorithm"], row["problem"])
        large = self.numbers + _numbers(next_one) > _GROUP_NUMBERS or self.text > _GROUP_TEXT
        return large or len(self.runs) >= (GROUP if same else GROUP // 4)

    def add(self, run: PackedRun) -> None:
        self.runs.append(run)
        self.numbers += _numbers(run)
        self.text += len(run.text)


def write_segment(runs: Iterator[PackedRun], folder: Path) -> None:
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

    traces: dict[tuple[str, ...], tuple[int, _RowGroup, Any]] = {}
    groups: list[list[int]] = []
    selected = 0
    how = {"write_page_checksum": True, "compression": "zstd"}
    with ExitStack() as stack:

        def writer(name: str, schema: "pa.Schema", statement: Any) -> Any:
            file = stack.enter_context((folder / name).open("xb"))
            writer = pq.ParquetWriter(file, schema, write_statistics=statement, **how)
            return stack.enter_context(writer)

        head = writer(RUNS, schema_of_runs(), ["problem", "algorithm", "seed", "status"])

        def flush(number: int, group: _RowGroup, trace: Any) -> None:
            if not group.runs:
                return
            head.write_table(_head_table(group.runs))
            trace.write_table(_trace(group.runs))
            groups.append([number, sum(group[0] == number for group in groups)])
            group.runs, group.numbers, group.text = [], 0, 0

        for run in runs:
            names = tuple(run.columns)
            if names not in traces:
                schema = schema_of_trace(names)
                trace = writer(TRACE.format(len(traces)), schema, False)
                traces[names] = len(traces), _RowGroup(), trace
            number, group, trace = traces[names]
            if group.is_full(run):
                flush(number, group, trace)
            group.add(run)
            selected += 1
            if selected == MOST_RUNS or len(traces) == MOST_TRACES:
                break
        for waiting in traces.values():
            flush(*waiting)
    files = {name: _summary(folder / name) for name in segment_files(len(traces))}
    subject = {"schema": SCHEMA, "runs": selected, "groups": groups, "traces": [*map(list, traces)]}
    _write_manifest(folder / MANIFEST, subject | {"files": files})
    sync_folder(folder)


def _length(run: PackedRun) -> int:
    return len(next(iter(run.columns.values())))


def _numbers(run: PackedRun) -> int:
    return _length(run) * len(run.columns)


def _head_table(runs: Sequence[PackedRun]) -> "pa.Table":
    import pyarrow as pa

    def row(run: PackedRun) -> dict[str, Any]:
        limits = run.row["limits"]
        return {
            **{name: run.row.get(name) for name in LISTED},
            **{name: (run.row["counts"] or {}).get(name) for name in COUNTED},
            "limits": None if limits is None else json.dumps(limits),
            "bytes": run.size,
            "stored": run.time,
            "length": _length(run),
            "about": run.text,
            "sha256": run_digest(run.text, run.columns),
        }

    return pa.Table.from_pylist([*map(row, runs)], schema=schema_of_runs())


def _trace(runs: Sequence[PackedRun]) -> "pa.Table":
    import pyarrow as pa

    names = [*runs[0].columns]
    parts = [np.concatenate([run.columns[name] for run in runs]) for name in names]
    return pa.table(parts, schema=schema_of_trace(names))


def _summary(path: Path) -> dict[str, Any]:
    """Return the size of a file, its hash, and that of its metadata; flush it to the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": file.tell(), "sha256": digest, "metadata": metadata_digest(file)}


def _write_manifest(path: Path, fields: Mapping[str, Any]) -> None:
    encode = json.dumps(fields, sort_keys=True).encode()
    with path.open("xb") as file:
        file.write(hashlib.sha256(encode).hexdigest().encode() + b"\n" + encode + b"\n")
        file.flush()
        os.fsync(file.fileno())
