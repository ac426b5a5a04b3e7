"""``pfbench report``: which runs are made, what is drawn of them, what a failure leaves."""

import re
from pathlib import Path

import pytest
from command_line import SMALL
from stored import change, stored_runs

import pfbench.cli.report_command as report_command
import pfbench.reporting
from pfbench.runs.storage.store import Store

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

    def write_report(report, folder, *, command, commit):
        asked.append((report, command, commit))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{report.spec.name}.html").write_text("a page")
        return [folder / f"{report.spec.name}.html"]

    monkeypatch.setattr(pfbench.reporting, "write_report", write_report)
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
    ((read, command, commit),) = drawn
    plans = [plan for group in read.results[0] for plan in group.plans]
    assert plans == read.spec.runs()
    assert {run.status for _, run in read.results[0].runs} == {"finished"}
    assert command.split()[0] == "pfbench"
    assert commit is None or len(commit.rstrip("+")) == 40
    assert stored_runs(folder / ".pfbench" / "store") == 4


def test_what_the_store_has_is_not_run_again(pfbench, spec, drawn):
    report(pfbench)
    assert said(report(pfbench)) == ["small: 4 runs (0 run, 4 cached); drawing", *found(4)]
    spec.write_text(SPEC.replace("seeds = 2", "seeds = 3"))
    assert said(report(pfbench)) == ["small: 6 runs (2 run, 4 cached); drawing", *found(6)]


def test_too_few_seeds_for_the_published_orders_are_said_before_the_runs(pfbench, spec, drawn):
    ordering = '[[study.ordering]]\nsource = "a"\norder = ["SG", "SVRG"]\nmeasure = "fw_gap"\n'
    spec.write_text(f"{SPEC}\n{ordering}")
    said = "small, Small: 2 seeds can decide no published order in a test of 1 pair, unless "
    outcome = report(pfbench)
    assert outcome.err.startswith(said)
    assert outcome.status == 0
    assert report(pfbench, "--json").err == ""
    spec.write_text(f"{SPEC}\n{ordering}".replace("seeds = 2", "seeds = 4"))
    assert "can decide no published order" not in report(pfbench).err


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
    assert {(rank["algorithm"], rank["seeds"], rank["measure"]) for rank in ranks} == {
        ("SG", 2, "fw_gap"),
        ("SVRG", 2, "fw_gap"),
    }
    assert [described] == [
        {
            "schema": 2,
            "name": "small",
            "title": "A small comparison",
            "runs": 4,
            "statuses": {"finished": 4},
            "orderings": [],
            "files": ["build/report/small.html"],
        }
    ]


def test_without_names_the_main_report_is_drawn_and_with_all_those_of_quick_scale(monkeypatch):
    known = {"gradient-estimators": Path("g.toml"), "b": Path("b.toml"), "paper/b": Path("p.toml")}
    monkeypatch.setattr(report_command, "report_spec_paths", lambda: known)
    chosen = report_command._resolve_report_paths
    assert chosen(None, everything=False) == [Path("g.toml")]
    assert chosen(["paper/b"], everything=False) == [Path("p.toml")]
    assert chosen(None, everything=True) == [Path("g.toml"), Path("b.toml")]


def test_all_excludes_other_choices(pfbench):
    assert (
        "--all allows no SPEC.toml" in pfbench("report", "--all", "--problem", "quadratic").refusal
    )


def test_a_known_report_is_drawn_by_its_name(pfbench, folder, spec, drawn):
    (folder / "reports").mkdir()
    spec.rename(folder / "reports" / "small.toml")
    assert pfbench("report", "small", "--jobs", 0).out == "build/report/small.html\n"


def test_a_spec_that_is_named_twice_is_drawn_once(pfbench, spec, drawn):
    assert report(pfbench, "./small.toml").status == 0
    assert len(drawn) == 1


def test_a_sweep_is_drawn(pfbench, folder, drawn):
    (folder / "sweep.toml").write_text(
        f'problems = ["{SMALL}", "{SMALL[:-1]},seed=1]"]\nseeds = [3, 5]\n'
        'algorithms = ["nfwu-sg[batch={b},iterations=4,step=0.1]", "frank-wolfe[iterations=3]"]\n'
        'targets = "fw_gap=0.1"\n[grid]\nb = [3, 5]\n'
    )
    outcome = pfbench("report", "sweep.toml", "--jobs", 0)
    assert outcome.out == "build/report/sweep.html\n"
    ((read, *_),) = drawn
    (results,) = read.results
    assert [(panel.problem, panel.title) for panel in results.panels] == [
        (name, f"{name}, b = {b}")
        for name in ("robust-matrix-recovery", "robust-matrix-recovery[seed=1]")
        for b in (3, 5)
    ]
    assert results.study.labels == ("nfwu-sg", "frank-wolfe")
    assert all([run.seed for run in group.runs] == [3, 5] for group in results)


def test_what_does_not_fit_is_a_row(pfbench, folder, drawn):
    (folder / "sweep.toml").write_text(
        f'problems = ["{SMALL}", "quadratic[rows=9,columns=3,set=none]"]\n'
        'algorithms = "frank-wolfe[iterations=3]"\n'
    )
    outcome = pfbench("report", "sweep.toml", "--jobs", 0, "--text")
    assert outcome.status == 0
    assert "1 refused" in outcome.out
    assert drawn == []


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
    read = drawn[-1][0]
    assert len(read.spec.runs()) == 4
    assert pfbench("report", "--algorithm", "nfwu-svrg", "--json").json[0]["runs"] == 2
    assert pfbench("report", "--problem", "quadratic").refusal.startswith("the store .pfbench")
    assert "there is no store in" in pfbench("report", "--store", "none").refusal
    assert "leave SPEC.toml out" in pfbench("report", "x.toml", "--problem", "quadratic").refusal


def test_verdicts_that_the_store_has_are_shown_beside_what_is_stored(pfbench, folder, spec, drawn):
    report(pfbench)
    pfbench("verify", "shen2019-count-svrg", "--jobs", 0)
    pfbench("report", "--algorithm", "nfwu-svrg")
    known = {one.claim: one.verdict for one in drawn[-1][0].theory.claims if one.verdict}
    assert known == {"shen2019-count-svrg": "holds"}


def test_several_go_on_one_page(pfbench, folder, spec, drawn):
    (folder / "again.toml").write_text(SPEC)
    outcome = pfbench("report", "small.toml", "again.toml", "--jobs", 0, "--combine", "both")
    assert outcome.out == "build/report/both.html\n"
    ((read, *_),) = drawn
    assert [study.key for study in read.spec.studies] == ["small-small", "again-small"]
    for store in ("a/store", "b/store"):
        report(pfbench, "--store", store)
    drawn.clear()
    outcome = pfbench("report", "--store", "a/store", "--store", "b/store", "--combine", "two")
    ((read, *_),) = drawn
    assert [study.key for study in read.spec.studies] == ["a-store", "b-store"]
    assert "must be usable as a file name" in report(pfbench, "--combine", "../up").refusal


def test_a_report_in_the_terminal_needs_no_files(pfbench, folder, spec, drawn, monkeypatch):
    from pfbench.reporting import writer

    monkeypatch.setattr(writer, "find_spec", lambda name: None)
    outcome = report(pfbench, "--text")
    assert outcome.status == 0
    assert drawn == []
    assert not (folder / "build").exists()
    for says in (
        "A small comparison",
        "Small: results",
        "4 runs, none of which failed",
        "exact counts",
    ):
        assert says in outcome.out


def test_no_cell_of_a_printed_report_is_broken(pfbench, spec, drawn, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    out = report(pfbench, "--text").out
    (table,) = (part for part in out.split("Small: ") if part.startswith("exact counts"))
    heads = [line.split() for line in table.splitlines() if line.strip().startswith("algorithm")]
    assert heads
    assert [name for head in heads for name in head[1:] if name == name.upper()] == [
        *("FO", "SFO", "SSO", "HVP", "LO", "PO", "FV")
    ]
    assert max(map(len, out.splitlines())) <= 50


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


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("nfwu-sg[", "nfwu-gs[", "'nfwu-sg'"),
        ("batch = 5", "bach = 5", "names {batch}, for which setting"),
        ('"fw_gap"', '"gap"', "'fw_gap'"),
        ("seeds = 2", "seeds = 0", "seeds=0 must be at least 1"),
        ("seeds = 2", 'seeds = "two"', "seeds='two' must be an integer"),
        ("every = 4", 'every = "often"', "every = 'often'"),
        ("problems =", "problem =", "the field problems is missing"),
        ("seeds = 2", "seeds = 2\nsedes = 3", "'seeds'"),
        ("step=0.1", "step=2", "step=2 must be at most 1"),
    ],
)
def test_a_wrong_spec_is_refused_before_any_run(pfbench, folder, spec, drawn, old, new, says):
    spec.write_text(SPEC.replace(old, new))
    assert any(says in line for line in report(pfbench).refusals)
    assert drawn == []
    assert stored_runs(folder) == 0


def test_an_interruption_keeps_what_is_finished(pfbench, spec, drawn, interrupted_at):
    with interrupted_at(3):
        outcome = report(pfbench)
    assert (outcome.status, outcome.out, drawn) == (130, "", [])
    assert "interrupted" in outcome.err
    assert said(report(pfbench)) == ["small: 4 runs (1 run, 3 cached); drawing", *found(4)]


def test_a_damaged_run_in_the_store_is_made_again(pfbench, folder, spec, drawn):
    report(pfbench)
    store = Store(folder / ".pfbench" / "store")
    change(store, next(store.keys()))
    assert said(report(pfbench)) == ["small: 4 runs (1 run, 3 cached); drawing", *found(4)]


def test_missing_libraries_are_named_before_any_run(pfbench, folder, spec, monkeypatch):
    from pfbench.reporting import writer

    monkeypatch.setattr(writer, "find_spec", lambda name: None)
    assert 'pip install "pfbench[report]"' in report(pfbench).refusal
    assert not (folder / ".pfbench").exists()


@pytest.mark.long
def test_with_a_price_every_file_is_written(pfbench, folder):
    (folder / "priced.toml").write_text(f"""
seeds = 2
budget = "sfo=400"
targets = ["fw_gap=2", "fw_gap=0.5"]
price = {{ sfo = 1, lo = 50 }}
[problems]
"a & b" = "{SMALL}"
[algorithms]
FW = "frank-wolfe[iterations=8]"
"SG_%" = "nfwu-sg[batch=5,iterations=8,step=0.1]"
""")
    outcome = pfbench("report", "priced.toml", "--jobs", 0, "-o", "out")
    assert outcome.status == 0, outcome.err
    found = {path.name for path in (folder / "out").iterdir()}
    assert found == {"priced.html", "priced.csv", "priced.tex"} | {
        f"priced{kind}.{form}" for kind in ("", "-targets") for form in ("svg", "pdf")
    }
    assert "a & b,,FW,SFO + 50 LO,fw_gap,2.0," in (folder / "out" / "priced.csv").read_text()
    assert "Expected SFO + 50 LO calls" in (folder / "out" / "priced.tex").read_text()
