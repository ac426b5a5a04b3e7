"""Specs: the TOML format of sweeps and reports.

The top level is one study, or has several under ``[[study]]``. The JSON schema is
``pfbench/cli/schemas/spec.json``. All errors of a file are reported at once.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from pfbench.base.errors import ErrorCollector, InputError
from pfbench.base.names import check_names
from pfbench.runs.loop.run import Stop, list_recorded_measures, trace_name
from pfbench.runs.planning import published, spec_fields
from pfbench.runs.planning.name_resolution import unquote_selector
from pfbench.runs.planning.plan import check_run_count
from pfbench.runs.planning.published import PublishedOrdering
from pfbench.runs.planning.spec_fields import FieldEntry, Reader
from pfbench.runs.planning.spec_text import (
    make_labels,
    placeholder_names,
    read_toml,
    resolve_files,
    setting_title,
)
from pfbench.runs.planning.study import LabelledSelector, Spec, Study
from pfbench.runs.planning.tune import StudySetting

PAGE: Mapping[str, Reader[Any]] = {
    "name": spec_fields.parse_file_name,
    "title": spec_fields.parse_text,
    "about": spec_fields.parse_any_text,
}
"""Optional descriptive fields of a spec."""

NEEDED = ("problems", "algorithms")
"""Required fields of a study."""

_RUN_FIELDS: Mapping[str, Reader[Any]] = {
    "problems": spec_fields.parse_entries,
    "algorithms": spec_fields.parse_entries,
    "seeds": spec_fields.parse_seeds,
    "grid": spec_fields.parse_grid,
    "setting": spec_fields.parse_settings,
    "every": spec_fields.parse_recording_interval,
    "budget": spec_fields.parse_any_text,
}
"""Fields without which the runs of a study are unknown."""

STUDY_FIELDS: Mapping[str, Reader[Any]] = {
    **_RUN_FIELDS,
    "targets": spec_fields.parse_targets,
    "measures": spec_fields.parse_entries,
    "memory_limit": spec_fields.parse_positive_number,
    "time_limit": spec_fields.parse_positive_number,
    "price": spec_fields.parse_price,
    "ordering": published.parse_orderings,
    "forms": published.parse_variant_labels,
    "unit": published.parse_units,
    "assumed": spec_fields.parse_texts,
    "tune": spec_fields.parse_tuning,
}
"""Fields of a study; with several studies, fields at the top level are defaults of the studies."""

_HEADING: Mapping[str, Reader[Any]] = {
    "key": spec_fields.parse_file_name,
    "title": spec_fields.parse_text,
    "about": spec_fields.parse_any_text,
}
"""Further fields under ``[[study]]``."""

_ATTRIBUTES = {
    "every": "frequency",
    "budget": "budget",
    "time_limit": "time_limit",
    "price": "price",
    "ordering": "orderings",
    "forms": "forms",
    "unit": "units",
    "assumed": "assumed_settings",
    "tune": "tune",
}
"""Attribute of a study for each field that is taken as it is read."""

GIGABYTE = 1e9
"""Bytes of a gigabyte; memory limits are given in GB."""


def load_spec(path: Path, text: str | None = None) -> Spec:
    """Return the spec in a TOML file; `text`, if given, replaces the content of the file.

    Nothing that the file names is imported or built.

    Raises
    ------
    InputError
        If the file cannot be read, is not TOML, or a field is missing, unknown or wrong; the
        message names the field. `InputErrors`, with all of them, if there are several.
    """
    table, text = read_toml(path, text)
    table = resolve_files(path, table)
    errors, location = ErrorCollector(), str(path)
    existing = {**PAGE, **STUDY_FIELDS, "study": spec_fields.parse_tables}
    studies: list[Study | None] = []
    if "study" in table:
        common = {name: part for name, part in table.items() if name in STUDY_FIELDS}
        own = {name: part for name, part in table.items() if name not in STUDY_FIELDS}
        page = spec_fields.parse_fields(location, own, existing, errors)
        keys: Counter[str] = Counter()
        for number, part in enumerate(page.get("study", ()), 1):
            study_location, values = f"{location}, study {number}", {**common, **part}
            fields = spec_fields.parse_fields(
                study_location, values, {**_HEADING, **STUDY_FIELDS}, errors, NEEDED
            )
            key = fields.get("key", f"study-{number}")
            keys[key] += 1
            study = Study(key, fields.get("title", key), fields.get("about", ""))
            studies.append(_fill_study(study_location, values, fields, errors, study))
        for key, times in keys.items():
            with errors():
                if times > 1:
                    raise InputError(f"{location}: two studies have the key {key!r}: rename one.")
    else:
        existing["candidate"] = spec_fields.parse_candidate_parameters
        page = spec_fields.parse_fields(location, table, existing, errors, NEEDED)
        study = Study("", page.get("title", page.get("name", path.stem)), "")
        studies.append(_fill_study(location, table, page, errors, study))
    errors.raise_collected()
    complete = [study for study in studies if study]
    many = sum(_count_runs(study) for study in complete)
    check_run_count(location, many)
    name = page.get("name", path.stem)
    spec = Spec(
        name,
        page.get("title", name),
        page.get("about", ""),
        tuple(complete),
        text,
        path,
        page.get("candidate", {}),
    )
    try:
        spec.runs()
        spec.search_runs()
    except InputError as error:
        raise InputError(f"{location}: {error}") from None
    return spec


def _fill_study(
    location: str,
    table: Mapping[str, Any],
    fields: Mapping[str, Any],
    errors: ErrorCollector,
    heading: Study,
) -> Study | None:
    """Return a study with the given fields; None if a field that defines its runs is invalid.

    Parameters
    ----------
    table, fields
        All fields of the study as written, and the valid ones as read.
    heading
        Study with key, title and introduction only.
    """
    if not {*NEEDED} <= fields.keys() or (_RUN_FIELDS.keys() & table.keys()) - fields.keys():
        return None
    before = len(errors)
    with errors():
        _check_settings_and_run_count(location, fields)
    if len(errors) > before:
        return None
    study = _with_fields(heading, fields)
    with errors():
        _check_setting_values_are_used(location, study, fields)
    with errors():
        _check_tuning(f"{location}: tune", study)
    with errors():
        _check_variant_labels_and_units(location, study)
    orderings = []
    for number, ordering in enumerate(study.orderings, 1):
        with errors():
            field = f"{location}: ordering {number}"
            orderings.append(_check_ordering_and_set_measure(field, ordering, study))
    return replace(study, orderings=tuple(orderings))


def _check_settings_and_run_count(location: str, fields: Mapping[str, Any]) -> None:
    """Raise if a study has both a grid and settings, or too many runs."""
    grid, rows = fields.get("grid", {}), fields.get("setting", ())
    if grid and rows:
        raise InputError(f"{location}: grid and setting are mutually exclusive: remove one.")
    factors = [
        *grid.values(),
        rows or [None],
        *(fields.get(name, [0]) for name in (*NEEDED, "seeds")),
    ]
    check_run_count(location, prod(map(len, factors)))


def _with_fields(study: Study, fields: Mapping[str, Any]) -> Study:
    """Return a study with its parsed fields."""
    targets: tuple[Stop, ...] = fields.get("targets", ())
    measures = [unquote_selector(entry.text) for entry in fields.get("measures", ())]
    measures = measures or ([targets[-1].measure] if targets else ["objective"])
    names, _ = list_recorded_measures(measures, targets[-1] if targets else None)
    memory = fields.get("memory_limit")
    return replace(
        study,
        problems=_label_entries(fields["problems"]),
        algorithms=_label_entries(fields["algorithms"]),
        seeds=tuple(fields.get("seeds", study.seeds)),
        settings=fields.get("setting") or tuple(_grid_settings(fields.get("grid", {}))),
        measures=tuple(dict.fromkeys(map(trace_name, names))),
        recorded_measures=names,
        targets=tuple(replace(stop, measure=trace_name(stop.measure)) for stop in targets),
        memory_limit=None if memory is None else memory * GIGABYTE,
        **{attribute: fields[name] for name, attribute in _ATTRIBUTES.items() if name in fields},
    )


def _check_tuning(location: str, study: Study) -> None:
    """Raise if the tuning of a study, if any, does not fit its settings, seeds or targets."""
    tune = study.tune
    if tune is None:
        return
    for name in {name for setting in study.settings for name in setting.values}:
        if any(name in method.grid for method in tune.methods):
            raise InputError(
                f"{location}.methods: the name {name} is also used in a setting: rename one."
            )
    if both := {*tune.seeds} & {*study.seeds}:
        raise InputError(
            f"{location}.seeds and the study both have the seed {min(both)}: use other seeds."
        )
    if not study.tuning_targets:
        raise InputError(f"{location} needs a target: add targets to the study.")
    if len(set(study.all_labels)) < len(study.all_labels):
        raise InputError(f"{location}.methods: two methods have the same label: rename one.")


def _label_entries(entries: Sequence[FieldEntry]) -> tuple[LabelledSelector, ...]:
    """Return selectors with labels; missing labels come from `make_labels`."""
    labels = make_labels([entry.text for entry in entries])
    return tuple(
        LabelledSelector(entry.label or label, entry.text)
        for entry, label in zip(entries, labels, strict=True)
    )


def _grid_settings(grid: Mapping[str, Sequence[Any]]) -> Iterator[StudySetting]:
    """Yield all combinations of a grid's values as settings, titled by the values that vary."""
    for chosen in product(*grid.values()):
        values = dict(zip(grid, chosen, strict=True))
        report = {name: value for name, value in values.items() if len(grid[name]) > 1}
        yield StudySetting(setting_title(report), values)


def _check_setting_values_are_used(location: str, study: Study, fields: Mapping[str, Any]) -> None:
    """Raise if no selector, recording interval, budget or cost unit has a value of a setting."""
    texts = [
        *(entry.text for name in NEEDED for entry in fields[name]),
        *(study.frequency, study.budget),
        *(method.selector for method in study.tuned_methods),
        *(text for unit in study.units for text in (unit.weights, *unit.exceptions.values())),
    ]
    used = set().union(*(placeholder_names(text, location=location) for text in texts))
    for name in dict.fromkeys(name for setting in study.settings for name in setting.values):
        if name not in used:
            parent = "setting" if "setting" in fields else "grid"
            raise InputError(
                f"{location}: {parent}.{name} is used nowhere: write {{{name}}} in a selector."
            )


def _count_runs(study: Study) -> int:
    """Return the number of runs of a study; equal runs are counted separately."""
    algorithms = len(study.algorithms) * len(study.seeds)
    if study.tune:
        runs = len(study.seeds) + study.tune.trials * len(study.tune.seeds)
        algorithms += len(study.tune.methods) * runs
    return len(study.problems) * len(study.settings) * algorithms


def _check_variant_labels_and_units(location: str, study: Study) -> None:
    """Raise if a method variant or cost unit names an unknown algorithm, or a weight is invalid.

    Raises
    ------
    InputError
        If a label is unknown, a name is also an algorithm's, or the weights of a unit are wrong.
    """
    all_labels = study.all_labels
    for name, labels in study.forms.items():
        check_names(f"algorithm in {location}: forms.{name}", labels, all_labels)
        if name in all_labels and name not in labels:
            raise InputError(f"{location}: forms.{name} is another algorithm's name: rename it.")
    for unit in study.units:
        check_names(f"algorithm in {location}: unit {unit.name!r}", unit.exceptions, all_labels)
        for label in all_labels:
            for setting in study.settings:
                study.unit_costs(unit, label, setting.values)


def _check_ordering_and_set_measure(
    location: str, ordering: PublishedOrdering, study: Study
) -> PublishedOrdering:
    """Check a published ranking against its study; return it with the measure that it compares.

    The default is the measure of the hardest target, or the first measure of a study without
    targets.

    Raises
    ------
    InputError
        If the ordering names an algorithm, a problem, a setting or a measure that the study lacks.
    """
    # No run records it: it is computed from the objective.
    derived = ["suboptimality"] if "objective" in study.measures else []
    for component, value, existing in (
        ("algorithm", ordering.names, [*study.all_labels, *study.forms]),
        ("problem", ordering.problems, [problem.label for problem in study.problems]),
        ("setting", ordering.settings, [setting.title for setting in study.settings]),
        ("measure", [ordering.measure] if ordering.measure else [], [*study.measures, *derived]),
    ):
        check_names(f"{component} in {location}", value, existing)
    own = study.final_target.measure if study.final_target else study.measures[0]
    return replace(ordering, measure=ordering.measure or own)
