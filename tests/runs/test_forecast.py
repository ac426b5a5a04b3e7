"""What is told of a sweep before it begins, from the first iterations of a few of its runs."""

from dataclasses import replace

import pytest

from pfbench.runs import forecast
from pfbench.runs.engines.engine import LocalProcesses, ThisProcess
from pfbench.runs.execute import execute
from pfbench.runs.forecast import SETTINGS, seconds_of
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.store import Store

PLAN = PlannedRun(
    "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]",
    "svrg[batch=5,period=3,iterations=4,step=0.01]",
    0,
    ("objective",),
    1,
)


class Several(ThisProcess):
    slots = 4


@pytest.fixture
def tried(monkeypatch):
    """The runs that are tried, each of which says that it takes as many seconds as its batch."""
    plans = []

    def trial(plan):
        plans.append(plan)
        return float(plan.algorithm.partition("batch=")[2].partition(",")[0])

    monkeypatch.setattr(forecast, "wall_seconds", trial)
    return plans


def plans(batches, seeds=3):
    texts = [PLAN.algorithm.replace("batch=5", f"batch={batch}") for batch in batches]
    return [replace(PLAN, algorithm=text, seed=seed) for text in texts for seed in range(seeds)]


def test_a_few_settings_stand_for_all(tried):
    assert seconds_of(plans([1, 2, 6]), ThisProcess()) == pytest.approx(9 * 3.0)
    assert len(tried) == 3
    tried.clear()
    many = plans(range(1, 101))
    assert seconds_of(many, ThisProcess()) == pytest.approx(300 * 50, rel=0.5)
    assert len(tried) == SETTINGS


def test_several_at_a_time_take_less(tried):
    assert seconds_of(plans([8]), Several()) == pytest.approx(3 * 8 / 4)


def test_what_cannot_be_tried_tells_nothing(monkeypatch):
    monkeypatch.setattr(forecast, "wall_seconds", lambda plan: 1 / 0)
    assert seconds_of(plans([8]), ThisProcess()) is None


def test_where_one_does_not_come_to_its_end_the_others_are_not_tried(monkeypatch):
    monkeypatch.setattr(forecast, "_LIMIT", 1.0)
    problems = [PLAN.problem.replace("columns=4", f"columns={d}") for d in (3, 4, 5, 6, 7)]
    loops = [replace(PLAN, problem=one, algorithm="misbehaving:Loops") for one in problems]
    asked = []

    class One(LocalProcesses):
        def do(self, tasks):
            for result in super().do(tasks):
                asked.append(result.status)
                yield result

    assert seconds_of(loops, One(1)) is None
    assert asked == ["timeout"]


def test_a_real_trial_is_of_the_right_size():
    """20 000 iterations of the same kind take about ten times as many seconds as 2 000."""
    lengths = (20_000, 200_000)
    texts = [PLAN.algorithm.replace("iterations=4", f"iterations={length}") for length in lengths]
    few, many = (seconds_of([replace(PLAN, algorithm=text)], ThisProcess()) for text in texts)
    assert few > 0.0
    assert 2.0 < many / few < 50.0


def test_only_what_is_not_stored_is_told_of(tmp_path):
    asked = []
    execute([PLAN], Store(tmp_path), begin=asked.append)
    execute([PLAN], Store(tmp_path), begin=asked.append)
    execute([PLAN, replace(PLAN, seed=1)], Store(tmp_path), begin=asked.append)
    assert asked == [[PLAN], [replace(PLAN, seed=1)]]
