"""A collection lists what is as it says, and nothing else; its page is made of its numbers."""

import json
import shutil

import numpy as np
import pytest
from forged_archives import change_run, fewer_calls, forged, run

from pfbench.archive.site import CheckedArchive, read_record, write_record, write_site
from pfbench.claims import kim2026
from pfbench.runs.storage.archive import open_archive
from pfbench.verification.session import ErratumFinding

CHECKED = {"runs": [40, 40], "new": 40, "salt": "<b>", "sha256": "", "verdicts": [2, 2]}
CHECKED |= {"off": [], "unreached": []}


@pytest.mark.slow
def test_an_honest_one_is_listed_and_a_forged_one_is_not(archive, tmp_path, monkeypatch, conforms):
    """By the command; what was checked is not checked again while its bytes are the same."""
    monkeypatch.chdir(tmp_path)
    honest = tmp_path / "board" / "lazy.zip"
    honest.parent.mkdir()
    shutil.copy(archive, honest)
    write_record(honest, CHECKED | {"sha256": open_archive(honest).sha256})
    forged(archive, tmp_path / "board" / "lowered.zip", runs=change_run(fewer_calls))
    done = run("archive", "collect", "board", "--jobs", 1, "--json")
    assert done.exit_code == 1
    printed = conforms(json.loads(done.stdout), "archive-collect.json")["archives"]
    assert [(item["archive"], bool(item["wrong"])) for item in printed] == [
        ("lazy.zip", False),
        ("lowered.zip", True),
    ]
    assert "lowered.zip: the run of lazy_descent:Lazy" in done.stderr
    assert "1 archive left out" in done.stderr
    board = (tmp_path / "board" / "site" / "index.html").read_text()
    assert board.count("lazy/index.html") == 2
    assert "lowered" not in board
    (tmp_path / "board" / "lowered.zip").unlink()
    done = run("archive", "collect", "board", "--jobs", 1)
    assert done.exit_code == 0
    assert "running" not in done.stderr


def test_what_a_check_found_holds_for_the_same_bytes_alone(archive, tmp_path):
    path, digest = tmp_path / "a.zip", "0" * 64
    assert read_record(path, digest) is None
    write_record(path, CHECKED | {"sha256": digest})
    assert read_record(path, digest)["runs"] == [40, 40]
    assert read_record(path, "1" * 64) is None
    path.with_suffix(".check.json").write_text("[]")
    assert read_record(path, digest) is None


def test_the_site_shows_claims_by_class(archive, tmp_path):
    def with_class(about):
        about["claims"][0] |= {"homogeneous": False, "normalised": "L is 1 <here>"}
        about["claims"][0] |= {"method": "", "assumptions": ["f convex"]}

    path = forged(archive, tmp_path / "class.zip", about=with_class)
    write_site([CheckedArchive(open_archive(path), CHECKED)], tmp_path / "out")
    board = (tmp_path / "out" / "index.html").read_text()
    assert "<td>✗ L is 1 &lt;here&gt;</td>" in board
    assert "<td>f convex</td>" in board
    assert "<b>" not in board
    assert board.count("<tr>") == 3
    assert "f(x_t) - min f &lt;= Delta" in board
    names = {item.name for item in (tmp_path / "out" / "class").iterdir()}
    assert names == {"index.html", "badge.svg"}


def test_a_finding_is_told_in_json_whatever_kind_of_truth_it_measured():
    (erratum, *_) = kim2026.PAPER.errata
    found = ErratumFinding(
        erratum=erratum, evidence={}, is_shown=np.bool_(1), readings={"a": np.bool_(0)}
    )
    told = json.loads(json.dumps(found.as_json()))
    assert told["evidence"]["shown"] is True
    assert told["readings"] == {"a": False}


def test_a_folder_without_archives_is_refused(tmp_path):
    done = run("archive", "collect", tmp_path)
    assert done.exit_code == 2
    assert "has no archive" in done.stderr
