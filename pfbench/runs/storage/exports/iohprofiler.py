"""The format of IOHprofiler: JSON with ``.dat`` files, for IOHanalyzer and iohinspector.

Written as by the logger ``Analyzer`` of IOHexperimenter 0.3 (J. de Nobel, F. Ye, D. Vermetten,
H. Wang, C. Doerr, T. Bäck, IOHexperimenter: benchmarking platform for iterative optimization
heuristics, Evolutionary Computation 32 (2024)), and read by iohinspector 0.0.8.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pfbench.base.selectors import Selector
from pfbench.runs.loop.run import TRACE_COLUMNS
from pfbench.runs.storage.exports.measure_curves import (
    Curve,
    CurveGroup,
    CurveSummary,
    ExportOptions,
    iterate_curve_groups,
    selector_as_file_name,
)
from pfbench.runs.storage.exports.selection import SelectedRuns

VERSION = "0.3.18"
"""Version of IOHexperimenter whose format is written."""


def write_iohprofiler(selected: SelectedRuns, view: ExportOptions, folder: Path) -> list[Path]:
    """Write a folder for each algorithm, with a JSON and a ``.dat`` file for each problem.

    The columns of a ``.dat`` file are ``evaluations`` (1 + the count), ``raw_y`` (the measure), and
    the whole trace's counts and seconds. A seed s is the instance s + 1. Points are not stored.
    """
    files = []
    for group in iterate_curve_groups(selected, view):
        path = folder / group.folder
        function = selector_as_file_name(Selector.parse(group.problem).name)
        data = Path(
            f"data_f{group.function}_{function}",
            f"IOHprofiler_f{group.function}_DIM{group.dimension}.dat",
        )
        (path / data).parent.mkdir(parents=True, exist_ok=True)
        with (path / data).open("x", encoding="utf-8") as file:
            runs = []
            for curve in group.curves:
                file.writelines(_lines(curve))
                runs.append(curve.summary)
        subject = path / f"IOHprofiler_f{group.function}_{function}.json"
        text = json.dumps(_group_record(group, runs, view, data), indent=1, ensure_ascii=False)
        subject.write_text(text + "\n", encoding="utf-8")
        files += [subject, path / data]
    return files


def _group_record(
    group: CurveGroup, curves: Sequence[CurveSummary], view: ExportOptions, data: Path
) -> dict[str, Any]:
    selector = Selector.parse(group.algorithm)
    existing = [{name: value} for name, value in group.naming.columns.items() if value]
    return {
        "version": VERSION,
        "suite": "pfbench",
        "function_id": group.function,
        "function_name": group.problem,
        "maximization": False,
        "algorithm": {"name": group.title, "info": selector.name},
        "experiment_attributes": [{"measure": view.measure}, {"count": view.count}, *existing],
        "attributes": ["evaluations", "raw_y", *TRACE_COLUMNS],
        "scenarios": [
            {
                "dimension": group.dimension,
                "path": data.as_posix(),
                "runs": [
                    {
                        "instance": curve.instance,
                        "evals": curve.evaluations,
                        "best": {"evals": curve.best[0], "y": curve.best[1], "x": []},
                    }
                    for curve in curves
                ],
            }
        ],
    }


def _lines(curve: Curve) -> Iterable[str]:
    yield f"evaluations raw_y {' '.join(TRACE_COLUMNS)}\n"
    for evaluation, value, row in curve.points:
        rest = " ".join(str(number) for number in row[: len(TRACE_COLUMNS)])
        yield f"{evaluation} {value!r} {rest}\n"
