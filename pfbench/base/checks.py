"""Validation of parameters and names."""

import difflib
import math
import re
import reprlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, chunk_slices
from pfbench.base.errors import InputError


def check_integer(name: str, value: Any, *, minimum: int) -> int:
    """Return `value` as an int; raise if it is not an integer of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputError(f"{name}={brief_repr(value)} must be an integer of at least {minimum}.")
    if value < minimum:
        raise InputError(f"{name}={value} must be at least {minimum}.")
    return int(value)


def check_real(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    minimum: float = -math.inf,
    upper: float = math.inf,
) -> float:
    """Return `value` as a finite float in (`above`, `upper`] and >= `minimum`, or raise."""
    value = unwrap_scalar(name, value)
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputError(f"{name}={brief_repr(value)} must be a number.")
    try:
        number = float(value)
    except OverflowError:
        raise InputError(f"{name} must be a smaller number: it is too large for a float.") from None
    if not math.isfinite(number):
        raise InputError(f"{name}={value} must be finite.")
    if number <= above:
        raise InputError(f"{name}={value} must be greater than {above:g}.")
    if number < minimum:
        raise InputError(f"{name}={value} must be at least {minimum:g}.")
    if number > upper:
        raise InputError(f"{name}={value} must be at most {upper:g}.")
    return number


def unwrap_scalar(name: str, value: Any) -> Any:
    """Return the entry of a one-entry array, or any other value unchanged.

    An array with another number of entries raises.
    """
    if not isinstance(value, np.ndarray):
        return value
    if value.size != 1:
        raise InputError(f"{name} must be a number, not {brief_repr(value)}.")
    return value.item()


def check_text(name: str, value: Any, example: str = "") -> str:
    """Return `value` if it is a string; otherwise raise with an example of a valid one."""
    if not isinstance(value, str):
        such = f", as in {example!r}" if example else ""
        raise InputError(f"{name}={brief_repr(value)} must be a string{such}.")
    return value


def check_choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return `value` if it is in `allowed`; otherwise raise with the nearest allowed value."""
    if not isinstance(value, str) or value not in allowed:
        raise unknown_name_error(
            f"value for {name}", value if isinstance(value, str) else brief_repr(value), allowed
        )
    return value


def check_file_name(name: str, value: str) -> str:
    """Return `value` if it is a portable file name; otherwise raise."""
    if not re.fullmatch(r"[^\W_][\w .+-]{0,99}", value):
        raise InputError(
            f"{name}={value!r:.100} must be usable as a file name: use letters, digits, spaces, "
            "hyphens, dots and underscores."
        )
    return value


def check_finite_array(
    name: str, value: npt.ArrayLike, *, shape: tuple[int, ...] | None = None
) -> Floats:
    """Return `value` as a float64 array; raise unless it is numeric, finite and of `shape`."""
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        reason = str(error).partition(". ")[0]
        raise InputError(f"{name} must be an array of numbers ({reason}).") from error
    if shape is not None and array.shape != shape:
        raise InputError(f"{name} must have shape {shape}, not {array.shape}.")
    flat = array.ravel()
    if not all(np.isfinite(flat[part]).all() for part in chunk_slices(flat.size)):
        bad = np.flatnonzero(~np.isfinite(flat))
        raise InputError(
            f"{name} has {bad.size} NaN or infinite entries (the first at flat index {bad[0]}): "
            "clean the data first."
        )
    return array


def check_float_array(name: str, value: Any, shape: tuple[int, ...]) -> None:
    """Raise unless `value` is a float64 array of shape `shape`; entries may be infinite."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.shape != shape:
        text = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else value
        raise InputError(f"{name} must be an array of float64 of shape {shape}, not {text}.")


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
    near = near or difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        return InputError(f"unknown {kind} {name!r}: did you mean {near[0]!r}?")
    if not names:
        return InputError(f"unknown {kind} {name!r}: it takes none.")
    listed = names if len(names) <= _MOST_LISTED else [*names[:10], f"{len(names) - 10} others"]
    return InputError(f"unknown {kind} {name!r}: choose one of {', '.join(listed)}.")
