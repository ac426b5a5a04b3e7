"""`pfbench store`: what is stored, checked, cleared, merged and exported."""

import json
import os
import re
import subprocess
import sys

import pytest
from stored import ENVIRONMENT, LOGISTIC, RECOVERY, SVRG, key_of, made_run

from pfbench.runs.storage.content_keys import source_note
from pfbench.runs.storage.store import Store

FW = "frank-wolfe[iterations=3]"


@pytest.fixture
def store(folder):
    """The store that the commands find by default: five runs, a verdict and a certificate."""
    store = Store(folder / ".pfbench" / "store")
    for seed in range(2):
        for algorithm in (SVRG, FW):
            run = made_run(seed, algorithm=algorithm)
            store.put(key_of(f"{algorithm} {seed}"), run, ENVIRONMENT, {"dimension": 4})
    store.put(key_of("late"), made_run(problem=RECOVERY, status="timeout"), ENVIRONMENT)
    store.put_row(
        "verdict", key_of("v"), {"claim": "qu2018-thm1", "verdict": "holds", "seconds": 2.0}
    )
    store.put_row("certificate", key_of("c"), {"algorithm": FW, "certified": False, "seed": 0})
    return store


def test_list_shows_every_entry(pfbench, store, conforms):
    rows = pfbench("store", "list", "--json").json
    conforms(rows, "store.json")
    assert len(rows) == 7
    text = pfbench("store", "list").out
    for row in rows:
        (line,) = [line for line in text.splitlines() if row["key"][:12] in line]
        assert row["kind"] in line
        assert row["status"] in line
        assert (row["claim"] or row["algorithm"]) in line
    assert text.endswith("7 stored\n")


@pytest.mark.parametrize(
    ("filters", "number"),
    [
        (["--algorithm", "frank-wolfe"], 3),
        (["--algorithm", FW], 3),
        (["--algorithm", "frank"], 0),
        (["--problem", "robust-matrix-recovery"], 1),
        (["--problem", LOGISTIC, "--algorithm", FW], 2),
        (["--status", "timeout"], 1),
        (["--status", "holds"], 1),
        (["--kind", "certificate"], 1),
        (["--kind", "run", "--algorithm", "frank-wolfe"], 2),
    ],
)
def test_list_filters(pfbench, store, filters, number):
    assert len(pfbench("store", "list", *filters, "--json").json) == number
    assert pfbench("store", "list", *filters).out.endswith(f"\n{number} of 7 stored\n")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["list", "--status", "finishd"], "did you mean 'finished'"),
        (["list", "--kind", "runs"], "did you mean 'run'"),
        (["list", "--store", "typo"], "there is no store in typo"),
        (["check", "--store", "typo"], "there is no store in typo"),
        (["gc", "--store", "typo"], "there is no store in typo"),
        (["merge", "typo"], "there is no store in typo"),
        (["merge", ".pfbench/store"], "the store itself"),
        (["export", "cocos", "-o", "x"], "did you mean 'coco'"),
        (["export", "coco", "-o", "x"], "--measure: the runs have objective, fw_gap"),
        (["export", "csv-wide", "-o", "x", "--status", "killed"], "nothing to export"),
        (["export", "coco", "-o", "x", "--count", "sfi"], "--count 'sfi'"),
        (["export", "coco", "-o", "x", "--optimum", "nan"], "--optimum=nan must be finite"),
        (["export", "coco", "-o", "x", "--dimension", "0"], "--dimension=0 must be at least 1"),
        (["export", "csv-wide"], "--output"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(pfbench, store, folder, arguments, what):
    assert what in pfbench("store", *arguments).refusal
    assert not (folder / "typo").exists()


def test_an_empty_store_has_an_empty_list(pfbench, folder, conforms):
    Store(folder / "new")
    rows = pfbench("store", "list", "--store", "new", "--json").json
    conforms(rows, "store.json")
    assert rows == []
    assert pfbench("store", "list", "--store", "new").out.endswith("0 stored\n")


def test_list_reports_damage_and_leaves_it(pfbench, store):
    path = store.path(key_of("late"))
    os.truncate(path, 90)
    outcome = pfbench("store", "list", "--json")
    assert len(outcome.json) == 6
    assert f"run {key_of('late')} is damaged: truncated" in outcome.err
    assert outcome.err.count("\n") == 1
    assert path.exists()


def test_check_reports_and_repairs(pfbench, store, conforms):
    good = pfbench("store", "check", "--json")
    assert (good.status, good.json) == (0, {"schema": 2, "files": 7, "damaged": []})
    path = store.path(key_of("late"))
    os.truncate(path, 90)
    for repair in ([], ["--repair"]):
        outcome = pfbench("store", "check", "--json", *repair)
        conforms(outcome.json, "store.json")
        assert outcome.status == 1
        (damage,) = outcome.json["damaged"]
        assert (damage["key"], damage["reason"]) == (key_of("late"), "truncated")
        assert (damage["quarantined"] is None) == (not repair)
        assert path.name in outcome.err
    assert not path.exists()
    assert os.path.getsize(damage["quarantined"]) == 90
    assert pfbench("store", "check").status == 0


def test_gc(pfbench, store, conforms):
    note = {"source": source_note(frozenset({"pfbench.runs.loop.stop"}), "0" * 64)}
    store.put(key_of("old"), made_run(), ENVIRONMENT, note)
    dry = pfbench("store", "gc", "--dry-run", "--json").json
    conforms(dry, "store.json")
    assert dry["outdated"] == [key_of("old")]
    assert key_of("old") in [*store.keys()]
    text = pfbench("store", "gc", "--dry-run").out
    assert re.search(r"^1 +entries of an older source, would be removed$", text, flags=re.M)
    done = pfbench("store", "gc", "--json").json
    assert done == dry | {"dry_run": False}
    assert done["retained"] == {"unnoted": 7}
    assert key_of("old") not in [*store.keys()]
    assert len(pfbench("store", "list", "--json").json) == 7


def test_merge(pfbench, store, folder, conforms):
    done = pfbench("store", "merge", ".pfbench/store", "--store", "new", "--json").json
    conforms(done, "store.json")
    assert (done["added"], done["identical"], done["refused"]) == (7, 0, [])
    assert "0 copied, 7 there already, 0 refused" in (
        pfbench("store", "merge", ".pfbench/store", "--store", "new").out
    )
    Store(folder / "new").put(key_of("late"), made_run(iterations=99), ENVIRONMENT)
    outcome = pfbench("store", "merge", ".pfbench/store", "--store", "new", "--json")
    conforms(outcome.json, "store.json")
    assert outcome.status == 1
    assert outcome.json["refused"][0]["key"] == key_of("late")
    assert f"run {key_of('late')} is refused: the two stores differ in its" in outcome.err
    assert Store(folder / "new").get(key_of("late")).run.iterations == 99


def test_export_of_what_a_spec_plans(pfbench, store, folder):
    (folder / "mine.toml").write_text(
        f'problems = "{RECOVERY}"\n[algorithms]\nMine = "{SVRG}"\n', encoding="utf-8"
    )
    outcome = pfbench("store", "export", "csv-wide", "-o", "out", "--spec", "mine.toml")
    assert outcome.status == 0, outcome.err
    lines = (folder / "out" / "runs.csv").read_text().splitlines()
    assert ",mine,,Mine,," in lines[1]
    assert (
        "none.toml" in pfbench("store", "export", "coco", "-o", "x", "--spec", "none.toml").refusal
    )


def test_export(pfbench, store, folder):
    outcome = pfbench("store", "export", "csv-long", "-o", "out", "--algorithm", "frank-wolfe")
    assert outcome.out == "2 runs in 2 files: out\n"
    assert len((folder / "out" / "trace.csv").read_text().splitlines()) == 1 + 2 * 4 * 10
    outcome = pfbench("store", "export", "coco", "-o", "coco", "--measure", "fw_gap")
    assert outcome.status == 0
    assert (folder / "coco" / "functions.csv").exists()
    assert "is not empty" in pfbench("store", "export", "benchopt", "-o", "out").refusal


def test_a_store_that_cannot_be_written_is_one_sentence(pfbench, store, folder):
    (folder / "file").write_text("")
    refusal = pfbench("store", "merge", ".pfbench/store", "--store", "file/store").refusal
    assert "cannot be made" in refusal


def test_listing_loads_neither_pyarrow_nor_numba(store):
    script = (
        "import sys\nfrom pfbench.cli.main import app\n"
        f"try: app(['store', 'list', '--store', {str(store.folder)!r}])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "assert not {'pyarrow', 'pandas', 'numba', 'scipy'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("7 stored\n")


def test_a_listing_opens_no_file_that_the_index_knows(pfbench, store, monkeypatch):
    from pfbench.runs.storage import store as module

    store.rows()
    monkeypatch.setattr(module, "_row", lambda *file: pytest.fail(f"{file} was read"))
    assert len(pfbench("store", "list", "--json").json) == 7


def test_the_schema_refuses_what_is_not_an_entry(conforms):
    with pytest.raises(Exception, match="is not valid under any"):
        conforms([{"schema": 2, "kind": "run", "key": key_of(0)}], "store.json")
    with pytest.raises(Exception, match="is not valid under any"):
        conforms(json.loads('{"schema": 1, "files": 1, "damaged": []}'), "store.json")


def test_pack_down(pfbench, store, conforms):
    before = pfbench("store", "list", "--json").json
    os.truncate(store.path(key_of("late")), 90)
    found = pfbench("store", "pack-down", "--json")
    conforms(found.json, "store.json")
    assert found.json == {"schema": 2, "runs": 4, "segments": 1, "damaged": [key_of("late")]}
    assert found.status == 1
    after = pfbench("store", "list", "--json").json
    assert after == [row for row in before if row["key"] != key_of("late")]
    pfbench("store", "check", "--repair")
    assert pfbench("store", "check").out.startswith("6 files read")
    assert pfbench("store", "pack-down").out == "0 runs packed into 0 segments\n"
    assert pfbench("store", "list", "--algorithm", "frank-wolfe").out.endswith("3 of 6 stored\n")
