"""Folder of archives, each with a file that stores the result of its check."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.files import atomic_write, translate_os_errors
from pfbench.runs.storage.archive import Archive
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.serialization import decode_json

_FIELDS = (
    "sha256",
    "salt",
    "same",
    "runs",
    "new",
    "inside",
    "least_p",
    "verdicts",
    "faults",
    "text",
)


@dataclass(frozen=True)
class CheckedArchive:
    """Archive with the stored result of its check."""

    archive: Archive
    record: Mapping[str, Any]


def list_archives(folder: Path) -> list[Path]:
    """Return the archives of a folder, in the order of their names.

    Raises
    ------
    InputError
        If the folder has no archive.
    """
    paths = sorted(folder.glob("*.zip"))
    if not paths:
        raise InputError(
            f"{folder} has no archive (*.zip): create one with `pfbench archive make`."
        )
    return paths


def read_record(path: Path, digest: str) -> Mapping[str, Any] | None:
    """Return the stored check of an archive; None unless it has this digest."""
    try:
        record = decode_json(_record_path(path).read_bytes())
    except (OSError, DamagedFileError):
        return None
    is_complete = isinstance(record, dict) and record.keys() >= set(_FIELDS)
    return record if is_complete and record["sha256"] == digest else None


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write the result of a check next to its archive."""
    text = json.dumps({name: record[name] for name in _FIELDS}, indent=1)
    target = _record_path(path)
    with translate_os_errors(str(target)), atomic_write(target) as file:
        file.write(text.encode() + b"\n")


def _record_path(path: Path) -> Path:
    return path.with_suffix(".check.json")
