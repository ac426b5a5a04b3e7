"""Sweeps: a grid of problems, algorithms, parameters and seeds, read from a TOML file.

A sweep plans the product of its problems, algorithms, seeds and of the settings of its grid. Names
in braces, e.g. ``{batch}``, stand in selectors, in `every` and in the budget for the values of a
setting; ``{seed}`` is the run's seed. A run that does not depend on a setting is planned once.

A report is a sweep with presentation, so the spec of a report is one, too.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from pfbench.base.checks import integer, real
from pfbench.base.counts import COUNTED, Budget
from pfbench.base.errors import InputError
from pfbench.base.names import unknown
from pfbench.base.selectors import Selector
from pfbench.runs.loop.stop import Stop, in_trace, recorded
from pfbench.runs.planning.plan import PlannedRun, check_number
from pfbench.runs.planning.study import check_fields, check_value, frequency, spec_of
from pfbench.runs.planning.template import filled, names_in
from pfbench.runs.planning.toml import read_toml, said

NEEDED = ("problems", "algorithms")
"""The fields that a sweep must have; those of a report are in `pfbench.runs.planning.study`."""

OPTIONAL = (
    "name",
    "about",
    "grid",
    "seeds",
    "measures",
    "every",
    "budget",
    "targets",
    "time_limit",
    "memory_limit",
)
"""The fields that it may have."""

GIGABYTE = 1e9
"""Bytes; memory limits are given in GB."""

Parsed = TypeVar("Parsed")


@dataclass(frozen=True)
class Sweep:
    """What a spec plans.

    Attributes
    ----------
    name, about
        A short name and a paragraph.
    text
        The spec as it was read.
    targets
        Levels of the first target's measure, by its name in the trace, hardest last; a run stops
        at the hardest.
    plans
        All runs, each once: by setting, then problem, algorithm and seed, as the spec lists them.
    """

    name: str
    about: str
    text: str
    targets: tuple[Stop, ...]
    plans: tuple[PlannedRun, ...]

    @property
    def own_selectors(self) -> list[str]:
        """The selectors MODULE:NAME of what the sweep imports and calls, each once."""
        return list(dict.fromkeys(text for plan in self.plans for text in plan.own_selectors))


def read_sweep(path: Path) -> Sweep:
    """Read the TOML file of a sweep or of a report.

    Nothing that the file names is imported or built.

    Raises
    ------
    InputError
        If the file cannot be read, is not TOML, or a field is missing, unknown or wrong; the
        message names the field.
    """
    table, text = read_toml(path)
    if "study" in table:
        spec = spec_of(table, path, text)
        return Sweep(spec.name, spec.about, text, (), tuple(spec.runs()))
    read = _Reader(str(path), table)
    targets = read.targets()
    plans = tuple(dict.fromkeys(read.plans(targets[-1] if targets else None)))
    targets = tuple(replace(target, measure=in_trace(target.measure)) for target in targets)
    return Sweep(read.text("name", path.stem), read.text("about", ""), text, targets, plans)


class _Reader:
    """The fields of one sweep; every refusal names the file and the field."""

    def __init__(self, where: str, table: Mapping[str, Any]) -> None:
        self.where, self.table = where, table
        check_fields(table, where, dict.fromkeys(NEEDED, object), dict.fromkeys(OPTIONAL, object))

    def wrong(self, field: str, what: str) -> InputError:
        return InputError(f"{self.where}: {field} {what}.")

    def text(self, field: str, default: str) -> str:
        value = self.table.get(field, default)
        if not isinstance(value, str):
            raise self.wrong(field, f"= {said(value)} must be a text")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a list of texts; a table's values, a single text are as good."""
        value = self.table.get(field, ())
        if isinstance(value, str):
            value = [value]
        named: dict[str, Any]
        if isinstance(value, Mapping):
            named = {f"{field}.{name}": entry for name, entry in value.items()}
        elif isinstance(value, Sequence):
            named = {f"{field}[{k}]": entry for k, entry in enumerate(value)}
        else:
            raise self.wrong(field, f"= {said(value)} must be a list of texts")
        for name, entry in named.items():
            if not isinstance(entry, str) or not entry.strip():
                raise self.wrong(name, f"= {said(entry)} must be a text that is not empty")
        if field in self.table and not named:
            raise self.wrong(field, "is empty")
        first: dict[str, str] = {}
        for name, entry in named.items():
            if first.setdefault(entry, name) != name:
                raise self.wrong(name, f"= {said(entry)} is there twice")
        return tuple(named.values())

    def parsed(self, parse: Callable[[str], Parsed], field: str, text: str) -> Parsed:
        try:
            return parse(text)
        except InputError as error:
            raise self.wrong(field, f"= {said(text)}: {error}".rstrip(".")) from None

    def seeds(self) -> Sequence[int]:
        value = self.table.get("seeds", 1)
        if isinstance(value, list):
            found = [integer(f"{self.where}: seeds[{k}]", v, least=0) for k, v in enumerate(value)]
            if not found or len(set(found)) < len(found):
                raise self.wrong("seeds", f"= {said(value)} must be different seeds, at least one")
            return found
        return range(integer(f"{self.where}: seeds", value, least=1))

    def grid(self) -> Mapping[str, list[Any]]:
        """Return the values of each setting."""
        grid = self.table.get("grid", {})
        if not isinstance(grid, Mapping):
            raise self.wrong("grid", f"= {said(grid)} must be a table of lists")
        for name, values in grid.items():
            if not name.isidentifier() or name == "seed":
                raise self.wrong(f"grid.{name}", "needs a name of letters, other than seed")
            if not isinstance(values, list) or not values:
                raise self.wrong(f"grid.{name}", f"= {said(values)} must be a list of values")
            for k, value in enumerate(values):
                check_value(f"{self.where}: grid.{name}[{k}]", value)
        return grid

    def targets(self) -> tuple[Stop, ...]:
        """Return the targets, hardest last."""
        texts = self.texts("targets")
        found = [self.parsed(Stop.parse, f"targets[{k}]", text) for k, text in enumerate(texts)]
        if len({target.measure for target in found}) > 1:
            raise self.wrong("targets", "are of different measures: a run stops at one of them")
        return tuple(sorted(found, key=lambda target: -target.target))

    def budget(self) -> str:
        """Return the budget as one text, with names in braces."""
        value = self.table.get("budget", "")
        if isinstance(value, Mapping):
            for name in value:
                if name not in COUNTED:
                    raise unknown(f"field of {self.where}, budget:", name, COUNTED)
            value = ",".join(f"{name}={limit}" for name, limit in value.items())
        if not isinstance(value, str):
            raise self.wrong(
                "budget", f"= {said(value)} must be a table, or a text as in sfo=1e6,lo=1e3"
            )
        return value

    def limit(self, field: str) -> float | None:
        if field not in self.table:
            return None
        return real(f"{self.where}: {field}", self.table[field], above=0.0)

    def plans(self, stop: Stop | None) -> Iterator[PlannedRun]:
        """Yield the runs, by setting (the last name of the grid fastest) and as they are listed."""
        problems, algorithms = self.texts("problems"), self.texts("algorithms")
        every, budget = self.table.get("every", 1), self.budget()
        if not isinstance(every, str):
            every = str(integer(f"{self.where}: every", every, least=1))
        grid, seeds = self.grid(), self.seeds()
        check_number(
            self.where,
            {f"values of {name}": len(values) for name, values in grid.items()}
            | {"problems": len(problems), "algorithms": len(algorithms), "seeds": len(seeds)},
        )
        measures, stop = recorded(self.texts("measures"), stop)
        time_limit, memory = self.limit("time_limit"), self.limit("memory_limit")
        for chosen in product(*grid.values()):
            setting = dict(zip(grid, chosen, strict=True))
            for problem, algorithm, seed in product(problems, algorithms, seeds):
                values = {**setting, "seed": seed}
                fill = partial(filled, where=self.where, giver="the grid", values=values)
                limits = fill(budget)
                # Selectors in the one form that equal ones share.
                yield PlannedRun(
                    str(Selector.parse(fill(problem))),
                    str(Selector.parse(fill(algorithm))),
                    seed,
                    measures,
                    frequency(self.where, fill(every)),
                    self.parsed(Budget.parse, "budget", limits) if limits else None,
                    stop,
                    time_limit,
                    None if memory is None else memory * GIGABYTE,
                )
        self.check_used(grid, [*problems, *algorithms, every, budget])

    def check_used(self, grid: Iterable[str], templates: Iterable[str]) -> None:
        """Refuse values that no name in braces asks for."""
        used = set().union(*(names_in(text, where=self.where) for text in templates))
        for name in grid:
            if name not in used:
                raise self.wrong(f"grid.{name}", f"is used nowhere: write {{{name}}} in a selector")


def reached(
    targets: Sequence[Stop], columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> list[dict[str, Any]]:
    """Return, for each target, the calls of the first recorded row that reaches it.

    A run that stops before it has none: its calls are None (a censored run, never left out).
    """
    found = []
    for target in targets:
        named = (dict(zip(columns, row, strict=True)) for row in rows)
        below = (row for row in named if row.get(target.measure, math.inf) <= target.target)
        first = next(below, None)
        calls = None if first is None else {name: int(first[name]) for name in COUNTED}
        found.append({"measure": target.measure, "target": target.target, "calls": calls})
    return found
