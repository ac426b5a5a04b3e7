"""Entries and files of a store: kinds and keys, kinds of damage, and the safe opening of a file.

This module is quick to import.
"""

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from pfbench.base.errors import StorageError
from pfbench.base.escaping import escape_hidden

DAMAGES: Mapping[str, str] = {
    "not a file": "a folder, a link, a pipe or a device is in its place",
    "too large": "it is larger than anything that pfbench writes",
    "truncated": "its end is missing",
    "unreadable": "its content is not of the type that its name states",
    "wrong key": "it is the file of another key",
    "wrong schema version": "another version of pfbench has written it",
    "wrong content": "it does not match its hash",
    "incomplete": "a field of its metadata is missing or of a wrong type",
}
"""Description of each kind of damage, by name."""

_LONGEST = 200


@dataclass(frozen=True)
class DamageReport:
    """Report on a damaged entry, or a damaged file, of a store.

    Attributes
    ----------
    kind, key
        Kind and key of the entry; for a damaged file, ``file`` and the name of the file.
    reason, detail
        A name in `DAMAGES`, and the observation.
    aside
        Location to which the entry or file was moved; None if it was not moved.
    """

    kind: str
    key: str
    reason: str
    detail: str
    aside: str | None = None


class DamagedFileError(StorageError):
    """Error for a damaged file, or damaged entry, of a store.

    Attributes
    ----------
    reason
        A name in `DAMAGES`.
    detail
        Description of the damage, by default that in `DAMAGES`; it may contain text from the file.
    """

    def __init__(self, subject: str, detail: str = "") -> None:
        detail = escape_hidden(detail or DAMAGES[subject])
        detail = detail if len(detail) <= _LONGEST else f"{detail[:_LONGEST]}..."
        super().__init__(f"{subject} ({detail})")
        self.reason, self.detail = subject, detail

    def report(self, kind: Any, key: Any, aside: str | None = None) -> DamageReport:
        """Return the report on a damaged entry; its kind and key may be of any type."""
        names = escape_hidden(str(kind)), escape_hidden(str(key))
        return DamageReport(*names, self.reason, self.detail, aside)


KINDS: Mapping[str, int] = {
    "run": 2**22,
    **dict.fromkeys(("verdict", "finding", "certificate"), 2**23),
    "fault": 2**16,
}
"""Maximum size in bytes of an entry's metadata, by kind."""

KIND_ORDER = {kind: index for index, kind in enumerate(KINDS)}
"""Place of each kind in a listing."""

KEY = re.compile(r"[0-9a-zA-Z_-]{8,128}")
"""Form of a key."""


OPEN_FLAGS = sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
)
"""Flags of the system to open a file without following links, and without waiting for it."""


def open_regular_file(path: Path | str) -> BinaryIO:
    """Open a regular file for reading; raise for anything else, as opening it might block.

    Raises
    ------
    DamagedFileError
        If the path is a link, a folder, a pipe or a device.
    OSError
        If there is no file, or the system does not let it be read.
    """
    # Opening a device may do something; a link that comes in between is not followed.
    _check_regular(os.lstat(path).st_mode)
    file = os.fdopen(os.open(path, os.O_RDONLY | OPEN_FLAGS), "rb")
    try:
        _check_regular(os.fstat(file.fileno()).st_mode)
    except DamagedFileError:
        file.close()
        raise
    return file


def check_size(file: BinaryIO, limit: int) -> int:
    """Return the size of an open file; raise if it exceeds a limit.

    Raises
    ------
    DamagedFileError
        If the file is larger.
    """
    size = os.fstat(file.fileno()).st_size
    if size > limit:
        raise DamagedFileError("too large", f"{size:,} bytes, at most {limit:,} are allowed")
    return size


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise DamagedFileError("not a file")
