"""The progress of a sweep: a table on a terminal, lines elsewhere, nothing if it must be quiet."""

import io

import pytest
from rich.console import Console

from pfbench.cli import board as module
from pfbench.cli import progress
from pfbench.cli.board import Board


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
    monkeypatch.setattr(module, "time", found)
    monkeypatch.setattr(progress, "time", found)
    return found


def test_a_terminal_shows_a_table(screen, clock):
    file = screen(True)
    with Board("sweep", 10, 2, quiet=False) as board:
        board.count("stored", "finished")
        clock.now += 3.0
        board.count("made", "finished")
        clock.now += 4.0
        board.count("made", "error")
    text = file.getvalue()
    for word in ("done", "running", "failed", "remaining", "time left"):
        assert word in text
    # 3 are done, 1 failed, 2 are running, 5 are left; two were made in 7 s, so 7 in 24.5 s.
    assert board.left == pytest.approx(24.5)
    console = Console(file=io.StringIO(), width=120)
    console.print(board.table())
    row = console.file.getvalue().splitlines()[1]
    assert row.split()[-6:] == ["3", "2", "1", "5", "24.5", "s"]


def test_the_time_left_counts_what_was_made_and_not_what_was_stored(screen, clock):
    screen(False)
    board = Board("sweep", 100, 2, quiet=False)
    for _ in range(50):
        board.count("stored", "finished")
    assert board.left is None
    clock.now += 10.0
    board.count("made", "finished")
    clock.now += 10.0
    board.count("made", "finished")
    assert board.left == pytest.approx(48 * 20.0 / 2)


def test_elsewhere_a_line_now_and_then(screen, clock):
    file = screen(False)
    with Board("sweep", 10, 2, quiet=False) as board:
        board.count("made", "finished")
        assert file.getvalue() == ""
        clock.now += 6.0
        board.count("made", "diverged")
    assert file.getvalue() == "sweep: 2 of 10 runs done, 1 failed, about 24 s left\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_quiet_says_nothing(screen, clock, terminal):
    file = screen(terminal)
    with Board("sweep", 10, 2, quiet=True) as board:
        clock.now += 60.0
        board.count("made", "finished")
    assert file.getvalue() == ""


def test_the_time_is_told_before_the_first_run(screen, clock):
    file = screen(False)
    with Board("sweep", 4, 1, quiet=False) as board:
        clock.now += 30
        board.expect(24.0)
        for _ in range(4):
            clock.now += 6
            board.count("made", "finished")
    assert file.getvalue() == "sweep: about 24 s\n"
    with Board("sweep", 4, 1, quiet=False) as board:
        board.expect(4.0)
    assert file.getvalue() == "sweep: about 24 s\n"
