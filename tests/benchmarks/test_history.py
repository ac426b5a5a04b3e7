"""The pages of a history, and of times and memory by size: what they show."""

import json
import re
import subprocess

import pytest

from benchmarks.history import page, results
from benchmarks.scale import __main__ as scale
from benchmarks.scale import recovery

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


# --- The page of times and memory by size, from made numbers; nothing is measured here ------------


def test_the_exponent_is_that_of_a_power():
    sizes = [10**5, 10**6, 25 * 10**6]
    assert scale.exponent(sizes, [3.0 * n**1.25 for n in sizes]) == pytest.approx(1.25)


def test_rows_are_those_of_any_size_and_exponents_of_times():
    numbers = {"small": 10, "large": 1000, "larger": 100_000}
    found = {
        size: {"iteration, ms": 0.01 * n**2, "iteration, pairs": 2.0} for size, n in numbers.items()
    }
    found["small"]["iteration, ms"] = 7.0  # below the sizes that are fitted
    del found["large"]["iteration, pairs"]
    found["larger"]["made, s"] = 1.0  # at one size alone: there is nothing to fit
    head, _, times, pairs, made, _ = scale.table(found, numbers, from_size=1000)
    assert head.startswith("| | small | large | larger |")
    assert times == "| iteration, ms | 7 | 10,000 | 100,000,000 | 2.00 |  |"
    assert made == "| made, s |  |  | 1 |  |  |"
    assert pairs.startswith("| iteration, pairs | 2 |  | 2 |  | at most 4.1")


def test_what_is_measured_is_not_measured_again(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(scale, "measured", lambda *of: asked.append(of) or {"made, s": 1.0})
    for _ in range(2):
        of = scale.Measured(tmp_path / "kept.json")
        assert of("speed", "1M") == {"made, s": 1.0}
    assert asked == [("speed", "1M")]
    assert json.loads((tmp_path / "kept.json").read_text()) == {"speed 1M": {"made, s": 1.0}}
    assert set(recovery.SIZES) == {"100k", "1M", "10M", "25M"}


def test_every_target_is_a_row_that_is_measured():
    source = (recovery.__loader__.get_source(recovery.__name__),)
    assert all(name in source[0] for name in scale.TARGETS)
