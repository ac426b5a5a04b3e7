"""Transcript of a run: every query with its answer, and every yielded point.

Each vector is stored once, as a row of one table; events refer to it by number. Some function
values are queried on the segment from the last gradient query to the last LO output, such as those
of a line search. Such a query is stored as two row numbers and a weight, so that the memory is O(T
d).
"""

import hashlib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats
from pfbench.base.errors import DataError
from pfbench.base.files import as_storage_errors, atomic_write

KINDS = ("gradient", "value", "lo", "prox", "yield")
"""Kinds of events: four oracles, and a point that the algorithm yields (or starts from)."""


class Event(NamedTuple):
    """One event of a transcript: a query with its answer, or a point that the algorithm yields.

    -1 and 0.0 stand for fields that an event of its kind does not have.

    Attributes
    ----------
    kind
        Index in `KINDS`.
    point
        Row of the point queried or yielded.
    toward, weight
        A value is queried at (1 - weight) point + weight toward, if there is a row `toward`.
    answer
        Row of the answered vector.
    number
        The answered value.
    drawn
        Number of hidden directions drawn when the answer was given.
    """

    kind: int
    point: int = -1
    toward: int = -1
    weight: float = 0.0
    answer: int = -1
    number: float = 0.0
    drawn: int = 0


_COLUMNS: dict[str, Any] = dict.fromkeys(Event._fields, np.int64) | {
    "weight": np.float64,
    "number": np.float64,
}


def fingerprint(x: Floats) -> bytes:
    """Return a hash of a vector's numbers; -0 and 0 give the same hash."""
    return hashlib.blake2b((x + 0.0).tobytes(), digest_size=16).digest()


class TranscriptRecorder:
    """Recorder of the queries, answers and points of a run; equal vectors are stored only once."""

    def __init__(self) -> None:
        self._rows: list[Floats] = []
        self._numbers: dict[bytes, int] = {}
        self.events: list[Event] = []

    def find_or_add_row(self, x: Floats) -> int:
        """Return the row number of a vector in the recorder's table; add a row for a new vector."""
        number = self._numbers.setdefault(fingerprint(x), len(self._rows))
        if number == len(self._rows):
            self._rows.append(x.copy())
        return number

    def add(self, kind: str, **fields: Any) -> None:
        """Append an event of the given kind to the transcript."""
        self.events.append(Event(KINDS.index(kind), **fields))

    def finish(self, directions: Floats) -> "Transcript":
        """Return the transcript: the recorded events and the chain's directions, shape (T, d)."""
        columns = {
            name: np.array([event[index] for event in self.events], dtype=kind)
            for index, (name, kind) in enumerate(_COLUMNS.items())
        }
        return Transcript(directions, np.array(self._rows), columns)


@dataclass(frozen=True, eq=False)
class Transcript:
    """Record of a run against the resisting oracle: events, vectors and the chain's directions.

    Attributes
    ----------
    directions
        V', shape (T, d): the chain's directions as rows.
    rows
        All vectors that were exchanged, shape (m, d).
    columns
        The events: one array for each field of `Event`.
    """

    directions: Floats
    rows: Floats
    columns: dict[str, npt.NDArray[Any]]

    def __len__(self) -> int:
        return len(self.columns["kind"])

    def events(self) -> Iterator[Event]:
        """Return an iterator over the events in order."""
        return map(Event._make, zip(*(self.columns[n].tolist() for n in _COLUMNS), strict=True))

    def point(self, event: Event) -> Floats:
        """Return the point of an event, shape (d,).

        It is a row of the table, or a point on the segment between two rows.
        """
        x: Floats = self.rows[event.point]
        if event.toward >= 0:
            x = (1.0 - event.weight) * x + event.weight * self.rows[event.toward]
        return x

    def chain_directions_digest(self) -> str:
        """Return the SHA-256 of the chain's directions."""
        return hashlib.sha256(np.ascontiguousarray(self.directions, "<f8").tobytes()).hexdigest()

    def write(self, path: Path) -> str:
        """Write the transcript atomically to an .npz file; return the SHA-256 of the file.

        Raises
        ------
        StorageError
            If the file cannot be written.
        """
        columns: dict[str, Any] = self.columns
        with as_storage_errors(f"the transcript {path}"), atomic_write(path) as file:
            np.savez(file, directions=self.directions, rows=self.rows, **columns)
        return file_digest(path)

    @classmethod
    def load(cls, path: Path) -> "Transcript":
        """Load a transcript from a file, without executing any code in the file.

        Raises
        ------
        DataError
            If the file is missing, damaged, or not a transcript.
        """
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                directions, rows = stored["directions"], stored["rows"]
                columns = {name: stored[name].astype(kind) for name, kind in _COLUMNS.items()}
            transcript = cls(directions, rows, columns)
            transcript._check()
        except OSError as error:
            reason = error.strerror or str(error)
            raise DataError(f"the transcript {path} cannot be read ({reason}).") from error
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise DataError(f"{path} is damaged or not a transcript: create it again.") from error
        return transcript

    def _check(self) -> None:
        """Raise ValueError if a number or a shape in the transcript is not valid."""
        V, rows, events = self.directions, self.rows, self.columns
        matrices = V.ndim == 2 and rows.ndim == 2 and V.shape[1] == rows.shape[1]
        numbers = V.dtype == rows.dtype == np.float64 and bool(np.isfinite(V).all())
        sound = matrices and numbers and bool(np.isfinite(rows).all())
        sound = sound and len({column.shape for column in events.values()}) == 1
        for name in ("point", "toward", "answer"):
            sound = sound and bool(((events[name] >= -1) & (events[name] < len(rows))).all())
        sound = sound and bool(((events["kind"] >= 0) & (events["kind"] < len(KINDS))).all())
        if not sound:
            raise ValueError("no transcript")


def file_digest(path: Path) -> str:
    """Return the SHA-256 of the bytes of a file.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}).") from error
