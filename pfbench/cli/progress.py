"""How far long work is: a bar on a terminal, now and then a plain line elsewhere."""

import time
from collections.abc import Callable
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from pfbench.base.visible import visible
from pfbench.cli.printing import console
from pfbench.cli.words import duration, plural, size

_REFRESH = 0.1

FIRST_LINE, BETWEEN_LINES = 5.0, 60.0
"""Seconds before the first plain line, and between two."""

WRONG = 2.0
"""An expected time that is wrong by more than this factor is told again."""


class Pace:
    """When a plain line is due: soon, where the time that was told is wrong, and now and then."""

    def __init__(self) -> None:
        self._begun = self._told = time.monotonic()
        self._lines = 0
        self._expected: float | None = None

    def expect(self, seconds: float | None) -> str:
        """Return what to tell, before work begins, of the seconds that it takes.

        "" of short work, and where that is not known.
        """
        if seconds is None or seconds < FIRST_LINE:
            return ""
        self._told, self._expected = time.monotonic(), self.elapsed + seconds
        self._lines += 1
        return f"about {duration(seconds)}"

    @property
    def elapsed(self) -> float:
        """Seconds since the work began."""
        return time.monotonic() - self._begun

    def is_due(self, left: float | None) -> bool:
        """Return whether to tell now that so many seconds are left; None if that is not known."""
        since = time.monotonic() - self._told
        whole = None if left is None else self.elapsed + left
        wrong = (
            whole is not None
            and self._expected is not None
            and not self._expected / WRONG <= whole <= self._expected * WRONG
        )
        soon = since >= FIRST_LINE and (wrong or not self._lines)
        if not (soon or since >= BETWEEN_LINES):
            return False
        self._told, self._expected = time.monotonic(), whole
        self._lines += 1
        return True


def told(left: float | None) -> str:
    """Return what a line says of the seconds that are left: nothing of less than one."""
    return f", about {duration(left)} left" if left and left >= 1.0 else ""


class Steps:
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

    Attributes
    ----------
    left
        Returns the seconds that are left, None if that is not known; at the pace so far unless
        somebody sets it who knows more.
    """

    def __init__(self, title: str, total: int | None, unit: str, *, quiet: bool = False) -> None:
        self._title, self._total, self._unit, self._quiet = visible(title), total, unit, quiet
        self._done = self.made = 0
        self._expects = False
        self._console: Console = console(error=True)
        self._bar = _bar(self._console) if self._console.is_terminal else None
        self._told, self._pace = time.monotonic(), Pace()
        self.left: Callable[[], float | None] = self._at_this_pace

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=self._total, so_far="")
            self._bar.refresh()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar:
            self._bar.stop()

    def expect(self, seconds: float | None) -> None:
        """Say how long it will take, now that it begins; nothing of short work, and only once."""
        if self._expects:
            return
        self._pace = Pace()
        if not self._quiet and (words := self._pace.expect(seconds)):
            self._expects = True
            self._console.print(f"{self._title}: {words}")

    def reach(self, done: int, total: int | None = None) -> None:
        """Say that so many steps are done; it may be called very often."""
        self._done = done
        if total is not None:
            self._total = total
        if self._bar is None:
            left = None if self._quiet else self.left()
            if not self._quiet and self._pace.is_due(left):
                self._console.print(f"{self._title}: {self._so_far()}{told(left)}")
            return
        now = time.monotonic()
        if now - self._told >= _REFRESH:
            self._told = now
            self._bar.update(self._task, completed=done, total=self._total, so_far=self._so_far())
            self._bar.refresh()

    def say(self, line: str) -> None:
        """Print a line, above the bar where there is one."""
        if not self._quiet:
            self._console.print(visible(line))

    def _at_this_pace(self) -> float | None:
        """Return the seconds that are left at the pace so far; what was there already took none."""
        fresh = self.made or self._done
        if not fresh or self._total is None:
            return None
        return self._pace.elapsed / fresh * (self._total - self._done)

    def advance(self) -> None:
        """Say that one more step is done."""
        self.reach(self._done + 1)

    def count(self, _: object, made: bool) -> None:
        """Say that one more step is done, and whether it was made now (not found in the store)."""
        self.made += made
        self.advance()

    def made_in_words(self) -> str:
        """Return how many steps there are, and how many of them were made now."""
        number = self._done if self._total is None else self._total
        steps = plural(number, self._unit.removesuffix("s"))
        return f"{steps}, {self.made:,} of them made now"

    def _so_far(self) -> str:
        show: Any = size if self._unit == "bytes" else "{:,}".format
        unit = "" if self._unit == "bytes" else f" {self._unit}"
        of = f" of {show(self._total)}" if self._total is not None else ""
        return f"{show(self._done)}{of}{unit}"


def _bar(target: Console) -> Progress:
    """Return a bar that is drawn only when it is told to, by no thread of its own."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[so_far]}", style="dim", markup=False),
        TimeRemainingColumn(compact=True),
        console=target,
        auto_refresh=False,
        transient=True,
        expand=True,
    )
