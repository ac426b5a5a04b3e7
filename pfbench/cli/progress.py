"""How far long work is: a bar on a terminal, now and then a plain line elsewhere."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from pfbench.base.escaping import escape_text
from pfbench.cli.formatting import format_duration, format_plural, format_size
from pfbench.cli.terminal import console

if TYPE_CHECKING:
    from pfbench.runs.execute import PlanOutcome
    from pfbench.runs.planning.plan import PlannedRun

_REFRESH = 0.1

FIRST_LINE, BETWEEN_LINES = 5.0, 60.0
"""Seconds before the first plain line, and between two."""

_KEPT = 1000

PACE_TOLERANCE = 2.0
"""An expected time that is wrong by more than this factor is told again."""


STEADY = 1.25
"""The estimates of the later half of the time may differ by this factor at most."""

SHARE = 0.1
"""Share of the work before which no time is estimated."""

KNOWN = 0.5
"""Share of the steps to come of whose kind one must be done before a time is estimated."""

_SAMPLE = 0.2
"""Seconds between two estimates that are kept."""


Kind = tuple[str, ...]
"""Steps of a kind take about as long as each other; those that share its first two parts, too."""


def run_kind(plan: "PlannedRun") -> Kind:
    """Return the kind of a planned run: its problem, method and parameters without its seed."""
    problem, algorithm = (
        text.replace(f"={plan.seed},", ",").replace(f"={plan.seed}]", "]")
        for text in (plan.problem, plan.algorithm)
    )
    return problem, algorithm.partition("[")[0], algorithm


class RemainingTimeEstimate:
    """An estimate of the time that is left, told once it is steady, and when a line is due.

    The first `slots` steps are left out: the start of the workers and compilation are in them.

    Parameters
    ----------
    slots
        Number of steps at a time.
    kinds
        The kinds of all steps to come; none if they are alike.
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
        """Seconds since the work began."""
        return time.monotonic() - self._start_time

    def remaining_seconds(self, created: int, remaining: int) -> float | None:
        """Return the seconds of the remaining steps at the pace so far, None without one."""
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
        """Record the kind of a finished step and its own seconds."""
        self._to_come[kind] -= 1
        for part in ((), kind[:2], kind):
            self._numbers[part] += 1
            self._seconds[part] += seconds

    def _remaining_step_cost_ratio(self) -> float | None:
        """Return the mean time of a step to come over that of a finished step; None if unknown."""
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

    def steady_estimate(self, left: float | None, share: float) -> float | None:
        """Return an estimate if it is one to be told, None if it is not yet.

        Parameters
        ----------
        left
            The estimate, in seconds.
        share
            The share of the work that is done.
        """
        if left is None:
            return None
        now = time.monotonic()
        start_time = self._from[0] if self._from else self._start_time
        if not self._wholes or now - self._wholes[-1][0] >= _SAMPLE:
            self._wholes.append((now, now - start_time + left))
            if len(self._wholes) > _KEPT:
                del self._wholes[::2]
        if share < SHARE or now - start_time < FIRST_LINE:
            return None
        later = [total for position, total in self._wholes if position >= (start_time + now) / 2]
        return left if max(later, default=1.0) <= STEADY * min(later, default=1.0) else None

    def is_due(self, left: float | None) -> bool:
        """Return whether to tell now that so many seconds are left; None if that is not known."""
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
    """Return what a line says of the seconds that are left: nothing of less than one."""
    if left is None:
        return ", estimating the time left"
    return f", about {format_duration(left)} left" if left >= 1.0 else ""


class StepProgress:
    """The progress of one piece of work, told on the standard error.

    Parameters
    ----------
    title
        What is being done.
    total
        Number of steps, if it is known.
    unit
        What a step is, in the plural; "bytes" is shown in kB, MB or GB.
    quiet
        Say nothing unless the standard error is a terminal.
    slots
        Number of steps at a time.

    Attributes
    ----------
    remaining_seconds
        Returns the seconds that are left, None if that is not known; at the pace so far if it is
        not set.
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
        """Start the clock: what is not there already, of these kinds, is made from now on."""
        self._pace = RemainingTimeEstimate(self._slots, kinds)

    def set_done(self, done: int, total: int | None = None) -> None:
        """Say that so many steps are done; it may be called very often."""
        self._done = done
        if total is not None:
            self._total = total
        if self._bar is None:
            left = None if self._is_quiet else self._steady_estimate()
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
                left=self._describe_remaining(self._steady_estimate()).removeprefix(", "),
            )
            self._bar.refresh()

    def write_line(self, line: str) -> None:
        """Print a line, above the bar where there is one."""
        if not self._is_quiet:
            self._console.print(escape_text(line))

    def _seconds_left(self) -> float | None:
        """Return the seconds that are left at the pace so far; what was there already took none."""
        if self._total is None:
            return None
        return self._pace.remaining_seconds(self._new_step_count, self._total - self._done)

    def _steady_estimate(self) -> float | None:
        if not self._total:
            return None
        remaining = self._total - self._done
        return self._pace.steady_estimate(
            self.remaining_seconds(),
            self._new_step_count / max(1, self._new_step_count + remaining),
        )

    @property
    def _new_step_count(self) -> int:
        """Number of steps that took time: of those that are counted, the ones made now."""
        return self.run_count if self._counts else self._done

    def _describe_remaining(self, left: float | None) -> str:
        return format_remaining(left) if self._total else ""

    def advance(self) -> None:
        """Say that one more step is done."""
        self.set_done(self._done + 1)

    def count(self, _: object, created: bool) -> None:
        """Say that one more step is done, and whether it was made now (not found in the store)."""
        self._counts = True
        self.run_count += created
        self.advance()

    def count_run(self, outcome: "PlanOutcome") -> None:
        """Count a finished run."""
        if outcome.origin == "made":
            self._pace.record_step(run_kind(outcome.plan), outcome.entry.run.seconds)
        self.count(outcome.plan, outcome.origin != "stored")

    def format_step_counts(self) -> str:
        """Return how many steps there are, and how many of them were made now."""
        number = self._done if self._total is None else self._total
        steps = format_plural(number, self._unit.removesuffix("s"))
        return f"{steps}, {self.run_count:,} of them made now"

    def _format_line(self) -> str:
        show: Any = format_size if self._unit == "bytes" else "{:,}".format
        unit = "" if self._unit == "bytes" else f" {self._unit}"
        subject = f" of {show(self._total)}" if self._total is not None else ""
        return f"{show(self._done)}{subject}{unit}"


def _make_progress_bar(target: Console) -> Progress:
    """Return a bar that is drawn only when it is told to, by no thread of its own."""
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
