"""A stored run is cut where less is asked, and used as it is where the limit changed nothing."""

import json
from dataclasses import replace

import pytest
from command_line import SMALL, SVRG
from stored import change, comparable

from pfbench.base.counts import COUNTED, Budget
from pfbench.runs.engines.engine import SingleProcessEngine
from pfbench.runs.engines.run_task import execute_plan
from pfbench.runs.execute import iterate_plan_outcomes, predict_origins
from pfbench.runs.loop.run import Stop
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.store import Store

# 60 components: iterations 1, 5 and 9 spend 60 SFO, the others 14; 10 iterations spend 278.
PLAN = PlannedRun(SMALL, SVRG, 0, ("fw_gap", "value"), 1)
VECTORS = "nonconvex-logistic[source=synthetic,rows=30,columns=4]"
WHOLE = "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]"


def budget(most, plan=PLAN):
    return replace(plan, budget=Budget(sfo=most))


def outcomes(folder, *plans):
    found = {
        outcome.plan: outcome
        for outcome in iterate_plan_outcomes(plans, Store(folder), SingleProcessEngine())
    }
    return [found[plan] for plan in plans]


def how(folder, *plans):
    return [outcome.origin for outcome in outcomes(folder, *plans)]


def as_alone(folder, plan):
    """Return how a run is found in a store; it must be the run that is made without the store."""
    (outcome,) = outcomes(folder, plan)
    found, alone = outcome.entry.run, execute_plan(plan)
    for name in ("status", "iterations", "problem", "algorithm", "parameters", "schedule", "seed"):
        assert getattr(found, name) == getattr(alone, name)
    assert found.unmet_assumptions == alone.unmet_assumptions
    assert comparable(found)[1:] == comparable(alone)[1:]
    if outcome.origin != "cut":
        assert comparable(found) == comparable(alone)
        return outcome.origin
    # The counts are those of the last recorded iterate; alone, a budget ends the next iteration.
    for name in COUNTED:
        assert getattr(found.counts, name) <= getattr(alone.counts, name)
    # Where the trace holds a measure of the last iterate, so does the output.
    last_is_known = alone.parameters["output"] == "last" and alone.yields_output is False
    for name, value in found.final.items():
        known = last_is_known and name in found.columns
        assert value == (alone.final[name] if known else None)
    return outcome.origin


def long(iterations, plan=PLAN):
    return replace(
        plan, algorithm=plan.algorithm.replace("iterations=10", f"iterations={iterations}")
    )


@pytest.mark.parametrize("most", [0, 59, 60, 100, 165, 200])
def test_a_smaller_budget_cuts_the_stored_run(tmp_path, most):
    assert how(tmp_path, budget(250)) == ["made"]
    assert as_alone(tmp_path, budget(most)) == "cut"
    (outcome,) = outcomes(tmp_path, budget(most))
    assert outcome.entry.run.counts.sfo <= most
    assert "longer stored run" in outcome.entry.run.stop_reason
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
    assert as_alone(tmp_path, replace(drawn, budget=Budget(sfo=100))) == "cut"


def test_a_larger_budget_runs_what_the_budget_ended_and_nothing_else(tmp_path):
    assert how(tmp_path, budget(250)) == ["made"]
    assert how(tmp_path, budget(500)) == ["made"]
    for larger in (budget(600), PLAN, replace(PLAN, budget=Budget(lo=50))):
        assert as_alone(tmp_path, larger) == "stored"


def test_other_time_limits_repeat_nothing_that_ended_before(tmp_path):
    assert how(tmp_path, PLAN) == ["made"]
    assert how(tmp_path, replace(PLAN, time_limit=100.0)) == ["stored"]
    assert how(tmp_path, replace(PLAN, time_limit=1e-9)) == ["made"]
    assert how(tmp_path, replace(PLAN, memory_limit=1e9)) == ["stored"]


def test_in_one_sweep_the_longest_is_made_and_the_others_are_cut(tmp_path):
    plans = [budget(100), budget(250), budget(60), replace(PLAN, budget=Budget(lo=3))]
    # Neither of sfo <= 250 and lo <= 3 contains the other.
    assert how(tmp_path, *plans) == ["cut", "made", "cut", "made"]
    before = Store(tmp_path).rows()
    told = predict_origins([*plans, budget(500)], tmp_path, SingleProcessEngine())
    assert list(told.values()) == ["cut", "stored", "cut", "stored", "made"]
    assert how(tmp_path, *plans) == ["cut", "stored", "cut", "stored"]
    assert Store(tmp_path).rows() == before


def test_another_seed_schedule_or_frequency_is_another_family(tmp_path):
    how(tmp_path, budget(250))
    for other in (
        replace(budget(100), seed=1),
        replace(budget(100), every=2),
        replace(budget(100), measures=("value",)),
        replace(budget(100), algorithm=SVRG.replace("period=4", "period=5")),
    ):
        assert how(tmp_path, other) == ["made"]
    assert how(tmp_path, replace(budget(200), measures=("value", "fw_gap"))) == ["cut"]


@pytest.mark.parametrize("most", [Budget(sfo=200, lo=3), Budget(sfo=100, lo=9)])
def test_of_two_limits_the_first_one_cuts(tmp_path, most):
    how(tmp_path, PLAN)
    assert as_alone(tmp_path, replace(PLAN, budget=most)) == "cut"


def test_what_a_listing_says_of_limits_is_what_was_stored(tmp_path):
    how(tmp_path, budget(250))
    (row,) = Store(tmp_path).rows()
    assert json.loads(row.limits) == {"sfo": 250, "iterations": 10}
    change(Store(tmp_path), row.key)
    assert how(tmp_path, budget(100)) == ["made"]


# --- iterations -----------------------------------------------------------------------------------


def test_fewer_iterations_are_cut_and_more_are_made(tmp_path):
    assert how(tmp_path, long(7)) == ["made"]
    assert how(tmp_path, long(10)) == ["made"]
    # With no limit of its own it is the longer one, and so is one that the budget does not end.
    assert how(tmp_path, budget(1000)) == ["stored"]
    for fewer in (1, 6):
        assert as_alone(tmp_path, long(fewer)) == "cut"
        (outcome,) = outcomes(tmp_path, long(fewer))
        alone = execute_plan(long(fewer))
        assert (alone.stop_reason, alone.counts) == (
            outcome.entry.run.stop_reason,
            outcome.entry.run.counts,
        )


def test_iterations_are_cut_only_where_that_iterate_is_recorded(tmp_path):
    seldom = replace(PLAN, every=4)
    assert how(tmp_path, seldom) == ["made"]
    assert how(tmp_path, long(8, seldom)) == ["cut"]
    assert how(tmp_path, long(7, seldom)) == ["made"]
    # What of both ends it first is not known, where neither has been recorded.
    as_alone(tmp_path, replace(long(7, seldom), budget=Budget(sfo=200)))


@pytest.mark.thin(4)
@pytest.mark.parametrize("iterations", range(1, 12))
@pytest.mark.parametrize("most", [100, 165, 278, 279, 300])
def test_budget_and_iterations_together(tmp_path, iterations, most):
    """However a run comes out of a store with a longer and a shorter one, it is the run itself."""
    how(tmp_path, budget(250), budget(120, long(6)))
    as_alone(tmp_path, budget(most, long(iterations)))


def test_a_method_that_stops_by_itself_is_not_made_longer(tmp_path):
    stops = "spider[batch=30,period=3,step=0.05,option=1,tolerance=0.02,iterations=%d]"
    plan = replace(PLAN, problem=WHOLE, algorithm=stops % 500, measures=("value",))
    (first,) = outcomes(tmp_path, plan)
    last = first.entry.run.iterations
    assert 3 < last < 500
    for iterations in (1000, last + 1, last, last - 1):
        one = replace(plan, algorithm=stops % iterations)
        assert as_alone(tmp_path, one) == ("stored" if iterations > last else "cut")


def test_a_target_at_an_iterate_that_a_longer_run_does_not_record(tmp_path):
    descent = "prox-gd[step=0.1,iterations=10]"
    plan = replace(PLAN, problem=VECTORS, algorithm=descent, measures=("value",), every=4)
    aimed = replace(plan, stop=Stop("value", execute_plan(long(6, plan)).rows[-1][-1]))
    (short,) = outcomes(tmp_path, long(6, aimed))
    assert (short.entry.run.status, short.entry.run.iterations) == ("target", 6)
    assert as_alone(tmp_path, aimed) == "made"


def test_a_run_of_other_limits_is_told_as_it_was_planned(tmp_path):
    how(tmp_path, PLAN)
    other = "nfwu-svrg[step=0.1,period=4,batch=7,output=last,iterations=10,epsilon=0.3]"
    assert as_alone(tmp_path, replace(PLAN, algorithm=other, budget=Budget(lo=8))) == "cut"


def test_a_schedule_that_depends_on_the_iterations_is_another_run(tmp_path):
    plan = replace(
        PLAN, algorithm="ncgs-vr[smoothness=0.1,batch=5,period=3,iterations=10]", measures=()
    )
    assert how(tmp_path, budget(150, plan)) == ["made"]
    # Its tolerance is 1/N, so only a smaller budget is cut.
    assert how(tmp_path, budget(150, long(9, plan))) == ["made"]
    assert how(tmp_path, budget(100, plan)) == ["cut"]


@pytest.mark.parametrize("method", ["Walk[iterations=10]", "Heavy[iterations=10,step=0.1]"])
def test_an_own_method_is_cut_by_its_budget_alone(tmp_path, method):
    """It does not say that its iterations are but a limit, whatever the class says above it."""
    plan = PlannedRun(VECTORS, f"contenders:{method}", 0, ("value",), 1)
    store = tmp_path / "store"
    assert how(store, budget(150, plan)) == ["made"]
    assert how(store, budget(250, plan)) == ["made"]
    assert how(store, budget(100, plan)) == ["cut"]
    assert how(store, budget(100, long(9, plan))) == ["made"]


# --- what a cut does not know ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["prox-katyusha-ns", "prox-asvrg"])
def test_an_output_of_the_methods_own_is_not_known_of_a_cut(tmp_path, name):
    plan = replace(
        PLAN,
        problem="nonconvex-logistic[source=synthetic,rows=13,columns=4,set=none]",
        algorithm=f"{name}[step=0.1,batch=2,period=3,iterations=10]",
        measures=("value",),
    )
    how(tmp_path, plan)
    (outcome,) = outcomes(tmp_path, long(4, plan))
    assert outcome.origin == "cut"
    assert set(outcome.entry.run.final.values()) == {None}


def test_a_cut_hides_no_target_that_its_last_iterate_reaches(tmp_path):
    plan = PlannedRun(
        "nonconvex-logistic[source=synthetic,rows=60,columns=4]",
        "frank-wolfe[step=open-loop,iterations=12]",
        0,
        ("value",),
        1,
    )
    values = [row[-1] for row in execute_plan(plan).rows]
    seldom = replace(plan, every=5, stop=Stop("value", values[1]))
    how(tmp_path, replace(seldom, budget=Budget(lo=9)))
    smaller = replace(seldom, budget=Budget(lo=1))
    as_alone(tmp_path, smaller)
    fresh = execute_plan(smaller)
    assert (fresh.status, fresh.iterations) == ("target", 1)
