"""Archives of false claims: each part is recomputed, forged ones are seen."""

import json
import shutil
from pathlib import Path

import pytest
from forged_archives import archived, checking, content, forged, run
from processes import run_python

from pfbench.archive.check import CheckOutcome
from pfbench.archive.checker import _ClaimsTasks
from pfbench.archive.claim_tasks import recompute_counterexample, recompute_verdict

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
    title = "the counterexample to cyclic-stated is confirmed: "
    assert any(text.startswith(title) for text in record["counterexamples"])
    site = Path("board/site")
    link = 'href="false/counterexample-cyclic-stated.py"'
    assert link in (site / "index.html").read_text()
    assert (site / "false" / "counterexample-cyclic-stated.py").is_file()


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
