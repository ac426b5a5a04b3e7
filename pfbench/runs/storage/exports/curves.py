"""One measure of a run against one count: all that COCO and IOHprofiler know of a run."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from pfbench.base.errors import InputError, PfbenchError
from pfbench.base.selectors import Selector
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.storage.store import Entry


@dataclass(frozen=True)
class View:
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
        Of all problems; None: each problem is built to know its own.
    """

    measure: str = ""
    count: str = "sfo"
    optimum: float = 0.0
    dimension: int | None = None


@dataclass(frozen=True)
class Curve:
    """One run as evaluations and values.

    Attributes
    ----------
    run
        The run.
    points
        (evaluation, value, row of the trace). The start is evaluation 1, so an evaluation is 1 +
        the count; of rows with equal counts the last stands.
    """

    run: Run
    points: list[tuple[int, float, tuple[float, ...]]]

    @property
    def instance(self) -> int:
        """The seed + 1: instances are counted from 1."""
        return self.run.seed + 1

    @property
    def evaluations(self) -> int:
        """The evaluations of the whole curve."""
        return self.points[-1][0]

    @property
    def best(self) -> tuple[int, float]:
        """The evaluation and the value of the least value."""
        evaluation, value, _ = min(self.points, key=lambda point: (point[1], point[0]))
        return evaluation, value


@dataclass(frozen=True)
class Group:
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
    curves
        The runs by seed.
    """

    function: int
    problem: str
    algorithm: str
    folder: str
    dimension: int
    curves: list[Curve]


def groups(entries: Iterable[Entry], view: View) -> list[Group]:
    """Return the runs by algorithm and problem; those without a value in their trace are left out.

    Raises
    ------
    InputError
        If no measure is named, or no run has recorded it.
    """
    found: dict[tuple[str, str], list[Curve]] = {}
    recorded: dict[str, None] = {}
    for entry in entries:
        run = entry.run
        recorded |= dict.fromkeys(name for name in run.columns if name not in TRACE_COLUMNS)
        points = _points(run, view) if view.measure in run.columns else []
        if points:
            found.setdefault((run.algorithm, run.problem), []).append(Curve(run, points))
    if view.measure not in recorded:
        known = ", ".join(recorded) or "none"
        raise InputError(f"name a recorded measure with --measure: the runs have {known}.")
    numbers = {problem: k for k, problem in enumerate(sorted({p for _, p in found}), 1)}
    size, names = cache(_dimension), folders(algorithm for algorithm, _ in found)
    return [
        Group(
            numbers[problem],
            problem,
            algorithm,
            names[algorithm],
            view.dimension or size(problem),
            sorted(curves, key=lambda curve: curve.run.seed),
        )
        for (algorithm, problem), curves in sorted(found.items())
    ]


def _points(run: Run, view: View) -> list[tuple[int, float, tuple[float, ...]]]:
    count, measure = run.columns.index(view.count), run.columns.index(view.measure)
    points = {
        1 + row[count]: (1 + row[count], row[measure], row)
        for row in run.rows
        if math.isfinite(row[measure])
    }
    # Tools tell runs apart by evaluation 1.
    return list(points.values()) if 1 in points else []


def _dimension(problem: str) -> int:
    """Return the entries of a point of a problem; it is built to know."""
    from pfbench.problems.catalogue import problem as build

    selector = Selector.parse(problem)
    try:
        return math.prod(np.shape(build(selector.name, **selector.parameters).start()))
    except PfbenchError as error:
        raise InputError(
            f"the dimension of {problem} is not known ({str(error).rstrip('.')}): give --dimension."
        ) from error


def folders(algorithms: Iterable[str]) -> Mapping[str, str]:
    """Return a name for the folder of each algorithm, with nothing in it that a system minds."""
    found: dict[str, str] = {}
    for algorithm in sorted(set(algorithms)):
        name = file_name(algorithm)
        same = sum(other.rpartition("~")[0] == name or other == name for other in found.values())
        found[algorithm] = f"{name}~{same + 1}" if same else name
    return found


def file_name(selector: str) -> str:
    """Return a selector as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9.=-]+", "_", selector).strip("_.")[:80]
