"""Engines: the same bits wherever a run is made, and a row for each, whatever becomes of it."""

import math
import sys
import time
from dataclasses import replace

import pytest
from command_line import SMALL, SVRG
from stored import comparable, made

from pfbench.base.counts import Budget
from pfbench.runs.engines.engine import MultiProcessEngine, SingleProcessEngine
from pfbench.runs.engines.run_task import execute_plan
from pfbench.runs.planning.plan import PlannedRun, resolve
from pfbench.runs.storage.store import Store

SMOOTH = "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]"
LIMIT = 1.5

needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")


def plan(algorithm, **more):
    return PlannedRun(SMOOTH, f"misbehaving:{algorithm}", 0, ("objective",), 1, **more)


def test_a_run_has_the_same_bits_here_and_in_a_worker():
    plans = [PlannedRun(SMALL, SVRG, seed, ("fw_gap", "value"), 3) for seed in range(4)]
    plans.append(replace(plans[0], budget=Budget(sfo=150)))
    here, there = made(SingleProcessEngine(), plans), made(MultiProcessEngine(2), plans)
    assert [comparable(one.run) for one in here] == [comparable(one.run) for one in there]
    assert [one.run.status for one in here] == ["finished"] * 4 + ["budget"]
    assert SingleProcessEngine().environment() == MultiProcessEngine(2).environment()


def test_a_limit_changes_nothing_of_a_run_that_ends_before():
    limited = replace(plan("Descent"), time_limit=60.0, memory_limit=4e9)
    assert comparable(execute_plan(limited)) == comparable(execute_plan(plan("Descent")))


@pytest.mark.faults
@needs_signals
def test_each_misbehaviour_has_its_status_and_costs_its_run_alone(tmp_path):
    plans = [
        plan("Descent", time_limit=LIMIT),
        plan("Raises", time_limit=LIMIT),
        plan("NotANumber", time_limit=LIMIT),
        plan("Loops", time_limit=LIMIT),
        plan("Crashes", time_limit=LIMIT),
        plan("IsKilledOnce[mark=" + str(tmp_path / "mark") + "]", time_limit=60.0),
        plan("IsKilled", time_limit=60.0),
    ]
    found = made(MultiProcessEngine(1), plans)
    assert [one.run.status for one in found] == [
        "finished",
        "error",
        "diverged",
        "timeout",
        "error",
        "finished",
        "killed",
    ]
    assert [one.retries for one in found] == [0, 0, 0, 0, 0, 1, 2]
    for one, says in zip(
        found[1:5], ("no good", "not finite", "was killed", "SIGSEGV"), strict=True
    ):
        assert says in one.run.stop_reason
    assert "SIGKILL, 3 times" in found[6].run.stop_reason
    # The three complete iterations before are counted: n = 30 for each gradient.
    for k in (3, 4, 6):
        assert (found[k].run.iterations, found[k].run.counts.fo) == (3, 3)
        assert found[k].run.counts.sfo == 90
        assert found[k].run.rows[-1][:3] == (3, 3, 90)
    assert found[1].run.counts.sfo == 120
    assert comparable(found[0].run)[2] == comparable(found[5].run)[2]


def test_somebodys_own_parameters_and_exits_harm_nobody(tmp_path):
    odd, left = made(MultiProcessEngine(1), [plan("Odd"), plan("Leaves")])
    assert (odd.run.status, odd.run.parameters["weights"]) == ("finished", "(1.0, 2.0)")
    assert left.run.status == "error"
    assert "SystemExit: 3" in left.run.stop_reason
    Store(tmp_path).put("0" * 64, odd.run, {})


@pytest.mark.faults
@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of memory")
def test_a_run_that_eats_memory_ends_at_its_limit():
    plans = [
        plan("Eats", memory_limit=3e8, time_limit=60.0),
        plan("Descent", memory_limit=3e8),
        plan("Needs", memory_limit=3e8),
        plan("Needs"),
    ]
    eaten, sound, refused, free = (one.run for one in made(MultiProcessEngine(1), plans))
    assert eaten.status == "error"
    assert "MemoryError" in eaten.stop_reason
    assert eaten.counts.fo == 4
    assert (sound.status, refused.status, free.status) == ("finished", "error", "finished")


def test_the_clock_of_a_limit_stands_still_during_measures(monkeypatch):
    """A slow measure costs a run neither its soft limit nor its life."""
    noted = []
    monkeypatch.setattr("pfbench.runs.engines.run_task.send_numbers_to_parent", noted.append)
    run = execute_plan(plan("Descent", time_limit=5.0))
    assert run.status == "finished"
    # Each iteration notes a deadline when its clock starts, and none when it stands still again.
    deadlines = [numbers[0] for numbers in noted if len(numbers) == 1 and numbers[0] < math.inf]
    reached = [numbers for numbers in noted if len(numbers) > 1]
    assert len(deadlines) >= 6
    now = time.monotonic()
    assert all(now < deadline < now + 6.0 for deadline in deadlines)
    assert [numbers[1] for numbers in reached] == [1, 2, 3, 4, 5, 6]
    assert {numbers[0] for numbers in reached} == {math.inf}
    # Nor can it be late when all iterations are made.
    assert noted[-1] == [math.inf]
    assert [numbers[3] for numbers in reached] == [30, 60, 90, 120, 150, 180]


def test_nothing_is_built_twice_for_runs_that_differ_in_their_seed():
    one = resolve(plan("Descent"))
    assert resolve(replace(plan("Descent"), seed=5, every=9)) is one
