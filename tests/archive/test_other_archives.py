"""Archives of false claims and of comparisons: each part is recomputed, forged ones are seen."""

import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from compared import METHODS, SUITE
from forged_archives import archived, checked_elsewhere, checking, content, forged, run
from processes import run_python

from pfbench.archive.check import CheckOutcome
from pfbench.archive.checker import _all_check_tasks, _ClaimsTasks, _recompute_table
from pfbench.archive.claim_tasks import recompute_counterexample, recompute_verdict
from pfbench.archive.comparison import read_interface
from pfbench.archive.unpacking import read_runs

CLAIMS = Path(__file__).parents[1] / "falsifying" / "claims" / "verified.py"


@pytest.fixture(scope="module")
def false_claims(tmp_path_factory):
    """The archive of two false claims and a true one, made by the command."""
    folder, given = tmp_path_factory.mktemp("author"), ("-o", "false.zip", "--faults", 0)
    texts = {"to_archive.py": CLAIMS.read_text()}
    done = archived(folder, texts, "to_archive.py", *given, status=1)
    assert "cyclic-stated is violated: A searched instance violates it: " in done.stderr
    (folder / "to_archive.py").unlink()
    return folder / "false.zip"


def test_false_claims_carry_it_and_a_true_one_has_none(false_claims, tmp_path):
    about, inside = content(false_claims)
    records = {record["claim"]: record for record in about["counterexamples"]}
    assert records.keys() == {"cyclic-stated", "cyclic-unstated"}
    assert [row["verdict"] for row in about["verdicts"]] == ["violated", "within-10", "within-10"]
    record = records["cyclic-stated"]
    assert record["arithmetic"] == "rational"
    script = inside["counterexample-cyclic-stated.py"]
    assert script.decode() == record["script"]
    (tmp_path / "script.py").write_bytes(script)
    assert f"ratio {record['ratio']!r}" in run_python("-I", tmp_path / "script.py")[0]
    assert "counterexample-descent.py" not in inside
    assert f"{record['measured']:g} > {record['bound']:g} at t" in inside["page.md"].decode()


def moved(record):
    instance = json.loads(json.dumps(record["instance"]))
    instance["start"] = instance["profiles"][0]["anchor"] = "0"
    return {"instance": instance}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda record: {}, ""),
        (moved, "is not one: "),
        (lambda record: {"instance": {}}, "is not one: KeyError: 'family'"),
        (
            lambda record: {"label": "another"},
            "is not one: the claim cyclic-stated has no bound with the label 'another'",
        ),
        (lambda record: {"ratio_exact": "3"}, ": ratio_exact: 3/2 recomputed, 3 in the archive"),
        (lambda record: {"measured": 2 * record["measured"]}, ": measured: "),
        (
            lambda record: {"assumptions": {"f smooth": "allowed"}},
            ": assumptions: f smooth: computed recomputed, allowed in the archive",
        ),
        (lambda record: {"script": record["script"] + "import os\n"}, ": script: "),
    ],
)
def test_each_part_of_it_is_computed_again(false_claims, importable, tmp_path, change, says):
    about, inside = content(false_claims)
    theorem = importable("to_archive", inside["code/to_archive.py"].decode())
    record, _ = about["counterexamples"]
    record |= change(record)
    check = checking(false_claims, tmp_path / "inside")
    again = json.loads(json.dumps(recompute_counterexample(theorem, record)))
    _ClaimsTasks(check, check.manifest).compare_counterexample(record, again)
    title = "the counterexample to cyclic-stated"
    if not says:
        assert check.outcome.deviations == []
        (sentence,) = check.outcome.confirmed
        assert sentence.startswith(f"{title} is confirmed: {record['measured']:g} > ")
        name, seed = about["verdicts"][0]["claim"], about["seed"]
        verdict = recompute_verdict(theorem, name, "quick", seed, [record])
        assert verdict["reason"] == about["verdicts"][0]["reason"]
        assert recompute_verdict(theorem, name, "quick", seed)["verdict"] == "within-10"
    else:
        assert check.outcome.confirmed == []
        (text,) = check.outcome.deviations
        assert text.startswith(f"{title}{says}" if says[0] == ":" else f"{title} {says}")


@pytest.mark.slow
def test_a_check_confirms_it_and_the_page_of_a_collection_shows_it(
    false_claims, tmp_path, monkeypatch
):
    def without_it(about):
        about["counterexamples"] = about["counterexamples"][1:]

    def another_script(files):
        return {**files, "counterexample-descent.py": b"print('ratio 2')\n"}

    monkeypatch.chdir(tmp_path)
    Path("board").mkdir()
    shutil.copy(false_claims, "board/false.zip")
    forged(false_claims, Path("board/hidden.zip"), about=without_it, files=another_script)
    done = run("archive", "collect", "board", "--jobs", 1, "--seconds", 400)
    assert done.exit_code == 1
    says = "hidden.zip: the verdict on cyclic-stated: verdict: within-10 recomputed, violated"
    assert says in done.stderr
    assert "hidden.zip: counterexample-descent.py does not match the results" in done.stderr
    record = json.loads(Path("board/false.check.json").read_text())
    assert "The counterexample to cyclic-stated is confirmed: " in record["text"]
    site = Path("board/site")
    link = 'href="false/counterexample-cyclic-stated.py"'
    assert link in (site / "index.html").read_text()
    assert (site / "false" / "counterexample-cyclic-stated.py").is_file()


# --- The archive of a comparison: drawn from its runs alone, and each forged part is seen ---------


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A suite with methods, and the archive of one of them."""
    folder = tmp_path_factory.mktemp("comparison")
    texts = {"suite.toml": SUITE, "methods_of_mine.py": METHODS}
    given = "methods_of_mine.py:Steps", "--suite", "suite.toml", "-o", "steps.zip"
    archived(folder, texts, *given)
    return folder


@pytest.fixture
def checked(home, tmp_path, monkeypatch):
    """Check an archive in this process, without new seeds; return what became of it."""
    monkeypatch.setattr(sys, "path", [str(home), *sys.path])

    def of(path, suite=None):
        folder = tmp_path / "inside"
        check = checking(path, folder)
        _recompute_table(check, suite, read_runs(folder))
        tasks = _all_check_tasks(check, read_runs(folder))
        stored = [task for task in tasks if not task.description.startswith("new seeds")]
        check.process_until_time_limit(stored)
        return check.outcome

    yield of
    sys.modules.pop("methods_of_mine", None)


@pytest.mark.long
def test_an_honest_one_passes_elsewhere(home, tmp_path):
    """With the same pages."""
    found = checked_elsewhere(home / "steps.zip", tmp_path)
    assert found["runs"][0] > 20
    assert found["new"] >= 2 * 3
    assert "methods_of_mine:Steps on the suite suite" in found["text"]
    assert found["inside"] == {"statements": 1}
    assert "Archived code computed: statements (1)." in found["text"]


def test_it_holds_all_that_it_should(home):
    about, inside = content(home / "steps.zip")
    assert {"spec.toml", "lock.txt", "code/methods_of_mine.py"} <= {*inside}
    assert about["says"].startswith("first on")
    assert f"suite · {about['says']}" in inside["badge.svg"].decode()
    assert "| log-cosh" in inside["page.md"].decode() or "| cosh" in inside["page.md"].decode()


def of(name):
    def chosen(plan):
        return name in plan["algorithm"] and plan["seed"] == 1 and "quadratic" in plan["problem"]

    return chosen


def changing(chosen, change):
    """Return a change of all runs of some plans; without one they are removed."""

    def changed(store):
        for key in [*store.keys()]:
            entry = store.get(key)
            if not chosen(entry.notes["plan"]):
                continue
            if change is None:
                store.remove([("run", key)])
            else:
                store.put(key, change(entry.run), entry.environment, entry.notes)

    return changed


def more_calls(run):
    return replace(run, counts=replace(run.counts, lo=run.counts.lo + 1))


def row_left_out(run):
    """The one in which a rival reaches the target, so that it seems to reach it later."""
    return replace(run, rows=(*run.rows[:-2], *run.rows[-1:]))


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    ("method", "change", "says"),
    [
        ("Steps", more_calls, "differs here in lo"),
        ("frank-wolfe", more_calls, "differs here in lo"),
        ("frank-wolfe", row_left_out, "length of the trace"),
        ("Steps", None, "are not in the archive, e.g. that of methods_of_mine:Steps"),
    ],
)
def test_forged_runs_are_seen_of_the_method_and_of_others(
    home, tmp_path, checked, method, change, says
):
    path = forged(home / "steps.zip", tmp_path / "f.zip", runs=changing(of(method), change))
    off = checked(path).deviations
    assert off
    assert all(says in text for text in off), off  # and no other run differs


def test_the_table_is_drawn_where_nothing_of_its_code_is_imported(home, tmp_path, monkeypatch):
    """The method's process says what it requires; without that nothing is known of it here."""
    check = checking(home / "steps.zip", tmp_path / "inside")
    asked = []

    def do(tasks):
        asked.extend(item.task for item in tasks)
        item = tasks[0]
        value = [["batch", "lo"], ["iterations", "step"], {}]
        item.on_result(item.task.function(*item.task.arguments) if asked[1:] else value)

    object.__setattr__(check, "process_until_time_limit", do)
    monkeypatch.setitem(sys.modules, "methods_of_mine", None)  # an import of it raises
    _, _, *rows = _recompute_table(check, None, read_runs(tmp_path / "inside"))
    assert check.outcome.deviations == []
    assert len(rows) == 4  # two problems, two targets
    assert [bool(task.untrusted_code_folder) for task in asked] == [True, False]


@pytest.mark.parametrize(
    "answer", [None, [], [["lo"], [1], {}], [["lo"], ["step"], {"step": "__import__('os')"}]]
)
def test_what_is_no_interface_of_a_method_is_refused(answer):
    with pytest.raises((ValueError, TypeError)):
        read_interface(answer)


@pytest.mark.long
def test_a_sentence_that_its_runs_do_not_say_is_seen(home, tmp_path, checked):
    def boast(about):
        about["says"] = re.sub("first on [0-9]+", "first on 9", about["says"])

    off = checked(forged(home / "steps.zip", tmp_path / "f.zip", about=boast)).deviations
    assert any("first on 9" in text for text in off), off


@pytest.mark.long
def test_a_suite_of_pfbench_is_the_one_that_is_here(home, tmp_path, checked):
    other = tmp_path / "other.toml"
    other.write_text(SUITE + "# another")
    off = checked(home / "steps.zip", other).deviations
    assert off == ["the archive has a suite suite other than that of pfbench"]


def test_runs_of_another_law_are_seen_by_new_seeds_alone():
    """Ten old runs that needed half as much as twenty new ones."""
    honest, wrong = CheckOutcome(), CheckOutcome()
    runs = [{"sfo": 100 + k} for k in range(30)]
    honest.compare_distributions("cell", runs[::3], [*runs[1::3], *runs[2::3]])
    wrong.compare_distributions("cell", runs[:10], runs[10:])
    for each in (honest, wrong):
        each.record_significant_differences()
    assert honest.p_values
    assert honest.deviations == []
    assert "sfo of cell differs" in wrong.deviations[0]
