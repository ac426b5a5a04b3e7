"""Import of the stores of pfbench before 0.3: Parquet files, segments of runs, and JSON.

`pfbench store import` reads them once, and does not change them.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.base.files import require_pyarrow
from pfbench.runs.storage.damage import DAMAGES, KEY, DamagedFileError, open_file
from pfbench.runs.storage.serialization import (
    INTEGERS,
    Columns,
    Record,
    column_dtype,
    decode_json,
    make_record,
    refuse_damaged,
)

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_ROWS = {
    "verdict": "verdicts",
    "finding": "findings",
    "certificate": "certificates",
    "fault": "faults",
}
_MOST_BYTES = 2**28
_METADATA, _DIGEST = b"pfbench", b"pfbench.digest"

OldEntry = Record | tuple[str, str, DamagedFileError]
"""Entry, or kind, name and damage of an unreadable one."""


def read_old_store(folder: Path) -> Iterator[OldEntry]:
    """Yield each entry of a store in the old format once.

    If a run is stored twice, a single file takes precedence over a segment, and a later segment
    over an earlier one.

    Raises
    ------
    InputError
        If the folder has no old store, or pyarrow is not installed.
    """
    if not (folder / "runs").is_dir():
        raise InputError(f"there is no store of an earlier pfbench in {folder}: name its folder.")
    require_pyarrow("an old store")
    skipped_keys: set[str] = set()
    for path in sorted(folder.glob("runs/??/*.parquet")):
        if KEY.fullmatch(path.stem):
            skipped_keys.add(path.stem)
            yield _read("run", path, _read_run)
    for segment in sorted(folder.glob("segments/[!.]*"), reverse=True):
        try:
            for record in _read_runs_of_segment(segment, skipped_keys):
                skipped_keys.add(record[1])
                yield record
        except DamagedFileError as damage:
            yield "segment", segment.name, damage
    for kind, name in _ROWS.items():
        for path in sorted(folder.glob(f"{name}/??/*.json")):
            yield _read(kind, path, _read_row)


def _read(kind: str, path: Path, read: Any) -> OldEntry:
    try:
        with refuse_damaged("unreadable"):
            record: Record = read(kind, path)
        return record
    except DamagedFileError as damage:
        return kind, path.stem, damage


def _read_row(kind: str, path: Path) -> Record:
    with open_file(path) as file:
        header = decode_json(file.read(_MOST_BYTES))
    if header["key"] != path.stem or header["sha256"] != _row_digest(header["row"]):
        raise DamagedFileError("wrong content", DAMAGES["wrong content"])
    meta = {"row": header["row"], "notes": header.get("notes", {})}
    return make_record(kind, path.stem, meta, stored=int(path.stat().st_mtime))


def _read_run(kind: str, path: Path) -> Record:
    import pyarrow.parquet as pq

    with open_file(path) as file:
        parquet = pq.ParquetFile(file, page_checksum_verification=True)
        _check_size(parquet, [])
        table = parquet.read(use_threads=False)
        metadata = parquet.metadata.metadata or {}
    columns = {name: table[name].to_numpy() for name in table.column_names}
    digest = metadata.get(_DIGEST, b"").decode()
    return _old_record(path.stem, metadata[_METADATA], columns, digest, int(path.stat().st_mtime))


def _read_runs_of_segment(folder: Path, skipped_keys: set[str]) -> Iterator[OldEntry]:
    """Yield the runs of a segment (a folder of Parquet files), without those of `skipped_keys`.

    These are keys of runs in single files and in later segments.
    """
    import pyarrow.parquet as pq

    with refuse_damaged("unreadable"):
        with open_file(folder / "manifest.json") as file:
            manifest = decode_json(file.read(_MOST_BYTES).partition(b"\n")[2])
        groups, traces = manifest["groups"], [*map(tuple, manifest["traces"])]
        files = {
            name: pq.ParquetFile(os.fspath(folder / name), page_checksum_verification=True)
            for name in ("runs.parquet", *(f"trace-{k}.parquet" for k in range(len(traces))))
        }
        heads = files["runs.parquet"]
    for group, (number, part) in enumerate(groups):
        try:
            with refuse_damaged("unreadable"):
                trace_file = files[f"trace-{number}.parquet"]
                _check_size(heads, [group])
                _check_size(trace_file, [part])
                names = ["key", "about", "sha256", "length", "stored"]
                head = heads.read_row_group(group, columns=names, use_threads=False)
                table = trace_file.read_row_group(part, use_threads=False)
                trace = {name: table[name].to_numpy() for name in traces[number]}
        except DamagedFileError as damage:
            yield "segment", f"{folder.name}, group {group}", damage
            continue
        start = 0
        for row in head.to_pylist():
            end = start + row["length"]
            columns = {name: column[start:end] for name, column in trace.items()}
            start = end
            if row["key"] in skipped_keys:
                continue
            try:
                stored = row["stored"] // 10**9
                with refuse_damaged("unreadable"):
                    yield _old_record(row["key"], row["about"], columns, row["sha256"], stored)
            except DamagedFileError as damage:
                yield "run", row["key"], damage
    for file in files.values():
        file.close()


def _check_size(file: "pq.ParquetFile", groups: list[int]) -> None:
    parts = groups or range(file.metadata.num_row_groups)
    if sum(file.metadata.row_group(k).total_byte_size for k in parts) > _MOST_BYTES:
        raise DamagedFileError("too large", "more than any file of pfbench")


def _old_record(key: str, text: bytes, columns: Columns, digest: str, stored: int) -> Record:
    """Return the row of the store's table for a run from a store in the old format.

    The `digest` is empty for runs of the first versions, which stored no digest.
    """
    if digest and digest != _run_digest(text, columns):
        raise DamagedFileError("wrong content", DAMAGES["wrong content"])
    header: Mapping[str, Any] = decode_json(text)
    if header.get("key") != key:
        raise DamagedFileError("wrong key", f"it says {header.get('key')!r}")
    meta = {name: header.get(name, {}) for name in ("run", "environment", "notes")}
    if any(column.dtype != column_dtype(name) for name, column in columns.items()):
        raise DamagedFileError("incomplete", "a column of its trace has a wrong type")
    return make_record("run", key, meta, columns, stored)


def _row_digest(row: Mapping[str, Any]) -> str:
    text = json.dumps(row, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _run_digest(text: bytes, columns: Columns) -> str:
    digest = hashlib.sha256(text)
    for name, column in columns.items():
        kind = "int64" if name in INTEGERS else "double"
        digest.update(f"{name} {kind} {len(column)}\n".encode())
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()
