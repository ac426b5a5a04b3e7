"""Rows that wait on the disk until all their columns are known."""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any


class Spool:
    """A table whose columns are found while its rows come; none of them stays in memory.

    Parameters
    ----------
    folder
        Where the rows wait, in a file without a name.
    names
        The first columns.
    """

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        self._places = {name: k for k, name in enumerate(names)}
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115

    def close(self) -> None:
        """Forget the rows."""
        self._file.close()

    @property
    def names(self) -> list[str]:
        """The columns, in the order in which they came."""
        return list(self._places)

    def add(self, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Append rows that have these columns."""
        places = [self._places.setdefault(name, len(self._places)) for name in names]
        # Text would be made and read once more; the file has no name, so nobody else writes it.
        pickle.dump((places, [tuple(row) for row in rows]), self._file)

    def __iter__(self) -> Iterator[list[Any]]:
        end = self._file.tell()
        self._file.seek(0)
        empty = [None] * len(self._places)
        while self._file.tell() < end:
            places, rows = pickle.load(self._file)
            for row in rows:
                cells: list[Any] = list(empty)
                for place, value in zip(places, row, strict=True):
                    cells[place] = value
                yield cells
