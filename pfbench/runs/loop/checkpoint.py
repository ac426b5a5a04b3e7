"""Checkpoints: where a run stood when it last went on from its newest point alone.

From there it can be extended to a larger budget, more time or more iterations. What comes out is
the longer run, bit for bit but for its seconds.
"""

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.counts import Counts
from pfbench.runs.storage.damage import DAMAGES, Damaged

SCHEMA = 1
"""Version of a checkpoint's file; another one is not read."""

MOST_BYTES = 64 * 2**20
"""A larger checkpoint is not taken, and its run is made again."""

Arrays = Mapping[str, npt.NDArray[Any]]

PARTS = ("x", "output", "memory")
"""What arrays there are: the newest point, the output so far, and what the backend remembers."""

_ABOUT, _DIGEST = "about", "digest"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A run as it stood after one of its iterations, from which it can go on.

    Attributes
    ----------
    iterations, counts, seconds, oracle_seconds
        Where it stood (see `pfbench.runs.loop.run.Run`).
    every
        The recording frequency of its trace.
    rows, columns
        The trace had this many rows, and these columns.
    certificates
        How many certified intervals had been measured by then.
    total_weight
        The sum of the weights of the points among which the output is drawn.
    from_output
        Whether the run goes on from its output, not from x.
    certificates_at_end, seconds_at_end
        How many certified intervals when the run ended, before its final measures, and the seconds
        it had taken, by which it is known again.
    streams
        The state of each random stream by its purpose, as NumPy's bit generators give it.
    arrays
        The points and the backend's memory, by ``PART.NAME`` with the parts of `PARTS`.
    """

    iterations: int
    counts: Counts
    seconds: float
    oracle_seconds: float
    every: int
    rows: int
    columns: tuple[str, ...]
    certificates: int
    total_weight: float
    from_output: bool
    certificates_at_end: int
    seconds_at_end: float
    streams: Mapping[str, Mapping[str, Any]]
    arrays: Arrays = field(repr=False)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    def part(self, name: str) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of one of `PARTS`, by name; empty if there are none."""
        found = ((key.partition("."), array) for key, array in self.arrays.items())
        return {key[2]: array for key, array in found if key[0] == name}

    def as_bytes(self, key: str) -> bytes:
        """Return the checkpoint of a run's key as an ``npz`` file."""
        about = asdict(replace(self, arrays={})) | {"schema": SCHEMA, "key": key}
        del about["arrays"]
        text = np.frombuffer(json.dumps(about, allow_nan=False).encode(), dtype=np.uint8)
        out = io.BytesIO()
        parts: dict[str, Any] = {_ABOUT: text, **self.arrays}
        parts[_DIGEST] = _digest(parts)
        np.savez(out, **parts)
        return out.getvalue()

    @classmethod
    def from_bytes(cls, key: str, data: bytes) -> "Checkpoint":
        """Return what `as_bytes` wrote.

        Raises
        ------
        Damaged
            If the bytes are not those of this key's checkpoint, or not whole.
        """
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            # An archive has a CRC of each part, and none of which parts there are.
            if arrays.pop(_DIGEST).tobytes() != _digest(arrays).tobytes():
                raise Damaged("wrong content", DAMAGES["wrong content"])
            about = json.loads(arrays.pop(_ABOUT).tobytes())
            schema, of = about.pop("schema"), about.pop("key")
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise Damaged("unreadable", str(error)) from error
        except (ValueError, KeyError, AttributeError, NotImplementedError) as error:
            raise Damaged("incomplete", str(error)) from error
        if schema != SCHEMA:
            raise Damaged("wrong schema version", f"{schema!r}, where {SCHEMA} is known")
        if of != key:
            raise Damaged("wrong key", f"it says {of!r}")
        try:
            about["counts"], about["columns"] = Counts(**about["counts"]), tuple(about["columns"])
            return cls(**about, arrays=arrays)
        except (KeyError, TypeError) as error:
            raise Damaged("incomplete", str(error)) from error


def _digest(arrays: Arrays) -> npt.NDArray[np.uint8]:
    """Return the hash of arrays and their names, 32 bytes."""
    digest = hashlib.sha256()
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return np.frombuffer(digest.digest(), dtype=np.uint8)
