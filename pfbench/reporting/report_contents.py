"""Contents of a report, independent of its format: sentences, tables, figures and provenance."""

import math
import os
import platform
import sys
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

from pfbench.base.escaping import escape_hidden, html_text
from pfbench.reporting import ordering_text, ranking, tested_orderings, tuning_effects
from pfbench.reporting.answers import answer_sentences, sentences_on_common_budget
from pfbench.reporting.candidate_front import CandidateAgainstRivals, make_candidate_front
from pfbench.reporting.comparison import Comparison
from pfbench.reporting.panels import FigureData, compute_figure
from pfbench.reporting.report import RateCurve, Report, RunEnvironment
from pfbench.reporting.result_tables import compare_by_each_price, results_table, results_tables
from pfbench.reporting.results import StudyResults, truncate_study
from pfbench.reporting.tables import Table, early_endings_table, exact_counts_table
from pfbench.reporting.tested_orderings import OrderingResult
from pfbench.reporting.wording import format_significant, join_items, measure_label, pluralize
from pfbench.runs.planning.study import Spec, Study


@dataclass(frozen=True)
class ReportPart:
    """Contents of one study in a report, computed once for all formats."""

    results: StudyResults
    comparisons: tuple[Comparison, ...]
    """Comparisons of the algorithms by the study's price, then by each kind of oracle calls."""
    ordering_results: tuple[OrderingResult, ...]
    """Result of each published order that the study tests."""
    displayed_results: StudyResults
    """Results of the algorithms that figures show: all, or the best ranked of very many."""
    figure: FigureData
    picture: str
    """Name of the SVG file with the figure of the study."""
    front: CandidateAgainstRivals | None = None
    """Comparison of the candidate with its rivals; None in a report without a candidate."""

    @property
    def study(self) -> Study:
        """Study that this part is about."""
        return self.results.study

    @cached_property
    def answer_sentences(self) -> list[str]:
        """Sentences on reversed rankings, the methods with the fewest calls, and common budgets."""
        flips = ordering_text.sentences_on_reversed_rankings(self.ordering_results)
        budgets = sentences_on_common_budget(self.results)
        return [*flips, *answer_sentences(self.comparisons), *budgets]

    @cached_property
    def candidate_sentences(self) -> list[str]:
        """Sentences on the candidate: its ranks by problem and target, and its failures."""
        if self.front is None:
            return []
        return [self.front.outcome_counts_sentence, *self.front.candidate_failure_texts]

    @property
    def all_sentences(self) -> list[str]:
        """All sentences on the study; if there is a candidate, only those on the candidate."""
        if self.front is not None:
            return self.candidate_sentences
        return [*ordering_text.ordering_setup_sentences(self.study), *self.answer_sentences]

    @property
    def candidate_tuning_table(self) -> Table | None:
        """Table of the candidate's tuned parameters; None without candidate or tuning."""
        if self.front is None:
            return None
        return tuning_effects.choice_table(self.study, self.front.candidate_labels)

    @cached_property
    def results_tables(self) -> list[Table]:
        """Tables of results, one for each cost of oracle calls.

        If there is a candidate, there is only the first table, with the candidate and its
        strongest rivals.
        """
        if self.front is None:
            return results_tables(self.comparisons)
        return [results_table(self.comparisons[0], labels={*self.front.methods_in_colour})]

    @cached_property
    def ordering_verdict_table(self) -> Table | None:
        """Table of the verdicts on published rankings; None if the study tests none."""
        return ordering_text.order_verdict_table(self.study, self.ordering_results)

    @cached_property
    def results_of_listed_runs(self) -> StudyResults:
        """Results whose runs the report lists: those of the candidate if there is one, else all."""
        if self.front is None:
            return self.results
        return self.results.restrict_algorithms(self.front.candidate_labels)

    @cached_property
    def incomplete_runs_table(self) -> Table | None:
        """Table of the runs that did not end as planned; None if all did."""
        return early_endings_table(self.results_of_listed_runs)

    @property
    def tables(self) -> list[Table]:
        """All tables for display in a terminal or a notebook."""
        tables = [
            self.ordering_verdict_table,
            *self.results_tables,
            tuning_effects.choice_table(self.study),
            exact_counts_table(self.results),
            self.incomplete_runs_table,
        ]
        return [table for table in tables if table is not None]

    @property
    def interval_certificate_sentence(self) -> str:
        """Sentence on the measures that are shown as certified intervals; "" if there are none."""
        names = [name for name in self.study.measures if _is_interval(self.results, name)]
        text = join_items([measure_label(name) for name in names])
        return f" For {text}, the upper end of the certified interval is shown." if names else ""


@dataclass(frozen=True)
class ReportContents:
    """All contents of a report, independent of its format."""

    spec: Spec
    parts: tuple[ReportPart, ...]
    environments: tuple[RunEnvironment, ...]
    command: str
    commit: str
    version: str
    created: datetime
    rates: tuple[RateCurve, ...]

    @property
    def labels_in_colour_order(self) -> list[str]:
        """Labels of all algorithms; the index of a label determines its colour."""
        first = [
            label for part in self.parts if part.front for label in part.front.methods_in_colour
        ]
        labels = [label for part in self.parts for label in part.study.labels]
        return list(dict.fromkeys([*first, *labels]))

    @property
    def creation_time_utc(self) -> str:
        """Time at which the report was created, as text in UTC."""
        return self.created.strftime("%Y-%m-%d %H:%M UTC")

    def provenance(self) -> list[tuple[str, str]]:
        """Return (name, text) pairs that state how the report was made.

        They have the command, version, commit, date, runs, seeds and machine.
        """
        seeds = [f"{part.study.title}: {seeds_in_words(part.study)}" for part in self.parts]
        return [
            ("command", self.command),
            ("pfbench", self.version),
            ("commit", self.commit),
            ("date", self.creation_time_utc),
            ("runs", str(len(self.spec.runs()))),
            ("seeds", "; ".join(seeds)),
            ("written on", describe_machine()),
        ]


@dataclass(frozen=True, repr=False)
class ReportSummary:
    """Sentences, tables and file paths of a report, for printing and for Jupyter.

    Attributes
    ----------
    sentences, tables
        Sentences and tables of the report, in the order of the HTML page.
    files
        Paths of the written files.
    """

    sentences: tuple[str, ...]
    tables: tuple[Table, ...]
    files: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        """Return the sentences and the paths of the written files as text."""
        return "\n".join([*self.sentences, *map(str, self.files)])

    def _repr_html_(self) -> str:
        """Return the sentences and tables as HTML, for Jupyter."""
        statement = "".join(f"<p>{html_text(text)}</p>" for text in self.sentences)
        return statement + "".join(table._repr_html_() for table in self.tables)


def make_contents(
    report: Report, command: str, commit: str | None, created: datetime
) -> ReportContents:
    """Compute all contents of a report."""
    # Only the command line imports the front door; by now it is loaded in any case.
    version = str(sys.modules[__name__.partition(".")[0]].__version__)
    parts = (_make_part(report.spec, part, report.candidate_labels) for part in report.results)
    return ReportContents(
        spec=report.spec,
        parts=tuple(parts),
        environments=report.environments,
        command=escape_hidden(command),
        commit=commit or "unknown (not a git checkout)",
        version=version,
        created=created,
        rates=report.rates,
    )


def _make_part(spec: Spec, results: StudyResults, candidates: tuple[str, ...]) -> ReportPart:
    compared = tuple(compare_by_each_price(results))
    front = make_candidate_front(compared, candidates) if candidates else None
    labels = front.methods_in_colour if front else ranking.initially_shown_algorithms(results)
    displayed = truncate_study(results).restrict_algorithms(labels)
    orders = tuple(tested_orderings.test_orderings(results))
    picture = f"{file_stem(spec, results.study)}.svg"
    figure = compute_figure(displayed)
    return ReportPart(results, compared, orders, displayed, figure, picture, front)


def file_stem(spec: Spec, study: Study) -> str:
    """Return the common stem of the names of all files on a study."""
    return f"{spec.name}-{study.key}" if study.key else spec.name


def seeds_in_words(study: Study) -> str:
    """Return the seeds of a study as text, such as ``0 to 9``."""
    seeds, first = study.seeds, study.seeds[0]
    if len(seeds) > 2 and seeds == tuple(range(first, first + len(seeds))):
        return f"{first} to {seeds[-1]}"
    return join_items([str(seed) for seed in seeds])


def interval_probability_sentence(results: StudyResults) -> str:
    """Return a sentence on the probability that a certified interval is wrong.

    The sentence is empty if the probability is 0.
    """
    probability = math.fsum(run.failure_probability for _, run in results.runs)
    if not probability:
        return ""
    runs = pluralize(len(results.runs), "run")
    return (
        f"The probability that any certified interval of these {runs} is wrong is at most "
        f"{format_significant(probability, 2)}."
    )


def describe_machine() -> str:
    """Describe this machine: its processor and the number of its logical processors."""
    model = platform.processor() or platform.machine()
    return f"{model}, {pluralize(os.cpu_count() or 1, 'logical processor')}"


def _is_interval(results: StudyResults, measure: str) -> bool:
    name = f"{measure}_lower"
    return any(
        (g.traces.stack_column(name) < g.traces.stack_column(measure)).any() for g in results
    )
