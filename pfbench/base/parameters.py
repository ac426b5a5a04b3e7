"""Parameters of what has a name: declared once, as fields of a dataclass, with a line about each.

    rows: int = parameter(2000, "number of rows")

`whole`, `positive`, `nonnegative` and `one_of` also say what its values may be. A field without
`about` in its metadata is no parameter.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, partial
from typing import Any

from pfbench.base.checks import choice, integer, real, text
from pfbench.base.errors import InputError
from pfbench.base.names import check_names, told

Check = Callable[[str, Any], object]
"""Refuses a value of a parameter, by its name."""

_TEXTS = (str, str | None, "str", "str | None")


@dataclass(frozen=True)
class Parameter:
    """A parameter of an algorithm, a problem, a source of data, a set or a penalty.

    Attributes
    ----------
    about
        A line about it.
    default
        Its default in words; empty if it is needed.
    text
        Whether its value is a text: it then stays one, whatever it looks like.
    sources
        The sources of data that know it; empty if all do.
    """

    about: str
    default: str
    text: bool = False
    sources: tuple[str, ...] = ()

    @property
    def needed(self) -> bool:
        """Whether there is no default."""
        return not self.default


def parameter(
    default: Any, about: str, words: str = "", check: Check | None = None, **options: Any
) -> Any:
    """Return the field of a parameter: its default, a line about it, a computed default in words.

    The default is `MISSING` if it is needed; options are those of `dataclasses.field`. For `check`
    see `check_values`.
    """
    metadata = {"about": about, "check": check} | ({"words": words} if words else {})
    return field(default=default, metadata=metadata, **options)


def whole(default: Any, about: str, least: int = 1) -> Any:
    """Return the field of an integer of at least `least`."""
    return parameter(default, about, check=partial(integer, least=least))


def positive(default: Any, about: str, most: float = math.inf) -> Any:
    """Return the field of a number above 0, and of at most `most`."""
    return parameter(default, about, check=partial(real, above=0.0, most=most))


def nonnegative(default: Any, about: str) -> Any:
    """Return the field of a number of at least 0."""
    return parameter(default, about, check=partial(real, least=0.0))


def one_of(default: Any, about: str, allowed: tuple[Any, ...]) -> Any:
    """Return the field of a value that is one of a few texts, or of a few numbers."""

    def check(name: str, value: Any) -> None:
        if isinstance(default, str):
            choice(name, value, allowed)
        elif not isinstance(value, int | float) or value not in allowed:
            raise InputError(f"{name}={told(value)} must be {' or '.join(map(str, allowed))}.")

    return parameter(default, about, check=check)


def check_values(given: Any) -> None:
    """Refuse the first value of a dataclass that its parameter's check refuses.

    None is allowed where it is the default.
    """
    for f in fields(given):
        value, check = getattr(given, f.name), f.metadata.get("check")
        if check is not None and (value is not None or f.default is not None):
            check(f.name, value)


def declared(cls: Any, *, every: bool = False) -> dict[str, Parameter]:
    """Return the parameters that a dataclass declares, by name; with `every`, all its fields."""
    return dict(_declared(cls, every))


@cache
def _declared(cls: Any, every: bool) -> Mapping[str, Parameter]:
    return {
        f.name: Parameter(
            f.metadata.get("about", ""),
            f.metadata.get("words", "" if f.default is MISSING else in_words(f.default)),
            f.type in _TEXTS,
        )
        for f in fields(cls)
        if every or "about" in f.metadata
    }


def texts_of(known: Mapping[str, Parameter]) -> list[str]:
    """Return the names of the parameters whose values are texts."""
    return [name for name, parameter in known.items() if parameter.text]


def in_words(value: Any) -> str:
    """Return a value as the command line would write it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)


def check_known(kind: str, given: Iterable[str], known: Collection[str]) -> None:
    """Refuse a parameter that a `kind` of thing does not have; the nearest one is suggested."""
    check_names(f"parameter of {kind}", given, known)


def check_texts(given: Mapping[str, Any], known: Mapping[str, Parameter]) -> None:
    """Refuse what is given for a parameter that is a text, and is nothing that could be one."""
    for name, value in given.items():
        if known[name].text and value is not None and not isinstance(value, (str, int, float)):
            text(name, value)


def check_complete(what: str, given: Iterable[str], known: Mapping[str, Parameter]) -> None:
    """Refuse to leave out a parameter that has no default."""
    for name, parameter in known.items():
        if parameter.needed and name not in given:
            raise InputError(f"{what} needs {name}, the {parameter.about}.")


def joined(alternatives: Mapping[str, Mapping[str, Parameter]]) -> dict[str, Parameter]:
    """Return the parameters of all alternatives, each with the alternatives that know it.

    Defaults that differ are told one by one.
    """
    found: dict[str, dict[str, Parameter]] = {}
    for alternative, known in alternatives.items():
        for name, parameter in known.items():
            found.setdefault(name, {})[alternative] = parameter
    return {name: _joined(by, len(alternatives)) for name, by in found.items()}


def _joined(by: Mapping[str, Parameter], alternatives: int) -> Parameter:
    first = next(iter(by.values()))
    defaults = {choice: one.default for choice, one in by.items()}
    alike = len(set(defaults.values())) == 1
    words = ", ".join(f"{default} ({choice})" for choice, default in defaults.items())
    about = "; ".join(dict.fromkeys(one.about for one in by.values()))
    sources = () if len(by) == alternatives else tuple(by)
    return Parameter(about, first.default if alike else words, first.text, sources)
