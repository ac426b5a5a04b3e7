"""The format of COCO: ``.info``, ``.dat`` and ``.tdat`` files that cocopp reads.

Written as by COCO's logger of data format ``bbob-new2`` (coco 2.6, read by cocopp 2.9): N. Hansen,
A. Auger, R. Ros, O. Mersmann, T. Tušar, D. Brockhoff, COCO: a platform for comparing continuous
optimizers in a black-box setting, Optimization Methods and Software 36 (2021). Its tools know only
their own suites, so the runs are given as functions of the suite ``bbob``.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from pfbench.base.errors import InputError
from pfbench.base.escaping import escape_text
from pfbench.runs.storage.exports.csv_tables import write_csv
from pfbench.runs.storage.exports.measure_curves import (
    Curve,
    CurveGroup,
    CurveSummary,
    ExportOptions,
    iterate_curve_groups,
    number_problems,
)
from pfbench.runs.storage.exports.selection import SelectedRuns

FUNCTIONS = 24
"""Number of functions in the suite bbob."""

_HEAD = (
    "% f evaluations | g evaluations | best noise-free fitness - Fopt ({:.12e}) + sum g_i+ | "
    "measured fitness | best measured fitness or single-digit g-values | x1 | x2...\n"
)


def write_coco(runs: SelectedRuns, view: ExportOptions, folder: Path) -> list[Path]:
    """Write a folder for each algorithm, and ``functions.csv``, which defines f1, f2, ....

    An algorithm's folder is the input of ``cocopp``. A problem is a function, a seed s the instance
    s + 1; a run that did not start is left out. Points are not stored, so x1, x2, ... are missing.
    """
    number = len(number_problems(runs))
    if number > FUNCTIONS:
        raise InputError(
            f"COCO's suite has {FUNCTIONS} functions, and there are {number} problems: "
            "choose fewer with --problem."
        )
    files: list[Path] = []
    lines: dict[int, tuple[str, int, str]] = {}
    for group in iterate_curve_groups(runs, view):
        files += _write_group(group, view, folder / group.folder)
        lines[group.function] = f"f{group.function}", group.dimension, group.problem
    head = ("function", "dimension", "problem")
    subject = (line for _, line in sorted(lines.items()))
    return [write_csv(folder / "functions.csv", head, subject, unescaped=view.raw), *files]


def _write_group(group: CurveGroup, view: ExportOptions, path: Path) -> list[Path]:
    """Write the three files of an algorithm on a problem, curve by curve."""
    data = Path(f"data_f{group.function}", f"bbobexp_f{group.function}_DIM{group.dimension}")
    (path / data).parent.mkdir(parents=True, exist_ok=True)
    info, improved, complete = (
        path / f"bbobexp_f{group.function}.info",
        path / f"{data}.dat",
        path / f"{data}.tdat",
    )
    runs = []
    with improved.open("x", encoding="utf-8") as dat, complete.open("x", encoding="utf-8") as tdat:
        for curve in group.curves:
            for file, chosen in ((dat, _improvements), (tdat, _points_with_best_so_far)):
                file.write(_HEAD.format(view.optimum))
                file.writelines(_line(point, view) for point in chosen(curve))
            runs.append(curve.summary)
    info.write_text(_info(group, runs, view, data), encoding="utf-8")
    return [info, improved, complete]


def _info(
    group: CurveGroup, curves: Sequence[CurveSummary], view: ExportOptions, data: Path
) -> str:
    runs = ", ".join(
        f"{curve.instance}:{curve.evaluations}|{curve.best[1] - view.optimum:.1e}"
        for curve in curves
    )
    algorithm = escape_text(group.title).replace("'", "")
    return (
        f"suite = 'bbob', funcId = {group.function}, DIM = {group.dimension}, "
        f"Precision = 1.000e-08, algId = '{algorithm}', coco_version = '2.6.3', "
        "logger = 'bbob', data_format = 'bbob-new2'\n"
        f"% {escape_text(view.measure)} against 1 + {view.count}, of pfbench\n"
        f"{data.as_posix()}.dat, {runs}\n"
    )


def _points_with_best_so_far(curve: Curve) -> Iterator[tuple[int, float, float]]:
    """Yield evaluation, value, and the smallest value so far."""
    lower = accumulate((value for _, value, _ in curve.points), min)
    for (evaluation, value, _), best in zip(curve.points, lower, strict=True):
        yield evaluation, value, best


def _improvements(curve: Curve) -> Iterator[tuple[int, float, float]]:
    """Yield the points that are better than all before, and the last one."""
    best = math.inf
    for evaluation, value, lower in _points_with_best_so_far(curve):
        if lower < best or evaluation == curve.points[-1][0]:
            yield evaluation, value, lower
        best = lower


def _line(point: tuple[int, float, float], view: ExportOptions) -> str:
    evaluation, value, lower = point
    return f"{evaluation} 0 {lower - view.optimum:+.16e} {value:+.16e} {lower:+.16e}\n"
