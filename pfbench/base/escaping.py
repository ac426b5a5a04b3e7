"""Escaping of untrusted text for terminals, spreadsheets, and HTML tables in Jupyter."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

_FORMULA = frozenset("=+-@\t\r")


def escape_hidden(text: str, keep: str = "") -> str:
    r"""Return a text with every control or invisible character in Python's escaped form.

    The escaped characters are: control characters (C0 with newlines and tabs, C1), characters that
    change the direction of writing or have no width, line separators, surrogates, and unassigned
    code points. An escape character becomes ``\x1b``, a newline ``\n``.

    Parameters
    ----------
    keep
        Characters that are not escaped.
    """
    if text.isprintable():
        return text
    return "".join(
        name
        if name in keep or name.isprintable() or unicodedata.category(name) == "Zs"
        else name.encode("unicode_escape").decode("ascii")
        for name in text
    )


def escape_spreadsheet(text: str) -> str:
    """Return a text that no spreadsheet reads as a formula.

    An initial character that starts a formula is quoted. `escape_hidden` is applied as well.
    """
    return ("'" if text[:1] in _FORMULA else "") + escape_hidden(text)


_LEFT = ' style="text-align: left"'


def html_table(names: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """Return an HTML table with a caption and a header row; numbers have six digits."""
    head = "".join(f"<th{_LEFT}>{html_text(name)}</th>" for name in names)
    lines = [f"<tr>{''.join(map(_format_cell, row))}</tr>" for row in rows]
    text = f"<caption{_LEFT}>{html_text(caption)}</caption>" if caption else ""
    return f"<table>{text}<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def html_fields(values: Mapping[str, Any], caption: str = "") -> str:
    """Return a two-column HTML table of names and values; values that are None are left out."""
    displayed = ((name, value) for name, value in values.items() if value not in (None, ""))
    return html_table(("", ""), displayed, caption)


def markdown_table(head: Sequence[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    """Return the lines of a Markdown table with a header; the cells must be escaped already."""
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *lines]


def html_text(text: str) -> str:
    """Return a text with the special characters of HTML escaped."""
    return escape(escape_hidden(text))


def _format_cell(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"<td{_LEFT}>{'' if value is None else html_text(str(value))}</td>"
    return f"<td>{value:,}</td>" if isinstance(value, int) else f"<td>{value:.6g}</td>"
