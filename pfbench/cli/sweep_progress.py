"""Progress of a sweep: a live table on a terminal, occasional plain lines elsewhere."""

from collections import Counter
from collections.abc import Iterable
from typing import Self

from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from pfbench.base.escaping import escape_text
from pfbench.cli.formatting import format_duration
from pfbench.cli.progress import Kind, RemainingTimeEstimate, format_remaining
from pfbench.cli.terminal import FAILURES, console


class SweepProgress:
    """Numbers of finished, running, failed and remaining runs of a sweep, and time left.

    Parameters
    ----------
    title
        Name of the sweep.
    total
        Number of planned runs.
    slots
        Number of concurrent runs.
    quiet
        Print nothing.
    """

    def __init__(self, title: str, total: int, slots: int, *, quiet: bool) -> None:
        self._title, self._total, self._slots = escape_text(title), total, slots
        self._console = console(error=True)
        self._is_quiet = quiet
        self._pace = RemainingTimeEstimate(slots)
        self.origins: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self._live: Live | None = None
        if self._console.is_terminal and not quiet:
            self._live = Live(
                get_renderable=self.count_table,
                console=self._console,
                transient=True,
                refresh_per_second=2,
            )

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live:
            self._live.stop()

    def start_clock(self, kinds: Iterable[Kind] = ()) -> None:
        """Start the clock when execution starts; `kinds` are those of the runs to execute."""
        self._pace = RemainingTimeEstimate(self._slots, kinds)

    def count(self, origin: str, status: str, kind: Kind = (), seconds: float = 0.0) -> None:
        """Count one more finished run, with its origin and its status."""
        if origin == "made" and kind:
            self._pace.record_step(kind, seconds)
        self.origins[origin] += 1
        self.statuses[status] += 1
        left, last = self.seconds_left, self.done_count == self._total
        if self._live is None and not self._is_quiet and not last and self._pace.is_due(left):
            self._console.print(f"{self._title}: {self.format()}")

    @property
    def new_runs(self) -> int:
        """Number of runs that were executed; stored or cut runs take no time."""
        return self.origins["made"]

    @property
    def done_count(self) -> int:
        """Number of finished runs."""
        return self.origins.total()

    @property
    def failure_count(self) -> int:
        """Number of runs that failed."""
        return sum(self.statuses[status] for status in FAILURES)

    @property
    def seconds_left(self) -> float | None:
        """Remaining seconds; None while the estimate is not steady."""
        remaining = self._total - self.done_count
        share = self.new_runs / max(1, self.new_runs + remaining)
        return self._pace.estimate_if_steady(
            self._pace.remaining_seconds(self.new_runs, remaining), share
        )

    def format(self) -> str:
        """Return the numbers as a line."""
        failed = f", {self.failure_count:,} failed" if self.failure_count else ""
        return f"{self.done_count:,} of {self._total:,} runs done{failed}{format_remaining(self.seconds_left)}"  # noqa: E501

    def count_table(self) -> Table:
        """Return the numbers as a table."""
        remaining = self._total - self.done_count
        running = min(self._slots, remaining)
        left = self.seconds_left
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for name in (self._title, "done", "running", "failed", "remaining", "time left"):
            table.add_column(Text(name), justify="left" if name == self._title else "right")
        table.add_row(
            ProgressBar(total=self._total, completed=self.done_count, width=30),
            f"{self.done_count:,}",
            f"{running:,}",
            Text(f"{self.failure_count:,}", style="bold red" if self.failure_count else ""),
            f"{remaining - running:,}",
            "estimating" if left is None else format_duration(left),
        )
        return table
