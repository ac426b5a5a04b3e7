"""The store of finished runs: one Parquet file for each, named by its content key.

A file holds the trace as its table, and everything else as JSON in the table's metadata. It is
written beside its final name, flushed to the disk, and renamed, so that a file with the right name
is whole. A file that cannot be read is set aside, never deleted.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pfbench.base.counts import Counts
from pfbench.base.errors import StorageError
from pfbench.runs.run import Run

_METADATA = b"pfbench"
_SCHEMA = 1


@dataclass(frozen=True)
class Entry:
    """A stored run with its key and the environment it was made in."""

    key: str
    run: Run
    environment: Mapping[str, str]


class Store:
    """A folder of finished runs.

    Raises
    ------
    StorageError
        If the folder cannot be made, read or written; the message says what to do.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            (folder / "runs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"the store {folder} cannot be made ({error.strerror}): choose another with "
                "--store, or mend its permissions."
            ) from error

    def path(self, key: str) -> Path:
        """Return the file of a key."""
        return self.folder / "runs" / key[:2] / f"{key}.parquet"

    def __contains__(self, key: str) -> bool:
        return self.path(key).is_file()

    def put(self, key: str, run: Run, environment: Mapping[str, str]) -> None:
        """Write a finished run; an interruption leaves either the whole file or none."""
        path = self.path(key)
        partial = path.with_name(f".{key}.{os.getpid()}.partial")
        text = json.dumps(
            {"schema": _SCHEMA, "key": key, "run": _header(run), "environment": dict(environment)}
        )
        columns = list(zip(*run.rows, strict=True)) or [()] * len(run.columns)
        table = pa.table(
            [np.asarray(column) for column in columns],
            schema=pa.schema(
                [(name, _type(name, run)) for name in run.columns], metadata={_METADATA: text}
            ),
        )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                pq.write_table(table, file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise StorageError(
                f"the run could not be stored in {self.folder} ({error.strerror}): free some "
                "space or choose another store with --store; runs already stored are safe."
            ) from error

    def get(self, key: str) -> Entry | None:
        """Return a stored run, or None if there is none.

        A damaged file is renamed to ``*.damaged``, and None is returned, so that it is run again.
        """
        path = self.path(key)
        try:
            table = pq.read_table(path)
            header = json.loads((table.schema.metadata or {})[_METADATA])
            if header["schema"] != _SCHEMA or header["key"] != key:
                raise ValueError("another key or schema")
            return Entry(key, _run(header["run"], table), header["environment"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            if isinstance(error, PermissionError):
                raise StorageError(f"{path} cannot be read: mend its permissions.") from error
            path.replace(path.with_suffix(".damaged"))
            return None

    def keys(self) -> Iterator[str]:
        """Return the keys of all stored runs."""
        for path in sorted((self.folder / "runs").glob("??/*.parquet")):
            yield path.stem


_INTEGERS = frozenset({"iteration", "fo", "sfo", "sso", "hvp", "lo", "po", "fv"})


def _type(name: str, run: Run) -> pa.DataType:
    return pa.int64() if name in _INTEGERS else pa.float64()


def _header(run: Run) -> dict[str, Any]:
    header = run.as_json()
    del header["schema"]
    return header


def _run(header: dict[str, Any], table: pa.Table) -> Run:
    columns = [column.to_pylist() for column in table.columns]
    return Run(
        **header | {"counts": Counts(**header["counts"])},
        columns=tuple(table.column_names),
        rows=list(zip(*columns, strict=True)),
    )
