"""What a new user types in the first hour: suites, their own problem, refusals, mistakes."""

import pytest
from helpers import refused

import pfbench as pf
from pfbench.base.errors import InputError
from pfbench.cli.catalogue import suite_spec_paths
from pfbench.runs.planning.spec import load_spec
from pfbench.runs.planning.suite import SHARES, adapt_suite_to_problem, suite_labels

SUITE = """
title = "Two methods, one of which needs a polytope"
seeds = 2
measures = "fw_gap"
budget = "sfo=400,lo=20,po=20"
targets = ["fw_gap=0.3"]
problems = ["quadratic[rows=20,columns=4,set=l2]"]

[algorithms]
frank-wolfe = "frank-wolfe[step=open-loop]"
sfw = "sfw[iterations=20,step=0.1,batch=2]"
pairwise = "pfw[iterations=10]"
"""


@pytest.fixture
def suite(folder):
    (folder / "mine.toml").write_text(SUITE)
    return "mine.toml"


# --- suites ---------------------------------------------------------------------------------------


def test_on_a_suite_without_an_archive_all_runs_are_made_and_only_who_ran_is_counted(
    pfbench, suite
):
    """It compared the method with nobody, and the method won."""
    given = ("--suite", suite, "--store", "s", "--jobs", 0)
    outcome = pfbench("compare", "sfw", *given, "--text")
    assert outcome.status == 0, outcome.err
    assert "mine: 2 seeds can tell sfw from no other in a family of 2 pairs" in outcome.err
    assert "mine: 6 runs of 3 methods to execute" in outcome.err
    assert "among 2 methods" in outcome.out.replace("\n", " ")
    again = pfbench("compare", "sfw", *given, "-o", "out")
    assert "to execute" not in again.err
    page = next(suite_page for suite_page in again.out.split() if suite_page.endswith(".html"))
    with open(page, encoding="utf-8") as file:
        assert "Methods left out, as they fit no problem here: pairwise." in file.read()


def test_a_suite_is_listed_printed_and_written(pfbench, folder):
    assert {item["name"] for item in pfbench("list", "suites", "--json").json} >= set(
        suite_spec_paths()
    )
    shown = pfbench("info", "quick", "--json").json
    assert shown["source"] == str(suite_spec_paths()["quick"])
    assert pfbench("new", "suite", "Ours").status == 0
    written, quick = load_spec(folder / "ours.toml"), load_spec(suite_spec_paths()["quick"])
    assert suite_labels(written) == suite_labels(quick)
    assert [entry.label for entry in written.study.problems] == ["mine"]


@pytest.mark.parametrize(
    ("problem", "of", "measure"),
    [
        ("quadratic[rows=20,columns=4,set=l2]", "quick", "fw_gap"),
        ("quadratic[rows=20,columns=4,penalty=l1,start=normal]", "quick", "gradient_mapping_sq"),
        ("matrix-least-squares[noise=normal,norm=spectral]", "norms", "dual_norm"),
    ],
)
def test_the_targets_on_a_problem_are_shares_of_its_start(problem, of, measure):
    spec = adapt_suite_to_problem(suite_spec_paths()[of], problem)
    method = "prox-sgd" if of == "quick" else "muon"
    beta = ",beta=0.9" if method == "muon" else ""
    run = pf.solve(problem, f"{method}[iterations=1,step=0.1,batch=1{beta}]", measures=[measure])
    start = run.trace[measure].iloc[0]
    shares = [share**2 if measure.endswith("_sq") else share for share in SHARES]
    found = [stop.target for stop in spec.study.targets]
    assert found == pytest.approx([start * share for share in shares], rel=0.05)
    assert {stop.measure for stop in spec.study.targets} == {measure}
    theory = [entry.selector for entry in spec.study.algorithms if "epsilon" in entry.selector]
    assert all(f"epsilon={found[1]:.2g}" in one for one in theory)


def test_on_a_problem_of_ones_own_every_method_that_fits_is_run(pfbench, monkeypatch):
    """There was no way but 260 lines of TOML."""
    made = []

    def execute(execution, title, plans):
        made.extend(plans)
        raise InputError("enough")

    monkeypatch.setattr("pfbench.cli.report_sources.RunExecution.run", execute)
    given = ("--problem", "own_things:Quadratic[rows=7]", "--store", "s", "--jobs", 0)
    outcome = pfbench("compare", "frank-wolfe", *given, "--text")
    assert "importing own_things:Quadratic" in outcome.err
    assert "methods to execute" in outcome.err
    assert {plan.problem for plan in made} == {"own_things:Quadratic[rows=7]"}
    assert len({plan.algorithm.partition("[")[0] for plan in made}) > 30
    wrong = pfbench("compare", "frank-wolfe", *given, "--suite", "a.toml")
    assert (wrong.status, "works only with a built-in suite" in wrong.err) == (2, True)


def test_a_start_without_anything_to_reach_is_refused():
    with refused("another start"):
        adapt_suite_to_problem(suite_spec_paths()["quick"], "own_things:Flat")


# --- sweeps ---------------------------------------------------------------------------------------


def test_a_sweep_says_why_a_method_was_refused_and_fails_where_it_fits_nowhere(pfbench, suite):
    outcome = pfbench("run", suite, "--store", "s", "--jobs", 0)
    assert "the set l2 is not a polytope" in " ".join(outcome.out.split())
    assert (outcome.status, "pairwise fits no problem of mine" in outcome.err) == (1, True)


def test_the_starter_sweep_begins_above_its_targets_and_can_tell(pfbench, folder):
    pfbench("new", "sweep", "first")
    study = load_spec(folder / "first.toml").study
    run = pf.solve(
        study.problems[0].selector.replace("{seed}", "0"),
        "frank-wolfe[iterations=1]",
        measures=["fw_gap"],
    )
    assert max(stop.target for stop in study.targets) < run.trace["fw_gap"].iloc[0]
    assert len(study.seeds) >= 6


# --- mistakes -------------------------------------------------------------------------------------


def test_the_line_of_ones_own_code_is_named(pfbench, folder):
    code = "import numpy as np\n\n\ndef Broken():\n    return np.array(['a']).astype(float)\n"
    (folder / "broken_data.py").write_text(code)
    outcome = pfbench("solve", "-p", "broken_data.py:Broken", "-a", "frank-wolfe[iterations=2]")
    assert outcome.status == 2
    assert "(broken_data.py:5: return np.array(['a']).astype(float))" in outcome.err
