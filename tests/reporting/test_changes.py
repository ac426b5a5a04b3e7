"""What changed between two stores, planted one by one."""

from dataclasses import replace

import pytest
from stored import ENVIRONMENT, change, key_of, made_run

from pfbench.base.counts import Budget
from pfbench.reporting.stores import RunDifference, compare_stores
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.serialization import run_record
from pfbench.runs.storage.store import Store


def put(store, run, version="1", budget=None):
    plan = PlannedRun(run.problem, run.algorithm, run.seed, ("fw_gap",), 1, budget)
    key = key_of(f"{version} {plan}")
    store.put(key, run, ENVIRONMENT, {"plan": plan.as_json()})
    return key


@pytest.fixture
def stores(tmp_path):
    return Store(tmp_path / "a"), Store(tmp_path / "b")


def test_runs_of_one_plan_are_the_same_under_any_key_and_however_long_they_took(stores):
    before, after = stores
    for seed in range(3):
        put(before, made_run(seed))
        put(after, made_run(seed, seconds=9.0, oracle_seconds=1.0), version="2")
    diff = compare_stores(*stores)
    assert (diff.identical, diff.changed_count, diff.changes) == (3, 0, ())


@pytest.mark.parametrize(
    ("change", "what", "values"),
    [
        ({"status": "diverged"}, "status", ("finished", "diverged")),
        ({"iterations": 2}, "iterations", (3, 2)),
        ({"final": {"objective": 0.25, "fw_gap": None}}, "final objective", (0.125, 0.25)),
        ({"final": {"objective": 0.125, "fw_gap": 1.0}}, "final fw_gap", (None, 1.0)),
        ({"final": {"fw_gap": None}}, "final objective", (0.125, None)),
    ],
)
def test_each_change_is_found_and_named(stores, change, what, values):
    before, after = stores
    run = made_run(4)
    put(before, run)
    put(after, replace(run, **change), version="2")
    (found,) = compare_stores(*stores).changes
    assert found == RunDifference(run.problem, run.algorithm, 4, what, *values)


def test_a_count_has_its_factor(stores):
    run = made_run(0)
    put(stores[0], run)
    put(stores[1], replace(run, counts=replace(run.counts, sfo=2 * run.counts.sfo)))
    (found,) = compare_stores(*stores).changes
    assert found.field == "sfo"
    assert found.factor == 2.0


def test_other_plans_are_other_runs(stores):
    put(stores[0], made_run(0))
    put(stores[1], made_run(0), budget=Budget(sfo=9))
    put(stores[1], made_run(1))
    diff = compare_stores(*stores)
    assert (diff.identical, diff.changed_count, diff.only_before, diff.only_after) == (0, 0, 1, 2)


def test_of_two_runs_of_a_plan_the_last_one_stands(stores):
    old, new = put(stores[0], made_run(0, iterations=7)), put(stores[0], made_run(0), version="2")
    for moment, key in ((10**9, old), (2 * 10**9, new)):
        entry = stores[0].get(key)
        record = run_record(key, entry.run, entry.environment, entry.notes, moment)
        stores[0].write([record])
    put(stores[1], made_run(0), version="3")
    assert compare_stores(*stores).identical == 1


def test_damaged_files_are_counted_and_left(stores):
    key = put(stores[0], made_run(0))
    change(stores[0], key)
    assert compare_stores(*stores).unreadable == 1
    assert [*stores[0].keys()] == [key]
