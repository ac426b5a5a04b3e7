"""Worker processes and engines: the same bits wherever a run is made; deaths, each of one task."""

import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE

import psutil
import pytest
from command_line import SMALL, SVRG
from stored import comparable, made

from pfbench.base.counts import Budget
from pfbench.runs.engines.engine import MultiProcessEngine, SingleProcessEngine
from pfbench.runs.engines.run_task import execute_plan
from pfbench.runs.engines.workers import Task, run_tasks, send_numbers_to_parent
from pfbench.runs.planning.plan import PlannedRun, resolve
from pfbench.runs.storage.store import Store


def double(a):
    return 2 * a


def hang():
    time.sleep(3600)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def raise_error():
    raise ValueError("no such thing")


def return_function():
    return lambda: 0


def note_time():
    send_numbers_to_parent([time.monotonic() + 0.3])
    hang()


def threads():
    import numba

    return numba.get_num_threads()


def results(tasks, jobs=2):
    return {result.index: result for result in run_tasks(tasks, jobs)}


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_every_task_is_made_once(jobs):
    found = results([Task(double, (k,), 60.0) for k in range(7)], jobs)
    assert {k: result.value for k, result in found.items()} == {k: 2 * k for k in range(7)}
    assert {result.status for result in found.values()} == {"done"}


@pytest.mark.faults
@pytest.mark.parametrize(
    ("task", "seconds", "status", "reason"),
    [
        (raise_error, 60.0, "error", "ValueError: no such thing"),
        (return_function, 60.0, "error", "cannot be sent"),
        (sys.exit, 60.0, "error", "SystemExit"),
        (hang, 1.0, "timeout", "it took more than 1 s"),
        (note_time, 60.0, "timeout", ""),
        (die, 60.0, "lost", "SIGKILL"),
    ],
)
def test_whatever_ends_a_task_costs_it_alone(task, seconds, status, reason):
    started = time.monotonic()
    found = results([Task(task, (), seconds), Task(double, (4,), 60.0)], 1)
    assert (found[0].status, found[1].value) == (status, 8)
    assert reason in found[0].reason
    assert found[0].seconds >= {hang: 1.0, note_time: 0.3}.get(task, 0.0)
    assert time.monotonic() - started < 50.0


def test_workers_compute_with_one_thread():
    assert results([Task(threads, (), 60.0)])[0].value == 1


def own_number():
    return os.getpid()


def test_workers_are_kept_from_one_call_to_the_next_until_the_engine_is_closed():
    engine = MultiProcessEngine(1, idle=[])
    first, again = (next(engine.do([Task(own_number, ())])).value for _ in range(2))
    assert first == again
    psutil.Process(first).kill()
    psutil.wait_procs([psutil.Process(first)] if psutil.pid_exists(first) else [], timeout=20)
    (other,) = engine.do([Task(own_number, ())])  # one that died while it was idle is replaced
    assert (other.status, other.value != first) == ("done", True)
    results = engine.do([Task(own_number, ()), Task(hang, (), 3600.0)])
    assert next(results).value == other.value
    results.close()  # it is at a task, and is ended
    assert engine.idle == []
    (last,) = engine.do([Task(own_number, ())])
    assert last.value != other.value
    engine.close()
    assert not psutil.pid_exists(last.value)


@pytest.fixture
def program(tmp_path):
    """Start a program, which may import these tests."""

    def start(text, **options):
        (tmp_path / "program.py").write_text(text)
        folders = (str(Path(__file__).parent), *filter(None, sys.path))
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(folders)}
        command = [sys.executable, str(tmp_path / "program.py")]
        return subprocess.Popen(command, cwd=tmp_path, text=True, env=environment, **options)

    return start


def tell_and_hang():
    Path("pid").write_text(f"{os.getpid()} ")
    hang()


HANGING = """
from test_workers import {task}
from pfbench.runs.engines.workers import Task, run_tasks

if __name__ == "__main__":
    print([result.status for result in run_tasks([Task({task}, (), {seconds})], 1)])
"""


def lost_at_first(marks, times):
    """Is killed from outside the first times."""
    for k in range(times):
        mark = Path(marks) / str(k)
        if not mark.exists():
            mark.touch()
            send_numbers_to_parent([math.inf, 0.0, 0.0, 7.0 + k])
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)
    return times


@pytest.mark.faults
@pytest.mark.parametrize(("times", "status"), [(0, "done"), (1, "done"), (2, "lost")])
def test_what_was_lost_is_begun_again_and_counted(tmp_path, times, status):
    (found,) = run_tasks([Task(lost_at_first, (str(tmp_path), times))], 1, retries=1)
    assert (found.status, found.retries) == (status, min(times, 1))
    if status == "lost":
        assert found.shared_numbers[3] == 8.0


@pytest.mark.faults
def test_workers_end_with_their_parent(program, tmp_path):
    parent = program(HANGING.format(task="tell_and_hang", seconds=3600))
    told, until = tmp_path / "pid", time.monotonic() + 60.0
    while not (told.exists() and told.read_text().endswith(" ")) and time.monotonic() < until:
        time.sleep(0.05)
    worker = psutil.Process(int(told.read_text()))
    parent.kill()
    parent.wait()
    worker.wait(timeout=20)


@pytest.mark.faults
def test_a_killed_worker_leaves_nothing_behind(program):
    """The standard error of the whole program stays empty."""
    ended = program(HANGING.format(task="hang", seconds=0.5), stdout=PIPE, stderr=PIPE)
    assert ended.communicate(timeout=120) == ("['timeout']\n", "")


UNGUARDED = """
import math
from pfbench.runs.engines.workers import Task, run_tasks

print("begun")

def mine():
    return 1

for result in run_tasks([Task(math.sqrt, (16.0,)), Task(mine, ())], 1):
    print(result.status, result.value, result.reason)
"""


def test_a_program_without_a_guard_starts_once(program):
    """What it defines itself is out of a worker's reach, and is told so."""
    out, err = program(UNGUARDED, stdout=PIPE, stderr=PIPE).communicate(timeout=120)
    begun, first, second = out.splitlines()
    assert (begun, first.strip(), err) == ("begun", "done 4.0", "")
    assert second.startswith("error None the task cannot be read by a worker: Can't get attribute")


# --- Engines: the same bits wherever a run is made, and a row for each, whatever becomes of it ----


SMOOTH = "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]"
LIMIT = 1.5


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
