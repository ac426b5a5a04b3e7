"""Specs: the TOML format of sweeps and reports.

The top level is one study, or has several under ``[[study]]``. The JSON schema is
``pfbench/cli/schemas/spec.json``. All errors of a file are reported at once.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from pfbench.base.counts import Budget
from pfbench.base.errors import ErrorCollector, InputError
from pfbench.base.names import unknown_name_error
from pfbench.base.selectors import resolve_relative_files
from pfbench.runs.loop.stop import Stop, list_recorded_measures, trace_name
from pfbench.runs.planning import spec_fields
from pfbench.runs.planning.labels import make_labels, setting_title
from pfbench.runs.planning.orderings import (
    check_forms_and_units,
    check_ordering_and_set_measure,
    parse_forms,
    parse_orderings,
    parse_texts,
    parse_units,
    placeholder_names_in_units,
)
from pfbench.runs.planning.plan import check_run_count
from pfbench.runs.planning.plugin_names import expand_measure_name
from pfbench.runs.planning.spec_fields import FieldEntry
from pfbench.runs.planning.study import (
    LabelledSelector,
    Setting,
    Spec,
    Study,
    canonical_selector,
    resolve_frequency,
)
from pfbench.runs.planning.template import fill_template, placeholder_names
from pfbench.runs.planning.toml import abbreviate, read_toml
from pfbench.runs.planning.tune import TuningPlan

PAGE = ("name", "title", "about")
"""Optional descriptive fields of a spec."""

NEEDED = ("problems", "algorithms")
"""Required fields of a study."""

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
    "ordering",
    "forms",
    "unit",
    "assumed",
    "tune",
)
"""Optional fields of a study; under ``[[study]]`` also key, title and about.

With several studies, fields at the top level are defaults of the studies.
"""

_NAMING = ("problems", "algorithms", "measures", "targets", "grid", "setting", "tune")
"""Fields that may name user-defined code."""

SUITE = ("candidate",)
"""Further fields of a suite: parameters of the candidate."""

GIGABYTE = 1e9
"""Bytes of a gigabyte; memory limits are given in GB."""

T = TypeVar("T")
D = TypeVar("D")


def load_spec(path: Path, text: str | None = None) -> Spec:
    """Read the TOML file of a sweep or a report; `text`, if given, replaces its content.

    Nothing that the file names is imported or built.

    Raises
    ------
    InputError
        If the file cannot be read, is not TOML, or a field is missing, unknown or wrong; the
        message names the field. `InputErrors`, with all of them, if there are several.
    """
    table, text = read_toml(path, text)
    table = _resolve_files(path, table)
    noting, location = ErrorCollector(), str(path)
    own = (*PAGE, *NEEDED, *OPTIONAL) if "study" in table else (*PAGE, *NEEDED, *OPTIONAL, *SUITE)
    of_spec = _SpecTable(location, table, noting, (*own, "study"))
    name = of_spec.take("name", spec_fields.parse_file_name, path.stem)
    title = of_spec.take("title", spec_fields.parse_text, name)
    description = of_spec.take("about", spec_fields.parse_any_text, "")
    if "study" in table:
        tables: Sequence[Any] = of_spec.take("study", spec_fields.parse_tables, ())
        common = {name: part for name, part in table.items() if name in (*NEEDED, *OPTIONAL)}
        studies = [
            _read_study({**common, **part}, f"{location}, study {k}", noting, k)
            for k, part in enumerate(tables, 1)
        ]
        with noting():
            for key, times in Counter(study.key for study in studies if study).items():
                if times > 1:
                    raise InputError(f"{location}: two studies have the key {key!r}: rename one.")
    else:
        studies = [_fill_study(of_spec, replace(_EMPTY, title=title))]
    candidate: Mapping[str, Any] = of_spec.take(
        "candidate", spec_fields.parse_candidate_parameters, {}
    )
    noting.raise_collected()
    complete = [study for study in studies if study]
    many = sum(_count_runs(study) for study in complete)
    check_run_count(location, {"runs of all studies": many})
    spec = Spec(name, title, description, tuple(complete), text, path, candidate)
    try:
        spec.runs()
        spec.search_runs()
    except InputError as error:
        raise InputError(f"{location}: {error}") from None
    return spec


def _resolve_files(path: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a spec, with FILE.py:NAME relative to the folder of the spec.

    Paths are then relative to the current folder.
    """

    def resolve_relative(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: resolve_relative(part) for name, part in value.items()}
        if isinstance(value, list):
            return [resolve_relative(part) for part in value]
        return resolve_relative_files(value, path) if isinstance(value, str) else value

    of_studies = table.get("study")
    relatives = {
        name: resolve_relative(part) if name in _NAMING else part for name, part in table.items()
    }
    if isinstance(of_studies, list):
        relatives["study"] = [
            _resolve_files(path, item) if isinstance(item, Mapping) else item for item in of_studies
        ]
    return relatives


class _SpecTable:
    """Fields of a table; errors are collected, and reading continues."""

    def __init__(
        self,
        location: str,
        table: Mapping[str, Any],
        errors: ErrorCollector,
        existing: Sequence[str],
    ) -> None:
        self.location, self.table, self.noting = location, table, errors
        for name in table:
            with errors():
                if name not in existing:
                    raise unknown_name_error(f"field of {location}", name, existing)

    def take(self, field: str, read: spec_fields.Reader[T], default: D) -> T | D:
        """Return the value of a field; the default if it is missing or wrong."""
        if field in self.table:
            with self.noting():
                return read(f"{self.location}: {field}", self.table[field])
        return default

    def read_required(self, field: str, read: spec_fields.Reader[T], default: D) -> T | D:
        """Return the value of a required field."""
        with self.noting():
            if field not in self.table:
                raise InputError(f"{self.location}: the field {field} is missing.")
        return self.take(field, read, default)


_EMPTY = Study("", "", "", (), (), (Setting("", {}),), (0,), (), ())
"""Study before its fields are read, with the default values."""


def _read_study(table: Any, location: str, errors: ErrorCollector, number: int) -> Study | None:
    """Return one of several studies, None if it is wrong."""
    of_study = _SpecTable(location, table, errors, ("key", "title", "about", *NEEDED, *OPTIONAL))
    key = of_study.take("key", spec_fields.parse_path_safe_name, f"study-{number}")
    title = of_study.take("title", spec_fields.parse_text, key)
    description = of_study.take("about", spec_fields.parse_any_text, "")
    return _fill_study(of_study, replace(_EMPTY, key=key, title=title, introduction=description))


def _fill_study(table: _SpecTable, study: Study) -> Study | None:
    """Return a study with its fields; None after an error, which is collected."""
    before = len(table.noting)
    planned = _with_run_fields(table, study)
    measured = _with_measures_and_limits(table, planned or study)
    with table.noting():
        measured = _with_tuning(table, measured)
    if planned:
        measured = _with_checked_orderings(table, measured)
    return measured if len(table.noting) == before else None


def _with_tuning(table: _SpecTable, study: Study) -> Study:
    """Return a study with the methods that are tuned."""
    arguments: dict[str, Any] = dict(table.take("tune", spec_fields.parse_tuning, {}))
    if not arguments:
        return study
    location = f"{table.location}: tune"
    for name in {name for setting in study.settings for name in setting.values}:
        if any(name in method.grid for method in arguments["methods"]):
            raise InputError(f"{location}.methods: {name} is also a name of the study: rename one.")
    both = sorted({*arguments["seeds"]} & {*study.seeds})
    if both:
        raise InputError(
            f"{location}.seeds has the seed {both[0]}, which the study has, too: the search "
            "needs other seeds."
        )
    stop: Stop | None = arguments.pop("target", None)
    targets = tuple(study.targets) if stop is None else (stop,)
    if not targets:
        raise InputError(f"{location}.target is missing, and the study has no targets: give one.")
    targets = tuple(replace(target, measure=trace_name(target.measure)) for target in targets)
    for target in targets:
        existing = (*study.measures, *(target.measure for target in study.targets))
        if study.measures and target.measure not in existing:
            raise unknown_name_error(
                f"measure of {location}.target", target.measure, study.measures
            )
    study = replace(study, tune=TuningPlan(targets=targets, **arguments))
    if len(set(study.all_labels)) < len(study.all_labels):
        raise InputError(f"{location}.methods: two methods have one label: rename one.")
    return study


def _with_run_fields(table: _SpecTable, started: Study) -> Study | None:
    """Return a study with its problems, algorithms, settings and seeds; None after an error."""
    before, noting = len(table.noting), table.noting
    problems = table.read_required("problems", spec_fields.parse_entries, ())
    algorithms = table.read_required("algorithms", spec_fields.parse_entries, ())
    seeds: Sequence[int] = table.take("seeds", spec_fields.parse_seeds, started.seeds)
    grid: Mapping[str, Sequence[Any]] = table.take("grid", spec_fields.parse_grid, {})
    rows = table.take("setting", spec_fields.parse_settings, ())
    every = table.take("every", spec_fields.parse_frequency, started.frequency)
    budget = table.take("budget", spec_fields.parse_budget, started.budget)
    with noting():
        if grid and rows:
            raise InputError(
                f"{table.location}: grid and setting are mutually exclusive: remove one."
            )
        factors = {f"values of {name}": len(values) for name, values in grid.items()}
        factors |= {"settings": len(rows)} if rows else {}
        factors |= {"problems": len(problems), "algorithms": len(algorithms), "seeds": len(seeds)}
        check_run_count(table.location, factors)
    if len(noting) > before:
        return None
    study = replace(
        started,
        problems=_label_entries(problems),
        algorithms=_label_entries(algorithms),
        settings=tuple(rows) or tuple(_grid_settings(grid)),
        seeds=tuple(seeds),
        frequency=every,
        budget=budget,
    )
    _check_templates(table, study, [*problems, *algorithms])
    return study


def _with_measures_and_limits(table: _SpecTable, study: Study) -> Study:
    """Return a study with its measures, targets and other limits."""
    targets: tuple[Stop, ...] = table.take("targets", spec_fields.parse_targets, ())
    listed = table.take("measures", spec_fields.parse_entries, ())
    measures = [expand_measure_name(entry.text) for entry in listed]
    measures = measures or ([targets[-1].measure] if targets else ["objective"])
    names, _ = list_recorded_measures(measures, targets[-1] if targets else None)
    memory: float | None = table.take("memory_limit", spec_fields.parse_positive_number, None)
    return replace(
        study,
        measures=tuple(dict.fromkeys(map(trace_name, names))),
        recorded_measures=names,
        targets=tuple(replace(stop, measure=trace_name(stop.measure)) for stop in targets),
        time_limit=table.take("time_limit", spec_fields.parse_positive_number, None),
        memory_limit=None if memory is None else memory * GIGABYTE,
        price=table.take("price", spec_fields.parse_price, {}),
        orderings=tuple(table.take("ordering", parse_orderings, ())),
        forms=table.take("forms", parse_forms, {}),
        units=tuple(table.take("unit", parse_units, ())),
        assumed_settings=table.take("assumed", parse_texts, ()),
    )


def _with_checked_orderings(table: _SpecTable, study: Study) -> Study:
    """Return a study whose rankings have their measures; collect errors of wrong rankings."""
    orderings = []
    with table.noting():
        check_forms_and_units(table.location, study)
    for number, ordering in enumerate(study.orderings, 1):
        with table.noting():
            orderings.append(
                check_ordering_and_set_measure(
                    f"{table.location}: ordering {number}", ordering, study
                )
            )
    return replace(study, orderings=tuple(orderings))


def _label_entries(entries: Sequence[FieldEntry]) -> tuple[LabelledSelector, ...]:
    """Return labelled selectors; a selector without label gets one from its differences."""
    labels = make_labels([entry.text for entry in entries])
    return tuple(
        LabelledSelector(entry.label or label, entry.text)
        for entry, label in zip(entries, labels, strict=True)
    )


def _grid_settings(grid: Mapping[str, Sequence[Any]]) -> Iterator[Setting]:
    """Yield the settings of a grid; titles state only the names that have several values."""
    for chosen in product(*grid.values()):
        values = dict(zip(grid, chosen, strict=True))
        report = {name: value for name, value in values.items() if len(grid[name]) > 1}
        yield Setting(setting_title(report), values)


def _check_templates(table: _SpecTable, study: Study, entries: Sequence[FieldEntry]) -> None:
    """Collect errors of templates that are invalid at some setting, and of unused values."""
    location = table.location
    templates: list[tuple[str, str, Callable[[str], Any]]] = [
        *((entry.field, entry.text, canonical_selector) for entry in entries),
        (f"{location}: every", study.frequency, partial(resolve_frequency, location)),
    ]
    if study.budget:
        templates.append((f"{location}: budget", study.budget, Budget.parse))
    for field, template, parse in templates:
        with table.noting():
            for setting in study.settings:
                giver = f"setting {setting.title!r}" if "setting" in table.table else "the grid"
                values = {**setting.values, "seed": study.seeds[0]}
                text = fill_template(template, location=field, values_source=giver, values=values)
                try:
                    parse(text)
                except InputError as error:
                    raise InputError(f"{field} = {abbreviate(text)}: {error}") from None
    with table.noting():
        used = set().union(
            *(placeholder_names(text, location=field) for field, text, _ in templates)
        )
        for method in table.take("tune", spec_fields.parse_tuning, {}).get("methods", ()):
            used |= placeholder_names(method.selector, location=f"{location}: tune")
        used |= placeholder_names_in_units(
            replace(study, units=tuple(table.take("unit", parse_units, ())))
        )
        for name in dict.fromkeys(name for setting in study.settings for name in setting.values):
            if name not in used:
                other_location = "setting" if "setting" in table.table else "grid"
                raise InputError(
                    f"{location}: {other_location}.{name} is used nowhere: write {{{name}}} in a selector."  # noqa: E501
                )


def _count_runs(study: Study) -> int:
    """Return the number of runs of a study; equal runs count each time."""
    algorithms = len(study.algorithms) * len(study.seeds)
    if study.tune:
        runs = len(study.seeds) + study.tune.trials * len(study.tune.seeds)
        algorithms += len(study.tune.methods) * runs
    return len(study.problems) * len(study.settings) * algorithms
