"""What is told of long work, and where."""

import io
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
        monkeypatch.setattr(progress, "console", lambda *, error: target)
        return stream

    return on


def work(clock, *, quiet=False, unit="runs", seconds=20):
    with progress.StepProgress("report", 20, unit, quiet=quiet) as steps:
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


def test_a_time_that_was_wrong_by_more_than_two_times_is_told_again(clock, told):
    """The first twelve take a second each, the others ten: nothing is told while that changes."""
    stream = told(terminal=False)
    with progress.StepProgress("report", 40, "runs") as steps:
        for k in range(40):
            clock[0] += 1 if k < 12 else 10
            steps.advance()
    lines = stream.getvalue().splitlines()
    assert lines[:2] == [
        "report: 5 of 40 runs, estimating the time left",
        "report: 10 of 40 runs, about 30 s left",
    ]
    assert lines[2].endswith("estimating the time left")
    assert "left" in lines[3]


def test_an_estimate_that_is_not_steady_is_not_told(clock):
    pace = progress.RemainingTimeEstimate()
    for k in range(60):
        clock[0] += 1.0
        left = pace.remaining_seconds(k, 100 - k)
        assert pace.estimate_if_steady(left, k / 100) == (left if k >= 10 else None)
    for _ in range(3):  # the remaining ones are found to take three times as long
        clock[0] += 5.0
        assert pace.estimate_if_steady(3 * left, 0.6) is None


def test_nothing_is_told_before_a_tenth_and_five_seconds(clock):
    pace = progress.RemainingTimeEstimate(slots=2)
    assert [pace.remaining_seconds(made, 9) for made in (0, 1, 2)] == [None] * 3
    clock[0] += 4.0
    assert pace.remaining_seconds(4, 6) == 12.0
    assert pace.estimate_if_steady(12.0, 0.4) is None
    clock[0] += 2.0
    assert (pace.estimate_if_steady(10.0, 0.05), pace.estimate_if_steady(10.0, 0.4)) == (None, 10.0)


def test_what_is_to_come_counts_by_its_kind(clock):
    """Ten runs of a second, then ten of ten, first of a problem whose kinds are not known."""
    short, long = ("easy", "gd", "gd[step=1]"), ("hard", "gd", "gd[step=1]")
    pace = progress.RemainingTimeEstimate(kinds=[short] * 10 + [long] * 10)
    found = []
    for k in range(20):
        clock[0] += (seconds := 1.0 if k < 10 else 10.0)
        pace.record_step(short if k < 10 else long, seconds / 2)  # measures take the other half
        found.append(pace.remaining_seconds(k + 1, 19 - k))
    assert found[:10] == [None] * 10
    truth = [10.0 * (19 - k) for k in range(10, 20)]
    assert all(t / 2 <= one <= 2 * t for one, t in zip(found[10:], truth, strict=True))


def test_a_kind_that_is_not_done_takes_as_long_as_its_method_on_its_problem(clock):
    kinds = [("p", "gd", f"gd[step={k}]") for k in range(10)]
    pace = progress.RemainingTimeEstimate(kinds=kinds)
    for k, kind in enumerate(kinds[:3]):
        clock[0] += 2.0
        pace.record_step(kind, 2.0)
        left = pace.remaining_seconds(k + 1, 9 - k)
    assert left == pytest.approx(14.0)


def test_a_seed_is_no_part_of_a_kind():
    first, second, other = (
        SimpleNamespace(
            problem=f"q[rows=30,seed={k}]", algorithm=f"sgd[seed={k},step={step}]", seed=k
        )
        for k, step in ((3, 1), (4, 1), (4, 2))
    )
    assert progress.run_kind(first) == progress.run_kind(second)
    assert progress.run_kind(second)[:2] == progress.run_kind(other)[:2]
    assert progress.run_kind(second) != progress.run_kind(other)


def test_runs_that_were_there_already_take_no_time(clock, told):
    stream = told(terminal=False)
    with progress.StepProgress("report", 30, "runs") as steps:
        for k in range(30):
            clock[0] += 3 if k >= 10 else 0
            steps.count(None, k >= 10)
    assert stream.getvalue().splitlines()[:2] == [
        "report: 12 of 30 runs, estimating the time left",
        "report: 14 of 30 runs, about 48 s left",
    ]


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
    with progress.StepProgress("a9a", None, "bytes") as steps:
        clock[0] += 6
        steps.set_done(2_300_000, 2_345_678)
    assert stream.getvalue() == "a9a: 2.3 MB of 2.35 MB, estimating the time left\n"


def test_telling_very_often_costs_little(told):
    import timeit

    told(terminal=True)
    with progress.StepProgress("run", 10**9, "iterations") as steps:
        assert min(timeit.repeat(lambda: steps.set_done(1), number=1000, repeat=5)) < 2e-3
