"""``pfbench report``: which runs are made, what is drawn of them, what a failure leaves."""

import pytest
from command_line import SMALL

import pfbench.reporting

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


def test_all_runs_are_made_kept_and_drawn(pfbench, folder, spec, drawn):
    outcome = report(pfbench)
    assert outcome.status == 0
    assert outcome.out == "build/report/small.html\n"
    # On a busy machine lines on the progress come before it.
    assert outcome.err.splitlines()[-1] == "small: 4 runs, 4 of them made now; drawing"
    ((read, command, commit),) = drawn
    plans = [plan for group in read.results[0] for plan in group.plans]
    assert plans == read.spec.runs()
    assert {run.status for _, run in read.results[0].runs} == {"finished"}
    assert command.split()[0] == "pfbench"
    assert commit is None or len(commit.rstrip("+")) == 40
    assert len(list((folder / ".pfbench" / "store").rglob("*.parquet"))) == 4


def test_what_the_store_has_is_not_run_again(pfbench, spec, drawn):
    report(pfbench)
    assert report(pfbench).err.endswith("small: 4 runs, 0 of them made now; drawing\n")
    spec.write_text(SPEC.replace("seeds = 2", "seeds = 3"))
    assert report(pfbench).err.endswith("small: 6 runs, 2 of them made now; drawing\n")


def test_the_store_and_the_output_are_chosen(pfbench, folder, spec, drawn, monkeypatch):
    monkeypatch.setenv("PFBENCH_STORE", "mine")
    report(pfbench, "-o", "out")
    assert (folder / "out" / "small.html").is_file()
    assert list((folder / "mine").rglob("*.parquet"))
    report(pfbench, "--store", "yours", "-o", "out")
    assert list((folder / "yours").rglob("*.parquet"))
    assert not (folder / ".pfbench").exists()


def test_json_names_the_files_and_counts_the_statuses(pfbench, spec, drawn):
    outcome = report(pfbench, "--json")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.json == [
        {
            "schema": 1,
            "name": "small",
            "title": "A small comparison",
            "runs": 4,
            "statuses": {"finished": 4},
            "files": ["build/report/small.html"],
        }
    ]


def test_a_known_report_is_drawn_by_its_name(pfbench, folder, spec, drawn):
    (folder / "reports").mkdir()
    spec.rename(folder / "reports" / "small.toml")
    assert pfbench("report", "small", "--jobs", 0).out == "build/report/small.html\n"


def test_a_spec_that_is_named_twice_is_drawn_once(pfbench, spec, drawn):
    assert report(pfbench, "./small.toml").status == 0
    assert len(drawn) == 1


def test_two_specs_of_one_name_are_refused(pfbench, folder, spec, drawn):
    (folder / "other").mkdir()
    (folder / "other" / "small.toml").write_text(SPEC)
    assert "two specs are called small" in report(pfbench, "other/small.toml").refusal


def test_failed_runs_are_drawn_and_make_it_fail(pfbench, spec, drawn):
    spec.write_text(SPEC.replace("batch = 5", "batch = 1000000000000000"))
    outcome = report(pfbench)
    assert outcome.status == 1
    assert len(drawn) == 1
    assert "pfbench: 4 runs failed, and the reports show them as such" in outcome.err
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
    assert list(folder.rglob("*.parquet")) == []


def test_an_interruption_keeps_what_is_finished(pfbench, spec, drawn, interrupted_at):
    with interrupted_at(3):
        outcome = report(pfbench)
    assert (outcome.status, outcome.out, drawn) == (1, "", [])
    assert "interrupted" in outcome.err
    assert report(pfbench).err == "small: 4 runs, 1 of them made now; drawing\n"


def test_a_damaged_run_in_the_store_is_made_again(pfbench, folder, spec, drawn):
    report(pfbench)
    damaged = next((folder / ".pfbench").rglob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:100])
    assert report(pfbench).err == "small: 4 runs, 1 of them made now; drawing\n"


def test_missing_libraries_are_named_before_any_run(pfbench, folder, spec, monkeypatch):
    from pfbench.reporting import writing

    monkeypatch.setattr(writing, "find_spec", lambda name: None)
    assert 'pip install "pfbench[report]"' in report(pfbench).refusal
    assert not (folder / ".pfbench").exists()
