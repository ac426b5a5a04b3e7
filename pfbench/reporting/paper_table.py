"""LaTeX table of a study, as wide as a column of a paper, with caption and label."""

import math
import re
import tomllib
import unicodedata
from collections.abc import Sequence
from importlib.resources import files
from textwrap import wrap
from typing import Any

from pfbench.base.escaping import escape_hidden
from pfbench.reporting import wording
from pfbench.reporting.candidate_front import CandidateAgainstRivals
from pfbench.reporting.comparison import (
    Comparison,
    ExpectedCalls,
    ScoredAlgorithm,
    SettingComparison,
)
from pfbench.reporting.ranking import find_compared_measure
from pfbench.runs.planning.tune import TUNED

COLUMNS = 3
"""Maximum number of columns, so that the table with its names is 240 pt wide."""

RIVALS = 5
"""Maximum number of other methods below the candidate."""

MAX_ROWS = 40
"""Maximum number of rows of all panels together; each panel keeps at least two methods."""

NAME_WIDTH = 70
"""Width of the column of names in pt; longer names continue on a second line."""


def paper_table(
    comparison: Comparison,
    displayed_labels: Sequence[str],
    stem: str,
    front: CandidateAgainstRivals | None = None,
) -> str:
    """Return the LaTeX code of a study's table, for the package booktabs.

    Parameters
    ----------
    comparison
        Comparison of the study by the oracle calls that rank its methods.
    displayed_labels
        The methods that the figures show.
    stem
        The label of the table, after `tab:`.
    front
        Comparison of the candidate with the methods of its class. If given, only these methods are
        in the table.
    """
    study, panels = comparison.results.study, comparison.panels
    labels = (front.label, *front.rivals[:RIVALS]) if front else tuple(displayed_labels)
    labels = labels[: max(2, MAX_ROWS // max(1, len(panels)))]
    heads = _headings(comparison)
    lines: list[str] = []
    for panel in panels:
        if len(panels) > 1:
            title = f"\\parbox{{230pt}}{{\\raggedright {escape_latex(panel.panel.title)}}}"
            lines += ["\\addlinespace"] if lines else []
            lines.append(f"\\multicolumn{{{len(heads) + 1}}}{{l}}{{{title}}} \\\\")
        for scored in filter(None, map(panel.find, labels)):
            texts = [_format_name(scored.group.label)]
            for text, leader in _cells_and_leaders(comparison, panel, scored):
                is_best = leader is not None and panel.algorithms[leader] is scored
                texts.append(f"\\textbf{{{text}}}" if is_best else text)
            lines.append(" & ".join(texts) + r" \\")
    tune = study.tune
    table: str = _load_template().render(
        comparison=comparison,
        study=study,
        front=front,
        labels=labels,
        measure=wording.name_within_sentence(find_compared_measure(comparison.results)),
        easier_targets=max(0, len(comparison.targets) - len(heads)),
        is_tuned=tune is not None and any(label.endswith(TUNED) for label in labels),
        stem=re.sub(r"[^A-Za-z0-9]+", "-", stem).strip("-").lower(),
        heads=heads,
        lines=lines,
    )
    return table


def _load_template() -> Any:
    """Return the Jinja template of a LaTeX table; its tags cannot be confused with LaTeX."""
    from jinja2 import Environment

    tags = ("<%", "%>", "<<", ">>", "<#", "#>")
    environment = Environment(*tags, keep_trailing_newline=True)
    environment.filters["latex"] = escape_latex
    path = files("pfbench.reporting") / "templates" / "table.tex.j2"
    return environment.from_string(path.read_text("utf-8"))


def _headings(comparison: Comparison) -> list[str]:
    """Return the headings of the hardest targets, or of the first measures without targets."""
    if comparison.targets:
        return [escape_latex(f"≤ {target.target:g}") for target in comparison.targets[-COLUMNS:]]
    measures = map(wording.measure_label, comparison.measures[:COLUMNS])
    return [_break_lines(measure, "r") for measure in measures]


def _cells_and_leaders(
    comparison: Comparison, panel: SettingComparison, scored: ScoredAlgorithm
) -> list[tuple[str, int | None]]:
    """Return the text of each cell of an algorithm, and the index of its column's best one."""
    if comparison.targets:
        expected = scored.calls_until_targets[-COLUMNS:]
        return list(
            zip(map(_format_calls, expected), panel.leader_by_target[-COLUMNS:], strict=True)
        )
    return [
        (_format_value(scored.median_last_value(measure)), panel.leader_by_measure[measure])
        for measure in comparison.measures[:COLUMNS]
    ]


def _format_value(median: float) -> str:
    text = wording.format_significant(median) if math.isfinite(median) else wording.MISSING_MARK
    return escape_latex(text)


def _format_calls(expected: ExpectedCalls | None) -> str:
    if expected is None:
        return escape_latex(wording.MISSING_MARK)
    if math.isinf(expected.value):
        return r"$\infty$"
    text = escape_latex(wording.format_calls(expected.value))
    is_reached_by_all = expected.hits == expected.planned_runs
    return text if is_reached_by_all else f"{text}$^{{{expected.hits}/{expected.planned_runs}}}$"


def _format_name(label: str) -> str:
    text = escape_latex(label)
    if len(label) > NAME_WIDTH // 5:
        return f"\\parbox[t]{{{NAME_WIDTH}pt}}{{\\raggedright {text}\\strut}}"
    # LaTeX would read these as an option of the preceding line break.
    return f"{{}}{text}" if text.startswith(("[", "*")) else text


def _break_lines(text: str, side: str) -> str:
    lines = [escape_latex(line) for line in wrap(text, 12)]
    joined = r" \\ ".join(lines)
    return f"\\shortstack[{side}]{{{joined}}}" if len(lines) > 1 else joined


LATEX = str.maketrans(tomllib.loads((files("pfbench.reporting") / "latex.toml").read_text("utf-8")))
"""LaTeX for each character that is special or has no letter in LaTeX."""

_SUPERSCRIPTS = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
_POWER = re.compile(f"[{_SUPERSCRIPTS}]+")
_PLAIN = dict(zip(map(ord, _SUPERSCRIPTS), [r"\ensuremath{-}", *"0123456789"], strict=True))
_ACCENTS = frozenset("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327")
_LETTERS = frozenset("ßæøœłÆØŒŁ")


def escape_latex(text: str) -> str:
    """Return a text escaped for LaTeX.

    Characters that some LaTeX engines lack are replaced by their code points.
    """
    escaped = escape_hidden(text).translate(LATEX)
    escaped = _POWER.sub(
        lambda match: rf"\textsuperscript{{{match[0].translate(_PLAIN)}}}", escaped
    )
    return "".join(map(_replace_unless_in_fonts, unicodedata.normalize("NFC", escaped)))


def _replace_unless_in_fonts(character: str) -> str:
    """Return a character unchanged if every font encoding has it, else as ``[U+XXXX]``."""
    parts = unicodedata.normalize("NFD", character)
    letter, marks = parts[0], parts[1:]
    if (letter.isascii() and _ACCENTS.issuperset(marks)) or character in _LETTERS:
        return character
    return f"[U+{ord(character):04X}]"
