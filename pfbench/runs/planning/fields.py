"""The fields of a spec: what each may hold, and what it then means.

Each function takes the place of a field, for its refusal, and what stands there.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pfbench.base.checks import choice, file_name, integer, real
from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError, Noting
from pfbench.base.names import check_names, unknown
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.labels import title_of, written
from pfbench.runs.planning.plan import check_number
from pfbench.runs.planning.plugged import measure_spelled_out
from pfbench.runs.planning.study import Setting
from pfbench.runs.planning.template import names_in
from pfbench.runs.planning.toml import said
from pfbench.runs.planning.tune import Tuned

T = TypeVar("T")

Reader = Callable[[str, Any], T]
"""Reads a field: its place, and its value."""


@dataclass(frozen=True)
class Entry:
    """One of several texts: its place, its label (empty if it has none), and the text."""

    field: str
    label: str
    text: str


def any_text(field: str, value: Any) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise InputError(f"{field} = {said(value)} must be a text.")
    return value


def text(field: str, value: Any) -> str:
    """Return a text that is not empty."""
    if not any_text(field, value).strip():
        raise InputError(f"{field} = {said(value)} must be a text that is not empty.")
    return str(value)


def name(field: str, value: Any) -> str:
    """Return a name that files can have."""
    return file_name(field, text(field, value))


def key(field: str, value: Any) -> str:
    """Return a short name that files and addresses can have."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", text(field, value)):
        raise InputError(
            f"{field} = {said(value)} becomes part of a file's name: use letters, digits, hyphens, "
            "dots and underscores."
        )
    return str(value)


def tables(field: str, value: Any) -> Sequence[Mapping[str, Any]]:
    """Return a list of tables, at least one."""
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise InputError(f"{field} = {said(value)} must be tables, each under [[...]].")
    if not value:
        raise InputError(f"{field} is empty.")
    return value


def entries(field: str, value: Any) -> Sequence[Entry]:
    """Return texts: a list of them, a table, whose keys are their labels, or a single one."""
    noting = Noting()
    found: list[Entry] = []
    known: set[str] = set()
    for place, label, entry in _each(field, value):
        with noting():
            if text(place, entry) in known:
                raise InputError(f"{place} = {said(entry)} is there twice.")
            known.add(entry)
            found.append(Entry(place, label, entry))
    noting.refuse()
    if not found:
        raise InputError(f"{field} is empty.")
    return found


def _each(field: str, value: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the place, the label and the value of each entry."""
    if isinstance(value, Mapping):
        for label, entry in value.items():
            yield f"{field}.{text(f'{field}: a label', label)}", label, entry
    elif isinstance(value, list):
        for k, entry in enumerate(value):
            yield f"{field}[{k}]", "", entry
    elif isinstance(value, str):
        yield field, "", value
    else:
        raise InputError(f"{field} = {said(value)} must be a list of texts.")


def seeds(field: str, value: Any) -> Sequence[int]:
    """Return the seeds: a list of them, or their number."""
    if not isinstance(value, list):
        return range(integer(field, value, least=1))
    found = [integer(f"{field}[{k}]", seed, least=0) for k, seed in enumerate(value)]
    if not found or len(set(found)) < len(found):
        raise InputError(f"{field} = {said(value)} must be different seeds, at least one.")
    return found


def grid(field: str, value: Any) -> Mapping[str, Sequence[Any]]:
    """Return lists of values by their names."""
    if not isinstance(value, Mapping):
        raise InputError(f"{field} = {said(value)} must be a table of lists.")
    noting = Noting()
    for of, values in value.items():
        with noting():
            _check_name(f"{field}.{of}", of)
            if not isinstance(values, list) or not values:
                raise InputError(f"{field}.{of} = {said(values)} must be a list of values.")
            first: dict[str, int] = {}
            for k, one in enumerate(values):
                _check_value(f"{field}.{of}[{k}]", one)
                if first.setdefault(written(one), k) != k:
                    raise InputError(f"{field}.{of}[{k}] = {said(one)} is there twice.")
    noting.refuse()
    return value


def rows(field: str, value: Any) -> Sequence[Setting]:
    """Return settings that are listed one by one."""
    noting = Noting()
    found: dict[str, Setting] = {}
    for k, row in enumerate(tables(field, value), 1):
        with noting():
            values = {of: one for of, one in row.items() if of != "title"}
            for of, one in values.items():
                _check_name(f"{field} {k}: {of}", of)
                _check_value(f"{field} {k}: {of}", one)
            title = text(f"{field} {k}: title", row.get("title", title_of(values)))
            if title in found:
                raise InputError(f"{field} {k}: the title {title!r} is there twice.")
            found[title] = Setting(title, values)
    noting.refuse()
    return list(found.values())


def _check_name(field: str, of: str) -> None:
    if not of.isidentifier() or of == "seed":
        raise InputError(f"{field} needs a name of letters, other than seed.")


def _check_value(field: str, value: Any) -> None:
    if not isinstance(value, (str, int, float)):
        raise InputError(f"{field} = {said(value)} must be a number or text.")


def targets(field: str, value: Any) -> tuple[Stop, ...]:
    """Return the targets, hardest last."""
    noting = Noting()
    found: list[Stop] = []
    for entry in entries(field, value):
        with noting():
            found.append(_parsed(entry.field, entry.text))
    noting.refuse()
    if len({target.measure for target in found}) > 1:
        raise InputError(f"{field} are of different measures: a run stops at one of them.")
    return tuple(sorted(found, key=lambda target: -target.target))


def _parsed(field: str, target: str) -> Stop:
    try:
        stop = Stop.parse(target)
        return replace(stop, measure=measure_spelled_out(stop.measure))
    except InputError as error:
        raise InputError(f"{field} = {said(target)}: {error}") from None


def every(field: str, value: Any) -> str:
    """Return a number of iterations as a text, with names in braces."""
    return value if isinstance(value, str) else str(integer(field, value, least=1))


def budget(field: str, value: Any) -> str:
    """Return a budget as one text, with names in braces."""
    if isinstance(value, Mapping):
        check_names(f"field of {field}", value, COUNTED)
        return ",".join(f"{of}={limit}" for of, limit in value.items())
    if not isinstance(value, str):
        raise InputError(
            f"{field} = {said(value)} must be a table, or a text as in sfo=1e6,lo=1e3."
        )
    return value


def limit(field: str, value: Any) -> float:
    """Return a number above 0."""
    return real(field, value, above=0.0)


def price(field: str, value: Any) -> Mapping[str, float]:
    """Return what a call of each kind costs; at least one costs something."""
    if not isinstance(value, Mapping):
        raise InputError(f"{field} = {said(value)} must be a table, as in {{ sfo = 1, lo = 50 }}.")
    for of, weight in value.items():
        if of not in COUNTED:
            raise unknown(f"field of {field}", of, COUNTED)
        real(f"{field}.{of}", weight, least=0.0)
    if not any(value.values()):
        raise InputError(f"{field} = {said(value)}: no call costs anything.")
    return {of: float(weight) for of, weight in value.items()}


def reference(field: str, value: Any) -> Mapping[str, tuple[float, ...]]:
    """Return the calls to each target that count as factor 1, by the label of the problem."""
    if not isinstance(value, Mapping):
        raise InputError(f"{field} = {said(value)} must be a table: for each problem its calls.")
    found = {}
    for label, calls in value.items():
        listed = calls if isinstance(calls, list) else [calls]
        where = f"{field}.{label}"
        found[label] = tuple(real(f"{where}[{k}]", one, above=0.0) for k, one in enumerate(listed))
    return found


def tune(field: str, value: Any) -> Mapping[str, Any]:
    """Return how methods are tuned: the arguments of a `Tune` that are given."""
    known = ("trials", "seeds", "methods", "target", "count", "beyond")
    if not isinstance(value, Mapping):
        raise InputError(f"{field} = {said(value)} must be a table.")
    noting = Noting()
    for of in value:
        with noting():
            if of not in known:
                raise unknown(f"field of {field}", of, known)
    for of in ("trials", "seeds", "methods"):
        with noting():
            if of not in value:
                raise InputError(f"{field}.{of} is missing.")
    noting.refuse()
    found: dict[str, Any] = {}
    with noting():
        found["trials"] = integer(f"{field}.trials", value["trials"], least=1)
    with noting():
        found["seeds"] = tuple(seeds(f"{field}.seeds", value["seeds"]))
    with noting():
        found["methods"] = _methods(f"{field}.methods", value["methods"])
    with noting():
        if "target" in value:
            found["target"] = _parsed(f"{field}.target", text(f"{field}.target", value["target"]))
    with noting():
        found["count"] = choice(f"{field}.count", value.get("count", "sfo"), COUNTED)
    with noting():
        found["beyond"] = value.get("beyond", True)
        if not isinstance(found["beyond"], bool):
            raise InputError(f"{field}.beyond = {said(found['beyond'])} must be true or false.")
    noting.refuse()
    for method in found["methods"]:
        check_number(f"{field}.methods.{method.label}", {"points of its grid": method.size})
    return found


def _methods(field: str, value: Any) -> tuple[Tuned, ...]:
    """Return the methods that are tuned: for each label its selector, and values to be tried."""
    if not isinstance(value, Mapping) or not value:
        raise InputError(f"{field} = {said(value)} must be tables, a label and its grid each.")
    noting = Noting()
    found: dict[str, Tuned] = {}
    for label, table in value.items():
        with noting():
            where = f"{field}.{text(f'{field}: a label', label)}"
            if not isinstance(table, Mapping) or "selector" not in table:
                raise InputError(f"{where} needs a selector, and lists of values to be tried.")
            selector = text(f"{where}.selector", table["selector"])
            if selector in found:
                raise InputError(f"{where}.selector = {said(selector)} is there twice.")
            values = {of: one for of, one in table.items() if of != "selector"}
            found[selector] = Tuned(label, selector, grid(where, values))
            unused = [of for of in values if of not in names_in(selector, where=where)]
            if not values or unused:
                lacking = f"{unused[0]} is used nowhere" if unused else "no values are named"
                raise InputError(f"{where}: {lacking}: write {{NAME}} in its selector, and a list.")
    noting.refuse()
    return tuple(found.values())


PROJECTING = "projecting"
"""The table in ``[candidate]`` of what is other for a method that asks no linear minimisation."""


def candidate(field: str, value: Any) -> Mapping[str, Any]:
    """Return parameters by name: numbers or texts, and lists of them.

    Under `PROJECTING` stand those of a method that projects, where they are others.
    """
    if not isinstance(value, Mapping):
        raise InputError(f"{field} = {said(value)} must be a table of parameters.")
    own = {of: one for of, one in value.items() if of != PROJECTING}
    grid(field, {of: one if isinstance(one, list) else [one] for of, one in own.items()})
    if PROJECTING not in value:
        return own
    return own | {PROJECTING: candidate(f"{field}.{PROJECTING}", value[PROJECTING])}
