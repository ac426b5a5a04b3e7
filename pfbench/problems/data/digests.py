"""Checksums of arrays and files."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


def arrays_digest(*arrays: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of the little-endian bytes of arrays, one after the other, as hex.

    Parameters
    ----------
    arrays
        Integer or float arrays; their types and their order affect the digest, so the caller casts
        them to the set's canonical types first.
    """
    digest = hashlib.sha256()
    for array in arrays:
        kind = np.dtype(f"<{array.dtype.kind}{array.dtype.itemsize}")
        digest.update(np.ascontiguousarray(array, dtype=kind).data)
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as hex.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
