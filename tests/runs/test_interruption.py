"""An interrupted run is told as such, and never stored as if it were finished."""

import dataclasses

import pytest
from command_line import SMALL, SVRG

from pfbench.runs import execute
from pfbench.runs.engines import run_task
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.store import Store


def plans(count):
    return [PlannedRun(SMALL, SVRG, seed, ("value",), 5) for seed in range(count)]


def test_a_killed_run_ends_the_work_and_is_not_stored(tmp_path, monkeypatch):
    whole, seeds = run_task.drive, []

    def killed(ready, ledger, *, seed, **options):
        seeds.append(seed)
        run = whole(ready, ledger, seed=seed, **options)
        return dataclasses.replace(run, status="killed") if seed == 1 else run

    store = Store(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(run_task, "drive", killed)
        with pytest.raises(KeyboardInterrupt):
            execute.execute(plans(3), store)
    assert seeds == [0, 1]
    assert len(list(store.keys())) == 1

    made = []
    outcomes = execute.execute(
        plans(3), store, progress=lambda one: made.append(one.origin != "stored")
    )
    assert made == [False, True, True]
    assert [o.entry.run.status for o in outcomes] == ["finished"] * 3
