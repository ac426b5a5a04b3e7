"""``pfbench verify``."""

import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import own_worst
import pytest
import typer

from pfbench.claims import catalogue
from pfbench.claims.catalogue import CLAIMS, ERRATA, MUTANTS
from pfbench.cli import verify as command
from pfbench.cli.faults import _mutant_row
from pfbench.runs.engines.engine import SingleProcessEngine
from pfbench.runs.storage.store import Store
from pfbench.verification import Evidence, session
from pfbench.verification.session import MutantOutcome
from pfbench.verification.statistics import Decision
from pfbench.verification.verdict import Verdict
from pfbench.verification.worst_case import estimation

COUNT, MEAN = "shen2019-count-svrg", "shen2019-unbiased-spiderg"


@pytest.fixture
def own(folder, monkeypatch):
    """The file of a user's methods, in the current folder; forgotten after the test."""
    monkeypatch.setitem(sys.modules, "own_methods", None)
    del sys.modules["own_methods"]
    source = Path(__file__).parent.parent / "claims" / "own_methods.py"
    shutil.copy(source, folder / "own_methods.py")
    return folder


def test_named_claims_are_tested_and_nothing_else(written):
    outcome, content = written("verify", MEAN, COUNT, "--jobs", 2)
    assert [row["claim"] for row in content["results"]] == [MEAN, COUNT]
    assert content["summary"]["holds"] == 2
    assert content["findings"] == []
    for name in (MEAN, COUNT):
        assert name in outcome.out
    assert outcome.out.strip().endswith("2 holds")


def test_a_second_call_makes_nothing_and_prints_the_same(pfbench, folder, monkeypatch):
    first, second = (pfbench("verify", COUNT, MEAN, "--jobs", 0) for _ in range(2))
    assert (second.status, second.out) == (0, first.out)
    assert first.err.splitlines()[-1] == "verification: 2 checks (2 run, 0 cached)"
    assert second.err == "verification: 2 checks (0 run, 2 cached)\n"
    other = pfbench("verify", COUNT, "--jobs", 0, "--store", "other")
    assert other.err == "verification: 1 check (1 run, 0 cached)\n"
    stored = [[*Store(path, make=False).keys("verdict")] for path in (".pfbench/store", "other")]
    assert list(map(len, stored)) == [2, 1]
    listed = pfbench("store", "list", "--kind", "verdict", "--json").json
    assert sorted(row["claim"] for row in listed) == sorted((COUNT, MEAN))


WRONG_LATE = """
from pfbench import State
from pfbench.algorithms import ALGORITHMS

class WrongLate(ALGORITHMS["sfw"]):
    def run(self, ask, x, rng):
        for t, state in enumerate(super().run(ask, x, rng)):
            yield State(state.x + 0.01, state.at, state.estimate) if t == 9 else state
"""


def test_where_a_method_of_somebody_is_looked_at_is_drawn_and_said(pfbench, own, monkeypatch):
    def seen(trial):
        return Evidence(Decision("holds", f"{trial.command}.", {}, None), {}, 1)

    changed = {**CLAIMS, COUNT: replace(CLAIMS[COUNT], check=seen, needs_seed=True)}
    monkeypatch.setattr(catalogue, "CLAIMS", changed)
    arguments = ("verify", COUNT, "--algorithm", "own_methods:MySpider", "--jobs", 0)
    said = [re.search(r"--case-seed (\d+)", pfbench(*arguments).err)[1] for _ in range(2)]
    assert said[0] != said[1]
    for given in ("7", "0"):
        outcome = pfbench(*arguments, "--case-seed", given)
        (row,) = pfbench(*arguments, "--case-seed", given, "--json").json["results"]
        command = f"pfbench verify {COUNT} --algorithm own_methods:MySpider --seed 0"
        assert row["reason"] == f"{command} --case-seed {given}."
        assert ("--case-seed" in outcome.err) == (given == "7")


def test_a_violation_names_the_call_before_it_and_the_command_that_repeats_it(written, folder):
    (folder / "wrong_late.py").write_text(WRONG_LATE)
    run = "verify", "methods-run-sfw", "--algorithm", "wrong_late:WrongLate", "--jobs", 0
    (first,) = written(*run, status=1)[1]["results"]
    words = r"iteration 9: State.x is off by .*; the call before it is lo along .*"
    command = re.search(rf"{words} \(repeat: pfbench (.*)\)\.$", first["reason"])[1]
    again = (*command.split(), "--store", "another", "--jobs", 0)
    (again,) = written(*again, status=1)[1]["results"]
    assert (again["verdict"], again["reason"]) == ("violated", first["reason"])


def test_an_interruption_keeps_what_is_finished(pfbench, monkeypatch):
    def interrupted(trial):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        changed = {
            **CLAIMS,
            COUNT: replace(CLAIMS[COUNT], check=interrupted, expected_seconds=(0.0, 0.0)),
        }
        patch.setattr(catalogue, "CLAIMS", changed)
        outcome = pfbench("verify", MEAN, COUNT, "--jobs", 0)
    assert (outcome.status, outcome.out) == (130, "")
    # On a busy machine lines on the progress come before it.
    assert outcome.err.splitlines()[-1].startswith(
        "pfbench: interrupted; every finished check is stored in .pfbenc"
    )
    assert "2 checks (1 run, 1 cached)" in pfbench("verify", MEAN, COUNT, "--jobs", 0).err


def test_without_a_claim_it_is_refused(pfbench, own):
    own.joinpath("plain.py").write_text(
        "from own_methods import MySpider\n\nclass Plain(MySpider):\n    claims = ()\n"
    )
    refused = pfbench("verify", "--algorithm", "plain:Plain")
    assert refused.status == 2
    assert "names no claims" in refused.err


@pytest.mark.usefixtures("in_this_process")
def test_mutants(written):
    outcome, content = written("faults", COUNT, "--max-faults", 2, "--table", "faults.md")
    assert content["mutants"]
    for mutant in content["mutants"]:
        assert mutant["caught_by"]
        assert set(mutant["caught_by"]) <= set(mutant["expected_claims"])
    assert len(content["generated"]) == 2
    assert {one["method"] for one in content["generated"]} == {"nfwu-svrg"}
    assert {one["caught_by"] for one in content["generated"]} <= {None, COUNT}
    assert "2 of " in outcome.out.partition("# Generated faults")[2]
    missed = [one for one in content["generated"] if not (one["caught_by"] or one["equivalent"])]
    told = Path("faults.md").read_text()
    assert "2 of " in told
    for one in missed:
        assert one["location"] in told


def test_the_faults_of_a_method_need_claims(pfbench, own):
    outcome = pfbench("faults", "--algorithm", "own_methods:Claimless")
    assert outcome.status == 2
    assert "needs claims" in outcome.err


def test_list_and_explain_run_nothing(pfbench, conforms):
    listed = pfbench("verify", "--list", "--full")
    assert listed.status == 0
    assert f"{len(CLAIMS)} claims, about" in listed.out
    assert (
        f"{len(ERRATA)} errata are examined, too: {len(CLAIMS) + len(ERRATA)} checks" in listed.out
    )
    assert "1 claim, about" in pfbench("verify", "--list", COUNT).out
    explained = pfbench("explain", COUNT)
    assert explained.status == 0
    assert "svrg-double-lo" in explained.out
    explained = pfbench("explain", "qu2018-thm3")
    words = " ".join(explained.out.split())
    assert "Component i is <s_i, x>" in words
    assert "the largest |eigenvalue| of A" in words
    described = pfbench("info", "qu2018-thm3", "--json").json
    assert [one["parameters"]["n"] for one in described["instances"][:2]] == ["27", "8"]
    listed = pfbench("worst-case", "--list")
    assert "13 claims, about" in listed.out
    printed = conforms(pfbench("worst-case", "--list", "--json").json, "list.json")
    assert [sum(item["seconds"] > 0 for item in printed), len(printed)] == [13, 13]
    (item,) = conforms(pfbench("verify", "--list", COUNT, "--json").json, "list.json")
    explained = pfbench("explain", COUNT, "--json").json
    assert item["seconds"] > 0
    assert explained["name"] == item["name"] == COUNT


@pytest.mark.usefixtures("in_this_process")
def test_claimed_exponents_stand_beside_measured_ones(written):
    claim = "shen2019-table1-sg"
    (row,) = written("verify", claim, "--table", "verdicts.md")[1]["results"]
    measured = row["measured"]["exponent in 1/epsilon: slope"]
    assert row["claimed"]["exponent in 1/epsilon"] == 2.0
    lines = Path("verdicts.md").read_text().split("## Exponents")[1].splitlines()
    (line,) = (line for line in lines if line.startswith(f"| {claim} |"))
    assert line.startswith(f"| {claim} | exponent in 1/epsilon | 2 | {measured:.3g} [")
    assert row["claimed"]["V <= eps"] in line


def test_worst_cases_are_verdicts(pfbench, conforms):
    for package in ("PEPit", "cvxpy", "clarabel"):
        pytest.importorskip(package, reason=f"{package} is missing: {estimation.EXTRA}")
    arguments = ("worst-case", "prox-gd", "--jobs", 0, "--json")
    first, second = (pfbench(*arguments) for _ in range(2))
    assert first.status == 0
    (row,) = conforms(first.json, "verify.json")["results"]
    assert (row["claim"], row["kind"], row["verdict"]) == ("prox-gd", "computed", "within-10")
    assert second.json == first.json


def test_worst_cases_without_their_extra_are_one_sentence(pfbench, monkeypatch):
    monkeypatch.setattr(estimation, "find_spec", lambda name: None)
    outcome = pfbench("worst-case")
    assert outcome.status == 2
    assert 'pip install "pfbench[certify]"' in outcome.refusal


def test_the_lost_are_told_from_what_is_no_longer_shown(monkeypatch, tmp_path, capsys, conforms):
    names = ["li2019-(30)", "li2019-(74)", "li2019-(69)"]
    errata, reason = [ERRATA[name] for name in names], "it took more than 300 s"
    found = [
        session.examine(errata[0]),
        session.ErratumFinding(
            erratum=errata[1], evidence={}, is_shown=False, failure_reason=f"timeout: {reason}"
        ),
        session.ErratumFinding(erratum=errata[2], evidence={"x": 1.0}, is_shown=False),
    ]
    monkeypatch.setattr(session.Session, "examine", lambda self, errata: found)
    monkeypatch.setattr(session.Session, "verify", lambda self, *given: session.Verification())
    work = command.VerificationJob([], "quick", range(1), SingleProcessEngine(), tmp_path)
    with pytest.raises(typer.Exit):
        command._verify_claims(work, None, include_held_bounds=False)
    told = capsys.readouterr()
    work.is_quiet = True
    with pytest.raises(typer.Exit):
        command._verify_claims(work, None, include_held_bounds=False)
    words = " ".join(told.err.split())
    assert f"erratum {names[1]} could not be examined: timeout: {reason}." in words
    assert f"erratum {names[2]} is not reproduced by its evidence." in words
    assert [told.out.count(word) for word in ("NOT EXAMINED", "NOT SHOWN")] == [1, 1]
    content = conforms(json.loads(capsys.readouterr().out), "verify.json")
    assert content["findings"][1]["evidence"] == {"shown": False, "lost": f"timeout: {reason}"}


def test_power_tells_the_least_error_of_each_parameter(written):
    given = ("power", "qu2018-condg-count", "--jobs", 0)
    _, content = written(*given, "--table", "power.md")
    found = {row["parameter"]: row["least_factor"]["quick"] for row in content["power"]}
    assert set(found) == {"smoothness", "tolerance", "estimate"}
    assert found["smoothness"] is None or found["smoothness"] > 1.0
    table = Path("power.md").read_text()
    assert table.count("| qu2018-condg-count | ncgs |") == 3
    for parameter, least in found.items():
        best = "-" if least is None else f"{least:g}"
        assert f"| ncgs | {parameter} | {best} |" in table
    _, content = written(*given, "--max-check-seconds", 1e-9, "--table", "power.md")
    assert [row["was_run"] for row in content["power"]] == [{"quick": False}] * 3
    assert Path("power.md").read_text().count("| not asked |") == 3


def test_the_worst_case_of_ones_own_method(pfbench, conforms, folder):
    """Computed, held to its claim, and handed back as a problem to run."""
    pytest.importorskip("PEPit")
    shutil.copy(Path(own_worst.__file__), folder / "own_down.py")
    method = "own_down.py:Down"
    found = pfbench("worst-case", method)
    assert found.status == 0
    assert "the largest over functions with n=1, L=1.0, convex=False, delta=0.5" in found.out
    printed = pfbench("worst-case", method, "--json")
    (folder / "own_down.json").write_text(printed.out)
    content = conforms(printed.json, "worst-case.json")
    assert [one["steps"] for one in content["worst_cases"]] == [1, 2, 3, 4]
    worst = content["worst_cases"][2]["worst_case"]
    place = "pfbench.verification.worst_case.worst_function:WorstFunction"
    problem = f"{place}[file=own_down.json,steps=3]"
    run = pfbench("solve", "-p", problem, "-a", f"{method}[iterations=2]", "--json").json
    # Written down and read again, x_2 is as steep as the least of all may be.
    assert run["final"]["gradient_mapping_sq"] == pytest.approx(worst, rel=1e-3)
    broken = pfbench("worst-case", "own_down.py:WRONG")
    assert broken.status == 1
    assert "exceeds the bound" in broken.out
    for given, says in (
        (["own_down.py:WRONG", "saga"], "either a single FILE.py:NAME"),
        (["own_down.py:pf"], "must be an algorithm or a claim"),
        ([method, "--function-class", "m=3"], "unknown parameter of --function-class 'm'"),
    ):
        refused = pfbench("worst-case", *given)
        assert refused.status == 2
        assert says in refused.err
    assert "a single FILE.py:NAME" in pfbench("worst-case", "--function-class", "n=2").refusal


def test_a_fault_that_is_not_caught_says_why():
    """A bound with room for fourteen times what is measured."""
    mutant = MUTANTS["frank-wolfe-half-step"]
    (asked,) = mutant.expected_claims
    nothing = {"reason": "", "claimed": {}, "repetitions": 1, "p_value": None, "seconds": 0.0}
    row = Verdict(claim=asked, verdict="holds", measured={"ratio": 0.07}, **nothing)
    told = _mutant_row(MutantOutcome(mutant, (row,)))[1].plain.replace("\n", " ")
    assert (
        "not caught: jaggi2013-thm1 (bound) says holds, with 14.3 times room in its bound" in told
    )
