"""Worker processes: results, exceptions, hangs and deaths, each of one task alone."""

import math
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from pfbench.runs.engines.engine import MultiProcessEngine
from pfbench.runs.engines.workers import Task, run_tasks, send_numbers_to_parent


def double(a):
    return 2 * a


def fail():
    raise ValueError("no such thing")


def hang():
    time.sleep(3600)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def leave():
    sys.exit(3)


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


def test_an_exception_costs_its_task_alone():
    found = results([Task(fail, (), 60.0), Task(double, (1,), 60.0), Task(leave, (), 60.0)], 1)
    assert found[0].status == "error"
    assert "ValueError: no such thing" in found[0].reason
    assert found[1].value == 2
    assert found[2].status == "error"


@pytest.mark.faults
def test_a_hanging_task_is_killed_at_its_limit_and_its_process_replaced():
    started = time.monotonic()
    found = results([Task(hang, (), 1.0), Task(double, (4,), 60.0)], 1)
    assert found[0].status == "timeout"
    assert found[0].reason == "it took more than 1 s"
    assert found[1].value == 8
    assert found[0].seconds >= 1.0
    assert time.monotonic() - started < 50.0


@pytest.mark.faults
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_dead_process_costs_its_task_alone():
    found = results([Task(die, (), 60.0), Task(double, (4,), 60.0)], 1)
    assert found[0].status == "lost"
    assert "SIGKILL" in found[0].reason
    assert found[1].value == 8


def unsendable():
    return lambda: 0


def test_a_result_that_cannot_be_sent_is_an_error():
    found = results([Task(unsendable, ()), Task(double, (4,))], 1)
    assert (found[0].status, found[1].value) == ("error", 8)
    assert "cannot be sent" in found[0].reason


def test_workers_compute_with_one_thread():
    assert results([Task(threads, (), 60.0)])[0].value == 1


def test_leaving_early_ends_all_workers(tmp_path):
    before = time.monotonic()
    for result in run_tasks([Task(double, (1,), 60.0), Task(hang, (), 3600.0)], 2):
        assert result.index == 0
        break
    assert time.monotonic() - before < 60.0


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
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize(("times", "status"), [(0, "done"), (1, "done"), (2, "lost")])
def test_what_was_lost_is_begun_again_and_counted(tmp_path, times, status):
    (found,) = run_tasks([Task(lost_at_first, (str(tmp_path), times))], 1, retries=1)
    assert (found.status, found.retries) == (status, min(times, 1))
    if status == "lost":
        assert found.shared_numbers[3] == 8.0


def late():
    send_numbers_to_parent([time.monotonic() + 0.3])
    time.sleep(60)


@pytest.mark.faults
def test_a_task_is_killed_at_the_time_that_it_noted():
    found = results([Task(late, ()), Task(double, (4,))], 1)
    assert (found[0].status, found[1].value) == ("timeout", 8)
    assert found[0].seconds >= 0.3


@pytest.mark.faults
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_workers_end_with_their_parent(tmp_path):
    (tmp_path / "hanging.py").write_text(
        textwrap.dedent(
            """
            import os, time

            def tell_and_hang():
                with open("pid", "w") as file:
                    file.write(str(os.getpid()) + " ")
                time.sleep(3600)
            """
        )
    )
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            from hanging import tell_and_hang
            from pfbench.runs.engines.workers import Task, run_tasks

            list(run_tasks([Task(tell_and_hang, ())], 1))
            """
        )
    )
    parent = subprocess.Popen([sys.executable, str(program)], cwd=tmp_path)
    told, until = tmp_path / "pid", time.monotonic() + 60.0
    while not (told.exists() and told.read_text().endswith(" ")) and time.monotonic() < until:
        time.sleep(0.05)
    worker = psutil.Process(int(told.read_text()))
    parent.kill()
    parent.wait()
    worker.wait(timeout=20)


@pytest.mark.faults
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_killed_worker_leaves_nothing_behind(tmp_path):
    """The standard error of the whole program stays empty."""
    (tmp_path / "tasks.py").write_text("import time\n\ndef hang():\n    time.sleep(3600)\n")
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            from tasks import hang
            from pfbench.runs.engines.workers import Task, run_tasks

            if __name__ == "__main__":
                print([result.status for result in run_tasks([Task(hang, (), 0.5)], 1)])
            """
        )
    )
    ended = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False
    )
    assert ended.stdout == "['timeout']\n"
    assert ended.stderr == ""


def test_a_program_without_a_guard_starts_once(tmp_path):
    """What it defines itself is out of a worker's reach, and is told so."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import math
            from pfbench.runs.engines.workers import Task, run_tasks

            print("begun")

            def mine():
                return 1

            for result in run_tasks([Task(math.sqrt, (16.0,)), Task(mine, ())], 1):
                print(result.status, result.value, result.reason)
            """
        )
    )
    ended = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=True
    )
    begun, first, second = ended.stdout.splitlines()
    assert (begun, first.strip(), ended.stderr) == ("begun", "done 4.0", "")
    assert second.startswith("error None the task cannot be read by a worker: Can't get attribute")
