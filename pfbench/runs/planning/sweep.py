"""Sweeps: a grid of problems, algorithms, parameters and seeds, read from a TOML file.

A sweep plans the product of its problems, algorithms, seeds and of the settings of its grid. Names
in braces, e.g. ``{batch}``, stand in selectors, in `every` and in the budget for the values of a
setting; ``{seed}`` is the run's seed. A run that does not depend on a setting is planned once.

A report is a sweep with presentation, so the spec of a report is one, too.
"""

import math
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any, TypeVar

from pfbench.base.checks import integer, real
from pfbench.base.counts import COUNTED, Budget
from pfbench.base.errors import InputError
from pfbench.base.names import unknown
from pfbench.base.selectors import Selector
from pfbench.runs.loop.stop import Stop, in_trace, recorded
from pfbench.runs.planning.plan import PlannedRun, own_names
from pfbench.runs.planning.study import check_fields, filled, frequency, read_toml, spec_of

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
    def own_names(self) -> list[str]:
        """The names MODULE:NAME that the sweep imports, each once."""
        return own_names(text for plan in self.plans for text in plan.own_selectors)


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
            raise self.wrong(field, f"= {value!r} must be a text")
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
            raise self.wrong(field, f"= {value!r} must be a list of texts")
        for name, entry in named.items():
            if not isinstance(entry, str) or not entry.strip():
                raise self.wrong(name, f"= {entry!r} must be a text that is not empty")
        if field in self.table and not named:
            raise self.wrong(field, "is empty")
        entries = tuple(named.values())
        for name, entry in named.items():
            if entries.count(entry) > 1:
                raise self.wrong(name, f"= {entry!r} is there twice")
        return entries

    def parsed(self, parse: Callable[[str], Parsed], field: str, text: str) -> Parsed:
        try:
            return parse(text)
        except InputError as error:
            raise self.wrong(field, f"= {text!r}: {error}".rstrip(".")) from None

    def seeds(self) -> tuple[int, ...]:
        value = self.table.get("seeds", 1)
        if isinstance(value, list):
            found = [integer(f"{self.where}: seeds[{k}]", v, least=0) for k, v in enumerate(value)]
            if not found or len(set(found)) < len(found):
                raise self.wrong("seeds", f"= {value!r} must be different seeds, at least one")
            return tuple(found)
        return tuple(range(integer(f"{self.where}: seeds", value, least=1)))

    def settings(self) -> list[dict[str, Any]]:
        """Return the product of the grid's lists, the last name fastest."""
        grid = self.table.get("grid", {})
        if not isinstance(grid, Mapping):
            raise self.wrong("grid", f"= {grid!r} must be a table of lists")
        for name, values in grid.items():
            if not name.isidentifier() or name == "seed":
                raise self.wrong(f"grid.{name}", "needs a name of letters, other than seed")
            if not isinstance(values, list) or not values:
                raise self.wrong(f"grid.{name}", f"= {values!r} must be a list of values")
            for k, value in enumerate(values):
                if not isinstance(value, (str, int, float)):
                    raise self.wrong(f"grid.{name}[{k}]", f"= {value!r} must be a number or text")
        return [
            dict(zip(grid, values, strict=True)) for values in product(*map(list, grid.values()))
        ]

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
                "budget", f"= {value!r} must be a table, or a text as in sfo=1e6,lo=1e3"
            )
        return value

    def limit(self, field: str) -> float | None:
        if field not in self.table:
            return None
        return real(f"{self.where}: {field}", self.table[field], above=0.0)

    def plans(self, stop: Stop | None) -> list[PlannedRun]:
        problems, algorithms = self.texts("problems"), self.texts("algorithms")
        every, budget = self.table.get("every", 1), self.budget()
        if not isinstance(every, str):
            every = str(integer(f"{self.where}: every", every, least=1))
        settings, seeds = self.settings(), self.seeds()
        measures, stop = recorded(self.texts("measures"), stop)
        time_limit, memory = self.limit("time_limit"), self.limit("memory_limit")
        found = []
        for setting, problem, algorithm, seed in product(settings, problems, algorithms, seeds):
            values = {**setting, "seed": seed}
            fill = partial(filled, where=self.where, giver="the grid", values=values)
            limits = fill(budget)
            # Selectors in the one form that equal ones share.
            found.append(
                PlannedRun(
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
            )
        self.check_used(settings[0], [*problems, *algorithms, every, budget])
        return found

    def check_used(self, setting: Iterable[str], templates: Sequence[str]) -> None:
        """Refuse values that no name in braces asks for."""
        pieces = chain.from_iterable(map(string.Formatter().parse, templates))
        used = {name for _, name, _, _ in pieces}
        for name in setting:
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
