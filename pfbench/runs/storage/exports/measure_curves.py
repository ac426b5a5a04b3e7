"""One measure of a run against one count: all that COCO and IOHprofiler know of a run."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import NamedTuple

from pfbench.base.errors import InputError
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.storage.exports.naming import Planned, RunNaming, find_naming
from pfbench.runs.storage.exports.selection import SelectedRuns
from pfbench.runs.storage.serialization import StoredRun


@dataclass(frozen=True)
class ExportView:
    """What a tool that knows evaluations and values is shown.

    Attributes
    ----------
    measure
        The recorded measure that stands for the value; "" where none was named.
    count
        The count that stands for evaluations: one of `COUNTED`, or "iteration".
    optimum
        The value that is subtracted where a tool wants the distance to the best (units of the
        measure); a gap has 0.
    dimension
        Of all problems; None: that which is stored with each run.
    raw
        Whether texts in CSV stay as they are, though a spreadsheet would evaluate some.
    names
        What a spec calls the runs; see `pfbench.runs.storage.exports.naming`.
    """

    measure: str = ""
    count: str = "sfo"
    optimum: float = 0.0
    dimension: int | None = None
    raw: bool = False
    names: Mapping[Planned, RunNaming] = field(default_factory=dict)


class CurveSummary(NamedTuple):
    """What is told of a curve beside its points.

    Attributes
    ----------
    instance
        The seed + 1: instances are counted from 1.
    evaluations
        Those of the whole curve.
    best
        The evaluation and the value of the least value.
    """

    instance: int
    evaluations: int
    best: tuple[int, float]


@dataclass(frozen=True)
class Curve:
    """One run as evaluations and values.

    Attributes
    ----------
    instance
        See `CurveSummary`.
    points
        (evaluation, value, row of the trace). The start is evaluation 1, so an evaluation is 1 +
        the count; of rows with equal counts the last stands.
    naming
        What it is called.
    """

    instance: int
    points: list[tuple[int, float, tuple[float, ...]]]
    naming: RunNaming

    @property
    def summary(self) -> CurveSummary:
        """What is told of it beside its points."""
        evaluation, value, _ = min(self.points, key=lambda point: (point[1], point[0]))
        return CurveSummary(self.instance, self.points[-1][0], (evaluation, value))


@dataclass(frozen=True)
class CurveGroup:
    """The runs of one algorithm on one problem.

    Attributes
    ----------
    function
        The number of the problem, from 1 in the order of their selectors.
    problem, algorithm
        Selectors.
    folder
        A name for the algorithm's folder; see `folders`.
    dimension
        Entries of a point.
    naming
        What its runs are called.
    curves
        The runs by seed; they can be gone through once.
    """

    function: int
    problem: str
    algorithm: str
    folder: str
    dimension: int
    naming: RunNaming
    curves: Iterator[Curve]

    @property
    def title(self) -> str:
        """The algorithm's name in its sweep, or else its selector."""
        return self.naming.label or self.algorithm


def functions(runs: SelectedRuns) -> dict[str, int]:
    """Return the number of each problem, from 1 in the order of their selectors."""
    return {p: k for k, p in enumerate(sorted({row["problem"] for row in runs.rows}), 1)}


def groups(runs: SelectedRuns, view: ExportView) -> Iterator[CurveGroup]:
    """Yield the runs by algorithm and problem; the curves of one must be used before the next.

    Those without a value in their trace are left out, and so are those of which the dimension is
    not known: nothing is built to know it.

    Raises
    ------
    InputError
        If no measure is named, no run has recorded it, or of none the dimension is known.
    """
    numbers, names = functions(runs), folders(row["algorithm"] for row in runs.rows)
    recorded: dict[str, None] = {}
    some = False

    def key(entry: StoredRun) -> tuple[str, str]:
        return entry.run.algorithm, entry.run.problem

    for (algorithm, problem), entries in groupby(runs, key):
        curves = _read_curves(entries, view, recorded, runs.omitted)
        first = next(curves, None)
        if first is None:
            continue
        some, (dimension, curve) = True, first
        same = (other for size, other in curves if size == dimension)
        begin = numbers[problem], problem, algorithm, names[algorithm], dimension
        yield CurveGroup(*begin, curve.naming, chain([curve], same))
    if view.measure not in recorded:
        text = ", ".join(recorded) or "none"
        raise InputError(f"name a recorded measure with --measure: the runs have {text}.")
    if not some:
        raise InputError(f"no run can be exported ({next(iter(runs.omitted))}).")


_NO_DIMENSION = "stored without the dimension of their problem: give --dimension"
_NO_VALUE = "without a value at the start"


def _read_curves(
    entries: Iterable[StoredRun], view: ExportView, recorded: dict[str, None], omitted: Counter[str]
) -> Iterator[tuple[int, Curve]]:
    """Yield the curves with their dimension; note what has been recorded, and what is left out."""
    for entry in entries:
        run = entry.run
        recorded |= dict.fromkeys(name for name in run.columns if name not in TRACE_COLUMNS)
        dimension = view.dimension or entry.notes.get("dimension")
        points = _points(run, view) if view.measure in run.columns else []
        if not points:
            omitted[_NO_VALUE] += 1
        elif not dimension:
            omitted[_NO_DIMENSION] += 1
        else:
            yield dimension, Curve(run.seed + 1, points, find_naming(entry, view.names))


def _points(run: Run, view: ExportView) -> list[tuple[int, float, tuple[float, ...]]]:
    count, measure = run.columns.index(view.count), run.columns.index(view.measure)
    points = {
        1 + row[count]: (1 + row[count], row[measure], row)
        for row in run.rows
        if math.isfinite(row[measure])
    }
    # Tools tell runs apart by evaluation 1.
    return list(points.values()) if 1 in points else []


def folders(algorithms: Iterable[str]) -> Mapping[str, str]:
    """Return a name for the folder of each algorithm, with nothing in it that a system minds."""
    folders: dict[str, str] = {}
    for algorithm in sorted(set(algorithms)):
        name = file_name(algorithm)
        same = sum(other.rpartition("~")[0] == name or other == name for other in folders.values())
        folders[algorithm] = f"{name}~{same + 1}" if same else name
    return folders


def file_name(selector: str) -> str:
    """Return a selector as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9.=-]+", "_", selector).strip("_.")[:80]
