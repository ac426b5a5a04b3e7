"""Studies: the runs that a comparison report is made of, read from a TOML file.

A report has studies; a study has one problem, several algorithms, seeds, and columns. Each column
gives values to the names in braces, e.g. ``{batch}``, in the study's selectors; ``{seed}`` is the
run's seed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pfbench.base.checks import integer
from pfbench.base.errors import InputError
from pfbench.base.names import unknown
from pfbench.runs.loop.stop import in_trace
from pfbench.runs.planning.plan import PlannedRun, check_number
from pfbench.runs.planning.template import filled
from pfbench.runs.planning.toml import read_toml, said


@dataclass(frozen=True)
class Column:
    """One setting of a study: its title and the values of the names in braces."""

    title: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Study:
    """One comparison of algorithms on a problem.

    Attributes
    ----------
    key, title, about
        A short name, a heading, and a paragraph.
    problem, algorithms
        Selectors with names in braces.
    labels
        A name for each algorithm, as legends show it.
    seeds
        Number of seeds, 0 to seeds - 1.
    measures
        Measures to draw, in this order, by their names in the trace.
    every
        Record each so many iterations: a number, or a name in braces.
    columns
        The settings.
    recorded
        The measures as the spec names them, ``MODULE:NAME`` among them.
    """

    key: str
    title: str
    about: str
    problem: str
    algorithms: tuple[str, ...]
    labels: tuple[str, ...]
    seeds: int
    measures: tuple[str, ...]
    every: str
    columns: tuple[Column, ...]
    recorded: tuple[str, ...]

    def run(self, algorithm: str, column: Column, seed: int) -> PlannedRun:
        """Return one run of the study."""
        where, giver = f"study {self.key}", f"column {column.title!r}"
        values = {**column.values, "seed": seed}
        fill = partial(filled, where=where, giver=giver, values=values)
        every = frequency(where, fill(self.every))
        return PlannedRun(fill(self.problem), fill(algorithm), seed, self.recorded, every)

    @property
    def number(self) -> int:
        """How many runs it has; those that are equal count each time."""
        return self.seeds * len(self.columns) * len(self.algorithms)

    def runs(self) -> list[PlannedRun]:
        """Return all runs of the study."""
        return [
            self.run(algorithm, column, seed)
            for seed in range(self.seeds)
            for column in self.columns
            for algorithm in self.algorithms
        ]


@dataclass(frozen=True)
class Spec:
    """A comparison report: its title, an introduction, and its studies."""

    name: str
    title: str
    about: str
    studies: tuple[Study, ...]
    text: str

    def runs(self) -> list[PlannedRun]:
        """Return all runs, each once."""
        return list(dict.fromkeys(run for study in self.studies for run in study.runs()))


def read_spec(path: Path) -> Spec:
    """Read a report's TOML file.

    Raises
    ------
    InputError
        If the file cannot be read, is not TOML, or a field is missing, unknown or of a wrong type.
    """
    table, text = read_toml(path)
    return spec_of(table, path, text)


def frequency(where: str, every: str) -> int:
    """Return the number of iterations between two rows of a trace.

    Raises
    ------
    InputError
        If the text is no whole number of at least 1.
    """
    if not re.fullmatch(r"[0-9]{1,18}", every):
        raise InputError(f"{where}: every = {said(every)} must be a whole number of iterations.")
    return integer(f"{where}: every", int(every), least=1)


def spec_of(table: dict[str, Any], path: Path, text: str) -> Spec:
    """Return the report that the table of a TOML file describes; see `read_spec`."""
    where = str(path)
    check_fields(table, where, {"title": str, "study": list}, {"about": str})
    if not table["study"]:
        raise InputError(f"{where}: there is no [[study]].")
    studies = tuple(_study(part, f"{where}, study {k}") for k, part in enumerate(table["study"], 1))
    check_number(where, {"runs of all studies": sum(study.number for study in studies)})
    return Spec(path.stem, table["title"], table.get("about", ""), studies, text)


def _study(table: Any, where: str) -> Study:
    needed = {
        "key": str,
        "title": str,
        "problem": str,
        "algorithms": dict,
        "seeds": int,
        "measures": list,
        "every": (str, int),
        "column": list,
    }
    check_fields(table, where, needed, {"about": str})
    if not table["algorithms"] or not table["measures"] or not table["column"]:
        raise InputError(f"{where}: algorithms, measures and columns must not be empty.")
    texts = {"algorithms": table["algorithms"].values(), "measures": table["measures"]}
    for field, values in texts.items():
        if not all(isinstance(value, str) for value in values):
            raise InputError(f"{where}: every entry of {field} must be a text.")
    columns = tuple(
        _column(column, f"{where}, column {k}") for k, column in enumerate(table["column"], 1)
    )
    seeds = integer(f"{where}: seeds", table["seeds"], least=1)
    factors = {"seeds": seeds, "columns": len(columns), "algorithms": len(table["algorithms"])}
    check_number(where, factors)
    return Study(
        key=table["key"],
        title=table["title"],
        about=table.get("about", ""),
        problem=table["problem"],
        algorithms=tuple(table["algorithms"].values()),
        labels=tuple(table["algorithms"]),
        seeds=seeds,
        measures=tuple(map(in_trace, table["measures"])),
        every=str(table["every"]),
        columns=columns,
        recorded=tuple(table["measures"]),
    )


def _column(table: Any, where: str) -> Column:
    if not isinstance(table, dict) or not isinstance(table.get("title"), str):
        raise InputError(f"{where}: it needs a title.")
    values = {name: value for name, value in table.items() if name != "title"}
    for name, value in values.items():
        check_value(f"{where}: {name}", value)
    return Column(table["title"], values)


def check_value(field: str, value: Any) -> None:
    """Refuse what cannot stand for a name in braces.

    Raises
    ------
    InputError
        If a value is no number and no text; the message names the field.
    """
    if not isinstance(value, (str, int, float)):
        raise InputError(f"{field} = {said(value)} must be a number or text.")


def check_fields(
    table: Any, where: str, needed: Mapping[str, Any], optional: Mapping[str, Any]
) -> None:
    """Refuse a table that lacks a needed field, has an unknown one, or one of a wrong type."""
    if not isinstance(table, dict):
        raise InputError(f"{where}: a table is needed here.")
    for name in table:
        if name not in needed and name not in optional:
            raise unknown(f"field of {where}", name, [*needed, *optional])
    for name, kind in {**needed, **optional}.items():
        if name not in table:
            if name in needed:
                raise InputError(f"{where}: the field {name} is missing.")
        elif not isinstance(table[name], kind):
            raise InputError(f"{where}: the field {name} has the wrong type.")
