"""Numbers that a paper quotes, as LaTeX macros; a comment has the keys of the runs behind each."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pfbench.base.counts import COUNTED
from pfbench.base.visible import visible
from pfbench.reporting.comparison import Comparison, Scored
from pfbench.reporting.latex import latex_text
from pfbench.reporting.results import Group, Panel
from pfbench.reporting.tables import calls
from pfbench.reporting.words import significant, whole

_DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_WORD = re.compile(r"[A-Za-z]+|[0-9]|\.(?=[0-9])|-(?=[0-9])|[√+*\u0370-\u03ff]")
_SIGNS = {".": "Point", "-": "Minus", "√": "Root", "+": "Plus", "*": "Star"}

HEAD = """\
% Every number of the report, by name; load it with \\input. Before each algorithm the keys of its
% runs in the store. Expected calls, hits and last values are within the common budget.
"""


def macros(studies: Iterable[Sequence[Comparison]]) -> str:
    """Return a LaTeX file with a macro for each number of the tables of results and counts.

    Parameters
    ----------
    studies
        Each study in each kind of calls.
    """
    lines: list[str | tuple[list[str], str]] = [HEAD]
    for compared in studies:
        results = compared[0].results
        several = len(results.panels) > 1
        for number, panel in enumerate(results.panels):
            for at, group in enumerate(panel.groups):
                lines.append(f"% {_about(panel, group)}\n")
                begin = [results.study.key, *[panel.title] * several, group.label]
                scored = [one.panels[number].scored[at] for one in compared]
                for words, text in [*_results(compared, scored), *_counts(group)]:
                    lines.append(([*begin, *words], latex_text(text)))
    alike = Counter(macro_name(line[0]) for line in lines if isinstance(line, tuple))
    taken = set[str]()
    return "".join(line if isinstance(line, str) else _macro(*line, alike, taken) for line in lines)


def _macro(texts: list[str], number: str, alike: Mapping[str, int], taken: set[str]) -> str:
    """Return the definition of a macro.

    Several of the same name have letters behind it that follow from the texts of each alone, so
    that none ever takes the name of another.
    """
    name = macro_name(texts)
    if alike[name] > 1:
        digest = hashlib.sha256("\0".join(texts).encode()).digest()
        name += "X" + "".join(chr(ord("a") + byte % 26) for byte in digest[:5])
    return f"\\newcommand{{\\{_free(name, taken)}}}{{{number}}}\n"


def _about(panel: Panel, group: Group) -> str:
    keys = " ".join(dict.fromkeys(group.keys)) or "not stored"
    return visible(f"{group.label}, {panel.title}: {keys}")


def _results(
    compared: Sequence[Comparison], scored: Sequence[Scored]
) -> Iterator[tuple[list[str], str]]:
    for comparison, one in zip(compared, scored, strict=True):
        price = str(comparison.price).lower()
        for target, expected in zip(comparison.targets, one.expected, strict=True):
            level = [target.measure, f"{target.target:g}"]
            if expected is not None:
                yield [price, *level], calls(expected.value)
                yield [price, *level, "hits"], f"{expected.hits}/{expected.planned}"
    for measure in scored[0].last:
        yield ["last", measure], significant(scored[0].median(measure))


def _counts(group: Group) -> Iterator[tuple[list[str], str]]:
    for kind in COUNTED:
        spent = [getattr(run.counts, kind) for run in group.runs]
        low, high = min(spent, default=0), max(spent, default=0)
        if high:
            yield ["counts", kind], whole(low) if low == high else f"{whole(low)}–{whole(high)}"


def macro_name(texts: Sequence[str]) -> str:
    """Return a name of letters alone, as TeX wants: digits and some signs are spelled out."""
    found = []
    for text in texts:
        plain = unicodedata.normalize("NFKD", text)
        for word in _WORD.findall(plain):
            spelled = _DIGITS[int(word)] if word.isdigit() else _SIGNS.get(word, word)
            if not spelled.isascii():  # as in GREEK SMALL LETTER BETA
                spelled = unicodedata.name(spelled, "SIGN").split()[-1].lower()
            found.append(spelled[0].upper() + spelled[1:])
    return "pf" + "".join(found)


def _free(name: str, taken: set[str]) -> str:
    """Return the name, with letters behind it if another number has it."""
    free, number = name, 0
    while free in taken:
        number += 1
        free = name + "X" * number
    taken.add(free)
    return free
