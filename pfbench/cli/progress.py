"""Progress of long work: a bar on a terminal, occasional plain lines elsewhere."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from pfbench.base.escaping import escape_text
from pfbench.cli.formatting import format_bytes, format_duration, format_plural
from pfbench.cli.terminal import console

if TYPE_CHECKING:
    from pfbench.runs.execute import PlanOutcome
    from pfbench.runs.planning.plan import PlannedRun

_REFRESH = 0.1

FIRST_LINE, BETWEEN_LINES = 5.0, 60.0
"""Seconds before the first plain line, and between two."""

_KEPT = 1000

PACE_TOLERANCE = 2.0
"""Factor by which an expected time must be wrong to be reported again."""


STEADY = 1.25
"""Largest ratio of the estimates in the later half of the elapsed time that counts as steady."""

SHARE = 0.1
"""Share of the work before which no time is estimated."""

KNOWN = 0.5
"""Share of the remaining steps that must be of a kind already timed, before an estimate."""

_SAMPLE = 0.2
"""Seconds between two stored estimates."""


Kind = tuple[str, ...]
"""Kind of steps that take equally long; kinds with equal first two parts are similar."""


def run_kind(plan: "PlannedRun") -> Kind:
    """Return the kind of a planned run: its problem, method and parameters without its seed."""
    problem, algorithm = (
        text.replace(f"={plan.seed},", ",").replace(f"={plan.seed}]", "]")
        for text in (plan.problem, plan.algorithm)
    )
    return problem, algorithm.partition("[")[0], algorithm


class RemainingTimeEstimate:
    """Estimate of the remaining time, reported once it is steady, and timing of the lines.

    The first `slots` steps are ignored: they include the start of the workers and compilation.

    Parameters
    ----------
    slots
        Number of concurrent steps.
    kinds
        The kinds of all remaining steps; empty if all are alike.
    """

    def __init__(self, slots: int = 1, kinds: Iterable[Kind] = ()) -> None:
        self._to_come = Counter(kinds)
        self._numbers: dict[Kind, int] = defaultdict(int)
        self._seconds: dict[Kind, float] = defaultdict(float)
        self._start_time = self._reported = time.monotonic()
        self._slots, self._lines = slots, 0
        self._expected_seconds: float | None = None
        self._from: tuple[float, int] | None = None
        self._wholes: list[tuple[float, float]] = []

    @property
    def seconds_elapsed(self) -> float:
        """Seconds since the start of the work."""
        return time.monotonic() - self._start_time

    def remaining_seconds(self, created: int, remaining: int) -> float | None:
        """Return the seconds of the remaining steps at the pace so far, None if unknown."""
        if self._from is None:
            if created >= self._slots:
                self._from = time.monotonic(), created
            return None
        since, before = self._from
        longer = self._remaining_step_cost_ratio()
        if created <= before or longer is None:
            return None
        return (time.monotonic() - since) / (created - before) * remaining * longer

    def record_step(self, kind: Kind, seconds: float) -> None:
        """Record the kind of a finished step and its duration in seconds."""
        self._to_come[kind] -= 1
        for part in ((), kind[:2], kind):
            self._numbers[part] += 1
            self._seconds[part] += seconds

    def _remaining_step_cost_ratio(self) -> float | None:
        """Return the mean time of a remaining step over that of a finished one; None if unknown."""
        to_come, done = +self._to_come, self._seconds.get((), 0.0)
        if not (to_come and done):
            return 1.0
        visited = {
            kind: next(part for part in (kind, kind[:2]) if part in self._numbers)
            for kind in to_come
            if kind[:2] in self._numbers
        }
        number = sum(to_come[kind] for kind in visited)
        if number < KNOWN * to_come.total():
            return None
        seconds = sum(
            to_come[kind] * self._seconds[part] / self._numbers[part]
            for kind, part in visited.items()
        )
        return seconds / number / (done / self._numbers[()])

    def estimate_if_steady(
        self, estimated_seconds: float | None, done_share: float
    ) -> float | None:
        """Return an estimate if it is steady, else None.

        Parameters
        ----------
        estimated_seconds
            The estimate, in seconds.
        done_share
            The share of the work that is done.
        """
        if estimated_seconds is None:
            return None
        now = time.monotonic()
        start_time = self._from[0] if self._from else self._start_time
        if not self._wholes or now - self._wholes[-1][0] >= _SAMPLE:
            self._wholes.append((now, now - start_time + estimated_seconds))
            if len(self._wholes) > _KEPT:
                del self._wholes[::2]
        if done_share < SHARE or now - start_time < FIRST_LINE:
            return None
        later = [total for position, total in self._wholes if position >= (start_time + now) / 2]
        return (
            estimated_seconds
            if max(later, default=1.0) <= STEADY * min(later, default=1.0)
            else None
        )

    def is_due(self, left: float | None) -> bool:
        """Return whether to print a line now; `left` is the seconds left, None if unknown."""
        since = time.monotonic() - self._reported
        seconds_elapsed = None if left is None else self.seconds_elapsed + left
        wrong = seconds_elapsed is not None and (
            self._expected_seconds is None
            or not self._expected_seconds / PACE_TOLERANCE
            <= seconds_elapsed
            <= self._expected_seconds * PACE_TOLERANCE
        )
        soon = since >= FIRST_LINE and (wrong or not self._lines)
        if not (soon or since >= BETWEEN_LINES):
            return False
        self._reported, self._expected_seconds = time.monotonic(), seconds_elapsed
        self._lines += 1
        return True


def format_remaining(left: float | None) -> str:
    """Return the text on the remaining seconds; empty below one second."""
    if left is None:
        return ", estimating the time left"
    return f", about {format_duration(left)} left" if left >= 1.0 else ""


class StepProgress:
    """Progress of one piece of work, on the standard error.

    Parameters
    ----------
    title
        Name of the work.
    total
        Number of steps, if known.
    unit
        Name of a step, in the plural; "bytes" are shown in kB, MB or GB.
    quiet
        Print nothing unless the standard error is a terminal.
    slots
        Number of concurrent steps.

    Attributes
    ----------
    remaining_seconds
        Function that returns the remaining seconds, None if unknown; by default at the pace so far.
    """

    def __init__(
        self, title: str, total: int | None, unit: str, *, quiet: bool = False, slots: int = 1
    ) -> None:
        self._title, self._total, self._unit, self._is_quiet = (
            escape_text(title),
            total,
            unit,
            quiet,
        )
        self._done = self.run_count = 0
        self._counts = False
        self._console: Console = console(error=True)
        self._bar = _make_progress_bar(self._console) if self._console.is_terminal else None
        self._slots = slots
        self._reported, self._pace = time.monotonic(), RemainingTimeEstimate(slots)
        self.remaining_seconds: Callable[[], float | None] = self._seconds_left

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=self._total, so_far="", left="")
            self._bar.refresh()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar:
            self._bar.stop()

    def start_clock(self, kinds: Iterable[Kind] = ()) -> None:
        """Start the clock when execution starts; `kinds` are those of the steps to execute."""
        self._pace = RemainingTimeEstimate(self._slots, kinds)

    def set_done(self, done: int, total: int | None = None) -> None:
        """Set the number of finished steps; this may be called very often."""
        self._done = done
        if total is not None:
            self._total = total
        if self._bar is None:
            left = None if self._is_quiet else self._estimate_if_steady()
            if not self._is_quiet and done != self._total and self._pace.is_due(left):
                self._console.print(
                    f"{self._title}: {self._format_line()}{self._describe_remaining(left)}"
                )
            return
        now = time.monotonic()
        if now - self._reported >= _REFRESH:
            self._reported = now
            self._bar.update(
                self._task,
                completed=done,
                total=self._total,
                so_far=self._format_line(),
                left=self._describe_remaining(self._estimate_if_steady()).removeprefix(", "),
            )
            self._bar.refresh()

    def write_line(self, line: str) -> None:
        """Print a line, above the bar where there is one."""
        if not self._is_quiet:
            self._console.print(escape_text(line))

    def _seconds_left(self) -> float | None:
        """Return the remaining seconds at the pace so far, without the cached steps."""
        if self._total is None:
            return None
        return self._pace.remaining_seconds(self._new_step_count, self._total - self._done)

    def _estimate_if_steady(self) -> float | None:
        if not self._total:
            return None
        remaining = self._total - self._done
        return self._pace.estimate_if_steady(
            self.remaining_seconds(),
            self._new_step_count / max(1, self._new_step_count + remaining),
        )

    @property
    def _new_step_count(self) -> int:
        """Number of executed steps, without cached ones."""
        return self.run_count if self._counts else self._done

    def _describe_remaining(self, left: float | None) -> str:
        return format_remaining(left) if self._total else ""

    def advance(self) -> None:
        """Count one more finished step."""
        self.set_done(self._done + 1)

    def count(self, _: object, created: bool) -> None:
        """Count one more finished step, and whether it was executed now (not cached)."""
        self._counts = True
        self.run_count += created
        self.advance()

    def count_run(self, outcome: "PlanOutcome") -> None:
        """Count a finished run."""
        if outcome.origin == "made":
            self._pace.record_step(run_kind(outcome.plan), outcome.entry.run.seconds)
        self.count(outcome.plan, outcome.origin != "stored")

    def format_step_counts(self) -> str:
        """Return the number of steps, and how many were executed and cached."""
        number = self._done if self._total is None else self._total
        steps = format_plural(number, self._unit.removesuffix("s"))
        return f"{steps} ({self.run_count:,} run, {self._done - self.run_count:,} cached)"

    def _format_line(self) -> str:
        show: Any = format_bytes if self._unit == "bytes" else "{:,}".format
        unit = "" if self._unit == "bytes" else f" {self._unit}"
        subject = f" of {show(self._total)}" if self._total is not None else ""
        return f"{show(self._done)}{subject}{unit}"


def _make_progress_bar(target: Console) -> Progress:
    """Return a progress bar that is drawn only on request, without a thread."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[so_far]}", style="dim", markup=False),
        TextColumn("{task.fields[left]}", style="dim", markup=False),
        console=target,
        auto_refresh=False,
        transient=True,
        expand=True,
    )
