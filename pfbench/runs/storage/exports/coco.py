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
from pfbench.base.visible import visible
from pfbench.runs.storage.exports.curves import Curve, Group, Summary, View, functions, groups
from pfbench.runs.storage.exports.selected import Selected
from pfbench.runs.storage.exports.tables import write_csv

FUNCTIONS = 24
"""The most functions that the suite bbob has."""

_HEAD = (
    "% f evaluations | g evaluations | best noise-free fitness - Fopt ({:.12e}) + sum g_i+ | "
    "measured fitness | best measured fitness or single-digit g-values | x1 | x2...\n"
)


def write_coco(selected: Selected, view: View, folder: Path) -> list[Path]:
    """Write a folder for each algorithm, and ``functions.csv``, which says what f1, f2, ... are.

    An algorithm's folder is what ``cocopp`` takes. A problem is a function, a seed s the instance
    s + 1; a run that did not start is left out. Points are not stored, so x1, x2, ... are missing.
    """
    number = len(functions(selected))
    if number > FUNCTIONS:
        raise InputError(
            f"COCO's suite has {FUNCTIONS} functions, and there are {number} problems: "
            "choose some of them with --problem."
        )
    files: list[Path] = []
    lines: dict[int, tuple[str, int, str]] = {}
    for group in groups(selected, view):
        files += _write_group(group, view, folder / group.folder)
        lines[group.function] = f"f{group.function}", group.dimension, group.problem
    head = ("function", "dimension", "problem")
    about = (line for _, line in sorted(lines.items()))
    return [write_csv(folder / "functions.csv", head, about, raw=view.raw), *files]


def _write_group(group: Group, view: View, place: Path) -> list[Path]:
    """Write the three files of an algorithm on a problem, curve by curve."""
    data = Path(f"data_f{group.function}", f"bbobexp_f{group.function}_DIM{group.dimension}")
    (place / data).parent.mkdir(parents=True, exist_ok=True)
    info, improved, whole = (
        place / f"bbobexp_f{group.function}.info",
        place / f"{data}.dat",
        place / f"{data}.tdat",
    )
    runs = []
    with improved.open("x", encoding="utf-8") as dat, whole.open("x", encoding="utf-8") as tdat:
        for curve in group.curves:
            for file, chosen in ((dat, _improved), (tdat, _all)):
                file.write(_HEAD.format(view.optimum))
                file.writelines(_line(point, view) for point in chosen(curve))
            runs.append(curve.summary)
    info.write_text(_info(group, runs, view, data), encoding="utf-8")
    return [info, improved, whole]


def _info(group: Group, curves: Sequence[Summary], view: View, data: Path) -> str:
    runs = ", ".join(
        f"{curve.instance}:{curve.evaluations}|{curve.best[1] - view.optimum:.1e}"
        for curve in curves
    )
    algorithm = visible(group.title).replace("'", "")
    return (
        f"suite = 'bbob', funcId = {group.function}, DIM = {group.dimension}, "
        f"Precision = 1.000e-08, algId = '{algorithm}', coco_version = '2.6.3', "
        "logger = 'bbob', data_format = 'bbob-new2'\n"
        f"% {visible(view.measure)} against 1 + {view.count}, of pfbench\n"
        f"{data.as_posix()}.dat, {runs}\n"
    )


def _all(curve: Curve) -> Iterator[tuple[int, float, float]]:
    """Yield evaluation, value, and the least value so far."""
    least = accumulate((value for _, value, _ in curve.points), min)
    for (evaluation, value, _), best in zip(curve.points, least, strict=True):
        yield evaluation, value, best


def _improved(curve: Curve) -> Iterator[tuple[int, float, float]]:
    """Yield the points that are better than all before, and the last one."""
    best = math.inf
    for evaluation, value, least in _all(curve):
        if least < best or evaluation == curve.points[-1][0]:
            yield evaluation, value, least
        best = least


def _line(point: tuple[int, float, float], view: View) -> str:
    evaluation, value, least = point
    return f"{evaluation} 0 {least - view.optimum:+.16e} {value:+.16e} {least:+.16e}\n"
