"""A sweep extends what the store has of a run, and makes again what it can not extend."""

import json
import os
import time
from dataclasses import replace

import numpy as np
import pytest
from command_line import SMALL, SVRG

from pfbench.base.counts import Budget
from pfbench.problems.linear_models import NonconvexLogistic
from pfbench.runs import execute as module
from pfbench.runs.engines.engine import LocalProcesses, ThisProcess
from pfbench.runs.engines.making import make
from pfbench.runs.execute import execute, sweep
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.study import PlannedRun
from pfbench.runs.storage import upkeep
from pfbench.runs.storage.store import Store

# 60 components: iterations 1, 5 and 9 spend 60 SFO, the others 14.
PLAN = PlannedRun(SMALL, SVRG, 0, ("fw_gap", "value"), 1)
VECTORS = "nonconvex-logistic[source=synthetic,rows=30,columns=4]"
WHOLE = "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]"


def budget(most, plan=PLAN):
    return replace(plan, budget=Budget(sfo=most))


def long(iterations, plan=PLAN):
    return replace(
        plan, algorithm=plan.algorithm.replace("iterations=10", f"iterations={iterations}")
    )


def outcomes(folder, *plans, engine=None):
    found = {}
    for outcome in sweep(plans, Store(folder), engine or ThisProcess()):
        found[outcome.plan] = outcome
    return [found[plan] for plan in plans]


def how(folder, *plans):
    return [outcome.how for outcome in outcomes(folder, *plans)]


def told(run):
    """Everything of a run but its seconds, as the store has it."""
    row = {key: value for key, value in run.as_json().items() if "seconds" not in key}
    place = run.columns.index("seconds")
    return repr(row), run.columns, [repr(row[:place] + row[place + 1 :]) for row in run.rows]


def assert_extended(folder, plan):
    (outcome,) = outcomes(folder, plan)
    assert outcome.how == "extended"
    entry = Store(folder).get(outcome.entry.key)
    assert told(entry.run) == told(make(plan))
    assert told(outcome.entry.run) == told(entry.run)
    assert entry.notes["extended"] in list(Store(folder).keys())
    return entry


def key_of(folder, plan):
    return outcomes(folder, plan)[0].entry.key


# --- budgets, iterations and time -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "algorithm"),
    [
        (SMALL, SVRG),
        (SMALL, "sfw[batch=7,step=0.1,iterations=10]"),
        (SMALL, "frank-wolfe[step=line-search,iterations=10]"),
        (SMALL, "ncgs-vr[smoothness=0.1,batch=5,period=3,iterations=10]"),
        (VECTORS, "prox-svrg[batch=5,period=3,step=0.1,iterations=10]"),
        (WHOLE, "spider[batch=5,period=3,step=0.1,lam=0.1,iterations=10]"),
    ],
)
def test_a_larger_budget_in_a_second_sweep(tmp_path, problem, algorithm):
    plan = replace(PLAN, problem=problem, algorithm=algorithm, every=3)
    spent = make(plan).counts.sfo
    for part in (0.45, 0.6, 0.9, 2.0):
        one = budget(int(part * spent), plan)
        if part == 0.45:
            assert how(tmp_path, one) == ["made"]
        else:
            assert_extended(tmp_path, one)
        assert how(tmp_path, one) == ["stored"]


def test_more_iterations_extend_and_fewer_cut(tmp_path):
    assert how(tmp_path, long(7)) == ["made"]
    assert_extended(tmp_path, long(10))
    # With no limit of its own it is the longer one, and so is one that the budget does not end.
    assert how(tmp_path, budget(1000)) == ["stored"]
    for fewer in (1, 6):
        (outcome,) = outcomes(tmp_path, long(fewer))
        cut, alone = outcome.entry.run, make(long(fewer))
        assert outcome.how == "cut"
        assert (cut.status, cut.stop_reason) == (alone.status, alone.stop_reason)
        assert cut.status == "finished"
        assert (cut.parameters, cut.algorithm) == (alone.parameters, alone.algorithm)
        assert cut.counts == alone.counts
        assert told(cut)[1:] == told(alone)[1:]
        assert cut.final["fw_gap"] == alone.final["fw_gap"]


def test_iterations_are_cut_only_where_that_iterate_is_recorded(tmp_path):
    seldom = replace(PLAN, every=4)
    assert how(tmp_path, seldom) == ["made"]
    assert how(tmp_path, long(8, seldom)) == ["cut"]
    assert how(tmp_path, long(7, seldom)) == ["made"]
    # What of both ends it first is not known, where neither has been recorded.
    both = replace(long(7, seldom), budget=Budget(sfo=200))
    (outcome,) = outcomes(tmp_path, both)
    alone = make(both)
    assert outcome.entry.run.status == alone.status
    assert outcome.entry.run.iterations == alone.iterations


@pytest.mark.parametrize("iterations", range(1, 12))
@pytest.mark.parametrize("most", [100, 165, 278, 279, 300])
def test_budget_and_iterations_together(tmp_path, iterations, most):
    """However a run comes out of a store with a longer and a shorter one, it is the run itself."""
    how(tmp_path, budget(250), budget(120, long(6)))
    plan = budget(most, long(iterations))
    (outcome,) = outcomes(tmp_path, plan)
    found, alone = outcome.entry.run, make(plan)
    assert found.status == alone.status
    assert (found.iterations, found.parameters) == (alone.iterations, alone.parameters)
    assert told(found)[1:] == told(alone)[1:]
    if outcome.how != "cut":
        assert told(found) == told(alone)


def test_a_method_that_stops_by_itself_is_not_made_longer(tmp_path):
    stops = "spider[batch=30,period=3,step=0.05,option=1,tolerance=0.02,iterations=%d]"
    plan = replace(PLAN, problem=WHOLE, algorithm=stops % 500, measures=("value",))
    (first,) = outcomes(tmp_path, plan)
    last = first.entry.run.iterations
    assert 3 < last < 500
    for iterations in (1000, last + 1, last, last - 1):
        one = replace(plan, algorithm=stops % iterations)
        (outcome,) = outcomes(tmp_path, one)
        assert outcome.how == ("stored" if iterations > last else "cut")
        assert outcome.entry.run.counts == make(one).counts
        assert outcome.entry.run.parameters["iterations"] == iterations


def test_a_target_at_an_iterate_that_a_longer_run_does_not_record(tmp_path):
    descent = "prox-gd[step=0.1,iterations=10]"
    plan = replace(PLAN, problem=VECTORS, algorithm=descent, measures=("value",), every=4)
    aimed = replace(plan, stop=Stop("value", make(long(6, plan)).rows[-1][-1]))
    (short,) = outcomes(tmp_path, long(6, aimed))
    assert (short.entry.run.status, short.entry.run.iterations) == ("target", 6)
    (outcome,) = outcomes(tmp_path, aimed)
    assert told(outcome.entry.run) == told(make(aimed))
    assert outcome.entry.run.iterations == 8


def test_after_a_time_limit(tmp_path):
    plan = replace(PLAN, algorithm=SVRG.replace("iterations=10", "iterations=10000000"), every=50)
    limited = replace(plan, time_limit=0.1)
    (first,) = outcomes(tmp_path, limited)
    assert first.entry.run.status == "timeout"
    assert_extended(tmp_path, budget(first.entry.run.counts.sfo + 300, plan))


def test_the_longest_is_extended_and_the_others_are_cut(tmp_path):
    how(tmp_path, budget(110))
    plans = [budget(130), budget(250), long(4), budget(60)]
    assert how(tmp_path, *plans) == ["cut", "extended", "cut", "cut"]
    assert len(list(Store(tmp_path).keys())) == 2


def test_the_longest_of_those_stored_is_extended(tmp_path):
    for most in (110, 130, 200):
        how(tmp_path, budget(most))
    entry = assert_extended(tmp_path, budget(260))
    assert entry.notes["extended"] == key_of(tmp_path, budget(200))


def test_another_budget_extends_too_if_it_is_not_spent(tmp_path):
    how(tmp_path, budget(120))
    assert_extended(tmp_path, replace(PLAN, budget=Budget(lo=8)))
    # And what the extended one holds is cut from it.
    assert how(tmp_path, replace(PLAN, budget=Budget(lo=4))) == ["cut"]


def test_few_checkpoints_are_held_at_a_time(tmp_path, monkeypatch):
    how(tmp_path, *(replace(budget(120), seed=seed) for seed in range(3)))
    monkeypatch.setattr(module, "_MOST_HELD", 0)
    plans = [replace(budget(250), seed=seed) for seed in range(3)]
    assert how(tmp_path, *plans) == ["extended"] * 3


def test_in_worker_processes(tmp_path):
    how(tmp_path, *(replace(budget(120), seed=seed) for seed in range(3)))
    plans = [replace(budget(250), seed=seed) for seed in range(3)]
    found = outcomes(tmp_path, *plans, engine=LocalProcesses(2))
    assert [outcome.how for outcome in found] == ["extended"] * 3
    for outcome, plan in zip(found, plans, strict=True):
        assert told(outcome.entry.run) == told(make(plan))


def test_execute_returns_it_as_the_store_has_it(tmp_path):
    execute([budget(120)], Store(tmp_path))
    told_fresh = []
    (outcome,) = execute(
        [budget(250)], Store(tmp_path), progress=lambda plan, fresh: told_fresh.append(fresh)
    )
    assert told_fresh == [True]
    assert outcome.how == "extended"
    assert told(outcome.entry.run) == told(make(budget(250)))


def test_only_what_is_new_is_asked_of_the_problem(tmp_path, monkeypatch):
    asked = []
    whole = NonconvexLogistic.batch

    def counted(self, sample, x):
        asked.append(len(sample))
        return whole(self, sample, x)

    plan = replace(PLAN, problem=VECTORS, algorithm="prox-sgd[batch=4,step=0.1,iterations=10]")
    how(tmp_path, long(6, plan))
    monkeypatch.setattr(NonconvexLogistic, "batch", counted)
    assert how(tmp_path, plan) == ["extended"]
    assert asked == [4] * 4


# --- what it carries ------------------------------------------------------------------------------


def test_a_run_of_its_family_is_told_as_it_was_planned(tmp_path):
    how(tmp_path, PLAN)
    other = "nfwu-svrg[step=0.1,period=4,batch=7,output=last,iterations=10,epsilon=0.3]"
    plan = replace(PLAN, algorithm=other, budget=Budget(lo=8))
    (outcome,) = outcomes(tmp_path, plan)
    assert outcome.how == "cut"
    alone = make(plan)
    for name in ("problem", "algorithm", "parameters", "schedule", "seed", "unmet"):
        assert getattr(outcome.entry.run, name) == getattr(alone, name)


# --- what is made again ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "algorithm",
    [
        "prox-saga[batch=4,step=0.1,iterations=10]",
        "ncgs[smoothness=0.5,tolerance=0.1,iterations=10]",
        "frank-wolfe[step=backtracking,iterations=10]",
    ],
)
def test_what_never_renews_is_made_again(tmp_path, algorithm):
    plan = replace(PLAN, problem=VECTORS, algorithm=algorithm)
    assert how(tmp_path, budget(90, plan)) == ["made"]
    assert list(Store(tmp_path).keys("checkpoint")) == []
    assert how(tmp_path, budget(105, plan)) == ["made"]
    # Shorter ones are cut all the same, by iterations too.
    assert how(tmp_path, budget(70, plan), long(1, plan)) == ["cut", "cut"]


def test_a_schedule_that_depends_on_the_iterations_is_another_run(tmp_path):
    plan = replace(
        PLAN, algorithm="ncgs-vr[smoothness=0.1,batch=5,period=3,iterations=10]", measures=()
    )
    assert how(tmp_path, budget(150, plan)) == ["made"]
    # Its tolerance is 1/N, so only a budget can be raised.
    assert how(tmp_path, budget(150, long(11, plan))) == ["made"]
    assert how(tmp_path, budget(250, plan)) == ["extended"]


OWN = """
from dataclasses import dataclass
from pfbench.algorithms.base import Algorithm
from pfbench.base.state import State
from pfbench.points import combine

@dataclass(frozen=True, kw_only=True)
class Method(Algorithm):
    name, summary, source, counts = "method", "a test", "a test", "not stated"
    requires = frozenset({"gradient", "lo"})
    iterations: int = 10

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            x = combine(x, ask.lo(ask.gradient(x)), 0.1)
            yield State(x)
"""


def test_an_own_method_is_made_again(tmp_path, monkeypatch):
    (tmp_path / "own_extended.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    plan = replace(PLAN, algorithm="own_extended:Method[iterations=10]", measures=("value",))
    store = tmp_path / "store"
    assert how(store, budget(150, plan)) == ["made"]
    assert how(store, budget(250, plan)) == ["made"]
    assert how(store, budget(100, plan)) == ["cut"]
    # It does not say that its iterations are but a limit.
    assert how(store, budget(100, long(9, plan))) == ["made"]


def test_a_smaller_time_limit_than_it_took_is_made_again(tmp_path):
    how(tmp_path, budget(150))
    assert how(tmp_path, replace(budget(250), time_limit=1e-9)) == ["made"]


# --- damage ---------------------------------------------------------------------------------------


@pytest.mark.faults
@pytest.mark.parametrize("damage", ["flipped", "cut short", "empty", "another's", "gone"])
def test_a_damaged_checkpoint_is_set_aside_and_its_run_made_again(tmp_path, damage, caplog):
    key = key_of(tmp_path, budget(150))
    store = Store(tmp_path)
    path = store.path(key, "checkpoint")
    data = bytearray(path.read_bytes())
    if damage == "flipped":
        data[data.index(b"x.values") + 200] ^= 1
    elif damage == "another's":
        other = key_of(tmp_path, replace(budget(150), seed=1))
        data = store.path(other, "checkpoint").read_bytes()
    else:
        data = data[: len(data) // 2 if damage == "cut short" else 0]
    path.unlink() if damage == "gone" else path.write_bytes(data)
    (outcome,) = outcomes(tmp_path, budget(250))
    assert outcome.how == "made"
    assert told(outcome.entry.run) == told(make(budget(250)))
    aside = tmp_path / "damaged" / "checkpoints" / path.name
    assert aside.exists() == (damage != "gone")
    assert ("set aside" in caplog.text) == (damage != "gone")


@pytest.mark.faults
def test_a_checkpoint_of_another_sweep_with_the_same_key_is_not_used(tmp_path):
    """Of two sweeps at once, each may have written one of the two files."""
    store = Store(tmp_path)
    key = key_of(tmp_path, budget(150))
    entry, kept = store.get(key), store.get_checkpoint(key)
    other = replace(kept, seconds_at_end=kept.seconds_at_end + 1.0)
    store.write_file("checkpoint", key, other.as_bytes(key))
    assert how(tmp_path, budget(250)) == ["made"]
    assert store.get(key).run.rows == entry.run.rows


@pytest.mark.faults
def test_a_sweep_that_dies_between_checkpoint_and_run_goes_on(tmp_path, monkeypatch):
    how(tmp_path, budget(120))

    def dies(self, kind, key, data, header):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", dies)
        with pytest.raises(KeyboardInterrupt):
            outcomes(tmp_path, budget(250))
    store = Store(tmp_path)
    assert len(list(store.keys())) == 1
    assert len(list(store.keys("checkpoint"))) == 2
    assert_extended(tmp_path, budget(250))


# --- looking after them ---------------------------------------------------------------------------


def test_they_are_no_entries(tmp_path):
    how(tmp_path, budget(150))
    store = Store(tmp_path)
    assert list(store.keys("checkpoint")) == list(store.keys())
    assert [row["kind"] for row in store.rows()] == ["run"]


def test_check_reads_them(tmp_path):
    key = key_of(tmp_path, budget(150))
    store = Store(tmp_path)
    assert upkeep.check(store) == (2, [])
    path = store.path(key, "checkpoint")
    path.write_bytes(path.read_bytes()[:-1])
    number, (damage,) = upkeep.check(store, repair=True)
    assert (number, damage.kind, damage.key) == (2, "checkpoint", key)
    assert damage.aside == tmp_path / "damaged" / "checkpoints" / path.name
    assert upkeep.check(store) == (1, [])


def test_gc_takes_those_whose_run_is_gone(tmp_path):
    kept, gone, young = (key_of(tmp_path, replace(budget(150), seed=seed)) for seed in range(3))
    store = Store(tmp_path)
    store.path(gone).unlink()
    store.path(young).unlink()
    old = store.path(gone, "checkpoint")
    os.utime(old, (time.time() - 2.0 * upkeep.LEFTOVER_AGE,) * 2)
    size = old.stat().st_size
    found = upkeep.collect(store)
    assert (found.leftovers, found.bytes, found.kept["young"]) == ([old], size, 1)
    # The young one may be that of a run that is just being written.
    assert set(store.keys("checkpoint")) == {kept, young}


def test_gc_takes_that_of_an_outdated_run_with_it(tmp_path):
    key = key_of(tmp_path, budget(150))
    store = Store(tmp_path)
    entry = store.get(key)
    source = {**entry.notes["source"], "digest": "another"}
    store.put(key, entry.run, entry.environment, {**entry.notes, "source": source})
    sizes = sum(store.path(key, kind).stat().st_size for kind in ("run", "checkpoint"))
    assert upkeep.collect(store, dry=True).bytes == sizes
    assert list(store.keys("checkpoint")) == [key]
    assert upkeep.collect(store).outdated == [("run", key)]
    assert list(store.keys()) == list(store.keys("checkpoint")) == []


def test_merge_takes_them_along(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    first, second = (key_of(there, replace(budget(150), seed=seed)) for seed in range(2))
    Store(there).path(second, "checkpoint").write_bytes(b"damaged")
    found = upkeep.merge(Store(here), Store(there))
    assert (found.taken, found.damaged) == (2, [])
    assert list(Store(here).keys("checkpoint")) == [first]
    assert Store(there).path(second, "checkpoint").exists()
    assert_extended(here, budget(250))
    assert how(here, replace(budget(250), seed=1)) == ["made"]


def test_no_pickle_is_ever_loaded(tmp_path):
    key = key_of(tmp_path, budget(150))
    store = Store(tmp_path)
    with store.path(key, "checkpoint").open("wb") as file:
        np.savez(file, about=np.array([{"schema": 1}], dtype=object), digest=np.zeros(32))
    assert store.get_checkpoint(key) is None


def test_the_notes_are_json(tmp_path):
    how(tmp_path, budget(120))
    entry = assert_extended(tmp_path, budget(250))
    assert json.loads(json.dumps(entry.notes))["limits"] == {"sfo": 250, "iterations": 10}


def test_gc_drops_the_checkpoints_that_longer_runs_have_replaced(tmp_path):
    first, second, third = (budget(most) for most in (120, 180, 260))
    for plan in (first, second, third):
        outcomes(tmp_path, plan)
    keys = [key_of(tmp_path, plan) for plan in (first, second, third)]
    store = Store(tmp_path)
    gone = sorted(store.path(key, "checkpoint") for key in keys[:2])
    size = sum(path.stat().st_size for path in gone)
    planned = upkeep.collect(store, dry=True)
    assert (planned.leftovers, planned.bytes) == (gone, size)
    assert upkeep.collect(store) == planned
    assert list(store.keys("checkpoint")) == [keys[2]]
    assert upkeep.collect(store).leftovers == []
    assert how(tmp_path, first, second, budget(150)) == ["stored", "stored", "cut"]
    assert_extended(tmp_path, budget(300))
