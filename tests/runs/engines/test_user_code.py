"""A method that a user wrote changes no result but its own, whatever it does to its process."""

import os
import sys
import time
from contextlib import closing
from dataclasses import replace

import psutil
import pytest
from misbehaving import Poisons
from stored import comparable

from pfbench.base.constants import Constants
from pfbench.base.errors import LONGEST, brief_error_text
from pfbench.runs.engines.engine import MultiProcessEngine
from pfbench.runs.engines.run_task import run_from_result
from pfbench.runs.engines.workers import Task, TaskResult, run_tasks
from pfbench.runs.execute import iterate_plan_outcomes
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.store import Store

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs os.fork")

PROBLEMS = tuple(f"quadratic[rows={rows},columns=4]" for rows in (6, 8))
FORKING = "misbehaving:Forks[step=0.001]"


def plan(algorithm, problem=PROBLEMS[0], seed=0, **more):
    return PlannedRun(problem, algorithm, seed, ("fw_gap",), 1, **more)


def runs_of(plans, store, engine):
    with closing(engine):
        return {
            outcome.plan: outcome.entry.run
            for outcome in iterate_plan_outcomes(plans, store, engine)
        }


def test_a_forking_and_a_poisoning_method_leave_frank_wolfe_alone(tmp_path):
    methods = "frank-wolfe[step=open-loop,iterations=5]", "frank-wolfe[step=open-loop,iterations=7]"
    ours = [plan(one, problem, seed) for problem in PROBLEMS for one in methods for seed in (0, 1)]
    # First at each problem, as a sweep of the user's own methods would have it.
    theirs = [plan(FORKING, one, seed) for one in PROBLEMS for seed in (0, 1)]
    theirs += [plan("misbehaving:Poisons[step=0.001]", one) for one in PROBLEMS]
    alone = runs_of(ours, Store(tmp_path / "alone"), MultiProcessEngine(1))
    mixed = runs_of([*theirs, *ours], Store(tmp_path / "mixed"), MultiProcessEngine(1, idle=[]))
    for one in ours:
        assert comparable(mixed[one])[1:] == comparable(alone[one])[1:]
        assert mixed[one].counts == alone[one].counts
    for one in theirs[:4]:  # and a fork changes nothing of its own run
        assert (mixed[one].problem, mixed[one].status) == (one.problem, "finished")


def number():
    return os.getpid()


def test_user_code_shares_a_process_with_itself_alone():
    codes = "", "", "mine", "mine", "yours", "", ""
    first, second, third, fourth, fifth, sixth, seventh = (
        result.value
        for result in run_tasks([Task(number, (), user_code_name=code) for code in codes], 1)
    )
    assert first == second == third == fourth  # one that ran ours alone is clean
    assert len({fourth, fifth, sixth}) == 3
    assert sixth == seventh


def answers_twice():
    """Send an answer to another task, as a process that was forked would."""
    import gc
    from multiprocessing.connection import Connection

    for one in gc.get_objects():
        if isinstance(one, Connection) and not one.closed and one.writable:
            one.send((0, "done", "of another task", ""))
    return "mine"


def test_an_answer_to_another_task_is_refused():
    found = {r.index: r.value for r in run_tasks([Task(answers_twice, ()), Task(number, ())], 1)}
    assert found[0] == "mine"
    assert isinstance(found[1], int)


def test_a_run_that_is_not_the_planned_one_is_not_stored(tmp_path):
    asked = plan(FORKING)
    (done,) = runs_of([asked], Store(tmp_path), MultiProcessEngine(1)).values()
    for change in ({"seed": 1}, {"problem": PROBLEMS[1]}, {"algorithm": "svrg"}):
        other = run_from_result(asked, TaskResult(0, replace(done, **change), "done", "", 1.0))
        assert (other.status, other.problem, other.seed) == ("killed", asked.problem, 0)
        assert "in place of" in other.stop_reason


def test_children_end_with_their_worker(tmp_path):
    mark = tmp_path / "children"
    runs_of(
        [plan(f"misbehaving:LeavesOrphans[mark={mark}]")], Store(tmp_path), MultiProcessEngine(1)
    )
    left = [int(line) for line in mark.read_text().split()]
    until = time.monotonic() + 20.0
    while any(map(_runs, left)) and time.monotonic() < until:
        time.sleep(0.05)
    assert len(left) == 3
    assert not any(map(_runs, left))


def _runs(number):
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_method_that_closes_every_file_costs_seconds_and_its_run(tmp_path):
    began = time.monotonic()
    plans = [plan("misbehaving:ClosesAll"), plan("frank-wolfe[step=open-loop,iterations=5]")]
    closed, sound = (runs_of(plans, Store(tmp_path), MultiProcessEngine(1))[one] for one in plans)
    assert (closed.status, sound.status) == ("error", "finished")
    assert time.monotonic() - began < 40.0


def test_whatever_an_error_says_its_run_is_kept(tmp_path):
    says = {
        "SaysMuch": "(5,000,000 characters)",
        "SaysNoText": r"\ud800",
        "CannotSay": "Mute: no text, as str(error) raises ZeroDivisionError",
    }
    store = Store(str(tmp_path))
    plans = [plan(f"misbehaving:{method}") for method in says]
    made = iterate_plan_outcomes(plans, store, MultiProcessEngine(1))
    kept = {outcome.plan: store.get(outcome.entry.key).run for outcome in made}
    for asked, words in zip(plans, says.values(), strict=True):
        run = kept[asked]
        assert (run.status, run.counts.fo) == ("error", 4)
        assert words in run.stop_reason
        assert len(run.stop_reason) < LONGEST + 100


def test_a_short_text_is_kept_as_it_is():
    assert brief_error_text(ValueError("é" * LONGEST)) == "é" * LONGEST
    with pytest.raises(AttributeError) as unknown:
        Constants(n=3).LL  # noqa: B018
    assert brief_error_text(unknown.value) == "unknown constant 'LL': did you mean 'L'?"
    assert Poisons.name == "descent"
