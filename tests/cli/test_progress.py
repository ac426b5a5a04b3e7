"""What is told of long work, and where."""

import io

import pytest
from rich.console import Console

from pfbench.cli import progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands until it is moved."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def told(monkeypatch):
    """What is told, on a terminal or not."""

    def on(*, terminal):
        stream = io.StringIO()
        target = Console(file=stream, force_terminal=terminal, width=80, highlight=False)
        monkeypatch.setattr(progress, "console", lambda *, error: target)
        return stream

    return on


def work(clock, *, quiet=False, unit="runs", seconds=20):
    with progress.Steps("report", 20, unit, quiet=quiet) as steps:
        for _ in range(20):
            clock[0] += seconds / 20
            steps.advance()


def test_away_from_a_terminal_a_plain_line_now_and_then(clock, told):
    stream = told(terminal=False)
    work(clock, seconds=200)
    assert stream.getvalue().splitlines() == [
        "report: 1 of 20 runs, about 3.17 min left",
        "report: 7 of 20 runs, about 2.17 min left",
        "report: 13 of 20 runs, about 70 s left",
        "report: 19 of 20 runs, about 10 s left",
    ]


def test_a_time_that_was_wrong_by_more_than_two_times_is_told_again(clock, told):
    """The first ten take a second each, the others ten: that is seen before a minute is over."""
    stream = told(terminal=False)
    with progress.Steps("report", 20, "runs") as steps:
        for k in range(20):
            clock[0] += 1 if k < 10 else 10
            steps.advance()
    first, again, *_ = stream.getvalue().splitlines()
    assert first == "report: 5 of 20 runs, about 15 s left"
    assert again == "report: 12 of 20 runs, about 20 s left"


def test_the_time_is_told_before_the_work_and_again_only_where_it_was_wrong(clock, told):
    stream = told(terminal=False)
    with progress.Steps("report", 20, "runs") as steps:
        steps.expect(25.0)
        steps.expect(90.0)  # said once
        for _ in range(20):
            clock[0] += 1
            steps.advance()
    assert stream.getvalue() == "report: about 25 s\n"
    with progress.Steps("report", 20, "runs") as steps:
        steps.expect(6.0)
        for _ in range(20):
            clock[0] += 1
            steps.advance()
    first, again = stream.getvalue().splitlines()[1:]
    assert first == "report: about 6 s"
    assert again == "report: 5 of 20 runs, about 15 s left"


def test_short_or_quiet_work_is_not_told_of_before(clock, told):
    stream = told(terminal=False)
    for quiet, seconds in ((False, 4.0), (False, None), (True, 60.0)):
        with progress.Steps("report", 20, "runs", quiet=quiet) as steps:
            steps.expect(seconds)
    assert stream.getvalue() == ""


def test_runs_that_were_there_already_take_no_time(clock, told):
    stream = told(terminal=False)
    with progress.Steps("report", 20, "runs") as steps:
        for k in range(20):
            clock[0] += 3 if k >= 10 else 0
            steps.count(None, k >= 10)
    assert stream.getvalue().splitlines()[0] == "report: 12 of 20 runs, about 24 s left"


def test_short_work_is_not_worth_a_line(clock, told):
    stream = told(terminal=False)
    work(clock, seconds=4)
    assert stream.getvalue() == ""


def test_quiet_work_says_nothing_away_from_a_terminal(clock, told):
    stream = told(terminal=False)
    work(clock, quiet=True)
    assert stream.getvalue() == ""


def test_a_terminal_gets_a_bar(clock, told):
    stream = told(terminal=True)
    work(clock, quiet=True)
    assert "report" in stream.getvalue()
    assert "━" in stream.getvalue()
    assert "13 of 20 runs" in stream.getvalue()


def test_bytes_are_told_in_their_units(clock, told):
    stream = told(terminal=False)
    with progress.Steps("a9a", None, "bytes") as steps:
        clock[0] += 6
        steps.reach(2_300_000, 2_345_678)
    assert stream.getvalue() == "a9a: 2.3 MB of 2.35 MB\n"  # less than a second is left


def test_telling_very_often_costs_little(told):
    import timeit

    told(terminal=True)
    with progress.Steps("run", 10**9, "iterations") as steps:
        assert min(timeit.repeat(lambda: steps.reach(1), number=1000, repeat=5)) < 2e-3
