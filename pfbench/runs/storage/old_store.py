"""Import of stores of earlier pfbench versions: Parquet files, segments of runs, and JSON.

`pfbench store import` reads them once, and does not change them.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.base.files import require_pyarrow
from pfbench.runs.storage.damage import DamagedFileError, DamageReport, open_regular_file
from pfbench.runs.storage.serialization import (
    Record,
    column_dtype,
    decode_json,
    make_record,
    refuse_damaged,
)

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = {
    "verdict": "verdicts",
    "finding": "findings",
    "certificate": "certificates",
    "fault": "faults",
}
_MOST_BYTES = 2**28
_COLUMNS = ["key", "about", "sha256", "length", "stored"]

OldEntry = Record | DamageReport
"""Entry, or the report on an unreadable one."""


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
        raise InputError(f"{folder} has no store of an earlier pfbench version: name one that has.")
    require_pyarrow("an old store")
    keys = set()
    for path in sorted(folder.glob("runs/??/*.parquet")):
        keys.add(path.stem)
        yield from _report_damage("run", path.stem, _read_run(path))
    for segment in sorted(folder.glob("segments/[!.]*"), reverse=True):
        for entry in _report_damage("segment", segment.name, _read_runs_of_segment(segment)):
            if entry.key not in keys:
                keys.add(entry.key)
                yield entry
    for kind, name in _ROWS.items():
        for path in sorted(folder.glob(f"{name}/??/*.json")):
            yield from _report_damage(kind, path.stem, _read_row(kind, path))


def _report_damage(kind: str, name: str, entries: Iterator[Record]) -> Iterator[OldEntry]:
    """Yield entries up to the first damaged one, then a report on its file."""
    try:
        with refuse_damaged("unreadable"):
            yield from entries
    except DamagedFileError as damage:
        yield damage.report(kind, name)


def _read_row(kind: str, path: Path) -> Iterator[Record]:
    with open_regular_file(path) as file:
        header = decode_json(file.read(_MOST_BYTES))
    text = json.dumps(header["row"], sort_keys=True, allow_nan=False)
    if header["key"] != path.stem or header["sha256"] != hashlib.sha256(text.encode()).hexdigest():
        raise DamagedFileError("wrong content")
    meta = {"row": header["row"], "notes": header.get("notes", {})}
    yield make_record(kind, path.stem, meta, stored=int(path.stat().st_mtime))


def _read_run(path: Path) -> Iterator[Record]:
    import pyarrow.parquet as pq

    with open_regular_file(path) as file:
        parquet = pq.ParquetFile(file, page_checksum_verification=True)
        metadata = parquet.metadata
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        _check_size(sum(group.total_byte_size for group in groups))
        table, metadata = parquet.read(), metadata.metadata
    digest = metadata.get(b"pfbench.digest", b"").decode()
    stored = int(path.stat().st_mtime)
    yield _make_run_record(path.stem, metadata[b"pfbench"], table, digest, stored)


def _read_runs_of_segment(folder: Path) -> Iterator[Record]:
    """Yield the runs of a segment (a folder of Parquet files).

    A group of runs is a row group of ``runs.parquet``; their traces, one after the other, are a
    row group of another file.
    """
    import pyarrow.parquet as pq

    with open_regular_file(folder / "manifest.json") as file:
        manifest = decode_json(file.read(_MOST_BYTES).partition(b"\n")[2])
    names = ["runs", *(f"trace-{k}" for k in range(len(manifest["traces"])))]
    heads, *traces = (
        pq.ParquetFile(folder / f"{name}.parquet", page_checksum_verification=True)
        for name in names
    )
    for group, (number, part) in enumerate(manifest["groups"]):
        for file, index in ((heads, group), (traces[number], part)):
            _check_size(file.metadata.row_group(index).total_byte_size)
        trace = traces[number].read_row_group(part).select(manifest["traces"][number])
        for row in heads.read_row_group(group, columns=_COLUMNS).to_pylist():
            own, trace = trace.slice(0, row["length"]), trace.slice(row["length"])
            content = row["key"], row["about"], own, row["sha256"], row["stored"] // 10**9
            yield _make_run_record(*content)


def _check_size(unpacked: int) -> None:
    if unpacked > _MOST_BYTES:
        raise DamagedFileError("too large", "more than any file of pfbench")


def _make_run_record(key: str, text: bytes, trace: "pa.Table", digest: str, stored: int) -> Record:
    """Return the row of the store's table for a run from a store in the old format.

    The `digest` is empty for runs of the first versions, which stored no digest.
    """
    columns = {name: trace[name].to_numpy() for name in trace.column_names}
    content = hashlib.sha256(text)
    for name, column in columns.items():
        if column.dtype != column_dtype(name):
            raise DamagedFileError("incomplete", "a column of its trace has a wrong type")
        kind = "int64" if column_dtype(name) is np.int64 else "double"
        content.update(f"{name} {kind} {len(column)}\n".encode())
        content.update(np.ascontiguousarray(column).tobytes())
    if digest and digest != content.hexdigest():
        raise DamagedFileError("wrong content")
    header: Mapping[str, Any] = decode_json(text)
    if header.get("key") != key:
        raise DamagedFileError("wrong key", f"it says {header.get('key')!r}")
    meta = {name: header.get(name, {}) for name in ("run", "environment", "notes")}
    return make_record("run", key, meta, columns, stored)
