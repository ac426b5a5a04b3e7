"""An archive of a false claim carries the counterexample that is found; a check confirms it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forged_archives import checking, content, forged, run

from pfbench.archive.checker import _ClaimsTasks
from pfbench.archive.claim_tasks import recompute_counterexample, recompute_verdict

CLAIMS = Path(__file__).parents[1] / "falsifying" / "claims" / "verified.py"


@pytest.fixture(scope="module")
def archived(tmp_path_factory):
    """The archive of two false claims and a true one, made by the command."""
    folder = tmp_path_factory.mktemp("author")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", list(sys.path))
        shutil.copy(CLAIMS, "to_archive.py")
        command = ("archive", "make", "to_archive.py", "-o", "false.zip", "--faults", 0)
        done = run(*command, "--store", "store", "--jobs", 0)
        sys.modules.pop("to_archive", None)
    assert done.exit_code == 1
    assert "cyclic-stated is violated: A searched instance violates it: " in done.stderr
    (folder / "to_archive.py").unlink()
    return folder / "false.zip"


def test_false_claims_carry_it_and_a_true_one_has_none(archived, tmp_path):
    about, inside = content(archived)
    records = {record["claim"]: record for record in about["counterexamples"]}
    assert records.keys() == {"cyclic-stated", "cyclic-unstated"}
    assert [row["verdict"] for row in about["verdicts"]] == ["violated", "within-10", "within-10"]
    record = records["cyclic-stated"]
    assert record["arithmetic"] == "rational"
    script = inside["counterexample-cyclic-stated.py"]
    assert script.decode() == record["script"]
    (tmp_path / "script.py").write_bytes(script)
    command = [sys.executable, "-I", str(tmp_path / "script.py")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"ratio {record['ratio']!r}" in printed
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
def test_each_part_of_it_is_computed_again(archived, importable, tmp_path, change, says):
    about, inside = content(archived)
    theorem = importable("to_archive", inside["code/to_archive.py"].decode())
    record, _ = about["counterexamples"]
    record |= change(record)
    check = checking(archived, tmp_path / "inside")
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
def test_a_check_confirms_it_and_the_page_of_a_collection_shows_it(archived, tmp_path, monkeypatch):
    def without_it(about):
        about["counterexamples"] = about["counterexamples"][1:]

    def another_script(files):
        return {**files, "counterexample-descent.py": b"print('ratio 2')\n"}

    monkeypatch.chdir(tmp_path)
    Path("board").mkdir()
    shutil.copy(archived, "board/false.zip")
    forged(archived, Path("board/hidden.zip"), about=without_it, files=another_script)
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
