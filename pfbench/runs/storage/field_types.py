"""Types of all stored fields, as predicates of JSON values; the files of a store are untrusted.

A hash proves that a file is unchanged, not that pfbench wrote it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pfbench.base.counts import COUNTED
from pfbench.base.status import VERDICT_NAMES
from pfbench.runs.loop.run import STATUSES
from pfbench.runs.storage.damage import DamagedFileError

Type = Callable[[Any], bool]
"""Predicate: whether a JSON value is of a type."""

_TWO_63 = 2**63

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


def optional(kind: Type) -> Type:
    """Return the type of values that are null or of type `kind`."""
    return lambda value: value is None or kind(value)


def enumeration(allowed: tuple[str, ...]) -> Type:
    """Return the type of strings that are in the list `allowed`."""
    return lambda value: text(value) and value in allowed


def list_type(kind: Type) -> Type:
    """Return the type of lists whose entries are of type `kind`."""
    return lambda value: isinstance(value, list) and all(map(kind, value))


def mapping_type(kind: Type, names: tuple[str, ...] | None = None) -> Type:
    """Return the type of JSON objects with values of type `kind`, and keys in `names` if given."""
    allowed = None if names is None else frozenset(names)
    return lambda value: (
        table(value)
        and (allowed is None or value.keys() <= allowed)
        and all(map(kind, value.values()))
    )


def record_type(fields: Mapping[str, Type]) -> Type:
    """Return the type of JSON objects that have exactly these fields."""
    return lambda value: (
        table(value)
        and value.keys() == fields.keys()
        and all(kind(value[name]) for name, kind in fields.items())
    )


# --- fields ---------------------------------------------------------------------------------------

_COUNTS = mapping_type(count, COUNTED)
_RUN_HEADER = {"run": table, "environment": mapping_type(text)}
_VALUE = {"value": number}

RUN: Mapping[str, Type] = {
    **dict.fromkeys(("problem", "algorithm", "schedule", "stop_reason"), text),
    **dict.fromkeys(("seconds", "oracle_seconds", "failure_probability"), number),
    "parameters": table,
    "seed": integer,
    "status": enumeration(tuple(STATUSES)),
    "iterations": count,
    "counts": _COUNTS,
    "final": mapping_type(optional(number)),
}
"""Fields of a run."""

OPTIONAL_RUN_FIELDS: Mapping[str, Type] = {"unmet": list_type(text), "own_output": optional(flag)}
"""Fields that the runs of earlier versions may lack."""

NOTES: Mapping[str, Type] = {
    **dict.fromkeys(("retries", "dimension"), count),
    "family": optional(text),
    "limits": optional(mapping_type(number)),
    "plan": table,
    "source": optional(table),
    "best_known": optional(record_type(_VALUE | {"source": text})),
    "promised": optional(record_type(_VALUE | {"measure": text})),
}
"""Notes of an entry; other notes are allowed."""

_LISTED: Mapping[str, Type] = {
    **dict.fromkeys(("problem", "algorithm", "claim", "status"), optional(text)),
    **dict.fromkeys(("stop_reason", "family"), optional(text)),
    "seed": optional(integer),
    "iterations": optional(count),
    "counts": optional(_COUNTS),
    "seconds": optional(number),
    "limits": optional(mapping_type(number)),
}
_ERRORS = ("orthonormality_error", "answer_max_relative_error", "span_max_relative_distance")

ROWS: Mapping[str, Mapping[str, Type]] = {
    "verdict": {
        **_LISTED,
        **dict.fromkeys(("measured", "claimed"), table),
        "verdict": enumeration(VERDICT_NAMES),
        "reason": text,
        "repetitions": count,
        "p_value": optional(number),
        "lost": flag,
    },
    "finding": {**_LISTED, "shown": flag, "evidence": table},
    "certificate": {
        **_LISTED,
        **dict.fromkeys(("horizon", "dimension", "queries"), count),
        **dict.fromkeys(("smoothness", "paper_smoothness", "min_gap_over_diameter"), number),
        **dict.fromkeys(_ERRORS, number),
        "query_max_relative_error": optional(number),
        "directions_digest": text,
        "counts": _COUNTS,
        "calls_to_target": optional(count),
        "certified": flag,
        "certified_for": optional(text),
        "findings": list_type(text),
        "fixed_seed": optional(integer),
    },
    "fault": {**_LISTED, **dict.fromkeys(("fault", "where", "equivalent"), text)},
}
"""Fields of a row of each other kind; all are optional, and others are allowed."""

# --- checks ---------------------------------------------------------------------------------------


def check_metadata_types(kind: str, header: Mapping[str, Any]) -> None:
    """Raise if the metadata of an entry of this kind lack a field, or a field has a wrong type.

    Raises
    ------
    DamagedFileError
        If a field is missing or of a wrong type; the message names the field.
    """
    notes = header.get("notes", {})
    _check({"notes": notes}, {"notes": table}, "")
    _check(notes, NOTES, "notes.")
    if kind != "run":
        _check(header, {"row": table}, "", needed=True)
        _check(header["row"], ROWS[kind], "row.")
        return
    _check(header, _RUN_HEADER, "", needed=True)
    run = header["run"]
    unknown = run.keys() - RUN.keys() - OPTIONAL_RUN_FIELDS.keys()
    if unknown:
        raise DamagedFileError("incomplete", f"a run has no field {min(unknown)}")
    _check(run, RUN, "run.", needed=True)
    _check(run, OPTIONAL_RUN_FIELDS, "run.")


def _check(
    results: Mapping[str, Any], fields: Mapping[str, Type], prefix: str, *, needed: bool = False
) -> None:
    for name, fits in fields.items():
        if name not in results:
            if needed:
                raise DamagedFileError("incomplete", f"its field {prefix}{name} is missing")
        elif not fits(results[name]):
            statement = repr(results[name])[:60]
            raise DamagedFileError("incomplete", f"its field {prefix}{name} is {statement}")
