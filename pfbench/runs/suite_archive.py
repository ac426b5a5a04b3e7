"""Runs that are shipped with a suite: a compressed store, which is read as untrusted data.

The store has only some rows of each trace: the first row that reaches each target, and the last
row. All numbers of a table follow from these. Further rows between them are for plotting a curve.
Counts are the same on every machine. Seconds are those of the machine that wrote the file, which
the environment of each run names. ``tools/suite_archive.py`` writes the file.
"""

import lzma
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pfbench.base.errors import InputError, StorageError
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.damage import DamagedFileError, open_regular_file
from pfbench.runs.storage.database import NAME
from pfbench.runs.storage.serialization import StoredRun, decode
from pfbench.runs.storage.store import Store

SUFFIX = ".sqlite.xz"
"""Suffix of a suite archive, after the name of the suite's spec."""

MOST_BYTES = 2**28
"""Maximum size in bytes of an unpacked file."""


@dataclass(frozen=True)
class SuiteArchive:
    """Runs in the file of a suite, with the day and the pfbench version of their creation.

    Attributes
    ----------
    runs
        The stored run of each planned run.
    created
        Version of pfbench that made the runs, and the day.
    """

    runs: Mapping[PlannedRun, StoredRun]
    created: str


def read_suite_archive(path: Path) -> SuiteArchive:
    """Read a suite archive without importing or opening anything that it names.

    Raises
    ------
    InputError
        If the file cannot be read, or is damaged or too large.
    """
    try:
        with TemporaryDirectory(prefix="pfbench-") as folder:
            _decompress(path, Path(folder, NAME))
            with closing(Store(folder, make=False)) as store:
                entries = [decode(record) for record in store.records() if record.kind == "run"]
        runs = {PlannedRun.from_json(entry.notes["plan"]): entry for entry in entries}
        return SuiteArchive(runs, str(entries[0].notes["created"]))
    except (StorageError, EOFError, lzma.LZMAError, ValueError, LookupError, TypeError) as error:
        raise InputError(
            f"{path} is not a complete archive of runs ({error}): download it again, or "
            "use --rerun."
        ) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): use --rerun.") from error


def _decompress(path: Path, target: Path) -> None:
    with open_regular_file(path) as file, lzma.open(file) as packed:
        data = packed.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise DamagedFileError("too large", f"more than {MOST_BYTES:,} bytes once it is unpacked")
    target.write_bytes(data)
