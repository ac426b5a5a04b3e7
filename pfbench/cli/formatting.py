"""Formatting of numbers, counts, times, sizes and parameters for terminals."""

from collections.abc import Sequence
from inspect import getdoc
from typing import Any


def docstring_summary(documented_object: Any) -> str:
    """Return the first paragraph of an object's docstring as one line.

    Backquotes and the final full stop are removed.
    """
    text = (getdoc(documented_object) or "").partition("\n\n")[0]
    return " ".join(text.replace("`", "").split()).removesuffix(".")


def format_number(value: float | None) -> str:
    """Return a number as text with six significant digits."""
    return "not defined" if value is None else f"{value:.6g}"


def format_count(count: int) -> str:
    """Return a count with thousands separators; from 1e18 on, with three significant digits."""
    return f"{count:,}" if abs(count) < 1e18 else f"{count:.3g}"


def format_plural(count: int, noun: str) -> str:
    """Return a count with its noun, such as "1 run" or "2,000 runs"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_duration(seconds: float) -> str:
    """Return a duration in seconds as text, in a suitable unit."""
    for unit, length in (("years", 365.25 * 86400), ("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds >= 1e-3 else f"{seconds * 1e3:.2g} ms"


def format_bytes(byte_count: float) -> str:
    """Return a number of bytes as text, in a suitable unit."""
    for unit, length in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if byte_count >= length:
            return f"{byte_count / length:.3g} {unit}"
    return f"{byte_count:.0f} bytes"


def format_parameters(parameters: Any) -> str:
    """Return parameters as text "name=value, ..."; parameters that are None are left out."""
    values = {name: value for name, value in parameters.items() if value is not None}
    return ", ".join(f"{name}={_value(value)}" for name, value in values.items())


def format_unmet(unmet: Sequence[str]) -> str:
    """Return a sentence on the assumptions that a problem might not satisfy, or an empty text."""
    return f"the theory assumes {', '.join(unmet)}: not known for this problem" if unmet else ""


def _value(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return (
        format_number(value) if isinstance(value, float) else format_count(value).replace(",", "")
    )
