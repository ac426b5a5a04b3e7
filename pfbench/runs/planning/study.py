"""Studies: the runs that a comparison report is made of, read from a TOML file.

A report has studies; a study has one problem, several algorithms, seeds, and columns. Each column
gives values to the names in braces, e.g. ``{batch}``, in the study's selectors; ``{seed}`` is the
run's seed.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pfbench.base.checks import integer
from pfbench.base.errors import InputError
from pfbench.base.names import unknown
from pfbench.runs.loop.stop import in_trace
from pfbench.runs.planning.plan import PlannedRun


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


def filled(template: str, *, where: str, giver: str, values: Mapping[str, Any]) -> str:
    """Return a template with values in place of its names in braces.

    Parameters
    ----------
    where, giver
        What a refusal names: the template's place, and who should give the values.

    Raises
    ------
    InputError
        If a name has no value, or the braces are wrong.
    """
    try:
        return template.format_map(values)
    except KeyError as missing:
        raise InputError(
            f"{where}: {template!r} names {{{missing.args[0]}}}, for which {giver} has no values: "
            "add them, or mend the name."
        ) from None
    except (ValueError, AttributeError, LookupError, TypeError) as error:
        raise InputError(f"{where}: {template!r} has wrong braces ({error}).") from None


def frequency(where: str, every: str) -> int:
    """Return the number of iterations between two rows of a trace.

    Raises
    ------
    InputError
        If the text is no whole number of at least 1.
    """
    if not re.fullmatch(r"[0-9]+", every):
        raise InputError(f"{where}: every = {every!r} must be a whole number of iterations.")
    return integer(f"{where}: every", int(every), least=1)


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """Return a TOML file as a table, and its text.

    Raises
    ------
    InputError
        If the file cannot be read or is not TOML.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return tomllib.loads(text), text
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a TOML file ({error}).") from error


def spec_of(table: dict[str, Any], path: Path, text: str) -> Spec:
    """Return the report that the table of a TOML file describes; see `read_spec`."""
    where = str(path)
    check_fields(table, where, {"title": str, "study": list}, {"about": str})
    if not table["study"]:
        raise InputError(f"{where}: there is no [[study]].")
    studies = tuple(_study(part, f"{where}, study {k}") for k, part in enumerate(table["study"], 1))
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
    columns = []
    for number, column in enumerate(table["column"], 1):
        if not isinstance(column, dict) or not isinstance(column.get("title"), str):
            raise InputError(f"{where}, column {number}: it needs a title.")
        values = {name: value for name, value in column.items() if name != "title"}
        columns.append(Column(column["title"], values))
    return Study(
        key=table["key"],
        title=table["title"],
        about=table.get("about", ""),
        problem=table["problem"],
        algorithms=tuple(table["algorithms"].values()),
        labels=tuple(table["algorithms"]),
        seeds=integer(f"{where}: seeds", table["seeds"], least=1),
        measures=tuple(map(in_trace, table["measures"])),
        every=str(table["every"]),
        columns=tuple(columns),
        recorded=tuple(table["measures"]),
    )


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
