"""Selectors: a name with parameters, as in ``nfwu-svrg[batch=37,period=13]``."""

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.names import brief_repr

FILE = ".py"
"""Suffix of the file in a name such as ``my_methods.py:MySpider``."""

USER_PARTS = frozenset({"set", "penalty", "optimizer"})
"""Parameters whose value may be user-defined code: MODULE:NAME or FILE.py:NAME."""

_PATH = r"(?=\S)[^\[\]=,\"'\x00-\x1f]+\.py"
# Before a name nothing else stands, so that its path may have what ends a value.
_PATH_OF_NAME = r"(?=\S)[^\[\]\x00-\x1f]+\.py"
_FORM = re.compile(rf"\s*((?:{_PATH_OF_NAME}:)?[A-Za-z0-9_.:-]+)\s*(?:\[(.*)\])?\s*", re.DOTALL)
_QUOTES = "'\""
_PART = re.compile(r"""[^,=]*=\s*(?:"[^"]*"|'[^']*')\s*(?=,|$)|(?:\[[^\[\]]*\]|[^,])+""")
_WHOLE = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?[eE]\+?[0-9]|[+-]?[0-9](\.[0-9]*)?[eE]\+?1[0-5]")
_NEEDS_QUOTES = re.compile(r"^\s|,|\s$|^(['\"]).*\1$")
_PART_OF = "|".join(sorted(USER_PARTS))
_FILES = (
    re.compile(rf"(^\s*[\"']?)({_PATH_OF_NAME})(?=:)"),
    re.compile(rf"([\[,]\s*(?:{_PART_OF})\s*=\s*[\"']?)({_PATH})(?=:)"),
)


@dataclass(frozen=True)
class Selector:
    """Name of a component with its parameters, whose values are of type int, float, bool or str.

    Attributes
    ----------
    name, parameters
        Name, and parameter values of the type in which they are written (bool, int, float, str).
    texts
        Values as originally written, where available.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    texts: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({}), compare=False, repr=False
    )

    @classmethod
    def parse(cls, text: str) -> "Selector":
        """Parse ``name`` or ``name[key=value,...]``.

        Raises
        ------
        InputError
            If the text does not have that form, or a key is repeated.
        """
        if not isinstance(text, str):
            raise InputError(
                f"a selector must be a string, NAME or NAME[key=value], not {brief_repr(text)}."
            )
        return _parse_cached(text)

    def parameter_values(self, string_names: Collection[str]) -> dict[str, Any]:
        """Return the parameters by name; those in `string_names` remain the strings as written."""
        return {
            key: self.texts.get(key, value) if key in string_names else value
            for key, value in self.parameters.items()
        }

    def with_parameters(self, extra: Mapping[str, Any]) -> "Selector":
        """Return the selector with further parameters; raise if one of them is already set."""
        for name in extra:
            if name in self.parameters:
                raise InputError(f"{name} is given twice: remove it from {str(self)!r}.")
        return Selector(self.name, {**self.parameters, **extra}, self.texts)

    def __str__(self) -> str:
        if not self.parameters:
            return self.name
        inside = ",".join(f"{key}={_format_value(value)}" for key, value in self.parameters.items())
        return f"{self.name}[{inside}]"


@lru_cache(maxsize=1024)
def _parse_cached(text: str) -> Selector:
    """Parse a selector's text; results are cached, as many stored runs have the same text."""
    bracket = re.match(r"[^\[\]]*([\[\]])[^=]*/[^=]*\.py(:|$)", text)
    if bracket is not None:
        raise InputError(
            f"cannot read {text!r}, as the path of a file must not contain {bracket[1]!r}: rename "
            "the folder, or run the command inside it."
        )
    match = _FORM.fullmatch(strip_quotes(text))
    if match is None:
        raise InputError(
            f"cannot read {text!r}{_name_of_non_ascii_character(text)}: write NAME or NAME[key=value,key=value]."  # noqa: E501
        )
    name, inside = match.groups()
    texts: dict[str, str] = {}
    for part in _PART.findall(inside or ""):
        if not part.strip():
            continue
        key, equals, value = (piece.strip() for piece in part.partition("="))
        value = strip_quotes(value)
        if not key or not equals or not value:
            raise InputError(f"cannot read {part.strip()!r} in {text!r}: write key=value.")
        if key in texts:
            raise InputError(f"{key} is given twice in {text!r}: remove one.")
        texts[key] = value
    values = {key: _parse_value(value) for key, value in texts.items()}
    return Selector(name, MappingProxyType(values), MappingProxyType(texts))


def _name_of_non_ascii_character(text: str) -> str:
    """Return the name of the first non-ASCII character; an empty string if there is none."""
    result = next((name for name in text if ord(name) > 126), "")
    return result and f", which has the character {unicodedata.name(result, ascii(result))}"


def selector_or_name_equals(selector: str, requested: str) -> bool:
    """Return whether `requested` equals a selector, or its name without parameters."""
    return requested in (selector, selector.partition("[")[0])


def is_user_defined(name: str, builtin_kinds: Collection[str] = ()) -> bool:
    """Return whether a name refers to user code: FILE.py, FILE.py:NAME or MODULE:NAME.

    Parameters
    ----------
    builtin_kinds
        Words KIND in KIND:NAME that refer to built-in components.
    """
    before, colon, _ = name.partition(":")
    return before not in builtin_kinds if colon else name.endswith(FILE)


def module_name(name: str) -> str:
    """Return MODULE of MODULE:NAME, or the name under which FILE.py is imported."""
    location = name.rpartition(":")[0].strip()
    return PurePath(location).stem if location.endswith(FILE) else location


def list_user_code_names(selector: str) -> list[str]:
    """Return the names MODULE:NAME and FILE.py:NAME in a selector and its parameters.

    Raises
    ------
    InputError
        If the selector names user-defined code but cannot be parsed.
    """
    name, bracket, _ = selector.partition("[")
    user_names = [name.strip()] if ":" in name else []
    if bracket and ":" in selector:
        texts = Selector.parse(selector).texts
        user_names += [texts[part] for part in USER_PARTS & texts.keys() if ":" in texts[part]]
    return user_names


def replace_file_by_module(selector: str) -> str:
    """Return a selector in which MODULE:NAME replaces FILE.py:NAME, without the file's folder."""
    return _map_file_names(selector, lambda path: PurePath(path).stem)


def resolve_relative_files(selector: str, file: Path) -> str:
    """Return a selector whose relative paths are resolved from the folder of `file`."""
    return _map_file_names(selector, lambda path: str(file.parent / path))


def _map_file_names(selector: str, moved: Callable[[str], str]) -> str:
    for pattern in _FILES:
        selector = pattern.sub(lambda match: match[1] + moved(match[2]), selector)
    return selector


def strip_quotes(text: str) -> str:
    """Return a text without surrounding quotes, which some shells pass on."""
    inner = text.strip()
    quoted = len(inner) > 1 and inner[0] in _QUOTES and inner[0] == inner[-1]
    return inner[1:-1] if quoted and inner[0] not in inner[1:-1] else text


def _parse_value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            result = kind(text)
        except ValueError:
            continue
        # 1e3 is a whole number.
        return int(result) if _WHOLE.fullmatch(text) and result == int(result) else result
    return text


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value)
    quote = "'" if '"' in str(value) else '"'
    return f"{quote}{value}{quote}" if _NEEDS_QUOTES.search(str(value)) else str(value)
