"""A pack is whole or not made: what the code reads is in it, and is missed by its name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import rewritten

import pfbench as package
from pfbench.runs.storage.archive import open_archive

PROBLEM = """
from hashlib import sha256
from pathlib import Path

import numpy as np

from pfbench.problems import FiniteSum
from pfbench.sets import L2Ball

FILE = {file}


class Cancer(FiniteSum):
    {declared}

    def __init__(self):
        self.rows = np.loadtxt(FILE, delimiter=",")
        self.n, self.set = len(self.rows), L2Ball(self.rows.shape[1], 1.0)
        self.digest = sha256(self.rows.tobytes()).hexdigest()

    def value(self, x):
        return float(np.mean(np.sum((x - self.rows) ** 2, axis=1)) / 2)

    def gradient(self, x):
        return x - self.rows.mean(axis=0)
"""
SPEC = """
problems = "{module}.py:Cancer"
algorithms = ["frank-wolfe[iterations=8]", "frank-wolfe[iterations=9,step=open-loop]"]
seeds = 2
measures = ["fw_gap"]
"""
BESIDE = 'Path(__file__).parent / "cancer.csv"'


@pytest.fixture
def packed(pfbench, folder, monkeypatch):
    """Pack a sweep of a problem that reads a file; return the outcome."""

    def run(file=BESIDE, declared=""):
        module = f"whole_{len(list(folder.glob('*.py')))}_{folder.name}"
        (folder / f"{module}.py").write_text(PROBLEM.format(file=file, declared=declared))
        (folder / "cancer.csv").write_text("1.5,2\n3,4\n-1,0.25\n")
        (folder / "s.toml").write_text(SPEC.format(module=module))
        return pfbench("pack", "s.toml", "-o", "a.zip", "--jobs", 1, "--json")

    monkeypatch.setattr(sys, "path", list(sys.path))
    return run


_COMMAND = (sys.executable, "-P", "-m", "pfbench", "pack", "--check", "a.zip")


def checked_elsewhere(tmp_path_factory, archive):
    """Check an archive in an empty folder, under another home, where its author's files are not."""
    away = tmp_path_factory.mktemp("away")
    (away / "a.zip").write_bytes(Path(archive).read_bytes())
    for path in Path(archive).parent.iterdir():
        if path.suffix in (".py", ".csv"):
            path.unlink()
    return subprocess.run(
        [*_COMMAND, "--fraction", "100%", "--jobs", "1", "--json"],
        env={k: v for k, v in os.environ.items() if not k.startswith("PFBENCH")}
        | {"PYTHONPATH": str(Path(package.__file__).parents[1]), "HOME": str(away)},
        cwd=away,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_problem_that_reads_a_csv_is_made_again_elsewhere(packed, folder, tmp_path_factory):
    outcome = packed()
    assert outcome.status == 0, outcome.err
    assert [*outcome.json["reads"]] == ["cancer.csv"]
    with open_archive(folder / "a.zip") as archive:
        assert archive.read("code/cancer.csv") == (folder / "cancer.csv").read_bytes()
        assert b"numpy==" in archive.read("lock.txt")
    done = checked_elsewhere(tmp_path_factory, folder / "a.zip")
    assert done.returncode == 0, done.stderr
    assert '"same_bits": 4' in done.stdout


def test_a_byte_of_the_csv_that_is_changed_is_told_by_name(packed, pfbench, folder):
    assert packed().status == 0
    whole = (folder / "a.zip").read_bytes()

    def changed(files):
        return files | {"code/cancer.csv": b"1.5,2\n3,4\n-1,0.26\n"}

    rewritten(folder / "a.zip", changed)  # with a right hash: it is no longer what was run
    outcome = pfbench("pack", "--check", "a.zip", "--jobs", 1)
    assert outcome.status == 1
    assert "differs in its data" in outcome.err
    assert "cancer.csv" in outcome.err
    place = whole.index(b"code/cancer.csv") + len(b"code/cancer.csv") + 3
    (folder / "a.zip").write_bytes(whole[:place] + b"\x00" + whole[place + 1 :])
    outcome = pfbench("pack", "--check", "a.zip", "--jobs", 1)
    assert outcome.status == 1
    assert "cancer.csv in a.zip does not match its hash" in outcome.err
    assert "not made again: error" in outcome.err


def test_a_file_with_an_origin_is_named_and_taken_from_a_folder(packed, pfbench, folder):
    origin = "https://example.org/cancer.csv"
    assert packed(declared=f'files = {{"cancer.csv": "{origin}"}}').status == 0
    with open_archive(folder / "a.zip") as archive:
        assert "code/cancer.csv" not in archive.names
        assert archive.manifest["origins"] == {"cancer.csv": origin}
    (folder / "other").mkdir()
    (folder / "cancer.csv").rename(folder / "other" / "cancer.csv")
    outcome = pfbench("pack", "--check", "a.zip", "--jobs", 1)
    assert outcome.status == 1
    assert f"cancer.csv, which is not in a.zip, is not in .: get it from {origin}" in outcome.err
    outcome = pfbench("pack", "--check", "a.zip", "--jobs", 1, "--files", "other", "--json")
    assert outcome.status == 0, outcome.err
    (folder / "other" / "cancer.csv").write_text("1.5,2\n3,4\n-1,0.26\n")
    outcome = pfbench("pack", "--check", "a.zip", "--jobs", 1, "--files", "other")
    assert outcome.status == 1
    assert "cancer.csv, which is not in a.zip, has other bytes in other" in outcome.err


def test_what_an_archive_cannot_have_is_refused_by_name(packed, folder, tmp_path_factory):
    away = tmp_path_factory.mktemp("data") / "cancer.csv"
    away.write_text("1,2\n3,4\n")
    assert f"{away} is read" in packed(file=f"{str(away)!r}").refusals[-1]
    assert not (folder / "a.zip").exists()
    assert "files names" in packed(declared='files = ("other.csv",)').refusals[-1]


def test_a_file_that_is_too_large_needs_an_origin(packed, folder, monkeypatch):
    from pfbench.runs import archive_inputs

    monkeypatch.setattr(archive_inputs, "MOST_OF_FILE", 10)
    assert "say where it is got" in packed().refusals[-1]
