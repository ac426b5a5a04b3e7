"""``pfbench run``: what is planned, made, reused, told and logged."""

import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from itertools import product

import pytest
from command_line import INTERRUPTIBLE, SMALL
from stored import stored_runs

from pfbench.cli import progress
from pfbench.runs.storage.store import Store

SPEC = f"""
problems = "{SMALL[:-1]},seed={{seed}}]"
seeds = 2
measures = ["fw_gap", "objective"]
every = 2
targets = ["fw_gap=1e6", "fw_gap=1e-9"]

[algorithms]
SG = "nfwu-sg[batch={{batch}},iterations=8,step=0.1,output=last]"
SVRG = "nfwu-svrg[batch={{batch}},period=4,iterations=8,step=0.1,output=last]"

[grid]
batch = [5]
"""


@pytest.fixture
def spec(folder):
    (folder / "small.toml").write_text(SPEC)
    return folder / "small.toml"


def run(pfbench, *more):
    return pfbench("run", "small.toml", "--jobs", 0, *more)


def kept(folder, name=".pfbench/store"):
    return sorted(Store(folder / name).keys())


def test_all_runs_are_made_and_told(pfbench, folder, spec, monkeypatch):
    # On a busy machine even these runs may take the seconds after which a line is due.
    monkeypatch.setattr(progress, "FIRST_LINE", math.inf)
    monkeypatch.setattr(progress, "BETWEEN_LINES", math.inf)
    outcome = run(pfbench)
    assert (outcome.status, outcome.err) == (0, "")
    assert "runs    4: 4 executed" in outcome.out
    assert "4 finished" in outcome.out
    assert len(kept(folder)) == 4


def test_a_finished_sweep_of_very_many_runs_is_recognised(pfbench, folder, spec, monkeypatch):
    monkeypatch.setattr("pfbench.reporting.tables.MANY", 3)
    made, told = run(pfbench).out, run(pfbench).out
    assert "4 executed" in made
    assert "4 cached" in told
    assert all("4 finished" in text and "`pfbench report`" in text for text in (made, told))
    with closing(sqlite3.connect(folder / ".pfbench/store/store.sqlite")) as database, database:
        database.execute("UPDATE entries SET trace = substr(trace, 2) WHERE id = 1")
    assert "1 executed, 3 cached" in run(pfbench).out


def test_a_shorter_sweep_cuts_what_is_stored(pfbench, folder, spec, conforms):
    run(pfbench)
    spec.write_text(SPEC.replace("iterations=8", "iterations=4"))
    planned = conforms(run(pfbench, "--dry-run", "--json").json, "run.json")
    assert [planned[how] for how in ("executed", "cached", "truncated")] == [0, 0, 4]
    found = conforms(run(pfbench, "--json").json, "run.json")
    assert (found["truncated"], {one["origin"] for one in found["runs"]}) == (4, {"truncated"})
    assert "4: 4 cut from longer stored runs" in run(pfbench).out
    assert len(kept(folder)) == 4


def test_json(pfbench, folder, spec, conforms):
    outcome = run(pfbench, "--json")
    assert (outcome.status, outcome.err) == (0, "")
    found = conforms(outcome.json, "run.json")
    assert (found["planned"], found["executed"], found["cached"]) == (4, 4, 0)
    assert found["statuses"] == {"finished": 4}
    assert sorted(one["key"] for one in found["runs"]) == kept(folder)
    made = [(one["algorithm"].split("[")[0], one["seed"]) for one in found["runs"]]
    assert made == list(product(("nfwu-sg", "nfwu-svrg"), (0, 1)))
    for one in found["runs"]:
        easy, hard = one["targets"]
        assert (easy["measure"], easy["target"], {*easy["calls"].values()}) == ("fw_gap", 1e6, {0})
        assert hard["calls"] is None
    ranks = found["results"]
    assert {rank["algorithm"]: rank["rank"] for rank in ranks} == {"SG": 1, "SVRG": 1}
    assert {(rank["hits"], rank["target"], rank["calls"]["sfo"]) for rank in ranks} == {(0, 1e6, 0)}
    again = conforms(run(pfbench, "--json").json, "run.json")
    assert again["results"] == ranks
    assert again["cached"] == 4
    assert [one | {"origin": "executed"} for one in again["runs"]] == found["runs"]


def test_the_dry_run_stores_nothing(pfbench, folder, spec, conforms):
    found = conforms(run(pfbench, "--dry-run", "--json").json, "run.json")
    assert (found["planned"], found["cached"]) == (4, 0)
    assert sum(setting["runs"] for setting in found["settings"]) == 4
    assert not (folder / ".pfbench").exists()
    run(pfbench)
    planned = run(pfbench, "--dry-run", "--json").json
    assert (planned["cached"], planned["settings"]) == (4, [])


def test_a_failure_is_told_stored_and_makes_it_fail(pfbench, folder, spec, conforms):
    spec.write_text(
        'problems = "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]"\n'
        'algorithms = ["misbehaving:Raises", "misbehaving:Descent", "frank-wolfe[iterations=3]"]\n'
        "seeds = [4, 7]\n"
    )
    outcome = run(pfbench, "--log", "sweep.log")
    assert outcome.status == 1
    assert outcome.err.splitlines() == [
        "pfbench: importing misbehaving:Raises, which small.toml names.",
        "pfbench: importing misbehaving:Descent, which small.toml names.",
        "pfbench: 2 runs failed; the first: misbehaving:Raises, seed 4: error: "
        "ValueError: no good.",
    ]
    assert "2 error, 2 finished, 2 refused" in outcome.out
    assert len(kept(folder)) == 6
    lines = (folder / "sweep.log").read_text().splitlines()
    assert len(lines) == 8
    assert " begin small: 6 runs" in lines[0]
    failures = [line for line in lines if " made error " in line]
    assert ["seed=4" in line for line in failures] == [True, False]
    assert lines[-1].endswith("end small: 6 of 6 runs done, 2 failed")
    again = run(pfbench, "--json")
    found = conforms(again.json, "run.json")
    assert (again.status, found["executed"], found["failed"]) == (1, 0, 2)


def test_an_interruption_keeps_what_is_finished(pfbench, folder, spec, interrupted_at):
    with interrupted_at(3):
        outcome = run(pfbench, "--log", "log")
    assert (outcome.status, outcome.out) == (130, "")
    # On a busy machine a line on the progress comes before it.
    assert outcome.err.splitlines()[-1] == (
        "pfbench: interrupted; 3 of 4 runs are stored in .pfbench/store; the same command "
        "continues."
    )
    assert (folder / "log").read_text().endswith("3 of 4 runs done, 0 failed: interrupted\n")
    assert "4: 1 executed, 3 cached" in run(pfbench).out


@pytest.mark.faults
def test_a_full_disk_ends_it_and_loses_nothing(pfbench, folder, spec, monkeypatch):
    connect = sqlite3.connect

    class Full(sqlite3.Connection):
        calls = 0

        def executemany(self, *arguments):
            Full.calls += 1
            if Full.calls == 3:
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorname = "SQLITE_FULL"
                raise error
            return super().executemany(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr("pfbench.runs.storage.store._FAST", 0.0)
        patch.setattr(sqlite3, "connect", lambda *a, **b: connect(*a, **b, factory=Full))
        outcome = run(pfbench)
    assert outcome.status == 1
    assert "disk is full): free some space, and repeat the command" in outcome.err
    assert "2 of 4 runs are stored" in outcome.err
    assert outcome.err.count("\n") == 1
    assert "4: 2 executed, 2 cached" in run(pfbench).out


@pytest.mark.long
@pytest.mark.faults
def test_two_sweeps_on_one_store(folder, spec):
    command = [sys.executable, "-m", "pfbench", "run", "small.toml", "--jobs", "1", "--json"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        process.communicate(timeout=300)
        assert process.returncode == 0
    assert len(kept(folder)) == 4
    assert list((folder / ".pfbench").rglob("*.partial")) == []


@pytest.mark.faults
def test_ctrl_c_ends_cleanly(folder, spec):
    spec.write_text(
        'problems = "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]"\n'
        'algorithms = ["misbehaving:Descent", "misbehaving:Loops"]\n'
    )
    tests = os.pathsep.join(path for path in sys.path if path)
    process = subprocess.Popen(
        [*INTERRUPTIBLE, "run", "small.toml", "--jobs", "1", "--quiet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": tests},
    )
    until = time.monotonic() + 300.0
    while not stored_runs(folder) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.3)
    # As a terminal does: to every process of the group.
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert "interrupted; 1 of 2 runs are stored" in err
    assert "Traceback" not in err


def test_the_name_of_a_report_is_a_sweep(pfbench, monkeypatch):
    from pfbench.cli import run_command

    planned = []
    monkeypatch.setattr(run_command, "_show_plan", lambda spec, *_, **__: planned.append(spec.name))
    assert pfbench("run", "--dry-run", "paper/qu2018-fig1").status == 0
    assert planned == ["qu2018-fig1-paper"]
    refused = pfbench("run", "paper/qu2018-fig")
    assert refused.status == 2
    assert "unknown report 'paper/qu2018-fig': did you mean 'paper/qu2018-fig" in refused.err
