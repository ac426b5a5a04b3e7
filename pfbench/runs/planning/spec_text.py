"""Text of a spec: reading untrusted TOML in bounded time; files, templates and labels in it.

In a template, e.g. ``sfw[batch={batch}]``, a name in braces stands for its value, and a doubled
brace for a brace. Unlike Python's format strings, templates have no attributes, conversions or
widths.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector, resolve_relative_files

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

_TABLE = re.compile(r"^\[", re.MULTILINE)
_INT64 = range(-(2**63), 2**63)


def read_toml(path: Path, text: str | None = None) -> tuple[dict[str, Any], str]:
    """Return the table in a TOML file, and its text; `text` replaces the content of the file.

    Raises
    ------
    InputError
        If the file cannot be read, is not TOML, is too large or too deeply nested, or has an
        integer beyond 64 bits.
    """
    text = _read_text(path) if text is None else text
    _check_nesting(text, path)
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


def read_title(path: Path) -> str:
    """Return the title of a spec, by default its file's name; parse only the fields before tables.

    Raises
    ------
    InputError
        If the file cannot be read, or is not TOML; see `read_toml`.
    """
    try:
        fields, _ = read_toml(path, _TABLE.split(_read_text(path), maxsplit=1)[0])
    except InputError:  # the line is no header of a table but part of a value
        fields, _ = read_toml(path)
    return str(fields.get("title", path.stem))


def abbreviate(value: Any) -> str:
    """Return a value for a message, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}): give the path of a file."
        ) from error
    except ValueError as error:  # a path that cannot be
        raise InputError(f"{str(path)!r} cannot be read ({error}).") from error
    if len(data) > MOST_BYTES:
        raise InputError(f"{path} is larger than {MOST_BYTES:,} bytes: shorten it.")
    try:
        # "-sig": editors of Windows begin a file with a mark.
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a TOML file ({error}).") from error


def _check_nesting(text: str, path: Path) -> None:
    """Raise if arrays, tables or keys are nested so deep that a parser might crash or hang."""
    depth = parts = 0
    for token in _TOKEN.finditer(text):
        kind = token[0]
        if kind in "[{":
            depth += 1
        elif kind in "]}":
            depth -= 1
        parts = parts + (kind == ".") if kind not in "=,\n" else 0
        if max(depth, parts) >= MAX_DEPTH:
            line = text.count("\n", 0, token.start()) + 1
            raise InputError(
                f"{path}: line {line:,} is nested more than {MAX_DEPTH} deep: simplify it."
            )


def _iterate_values(value: Any, field: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value in nested tables and lists, with the name of its field."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _iterate_values(part, f"{field}.{name}" if field else name)
    elif isinstance(value, list):
        for k, part in enumerate(value):
            yield from _iterate_values(part, f"{field}[{k}]")
    else:
        yield field, value


LONGEST = 10_000
"""Maximum number of characters of a text after its names are replaced."""


def placeholder_names(template: str, *, location: str) -> set[str]:
    """Return the names that a template has in braces.

    Raises
    ------
    InputError
        If the braces are wrong; `location` is the location in the message.
    """
    return {name for name, _ in _split_at_placeholders(template, location) if name}


def fill_template(
    template: str, *, location: str, values_source: str, values: Mapping[str, Any]
) -> str:
    """Return a template with values in place of its names in braces.

    Parameters
    ----------
    location, values_source
        Parts of error messages: the template's location, and the source of the values.

    Raises
    ------
    InputError
        If a name has no value, the braces are wrong, or the text would be very long.
    """
    parts: list[str] = []
    length = 0
    for name, text in _split_at_placeholders(template, location):
        if name and name not in values:
            raise InputError(
                f"{location}: {values_source} has no values of {{{name}}}: add them, or correct it."
            )
        parts.append(str(values[name]) if name else text)
        length += len(parts[-1])
        if length > LONGEST:
            raise InputError(
                f"{location}: {abbreviate(template)} with its values is longer than {LONGEST:,} "
                "characters: shorten it."
            )
    return "".join(parts)


def _split_at_placeholders(template: str, location: str) -> Iterator[tuple[str, str]]:
    """Yield a template's parts: (name, "") for a name in braces, ("", text) for other text."""
    try:
        for text, name, form, conversion in Formatter().parse(template):
            yield "", text
            if name is not None:
                if form or conversion or not name.isidentifier():
                    raise ValueError(f"{{{name}}} is not a name")
                yield name, ""
    except ValueError as error:
        raise InputError(
            f"{location}: {abbreviate(template)} has wrong braces ({error}): write a placeholder "
            "as {name}, and a literal brace twice."
        ) from None


def make_labels(selectors: Sequence[str]) -> list[str]:
    """Return a label for each of several different selectors.

    A label is the name, followed by those parameters in which selectors of this name differ. The
    label of MODULE:NAME has only NAME, if that is unique. A selector with braces in its name is its
    own label. If two labels would be equal, every selector is its own label.
    """
    parsed = [_parse_selector(text) for text in selectors]
    short = _shorten_names([name for name, _ in parsed])
    namesakes = Counter(name for name, _ in parsed)
    times = Counter((name, *pair) for name, texts in parsed for pair in texts.items())
    labels = []
    for name, texts in parsed:
        reported = [pair for pair in texts.items() if times[name, *pair] < namesakes[name]]
        inside = ",".join(f"{key}={value}" for key, value in reported)
        labels.append(f"{short[name]}[{inside}]" if inside else short[name])
    return list(selectors) if len(set(labels)) < len(labels) else labels


def setting_title(values: Mapping[str, Any]) -> str:
    """Return the title of a setting: its values by name."""
    return ", ".join(f"{name} = {format_setting_value(value)}" for name, value in values.items())


def format_setting_value(value: Any) -> str:
    """Return a value of a setting as text for titles."""
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return str(value)


def _parse_selector(text: str) -> tuple[str, Mapping[str, str]]:
    try:
        selector = Selector.parse(text)
    except InputError:
        return text, {}
    return selector.name, selector.texts


def _shorten_names(names: Sequence[str]) -> dict[str, str]:
    """Return a dict from each MODULE:NAME to NAME, or to itself where two NAMEs are equal."""
    last = {name: name.rpartition(":")[2] or name for name in names}
    times = Counter(last.values())
    return {name: short if times[short] == 1 else name for name, short in last.items()}


_PROSE = ("title", "about", "ordering", "unit")
"""Fields that name no user-defined code."""


def resolve_files(path: Path, value: Any) -> Any:
    """Return a value of a spec, with paths of FILE.py relative to the current folder.

    In the spec itself, these paths are relative to the folder of the spec.
    """
    if isinstance(value, Mapping):
        return {
            name: part if name in _PROSE else resolve_files(path, part)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [resolve_files(path, part) for part in value]
    return resolve_relative_files(value, path) if isinstance(value, str) else value
