"""Templates: texts of a spec with names in braces, e.g. ``sfw[batch={batch}]``.

A name in braces stands for its value, and a doubled brace for a brace. Unlike Python's format
strings, templates have no attributes, conversions or widths.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pfbench.base.errors import InputError
from pfbench.runs.planning.toml import abbreviate

LONGEST = 10_000
"""Maximum number of characters of a text after its names are replaced."""

_PIECE = re.compile(r"\{\{|\}\}|\{([^\W\d]\w*)\}|[{}]")


def placeholder_names(template: str, *, location: str) -> set[str]:
    """Return the names in braces.

    Raises
    ------
    InputError
        If the braces are wrong; `location` is the location in the message.
    """
    return {name for name, _ in _iterate_names_and_literals(template, location) if name}


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
    for name, text in _iterate_names_and_literals(template, location):
        if name and name not in values:
            raise InputError(
                f"{location}: {abbreviate(template)} names {{{name}}}, for which {values_source} has no values: "  # noqa: E501
                "add them, or correct the name."
            )
        parts.append(str(values[name]) if name else text)
        length += len(parts[-1])
        if length > LONGEST:
            raise InputError(
                f"{location}: {abbreviate(template)} with its values is longer than {LONGEST:,} "
                "characters: shorten it."
            )
    return "".join(parts)


def _iterate_names_and_literals(template: str, location: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of a name and "", or of "" and literal text."""
    end = 0
    for match in _PIECE.finditer(template):
        yield "", template[end : match.start()]
        end = match.end()
        if match[1]:
            yield match[1], ""
        elif len(match[0]) == 2:
            yield "", match[0][0]
        else:
            raise InputError(
                f"{location}: {abbreviate(template)} has wrong braces (at character {match.start() + 1}): "  # noqa: E501
                "write {name}, and a brace itself twice."
            )
    yield "", template[end:]
