"""Numbers that a paper quotes, as LaTeX macros; a comment has the keys of the runs behind each."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pfbench.base.counts import COUNTED
from pfbench.base.escaping import escape_text
from pfbench.reporting.comparison import Comparison, ScoredAlgorithm
from pfbench.reporting.latex import escape_latex
from pfbench.reporting.results import RunGroup, SettingResults
from pfbench.reporting.tables import format_calls
from pfbench.reporting.wording import format_integer, format_significant

_DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_WORD = re.compile(r"[A-Za-z]+|[0-9]|\.(?=[0-9])|-(?=[0-9])|[√+*\u0370-\u03ff]")
_SIGNS = {".": "Point", "-": "Minus", "√": "Root", "+": "Plus", "*": "Star"}

HEAD = """\
% Every number of the report, by name; load it with \\input. Before each algorithm the keys of its
% runs in the store. Expected calls, hits and last values are within the common budget.
"""


def latex_macros(studies: Iterable[Sequence[Comparison]]) -> str:
    """Return a LaTeX file with a macro for each number of the tables of results and counts.

    Parameters
    ----------
    studies
        Each study in each kind of calls.
    """
    lines: list[str | tuple[list[str], str]] = [HEAD]
    for compared in studies:
        results = compared[0].results
        is_plural = len(results.panels) > 1
        for number, panel in enumerate(results.panels):
            for index, group in enumerate(panel.groups):
                lines.append(f"% {_group_comment(panel, group)}\n")
                begin = [results.study.key, *[panel.title] * is_plural, group.label]
                scored = [comparison.panels[number].algorithms[index] for comparison in compared]
                for words, text in [*_result_entries(compared, scored), *_count_entries(group)]:
                    lines.append(([*begin, *words], escape_latex(text)))
    alike = Counter(macro_name(line[0]) for line in lines if isinstance(line, tuple))
    used_names = set[str]()
    return "".join(
        line if isinstance(line, str) else _define_macro(*line, alike, used_names) for line in lines
    )


def _define_macro(
    texts: list[str], number: str, alike: Mapping[str, int], used_names: set[str]
) -> str:
    """Return the definition of a macro.

    Several of the same name have letters behind it that follow from the texts of each alone, so
    that none ever takes the name of another.
    """
    name = macro_name(texts)
    if alike[name] > 1:
        digest = hashlib.sha256("\0".join(texts).encode()).digest()
        name += "X" + "".join(chr(ord("a") + byte % 26) for byte in digest[:5])
    return f"\\newcommand{{\\{_make_unique_name(name, used_names)}}}{{{number}}}\n"


def _group_comment(panel: SettingResults, group: RunGroup) -> str:
    keys = " ".join(dict.fromkeys(group.keys)) or "not stored"
    return escape_text(f"{group.label}, {panel.title}: {keys}")


def _result_entries(
    comparisons: Sequence[Comparison], algorithms: Sequence[ScoredAlgorithm]
) -> Iterator[tuple[list[str], str]]:
    for comparison, algorithm in zip(comparisons, algorithms, strict=True):
        price = str(comparison.price).lower()
        for target, expected in zip(comparison.targets, algorithm.expected_calls, strict=True):
            level = [target.measure, f"{target.target:g}"]
            if expected is not None:
                yield [price, *level], format_calls(expected.value)
                yield [price, *level, "hits"], f"{expected.hits}/{expected.planned_runs}"
    for measure in algorithms[0].last_values:
        yield ["last", measure], format_significant(algorithms[0].median(measure))


def _count_entries(group: RunGroup) -> Iterator[tuple[list[str], str]]:
    for kind in COUNTED:
        spent = [getattr(run.counts, kind) for run in group.runs]
        low, high = min(spent, default=0), max(spent, default=0)
        if high:
            yield (
                ["counts", kind],
                format_integer(low)
                if low == high
                else f"{format_integer(low)}–{format_integer(high)}",
            )


def macro_name(texts: Sequence[str]) -> str:
    """Return a name of letters alone, as TeX wants: digits and some signs are spelled out."""
    uppers = []
    for text in texts:
        plain = unicodedata.normalize("NFKD", text)
        for word in _WORD.findall(plain):
            spelled = _DIGITS[int(word)] if word.isdigit() else _SIGNS.get(word, word)
            if not spelled.isascii():  # as in GREEK SMALL LETTER BETA
                spelled = unicodedata.name(spelled, "SIGN").split()[-1].lower()
            uppers.append(spelled[0].upper() + spelled[1:])
    return "pf" + "".join(uppers)


def _make_unique_name(name: str, used: set[str]) -> str:
    """Return the name, with letters behind it if another number has it."""
    free, number = name, 0
    while free in used:
        number += 1
        free = name + "X" * number
    used.add(free)
    return free
