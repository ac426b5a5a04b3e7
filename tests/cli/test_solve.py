"""``pfbench solve``."""

import csv
import math

import pandas as pd
import pytest
from command_line import SMALL, SVRG

from pfbench.base.counts import COUNTED
from pfbench.problems.moments import KINDS

N = 60


def solve(pfbench, *more, problem=SMALL, algorithm=SVRG):
    return pfbench("solve", "-p", problem, "-a", algorithm, *more)


def timeless(run):
    return {k: v for k, v in run.items() if k not in ("seconds", "oracle_seconds")}


def test_counts_are_exact_and_the_run_is_described(pfbench):
    run = solve(pfbench, "--json").json
    T, p, S = 10, 4, 7
    epochs = math.ceil(T / p)
    made = {"fo": epochs, "sfo": epochs * N + 2 * S * (T - epochs), "lo": T}
    assert run["counts"] == dict.fromkeys(COUNTED, 0) | made
    stated = {"problem": SMALL, "algorithm": SVRG, "schedule": "explicit"}
    assert run.items() >= (stated | {"status": "finished", "iterations": T, "seed": 0}).items()
    assert run["parameters"]["restarts"] is None
    assert run["final"]["rmse_truth"] > 0


def test_selectors_in_the_output_give_the_same_run_again(pfbench):
    run = solve(pfbench, "--seed", 3, "--json").json
    again = pfbench(
        "solve", "-p", run["problem"], "-a", run["algorithm"], "--seed", run["seed"], "--json"
    ).json
    assert timeless(again) == timeless(run)


def test_repeat_gives_an_array_of_the_single_runs(pfbench, conforms):
    runs = conforms(solve(pfbench, "--seed", 5, "--repeat", 3, "--json").json, "solve.json")
    alone = [solve(pfbench, "--seed", seed, "--json").json for seed in (5, 6, 7)]
    assert [timeless(run) for run in runs] == [timeless(run) for run in alone]
    assert len({run["final"]["value"] for run in alone}) == 3
    assert len(solve(pfbench, "--repeat", 1, "--json").json) == 1


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ((), "finished"),
        (("--budget", "sfo=100"), "budget"),
        (("--budget", "sfo=1e9,lo=4"), "budget"),
        (("--stop", "fw_gap=1e9"), "target"),
    ],
)
def test_a_run_that_ended_as_it_should_exits_0(pfbench, options, status):
    outcome = solve(pfbench, *options, "--json")
    assert outcome.status == 0
    assert outcome.json["status"] == status


def test_a_time_limit_kills_a_run_that_does_not_stop(pfbench):
    """It hung for ever."""
    outcome = pfbench(
        *("solve", "-p", "own_things:Quadratic[rows=7]", "-a", "misbehaving:Loops"),
        *("--time-limit", "0.5", "--json"),
    )
    found = outcome.json
    assert (found["status"], found["iterations"]) == ("timeout", 3)
    assert "killed" in found["stop_reason"]


def test_a_run_that_failed_exits_1_and_is_shown(pfbench):
    # No machine has the memory for this batch.
    failing = "nfwu-sg[batch=1000000000000000,iterations=3,step=0.1]"
    outcome = solve(pfbench, "--json", algorithm=failing)
    assert (outcome.status, outcome.json["status"]) == (1, "error")
    assert "MemoryError" in outcome.json["stop_reason"]
    shown = solve(pfbench, algorithm=failing)
    assert shown.status == 1
    assert "error: not enough memory (MemoryError: " in shown.out


def test_people_read_counts_with_separators_and_measures_with_meaning(pfbench):
    text = solve(pfbench, problem="robust-matrix-recovery").out
    assert "finished: the schedule ran out" in text
    assert "12,098" in text
    assert "linear minimisations" in text
    assert "Frank-Wolfe gap" in text
    assert "root mean square error" in text


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("more", [(), ("--repeat", 3)])
def test_what_people_read_fits_a_narrow_terminal(pfbench, monkeypatch, columns, more):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = solve(pfbench, *more, problem="robust-matrix-recovery").out
    assert max(map(len, text.splitlines())) <= columns
    assert "…" not in text


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_narrow_terminal_cuts_no_number_of_a_trace(pfbench, monkeypatch, columns):
    arguments = "--every", 5, "--measure", "fw_gap,objective,rmse_truth,estimator_error"
    algorithm = "nfwu-casvrg[batch=7,period=4,iterations=10,step=0.1,output=last]"

    def trace():
        return solve(pfbench, *arguments, algorithm=algorithm).out.partition("trace (")[2].split()

    wide = trace()
    assert {"sfo", "hvp", "rmse_truth", "estimator_error"} <= set(wide)
    monkeypatch.setenv("COLUMNS", str(columns))
    assert set(trace()) == set(wide)


# --- traces ---------------------------------------------------------------------------------------


def test_a_trace_has_a_row_for_each_iteration(pfbench, folder):
    run = solve(pfbench, "--trace", "t.csv", "--json").json
    with (folder / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["iteration"]) for row in rows] == list(range(11))
    assert [int(rows[-1][name]) for name in run["counts"]] == list(run["counts"].values())
    assert float(rows[-1]["fw_gap"]) == run["final"]["fw_gap"]
    assert float(rows[-1]["objective"]) == run["final"]["objective"]
    assert set(rows[0]) >= {"seconds", "fw_gap_lower"}


def test_measures_and_their_frequency_are_chosen_and_change_nothing(pfbench, folder):
    plain = solve(pfbench, "--json").json
    given = ("--measure", "estimator_error, rmse_truth", "--every", 4, "--trace", "t.csv")
    recorded = solve(pfbench, *given, "--json").json
    assert timeless(recorded) == timeless(plain)
    table = pd.read_csv(folder / "t.csv")
    assert list(table["iteration"]) == [0, 4, 8, 10]
    assert list(table.columns[-2:]) == ["estimator_error", "rmse_truth"]


def test_a_trace_that_cannot_be_written_does_not_take_the_result_with_it(
    pfbench, folder, monkeypatch
):
    def full(self, *arguments, **keywords):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    outcome = solve(pfbench, "--trace", "t.csv", "--json")
    assert outcome.status == 1
    assert outcome.json["status"] == "finished"
    assert "No space left" in outcome.err
    assert outcome.err.count("\n") == 1


# --- assumptions ----------------------------------------------------------------------------------

NON_CONVEX = "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]"
KATYUSHA = "katyusha-ns[iterations=4,batch=3,period=2,step=0.01]"
UNMET = "the theory assumes convex: not known for this problem"


def test_what_is_not_met_is_in_every_result(pfbench, conforms):
    given = {"problem": NON_CONVEX, "algorithm": KATYUSHA}
    run = conforms(solve(pfbench, "--json", **given).json, "solve.json")
    assert run["unmet_assumptions"] == ["convex"]
    for options in ((), ("--repeat", 2)):
        assert " ".join(solve(pfbench, *options, **given).out.split()).count(UNMET) == 1


@pytest.mark.parametrize("options", [(), ("--json",), ("--repeat", 2)])
def test_the_theorems_schedule_is_refused_where_its_assumption_is_not_known(pfbench, options):
    refusal = solve(pfbench, *options, algorithm="cgs[epsilon=0.1]").refusal
    for words in ("cgs", "restricted strong convexity", "robust-matrix-recovery", "explicitly"):
        assert words in refusal


def test_a_failed_run_ends_with_its_error_and_shows_no_measures(pfbench):
    problem = "quadratic[source=synthetic,rows=20,columns=3,set=none]"
    given = ("solve", "-p", problem, "-a", "misbehaving:Raises", "--measure", "objective")
    outcome = pfbench(*given)
    assert outcome.status == 1
    assert "measures at the output" not in outcome.out
    *_, error, line = outcome.err.splitlines()
    assert error == "pfbench: error after 3 iterations: ValueError: no good"
    assert "misbehaving.py:" in line
    assert line.endswith('raise ValueError("no good")')
    found = pfbench(*given, "--json").json
    assert found["error_location"]["code"] == 'raise ValueError("no good")'
    again = pfbench(*given, "--repeat", 2)
    assert again.out.count(" error ") == 2
    assert "fw_gap" not in again.out


@pytest.mark.thin(2)
@pytest.mark.parametrize("norm", KINDS)
@pytest.mark.parametrize("more", [("--repeat", 2), ("--measure", "lmo_lower,lmo_upper")])
def test_a_problem_with_a_norm_is_solved_and_shown(pfbench, norm, more):
    """It raised a KeyError: `lmo_lower` is no lower end of an interval."""
    problem = f"matrix-least-squares[noise=normal,norm={norm}]"
    outcome = solve(
        pfbench, *more, problem=problem, algorithm="uscg[iterations=3,step=0.05,batch=4]"
    )
    assert outcome.status == 0
    assert "lmo_lower" in outcome.out
