"""Names and number formats for figures and tables."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from types import MappingProxyType

from pfbench.runs.loop.axes import AXES as AXES
from pfbench.runs.loop.axes import measure_label as measure_label

_FOLDER = files("pfbench.reporting")

WORDS: Mapping[str, str] = MappingProxyType(
    dict(line.split(": ", 1) for line in (_FOLDER / "words.txt").read_text("utf-8").splitlines())
)
"""Terms that pages explain at their end; docs/glossary.md has all terms of pfbench."""

NOTES: Mapping[str, str] = MappingProxyType(
    tomllib.loads((_FOLDER / "notes.toml").read_text("utf-8"))
)
"""Notes below tables, with names in braces for what is filled in."""


def anchor(word: str) -> str:
    """Return the HTML anchor of a word in the glossary."""
    return "word-" + ("even" if word == "≈" else word.lower().replace(" ", "-"))


SEPARATOR = "\N{NARROW NO-BREAK SPACE}"
MISSING_MARK, NEVER_REACHED = "–", "∞"

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def name_within_sentence(name: str) -> str:
    """Return a display name with its first letter in lower case, for use in a sentence."""
    title = measure_label(name)
    keeps = title.startswith(("RMSE", "Frank")) or title == name
    return title if keeps else title[0].lower() + title[1:]


def format_integer(number: int) -> str:
    """Return an integer as text, with its digits in groups of three."""
    return f"{number:,}".replace(",", SEPARATOR)


def format_significant(number: float, digits: int = 3) -> str:
    """Return a number with some significant digits, and a power of ten if very small or large."""
    if not math.isfinite(number):
        return "not finite"
    if number == 0.0:
        return "0"
    mantissa, exponent = f"{number:.{digits - 1}e}".split("e")
    power = int(exponent)
    if -3 <= power < 5:
        return f"{float(f'{mantissa}e{power}'):.{max(0, digits - 1 - power)}f}"
    return f"{mantissa}·{power_of_ten(power)}"


def round_as_printed(number: float) -> float:
    """Return a number rounded as tables print it.

    Numbers from 100 on are whole, and smaller ones have three significant digits.
    """
    if not math.isfinite(number):
        return number
    return float(round(number)) if number >= 100 else float(f"{number:.2e}")


def format_calls(number: float) -> str:
    """Return a number of calls as text, rounded as tables print it; infinity becomes ``∞``."""
    if math.isinf(number):
        return NEVER_REACHED
    printed = round_as_printed(number)
    return format_integer(int(printed)) if printed.is_integer() else format_significant(number)


def power_of_ten(exponent: int) -> str:
    """Return a power of ten as text, with superscript digits for the integer exponent."""
    return f"10{str(exponent).translate(_SUPERSCRIPT)}"


def join_items(items: Sequence[str]) -> str:
    """Return items joined as in ``a``, ``a and b`` or ``a, b and c``."""
    return "".join(items) if len(items) < 2 else f"{', '.join(items[:-1])} and {items[-1]}"


def pluralize(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 run`` or ``2 runs``."""
    return f"{format_integer(number)} {noun}{'' if number == 1 else 's'}"
