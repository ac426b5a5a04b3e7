"""Validation of parameters and names."""

import math
import numbers
import re
from collections.abc import Collection
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, chunk_slices
from pfbench.base.errors import InputError
from pfbench.base.names import brief_repr, unknown_name_error


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
    """Return `value` as a finite float in (`above`, `upper`] and >= `minimum`, or raise.

    A number with a method `as_float`, as in exact replays of a run, is returned unchanged.
    """
    value = unwrap_scalar(name, value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"{name}={brief_repr(value)} must be a number.")
    to_float = getattr(value, "as_float", None)
    try:
        number = to_float() if to_float else float(value)
    except OverflowError:
        raise InputError(f"{name} must be a smaller number: it is too large for a float.") from None
    if not math.isfinite(number):
        raise InputError(f"{name}={value} must be finite.")
    number = cast(float, value) if to_float else number
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
    """Return `value` if it is a string; otherwise raise with an example of a valid string."""
    if not isinstance(value, str):
        example_text = f", as in {example!r}" if example else ""
        raise InputError(f"{name}={brief_repr(value)} must be a string{example_text}.")
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
    """Return `value` as a float64 array; raise unless it is finite, numeric and of this shape."""
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
        actual = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else value
        raise InputError(f"{name} must be an array of float64 of shape {shape}, not {actual}.")
