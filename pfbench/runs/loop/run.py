"""Result of one run, and the targets at which a run stops."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pfbench.base.checks import check_real, check_text
from pfbench.base.counts import COUNTED, Counts
from pfbench.base.errors import InputError, SourceLocation
from pfbench.base.escaping import html_fields
from pfbench.base.names import brief_repr
from pfbench.base.state import Point
from pfbench.base.status import Status
from pfbench.runs.loop.axes import check_column_exists, draw_measure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


STATUSES: Mapping[str, str] = {status.value: status.end_reason for status in Status}
"""Meaning of every status of a run."""

COMPLETED = frozenset(status for status in Status if status.is_completed)
"""Statuses of runs with an answer that no larger budget would change."""


NO_RESULT = frozenset({Status.ERROR, Status.DIVERGED})
"""Statuses of runs without a result: their final measures are not shown."""

UNINFORMATIVE = frozenset(status for status in Status if status.is_killed)
"""Statuses of runs that say nothing about their algorithm: any other run replaces them."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False, slots=True)
class Run:
    """Result of one run of an algorithm on a problem.

    Attributes
    ----------
    problem, algorithm
        The selectors, in command-line form.
    parameters
        All parameters of the algorithm.
    schedule
        Origin of the parameters: "theory", "practical" or "explicit".
    seed
        The algorithm's seed.
    status, stop_reason
        A status in `STATUSES`, and the reason in words.
    iterations
        Number of yielded states.
    counts
        Exact oracle counts of the whole run, including an incomplete last iteration.
    final
        Measures at the declared output, by name, in the units of the measure; None where undefined.
        All are None if the run has no output: it failed, or diverged before its first iterate.
    seconds
        Time of the run without measures and compilation, in seconds.
    oracle_seconds
        The part of `seconds` spent inside oracles.
    failure_probability
        Bound of the probability that any certified interval shown for this run is wrong.
    error_location
        Line of the method that raised; None if the method did not raise, or for a stored run.
    note
        Remark on the method's behaviour; empty if there is none.
    x
        The point at the declared output (None for a run read from a store).
    columns, rows
        The trace: column names and one tuple for each recorded iteration.
    unmet_assumptions
        Assumptions of the algorithm's theorem that the problem is not known to meet, by their names
        in `pfbench.base.protocols`.
    yields_output
        Whether the method yields its output in the states, instead of the declared rule; None if
        unknown.
    """

    problem: str
    algorithm: str
    parameters: Mapping[str, Any]
    schedule: str
    unmet_assumptions: tuple[str, ...] = ()
    seed: int
    status: str
    stop_reason: str
    iterations: int
    counts: Counts
    final: Mapping[str, float | None]
    seconds: float
    oracle_seconds: float
    failure_probability: float
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]
    yields_output: bool | None = None
    error_location: SourceLocation | None = None
    note: str = ""
    x: Point = None

    @property
    def trace(self) -> "pd.DataFrame":
        """Trace as a data frame: columns for iteration, oracle calls, seconds and the measures.

        Row k has the measures at x_k and the counts spent to reach x_k. An interval measure has two
        columns: its upper end under the measure's name, and its lower end under ``NAME_lower``.
        """
        import pandas as pd

        return pd.DataFrame.from_records(self.rows, columns=list(self.columns))

    def final_value(self, measure: str) -> float:
        """Return the last recorded value of a measure.

        The value is infinity if the run failed or is not completed for another reason, or if it has
        no value of the measure.
        """
        check_text("measure", measure, "fw_gap")
        if self.status not in COMPLETED or measure not in self.columns:
            return math.inf
        index = self.columns.index(measure)
        values = (row[index] for row in reversed(self.rows))
        return next((float(v) for v in values if v is not None and not math.isnan(v)), math.inf)

    def first_value(self, measure: str, target: float) -> int | None:
        """Return the index of the first row whose measure is at most `target`, or None."""
        if check_text("measure", measure, "fw_gap") not in self.columns:
            return None
        check_real("target", target)
        index = self.columns.index(measure)
        values = enumerate(row[index] for row in self.rows)
        return next((k for k, v in values if v is not None and -math.inf < v <= target), None)

    def plot(
        self, measure: str | None = None, against: str = "sfo", ax: "Axes | None" = None
    ) -> "Axes":
        """Draw a measure of the trace; see `pfbench.plot`, which draws several runs."""
        return plot([self], measure, against, ax)

    def __repr__(self) -> str:
        """Return a one-line summary: the run's algorithm, problem, seed, status and counts."""
        texts = [f"{name}={count}" for name, count in self.counts.as_dict().items() if count]
        ended = f"{self.status} after {self.iterations} iterations"
        text = ", ".join([ended, *texts])
        return f"<Run of {self.algorithm} on {self.problem}, seed {self.seed}: {text}>"

    def _repr_html_(self) -> str:
        """Return the run as HTML for Jupyter."""
        names = "problem", "algorithm", "schedule", "status", "stop_reason", "iterations", "seconds"
        subject = {name: getattr(self, name) for name in (*names, "note")} | {
            "seed": str(self.seed),
            "parameters": ", ".join(f"{name}={value}" for name, value in self.parameters.items()),
            "where": "{}:{}: {}".format(*self.error_location) if self.error_location else "",
        }
        counts = {name: number for name, number in self.counts.as_dict().items() if number}
        final = {name: value for name, value in self.final.items() if value is not None}
        repr_html = html_fields(subject, "run") + html_fields(counts, "oracle calls")
        if self.status in NO_RESULT:
            return repr_html
        return repr_html + html_fields(final, "measures at the output")

    def as_json(self) -> dict[str, Any]:
        """Return the fields of the run as JSON data, without the trace."""
        left_out = {"yields_output", "error_location", "unmet_assumptions", "note"}
        left_out |= {"columns", "rows", "x"}
        return {
            **{name: getattr(self, name) for name in self.__slots__ if name not in left_out},
            "parameters": {
                name: value.item() if isinstance(value, np.generic) else value
                for name, value in self.parameters.items()
            },
            "unmet": list(self.unmet_assumptions),
            "counts": self.counts.as_dict(),
            "final": dict(self.final),
        }


TRACE_COLUMNS = ("iteration", *COUNTED, "seconds")
"""Columns at the beginning of every trace."""


def lower_end_columns(names: Collection[str]) -> frozenset[str]:
    """Return the names of the columns that contain the lower ends of interval measures.

    These are the names ``NAME_lower`` in `names` for which `names` also has NAME.
    """
    return frozenset(f"{name}_lower" for name in names).intersection(names)


def list_measures(columns: Collection[str]) -> list[str]:
    """Return the names of the measures in a trace; a measure with two columns is listed once."""
    return [name for name in columns if name not in lower_end_columns(columns).union(TRACE_COLUMNS)]


def plot(
    runs: "Run | Sequence[Run]",
    measure: str | None = None,
    against: str = "sfo",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw a measure of several runs in one figure, with a shaded band if it has two bounds.

    Parameters
    ----------
    runs
        Runs from `pfbench.solve` or `pfbench.list_runs`.
    measure
        Name of the measure in the traces; by default the first one that all runs have.
    against
        The x-axis: a kind of calls, ``"iteration"`` or ``"seconds"``.
    ax
        Existing axes of matplotlib to draw in; by default new ones.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        If a name is unknown, nothing was recorded, or matplotlib is not installed.
    """
    listed: list[Any] = [*runs] if isinstance(runs, list | tuple) else [runs]
    if not listed or not all(isinstance(run, Run) for run in listed):
        raise InputError(f"runs={brief_repr(runs)} must be a run or a list of runs from pf.solve.")
    names = [list_measures(run.columns) for run in listed]
    common = [name for name in names[0] if all(name in columns for columns in names)]
    if not common:
        raise InputError(
            "no trace, or not each of them, has a measure: record one by solve(measures=...)."
        )
    measure = check_column_exists("measure", common[0] if measure is None else measure, common)
    against = check_column_exists("count", against, TRACE_COLUMNS)
    problems = {run.problem for run in listed}
    curves = [
        dict(zip(run.columns, zip(*run.rows, strict=True), strict=True))
        | {
            "label": f"{run.algorithm}, seed {run.seed}"
            + (f", on {run.problem}" if len(problems) > 1 else "")
        }
        for run in listed
    ]
    return draw_measure(curves, measure, against, ax, problems.pop() if len(problems) == 1 else "")


@dataclass(frozen=True, slots=True)
class Stop:
    """Stopping rule: `measure` (for an interval, its upper end) is at most `target`."""

    measure: str
    target: float

    def __post_init__(self) -> None:
        check_text("the measure of a target", self.measure, "fw_gap")
        check_real(f"the target of {self.measure}", self.target)

    @classmethod
    def parse(cls, value: str) -> "Stop":
        """Parse a target such as ``"fw_gap=0.01"``.

        Raises
        ------
        InputError
            If the text does not have that form.
        """
        text = check_text("stop", value, "fw_gap=0.01")
        name, _, number = map(str.strip, text.rpartition("="))
        try:
            target = float(number)
        except ValueError:
            name = ""
        if not name:
            raise InputError(
                f"cannot read the target {value!r}: write MEASURE=NUMBER, as in fw_gap=0.01."
            )
        return cls(name, target)


def trace_name(measure: str) -> str:
    """Return the name of a measure in a trace; for MODULE:NAME it is NAME."""
    return measure.rpartition(":")[2]


def list_recorded_measures(
    measures: Sequence[str], stop: Stop | None
) -> tuple[tuple[str, ...], Stop | None]:
    """Return the measures to record, and the stopping rule with its measure named as in the trace.

    If the target's measure is user-defined, MODULE:NAME, it is recorded, too.
    """
    if stop is None or ":" not in stop.measure:
        return tuple(measures), stop
    result = tuple(dict.fromkeys([*measures, stop.measure]))
    return result, replace(stop, measure=trace_name(stop.measure))


def calls_to_targets(targets: Sequence[Stop], run: Run) -> list[dict[str, Any]]:
    """Return, for each target, the oracle calls up to the first recorded row that reaches it.

    If no row reaches a target, the calls are None, and the run counts as censored.
    """
    calls_to_targets = []
    indices = {name: run.columns.index(name) for name in COUNTED}
    for target in targets:
        first = run.first_value(target.measure, target.target)
        row = None if first is None else run.rows[first]
        calls = row and {name: int(row[index]) for name, index in indices.items()}
        calls_to_targets.append(
            {"measure": target.measure, "target": target.target, "calls": calls}
        )
    return calls_to_targets
