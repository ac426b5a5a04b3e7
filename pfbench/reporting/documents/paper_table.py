"""The LaTeX table of a study: as wide as a column of a paper, with caption and label."""

import math
import re
from collections.abc import Sequence
from textwrap import wrap

from pfbench.reporting.comparison import Comparison, ScoredAlgorithm
from pfbench.reporting.findings.candidate_front import CandidateAgainstRivals
from pfbench.reporting.latex import escape_latex, shield_option
from pfbench.reporting.statistics.significance import SeedSample, significant_leaders
from pfbench.reporting.wording import (
    MISSING_MARK,
    format_calls_in_sentence,
    format_significant,
    measure_label,
    name_within_sentence,
)
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
    """Return the table as LaTeX, for the package booktabs.

    Parameters
    ----------
    comparison
        A study, compared in the calls that rank its methods.
    displayed_labels
        The methods that the figures show.
    stem
        The label of the table, after `tab:`.
    front
        The candidate and the rivals of its class. If given, the table shows these instead.
    """
    study, panels = comparison.results.study, comparison.panels
    labels = (front.label, *front.rivals[:RIVALS]) if front else tuple(displayed_labels)
    labels = labels[: max(2, MAX_ROWS // max(1, len(panels)))]
    columns = range(len(comparison.targets) or len(comparison.measures))
    # The hardest targets, which are last, or the first measures.
    columns = columns[-COLUMNS:] if comparison.targets else columns[:COLUMNS]
    cells = [[scored for label in labels if (scored := panel.find(label))] for panel in panels]
    samples, numbers = [], []
    for row in cells:
        for column in columns:
            pairs = [_column_sample_and_number(comparison, scored, column) for scored in row]
            samples.append([sample for sample, _ in pairs])
            numbers.append([number for _, number in pairs])
    leaders = iter(significant_leaders(samples, numbers))
    lines: list[str] = []
    for panel, row in zip(panels, cells, strict=True):
        best = [next(leaders) for _ in columns]
        if len(panels) > 1:
            title = f"\\parbox{{230pt}}{{\\raggedright {escape_latex(panel.panel.title)}}}"
            lines += ["\\addlinespace"] if lines else []
            lines.append(f"\\multicolumn{{{len(columns) + 1}}}{{l}}{{{title}}} \\\\")
        for number, scored in enumerate(row):
            texts = [_format_cell(comparison, scored, column) for column in columns]
            bold = [
                f"\\textbf{{{text}}}" if leader == number else text
                for text, leader in zip(texts, best, strict=True)
            ]
            lines.append(" & ".join([_format_name(scored.group.label), *bold]) + r" \\")
    heads = (
        [escape_latex(f"≤ {comparison.targets[column].target:g}") for column in columns]
        if comparison.targets
        else [_break_lines(measure_label(comparison.measures[column]), "r") for column in columns]
    )
    caption = escape_latex(" ".join(_caption(comparison, labels, len(columns), front)))
    return "\n".join(
        [
            "% needs \\usepackage{booktabs}",
            "\\begin{table}",
            "\\centering\\footnotesize\\setlength{\\tabcolsep}{3pt}",
            f"\\caption{{{caption}}}",
            f"\\label{{tab:{re.sub(r'[^A-Za-z0-9]+', '-', stem).strip('-').lower()}}}",
            f"\\begin{{tabular}}{{l{'r' * len(columns)}}}",
            "\\toprule",
            " & ".join([f"seeds: {len(study.seeds)}", *heads]) + r" \\",
            "\\midrule",
            *lines,
            "\\bottomrule",
            "\\end{tabular}",
            "\\end{table}",
            "",
        ]
    )


def _column_sample_and_number(
    comparison: Comparison, scored: ScoredAlgorithm, column: int
) -> tuple[SeedSample, float]:
    """Return the values by seed of a table column, and the number it displays."""
    if comparison.targets:
        return scored.sample(column), scored.calls_to_target(column)
    measure = comparison.measures[column]
    return scored.sample_last_values(measure), scored.median(measure)


def _format_cell(comparison: Comparison, scored: ScoredAlgorithm, column: int) -> str:
    if not comparison.targets:
        median = scored.median(comparison.measures[column])
        return escape_latex(format_significant(median) if math.isfinite(median) else MISSING_MARK)
    expected = scored.calls_until_targets[column]
    if expected is None:
        return escape_latex(MISSING_MARK)
    if math.isinf(expected.value):
        return r"$\infty$"
    hits = f"$^{{{expected.hits}/{expected.planned_runs}}}$"
    text = escape_latex(format_calls_in_sentence(expected.value))
    return text + (hits if expected.hits < expected.planned_runs else "")


def _format_name(label: str) -> str:
    text = escape_latex(label)
    if len(label) > NAME_WIDTH // 5:
        return f"\\parbox[t]{{{NAME_WIDTH}pt}}{{\\raggedright {text}\\strut}}"
    return shield_option(text)


def _break_lines(text: str, side: str) -> str:
    lines = [escape_latex(line) for line in wrap(text, 12)]
    joined = r" \\ ".join(lines)
    return f"\\shortstack[{side}]{{{joined}}}" if len(lines) > 1 else joined


def _caption(
    comparison: Comparison,
    labels: Sequence[str],
    columns: int,
    front: CandidateAgainstRivals | None,
) -> list[str]:
    study = comparison.results.study
    sentences = []
    if comparison.targets:
        measure = name_within_sentence(comparison.targets[-1].measure)
        sentences.append(
            f"Expected {comparison.price.description} until {measure} is at most the target above "
            "the column, at equal budgets; a failed run is charged its own calls. A superscript is "
            "the number of runs that reach the target, if not all do."
        )
    else:
        sentences.append("Medians of the last values over the seeds, at equal budgets.")
    if front:
        sentences.append(
            f"The rows below {front.label} are the {len(labels) - 1} strongest of "
            f"{len(front.rivals)} other {front.rival_class_noun}."
        )
    elif len(labels) < len(study.labels):
        sentences.append(f"The table shows {len(labels)} of {len(study.labels)} methods.")
    if left := len(comparison.targets) - columns if comparison.targets else 0:
        sentences.append(f"Easier targets left out: {left}.")
    tune = study.tune
    if tune is not None and any(label.endswith(TUNED) for label in labels):
        sentences.append(
            f"Tuned methods have at most {tune.trials} trials each on every problem, with other "
            f"seeds ({', '.join(map(str, tune.seeds))}); the fewest {tune.count.upper()} to each "
            "target decide."
        )
    sentences.append(
        "Bold: significantly fewer than every other method (rank test over the seeds, Holm at "
        "5 percent over the whole table)."
    )
    return sentences
