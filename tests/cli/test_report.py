"""``pfbench report``: which runs are made, what is drawn of them, what a failure leaves."""

import re
from pathlib import Path

import pytest
from command_line import SMALL
from stored import stored_runs

from pfbench.cli import report_command, report_sources
from pfbench.reporting import writer

SPEC = f"""
title = "A small comparison"

[[study]]
key = "small"
title = "Small"
problems = "{SMALL[:-1]},seed={{seed}}]"
seeds = 2
measures = ["fw_gap"]
every = 4

[study.algorithms]
SG = "nfwu-sg[batch={{batch}},iterations=8,step=0.1,output=last]"
SVRG = "nfwu-svrg[batch={{batch}},period=4,iterations=8,step=0.1,output=last]"

[[study.setting]]
title = "S = 5"
batch = 5
"""


@pytest.fixture
def spec(folder):
    (folder / "small.toml").write_text(SPEC)
    return folder / "small.toml"


@pytest.fixture
def drawn(monkeypatch):
    """What is asked to be drawn, in place of drawing it."""
    asked = []

    def write_contents(contents, folder):
        asked.append(contents)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{contents.spec.name}.html").write_text("a page")
        return [folder / f"{contents.spec.name}.html"]

    monkeypatch.setattr(writer, "write_contents", write_contents)
    return asked


def report(pfbench, *more):
    return pfbench("report", "small.toml", "--jobs", 0, *more)


def said(outcome):
    """Return the lines on stderr without those of progress, which a busy machine adds."""
    progress = re.compile(r"small: (\d+ of \d|\d+ runs planned$)")
    return [line for line in outcome.err.splitlines() if not progress.match(line)]


def found(runs, label="SG"):
    """Return the two sentences on the finished runs of two methods."""
    ends = {4: "2.08; the highest ends at 2.32", 6: "2.11; the highest ends at 2.42"}[runs]
    return [
        f"2 algorithms on 1 problem, {runs // 2} seeds each: {runs} runs, none of which failed.",
        f"Frank-Wolfe gap V(x) ends lowest for {label}: {ends}.",
    ]


def test_all_runs_are_made_kept_and_drawn(pfbench, folder, spec, drawn):
    outcome = report(pfbench)
    assert outcome.status == 0
    assert outcome.out == "build/report/small.html\n"
    assert outcome.err.startswith("small: 4 runs planned\n")  # before anything is run
    assert said(outcome) == ["small: 4 runs (4 run, 0 cached); drawing", *found(4)]
    (read,) = drawn
    results = read.parts[0].results
    assert [plan for group in results for plan in group.plans] == read.spec.runs()
    assert {run.status for _, run in results.runs} == {"finished"}
    assert read.command.split()[0] == "pfbench"
    assert stored_runs(folder / ".pfbench" / "store") == 4


def test_what_the_store_has_is_not_run_again(pfbench, spec, drawn):
    report(pfbench)
    assert said(report(pfbench)) == ["small: 4 runs (0 run, 4 cached); drawing", *found(4)]
    spec.write_text(SPEC.replace("seeds = 2", "seeds = 3"))
    assert said(report(pfbench)) == ["small: 6 runs (2 run, 4 cached); drawing", *found(6)]


def test_the_store_and_the_output_are_chosen(pfbench, folder, spec, drawn, monkeypatch):
    monkeypatch.setenv("PFBENCH_STORE", "mine")
    report(pfbench, "-o", "out")
    assert (folder / "out" / "small.html").is_file()
    assert stored_runs(folder / "mine")
    report(pfbench, "--store", "yours", "-o", "out")
    assert stored_runs(folder / "yours")
    assert not (folder / ".pfbench").exists()


def test_json_names_the_files_and_counts_the_statuses(pfbench, spec, drawn):
    outcome = report(pfbench, "--json")
    assert (outcome.status, outcome.err) == (0, "")
    (described,) = outcome.json
    ranks = described.pop("results")
    ranked = [(rank["algorithm"], rank["seeds"], rank["measure"]) for rank in ranks]
    assert sorted(ranked) == [("SG", 2, "fw_gap"), ("SVRG", 2, "fw_gap")]
    assert described == {
        **{"schema": 2, "name": "small", "title": "A small comparison", "runs": 4},
        **{"statuses": {"finished": 4}, "orderings": [], "files": ["build/report/small.html"]},
    }


def test_without_names_the_main_report_is_drawn_and_with_all_those_of_quick_scale(
    pfbench, monkeypatch
):
    known = {"gradient-estimators": Path("g.toml"), "b": Path("b.toml"), "paper/b": Path("p.toml")}
    for module in (report_command, report_sources):
        monkeypatch.setattr(module, "report_spec_paths", lambda: known)
    assert "g.toml cannot be read" in pfbench("report", "--text").refusal
    assert "p.toml cannot be read" in pfbench("report", "paper/b", "--text").refusal
    errors = pfbench("report", "--all", "--text").err
    assert ["g.toml" in errors, "b.toml" in errors, "p.toml" in errors] == [True, True, False]


def test_all_mistakes_of_all_files_are_told_at_once(pfbench, folder, spec, drawn):
    spec.write_text(SPEC.replace("seeds = 2", "sedes = 2").replace("every = 4", "every = 0"))
    (folder / "other.toml").write_text("problems = 3\n")
    told = pfbench("report", "small.toml", "other.toml").refusals
    assert len(told) == 4
    assert all("small.toml" in line or "other.toml" in line for line in told)
    spec.write_text(SPEC.replace("nfwu-sg[", "nfwu-gs[").replace('"fw_gap"', '"gap"'))
    told = report(pfbench).refusals
    assert {("nfwu-gs" in line, "'gap'" in line) for line in told} == {(True, False), (False, True)}


def test_what_is_stored_is_drawn_and_nothing_is_run(pfbench, folder, spec, drawn):
    report(pfbench)
    spec.unlink()
    outcome = pfbench("report", "--store", ".pfbench/store")
    assert (outcome.status, outcome.out) == (0, "build/report/store.html\n")
    assert said(outcome) == found(4, "nfwu-sg")
    read = drawn[-1]
    assert len(read.spec.runs()) == 4
    assert pfbench("report", "--algorithm", "nfwu-svrg", "--json").json[0]["runs"] == 2
    assert pfbench("report", "--problem", "quadratic").refusal.startswith("the store .pfbench")
    assert "there is no store in" in pfbench("report", "--store", "none").refusal
    assert "leave out SPEC.toml" in pfbench("report", "x.toml", "--problem", "quadratic").refusal


def test_several_go_on_one_page(pfbench, folder, spec, drawn):
    (folder / "again.toml").write_text(SPEC)
    outcome = pfbench("report", "small.toml", "again.toml", "--jobs", 0, "--combine", "both")
    assert outcome.out == "build/report/both.html\n"
    (read,) = drawn
    assert [study.key for study in read.spec.studies] == ["small-small", "again-small"]
    assert "must be usable as a file name" in report(pfbench, "--combine", "../up").refusal


def test_a_report_in_the_terminal_needs_no_files(pfbench, folder, spec, drawn, monkeypatch):
    monkeypatch.setattr(writer, "find_spec", lambda name: None)
    outcome = report(pfbench, "--text")
    assert outcome.status == 0
    assert drawn == []
    assert not (folder / "build").exists()
    for says in (
        "A small comparison",
        "Small: last values",
        "none of which failed",
        "exact counts",
    ):
        assert says in outcome.out


def test_two_specs_of_one_name_are_refused(pfbench, folder, spec, drawn):
    (folder / "other").mkdir()
    (folder / "other" / "small.toml").write_text(SPEC)
    assert "two specs have the name small" in report(pfbench, "other/small.toml").refusal


def test_failed_runs_are_drawn_and_make_it_fail(pfbench, spec, drawn):
    spec.write_text(SPEC.replace("batch = 5", "batch = 1000000000000000"))
    outcome = report(pfbench)
    assert outcome.status == 1
    assert len(drawn) == 1
    assert "pfbench: 4 runs failed, marked in the reports" in outcome.err
    assert "MemoryError" in outcome.err


def test_missing_libraries_are_named_before_any_run(pfbench, folder, spec, monkeypatch):
    monkeypatch.setattr(writer, "find_spec", lambda name: None)
    assert 'pip install "pfbench[report]"' in report(pfbench).refusal
    assert not (folder / ".pfbench").exists()
