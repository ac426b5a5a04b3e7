"""The archive of a sweep: recomputed with the same bits, and whole or not made."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import SMALL
from forged_archives import (
    archived,
    change_run,
    checking,
    content,
    fewer_calls,
    forged,
    run,
    with_runs,
    without_one,
)

import pfbench as package
from pfbench.archive.checker import _all_check_tasks
from pfbench.archive.unpacking import read_runs
from pfbench.runs.storage.archive import data_files, open_archive

SPEC = f"""
problems = "{SMALL}"
algorithms = ["nfwu-svrg[batch=7,period=4,iterations=10,step=0.1]"]
seeds = 2
budget = "sfo=100000"
measures = ["fw_gap"]
"""


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """An archive of two runs."""
    folder = tmp_path_factory.mktemp("sweep")
    for name, most in (("s", 100000), ("less", 150)):
        text = SPEC.replace("sfo=100000", f"sfo={most}")
        archived(folder, {f"{name}.toml": text}, f"{name}.toml", "-o", f"{name}.zip")
    return folder / "s.zip"


def checked(path, folder):
    """Check an archive in this process; return what is not as it says."""
    check = checking(path, folder)
    check.process_until_time_limit(list(_all_check_tasks(check, read_runs(folder))))
    return check.outcome


def test_it_says_what_is_in_it_and_its_runs_have_the_same_bits(sweep, tmp_path):
    about, inside = content(sweep)
    assert inside["spec.toml"] == (sweep.parent / "s.toml").read_bytes()
    assert (about["kind"], about["planned"], [*about["problems"]]) == ("sweep", 2, [SMALL])
    found = checked(sweep, tmp_path / "inside")
    assert (found.runs, found.fresh_runs, found.deviations) == ([2, 2], 3, [])


def test_of_a_run_that_was_cut_from_a_longer_one_the_longer_one_is_inside(sweep, tmp_path):
    keys = []
    for name in ("s", "less"):
        data = content(sweep.parent / f"{name}.zip")[1]["store.sqlite"]
        with_runs(data, lambda store: keys.append([*store.keys()]))
    assert keys[0] == keys[1]
    assert checked(sweep.parent / "less.zip", tmp_path / "inside").deviations == []


def other_value(run):
    return replace(run, final=dict.fromkeys(run.final, 0.0))


def last_bit(run):
    *rows, last = run.rows
    return replace(run, rows=[*rows, (*last[:-1], last[-1] * (1 + 2**-50))])


@pytest.mark.parametrize(
    ("runs", "elsewhere", "says"),
    [
        (change_run(fewer_calls), False, "differs here in sfo"),
        (change_run(fewer_calls), True, "differs here in sfo"),
        (change_run(other_value), False, "differs here in final"),
        (change_run(last_bit), False, "differs here in column"),
        (change_run(last_bit), True, ""),
        (without_one, False, "1 planned runs are not in the archive"),
    ],
)
def test_forged_runs_are_seen_elsewhere_by_their_counts(sweep, tmp_path, runs, elsewhere, says):
    def changed(store):
        runs(store)
        for key in [*store.keys()] if elsewhere else ():
            entry = store.get(key)
            store.put(key, entry.run, {**entry.environment, "numpy": "1.0"}, entry.notes)

    path = forged(sweep, tmp_path / "forged.zip", runs=changed)
    off = checked(path, tmp_path / "inside").deviations
    assert [says in text for text in off] == ([True] if says else [])


# --- what user-defined code reads -----------------------------------------------------------------

PROBLEM = """
from hashlib import sha256
from pathlib import Path

import numpy as np

from whole_helper import LENGTH
from pfbench.problems import FiniteSum
from pfbench.sets import L2Ball

FILE = {file}


class Cancer(FiniteSum):
    def __init__(self):
        self.rows = np.loadtxt(FILE, delimiter=",")
        self.n, self.set = len(self.rows), L2Ball(self.rows.shape[1], 1.0)
        self.digest = sha256(self.rows.tobytes()).hexdigest()

    def value(self, x):
        return float(np.mean(np.sum((x - self.rows) ** 2, axis=1)) / 2)

    def gradient(self, x):
        return x - self.rows.mean(axis=0)
"""
OWN_SPEC = """
problems = "{module}.py:Cancer"
algorithms = ["frank-wolfe[iterations=8]", "frank-wolfe[iterations=9,step=open-loop]"]
measures = ["fw_gap"]
"""
BESIDE = 'Path(__file__).parent / "cancer.csv"'


@pytest.fixture
def packed(folder):
    """Make the archive of a sweep of a problem that reads a file; return the outcome."""

    def made(file=BESIDE):
        module = f"whole_{len(list(folder.glob('*.py')))}_{folder.name}"
        Path(f"{module}.py").write_text(PROBLEM.format(file=file))
        Path("whole_helper.py").write_text("LENGTH = 3\n")
        Path("cancer.csv").write_text("1.5,2\n3,4\n-1,0.25\n")
        Path("s.toml").write_text(OWN_SPEC.format(module=module))
        return run("archive", "make", "s.toml", "-o", "a.zip", "--jobs", 0)

    return made


_COMMAND = (sys.executable, "-P", "-m", "pfbench", "archive", "check", "a.zip", "--jobs", "1")


@pytest.mark.long
def test_a_problem_that_reads_a_csv_is_recomputed_elsewhere(packed, tmp_path, tmp_path_factory):
    outcome = packed()
    assert outcome.exit_code == 0, outcome.output
    archive = open_archive(tmp_path / "a.zip")
    assert data_files(archive.manifest) == ["cancer.csv"]
    assert archive.read("code/cancer.csv") == (tmp_path / "cancer.csv").read_bytes()
    assert archive.read("code/whole_helper.py") == b"LENGTH = 3\n"
    assert b"numpy==" in archive.read("lock.txt")

    def changed(files):
        return {**files, "code/cancer.csv": b"1.5,2\n3,4\n-1,0.26\n"}

    forged(tmp_path / "a.zip", tmp_path / "byte.zip", files=changed)  # with a right hash
    for path in [*tmp_path.glob("*.py"), tmp_path / "cancer.csv"]:
        path.unlink()
    for name, status, says in (
        ("a.zip", 0, "2 of 2"),
        ("byte.zip", 1, " differ on this machine (its author's code reads cancer.csv)"),
    ):
        away = tmp_path_factory.mktemp("away")
        (away / "a.zip").write_bytes((tmp_path / name).read_bytes())
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PFBENCH")}
        environment |= {"PYTHONPATH": str(Path(package.__file__).parents[1]), "HOME": str(away)}
        how = {"cwd": away, "capture_output": True, "text": True, "timeout": 300}
        done = subprocess.run(_COMMAND, env=environment, **how)
        assert done.returncode == status, done.stderr
        assert says in done.stdout + done.stderr


@pytest.mark.slow
def test_what_an_archive_cannot_have_is_refused_by_name(packed, tmp_path_factory, monkeypatch):
    away = tmp_path_factory.mktemp("data") / "cancer.csv"
    away.write_text("1,2\n3,4\n")
    assert f"cannot hold the file {away}" in packed(file=f"{str(away)!r}").stderr
    assert not Path("a.zip").exists()
    monkeypatch.setattr("pfbench.archive.contents.MOST_OF_FILE", 10)
    assert "more than 10: read a smaller file" in packed().stderr
