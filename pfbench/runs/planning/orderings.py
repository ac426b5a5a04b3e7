"""What a spec says of published orders: ``[[ordering]]``, ``[forms]``, ``[[unit]]``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pfbench.base.checks import real
from pfbench.base.errors import InputError, Noting
from pfbench.base.names import check_names
from pfbench.runs.loop.stop import in_trace
from pfbench.runs.planning import fields
from pfbench.runs.planning.published import Ordering, Unit
from pfbench.runs.planning.study import Study
from pfbench.runs.planning.template import names_in
from pfbench.runs.planning.toml import said

T = TypeVar("T")

FIELDS = (
    *("source", "place", "says", "states", "order", "measure", "target", "problems", "settings"),
)
"""What an ordering may say; source and order must be there."""

OF_UNIT = ("name", "weights", "otherwise", "says", "place")
"""What a unit may say; name and weights must be there."""

DERIVED = "suboptimality"
"""A measure that no run records: it is computed from the objective."""


def orderings(field: str, value: Any) -> Sequence[Ordering]:
    """Return the orders; whether the study has what they name is not looked at."""
    return _each(field, value, _ordering)


def forms(field: str, value: Any) -> Mapping[str, tuple[str, ...]]:
    """Return the labels of each method's forms; whether the study has them is not looked at."""
    if not isinstance(value, Mapping):
        raise InputError(f"{field} = {said(value)} must be a table: for each method its forms.")
    found = {name: texts(f"{field}.{name}", of) for name, of in value.items()}
    for name, of in found.items():
        if not of or len(set(of)) < len(of):
            raise InputError(f"{field}.{name} must list labels of algorithms, each once.")
    return found


def units(field: str, value: Any) -> Sequence[Unit]:
    """Return the units of a paper, its own first."""
    return _each(field, value, _unit)


def _each(field: str, value: Any, read: Callable[[str, Mapping[str, Any]], T]) -> Sequence[T]:
    """Return what is read of each table; all that is wrong is told at once."""
    noting = Noting()
    found: list[T] = []
    for number, table in enumerate(fields.tables(field, value), 1):
        with noting():
            found.append(read(f"{field} {number}", table))
    noting.refuse()
    return found


def check_forms(where: str, study: Study) -> None:
    """Refuse forms and units of algorithms that a study does not have.

    Raises
    ------
    InputError
        If a label is unknown, a name is an algorithm's, too, or what a unit charges is wrong.
    """
    known = study.every_label
    for name, labels in study.forms.items():
        check_names(f"algorithm in {where}: forms.{name}", labels, known)
        if name in known and name not in labels:
            raise InputError(f"{where}: forms.{name} has the name of another algorithm: rename it.")
    for unit in study.units:
        check_names(f"algorithm in {where}: unit {unit.name!r}", unit.otherwise, known)
        for label in known:
            for setting in study.settings:
                study.charged(unit, label, setting.values)


def names_in_units(study: Study) -> set[str]:
    """Return the names in braces that the units of a study ask for."""
    texts = [text for one in study.units for text in (one.weights, *one.otherwise.values())]
    return set().union(*(names_in(text, where="unit") for text in texts))


def known_ordering(where: str, ordering: Ordering, study: Study) -> Ordering:
    """Return an order with its measure; by default that of the targets, or else the first.

    Raises
    ------
    InputError
        If it names an algorithm, a problem, a setting or a measure that the study does not have.
    """
    derived = [DERIVED] if "objective" in study.measures else []
    for thing, given, known in (
        ("algorithm", ordering.names, [*study.every_label, *study.forms]),
        ("problem", ordering.problems, [problem.label for problem in study.problems]),
        ("setting", ordering.settings, [setting.title for setting in study.settings]),
        ("measure", [ordering.measure] if ordering.measure else [], [*study.measures, *derived]),
    ):
        check_names(f"{thing} in {where}", given, known)
    own = study.stop.measure if study.stop else study.measures[0]
    return replace(ordering, measure=ordering.measure or own)


def _check_fields(
    where: str, table: Mapping[str, Any], known: Sequence[str], needed: Sequence[str]
) -> None:
    check_names(f"field of {where}", table, known)
    for name in needed:
        if name not in table:
            raise InputError(f"{where}: the field {name} is missing.")


def _ordering(where: str, table: Mapping[str, Any]) -> Ordering:
    _check_fields(where, table, FIELDS, ("source", "order"))
    target = table.get("target")
    return Ordering(
        fields.text(f"{where}: source", table["source"]),
        fields.any_text(f"{where}: says", table.get("says", "")),
        _order(f"{where}: order", table["order"]),
        in_trace(fields.any_text(f"{where}: measure", table.get("measure", ""))),
        None if target is None else real(f"{where}: target", target),
        texts(f"{where}: problems", table.get("problems", [])),
        texts(f"{where}: settings", table.get("settings", [])),
        fields.any_text(f"{where}: place", table.get("place", "")),
        fields.any_text(f"{where}: states", table.get("states", "")),
    )


def _unit(where: str, table: Mapping[str, Any]) -> Unit:
    _check_fields(where, table, OF_UNIT, ("name", "weights"))
    otherwise = table.get("otherwise", {})
    if not isinstance(otherwise, Mapping):
        raise InputError(
            f"{where}: otherwise = {said(otherwise)} must be a table: weights by label."
        )
    return Unit(
        fields.text(f"{where}: name", table["name"]),
        fields.text(f"{where}: weights", table["weights"]),
        {of: fields.text(f"{where}: otherwise.{of}", one) for of, one in otherwise.items()},
        fields.any_text(f"{where}: says", table.get("says", "")),
        fields.any_text(f"{where}: place", table.get("place", "")),
    )


def _order(field: str, value: Any) -> tuple[tuple[str, ...], ...]:
    """Return the places: a label each, or a list of labels."""
    if not isinstance(value, list) or len(value) < 2:
        raise InputError(
            f"{field} = {said(value)} must list two labels or more, the best first; a list within "
            "it is one place."
        )
    found = tuple(texts(f"{field}[{k}]", one) for k, one in enumerate(value))
    named = [label for place in found for label in place]
    if not all(found) or len(set(named)) < len(named):
        raise InputError(f"{field} = {said(value)} must have each label once, and no empty place.")
    return found


def texts(field: str, value: Any) -> tuple[str, ...]:
    """Return texts: a list of them, or a single one."""
    listed = value if isinstance(value, list) else [value]
    return tuple(fields.text(f"{field}[{k}]", one) for k, one in enumerate(listed))
