"""Escaping of texts for LaTeX, for any engine."""

import re
import unicodedata

from pfbench.base.escaping import escape_text
from pfbench.reporting.wording import SEPARATOR

_NAMES = (
    "Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega alpha beta gamma delta varepsilon zeta eta "
    "theta kappa lambda mu nu xi pi rho sigma tau varphi chi psi omega"
)
_GREEK = dict(zip("ΓΔΘΛΞΠΣΦΨΩαβγδεζηθκλμνξπρστφχψω", _NAMES.split(), strict=True))
_SIGNS = {
    "√": r"\surd",
    "∇": r"\nabla",
    "−": "-",
    "·": r"\cdot",
    "×": r"\times",
    "≤": r"\le",
    "≥": r"\ge",
    "≈": r"\approx",
    "∞": r"\infty",
    "±": r"\pm",
    "→": r"\to",
    "∈": r"\in",
}
LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{special: f"\\{special}" for special in "&%$#_{}"},
        "|": r"\textbar{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{sign: rf"\ensuremath{{{name}}}" for sign, name in _SIGNS.items()},
        **{sign: rf"\ensuremath{{\{name}}}" for sign, name in _GREEK.items()},
        "–": "--",
        "…": r"\ldots{}",
        SEPARATOR: r"\,",
        "\N{NO-BREAK SPACE}": "~",
    }
)
"""LaTeX for each character that is special or has no letter in LaTeX."""

_SUPERSCRIPTS = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
_POWER = re.compile(f"[{_SUPERSCRIPTS}]+")
_PLAIN = dict(zip(map(ord, _SUPERSCRIPTS), [r"\ensuremath{-}", *"0123456789"], strict=True))
_ACCENTS = frozenset("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327")
_LETTERS = frozenset("ßæøœłÆØŒŁ")


def escape_latex(text: str) -> str:
    """Return a text escaped for LaTeX.

    A character that some engines lack is written by its code point.
    """
    escaped = escape_text(text).translate(LATEX)
    escaped = _POWER.sub(
        lambda match: rf"\textsuperscript{{{match[0].translate(_PLAIN)}}}", escaped
    )
    return "".join(map(_escape_character, unicodedata.normalize("NFC", escaped)))


def _escape_character(character: str) -> str:
    """Return a character that every font encoding has, any other as ``[U+XXXX]``."""
    parts = unicodedata.normalize("NFD", character)
    letter, marks = parts[0], parts[1:]
    if (letter.isascii() and _ACCENTS.issuperset(marks)) or character in _LETTERS:
        return character
    return f"[U+{ord(character):04X}]"


def shield_option(cell: str) -> str:
    """Prefix a cell that LaTeX would read as an option of the preceding line break."""
    return f"{{}}{cell}" if cell.startswith(("[", "*")) else cell
