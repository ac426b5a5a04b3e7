"""What a report says, whatever the format: its parts, and where they come from."""

import math
import os
import platform
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

from pfbench.base.visible import visible
from pfbench.reporting.comparison import Comparison, all_at_equal_counts
from pfbench.reporting.figures.panels import Figure, figure
from pfbench.reporting.findings import orderings, orders_in_words, ranking, summary, tuning
from pfbench.reporting.findings.answers import answers
from pfbench.reporting.findings.front import Front, front, front_in_words
from pfbench.reporting.findings.orderings import Tested
from pfbench.reporting.findings.result_tables import comparisons, results_tables
from pfbench.reporting.report import Environment, Report
from pfbench.reporting.results import Results
from pfbench.reporting.statistics.curves import column
from pfbench.reporting.tables import Table, counts, ended_early
from pfbench.reporting.theory import Theory
from pfbench.reporting.words import counted, listed, measure_name, significant
from pfbench.runs.planning.study import Spec, Study


@dataclass(frozen=True)
class Part:
    """One study of a report; what is computed of it is computed once, for all formats."""

    results: Results
    compared: tuple[Comparison, ...]
    """How its algorithms compare in each kind of calls."""
    tested: tuple[Tested, ...]
    """What becomes of its published orders."""
    shown: Results
    """What its figures show, at equal counts: all, or of very many algorithms the foremost."""
    figure: Figure
    picture: str
    """Name of the file that holds its figure as SVG."""
    front: Front | None = None
    """The one method that the report is about, against its class."""

    @property
    def study(self) -> Study:
        """The study itself."""
        return self.results.study

    @cached_property
    def orders(self) -> list[str]:
        """What becomes of the published orders, in words."""
        return orders_in_words.sentences(self.tested, self.study)

    @property
    def judging(self) -> list[str]:
        """How the published orders are judged: the paper's unit, forms, and what is ours."""
        return orders_in_words.dossier(self.study)

    @property
    def in_brief(self) -> list[str]:
        """Which of the published orders flip, and who needs the fewest calls for what, in words."""
        return [*orders_in_words.in_brief(self.tested), *self.answers]

    @cached_property
    def in_words(self) -> list[str]:
        """Where the one method stands to each target, what failed, and what tuning chose."""
        return front_in_words(self.front) + self.tuned if self.front else []

    @property
    def chosen(self) -> Table | None:
        """What tuning chose for the one method; None without either."""
        if self.front is None or self.study.tune is None:
            return None
        table = tuning.chosen(self.study, self.study.tune, self.front.mine)
        return table if table.rows else None

    @cached_property
    def answers(self) -> list[str]:
        """Who needs the fewest calls for what, in words."""
        return answers(self.compared)

    @cached_property
    def sentences(self) -> list[str]:
        """What the runs show, in words."""
        return summary.sentences(self.results)

    @cached_property
    def tuned(self) -> list[str]:
        """How methods were tuned, in words."""
        return tuning.sentences(self.results, self.compared)

    @property
    def said(self) -> list[str]:
        """All that is said of the study in words."""
        if self.front is not None:
            return self.in_words
        return [*self.judging, *self.orders, *self.answers, *self.sentences, *self.tuned]

    @cached_property
    def results_tables(self) -> list[Table]:
        """The results, a table for each kind of calls."""
        return results_tables(self.compared)

    @cached_property
    def tuning_tables(self) -> list[Table]:
        """What tuning chose, and what flips."""
        return tuning.tuning_tables(self.results, self.compared)

    @property
    def tables(self) -> list[Table]:
        """All tables that are read on a screen."""
        found = [
            orders_in_words.table(self.study, self.tested),
            ranking.table(self.results),
            *self.results_tables,
            *self.tuning_tables,
            summary.ratio_table(self.results),
            counts(self.results),
            ended_early(self.results),
        ]
        return [table for table in found if table is not None]

    @cached_property
    def medians(self) -> Table:
        """Final medians."""
        return summary.medians(self.results)

    @property
    def left_out(self) -> str:
        """A sentence on algorithms that the figures leave out, or nothing."""
        few, many = len(self.shown.study.labels), len(self.study.labels)
        return f" Shown are the foremost {few} of {many} algorithms." if few < many else ""

    @property
    def start(self) -> str:
        """A sentence on starts that figures do not show, or nothing."""
        lines = (line for lines in self.figure.lines.values() for line in lines)
        cut = self.figure.log and any((line.band.x <= 0.0).any() for line in lines)
        return " The start, at 0, has no place on the logarithmic axis." if cut else ""

    @property
    def certified(self) -> str:
        """A sentence on measures that are intervals, or nothing."""
        names = [name for name in self.study.measures if _is_interval(self.results, name)]
        if not names:
            return ""
        shown = listed([measure_name(name) for name in names])
        return f" Of {shown} the upper end of its certified interval is shown."


@dataclass(frozen=True)
class Contents:
    """A whole report."""

    spec: Spec
    parts: tuple[Part, ...]
    environments: tuple[Environment, ...]
    command: str
    commit: str
    version: str
    made: datetime
    theory: Theory

    @property
    def labels(self) -> list[str]:
        """All algorithms, in the order in which they get their colours."""
        first = [label for part in self.parts if part.front for label in part.front.shown]
        every = [label for part in self.parts for label in part.study.labels]
        return list(dict.fromkeys([*first, *every]))

    @property
    def date(self) -> str:
        """When the report was made."""
        return self.made.strftime("%Y-%m-%d %H:%M UTC")

    def provenance(self) -> list[tuple[str, str]]:
        """Return what made the report, by name."""
        seeds = [f"{part.study.title}: {seeds_in_words(part.study)}" for part in self.parts]
        return [
            ("command", self.command),
            ("pfbench", self.version),
            ("commit", self.commit),
            ("date", self.date),
            ("runs", str(len(self.spec.runs()))),
            *self._run_time(),
            ("seeds", "; ".join(seeds)),
            ("written on", machine()),
        ]

    def _run_time(self) -> list[tuple[str, str]]:
        """Return how long the runs took where orders are judged, in seconds among others."""
        if not any(part.study.orderings for part in self.parts):
            return []
        seconds = [run.seconds for part in self.parts for _, run in part.results.runs]
        total, longest = significant(math.fsum(seconds)), significant(max(seconds, default=0.0))
        told = f"{total} s in all, at most {longest} s each, without measures and compilation"
        return [("run time", told)]


def contents(report: Report, command: str, commit: str | None, made: datetime) -> Contents:
    """Return everything that a report says."""
    # Only the command line imports the front door; by now it is loaded in any case.
    version = str(sys.modules[__name__.partition(".")[0]].__version__)
    return Contents(
        spec=report.spec,
        parts=tuple(_part(report.spec, results, report.mine) for results in report.results),
        environments=report.environments,
        command=visible(command),
        commit=commit or "unknown (not a git checkout)",
        version=version,
        made=made,
        theory=report.theory or Theory(),
    )


def _part(spec: Spec, results: Results, mine: tuple[str, ...]) -> Part:
    compared = tuple(comparisons(results))
    about = front(compared, mine) if mine else None
    shown = all_at_equal_counts(results).only(about.shown if about else ranking.foremost(results))
    return Part(
        results,
        compared,
        tuple(orderings.tested(results)),
        shown,
        figure(shown),
        f"{stem(spec, results.study)}.svg",
        about,
    )


def stem(spec: Spec, study: Study) -> str:
    """Return how the names of a study's files begin."""
    return f"{spec.name}-{study.key}" if study.key else spec.name


def seeds_in_words(study: Study) -> str:
    """Return the seeds of a study."""
    first, last = study.seeds[0], study.seeds[-1]
    if len(study.seeds) > 2 and study.seeds == tuple(range(first, last + 1)):
        return f"{first} to {last}"
    return listed([str(seed) for seed in study.seeds])


def failure_sentence(results: Results) -> str:
    """Return how probable it is that any certified interval of a study is wrong; or nothing."""
    probability = math.fsum(run.failure_probability for _, run in results.runs)
    if not probability:
        return ""
    return (
        f"The probability that any certified interval of these {counted(len(results.runs), 'run')} "
        f"is wrong is at most {significant(probability, 2)}."
    )


def machine() -> str:
    """Return the processor of this machine and how many threads it offers."""
    model = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        line = next(line for line in lines if line.startswith("model name"))
        model = line.partition(":")[2].strip()
    return f"{model}, {counted(os.cpu_count() or 1, 'logical processor')}"


def _is_interval(results: Results, measure: str) -> bool:
    for _, run in results.runs:
        low, high = (column(run, name) for name in (f"{measure}_lower", measure))
        if low.size and (low < high).any():
            return True
    return False
