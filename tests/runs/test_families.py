"""A stored run is cut where less is asked, and used as it is where the limit changed nothing."""

import json
from dataclasses import replace

import numpy as np
import pytest
from command_line import SMALL, SVRG

import pfbench as pf
from pfbench.base.counts import COUNTED, Budget
from pfbench.runs.engines.engine import ThisProcess
from pfbench.runs.engines.making import make
from pfbench.runs.execute import sweep
from pfbench.runs.loop.stop import Stop
from pfbench.runs.planning.study import PlannedRun
from pfbench.runs.storage.families import INDEX
from pfbench.runs.storage.store import Store

# 60 components: iterations 1, 5 and 9 spend 60 SFO, the others 14; 10 iterations spend 278.
PLAN = PlannedRun(SMALL, SVRG, 0, ("fw_gap", "value"), 1)


def budget(most):
    return replace(PLAN, budget=Budget(sfo=most))


def outcomes(folder, *plans):
    found = {outcome.plan: outcome for outcome in sweep(plans, Store(folder), ThisProcess())}
    return [found[plan] for plan in plans]


def how(folder, *plans):
    return [outcome.how for outcome in outcomes(folder, *plans)]


def columns(run):
    """The trace without its times, by column."""
    places = [k for k, name in enumerate(run.columns) if name != "seconds"]
    return np.array([[row[k] for k in places] for row in run.rows])


@pytest.mark.parametrize("most", [0, 59, 60, 100, 165, 200])
def test_a_smaller_budget_cuts_the_stored_run(tmp_path, most):
    longer, shorter = budget(250), budget(most)
    assert how(tmp_path, longer) == ["made"]
    (outcome,) = outcomes(tmp_path, shorter)
    assert outcome.how == "cut"
    cut, alone = outcome.entry.run, make(shorter)
    # The trace is that of the run with the smaller budget alone, bit for bit.
    np.testing.assert_array_equal(columns(cut), columns(alone))
    assert (cut.status, cut.iterations) == (alone.status, alone.iterations)
    assert cut.parameters == alone.parameters
    # Its counts are those of the last recorded iterate; alone, it begins one more iteration.
    for name in COUNTED:
        assert getattr(cut.counts, name) <= getattr(alone.counts, name)
    assert cut.counts.sfo <= most
    # Where the trace holds a measure of the last iterate, so does the output.
    assert cut.final["fw_gap"] == alone.final["fw_gap"]
    assert cut.final["objective"] is None
    assert "longer stored run" in cut.stop_reason
    assert len(list(Store(tmp_path).keys())) == 1


def test_a_cut_keeps_what_was_recorded(tmp_path):
    seldom = replace(budget(250), every=4)
    how(tmp_path, seldom)
    (outcome,) = outcomes(tmp_path, replace(seldom, budget=Budget(sfo=200)))
    assert [row[0] for row in outcome.entry.run.rows] == [0, 4]
    assert outcome.entry.run.iterations == 4


def test_a_drawn_output_is_not_known_of_a_cut(tmp_path):
    drawn = replace(budget(250), algorithm=SVRG.replace("output=last", "output=uniform"))
    how(tmp_path, drawn)
    (outcome,) = outcomes(tmp_path, replace(drawn, budget=Budget(sfo=100)))
    assert outcome.how == "cut"
    assert set(outcome.entry.run.final.values()) == {None}


def test_a_larger_budget_runs_what_the_budget_ended_and_nothing_else(tmp_path):
    ended, finished = budget(250), budget(500)
    assert how(tmp_path, ended) == ["made"]
    assert how(tmp_path, finished) == ["extended"]
    for larger in (budget(600), PLAN, replace(PLAN, budget=Budget(lo=50))):
        (outcome,) = outcomes(tmp_path, larger)
        assert outcome.how == "stored"
        np.testing.assert_array_equal(columns(outcome.entry.run), columns(make(larger)))


def test_other_time_limits_repeat_nothing_that_ended_before(tmp_path):
    assert how(tmp_path, PLAN) == ["made"]
    assert how(tmp_path, replace(PLAN, time_limit=100.0)) == ["stored"]
    assert how(tmp_path, replace(PLAN, time_limit=1e-9)) == ["made"]
    assert how(tmp_path, replace(PLAN, memory_limit=1e9)) == ["stored"]


def test_in_one_sweep_the_longest_is_made_and_the_others_are_cut(tmp_path):
    plans = [budget(100), budget(250), budget(60), replace(PLAN, budget=Budget(lo=3))]
    # Neither of sfo <= 250 and lo <= 3 contains the other.
    assert how(tmp_path, *plans) == ["cut", "made", "cut", "made"]
    assert how(tmp_path, *plans) == ["cut", "stored", "cut", "stored"]


def test_another_seed_schedule_or_frequency_is_another_family(tmp_path):
    how(tmp_path, budget(250))
    for other in (
        replace(budget(100), seed=1),
        replace(budget(100), every=2),
        replace(budget(100), measures=("value",)),
        replace(budget(100), algorithm=SVRG.replace("period=4", "period=5")),
    ):
        assert how(tmp_path, other) == ["made"]


@pytest.mark.faults
def test_the_index_is_made_anew_and_survives_half_a_line(tmp_path):
    how(tmp_path, budget(250))
    index = tmp_path / INDEX
    text = index.read_text()
    assert json.loads(text)["limits"] == {"sfo": 250, "iterations": 10}
    index.unlink()
    assert how(tmp_path, budget(100)) == ["cut"]
    assert index.read_text() == text
    index.write_text(text + text[:30])
    other = replace(budget(250), seed=1)
    assert how(tmp_path, budget(100), other) == ["cut", "made"]
    assert how(tmp_path, replace(other, budget=Budget(sfo=100))) == ["cut"]
    # An index that promises what the store has not makes the run again.
    for path in tmp_path.rglob("*.parquet"):
        path.unlink()
    assert how(tmp_path, budget(100)) == ["made"]


def test_the_order_of_measures_makes_no_other_run(tmp_path):
    how(tmp_path, budget(200))
    (outcome,) = outcomes(tmp_path, replace(budget(270), measures=("value", "fw_gap")))
    assert (outcome.how, outcome.entry.run.status) == ("extended", "budget")
    fresh = make(replace(budget(270), measures=("value", "fw_gap")))
    assert outcome.entry.run.final == fresh.final
    assert (columns(outcome.entry.run) == columns(fresh)).all()


@pytest.mark.parametrize("name", ["prox-katyusha-ns", "prox-asvrg"])
def test_an_output_of_the_methods_own_is_not_known_of_a_cut(tmp_path, name):
    own = f"{name}[step=0.1,batch=2,period=3,iterations="
    longer, shorter = (
        PlannedRun(
            "nonconvex-logistic[source=synthetic,rows=13,columns=4,set=none]",
            f"{own}{T}]",
            0,
            ("value",),
            1,
        )
        for T in (14, 4)
    )
    how(tmp_path, longer)
    (outcome,) = outcomes(tmp_path, shorter)
    assert outcome.how == "cut"
    assert set(outcome.entry.run.final.values()) == {None}


def test_a_run_that_was_made_again_is_known_as_it_is_now(tmp_path):
    key = outcomes(tmp_path, budget(100))[0].entry.key
    line = json.loads((tmp_path / INDEX).read_text())
    line |= {"iterations": 1, "counts": dict.fromkeys(line["counts"], 0)}
    (tmp_path / INDEX).write_text(json.dumps(line) + "\n" + (tmp_path / INDEX).read_text())
    (outcome,) = outcomes(tmp_path, budget(80))
    assert (outcome.how, outcome.entry.key) == ("cut", key)
    assert (
        columns(outcome.entry.run) == columns(make(budget(80)))[: len(outcome.entry.run.rows)]
    ).all()


def test_a_cut_hides_no_target_that_its_last_iterate_reaches(tmp_path):
    plan = PlannedRun(
        "nonconvex-logistic[source=synthetic,rows=60,columns=4]",
        "frank-wolfe[step=open-loop,iterations=12]",
        0,
        ("value",),
        1,
    )
    values = [row[-1] for row in make(plan).rows]
    seldom = replace(plan, every=5, stop=Stop("value", values[1]))
    how(tmp_path, replace(seldom, budget=Budget(lo=9)))
    smaller = replace(seldom, budget=Budget(lo=1))
    (outcome,) = outcomes(tmp_path, smaller)
    fresh = make(smaller)
    assert (fresh.status, fresh.iterations) == ("target", 1)
    assert (outcome.entry.run.status, outcome.entry.run.iterations) == ("target", 1)


def test_a_run_goes_on_with_its_measures_in_another_order():
    problem = pf.problem("nonconvex-logistic", source="synthetic", rows=60, columns=4)
    chosen = pf.algorithm("sfw", batch=7, step=0.1, iterations=40)
    budgets = [Budget(sfo=100), Budget(sfo=200)]
    begun = pf.solve(
        problem, chosen, budget=budgets[0], measures=["value", "fw_gap"], checkpoint=True
    )
    given = {"budget": budgets[1], "measures": ["fw_gap", "value"]}
    longer, fresh = (pf.solve(problem, chosen, resume=run, **given) for run in (begun, None))
    assert (columns(longer) == columns(fresh)).all()
    assert longer.columns == fresh.columns
