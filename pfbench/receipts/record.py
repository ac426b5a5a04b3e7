"""A record: a folder of receipts that were checked."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.files import atomic_write, translate_os_errors

MARK, FILE, CHECK = "record.json", "receipt.zip", "check.json"
"""The names in a record: what says that it is one; of each receipt, itself and its check."""

FIELDS = ("sha256", "salt", "same", "runs", "new", "least_p", "verdicts", "faults", "text")
"""What is kept of a check."""

LINK = re.compile(r"https://[^\s\"'<>]+")


@dataclass(frozen=True)
class Record:
    """A folder of receipts."""

    folder: Path

    @classmethod
    def init(cls, folder: Path) -> "Record":
        """Make one.

        Raises
        ------
        InputError
            If the folder has something in it.
        """
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"{folder} has something in it: name a new folder.")
        with translate_os_errors(str(folder)):
            folder.mkdir(parents=True, exist_ok=True)
            _write(folder / MARK, {"schema": 1, "receipts": "receipts/NAME-HASH/receipt.zip"})
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> "Record":
        """Open one.

        Raises
        ------
        InputError
            If the folder is none.
        """
        if not (folder / MARK).is_file():
            raise InputError(
                f"{folder} is no record: make one with `pfbench record init {folder}`."
            )
        return cls(folder)

    def list_folders(self) -> list[Path]:
        """Return the folders of its receipts, in the order of their names."""
        return sorted(path.parent for path in self.folder.glob(f"receipts/*/{FILE}"))

    def find_folder(self, name: str, digest: str) -> Path:
        """Return the folder of a receipt.

        Raises
        ------
        InputError
            If it is there already.
        """
        path = self.folder / "receipts" / f"{re.sub('[^a-z0-9]+', '-', name.lower())}-{digest[:12]}"
        if path.exists():
            raise InputError(f"{path} is there already: this receipt is in the record.")
        return path

    def add(self, path: Path, location: Path, checked: Mapping[str, Any], proof: str) -> None:
        """Take in a receipt that was checked; `proof` is where a formal proof stands, if any."""
        with translate_os_errors(str(location)):
            location.mkdir(parents=True)
            (location / FILE).write_bytes(path.read_bytes())
            retained = {name: checked[name] for name in FIELDS}
            _write(location / CHECK, {"schema": 1, **retained, "proof": proof})


def check_link(proof: str) -> str:
    """Return a link to a formal proof; refuse what is none."""
    if proof and not LINK.fullmatch(proof):
        raise InputError(f"--proof {proof!r} must be a link, https://...")
    return proof


def _write(path: Path, content: Mapping[str, Any]) -> None:
    with atomic_write(path) as file:
        file.write((json.dumps(content, indent=1) + "\n").encode())
