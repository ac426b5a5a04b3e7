"""``pfbench compare``: a method of one's own against those of a suite."""

import csv
import re
import shutil
from dataclasses import replace

import pytest
from compared import METHODS, SUITE
from stored import stored_runs

import pfbench.reporting.writer
from pfbench.algorithms import ALGORITHMS
from pfbench.base.constants import is_formula_in_constants
from pfbench.base.selectors import Selector
from pfbench.cli.catalogue import suite_spec_paths
from pfbench.reporting.result_tables import results_csv
from pfbench.runs.engines.run_task import execute_plan
from pfbench.runs.execute import PlanOutcome, resolve_tuning
from pfbench.runs.planning.spec import load_spec
from pfbench.runs.planning.suite import add_candidate
from pfbench.runs.storage.store import Store
from pfbench.runs.suite_archive import read_suite_archive
from tools.suite_archive import write_archive


@pytest.fixture
def suite(folder):
    """A suite with its archive, and a module of one's own."""
    (folder / "suite.toml").write_text(SUITE)
    (folder / "mine.py").write_text(METHODS)
    return folder / "suite.toml"


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """The archive of the suite."""
    path = tmp_path_factory.mktemp("shipped") / "suite.sqlite.xz"
    suite = path.with_name("suite.toml")
    suite.write_text(SUITE)
    # As stated; of the tuned one two trials a problem and one beyond an end; and what it chose.
    runs = write_archive(str(suite), path, Store(path.with_name("theirs")), 0)
    assert runs == 8 + (4 + 2) + 4
    return path


@pytest.fixture
def archived(suite, shipped):
    shutil.copy(shipped, suite.parent)


def compare(pfbench, *more, folder="mine-only"):
    return pfbench("compare", *more, "--suite", "suite.toml", "--store", folder, "--jobs", 0)


def test_an_own_method_alone_is_run_and_told_where_it_wins(pfbench, folder, archived):
    outcome = compare(pfbench, "mine:Steps", "-o", "out")
    assert outcome.status == 0, outcome.err
    assert "importing mine:Steps" in outcome.err
    assert "Steps, tuned against the best of its class" in outcome.out
    for level in ("≤ 0.3", "≤ 0.1"):
        assert level in outcome.out
    # On two problems two trials and one beyond an end, and two seeds of what was chosen for each
    # target, which is not the same for both on one of the problems.
    assert stored_runs(folder / "mine-only") == 2 * (2 + 1) + 2 + 2 * 2
    assert "what tuning chose" in outcome.out
    page = (folder / "out" / "Steps-tuned-on-suite.html").read_text()
    assert "Archived rows: all but Steps, tuned (12 runs of pfbench" in page
    assert "Steps, tuned is first on" in page


@pytest.fixture
def pages(monkeypatch):
    """What would be drawn, in place of drawing it."""
    drawn = []

    def write_contents(everything, folder):
        drawn.append(everything)
        return []

    monkeypatch.setattr(pfbench.reporting.writer, "write_contents", write_contents)
    return drawn


@pytest.fixture
def results(pfbench, pages, conforms):
    """Compare, and return what programs read, and the results as CSV."""

    def compared(method, *more):
        found = conforms(compare(pfbench, method, "--json", *more).json, "compare.json")
        return found, results_csv(pages[-1].parts[0].comparisons).splitlines()

    return compared


def test_another_method_changes_no_number_of_the_others(results, archived):
    """Bit by bit, but for the marks, which are about the set of methods."""
    _, with_one = results("mine:Steps")
    _, with_other = results("mine:Idle")
    found = [
        [line.rpartition(",")[0] for line in lines if "Steps" not in line and "Idle" not in line]
        for lines in (with_one, with_other)
    ]
    assert found[0] == found[1]
    assert len(found[0]) > 20


def test_one_of_the_catalogue_under_another_name_is_equal_to_it_on_every_pair(results, archived):
    """The same trials, the same choices, the same calls, to the bit."""
    found, lines = results("mine:Copy[iterations=1000,batch=8]")
    rows = list(csv.DictReader(lines))
    label = "Copy, tuned"
    copied, original = (
        [row | {"algorithm": "", "standing": ""} for row in rows if row["algorithm"] == one]
        for one in (label, "sfw, tuned")
    )
    assert copied == original
    # SFO and LO to two targets, the last value, and eight counts.
    assert len(copied) == 2 * (2 * 2 + 1 + 8)
    assert {one["algorithm"] for one in found["chosen"]} == {label}


def test_who_does_nothing_is_last_everywhere(results, archived):
    found, _ = results("mine:Idle")
    assert [duel["rank"] for duel in found["comparisons"]] == [None] * 4
    (first,) = found["sentences"]
    assert "is first on 0" in first
    assert "misses 3 targets (1 more reached by no method)" in first


def test_who_fits_no_problem_of_the_suite_is_told_so(pfbench, pages, archived):
    outcome = compare(pfbench, "mine:Elsewhere[iterations=5,step=0.1]")
    assert outcome.status == 2
    assert "Elsewhere[iterations=5,step=0.1] fits no problem of the suite" in outcome.err
    assert "has a feasible set. Choose another suite, or a spec file, with --suite." in outcome.err
    assert pages == []


def test_the_runs_of_all_can_be_made_here(results, pages, folder, archived):
    found, shipped = results("mine:Steps")
    again, here = results("mine:Steps", "--rerun")
    assert again["comparisons"] == found["comparisons"]
    assert here == shipped
    assert stored_runs(folder / "mine-only") == 12 + 18
    assert "Archived rows" in pages[0].spec.introduction
    assert "Archived rows" not in pages[1].spec.introduction


def test_a_known_method_is_compared_as_stated_and_tuned(results, archived):
    found, _ = results("sfw")
    assert {duel["algorithm"] for duel in found["comparisons"]} == {"sfw", "sfw, tuned"}
    assert {duel["best_other"] for duel in found["comparisons"]} <= {"frank-wolfe", None}


def test_all_is_compared_by_a_stated_price(results, archived):
    plain, _ = results("sfw")
    found, _ = results("sfw", "--price", "lo=20,sfo=1")
    assert {duel["count"] for duel in found["comparisons"]} == {"20 lo + sfo"}
    assert "by 20 LO + SFO among" in found["sentences"][0]
    assert found["chosen"] == plain["chosen"]


# --- what is tried --------------------------------------------------------------------------------


def test_the_grids_of_all_and_of_mine_are_shown_and_nothing_is_run(pfbench, suite, conforms):
    text = pfbench("compare", "mine:Steps", "--grid", "--suite", "suite.toml").out
    assert re.search("step +0.3, 0.1", text)
    found = conforms(
        pfbench("compare", "mine:Steps", "--grid", "--suite", "suite.toml", "--json").json,
        "compare.json",
    )
    grids = {one["algorithm"]: (one["grid"], one["trials"]) for one in found["grids"]}
    assert grids == {label: ({"step": [0.3, 0.1]}, 2) for label in ("sfw, tuned", "Steps, tuned")}
    assert stored_runs(suite.parent) == 0


def test_who_projects_has_other_steps(suite):
    suite.write_text(suite.read_text() + "projecting = { step = [10, 1] }\n")
    spec = load_spec(suite)
    grids = {
        name: add_candidate(spec, name)[0].studies[0].tune.methods[-1].grid
        for name in ("prox-sgd", "nfwu-sg")
    }
    assert grids == {"prox-sgd": {"step": [10, 1]}, "nfwu-sg": {"step": [0.3, 0.1]}}


def test_a_period_follows_the_batch_that_a_method_has(suite):
    text = suite.read_text().replace("batch = 8", 'batch = [8, 64]\nperiod = "ceil(n/{batch})"')
    suite.write_text(text)
    spec = load_spec(suite)

    def period(name):
        (study,) = add_candidate(spec, name)[0].studies
        return study.tune.methods[-1].selector.partition("period=")[2]

    assert period("nfwu-svrg").startswith("ceil(n/{batch})")
    assert period("nfwu-svrg[batch=5]").startswith("ceil(n/5)")
    assert period("mine:Epochs").startswith("ceil(n/4)")
    assert period("mine:Alone").startswith("ceil(n/1)")


def test_mine_may_have_a_step_that_follows_a_constant(results, archived):
    """The formula, and its value on the one problem whose constant it has."""
    found, _ = results("mine:Steps[iterations=9,step=0.1*L/L]")
    same, _ = results("mine:Steps[iterations=9,step=0.1]")
    assert [one | {"algorithm": ""} for one in found["comparisons"]] == [
        one | {"algorithm": ""} for one in same["comparisons"]
    ]


@pytest.mark.parametrize("suite", ["quick"])
def test_what_has_a_unit_follows_a_constant_in_every_grid(suite):
    """Steps of who projects are in x per gradient, smoothness the other way round, in f delta."""
    (study,) = load_spec(suite_spec_paths()[suite]).studies
    for method in study.tune.methods:
        selector = Selector.parse(method.selector)
        of = {"smoothness", "curvature", "sigma", "delta", "period", "refresh", "table_weight"}
        if "lo" not in ALGORITHMS[selector.name].requires:
            of.add("step")
        for name in of & selector.texts.keys():
            text = re.sub(r"\{batch\}", "8", selector.texts[name])
            tried = method.grid.get(name, [text])
            # cgs is given the iterations of its inner loop.
            assert all(map(is_formula_in_constants, tried)) or selector.name in ("cgs", "storc"), (
                method,
                name,
            )


ALONE = {"prox-gd", "projected-gradient", "ncgs", "afw", "pfw", "bpfw"}
"""With a single parameter: as many trials as the others, so its list has values between."""


@pytest.mark.parametrize("suite", sorted(suite_spec_paths()))
def test_archived_methods_are_tuned_by_the_rule_for_yours(suite):
    """What [candidate] would give a class of the catalogue is what the suite's own entry has."""
    spec = load_spec(suite_spec_paths()[suite])
    (study,) = spec.studies
    checked = 0
    for method in study.tune.methods:
        name = method.selector.partition("[")[0]
        bare = replace(
            spec, studies=(replace(study, algorithms=(), tune=replace(study.tune, methods=())),)
        )
        ruled = add_candidate(bare, name)[0].studies[0].tune.methods
        for ours in ruled:
            common = ours.grid.keys() & method.grid.keys()
            checked += len(common)
            if method.label in ALONE:
                assert all({*ours.grid[of]} <= {*method.grid[of]} for of in common)
                continue
            assert {name: ours.grid[name] for name in common} == {
                name: method.grid[name] for name in common
            }
    assert checked > len(study.tune.methods)


# --- the shipped suites ---------------------------------------------------------------------------


def test_the_shipped_suites_can_be_read_and_name_embedded_data_alone():
    assert {"quick", "standard", "norms"} <= suite_spec_paths().keys()
    for path in suite_spec_paths().values():
        spec = load_spec(path)
        (study,) = spec.studies
        assert len(study.targets) >= 3
        assert study.budget
        assert spec.candidate
        for problem in study.problems:
            source = problem.selector.partition("source=")[2].partition(",")[0].strip("]")
            assert source in ("", "synthetic", "breast-cancer", "digits"), problem


@pytest.mark.thin(3)
@pytest.mark.slow
@pytest.mark.parametrize("suite", sorted(suite_spec_paths()))
def test_the_shipped_runs_are_those_of_the_suite_and_of_this_version(suite):
    path = suite_spec_paths()[suite]
    archive = path.with_name(f"{suite}.sqlite.xz")
    spec, found = load_spec(path), read_suite_archive(archive)
    whole = resolve_tuning(
        spec, lambda _, plans: [PlanOutcome(plan, found.runs[plan]) for plan in plans]
    )
    assert {*whole.search_runs(), *whole.runs()} == found.runs.keys()
    assert archive.stat().st_size < 7e6
    runs = [entry.run for entry in found.runs.values()]
    # In the whole space long steps diverge.
    may = {"target", "budget", "finished", "refused", "error", "diverged"}
    assert {run.status for run in runs} <= may - ({"diverged"} if suite != "norms" else set())
    # Of the catalogue nothing fails but where a tuned length does not fit the problem.
    failed = {run.stop_reason for run in runs if run.status == "error"}
    assert all(re.search(" must be at most .*n = ", reason) for reason in failed)
    # A few of the shipped runs, made again.
    kinds = ("log-cosh", "quadratic", "nonconvex", "simplex")
    quick = [plan for plan in found.runs if plan.problem.startswith(kinds)]
    # The last bit of f decides how many values a line search takes.
    exact = [plan for plan in quick if not re.search("line-search|backtracking", plan.algorithm)]
    for plan in exact[:: len(exact) // 6]:
        run, shipped = execute_plan(plan), found.runs[plan].run
        assert (run.status, run.iterations) == (shipped.status, shipped.iterations), plan
        assert run.counts == shipped.counts, plan
