"""Progress of long computations: a bar on a terminal, else a line from time to time."""

import time
from typing import TYPE_CHECKING, Any, Self

from rich.progress import BarColumn, Progress, TextColumn

from pfbench.base.escaping import escape_hidden
from pfbench.cli import terminal
from pfbench.cli.formatting import format_bytes, format_duration, format_plural

if TYPE_CHECKING:
    from pfbench.runs.execute import PlanOutcome

_REFRESH = 0.1

FIRST_LINE, BETWEEN_LINES = 5.0, 60.0
"""Seconds before the first line of progress, between two lines, and before an estimate."""

SHARE = 0.1
"""Fraction of the steps that must be finished before the remaining time is estimated."""


class StepProgress:
    """Progress display for one computation, on the standard error.

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
    hidden
        Print nothing on a terminal either.
    """

    def __init__(
        self,
        title: str,
        total: int | None,
        unit: str,
        *,
        quiet: bool = False,
        slots: int = 1,
        hidden: bool = False,
    ) -> None:
        self._title, self._total, self._unit = escape_hidden(title), total, unit
        self._slots, self._is_quiet = slots, quiet or hidden
        self.done_count = self.run_count = self.failure_count = self._cached = 0
        self._console = terminal.console(error=True)
        self._has_bar = self._console.is_terminal and not hidden
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[so_far]}", style="dim", markup=False),
            TextColumn("{task.fields[left]}", style="dim", markup=False),
            console=self._console,
            auto_refresh=False,
            transient=True,
            expand=True,
            disable=not self._has_bar,
        )
        self._reported = time.monotonic()
        self._first: tuple[float, int] | None = None
        self._has_line = self._has_estimate = False

    def __enter__(self) -> Self:
        self._task = self._bar.add_task(self._title, total=self._total, so_far="starting", left="")
        self._bar.start()
        self._bar.refresh()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()

    def start_clock(self) -> None:
        """Restart the clock from which the remaining time is estimated.

        Call it when the first step is executed.
        """
        self._reported, self._first = time.monotonic(), None

    def set_done(self, done: int, total: int | None = None) -> None:
        """Set the number of finished steps, and refresh the display if enough time has passed."""
        self.done_count = done
        if total is not None:
            self._total = total
        now, new = time.monotonic(), done - self._cached
        if self._first is None and new >= self._slots:
            self._first = now, new
        if self._has_bar:
            if now - self._reported >= _REFRESH:
                self._reported = now
                text, left = self._format_steps(), self._format_remaining().removeprefix(", ")
                numbers: Any = {"completed": done, "total": self._total}
                self._bar.update(self._task, **numbers, so_far=text, left=left, refresh=True)
        elif not self._is_quiet and done != self._total and self._is_line_due(now):
            self._reported, self._has_line = now, True
            self._console.print(f"{self._title}: {self._format_steps()}{self._format_remaining()}")

    def _is_line_due(self, now: float) -> bool:
        """Return whether another line of progress is due, in output without a progress bar."""
        since = now - self._reported
        if since < FIRST_LINE or self._has_estimate:
            return since >= BETWEEN_LINES
        self._has_estimate = self.seconds_left() is not None
        return self._has_estimate or not self._has_line or since >= BETWEEN_LINES

    def seconds_left(self) -> float | None:
        """Return the estimated remaining seconds, None if unknown.

        The estimate is based on the pace so far, without cached steps. The first steps are
        ignored, as they include the start of the workers and compilation. The pace is unknown
        before `FIRST_LINE` seconds and before a `SHARE` of the steps.
        """
        if self._first is None or self._total is None:
            return None
        start, before = self._first
        new, remaining = self.done_count - self._cached, self._total - self.done_count
        seconds = time.monotonic() - start
        if seconds < FIRST_LINE or new <= before or new < SHARE * (new + remaining):
            return None
        return seconds / (new - before) * remaining

    def advance(self) -> None:
        """Count one more finished step."""
        self.set_done(self.done_count + 1)

    def count(self, _: object, created: bool) -> None:
        """Count one more finished step; `created` is True if it was executed, False if cached."""
        self.run_count += created
        self._cached += not created
        self.advance()

    def count_run(self, outcome: "PlanOutcome") -> None:
        """Count one more finished run, as executed, cached or failed."""
        self.failure_count += outcome.entry.run.status in terminal.FAILURES
        self.count(outcome.plan, outcome.origin != "stored")

    def format_step_counts(self) -> str:
        """Return the number of finished steps, and how many were executed or cached, as text."""
        number = self.done_count if self._total is None else self._total
        steps = format_plural(number, self._unit.removesuffix("s"))
        return f"{steps} ({self.run_count:,} run, {self._cached:,} cached)"

    def _format_steps(self) -> str:
        is_bytes = self._unit == "bytes"
        show: Any = format_bytes if is_bytes else "{:,}".format
        total = f" of {show(self._total)}" if self._total is not None else ""
        failed = f", {self.failure_count:,} failed" if self.failure_count else ""
        return f"{show(self.done_count)}{total}{'' if is_bytes else f' {self._unit}'}{failed}"

    def _format_remaining(self) -> str:
        """Return the estimated remaining time in words; empty if less than one second remains."""
        left = self.seconds_left()
        if left is None:
            return ", estimating the time left" if self._total else ""
        return f", about {format_duration(left)} left" if left >= 1.0 else ""
