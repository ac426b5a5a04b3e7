"""Escaping of untrusted text for terminals and spreadsheets."""

import unicodedata

_FORMULA = frozenset("=+-@\t\r")


def escape_text(text: str, keep: str = "") -> str:
    r"""Return a text with every control or invisible character in Python's escaped form.

    The escaped characters are: control characters (C0 with newlines and tabs, C1), characters that
    change the direction of writing or have no width, line separators, surrogates, and unassigned
    code points. An escape becomes ``\\x1b``, a newline ``\
    ``.

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
    """Return a text that no spreadsheet reads as a formula: an initial formula character is quoted.

    `escape_text` is applied as well.
    """
    return ("'" if text[:1] in _FORMULA else "") + escape_text(text)
