"""A record takes in what is as it says, and nothing else; its page is made of its numbers."""

import hashlib
import json

import numpy as np
import pytest
from forged_receipts import forged, lowered, run

from pfbench.claims import kim2026
from pfbench.cli.catalogue import suite_spec_paths
from pfbench.cli.compare import load_suite_archive
from pfbench.receipts import confinement
from pfbench.receipts.comparison_receipt import standings
from pfbench.receipts.record import CHECK, FILE, Record
from pfbench.receipts.record_site import BoardRow, SuiteStandings, _class_rows, page
from pfbench.runs.planning.spec import load_spec
from pfbench.verification.outcomes import ErratumFinding


@pytest.fixture
def record(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("record", "init", "record").exit_code == 0
    return Record.open(tmp_path / "record")


@pytest.mark.slow
def test_an_honest_one_is_taken_in_and_a_forged_one_is_not(record, receipt, tmp_path):
    """By the command, in confined children."""
    done = run("record", "add", "record", receipt, "--jobs", 1, "--proof", "https://a.org/proof")
    assert done.exit_code == 0, done.output
    assert "a stranger's" in done.stderr
    (place,) = record.list_folders()
    assert (place / FILE).read_bytes() == receipt.read_bytes()
    kept = json.loads((place / CHECK).read_text())
    assert kept["runs"] == [40, 40]
    again = run("record", "add", "record", receipt, "--jobs", 1)
    assert again.exit_code == 2
    assert "there already" in again.stderr
    false = forged(receipt, tmp_path / "lowered.zip", rows=lowered)
    done = run("record", "add", "record", false, "--jobs", 1)
    assert done.exit_code == 1
    assert "made again has sfo" in done.stderr
    assert record.list_folders() == [place]
    assert run("record", "page", "record", "-o", "site").exit_code == 0
    board = (tmp_path / "site" / "index.html").read_text()
    assert "lazy-falls" in board
    assert 'href="https://a.org/proof"' in board
    assert (tmp_path / "site" / place.name / "receipt.html").is_file()


KEPT = {"runs": [40, 40], "new": 40, "salt": "<b>", "sha256": "", "same": True, "text": ""}
KEPT |= {"least_p": 1.0, "verdicts": [2, 2], "faults": [4, 4]}


def test_the_page_shows_what_each_claim_reached(record, receipt, tmp_path):
    record.add(receipt, record.find_folder("lazy", "0" * 64), KEPT, "javascript:alert(1)")
    assert page(record, tmp_path / "out") == 1
    board = (tmp_path / "out" / "index.html").read_text()
    assert "javascript" not in board
    assert "<b>" not in board
    assert "f(x_t) - min f &lt;= Delta" in board
    assert board.count("<tr>") == 2 + 3  # by class, and all claims
    assert "Errata" not in board


def test_the_page_shows_errata_that_are_seen_and_suites_by_their_version(record, receipt, tmp_path):
    def erratum(name, shown):
        words = {"as_printed": "a <= b", "corrected": "a <= 2 b", "claim": "", "ruling": "wrong"}
        return {"erratum": name, **words, "evidence": {"shown": shown}, "readings": {}}

    def with_errata(about):
        about["errata"] += [erratum("of-one", True), erratum("of-two", False)]
        about["claims"][0] |= {"homogeneous": False, "normalised": "L is 1 <here>"}
        about["claims"][0] |= {"method": "", "assumptions": ["f convex"]}

    path = forged(receipt, tmp_path / "errata.zip", about=with_errata)
    record.add(path, record.find_folder("lazy", "0" * 64), KEPT, "")
    suite = SuiteStandings("small", "seeds = 1", [("<i>m</i>", "first on 1 of 2")])
    page(record, tmp_path / "out", [suite])
    board = (tmp_path / "out" / "index.html").read_text()
    assert "of-one" in board
    assert "of-two" not in board
    assert "<td>✗ L is 1 &lt;here&gt;</td>" in board
    assert "<td>f convex</td>" in board
    assert "a &lt;= 2 b" in board
    assert f"Suite small, version {hashlib.sha256(b'seeds = 1').hexdigest()[:12]}" in board
    assert "<td>&lt;i&gt;m&lt;/i&gt;</td><td>first on 1 of 2</td>" in board


def test_every_method_of_a_suite_stands_somewhere():
    """Of the suite of norms: each once, the one that is first most often first."""
    path = suite_spec_paths()["norms"]
    rows = list(standings(load_spec(path), load_suite_archive(path)))
    firsts = [int(where.split()[2]) for _, where in rows]
    assert firsts == sorted(firsts, reverse=True)
    assert len(dict(rows)) == len(rows) > 8
    for _, where in rows:
        numbers = [int(one) for one in where.split() if one.isdigit()]
        assert numbers[0] + sum(numbers[2:]) == numbers[1]


def line(name, kind, verdict, *found, of=("convex",), proof=""):
    claim = {"name": name, "statement": f"{name} < 1", "kind": kind, "assumptions": list(of)}
    claim["method"] = "its-method"
    return BoardRow(claim, verdict, f"at-{name}", *found, proof, "", "")


def test_of_each_class_the_nearest_bound_stands_first_and_what_is_violated_nowhere():
    rows = list(
        _class_rows(
            [
                line("loose", "bound", "holds", 0.1, None, None),
                line("near", "bound", "within-10", 0.2, 0.9, None, proof="https://a.org/b"),
                line("wrong", "bound", "violated", 1.5, None, None),
                line("least", "certificate", "holds", None, None, 0.8),
                line("count", "count", "holds", None, None, None, of=("smooth",)),
                line("bare", "bound", "holds", 0.5, None, None, of=()),
            ]
        )
    )
    (of, upper, lower, runs, program, oracle, proof), (of_method, *_) = rows
    assert of_method == "not stated, its-method"
    assert of == "convex"
    assert upper.index("near") < upper.index("loose")
    assert "wrong" not in upper
    assert "least &lt; 1" in lower
    assert "at-near/receipt.html" in runs
    assert ">0.200<" in runs
    assert ">0.900<" in program
    assert ">0.800<" in oracle
    assert "at-least" in oracle
    assert 'href="https://a.org/b"' in proof


def test_a_child_has_none_of_this_environment_and_is_ended(monkeypatch, tmp_path):
    monkeypatch.setenv("PFBENCH_SECRET", "s")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")  # bits hang on it
    monkeypatch.setattr(confinement.sys, "executable", "/bin/sh")
    within = confinement.Confinement((), False)

    def shell(script, seconds=20.0):
        monkeypatch.setattr(confinement.subprocess, "Popen", changed(script))
        return confinement.run([], seconds, within)

    popen = confinement.subprocess.Popen

    def changed(script):
        return lambda command, **options: popen(["/bin/sh", "-c", script], **options)

    status, output, _ = shell(
        "echo $HOME $PFBENCH_SECRET; ulimit -f; ulimit -v; echo $OPENBLAS_CORETYPE"
    )
    assert status == 0
    home, blocks, kilobytes, kernels = output.split()
    assert kernels == "Haswell"
    assert "pfbench-record-" in home
    assert int(kilobytes) * 1024 == confinement.MEMORY
    assert blocks != "unlimited"
    assert shell("sleep 60", seconds=0.2)[0] is None


def test_a_report_of_a_child_that_was_ended_is_not_believed(record, receipt, monkeypatch):
    """A stranger's code can print what a check would, with its salt, and end the check."""

    def ended(arguments, seconds, within):
        salt = arguments[arguments.index("--salt") + 1]
        return -9, json.dumps({**KEPT, "salt": salt, "off": [], "unreached": []}), ""

    monkeypatch.setattr(confinement, "run", ended)
    done = run("record", "add", "record", receipt)
    assert done.exit_code == 1
    assert "was ended before its end (status -9)" in done.stderr
    assert record.list_folders() == []


def test_a_finding_is_told_in_json_whatever_kind_of_truth_it_measured():
    (erratum, *_) = kim2026.PAPER.errata
    found = ErratumFinding(
        erratum=erratum, evidence={}, is_shown=np.bool_(1), readings={"a": np.bool_(0)}
    )
    told = json.loads(json.dumps(found.as_json()))
    assert told["evidence"]["shown"] is True
    assert told["readings"] == {"a": False}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["init", "."], "has something in it"),
        (["add", "none", "a.zip"], "is no record"),
        (["check", "record"], "has no receipt"),
        (["add", "record", "a.zip", "--proof", "javascript:1"], "must be a link"),
        (["add", "record", "a.zip"], "a.zip"),
    ],
)
def test_what_cannot_be_is_refused(record, arguments, says):
    done = run("record", *arguments)
    assert done.exit_code == 2
    assert says in done.stderr
