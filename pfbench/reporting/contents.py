"""What a report says, whatever the format: its parts, and where they come from."""

import math
import os
import platform
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pfbench.base.visible import visible
from pfbench.reporting import statistics
from pfbench.reporting.panels import Figure, figure
from pfbench.reporting.results import Environment, Results, collect, environments
from pfbench.reporting.words import counted, listed, measure_name, significant
from pfbench.runs.planning.study import Spec, Study

if TYPE_CHECKING:
    from pfbench.runs.execute import Outcome


@dataclass(frozen=True)
class Part:
    """One study of a report."""

    results: Results
    figure: Figure
    picture: str
    """Name of the file that holds its figure as SVG."""

    @property
    def study(self) -> Study:
        """The study itself."""
        return self.results.study

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

    @property
    def labels(self) -> list[str]:
        """All algorithms, in the order in which they get their colours."""
        return list(dict.fromkeys(label for part in self.parts for label in part.study.labels))

    @property
    def date(self) -> str:
        """When the report was made."""
        return self.made.strftime("%Y-%m-%d %H:%M UTC")

    def provenance(self) -> list[tuple[str, str]]:
        """Return what made the report, by name."""
        studies = [part.study for part in self.parts]
        last = [f" to {study.seeds - 1}" if study.seeds > 1 else "" for study in studies]
        seeds = [f"{one.title}: 0{end}" for one, end in zip(studies, last, strict=True)]
        return [
            ("command", self.command),
            ("pfbench", self.version),
            ("commit", self.commit),
            ("date", self.date),
            ("runs", str(len(self.spec.runs()))),
            ("seeds", "; ".join(seeds)),
            ("written on", machine()),
        ]


def contents(
    spec: Spec, outcomes: "Sequence[Outcome]", *, command: str, commit: str, made: datetime
) -> Contents:
    """Return everything that a report says.

    Raises
    ------
    InputError
        If a planned run has no outcome.
    """
    spec = _shown(spec)
    return Contents(
        spec=spec,
        parts=tuple(
            Part(results, figure(results), f"{spec.name}-{results.study.key}.svg")
            for results in collect(spec, outcomes)
        ),
        environments=tuple(environments(spec, outcomes)),
        command=visible(command),
        commit=commit or "unknown (not a git checkout)",
        version=_version(),
        made=made,
    )


def _shown(spec: Spec) -> Spec:
    """Return a report whose titles and labels can be printed; its runs are the same."""
    studies = tuple(
        replace(
            study,
            title=visible(study.title),
            about=visible(study.about, "\n\t"),
            labels=tuple(map(visible, study.labels)),
            columns=tuple(replace(one, title=visible(one.title)) for one in study.columns),
        )
        for study in spec.studies
    )
    title, about = visible(spec.title), visible(spec.about, "\n\t")
    return replace(spec, title=title, about=about, studies=studies, text=visible(spec.text, "\n\t"))


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


def _version() -> str:
    # Only the command line imports the front door; by now it is loaded in any case.
    return str(sys.modules[__name__.partition(".")[0]].__version__)


def _is_interval(results: Results, measure: str) -> bool:
    for _, run in results.runs:
        low, high = (statistics.column(run, name) for name in (f"{measure}_lower", measure))
        if low.size and (low < high).any():
            return True
    return False
