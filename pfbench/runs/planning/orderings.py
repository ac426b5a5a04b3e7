"""Published orders of algorithms, as a spec states them under ``[[ordering]]``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pfbench.base.checks import real
from pfbench.base.errors import InputError, Noting
from pfbench.base.names import unknown
from pfbench.runs.loop.stop import in_trace
from pfbench.runs.planning import fields
from pfbench.runs.planning.study import Ordering, Study
from pfbench.runs.planning.toml import said

FIELDS = ("source", "says", "order", "measure", "target", "problems", "settings")
"""What an ordering may say; source and order must be there."""

DERIVED = "suboptimality"
"""A measure that no run records: it is computed from the objective."""


def orderings(field: str, value: Any) -> Sequence[Ordering]:
    """Return the orders; whether the study has what they name is not looked at."""
    noting = Noting()
    found: list[Ordering] = []
    for number, table in enumerate(fields.tables(field, value), 1):
        with noting():
            found.append(_ordering(f"{field} {number}", table))
    noting.refuse()
    return found


def known_ordering(where: str, ordering: Ordering, study: Study) -> Ordering:
    """Return an order with its measure; by default that of the targets, or else the first.

    Raises
    ------
    InputError
        If it names an algorithm, a problem, a setting or a measure that the study does not have.
    """
    named = [label for place in ordering.order for label in place]
    methods = study.tune.methods if study.tune else ()
    tuned = [method.tuned_label for method in methods]
    titles = [setting.title for setting in study.settings]
    problems = [problem.label for problem in study.problems]
    for thing, given, known in (
        ("algorithm", named, [*study.labels, *tuned]),
        ("problem", ordering.problems, problems),
        ("setting", ordering.settings, titles),
        ("measure", [ordering.measure] if ordering.measure else [], _measures(study)),
    ):
        for name in given:
            if name not in known:
                raise unknown(f"{thing} in {where}", name, known)
    own = study.stop.measure if study.stop else study.measures[0]
    return replace(ordering, measure=ordering.measure or own)


def _measures(study: Study) -> list[str]:
    derived = [DERIVED] if "objective" in study.measures else []
    return [*study.measures, *derived]


def _ordering(where: str, table: Mapping[str, Any]) -> Ordering:
    for name in table:
        if name not in FIELDS:
            raise unknown(f"field of {where}", name, FIELDS)
    for name in ("source", "order"):
        if name not in table:
            raise InputError(f"{where}: the field {name} is missing.")
    target = table.get("target")
    return Ordering(
        fields.text(f"{where}: source", table["source"]),
        fields.any_text(f"{where}: says", table.get("says", "")),
        _order(f"{where}: order", table["order"]),
        in_trace(fields.any_text(f"{where}: measure", table.get("measure", ""))),
        None if target is None else real(f"{where}: target", target),
        _texts(f"{where}: problems", table.get("problems", [])),
        _texts(f"{where}: settings", table.get("settings", [])),
    )


def _order(field: str, value: Any) -> tuple[tuple[str, ...], ...]:
    """Return the places: a label each, or a list of labels."""
    if not isinstance(value, list) or len(value) < 2:
        raise InputError(
            f"{field} = {said(value)} must list two labels or more, the best first; a list within "
            "it is one place."
        )
    found = tuple(_texts(f"{field}[{k}]", one) for k, one in enumerate(value))
    named = [label for place in found for label in place]
    if not all(found) or len(set(named)) < len(named):
        raise InputError(f"{field} = {said(value)} must have each label once, and no empty place.")
    return found


def _texts(field: str, value: Any) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value]
    return tuple(fields.text(f"{field}[{k}]", one) for k, one in enumerate(listed))
