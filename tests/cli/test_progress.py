"""What is told of long work, and where."""

import io
import timeit
from types import SimpleNamespace

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
        monkeypatch.setattr(progress.terminal, "console", lambda *, error: target)
        return stream

    return on


def work(clock, *, unit="runs", seconds=20, **how):
    with progress.StepProgress("report", 20, unit, **how) as steps:
        for _ in range(20):
            clock[0] += seconds / 20
            steps.advance()


def test_away_from_a_terminal_a_plain_line_now_and_then(clock, told):
    stream = told(terminal=False)
    work(clock, seconds=200)
    assert stream.getvalue().splitlines() == [
        "report: 1 of 20 runs, estimating the time left",
        "report: 2 of 20 runs, about 3 min left",
        "report: 8 of 20 runs, about 2 min left",
        "report: 14 of 20 runs, about 60 s left",
    ]


def test_nothing_is_estimated_before_a_tenth_and_five_seconds(clock, told):
    """Two at a time; the first two include the start of the workers, and count for no pace."""
    told(terminal=False)
    steps = progress.StepProgress("report", 20, "runs", slots=2)
    found = []
    for seconds in (30.0, 0.0, 2.0, 2.0, 2.0):
        clock[0] += seconds
        steps.advance()
        found.append(steps.seconds_left())
    assert found == [None] * 4 + [2.0 * 15]
    long = progress.StepProgress("report", 1000, "runs")
    for _ in range(100):
        assert long.seconds_left() is None
        clock[0] += 1.0
        long.advance()
    assert long.seconds_left() == 900.0


def test_what_was_there_already_takes_no_time_and_what_failed_is_counted(clock, told):
    stream = told(terminal=False)
    with progress.StepProgress("sweep", 30, "runs") as steps:
        for k in range(30):
            clock[0] += 3 if k >= 10 else 0
            run = SimpleNamespace(status="error" if k == 11 else "finished")
            origin, entry = "made" if k >= 10 else "stored", SimpleNamespace(run=run)
            steps.count_run(SimpleNamespace(origin=origin, plan=None, entry=entry))
    assert stream.getvalue().splitlines()[:2] == [
        "sweep: 12 of 30 runs, 1 failed, estimating the time left",
        "sweep: 14 of 30 runs, 1 failed, about 48 s left",
    ]
    assert steps.format_step_counts() == "30 runs (20 run, 10 cached)"


@pytest.mark.parametrize(
    ("terminal", "seconds", "how"),
    [(False, 4, {}), (False, 200, {"quiet": True}), (True, 200, {"hidden": True})],
)
def test_short_or_quiet_work_says_nothing(clock, told, terminal, seconds, how):
    stream = told(terminal=terminal)
    work(clock, seconds=seconds, **how)
    assert stream.getvalue() == ""


def test_a_terminal_gets_a_bar(clock, told):
    stream = told(terminal=True)
    work(clock, quiet=True)
    for words in ("report", "━", "13 of 20 runs"):
        assert words in stream.getvalue()


def test_bytes_are_told_in_their_units(clock, told):
    stream = told(terminal=False)
    with progress.StepProgress("a9a", None, "bytes") as steps:
        clock[0] += 6
        steps.set_done(2_300_000, 2_345_678)
    assert stream.getvalue() == "a9a: 2.3 MB of 2.35 MB, estimating the time left\n"


def test_telling_very_often_costs_little(told):
    told(terminal=True)
    with progress.StepProgress("run", 10**9, "iterations") as steps:
        assert min(timeit.repeat(lambda: steps.set_done(1), number=1000, repeat=5)) < 2e-3
