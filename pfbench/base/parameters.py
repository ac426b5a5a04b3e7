"""Parameters of named components, declared once as fields of a dataclass.

    rows: int = parameter(2000, "number of rows")

The functions `integer`, `positive`, `nonnegative` and `one_of_values` also restrict the values. A
field without `about` in its metadata is not a parameter.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, partial
from typing import Any, Generic, Self, TypeVar, overload

from pfbench.base.checks import check_choice, check_integer, check_real, check_text
from pfbench.base.errors import InputError
from pfbench.base.names import brief_repr, check_names

Check = Callable[[str, Any], object]
"""Function that raises for an invalid value of a parameter, given name and value."""

_TEXTS = (str, str | None, "str", "str | None")


@dataclass(frozen=True)
class Parameter:
    """Parameter of an algorithm, a problem, a data source, a set or a penalty.

    Attributes
    ----------
    description
        One-line description.
    default
        Default in words; empty if the parameter is required.
    text
        Whether the value is a string, even if it looks like a number.
    sources
        Data sources, sets or penalties that have the parameter; empty if all have it.
    """

    description: str
    default: str
    text: bool = False
    sources: tuple[str, ...] = ()

    @property
    def is_required(self) -> bool:
        """Whether the parameter has no default."""
        return not self.default


def parameter(
    default: Any, description: str, words: str = "", check: Check | None = None, **options: Any
) -> Any:
    """Return a dataclass field that declares a parameter.

    A required parameter has the default `MISSING`. `words` describes a default that is computed.
    `check` is called by `check_field_values`; `options` are those of `dataclasses.field`.
    """
    metadata = {"about": description, "check": check} | ({"words": words} if words else {})
    return field(default=default, metadata=metadata, **options)


def integer(default: Any, description: str, minimum: int = 1, words: str = "") -> Any:
    """Return the dataclass field of a parameter that is an integer of at least `minimum`."""
    return parameter(default, description, words, partial(check_integer, minimum=minimum))


def positive(default: Any, description: str, upper: float = math.inf) -> Any:
    """Return the dataclass field of a parameter above 0 and at most `upper`."""
    return parameter(default, description, check=partial(check_real, above=0.0, upper=upper))


def nonnegative(default: Any, description: str, upper: float = math.inf) -> Any:
    """Return the dataclass field of a parameter of at least 0 and at most `upper`."""
    return parameter(default, description, check=partial(check_real, minimum=0.0, upper=upper))


def one_of_values(default: Any, description: str, allowed: tuple[Any, ...]) -> Any:
    """Return the dataclass field of a parameter with a list of allowed values."""

    def check(name: str, value: Any) -> None:
        if isinstance(default, str):
            check_choice(name, value, allowed)
        elif not isinstance(value, int | float) or value not in allowed:
            raise InputError(
                f"{name}={brief_repr(value)} must be {' or '.join(map(str, allowed))}."
            )

    return parameter(default, description, check=check)


def check_field_values(obj: Any) -> None:
    """Raise for the first field of a dataclass instance whose value fails its parameter's check.

    A field whose default is None may be None.
    """
    for f in fields(obj):
        value, check = getattr(obj, f.name), f.metadata.get("check")
        if check is not None and (value is not None or f.default is not None):
            check(f.name, value)


class CheckedParameters:
    """Base dataclass that checks its parameters on creation; see `check_field_values`."""

    def __post_init__(self) -> None:
        check_field_values(self)


def collect_declared_parameters(cls: Any, *, includes_all: bool = False) -> dict[str, Parameter]:
    """Return the parameters of a dataclass by name; with `includes_all`, all of its fields."""
    return dict(_list_declared(cls, includes_all))


@cache
def _list_declared(cls: Any, includes_all: bool) -> Mapping[str, Parameter]:
    return {
        f.name: Parameter(
            f.metadata.get("about", ""),
            f.metadata.get("words", "" if f.default is MISSING else format_value(f.default)),
            f.type in _TEXTS,
        )
        for f in fields(cls)
        if includes_all or "about" in f.metadata
    }


def string_parameter_names(parameters: Mapping[str, Parameter]) -> list[str]:
    """Return the names of the parameters whose values are strings."""
    return [name for name, parameter in parameters.items() if parameter.text]


def format_value(value: Any) -> str:
    """Return a parameter value as it is written on the command line."""
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)


def check_parameter_names(kind: str, names: Iterable[str], existing: Collection[str]) -> None:
    """Raise for a parameter that a `kind` of component does not have, with the nearest name."""
    check_names(f"parameter of {kind}", names, existing)


def check_values_for_text_parameters(
    parameters: Mapping[str, Any], existing: Mapping[str, Parameter]
) -> None:
    """Raise InputError if the value of a string parameter is neither a string nor a number."""
    for name, value in parameters.items():
        if existing[name].text and value is not None and not isinstance(value, (str, int, float)):
            check_text(name, value)


def check_required_parameters(
    subject: str, names: Iterable[str], parameters: Mapping[str, Parameter]
) -> None:
    """Raise if a required parameter of a component is missing."""
    for name, parameter in parameters.items():
        if parameter.is_required and name not in names:
            raise InputError(f"{subject} needs {name}, the {parameter.description}.")


def merge_parameters(alternatives: Mapping[str, Mapping[str, Parameter]]) -> dict[str, Parameter]:
    """Merge the parameters of several alternatives; state which alternatives have each parameter.

    If the defaults of a parameter differ, its default in words lists them one by one.
    """
    parameters: dict[str, dict[str, Parameter]] = {}
    for alternative, existing in alternatives.items():
        for name, parameter in existing.items():
            parameters.setdefault(name, {})[alternative] = parameter
    return {name: _merge_parameter(by, len(alternatives)) for name, by in parameters.items()}


def _merge_parameter(by: Mapping[str, Parameter], alternatives: int) -> Parameter:
    first = next(iter(by.values()))
    defaults = {choice: parameter.default for choice, parameter in by.items()}
    alike = len(set(defaults.values())) == 1
    words = ", ".join(f"{default} ({choice})" for choice, default in defaults.items())
    description = "; ".join(dict.fromkeys(parameter.description for parameter in by.values()))
    sources = () if len(by) == alternatives else tuple(by)
    return Parameter(description, first.default if alike else words, first.text, sources)


T = TypeVar("T")


class DelegatedAttribute(Generic[T]):
    """Descriptor: ``radius = DelegatedAttribute[float]("ball")`` reads ``self.ball.radius``.

    Parameters
    ----------
    part
        Name of the attribute that holds the part.
    """

    def __init__(self, part: str) -> None:
        self._part = part

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self.__doc__ = name, f"That of `{self._part}`."

    @overload
    def __get__(self, item: None, kind: type) -> Self: ...
    @overload
    def __get__(self, item: object, kind: type) -> T: ...
    def __get__(self, item: Any, kind: type) -> Any:
        return self if item is None else getattr(getattr(item, self._part), self._name)
