"""Numbers that a paper quotes, as LaTeX macros; a comment has the keys of the runs behind each."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from pfbench.base.counts import COUNTED
from pfbench.base.visible import visible
from pfbench.reporting.comparison import Comparison, Scored
from pfbench.reporting.latex import latex_text
from pfbench.reporting.results import Group, Panel
from pfbench.reporting.tables import calls
from pfbench.reporting.words import significant, whole

_DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_WORD = re.compile(r"[A-Za-z]+|[0-9]|\.(?=[0-9])|-(?=[0-9])|√")
_SIGNS = {".": "Point", "-": "Minus", "√": "Root"}

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
    lines, taken = [HEAD], set[str]()
    for compared in studies:
        results = compared[0].results
        several = len(results.panels) > 1
        for number, panel in enumerate(results.panels):
            for at, group in enumerate(panel.groups):
                lines.append(f"% {_about(panel, group)}\n")
                begin = [results.study.key, *[panel.title] * several, group.label]
                scored = [one.panels[number].scored[at] for one in compared]
                for words, text in [*_results(compared, scored), *_counts(group)]:
                    name = _free(macro_name([*begin, *words]), taken)
                    lines.append(f"\\newcommand{{\\{name}}}{{{latex_text(text)}}}\n")
    return "".join(lines)


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
