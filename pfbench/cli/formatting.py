"""Formatting of numbers, counts, times, sizes and parameters for terminals."""

from collections.abc import Callable, Sequence
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


def format_if_known(value: Any, words: Callable[[Any], str]) -> str:
    """Return a value formatted by the function `words`, or "not known" if the value is None."""
    return "not known" if value is None else words(value)


def format_component_count(n: int | None) -> str:
    """Return the number of components as text, such as "2,000 components".

    If n is None, the problem is an expectation over samples.
    """
    return "a sampler, without n" if n is None else format_plural(n, "component")


def format_shape(shape: Sequence[int]) -> str:
    """Return the shape of a point as text, such as "200 x 200 matrix" or "vector of length 30"."""
    if len(shape) == 1:
        return f"vector of length {shape[0]:,}"
    return " x ".join(f"{side:,}" for side in shape) + " matrix"


def _value(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return (
        format_number(value) if isinstance(value, float) else format_count(value).replace(",", "")
    )
