"""The page of a history shows what asv recorded, what changed, and loads nothing."""

import itertools
import json
import re
import subprocess

import pytest

from benchmarks.history import page, recording, results
from benchmarks.history.__main__ import main

BENCHMARKS = {
    "version": 2,
    "counts.track_sfw": {"params": [["'sfo'", "'lo'"]], "unit": "calls", "version": "1"},
    "whole.Command.time_help": {"params": [], "unit": "seconds", "version": "1"},
    "times.Memory.peakmem_run": {"params": [["'<b>'"]], "unit": "bytes", "version": "2"},
}
COLUMNS = ["result", "params", "version"]


def git(folder, *arguments):
    named = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", *named, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """Three commits: in the second lo changes and nothing else is recorded."""
    repository = tmp_path_factory.mktemp("repository")
    git(repository, "init", "-q")
    folder = tmp_path_factory.mktemp("results")
    (folder / "machine").mkdir()
    (folder / "benchmarks.json").write_text(json.dumps(BENCHMARKS))
    told = {"machine": "machine", "os": "Linux", "num_cpu": "2", "ram": "", "version": 1}
    (folder / "machine" / "machine.json").write_text(json.dumps(told))
    recorded = [
        {
            "counts.track_sfw": [[100, 40], [["'sfo'", "'lo'"]], "1"],
            "whole.Command.time_help": [[0.5], [], "1"],
            "times.Memory.peakmem_run": [[2e8], [["'<b>'"]], "1"],
        },
        {
            "counts.track_sfw": [[100, 41], [["'sfo'", "'lo'"]], "1"],
            "whole.Command.time_help": [None, [], "1"],
        },
        {
            "counts.track_sfw": [[float("nan"), 41], [["'sfo'", "'lo'"]], "1"],
            "whole.Command.time_help": [[0.02], [], "1"],
            "times.Memory.peakmem_run": [[3e8], [["'<b>'"]], "2"],
            "counts.track_gone": [[1], [], "1"],
        },
    ]
    for number, rows in enumerate(recorded):
        git(repository, "commit", "-q", "--allow-empty", "-m", f"number {number} </script><i>")
        commit = git(repository, "rev-parse", "HEAD")
        made = {"commit_hash": commit, "python": "3.12", "result_columns": COLUMNS, "results": rows}
        (folder / "machine" / f"{commit[:8]}-env.json").write_text(json.dumps(made))
    return results.read(folder, repository)


def series(history, name):
    return next(one for one in history.series if page.named(one) == name)


def test_values_stand_by_commit_in_their_order(history):
    assert [one.subject[:8] for one in history.commits] == ["number 0", "number 1", "number 2"]
    assert [one.missing for one in history.commits] == [1, 2, 1]
    assert series(history, "sfw lo").values == (40, 41, 41)
    assert series(history, "sfw sfo").values == (100, 100, None)
    assert series(history, "Command: help").values == (0.5, None, 0.02)


def test_values_of_another_version_are_left_out(history):
    assert series(history, "Memory: run <b>").values == (None, None, 3e8)
    assert len(history.series) == 4


def test_a_change_is_told_at_its_commit(history):
    exact = [one for one in history.series if one.exact]
    assert list(page.changed(history, exact)) == [(1, ["sfw lo: 40 → 41"])]


def test_the_page_shows_all_and_loads_nothing(history):
    shown = page.page(history, "a command")
    assert shown.count("<svg ") == 4
    assert shown.count('class="changed"') == 1
    assert shown.count("<circle") == sum(v is not None for s in history.series for v in s.values)
    assert "20 ms" in shown
    assert "300 MB" in shown
    assert "These are noisy" in shown
    assert "Machine: 2 cores, Linux; Python 3.12." in shown
    assert not re.search(r"https?:|src=|href=|@import|url\(", shown)
    assert "default-src 'none'" in shown


def test_nobodys_text_is_markup(history):
    shown = page.page(history, "a command")
    assert "</script><i>" not in shown
    assert "<b>" not in shown
    data = re.search(r'id="data">(.*?)</script>', shown).group(1)
    assert json.loads(data)["commits"][0][2] == "number 0 </script><i>"


def test_one_machine_is_needed(tmp_path):
    with pytest.raises(ValueError, match="results of one machine are needed"):
        results.read(tmp_path, tmp_path)


@pytest.mark.parametrize("number", [1, 2, 5, 9, 20])
def test_commits_are_spread_evenly_with_the_last(number):
    commits = [str(k) for k in range(9)]
    chosen = recording.spread(commits, number)
    assert len(chosen) == min(number, 9)
    assert chosen[-1] == "8"
    assert number == 1 or chosen[0] == "0"
    gaps = [int(b) - int(a) for a, b in itertools.pairwise(chosen)]
    assert not gaps or max(gaps) - min(gaps) <= 1


def test_the_command_records_and_draws(monkeypatch, tmp_path, capsys):
    asked = {}

    def record(commits, machine, bench, *, quick):
        asked.update(commits=commits, machine=machine, bench=bench, quick=quick)

    monkeypatch.setattr(recording, "past", lambda since: list("abcde"))
    monkeypatch.setattr(recording, "record", record)
    monkeypatch.setattr(recording, "RESULTS", tmp_path)
    assert main(["record", "--commits", "3", "--quick", "--machine", "one"]) == 1
    newest_first = ["e", "c", "a"]
    assert asked == {
        "commits": newest_first,
        "machine": "one",
        "bench": recording.SHORT,
        "quick": True,
    }
    assert "results of one machine are needed" in capsys.readouterr().err


def test_the_page_is_drawn_anew(monkeypatch, tmp_path, history):
    monkeypatch.setattr(results, "read", lambda folder, repository: history)
    assert main(["publish", "-o", str(tmp_path / "new")]) == 0
    assert "History of pfbench" in (tmp_path / "new" / "index.html").read_text(encoding="utf-8")
