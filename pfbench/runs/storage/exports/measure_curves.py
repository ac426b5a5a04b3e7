"""Curves of one measure against one count, the view of COCO and IOHprofiler."""

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
class ExportOptions:
    """View of runs for tools that use evaluations and values.

    Attributes
    ----------
    measure
        The recorded measure used as value; "" if none was named.
    count
        The count used as evaluations: a name in `COUNTED`, or "iteration".
    optimum
        Subtracted where a tool needs the distance to the best value (units of the measure); 0 for a
        gap.
    dimension
        Dimension of all problems; None: the dimension stored with each run.
    raw
        Whether CSV texts are unquoted, although a spreadsheet would evaluate some.
    names
        Names of the runs in a spec; see `pfbench.runs.storage.exports.naming`.
    """

    measure: str = ""
    count: str = "sfo"
    optimum: float = 0.0
    dimension: int | None = None
    raw: bool = False
    names: Mapping[Planned, RunNaming] = field(default_factory=dict)


class CurveSummary(NamedTuple):
    """Summary of a curve.

    Attributes
    ----------
    instance
        The seed + 1: instances are counted from 1.
    evaluations
        Number of evaluations of the whole curve.
    best
        The evaluation and the value of the smallest value.
    """

    instance: int
    evaluations: int
    best: tuple[int, float]


@dataclass(frozen=True)
class Curve:
    """Run as evaluations and values.

    Attributes
    ----------
    instance
        See `CurveSummary`.
    points
        (evaluation, value, row of the trace). The start is evaluation 1, so an evaluation is 1 +
        the count; of rows with equal counts the last is used.
    naming
        Its name in a spec.
    """

    instance: int
    points: list[tuple[int, float, tuple[float, ...]]]
    naming: RunNaming

    @property
    def summary(self) -> CurveSummary:
        """Summary of the curve."""
        evaluation, value, _ = min(self.points, key=lambda point: (point[1], point[0]))
        return CurveSummary(self.instance, self.points[-1][0], (evaluation, value))


@dataclass(frozen=True)
class CurveGroup:
    """Runs of one algorithm on one problem.

    Attributes
    ----------
    function
        The number of the problem, from 1 in the order of their selectors.
    problem, algorithm
        Selectors.
    folder
        A name for the algorithm's folder; see `algorithm_folder_names`.
    dimension
        Number of entries of a point.
    naming
        Name of its runs in a spec.
    curves
        The runs by seed; an iterator that can be used once.
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
        """Algorithm's name in its sweep, or else its selector."""
        return self.naming.label or self.algorithm


def number_problems(runs: SelectedRuns) -> dict[str, int]:
    """Return the number of each problem, from 1 in the order of their selectors."""
    return {p: k for k, p in enumerate(sorted({row["problem"] for row in runs.rows}), 1)}


def iterate_curve_groups(runs: SelectedRuns, view: ExportOptions) -> Iterator[CurveGroup]:
    """Yield the runs by algorithm and problem; the curves of one must be used before the next.

    Runs without a value at the start, or of unknown dimension, are left out: no problem is built.

    Raises
    ------
    InputError
        If no measure is named, no run has recorded it, or no dimension is known.
    """
    numbers, names = (
        number_problems(runs),
        algorithm_folder_names(row["algorithm"] for row in runs.rows),
    )
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
    entries: Iterable[StoredRun],
    view: ExportOptions,
    recorded: dict[str, None],
    omitted: Counter[str],
) -> Iterator[tuple[int, Curve]]:
    """Yield the curves with their dimension; collect recorded measures, and omitted runs."""
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


def _points(run: Run, view: ExportOptions) -> list[tuple[int, float, tuple[float, ...]]]:
    count, measure = run.columns.index(view.count), run.columns.index(view.measure)
    points = {
        1 + row[count]: (1 + row[count], row[measure], row)
        for row in run.rows
        if math.isfinite(row[measure])
    }
    # Tools tell runs apart by evaluation 1.
    return list(points.values()) if 1 in points else []


def algorithm_folder_names(algorithms: Iterable[str]) -> Mapping[str, str]:
    """Return a portable folder name for each algorithm."""
    folders: dict[str, str] = {}
    for algorithm in sorted(set(algorithms)):
        name = selector_as_file_name(algorithm)
        same = sum(other.rpartition("~")[0] == name or other == name for other in folders.values())
        folders[algorithm] = f"{name}~{same + 1}" if same else name
    return folders


def selector_as_file_name(selector: str) -> str:
    """Return a selector with characters that are valid in file names."""
    return re.sub(r"[^A-Za-z0-9.=-]+", "_", selector).strip("_.")[:80]
