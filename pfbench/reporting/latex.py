"""Tables and texts as LaTeX, for the package booktabs and any engine; everything is escaped."""

import re
import unicodedata

from pfbench.base.escaping import escape_text
from pfbench.reporting.tables import Table, is_numeric
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
"""What LaTeX would read as something else, or has no letter for, and how it is written."""

_SUPERSCRIPTS = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
_POWER = re.compile(f"[{_SUPERSCRIPTS}]+")
_PLAIN = dict(zip(map(ord, _SUPERSCRIPTS), [r"\ensuremath{-}", *"0123456789"], strict=True))
_ACCENTS = frozenset("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327")
_LETTERS = frozenset("ßæøœłÆØŒŁ")


def latex_table(table: Table) -> str:
    """Return a table as LaTeX, for the package booktabs."""
    numeric = [is_numeric(cell) for cell in table.rows[0].cells] if table.rows else []
    columns = "".join("r" if item else "l" for item in numeric)
    lines = [
        f"% {escape_text(table.caption)}",  # a newline would end the comment
        rf"\begin{{tabular}}{{ll{columns or 'r' * (len(table.head) - 2)}}}",
        r"\toprule",
        " & ".join(map(_break_heading, table.head)) + r" \\",
    ]
    for number, row, texts in table.lines():
        if number == 0:
            lines.append(r"\midrule")
        cells = list(map(escape_latex, texts))
        for index in row.best:
            cells[2 + index] = rf"\textbf{{{cells[2 + index]}}}"
        lines.append(" & ".join(shield_option(cell) for cell in cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def escape_latex(text: str) -> str:
    """Return a text for LaTeX, in which nothing of it is a command.

    A character that not every engine has is written by its number.
    """
    escaped = escape_text(text).translate(LATEX)
    escaped = _POWER.sub(
        lambda match: rf"\textsuperscript{{{match[0].translate(_PLAIN)}}}", escaped
    )
    return "".join(map(_escape_character, unicodedata.normalize("NFC", escaped)))


def _escape_character(character: str) -> str:
    """Return a character that every encoding of fonts has as it is, any other as its number."""
    parts = unicodedata.normalize("NFD", character)
    letter, marks = parts[0], parts[1:]
    if (letter.isascii() and _ACCENTS.issuperset(marks)) or character in _LETTERS:
        return character
    return f"[U+{ord(character):04X}]"


def _break_heading(text: str) -> str:
    first, *rest = (escape_latex(part) for part in text.split(": "))
    if not rest:
        return first
    return r"\shortstack[r]{" + r":\\ ".join([first, *rest]) + "}"


def shield_option(cell: str) -> str:
    """Return a cell that the end of the line before cannot read as its option."""
    return f"{{}}{cell}" if cell.startswith(("[", "*")) else cell
