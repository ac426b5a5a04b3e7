"""Files that are written whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

PARTIAL = ".partial"
"""The end of the name of a file that is being written, or that a killed process left."""


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file beside `path` for writing, which takes its place once it is on the disk.

    If the block or the disk fails, or the user interrupts, `path` is as it was and nothing else is
    left. A killed process leaves a hidden file whose name ends in `PARTIAL`.

    Parameters
    ----------
    path
        The file; its folder must exist.

    Yields
    ------
    BinaryIO
        What to write to, from its start.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{PARTIAL}")
    try:
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
