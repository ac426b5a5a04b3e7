"""Errors for unknown names, with the nearest known name."""

import difflib
import reprlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

from pfbench.base.errors import InputError

T = TypeVar("T")


_MOST_LISTED = 40
"""Maximum number of names that an error lists in full; of a longer list it has ten."""


def find_entry(kind: str, name: Any, entries: Mapping[str, T]) -> T:
    """Return the value under `name` in `entries`; raise `unknown_name_error` if there is none."""
    if not isinstance(name, str) or name not in entries:
        raise unknown_name_error(kind, name, entries)
    return entries[name]


def check_names(kind: str, names: Iterable[str], existing: Collection[str]) -> None:
    """Raise `unknown_name_error` for the first of `names` that is not in `existing`."""
    for name in names:
        if name not in existing:
            raise unknown_name_error(kind, name, existing)


def brief_repr(value: Any) -> str:
    """Return a short representation of a value of any type, for an error message."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if callable(value) and hasattr(value, "__name__"):
        return f"the function {value.__name__}"
    if hasattr(value, "dtype") and hasattr(value, "shape") and value.shape:
        return f"an array of {value.dtype} of shape {value.shape}"
    if type(value).__module__ == "builtins" or hasattr(value, "dtype"):
        return " ".join(reprlib.repr(value).split())
    article = "an" if type(value).__name__[0] in "aeiouAEIOU" else "a"
    return f"{article} {type(value).__name__}"


def unknown_name_error(kind: str, name: Any, existing: Iterable[str]) -> InputError:
    """Return the error for an unknown name, with the nearest of the `existing` names.

    Parameters
    ----------
    kind
        Kind of object, e.g. ``"algorithm"``.
    name
        The unknown name, of any type.
    existing
        The names that exist.
    """
    names = sorted(existing)
    if not isinstance(name, str):
        example = f", as in {names[0]!r}" if names else ""
        return InputError(f"the {kind} must be a name{example}, not {brief_repr(name)}.")
    near = [item for item in names if item.lower() == name.lower()]
    # Letters in another order are the likeliest slip.
    near = near or [item for item in names if sorted(item) == sorted(name)]
    cutoff = 0.5 if len(names) > 10 else 0.6  # a short list is better than a far guess
    near = near or difflib.get_close_matches(name, names, n=1, cutoff=cutoff)
    if near:
        return InputError(f"unknown {kind} {name!r}: did you mean {near[0]!r}?")
    if not names:
        return InputError(f"unknown {kind} {name!r}: no names are allowed here.")
    listed = names if len(names) <= _MOST_LISTED else [*names[:10], f"{len(names) - 10} others"]
    return InputError(f"unknown {kind} {name!r}: choose one of {', '.join(listed)}.")
