"""Types of all stored fields, as predicates of JSON values; the files of a store are untrusted.

A hash proves that a file is unchanged, not that pfbench wrote it.
"""

import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from pfbench.base.counts import COUNTED
from pfbench.base.status import VERDICT_NAMES
from pfbench.runs.loop.run import STATUSES
from pfbench.runs.storage.damage import KEY, KINDS, DamagedFileError

Type = Callable[[Any], bool]
"""Predicate: whether a JSON value is of a type."""

_TWO_63 = 2**63
_COUNTED = frozenset(COUNTED)

# --- types ----------------------------------------------------------------------------------------


def text(value: Any) -> bool:
    """Return whether a value is a string."""
    return type(value) is str


def flag(value: Any) -> bool:
    """Return whether a value is true or false."""
    return isinstance(value, bool)


def integer(value: Any) -> bool:
    """Return whether a value is an integer of 64 bits."""
    return type(value) is int and -_TWO_63 <= value < _TWO_63


def count(value: Any) -> bool:
    """Return whether a value is a nonnegative integer."""
    return type(value) is int and 0 <= value < _TWO_63


def number(value: Any) -> bool:
    """Return whether a value is a number, including NaN and infinity."""
    return type(value) is float or integer(value)


def table(value: Any) -> bool:
    """Return whether a value is a JSON object."""
    return isinstance(value, dict)


def enumeration(allowed: Collection[str]) -> Type:
    """Return the type of strings that are in the collection `allowed`."""
    return lambda value: text(value) and value in allowed


def text_type(form: str | re.Pattern[str]) -> Type:
    """Return the type of strings that a regular expression matches as a whole."""
    match = re.compile(form).fullmatch
    return lambda value: type(value) is str and match(value) is not None


def list_type(kind: Type) -> Type:
    """Return the type of lists whose entries are of type `kind`."""
    return lambda value: isinstance(value, list) and all(map(kind, value))


def oracle_counts(value: Any) -> bool:
    """Return whether a value is a JSON object with counts of kinds of oracles."""
    return table(value) and value.keys() <= _COUNTED and all(map(count, value.values()))


# --- fields ---------------------------------------------------------------------------------------

_NUMBER = r"-?\d{1,18}(?:\.\d{1,18})?(?:e[+-]?\d{1,3})?"
_COUNT_NAMES = "|".join(COUNTED)
_MOST_SECONDS = 2**36

_TYPES: Mapping[str, Type] = {
    **{"text": text, "flag": flag, "integer": integer, "count": count, "number": number},
    **{"table": table, "oracle counts": oracle_counts},
    "run status": enumeration(tuple(STATUSES)),
    "verdict": enumeration(VERDICT_NAMES),
    "kind": enumeration(KINDS),
    "key": text_type(KEY),
    "counts as text": text_type(rf'\{{(?:"(?:{_COUNT_NAMES})": \d{{1,18}}(?:, |(?=\}})))*\}}'),
    "limits as text": text_type(rf'\{{(?:"\w{{1,40}}": {_NUMBER}(?:, |(?=\}})))*\}}'),
    "time": lambda value: count(value) and value < _MOST_SECONDS,
}
"""Types of ``fields.toml`` by name."""


def _parse_field_type(form: Any) -> Type:
    """Return a type, given its name or its table of fields in ``fields.toml``."""
    if isinstance(form, dict):
        fields = {name: _parse_field_type(kind) for name, kind in form.items()}
        return lambda value: (
            value is None
            or (
                table(value)
                and value.keys() == fields.keys()
                and all(kind(value[name]) for name, kind in fields.items())
            )
        )
    if form in _TYPES:
        return _TYPES[form]
    inner = _parse_field_type(form[:-1] if form.endswith("?") else form[1:-1])
    if form.endswith("?"):
        return lambda value: value is None or inner(value)
    if form.endswith("]"):
        return list_type(inner)
    return lambda value: table(value) and all(map(inner, value.values()))


FIELDS: Mapping[str, dict[str, Type]] = {
    title: {name: _parse_field_type(form) for name, form in fields.items()}
    for title, fields in tomllib.loads(
        Path(__file__).with_name("fields.toml").read_text(encoding="utf-8")
    ).items()
}
"""Types of the fields of entries and archives, as in ``fields.toml``."""

_PARTS = {"run": table, "row": table, "notes": table, "environment": _parse_field_type("{text}")}
_REQUIRED = {"run": {"run", "environment"}, "row": {"row"}}
_RUN_FIELDS = FIELDS["run"] | FIELDS["optional-run"]
_ROW_FIELDS = {kind: FIELDS["row"] | FIELDS[kind] for kind in KINDS if kind != "run"}

# --- checks ---------------------------------------------------------------------------------------


def check_metadata_types(kind: str, header: Mapping[str, Any]) -> None:
    """Raise if the metadata of an entry of this kind lack a field, or a field has a wrong type.

    Raises
    ------
    DamagedFileError
        If a field is missing or of a wrong type; the message names the field.
    """
    check_types(kind, header)
    check_required_fields(kind, header)


def check_types(kind: str, header: Mapping[str, Any]) -> None:
    """Raise if a field of metadata, of which some may be missing, has a wrong type."""
    _check(header, _PARTS, "")
    _check(header.get("notes", {}), FIELDS["notes"], "notes.")
    if kind != "run":
        _check(header.get("row", {}), _ROW_FIELDS[kind], "row.")
        return
    run = header.get("run", {})
    if not run.keys() <= _RUN_FIELDS.keys():
        unknown = min(run.keys() - _RUN_FIELDS.keys())
        raise DamagedFileError("incomplete", f"a run has no field {unknown}")
    _check(run, _RUN_FIELDS, "run.")


def check_required_fields(kind: str, header: Mapping[str, Any]) -> None:
    """Raise if the metadata of an entry, whose fields have the right types, lack a field."""
    missing = [*(_REQUIRED["run" if kind == "run" else "row"] - header.keys())]
    if kind == "run" and not missing:
        missing = [f"run.{name}" for name in FIELDS["run"].keys() - header["run"].keys()]
    if missing:
        raise DamagedFileError("incomplete", f"its field {min(missing)} is missing")


def _check(results: Mapping[str, Any], fields: Mapping[str, Type], prefix: str) -> None:
    for name, value in results.items():
        if name in fields and not fields[name](value):
            raise DamagedFileError("incomplete", f"its field {prefix}{name} is {repr(value)[:60]}")
