"""Somebody's own measures: what they may return, what they see, and what becomes of a failure."""

import numpy as np
import pytest
from helpers import refused
from own_things import Quadratic

from pfbench.runs.engines.engine import MultiProcessEngine
from pfbench.runs.engines.run_task import execute_plan
from pfbench.runs.execute import iterate_plan_outcomes
from pfbench.runs.loop.run import TRACE_COLUMNS, Stop, calls_to_targets, list_recorded_measures
from pfbench.runs.planning.name_resolution import select_measures as chosen_measures
from pfbench.runs.planning.name_resolution import select_problem
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.store import Store

PROBLEM, DESCENT = "own_things:Quadratic", "misbehaving:Descent[iterations=6,step=0.5]"
MEAN = Quadratic().centres.mean(axis=0)


def distances(step=0.5, steps=6):
    """|x_t - m| of gradient steps from 0 towards the mean m of the centres."""
    return np.linalg.norm(MEAN) * (1 - step) ** np.arange(steps + 1)


def plan(*measures, algorithm=DESCENT, **more):
    given = tuple(f"own_things:{name}" for name in measures)
    return PlannedRun(PROBLEM, algorithm, **{"seed": 0, "measures": given, "every": 1} | more)


def test_a_measure_is_a_column_under_its_name_and_in_final():
    run = execute_plan(plan("distance_to_best"))
    assert run.columns == (*TRACE_COLUMNS, "distance_to_best")
    np.testing.assert_allclose(run.trace["distance_to_best"], distances())
    assert run.final["distance_to_best"] == run.trace["distance_to_best"].iloc[-1]


def test_an_interval_has_two_columns_and_no_certificate():
    run = execute_plan(plan("bracket"))
    assert run.columns == (*TRACE_COLUMNS, "bracket", "bracket_lower")
    assert (run.trace["bracket"] - run.trace["bracket_lower"]).round(12).tolist() == [2.0] * 7
    assert {"bracket", "bracket_lower"} <= set(run.final)
    assert run.failure_probability == 0.0


def test_none_is_not_defined_and_any_number_is_a_float():
    fw = "frank-wolfe[iterations=2,step=open-loop]"
    run = execute_plan(plan("sometimes", algorithm=fw))
    assert np.isnan(run.trace["sometimes"][0])
    assert run.trace["sometimes"][1:].tolist() == [2.0, 2.0]
    assert type(run.rows[1][-1]) is float
    assert run.final["sometimes"] is None


def test_a_target():
    """The first distance at most 0.2 |m| is that of x_3."""
    stop = Stop("own_things:distance_to_best", 0.2 * float(distances()[0]))
    measures, stop = list_recorded_measures(("value",), stop)
    run = execute_plan(PlannedRun(PROBLEM, DESCENT, 0, measures, 1, stop=stop))
    assert (run.status, run.iterations) == ("target", 3)
    assert run.stop_reason.startswith("distance_to_best = ")
    assert calls_to_targets([stop], run)[0]["calls"]["fo"] == 3


def test_a_target_of_its_own_is_recorded_once():
    stop = Stop("m:a", 1.0)
    assert list_recorded_measures(("m:a", "value"), stop) == (("m:a", "value"), Stop("a", 1.0))
    assert list_recorded_measures(("value",), stop) == (("value", "m:a"), Stop("a", 1.0))
    assert list_recorded_measures(("value",), Stop("fw_gap", 1.0)) == (
        ("value",),
        Stop("fw_gap", 1.0),
    )
    assert list_recorded_measures((), None) == ((), None)


# --- it can not change the run --------------------------------------------------------------------


def told(run):
    places = [run.columns.index(name) for name in TRACE_COLUMNS if name != "seconds"]
    rows = [[row[place] for place in places] for row in run.rows]
    shared = {name: run.final[name] for name in ("value", "fw_gap", "gradient_mapping_sq")}
    return run.status, run.iterations, run.counts, rows, shared


@pytest.mark.parametrize("algorithm", [DESCENT, "nfwu-sg[batch=3,iterations=5,step=0.1]"])
@pytest.mark.parametrize("measure", ["spoils", "slow", "distance_to_best"])
def test_a_measure_changes_no_bit_of_the_run(measure, algorithm):
    assert told(execute_plan(plan(measure, algorithm=algorithm))) == told(
        execute_plan(plan(algorithm=algorithm))
    )


def test_a_measure_that_writes_into_the_estimate_is_told_so():
    fw = "frank-wolfe[iterations=2,step=open-loop]"
    run = execute_plan(plan("spoils_the_estimate", algorithm=fw))
    assert run.status == "error"
    assert "the measure spoils_the_estimate failed: ValueError: " in run.stop_reason
    assert "read-only" in run.stop_reason


def test_a_matrix_is_given_as_a_copy():
    """A factored point can be moved by a measure."""
    problem = "robust-matrix-recovery[rows=12,columns=10,rank=1,density=0.5]"
    svrg = "nfwu-svrg[batch=7,period=4,iterations=10,step=0.1,output=last]"
    with_it, without = (
        execute_plan(PlannedRun(problem, svrg, 0, measures, 1))
        for measures in (("own_things:wanders",), ())
    )
    assert with_it.status == "finished"
    assert told(with_it) == told(without)


# --- what fails -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("fails", "ValueError: no good"),
        ("not_a_number", "the function returned NaN: return None where the measure is not defined"),
        (
            "text",
            "the function returned 'far', which is not a number, a pair (lower, upper) or None",
        ),
        (
            "truth",
            "the function returned True, which is not a number, a pair (lower, upper) or None",
        ),
        (
            "array",
            "the function returned array([1., 1.]), which is not a number, "
            "a pair (lower, upper) or None",
        ),
        ("three", "the function returned (1.0, 2.0, 3.0), not (lower, upper)"),
        ("upside_down", "the function returned (2.0, 1.0), not (lower, upper)"),
    ],
)
def test_a_failure_ends_the_run_as_an_error_with_its_counts(name, reason):
    run = execute_plan(plan(name, "distance_to_best"))
    # |x|_1 is above 0.15 from the second iterate on; see own_things.
    assert np.abs(0.5 * MEAN).sum() < 0.15 < np.abs(0.75 * MEAN).sum()
    assert (run.status, run.iterations, run.counts.fo) == ("error", 2, 2)
    assert run.stop_reason == f"the measure {name} failed: {reason}"
    np.testing.assert_allclose(run.trace["distance_to_best"], distances()[:3])


def test_a_failure_at_the_output_alone_is_an_error_too():
    """The output is looked at once more, without the estimate that made the iterate."""
    algorithm = "frank-wolfe[iterations=1,step=open-loop]"
    run = execute_plan(plan("fails_at_the_output", algorithm=algorithm))
    assert run.status == "error"
    assert run.final["fails_at_the_output"] is None
    assert run.trace["fails_at_the_output"].tolist() == [0.0, 0.0]


def test_other_runs_go_on(tmp_path):
    """In worker processes, too; the rows are stored like any other."""
    small = DESCENT.replace("0.5", "0.01")
    plans = [plan("fails"), plan("fails", algorithm=small), plan("norm")]
    found = {
        o.plan: o.entry.run
        for o in iterate_plan_outcomes(plans, Store(tmp_path), MultiProcessEngine(2))
    }
    assert [found[one].status for one in plans] == ["error", "finished", "finished"]
    assert found[plans[0]].stop_reason == "the measure fails failed: ValueError: no good"
    again = list(iterate_plan_outcomes(plans, Store(tmp_path), MultiProcessEngine(2)))
    assert [outcome.origin for outcome in again] == ["stored"] * 3


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["distance_to_bst"], "'distance_to_best'"),
        (["norm[p=2]"], "norm[p=2]"),
        (["number"], "own_things:number must be a function of (problem, state)"),
        (["Quadratic"], "own_things:Quadratic must be a function of (problem, state)"),
        (["value"], "the name value, which traces use"),
        (["seconds"], "the name seconds, which traces use"),
        (["rmse_truth"], "the name rmse_truth, which traces use"),
        (["norm_lower"], "the name norm_lower, which traces use"),
        (["norm", "norm"], "two measures are called norm"),
    ],
)
def test_what_is_no_measure_is_refused_in_one_sentence(names, words):
    problem = select_problem(PROBLEM)
    with refused(words):
        chosen_measures(problem, [f"own_things:{name}" for name in names])


def test_a_measure_that_changes_its_problem_leaves_nothing_behind():
    """The next run in the same process has what it has alone."""

    names, method = ("value", "own_things:moves_the_centres"), "prox-gd[iterations=3,step=0.1]"
    plain, spoiling = (plan(algorithm=method, measures=(name,)) for name in names)
    clean, spoilt, after = map(execute_plan, (plain, spoiling, plain))
    assert spoilt.status == "finished"
    assert [row[-1] for row in after.rows] == [row[-1] for row in clean.rows]
    assert after.final == clean.final
