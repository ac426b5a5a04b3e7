"""The one format of sweeps and of reports: a TOML file, read as a spec.

Its top level is one study, or it has several under ``[[study]]``. The JSON schema is
``pfbench/cli/schemas/spec.json``. All mistakes of a file are told at once.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from pfbench.base.counts import Budget
from pfbench.base.errors import InputError, Noting
from pfbench.base.names import unknown
from pfbench.base.selectors import beside
from pfbench.runs.loop.stop import Stop, in_trace, recorded
from pfbench.runs.planning import fields
from pfbench.runs.planning.fields import Entry
from pfbench.runs.planning.labels import labels_of, title_of
from pfbench.runs.planning.orderings import (
    check_forms,
    forms,
    known_ordering,
    names_in_units,
    orderings,
    texts,
    units,
)
from pfbench.runs.planning.plan import check_number
from pfbench.runs.planning.plugged import measure_spelled_out
from pfbench.runs.planning.study import Named, Setting, Spec, Study, canonical, frequency
from pfbench.runs.planning.template import filled, names_in
from pfbench.runs.planning.toml import read_toml, said
from pfbench.runs.planning.tune import Tune

PAGE = ("name", "title", "about")
"""What a spec may say of itself."""

NEEDED = ("problems", "algorithms")
"""The fields that a study must have."""

OPTIONAL = (
    "grid",
    "setting",
    "seeds",
    "measures",
    "every",
    "budget",
    "targets",
    "time_limit",
    "memory_limit",
    "price",
    "reference",
    "ordering",
    "forms",
    "unit",
    "assumed",
    "tune",
)
"""The fields that it may have; under ``[[study]]`` key, title and about, too.

Beside several studies they stand for each that does not have its own.
"""

_NAMING = ("problems", "algorithms", "measures", "targets", "grid", "setting", "tune")
"""The fields in which somebody's own things may be named."""

SUITE = ("candidate",)
"""What the spec of a suite may say, too: parameters of a method that is compared on it."""

GIGABYTE = 1e9
"""Bytes; memory limits are given in GB."""

T = TypeVar("T")
D = TypeVar("D")


def read_spec(path: Path, text: str | None = None) -> Spec:
    """Read the TOML file of a sweep or a report; a text if it is given, as if it were that file.

    Nothing that the file names is imported or built.

    Raises
    ------
    InputError
        If the file cannot be read, is not TOML, or a field is missing, unknown or wrong; the
        message names the field. `Mistakes`, which tell of each, if there are several.
    """
    table, text = read_toml(path, text)
    table = _files_beside(path, table)
    noting, where = Noting(), str(path)
    own = (*PAGE, *NEEDED, *OPTIONAL) if "study" in table else (*PAGE, *NEEDED, *OPTIONAL, *SUITE)
    of_spec = _Table(where, table, noting, (*own, "study"))
    name = of_spec.take("name", fields.name, path.stem)
    title = of_spec.take("title", fields.text, name)
    about = of_spec.take("about", fields.any_text, "")
    if "study" in table:
        tables: Sequence[Any] = of_spec.take("study", fields.tables, ())
        common = {name: part for name, part in table.items() if name in (*NEEDED, *OPTIONAL)}
        studies = [
            _listed({**common, **part}, f"{where}, study {k}", noting, k)
            for k, part in enumerate(tables, 1)
        ]
        with noting():
            for key, times in Counter(study.key for study in studies if study).items():
                if times > 1:
                    raise InputError(f"{where}: two studies have the key {key!r}: rename one.")
    else:
        studies = [_study(of_spec, replace(_EMPTY, title=title))]
    candidate: Mapping[str, Any] = of_spec.take("candidate", fields.candidate, {})
    noting.refuse()
    whole = [study for study in studies if study]
    many = sum(_number(study) for study in whole)
    check_number(where, {"runs of all studies": many})
    spec = Spec(name, title, about, tuple(whole), text, path, candidate)
    try:
        spec.runs()
        spec.searches()
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    return spec


def _files_beside(path: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a spec; what they name as FILE.py:NAME lies in the folder of the spec.

    Paths are then those from the current folder.
    """

    def beside_it(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: beside_it(part) for name, part in value.items()}
        if isinstance(value, list):
            return [beside_it(part) for part in value]
        return beside(value, path) if isinstance(value, str) else value

    of_studies = table.get("study")
    found = {name: beside_it(part) if name in _NAMING else part for name, part in table.items()}
    if isinstance(of_studies, list):
        found["study"] = [
            _files_beside(path, one) if isinstance(one, Mapping) else one for one in of_studies
        ]
    return found


class _Table:
    """The fields of a table; what is wrong is noted, and reading goes on."""

    def __init__(
        self, where: str, table: Mapping[str, Any], noting: Noting, known: Sequence[str]
    ) -> None:
        self.where, self.table, self.noting = where, table, noting
        for name in table:
            with noting():
                if name not in known:
                    raise unknown(f"field of {where}", name, known)

    def take(self, field: str, read: fields.Reader[T], default: D) -> T | D:
        """Return what a field says; the default if it is not there, or wrong."""
        if field in self.table:
            with self.noting():
                return read(f"{self.where}: {field}", self.table[field])
        return default

    def need(self, field: str, read: fields.Reader[T], default: D) -> T | D:
        """Return what a field says, which must be there."""
        with self.noting():
            if field not in self.table:
                raise InputError(f"{self.where}: the field {field} is missing.")
        return self.take(field, read, default)


_EMPTY = Study("", "", "", (), (), (Setting("", {}),), (0,), (), ())
"""A study before its fields are read: the defaults of those that have one."""


def _listed(table: Any, where: str, noting: Noting, number: int) -> Study | None:
    """Return one of several studies, None if it is wrong."""
    of_study = _Table(where, table, noting, ("key", "title", "about", *NEEDED, *OPTIONAL))
    key = of_study.take("key", fields.key, f"study-{number}")
    title = of_study.take("title", fields.text, key)
    about = of_study.take("about", fields.any_text, "")
    return _study(of_study, replace(_EMPTY, key=key, title=title, about=about))


def _study(table: _Table, begun: Study) -> Study | None:
    """Return a study with its fields; None if something is wrong, and noted."""
    before = len(table.noting)
    planned = _planned(table, begun)
    measured = _measured(table, planned or begun)
    with table.noting():
        measured = _tuned(table, measured)
    if planned:
        _check_reference(table, measured)
        measured = _check_orderings(table, measured)
    return measured if len(table.noting) == before else None


def _tuned(table: _Table, study: Study) -> Study:
    """Return a study with the methods that are tuned."""
    given: dict[str, Any] = dict(table.take("tune", fields.tune, {}))
    if not given:
        return study
    where = f"{table.where}: tune"
    for name in {name for setting in study.settings for name in setting.values}:
        if any(name in method.grid for method in given["methods"]):
            raise InputError(f"{where}.methods: {name} has values in the grid, too: rename one.")
    both = sorted({*given["seeds"]} & {*study.seeds})
    if both:
        raise InputError(
            f"{where}.seeds has the seed {both[0]}, which is one of the study: what is chosen is "
            "run on fresh seeds, so name others."
        )
    one: Stop | None = given.pop("target", None)
    targets = tuple(study.targets) if one is None else (one,)
    if not targets:
        raise InputError(f"{where}.target is missing, and the study has no targets: give one.")
    targets = tuple(replace(target, measure=in_trace(target.measure)) for target in targets)
    for target in targets:
        known = (*study.measures, *(one.measure for one in study.targets))
        if study.measures and target.measure not in known:
            raise unknown(f"measure of {where}.target", target.measure, study.measures)
    study = replace(study, tune=Tune(targets=targets, **given))
    if len(set(study.every_label)) < len(study.every_label):
        raise InputError(f"{where}.methods: rename a method, as its name is already there.")
    return study


def _planned(table: _Table, begun: Study) -> Study | None:
    """Return a study with what its templates depend on; None if something of it is wrong."""
    before, noting = len(table.noting), table.noting
    problems = table.need("problems", fields.entries, ())
    algorithms = table.need("algorithms", fields.entries, ())
    seeds: Sequence[int] = table.take("seeds", fields.seeds, begun.seeds)
    grid: Mapping[str, Sequence[Any]] = table.take("grid", fields.grid, {})
    rows = table.take("setting", fields.rows, ())
    every = table.take("every", fields.every, begun.every)
    budget = table.take("budget", fields.budget, begun.budget)
    with noting():
        if grid and rows:
            raise InputError(f"{table.where}: grid and setting exclude each other: leave one out.")
        factors = {f"values of {name}": len(values) for name, values in grid.items()}
        factors |= {"settings": len(rows)} if rows else {}
        factors |= {"problems": len(problems), "algorithms": len(algorithms), "seeds": len(seeds)}
        check_number(table.where, factors)
    if len(noting) > before:
        return None
    study = replace(
        begun,
        problems=_named(problems),
        algorithms=_named(algorithms),
        settings=tuple(rows) or tuple(_product(grid)),
        seeds=tuple(seeds),
        every=every,
        budget=budget,
    )
    _check_templates(table, study, [*problems, *algorithms])
    return study


def _measured(table: _Table, begun: Study) -> Study:
    """Return a study with its measures, targets and other limits."""
    targets: tuple[Stop, ...] = table.take("targets", fields.targets, ())
    listed = table.take("measures", fields.entries, ())
    measures = [measure_spelled_out(entry.text) for entry in listed]
    measures = measures or ([targets[-1].measure] if targets else ["objective"])
    names, _ = recorded(measures, targets[-1] if targets else None)
    memory: float | None = table.take("memory_limit", fields.limit, None)
    return replace(
        begun,
        measures=tuple(dict.fromkeys(map(in_trace, names))),
        recorded=names,
        targets=tuple(replace(one, measure=in_trace(one.measure)) for one in targets),
        time_limit=table.take("time_limit", fields.limit, None),
        memory_limit=None if memory is None else memory * GIGABYTE,
        price=table.take("price", fields.price, {}),
        reference=table.take("reference", fields.reference, {}),
        orderings=tuple(table.take("ordering", orderings, ())),
        forms=table.take("forms", forms, {}),
        units=tuple(table.take("unit", units, ())),
        assumed=table.take("assumed", texts, ()),
    )


def _check_reference(table: _Table, study: Study) -> None:
    """Note a reference that is not of every problem, or not of every target."""
    where, labels = f"{table.where}: reference", [problem.label for problem in study.problems]
    for label, calls in study.reference.items():
        with table.noting():
            if label not in labels:
                raise unknown(f"problem in {where}", label, labels)
            if len(calls) != len(study.targets):
                raise InputError(
                    f"{where}.{label} has {len(calls)} numbers, where there are "
                    f"{len(study.targets)} targets: give one for each, the hardest last."
                )
    with table.noting():
        missing = [label for label in labels if label not in study.reference]
        if study.reference and missing:
            raise InputError(f"{where} has no calls for {missing[0]!r}: each problem needs them.")


def _check_orderings(table: _Table, study: Study) -> Study:
    """Note orders of what the study does not have; return it with the measure of each."""
    found = []
    with table.noting():
        check_forms(table.where, study)
    for number, one in enumerate(study.orderings, 1):
        with table.noting():
            found.append(known_ordering(f"{table.where}: ordering {number}", one, study))
    return replace(study, orderings=tuple(found))


def _named(entries: Sequence[Entry]) -> tuple[Named, ...]:
    """Return entries under their labels, or under what distinguishes them."""
    made = labels_of([entry.text for entry in entries])
    return tuple(
        Named(entry.label or label, entry.text) for entry, label in zip(entries, made, strict=True)
    )


def _product(grid: Mapping[str, Sequence[Any]]) -> Iterator[Setting]:
    """Yield the settings of a grid; titles tell the values of what has several."""
    for chosen in product(*grid.values()):
        values = dict(zip(grid, chosen, strict=True))
        told = {name: value for name, value in values.items() if len(grid[name]) > 1}
        yield Setting(title_of(told), values)


def _check_templates(table: _Table, study: Study, entries: Sequence[Entry]) -> None:
    """Note templates that give no run at some setting, and values that nothing asks for."""
    where = table.where
    templates: list[tuple[str, str, Callable[[str], Any]]] = [
        *((entry.field, entry.text, canonical) for entry in entries),
        (f"{where}: every", study.every, partial(frequency, where)),
    ]
    if study.budget:
        templates.append((f"{where}: budget", study.budget, Budget.parse))
    for field, template, parse in templates:
        with table.noting():
            for setting in study.settings:
                giver = f"setting {setting.title!r}" if "setting" in table.table else "the grid"
                values = {**setting.values, "seed": study.seeds[0]}
                text = filled(template, where=field, giver=giver, values=values)
                try:
                    parse(text)
                except InputError as error:
                    raise InputError(f"{field} = {said(text)}: {error}") from None
    with table.noting():
        used = set().union(*(names_in(text, where=field) for field, text, _ in templates))
        for method in table.take("tune", fields.tune, {}).get("methods", ()):
            used |= names_in(method.selector, where=f"{where}: tune")
        used |= names_in_units(replace(study, units=tuple(table.take("unit", units, ()))))
        for name in dict.fromkeys(name for one in study.settings for name in one.values):
            if name not in used:
                place = "setting" if "setting" in table.table else "grid"
                raise InputError(
                    f"{where}: {place}.{name} is used nowhere: write {{{name}}} in a selector."
                )


def _number(study: Study) -> int:
    """Return how many runs a study has; those that are equal count each time."""
    algorithms = len(study.algorithms) * len(study.seeds)
    if study.tune:
        runs = len(study.seeds) + study.tune.trials * len(study.tune.seeds)
        algorithms += len(study.tune.methods) * runs
    return len(study.problems) * len(study.settings) * algorithms
