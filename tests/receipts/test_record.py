"""A record takes in what is as it says, and nothing else; its page is made of its numbers."""

import json

import pytest
from forged_receipts import forged, lowered, run

from pfbench.receipts import confined
from pfbench.receipts.board import Line, _by_class, page
from pfbench.receipts.record import CHECK, FILE, Record


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
    (place,) = record.places()
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
    assert record.places() == [place]
    assert run("record", "page", "record", "-o", "site").exit_code == 0
    board = (tmp_path / "site" / "index.html").read_text()
    assert "lazy-falls" in board
    assert 'href="https://a.org/proof"' in board
    assert (tmp_path / "site" / place.name / "receipt.html").is_file()


def test_the_page_shows_what_each_claim_reached(record, receipt, tmp_path):
    about = {"runs": [40, 40], "new": 40, "salt": "<b>", "sha256": "", "same": True}
    about |= {"least_p": 1.0, "verdicts": [2, 2], "faults": [4, 4], "text": ""}
    record.add(receipt, record.place("lazy", "0" * 64), about, "javascript:alert(1)")
    assert page(record, tmp_path / "out") == 1
    board = (tmp_path / "out" / "index.html").read_text()
    assert "javascript" not in board
    assert "<b>" not in board
    assert "f(x_t) - min f &lt;= Delta" in board
    assert board.count("<tr>") == 2 + 3  # by class, and all claims


def line(name, kind, verdict, *found, of=("convex",), proof=""):
    claim = {"name": name, "statement": f"{name} < 1", "kind": kind, "assumptions": list(of)}
    return Line(claim, verdict, f"at-{name}", *found, proof, "", "")


def test_of_each_class_the_nearest_bound_stands_first_and_what_is_violated_nowhere():
    rows = list(
        _by_class(
            [
                line("loose", "bound", "holds", 0.1, None),
                line("near", "bound", "tight", 0.2, 0.9, proof="https://a.org/b"),
                line("wrong", "bound", "violated", 1.5, None),
                line("least", "certificate", "holds", None, None),
                line("count", "count", "holds", None, None, of=("smooth",)),
            ]
        )
    )
    ((of, upper, lower, runs, program, proof),) = rows
    assert of == "convex"
    assert upper.index("near") < upper.index("loose")
    assert "wrong" not in upper
    assert "least &lt; 1" in lower
    assert "at-near/receipt.html" in runs
    assert ">0.200<" in runs
    assert ">0.900<" in program
    assert 'href="https://a.org/b"' in proof


def test_a_child_has_none_of_this_environment_and_is_ended(monkeypatch, tmp_path):
    monkeypatch.setenv("PFBENCH_SECRET", "s")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")  # bits hang on it
    monkeypatch.setattr(confined.sys, "executable", "/bin/sh")
    within = confined.Confinement((), False)

    def shell(script, seconds=20.0):
        monkeypatch.setattr(confined.subprocess, "Popen", changed(script))
        return confined.run([], seconds, within)

    popen = confined.subprocess.Popen

    def changed(script):
        return lambda command, **options: popen(["/bin/sh", "-c", script], **options)

    status, output, _ = shell(
        "echo $HOME $PFBENCH_SECRET; ulimit -f; ulimit -v; echo $OPENBLAS_CORETYPE"
    )
    assert status == 0
    home, blocks, kilobytes, kernels = output.split()
    assert kernels == "Haswell"
    assert "pfbench-record-" in home
    assert int(kilobytes) * 1024 == confined.MEMORY
    assert blocks != "unlimited"
    assert shell("sleep 60", seconds=0.2)[0] is None


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
