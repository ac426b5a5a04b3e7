"""Published rankings in a spec: ``[[ordering]]``, ``[forms]``, ``[[unit]]``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pfbench.base.checks import check_real
from pfbench.base.errors import ErrorCollector, InputError
from pfbench.base.names import check_names
from pfbench.runs.loop.stop import trace_name
from pfbench.runs.planning import spec_fields
from pfbench.runs.planning.published import CostUnit, PublishedOrdering
from pfbench.runs.planning.study import Study
from pfbench.runs.planning.template import placeholder_names
from pfbench.runs.planning.toml import abbreviate

T = TypeVar("T")

FIELDS = (
    *("source", "place", "says", "states", "order", "measure", "target", "problems", "settings"),
)
"""Allowed fields of an ordering; source and order are required."""

UNIT_FIELDS = ("name", "weights", "otherwise", "says", "place")
"""Allowed fields of a unit; name and weights are required."""

DERIVED = "suboptimality"
"""Measure that no run records: it is computed from the objective."""


def parse_orderings(field: str, value: Any) -> Sequence[PublishedOrdering]:
    """Return the orderings, without checking the names in them against the study."""
    return _read_tables(field, value, _parse_ordering)


def parse_forms(field: str, value: Any) -> Mapping[str, tuple[str, ...]]:
    """Return labels of forms by method, without checking them against the study."""
    if not isinstance(value, Mapping):
        raise InputError(f"{field} = {abbreviate(value)} must be a table of labels by method.")
    forms = {name: parse_texts(f"{field}.{name}", source) for name, source in value.items()}
    for name, form in forms.items():
        if not form or len(set(form)) < len(form):
            raise InputError(f"{field}.{name} must list labels of algorithms, each once.")
    return forms


def parse_units(field: str, value: Any) -> Sequence[CostUnit]:
    """Return the cost units of a paper, in the order of the spec."""
    return _read_tables(field, value, _parse_unit)


def _read_tables(
    field: str, value: Any, read: Callable[[str, Mapping[str, Any]], T]
) -> Sequence[T]:
    """Return the result of `read` for each table; collect all errors."""
    noting = ErrorCollector()
    tables: list[T] = []
    for number, table in enumerate(spec_fields.parse_tables(field, value), 1):
        with noting():
            tables.append(read(f"{field} {number}", table))
    noting.raise_collected()
    return tables


def check_forms_and_units(location: str, study: Study) -> None:
    """Raise for forms and units of algorithms that a study does not have.

    Raises
    ------
    InputError
        If a label is unknown, a name is also an algorithm's, or the weights of a unit are wrong.
    """
    all_labels = study.all_labels
    for name, labels in study.forms.items():
        check_names(f"algorithm in {location}: forms.{name}", labels, all_labels)
        if name in all_labels and name not in labels:
            raise InputError(
                f"{location}: forms.{name} has the name of another algorithm: rename it."
            )
    for unit in study.units:
        check_names(f"algorithm in {location}: unit {unit.name!r}", unit.exceptions, all_labels)
        for label in all_labels:
            for setting in study.settings:
                study.unit_costs(unit, label, setting.values)


def placeholder_names_in_units(study: Study) -> set[str]:
    """Return the names in braces in the units of a study."""
    texts = [text for unit in study.units for text in (unit.weights, *unit.exceptions.values())]
    return set().union(*(placeholder_names(text, location="unit") for text in texts))


def check_ordering_and_set_measure(
    location: str, ordering: PublishedOrdering, study: Study
) -> PublishedOrdering:
    """Return an ordering with its measure; by default that of the targets, or else the first.

    Raises
    ------
    InputError
        If the ordering names an algorithm, a problem, a setting or a measure that the study lacks.
    """
    derived = [DERIVED] if "objective" in study.measures else []
    for component, value, existing in (
        ("algorithm", ordering.names, [*study.all_labels, *study.forms]),
        ("problem", ordering.problems, [problem.label for problem in study.problems]),
        ("setting", ordering.settings, [setting.title for setting in study.settings]),
        ("measure", [ordering.measure] if ordering.measure else [], [*study.measures, *derived]),
    ):
        check_names(f"{component} in {location}", value, existing)
    own = study.final_target.measure if study.final_target else study.measures[0]
    return replace(ordering, measure=ordering.measure or own)


def _check_fields(
    location: str, table: Mapping[str, Any], existing: Sequence[str], needed: Sequence[str]
) -> None:
    check_names(f"field of {location}", table, existing)
    for name in needed:
        if name not in table:
            raise InputError(f"{location}: the field {name} is missing.")


def _parse_ordering(location: str, table: Mapping[str, Any]) -> PublishedOrdering:
    _check_fields(location, table, FIELDS, ("source", "order"))
    target = table.get("target")
    return PublishedOrdering(
        spec_fields.parse_text(f"{location}: source", table["source"]),
        spec_fields.parse_any_text(f"{location}: says", table.get("says", "")),
        _parse_ranked_labels(f"{location}: order", table["order"]),
        trace_name(spec_fields.parse_any_text(f"{location}: measure", table.get("measure", ""))),
        None if target is None else check_real(f"{location}: target", target),
        parse_texts(f"{location}: problems", table.get("problems", [])),
        parse_texts(f"{location}: settings", table.get("settings", [])),
        spec_fields.parse_any_text(f"{location}: place", table.get("place", "")),
        spec_fields.parse_any_text(f"{location}: states", table.get("states", "")),
    )


def _parse_unit(location: str, table: Mapping[str, Any]) -> CostUnit:
    _check_fields(location, table, UNIT_FIELDS, ("name", "weights"))
    otherwise = table.get("otherwise", {})
    if not isinstance(otherwise, Mapping):
        raise InputError(
            f"{location}: otherwise = {abbreviate(otherwise)} must be a table: weights by label."
        )
    return CostUnit(
        spec_fields.parse_text(f"{location}: name", table["name"]),
        spec_fields.parse_text(f"{location}: weights", table["weights"]),
        {
            key: spec_fields.parse_text(f"{location}: otherwise.{key}", item)
            for key, item in otherwise.items()
        },
        spec_fields.parse_any_text(f"{location}: says", table.get("says", "")),
        spec_fields.parse_any_text(f"{location}: place", table.get("place", "")),
    )


def _parse_ranked_labels(field: str, value: Any) -> tuple[tuple[str, ...], ...]:
    """Return the labels of each rank; a rank is given as a label or a list of labels."""
    if not isinstance(value, list) or len(value) < 2:
        raise InputError(
            f"{field} = {abbreviate(value)} must list two labels or more, the best first; a list within "  # noqa: E501
            "it is one rank."
        )
    result = tuple(parse_texts(f"{field}[{k}]", item) for k, item in enumerate(value))
    named = [label for location in result for label in location]
    if not all(result) or len(set(named)) < len(named):
        raise InputError(
            f"{field} = {abbreviate(value)} must have each label once, and no empty rank."
        )
    return result


def parse_texts(field: str, value: Any) -> tuple[str, ...]:
    """Return texts that are given as a list of strings or a single string."""
    listed = value if isinstance(value, list) else [value]
    return tuple(spec_fields.parse_text(f"{field}[{k}]", item) for k, item in enumerate(listed))
