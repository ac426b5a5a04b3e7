"""What goes into a paper of one method: a table of at most 60 lines, a figure, and their numbers.

The method stands against the five strongest of its class, on every problem and target. All else is
in the CSV files beside it.
"""

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from textwrap import wrap

from pfbench.reporting.comparison import ScoredAlgorithm, SettingComparison
from pfbench.reporting.findings.candidate_front import CandidateFront
from pfbench.reporting.latex import escape_latex, shield_option
from pfbench.reporting.statistics.significance import significant_leaders
from pfbench.reporting.wording import format_integer, inline_name
from pfbench.runs.planning.tune import TUNED, TuningPlan

COLUMNS = 5
"""So many others stand beside the method."""

MOST_ROWS = 40
"""Of more pairs the easiest targets are left out, which the caption says."""

_LETTERS = "ABCDEFGHIJ"


class PaperMaterial:
    """The table and the figure of a `CandidateFront`, and the numbers in them by name."""

    def __init__(self, front: CandidateFront, stem: str) -> None:
        self._front, self._stem = front, stem
        self._comparison = front.comparisons[0]
        targets = len(self._comparison.targets)
        max_count = max(1, MOST_ROWS // max(1, len(self._comparison.panels)))
        self._targets = list(range(targets))[-max_count:]
        self._labels = [front.label, *front.rivals[:COLUMNS]]
        self._rows = [
            (panel, target, self._cells(panel))
            for panel in self._comparison.panels
            for target in self._targets
        ]
        samples = [
            [algorithm.sample(index) for algorithm in cells] for _, index, cells in self._rows
        ]
        displayed = [
            [algorithm.calls_to_target(index) for algorithm in cells]
            for _, index, cells in self._rows
        ]
        self._best = significant_leaders(samples, displayed)

    def _cells(self, panel: SettingComparison) -> list[ScoredAlgorithm]:
        return [algorithm for label in self._labels if (algorithm := panel.find(label))]

    def table(self) -> str:
        """Return the table, for the package booktabs, with its caption."""
        tune = self._front.results.study.tune
        lines = [
            "% pfbench compare; needs \\usepackage{booktabs}",
            "\\begin{table}",
            "\\centering\\small\\setlength{\\tabcolsep}{4pt}",
            f"\\caption{{{self._caption(tune)}}}",
            f"\\label{{tab:{_label_key(self._stem)}}}",
            f"\\begin{{tabular}}{{lr{'r' * len(self._labels)}}}",
            "\\toprule",
            " & ".join(["problem", "target", *map(_break_name, self._column_heads())]) + r" \\",
            "\\midrule",
        ]
        before = None
        for (panel, index, cells), best in zip(self._rows, self._best, strict=True):
            title = panel.panel.title
            name = shield_option(escape_latex(title)) if title != before else ""
            before = title
            texts = self._row(cells, index, best)
            level = f"{self._comparison.targets[index].target:g}"
            lines.append(" & ".join([name, level, *texts]) + r" \\")
        return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", "\\end{table}", ""])

    def _all_tuned(self) -> bool:
        return all(label.endswith(TUNED) for label in self._labels)

    def _column_heads(self) -> list[str]:
        """Return what stands over the columns: what all share is left to the caption."""
        return [label.removesuffix(TUNED) if self._all_tuned() else label for label in self._labels]

    def _row(self, cells: Sequence[ScoredAlgorithm], index: int, best: int | None) -> Iterator[str]:
        algorithms = {cell.group.label: (number, cell) for number, cell in enumerate(cells)}
        for label in self._labels:
            if label not in algorithms:
                yield "--"
                continue
            number, algorithm = algorithms[label]
            text = _format_calls(algorithm, index)
            yield f"\\textbf{{{text}}}" if number == best else text

    def _caption(self, tune: TuningPlan | None) -> str:
        study = self._front.results.study
        measure = inline_name(study.targets[-1].measure) if study.targets else ""
        left = len(self._comparison.targets) - len(self._targets)
        statement = [
            f"Expected {self._front.price} calls to a {measure} of at most the target, over "
            f"{len(study.seeds)} seeds at equal budgets; a failed run is charged its own calls, "
            "and raised after a number stands how many runs arrive where not all do.",
            f"Beside {self._front.label} stand the {len(self._labels) - 1} strongest of "
            f"{len(self._front.rivals)} other {self._front.kind}.",
        ]
        if left:
            statement.append(f"The {left} easiest targets are left out.")
        if tune is not None:
            statement.append(
                f"{'All are tuned' if self._all_tuned() else 'Methods called tuned'}: "
                f"at most {tune.trials} trials each on every problem with other "
                f"seeds ({', '.join(map(str, tune.seeds))}), the fewest {tune.count.upper()} to "
                "each target decide."
            )
        statement.append(
            "Bold: fewer than each other method of the row by a rank test over the seeds (Holm at "
            "5 percent over the whole table)."
        )
        return escape_latex(" ".join(statement))

    def figure(self) -> str:
        """Return the figure with its caption."""
        study = self._front.results.study
        front = self._front
        statement = (
            f"Share of the {front.pair_count} pairs of problem and target that a method has reached by "  # noqa: E501
            f"so many expected {front.price} calls, on {len(study.problems)} problems with "
            f"{len(study.seeds)} seeds each. Heavy: {front.label}; in colour the strongest of the "
            f"{len(front.rivals)} other {front.kind}; grey: all others, "
            f"{len(study.labels) - len(front.methods_in_colour)} in number."
        )
        return "\n".join(
            [
                "% pfbench compare; needs \\usepackage{graphicx}",
                "\\begin{figure}",
                "\\centering",
                # Columns of some classes are narrower.
                "\\includegraphics[width=\\ifdim\\linewidth<3.25in \\linewidth\\else 3.25in\\fi]"
                f"{{{self._stem}-compare.pdf}}",
                f"\\caption{{{escape_latex(statement)}}}",
                f"\\label{{fig:{_label_key(self._stem)}}}",
                "\\end{figure}",
                "",
            ]
        )

    def macros(self) -> str:
        r"""Return the numbers of table and sentence, such as ``\cmpDigitsC`` and ``\cmpFirst``.

        A is the easiest target of the table. Of two problems with the same letters the second has
        an X behind its name.
        """
        lines = ["% pfbench compare: A is the easiest target, and so on."]
        letters = dict(zip(self._targets, _LETTERS, strict=False))
        names: dict[str, str] = {}
        for panel, index, cells in self._rows:
            title = panel.panel.title
            if title not in names:
                name = _letters_only(title)
                while name in names.values():
                    name += "X"
                names[title] = name
            if cells and cells[0].group.label == self._front.label:
                calls = _format_calls(cells[0], index)
                lines.append(f"\\newcommand{{\\cmp{names[title]}{letters[index]}}}{{{calls}}}")
        duels = {(duel.title, duel.target_index): duel for duel in self._front.duels}
        for panel, index, _ in self._rows:
            duel = duels.get((panel.panel.title, index))
            if duel is not None and duel.ratio is not None:
                name = f"\\cmp{names[panel.panel.title]}{letters[index]}Ratio"
                lines.append(f"\\newcommand{{{name}}}{{{duel.ratio.value:.3g}}}")
        return "\n".join([*lines, ""])


def _format_calls(algorithm: ScoredAlgorithm, index: int) -> str:
    expected = algorithm.expected_calls[index]
    if expected is None:
        return "--"
    if math.isinf(expected.value):
        return r"$\infty$"
    text = (
        format_integer(round(expected.value)) if expected.value >= 100 else f"{expected.value:.3g}"
    )
    some = expected.hits < expected.planned_runs
    return escape_latex(text) + (f"$^{{{expected.hits}/{expected.planned_runs}}}$" if some else "")


def _break_name(label: str) -> str:
    """Return a name in lines of some twelve letters, which a page has room for."""
    lines = r" \\ ".join(escape_latex(line) for line in wrap(label, 12))
    return f"\\shortstack[r]{{{lines}}}" if len(label) > 12 else lines


def _label_key(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()


def _letters_only(title: str) -> str:
    """Return letters alone, as TeX wants: `easy quadratic` is EasyQuadratic."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    digits = dict(zip("0123456789", "OIJKLMNPQR", strict=True))
    words = re.findall(r"[A-Za-z]+|[0-9]+", plain)
    spelled = ("".join(digits.get(sign, sign) for sign in word) for word in words)
    return "".join(word[0].upper() + word[1:] for word in spelled) or "P"
