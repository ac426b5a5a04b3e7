"""Texts of strangers as they can be printed: nothing in them acts, and nothing is hidden."""

import unicodedata

_FORMULA = frozenset("=+-@\t\r")


def escape_text(text: str, keep: str = "") -> str:
    r"""Return a text in which every character that would act stands as it is escaped in Python.

    These are control characters (C0 with newlines and tabs, C1), those that turn the direction of
    writing or have no width, separators of lines, surrogates, and what Unicode has not assigned:
    an escape becomes ``\x1b``, a newline ``\n``.

    Parameters
    ----------
    keep
        Characters that stay as they are.
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
    """Return a text that is no formula in a spreadsheet: what would begin one is quoted.

    It is `escape_text`, too.
    """
    return ("'" if text[:1] in _FORMULA else "") + escape_text(text)
