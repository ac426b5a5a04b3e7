"""A receipt of a comparison: drawn from its runs alone, and each way to cheat is seen."""

import json
import random
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from forged_receipts import run

from pfbench.receipts.comparison_check import (
    CheckedSuite,
    _describe_isolated_difference,
    _record_fresh_runs,
    check,
)
from pfbench.receipts.comparison_receipt import COMPARISON, RUNS, recompute
from pfbench.receipts.recheck import CheckOutcome, CheckPlan
from pfbench.receipts.record import Record
from pfbench.receipts.record_site import page
from pfbench.runs.engines.engine import SingleProcessEngine
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.loop.run import Run
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.archive import SPEC, open_archive, write_archive
from pfbench.runs.suite_archive import CURVE, SuiteArchive, read_suite_archive, write_suite_archive

SCHEMA = Path(str(files("pfbench.cli"))) / "schemas" / "receipt.json"
SUITE = """
title = "Two problems"
seeds = 2
measures = "fw_gap"
budget = "sfo=2000,lo=60"
targets = ["fw_gap=0.3", "fw_gap=0.1"]

[problems]
cosh = "log-cosh[rows=30,columns=4,seed={seed}]"
easy = "quadratic[rows=30,columns=4,radius=5]"

[algorithms]
frank-wolfe = "frank-wolfe[step=open-loop]"
sfw = "sfw[iterations=100,step=0.1,batch=8]"

[tune]
trials = 2
seeds = [100]
methods.sfw = { selector = "sfw[iterations=100,step={step},batch=8]", step = [0.3, 0.1] }

[candidate]
iterations = 100
step = [0.3, 0.1]
"""
METHODS = '''
import gc

from dataclasses import dataclass, field

import pfbench as pf
from pfbench.points import combine


@dataclass(frozen=True, kw_only=True)
class Steps(pf.Algorithm):
    """Stochastic Frank-Wolfe with a fixed step."""

    name = "steps"
    requires = frozenset({"batch", "lo"})
    iterations: int
    step: float

    def run(self, ask, x, rng):
        for t in range(self.iterations):
            g = ask.batch(rng.integers(ask.n, size=4), x)
            at, x = x, combine(x, ask.lo(g), self.step)
            yield pf.State(x, at, g)


class Peeking(Steps):
    """Takes the gradient of the problem that it finds in its memory."""

    def run(self, ask, x, rng):
        known = [one for one in gc.get_objects() if type(one).__name__ == "LogCosh"]
        problem = [one for one in known if one.start().shape == x.shape][-1]
        for t in range(self.iterations):
            at, x = x, combine(x, ask.lo(problem.gradient(x)), 2 / (t + 2))
            yield pf.State(x, at)
'''


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A suite with methods, and the receipt of one of them."""
    folder = tmp_path_factory.mktemp("comparison")
    (folder / "suite.toml").write_text(SUITE)
    (folder / "methods_of_mine.py").write_text(METHODS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", [*sys.path])
        done = run(
            *("compare", "methods_of_mine.py:Steps", "--suite", "suite.toml", "--rerun"),
            *("--store", "store", "--jobs", 0, "--text", "--receipt", "steps.zip"),
        )
        assert done.exit_code == 0, done.output
    sys.modules.pop("methods_of_mine", None)
    return folder


@pytest.fixture
def inside(home, tmp_path, monkeypatch):
    """An unpacked receipt, whose code is at hand, and what it says of itself."""
    monkeypatch.setattr(sys, "path", [str(home), *sys.path])
    with open_archive(home / "steps.zip", COMPARISON) as archive:
        archive.unpack(tmp_path / "inside")
        yield tmp_path / "inside", archive.manifest
    sys.modules.pop("methods_of_mine", None)


def checked(inside, ours=None):
    folder, about = inside
    outcome, _ = check(
        folder, about, CheckPlan(SingleProcessEngine(), random.Random(1), True, 60.0), ours
    )
    return outcome


def forge(folder, change):
    """Write the runs of a receipt anew, after a change of those of one method."""
    known = read_suite_archive(folder / RUNS).runs
    rows = [
        (PlanOutcome(plan, replace(entry, run=change(plan, entry.run))), (), CURVE)
        for plan, entry in known.items()
    ]
    write_suite_archive(folder / RUNS, rows, text="0")


def test_an_honest_one_passes_elsewhere(home, tmp_path, monkeypatch):
    """In an empty folder, by the command, in other processes: equal bits, the same pages."""
    monkeypatch.chdir(tmp_path)
    done = run("receipt", "--check", home / "steps.zip", "--salt", "a", "--jobs", 1, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    assert found["same"]
    assert found["runs"][0] == found["runs"][1] > 20
    assert found["new"] >= 2 * 20
    assert found["off"] == found["unreached"] == []
    assert "methods_of_mine:Steps on the suite suite" in found["text"]


def test_it_holds_all_that_it_should(home):
    with open_archive(home / "steps.zip", COMPARISON) as archive:
        names = {*archive.names}
        page = archive.read("receipt.html").decode()
        badge = archive.read("badge.svg").decode()
        macros = archive.read("receipt.tex").decode()
    assert {"receipt.md", "spec.toml", "lock.txt", "code/methods_of_mine.py"} <= names
    assert "Steps, tuned against the best of its class" in page
    assert "suite: first on" in badge
    assert "\\newcommand{\\cmpEasyA}" in macros


def of(name):
    def chosen(plan):
        return name in plan.algorithm and plan.seed == 1 and "quadratic" in plan.problem

    return chosen


@pytest.mark.parametrize("method", ["Steps", "frank-wolfe"])
def test_a_changed_count_is_seen_of_the_method_and_of_others(inside, method):
    here = of(method)

    def change(plan: PlannedRun, one: Run) -> Run:
        counts = replace(one.counts, lo=one.counts.lo + 1)
        return replace(one, counts=counts) if here(plan) else one

    assert checked(inside).deviations == []
    forge(inside[0], change)
    off = checked(inside).deviations
    assert any(method in text and "made again has lo" in text for text in off), off


def test_a_row_that_is_left_out_is_seen(inside):
    """The one in which a rival reaches the target, so that it seems to reach it later."""

    def change(plan: PlannedRun, one: Run) -> Run:
        return replace(one, rows=(*one.rows[:-2], *one.rows[-1:])) if of("frank")(plan) else one

    forge(inside[0], change)
    assert any("length of the trace" in text for text in checked(inside).deviations)


def test_runs_of_a_suite_of_ours_must_be_those_that_are_shipped(inside):
    folder, _ = inside
    known = read_suite_archive(folder / RUNS).runs
    text = (folder / SPEC).read_text()
    others = {plan: one for plan, one in known.items() if "Steps" not in plan.algorithm}
    found = checked(inside, CheckedSuite(text, SuiteArchive(others, "0")))
    assert found.deviations == []
    assert found.suite_runs > 10
    assert found.runs[1] + found.suite_runs == len(known)
    right = {p: replace(one, run=replace(one.run, iterations=7)) for p, one in others.items()}
    off = checked(inside, CheckedSuite(text + "#", SuiteArchive(right, "0"))).deviations
    assert off[0] == "the suite suite of pfbench is another one"
    assert "is not the one that is shipped: iterations" in off[1]


def test_a_run_that_is_missing_is_told(inside):
    folder, _ = inside
    known = read_suite_archive(folder / RUNS).runs
    rows = [
        (PlanOutcome(plan, one), (), CURVE) for plan, one in known.items() if not of("Steps")(plan)
    ]
    write_suite_archive(folder / RUNS, rows, text="0")
    (text,) = checked(inside).deviations
    assert "are not in the receipt, as that of methods_of_mine:Steps" in text


def test_pages_that_lie_are_seen(home, tmp_path, monkeypatch):
    with open_archive(home / "steps.zip", COMPARISON) as archive:
        files = {name: archive.read(name) for name in archive.names}
        about = {k: of for k, of in archive.manifest.items() if k not in ("schema", "files")}
    badge = files["badge.svg"].replace(b"first on", b"best on")
    write_archive(tmp_path / "lie.zip", {**files, "badge.svg": badge}, about, COMPARISON)
    monkeypatch.chdir(tmp_path)
    done = run("receipt", "--check", "lie.zip", "--jobs", 1)
    assert done.exit_code == 1
    assert "badge.svg is not what its numbers give" in done.stderr


def test_a_method_that_takes_the_problem_from_its_memory_is_seen(home, inside):
    folder, about = inside
    (plans, _) = next(
        one for name, one in recompute(folder, about, [5]).cells.items() if "cosh" in name
    )
    assert _describe_isolated_difference(plans[0]) == ""
    peeking = replace(plans[0], algorithm=plans[0].algorithm.replace("Steps", "Peeking"))
    assert "fails in a process of its own: IndexError" in _describe_isolated_difference(peeking)


def test_runs_of_another_law_are_seen_by_new_seeds_alone(inside):
    """Ten old runs that needed half as much as twenty new ones."""
    folder, _ = inside
    one = next(iter(read_suite_archive(folder / RUNS).runs.values())).run
    honest, wrong = CheckOutcome(), CheckOutcome()
    runs = [replace(one, counts=replace(one.counts, sfo=100 + k)) for k in range(30)]
    _record_fresh_runs(runs[::3], "cell", honest, [*runs[1::3], *runs[2::3]])
    _record_fresh_runs(runs[:10], "cell", wrong, runs[10:])
    for each in (honest, wrong):
        each.compare()
    assert honest.p_values
    assert honest.deviations == []
    assert "sfo of cell has another law now" in wrong.deviations[0]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--archive", "a.gz", "--receipt", "a.zip"], "--receipt is of a METHOD"),
        (["sfw", "--receipt", "none/a.zip"], "none"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    done = run("compare", *arguments)
    assert done.exit_code == 2
    assert says in done.stderr


def test_a_record_has_it_below_its_suite_and_nothing_of_it_that_a_browser_runs(home, tmp_path):
    record = Record.init(tmp_path / "record")
    about = {"runs": [30, 30], "new": 40, "salt": "s", "sha256": "", "same": True}
    about |= {"least_p": 1.0, "verdicts": [0, 0], "faults": [0, 0], "text": ""}
    record.add(home / "steps.zip", record.find_folder("steps", "0" * 64), about, "")
    assert page(record, tmp_path / "site") == 1
    board = (tmp_path / "site" / "index.html").read_text()
    assert "Suite suite, version" in board
    assert "methods_of_mine:Steps" in board
    assert "suite: first on" in board
    names = {path.name for path in (tmp_path / "site").rglob("*") if path.is_file()}
    assert names == {"index.html", "receipt.txt"}
