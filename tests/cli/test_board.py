"""The progress of a sweep: a table on a terminal, lines elsewhere, nothing if it must be quiet."""

import io

import pytest
from rich.console import Console

from pfbench.cli import progress
from pfbench.cli import sweep_progress as module
from pfbench.cli.sweep_progress import SweepProgress


@pytest.fixture
def screen(monkeypatch):
    """What is written to a terminal, or to a file."""

    def make(terminal):
        file = io.StringIO()
        console = Console(
            file=file, force_terminal=terminal, width=120, markup=False, color_system=None
        )
        monkeypatch.setattr(module, "console", lambda *, error: console)
        return file

    return make


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless it is moved."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    found = Clock()
    monkeypatch.setattr(progress, "time", found)
    return found


def make(board, clock, number, seconds=1.0):
    for _ in range(number):
        clock.now += seconds
        board.count("made", "finished")


def test_a_terminal_shows_a_table(screen, clock):
    file = screen(True)
    with SweepProgress("sweep", 20, 2, quiet=False) as board:
        board.count("stored", "finished")
        board.start_clock()
        make(board, clock, 1, 30.0)  # the start of the workers is left out
        board.count("made", "error")
        make(board, clock, 7)
    text = file.getvalue()
    for word in ("done", "running", "failed", "remaining", "time left"):
        assert word in text
    # 10 are done, 1 failed, 2 are running, 8 are left; seven were made in 7 s.
    assert board.seconds_left == pytest.approx(10.0)
    console = Console(file=io.StringIO(), width=120)
    console.print(board.count_table())
    row = console.file.getvalue().splitlines()[1]
    assert row.split()[-6:] == ["10", "2", "1", "8", "10", "s"]


def test_the_time_left_counts_what_was_made_and_not_what_was_stored(screen, clock):
    screen(False)
    board = SweepProgress("sweep", 100, 2, quiet=False)
    for _ in range(50):
        board.count("stored", "finished")
    assert board.seconds_left is None
    board.start_clock()
    make(board, clock, 2, 10.0)
    make(board, clock, 10, 2.0)
    assert board.seconds_left == pytest.approx(38 * 2.0)


def test_elsewhere_a_line_now_and_then(screen, clock):
    file = screen(False)
    with SweepProgress("sweep", 20, 2, quiet=False) as board:
        board.count("made", "diverged")
        assert file.getvalue() == ""
        make(board, clock, 1, 6.0)
        make(board, clock, 8)
    assert file.getvalue().splitlines() == [
        "sweep: 2 of 20 runs done, 1 failed, estimating the time left",
        "sweep: 7 of 20 runs done, 1 failed, about 13 s left",
    ]


@pytest.mark.parametrize("terminal", [True, False])
def test_quiet_says_nothing(screen, clock, terminal):
    file = screen(terminal)
    with SweepProgress("sweep", 10, 2, quiet=True) as board:
        clock.now += 60.0
        board.count("made", "finished")
    assert file.getvalue() == ""
