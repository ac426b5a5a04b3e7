"""Validation of parameters, up front and in one voice."""

import math
import re
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, parts
from pfbench.base.errors import InputError
from pfbench.base.names import told, unknown


def integer(name: str, value: Any, *, least: int) -> int:
    """Return `value` as an int, or refuse it by `name` if it is not an integer >= `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputError(f"{name}={told(value)} must be an integer of at least {least}.")
    if value < least:
        raise InputError(f"{name}={value} must be at least {least}.")
    return int(value)


def real(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    most: float = math.inf,
) -> float:
    """Return `value` as a finite float in (`above`, `most`] and at least `least`, or refuse it."""
    value = scalar(name, value)
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputError(f"{name}={told(value)} must be a number.")
    try:
        number = float(value)
    except OverflowError:
        raise InputError(f"{name} must be finite, and is too large for a float.") from None
    if not math.isfinite(number):
        raise InputError(f"{name}={value} must be finite.")
    if number <= above:
        raise InputError(f"{name}={value} must be greater than {above:g}.")
    if number < least:
        raise InputError(f"{name}={value} must be at least {least:g}.")
    if number > most:
        raise InputError(f"{name}={value} must be at most {most:g}.")
    return number


def scalar(name: str, value: Any) -> Any:
    """Return the number of an array of one entry, refuse other arrays; all else stays as it is."""
    if not isinstance(value, np.ndarray):
        return value
    if value.size != 1:
        raise InputError(f"{name} must be a number, not {told(value)}.")
    return value.item()


def text(name: str, value: Any, example: str = "") -> str:
    """Return `value` if it is a text, else refuse it by `name` with an example of one."""
    if not isinstance(value, str):
        such = f", as in {example!r}" if example else ""
        raise InputError(f"{name}={told(value)} must be a text{such}.")
    return value


def choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return `value` if it is one of `allowed`, else refuse it with the nearest one."""
    if not isinstance(value, str) or value not in allowed:
        raise unknown(
            f"value for {name}", value if isinstance(value, str) else told(value), allowed
        )
    return value


def file_name(name: str, value: str) -> str:
    """Return `value` if a file can be called so anywhere, else refuse it by `name`."""
    if not re.fullmatch(r"[^\W_][\w .+-]{0,99}", value):
        raise InputError(
            f"{name}={value!r:.100} becomes a file's name: use letters, digits, spaces, hyphens, "
            "dots and underscores."
        )
    return value


def finite_array(
    name: str, value: npt.ArrayLike, *, shape: tuple[int, ...] | None = None
) -> Floats:
    """Return `value` as a float64 array, refused if it is not numeric, finite and of `shape`."""
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        reason = str(error).partition(". ")[0]
        raise InputError(f"{name} must be an array of numbers ({reason}).") from error
    if shape is not None and array.shape != shape:
        raise InputError(f"{name} has shape {array.shape} where {shape} is needed.")
    flat = array.ravel()
    if not all(np.isfinite(flat[part]).all() for part in parts(flat.size)):
        bad = np.flatnonzero(~np.isfinite(flat))
        raise InputError(
            f"{name} has {bad.size} NaN or infinite entries (the first at flat index {bad[0]}): "
            "clean the data first."
        )
    return array


def check_floats(name: str, value: Any, shape: tuple[int, ...]) -> None:
    """Refuse what is no array of float64 of a shape; finite or not."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.shape != shape:
        found = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else value
        raise InputError(f"{name} must be an array of float64 of shape {shape}, not {found}.")
