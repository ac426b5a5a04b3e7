"""Worker processes: results, exceptions, hangs and deaths, each of one task alone."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from pfbench.runs.workers import Task, run_tasks


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
    assert 1.0 <= found[0].seconds
    assert time.monotonic() - started < 50.0


@pytest.mark.faults
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_dead_process_costs_its_task_alone():
    found = results([Task(die, (), 60.0), Task(double, (4,), 60.0)], 1)
    assert found[0].status == "died"
    assert "SIGKILL" in found[0].reason
    assert found[1].value == 8


def test_workers_compute_with_one_thread():
    assert results([Task(threads, (), 60.0)])[0].value == 1


def test_leaving_early_ends_all_workers(tmp_path):
    before = time.monotonic()
    for result in run_tasks([Task(double, (1,), 60.0), Task(hang, (), 3600.0)], 2):
        assert result.index == 0
        break
    assert time.monotonic() - before < 60.0


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
            from pfbench.runs.workers import Task, run_tasks

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
