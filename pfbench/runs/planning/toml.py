"""Safe reading of untrusted TOML files in bounded time; errors name file and field."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pfbench.base.errors import InputError

MOST_BYTES = 1_000_000
"""Maximum size in bytes of a file."""

MAX_DEPTH = 16
"""Maximum nesting depth of arrays and tables, and number of parts of a key."""

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""|' + r"'''.*?'''|" + r'"(?:\\.|[^"\\\n])*"|'
    r"'[^'\n]*'|\#[^\n]*|[\[{\]}.=,\n]",
    re.DOTALL,
)
"""A string or a comment, which are skipped, or a character that bounds or nests values."""

_DIGITS = re.compile(r"[0-9](?:_?[0-9]){999}")
_KEY = re.compile(r"^\s*([^=#\n]{1,100}?)\s*=", re.MULTILINE)
_INT64 = range(-(2**63), 2**63)


def read_toml(path: Path, text: str | None = None) -> tuple[dict[str, Any], str]:
    """Return the table of a TOML file, and its text; `text` replaces the content of the file.

    Raises
    ------
    InputError
        If the file cannot be read, is not TOML, is too large or too deeply nested, or has an
        integer beyond 64 bits.
    """
    text = _read_text(path) if text is None else text
    _check_safe_to_parse(text, path)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not a TOML file ({error}).") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as TOML ({error}): simplify it.") from error
    for field, value in _iterate_values(table):
        if isinstance(value, int) and value not in _INT64:
            raise InputError(f"{path}: {field} is an integer of more than 64 bits.")
    return table, text


def abbreviate(value: Any) -> str:
    """Return a value for a message, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from error
    except ValueError as error:  # a path that cannot be
        raise InputError(f"{str(path)!r} cannot be read ({error}).") from error
    if len(data) > MOST_BYTES:
        raise InputError(f"{path} is larger than {MOST_BYTES:,} bytes: shorten it.")
    try:
        # "-sig": editors of Windows begin a file with a mark.
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a TOML file ({error}).") from error


def _check_safe_to_parse(text: str, path: Path) -> None:
    """Raise for text on which a parser would take very long, or crash."""
    digits = _DIGITS.search(text)
    if digits:
        field = _describe_location(text, digits.start())
        raise InputError(f"{path}: {field} has a number of 1,000 digits or more: shorten it.")
    depth = parts = 0
    for token in _TOKEN.finditer(text):
        kind = token[0]
        if kind in "[{":
            depth += 1
        elif kind in "]}":
            depth -= 1
        parts = parts + (kind == ".") if kind not in "=,\n" else 0
        if max(depth, parts) >= MAX_DEPTH:
            field = (
                _describe_line(text, token.start())
                if parts
                else _describe_location(text, token.start())
            )
            raise InputError(f"{path}: {field} is nested more than {MAX_DEPTH} deep: simplify it.")


def _describe_line(text: str, index: int) -> str:
    return f"line {text.count(chr(10), 0, index) + 1:,}"


def _describe_location(text: str, index: int) -> str:
    """Return the location of a value for a message: its line, and the key before it."""
    line, keys = _describe_line(text, index), _KEY.findall(text[max(0, index - 1000) : index])
    return f"{keys[-1]} ({line})" if keys else line


def _iterate_values(value: Any, field: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value that is not a table or list, with the name of its field."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _iterate_values(part, f"{field}.{name}" if field else name)
    elif isinstance(value, list):
        for k, part in enumerate(value):
            yield from _iterate_values(part, f"{field}[{k}]")
    else:
        yield field, value
