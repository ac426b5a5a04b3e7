"""What a store, a spec or somebody's method says is printed, and the terminal does not obey it."""

import re

import pytest
from helpers import acting
from stored import ENVIRONMENT, change, key_of, made_run

from pfbench.cli import terminal
from pfbench.cli.progress import StepProgress
from pfbench.runs.storage.store import Store

ACTS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e\u2066]")


@pytest.fixture
def store(folder):
    store = Store(folder / ".pfbench" / "store")
    run = made_run(problem=f"a{acting()}", algorithm=f"b{acting()}", stop_reason=acting())
    store.put(key_of("a"), run, {**ENVIRONMENT, "python": acting()})
    row = {"claim": acting(), "verdict": "holds", "reason": acting()}
    store.put_row("verdict", key_of("v"), row)
    return store


def test_a_listing_is_shown_and_not_obeyed(pfbench, store):
    text = pfbench("store", "list").out
    assert not ACTS.search(text)
    assert r"\x1b[2J" in text
    assert len(text.splitlines()) == 1 + 2 + 2


def test_a_listing_is_sorted(pfbench, folder):
    store = Store(folder / ".pfbench" / "store")
    expected = []
    for problem in ("a", "b"):
        for algorithm in ("c" * 90, "d"):
            for seed in (2, 10):
                run = made_run(seed, problem=problem, algorithm=algorithm)
                store.put(key_of((problem, algorithm, seed)), run, ENVIRONMENT)
                expected.append((problem, algorithm, seed))
    rows = pfbench("store", "list", "--json").json
    assert [(row["problem"], row["algorithm"], row["seed"]) for row in rows] == expected
    assert len(pfbench("store", "list").out.splitlines()) == 1 + 8 + 2


def test_exported_texts_are_shown(pfbench, store, folder):
    assert pfbench("store", "export", "csv-wide", "-o", "csv").status == 0
    assert not ACTS.search((folder / "csv" / "runs.csv").read_text())


def test_a_damage_is_told_and_not_obeyed(pfbench, store):
    change(store, key_of("v"), "verdict", kind="\x1b[2J\u202e")
    outcome = pfbench("store", "check")
    assert "is damaged" in outcome.err
    assert not ACTS.search(outcome.err)


def test_sentences_tables_and_progress(capsys):
    terminal.print_error(f"it is {acting()}.")
    terminal.print_note(f"it is {acting()}")
    terminal.print_parts(
        terminal.field_table([("name", acting())]),
        terminal.make_table(("a", acting()), [("x", acting()), (acting(), "y")]),
        terminal.section_with_title(acting(), terminal.multiline_cell(acting(), "second")),
        acting(),
    )
    steps = StepProgress(acting(), 2, "runs")
    assert not ACTS.search(steps._title)
    told = capsys.readouterr()
    assert not ACTS.search(told.out + told.err)
    assert told.err.count("\n") == 2


def test_a_sweep_with_a_title_that_acts(pfbench, folder):
    (folder / "s.toml").write_text(
        'title = "\\u001b[31m\\u009b1m\\nforged"\n'
        'problems = "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]"\n'
        'algorithms = "misbehaving:Shouts"\n'
    )
    outcome = pfbench("run", "s.toml", "--jobs", 0, "--log", "s.log")
    assert outcome.status == 1
    text = outcome.out + outcome.err + (folder / "s.log").read_text()
    assert not ACTS.search(text)
    assert r"\x1b[2J" in text


def test_a_report_of_what_is_stored_is_shown_and_not_obeyed(pfbench, folder):
    store = Store(folder / ".pfbench" / "store")
    acts = "\x1b[2J\u202e\n\x07"
    for seed, reason in enumerate([acting(), "x"]):
        run = made_run(seed, problem=f"a[x={acts}]", algorithm=f"b[y={acts}]", stop_reason=reason)
        store.put(key_of(seed), run, {**ENVIRONMENT, "python": acting()})
    outcome = pfbench("report", "--store", ".pfbench/store", "--text")
    assert outcome.status == 0
    assert not ACTS.search(outcome.out)
    outcome = pfbench("report", "--store", ".pfbench/store", "-o", "out")
    assert outcome.status == 0
    for path in (folder / "out").iterdir():
        if path.suffix not in (".pdf", ".html"):
            assert not ACTS.search(path.read_text(encoding="utf-8").replace("\t", " ")), path.name
