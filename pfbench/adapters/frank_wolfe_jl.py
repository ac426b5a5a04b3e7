"""Import of trajectories of FrankWolfe.jl into a store, with counts derived from the step rule.

With ``trajectory=true``, FrankWolfe.jl records t, primal value, dual value, dual gap and time
after each iteration. Row t = k has the value of f and the gap at x_{k-1}, the start of iteration
k. A last row, which repeats the last t, has those of the output.
"""

import csv
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pfbench.base.checks import check_integer
from pfbench.base.counts import COUNTED, Counts
from pfbench.base.errors import InputError
from pfbench.base.names import brief_repr, find_entry
from pfbench.base.status import Status
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.storage.store import Store

if TYPE_CHECKING:
    import pandas as pd

RECORDED = ("t", "primal", "dual", "dual_gap", "time")
"""Columns that FrankWolfe.jl records by default."""

TRACKED: Mapping[str, str] = MappingProxyType(
    {"gradient_calls": "fo", "lmo_calls": "lo", "f_calls": "fv"}
)
"""Name in pfbench of each count of FrankWolfe.jl's trackers, which a callback can record."""

NO_TRIALS = ("Agnostic", "Shortstep", "FixedStep", "Nonconvex")
"""Step rules of frank_wolfe without trial points: one gradient and one vertex an iteration."""

_MOST_BYTES = 2**28

Numbers = tuple[float | None, ...]


@dataclass(frozen=True)
class Trajectory:
    """Trajectory of one run of FrankWolfe.jl, with the oracle counts up to each iterate.

    Attributes
    ----------
    columns
        iteration, the counts, seconds, objective and fw_gap.
    rows
        The numbers; None for an unknown count.
    digest
        A hash of the file's data.
    """

    columns: tuple[str, ...]
    rows: tuple[Numbers, ...]
    digest: str

    @property
    def table(self) -> "pd.DataFrame":
        """Trajectory as a data frame; an unknown count is <NA>."""
        import pandas as pd

        frame = pd.DataFrame.from_records(list(self.rows), columns=list(self.columns))
        return frame.astype(dict.fromkeys(("iteration", *COUNTED), "Int64"))

    def as_run(self, problem: str, algorithm: str) -> Run:
        """Return the trajectory as a run of the named algorithm on the named problem.

        Raises
        ------
        InputError
            If a count is unknown.
        """
        last = dict(zip(self.columns, self.rows[-1], strict=True))
        lacking = [name for name in COUNTED if last[name] is None]
        if lacking:
            raise InputError(
                f"the trajectory lacks the counts {', '.join(lacking)}: record "
                f"{', '.join(TRACKED)} with FrankWolfe.jl's trackers and list them in columns, or "
                f"pass the name of the step rule as step, if it is one of {', '.join(NO_TRIALS)}."
            )
        return Run(
            problem=problem,
            algorithm=algorithm,
            parameters={},
            schedule="explicit",
            seed=0,
            status=Status.FINISHED,
            stop_reason="as FrankWolfe.jl recorded it",
            iterations=int(last["iteration"] or 0),
            counts=Counts(**{name: int(last[name] or 0) for name in COUNTED}),
            final={"objective": last["objective"], "fw_gap": last["fw_gap"]},
            seconds=float(last["seconds"] or 0.0),
            oracle_seconds=0.0,
            failure_probability=0.0,
            columns=self.columns,
            rows=list(self.rows),
        )

    def store(self, folder: Path, problem: str, algorithm: str) -> str:
        """Store the trajectory as a run, for `pfbench report --store`; return the run's key."""
        run = self.as_run(problem, algorithm)
        description = f"{self.digest} {problem} {algorithm}"
        key = hashlib.sha256(description.encode()).hexdigest()
        Store(Path(folder)).put(key, run, {"made by": "FrankWolfe.jl"})
        return key


def read_trajectory(
    path: Path | str,
    *,
    entry: str | None = None,
    columns: Sequence[str] = RECORDED,
    n: int = 1,
    step: str | None = None,
) -> Trajectory:
    """Read the trajectory that the function `frank_wolfe` of FrankWolfe.jl recorded.

    Parameters
    ----------
    path
        A JSON file: a list of rows, or an object of several such lists by name. Or a text file:
        rows of numbers separated by commas or tabs, as Julia's DelimitedFiles writes them.
    entry
        Name of the trajectory, if the file has several.
    columns
        Names of all columns, in order: those of `RECORDED`, then those that a callback adds. Of the
        columns of a callback, pfbench uses those named in `TRACKED`.
    n
        Number of components: a gradient is n SFO, a value n FV.
    step
        Step rule of the run. A rule in `NO_TRIALS` determines the counts that were not tracked: x_k
        takes k gradients and k linear minimisations. Further calls of FrankWolfe.jl, which record
        the trajectory and verify the output, are not counted.

    Raises
    ------
    InputError
        If the file cannot be read, or its rows do not have these columns.
    """
    if not isinstance(path, str | Path):
        raise InputError(f"path={brief_repr(path)} must be the path of a file.")
    check_integer("n", n, minimum=1)
    if isinstance(columns, str | bytes) or not isinstance(columns, Sequence):
        raise InputError(f"columns={brief_repr(columns)} must be a list of column names.")
    if missing := [name for name in RECORDED if name not in columns]:
        raise InputError(f"columns lacks {', '.join(missing)}: name the file's columns in order.")
    data = _read_bytes(Path(path))
    results = _parse_rows(Path(path), data, entry)
    if not results:
        raise InputError(f"{path} has no rows: run FrankWolfe.jl again, with trajectory=true.")
    named: list[dict[str, float]] = []
    for k, row in enumerate(results, start=1):
        fault = _describe_row_error(row, columns, named[-1] if named else {})
        if fault:
            raise InputError(f"row {k} of {path} {fault}")
        named.append({name: row[i] or 0.0 for i, name in enumerate(columns)})
    size = max(abs(row["primal"]) for row in named)
    for k, gap in enumerate((row["dual_gap"] for row in named), start=1):
        if gap < -1e-8 * size:
            raise InputError(
                f"row {k} of {path} has the dual gap {gap:g}, which must be at least 0: check that "
                "the linear oracle minimises, and that the start point is in the feasible set."
            )
    rows = tuple(_make_trace_row(named, k, n, step) for k in range(len(named)))
    digest = hashlib.sha256(data + repr((entry, tuple(columns), n, step)).encode())
    return Trajectory((*TRACE_COLUMNS, "objective", "fw_gap"), rows, digest.hexdigest())


def _describe_row_error(
    row: Sequence[float | None], columns: Sequence[str], before: Mapping[str, float]
) -> str:
    """Return a message on the first error in `row`, which follows the row `before`; "" if none.

    Numbers are finite, t and the counts are integers, and t, counts and time never decrease.
    """
    if len(row) != len(columns):
        return (
            f"has {len(row)} numbers, and columns has {len(columns)} names: name every column of a "
            "row, in order."
        )
    if None in row:
        return "has null, which stands for Inf or NaN: write the file without that row."
    if not all(math.isfinite(value) for value in row if value is not None):
        return "has NaN or Inf: leave that row out."
    named = dict(zip(columns, row, strict=True))
    for name in (name for name in ("t", "time", *TRACKED) if name in named):
        value, lower = named[name] or 0.0, before.get(name, 0.0)
        if name != "time" and not value.is_integer():
            return f"has {name}={value:g}: write a whole number."
        if value < lower:
            return (
                f"has {name}={value:g}, which must be at least {lower:g}: write the rows of one "
                "run, in order."
            )
    return ""


def _make_trace_row(
    named: Sequence[Mapping[str, float]], k: int, n: int, step: str | None
) -> Numbers:
    """Return pfbench's trace row for row k of FrankWolfe.jl's trajectory, where k starts at 0."""
    row, is_repeated = named[k], k > 0 and named[k]["t"] == named[k - 1]["t"]
    iteration = int(row["t"]) if is_repeated else max(int(row["t"]) - 1, 0)
    counts: dict[str, float | None] = dict.fromkeys(COUNTED, 0)
    counts |= {"sfo": None, "fo": None, "lo": None, "fv": None}
    if step in NO_TRIALS:
        counts |= {"fo": iteration, "lo": iteration, "fv": 0}
    # Tracked before this row; the one before it, as the row's own calls come after its iterate.
    before = named[k - 1] if k > 0 else dict.fromkeys(TRACKED, 0)
    for key, computed in TRACKED.items():
        if key in row:
            counts[computed] = before[key] * (n if computed == "fv" else 1)
    if counts["fo"] is not None:
        counts["sfo"] = n * counts["fo"]
    measured = (row["time"], row["primal"], row["dual_gap"])
    return (iteration, *(counts[name] for name in COUNTED), *measured)


def _read_bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path} has more than {_MOST_BYTES:,} bytes: record fewer rows.")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from error


def _parse_rows(path: Path, data: bytes, entry: str | None) -> list[list[float | None]]:
    """Return the rows of a file as lists of numbers, which may be NaN, infinite or missing."""
    try:
        text = data.decode("utf-8-sig")
        results = json.loads(text) if path.suffix == ".json" else _parse_delimited(text)
        if isinstance(results, dict):
            results = find_entry(f"entry of {path}", str(entry), results)
        return [[None if item is None else float(item) for item in row] for row in results]
    except RecursionError as error:
        raise InputError(f"{path} has no rows of numbers: lists are nested too deeply.") from error
    except InputError:
        raise
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} has no rows of numbers: {str(error)[:80]}.") from error


def _parse_delimited(text: str) -> list[Any]:
    lines = [line for line in text.splitlines() if line.strip()]
    delimiter = "\t" if lines and "\t" in lines[0] else ","
    return list(csv.reader(lines, delimiter=delimiter))
