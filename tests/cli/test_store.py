"""`pfbench store`, and `pfbench report --compare` of two stores."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from processes import run_python
from stored import ENVIRONMENT, LOGISTIC, RECOVERY, SVRG, change, key_of, made_run, set_aside

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
    rows = conforms(pfbench("store", "list", "--json").json, "store.json")
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
        (["check", "--store", "typo"], "there is no store in typo"),
        (["gc", "--store", "typo"], "there is no store in typo"),
        (["forget"], "select entries: give keys"),
        (["forget", "abc"], "is too short"),
        (["forget", "0" * 8], "no selected entry has the key"),
        (["import", "typo"], "typo has no store of an earlier pfbench version"),
        (["merge", ".pfbench/store"], "the store itself"),
        (["export", "csv-wide", "-o", "x", "--status", "killed"], "nothing to export"),
        (["export", "csv-wide"], "--output"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(pfbench, store, folder, arguments, what):
    assert what in pfbench("store", *arguments).refusal
    assert not (folder / "typo").exists()


def test_list_reports_damage_and_leaves_it(pfbench, store):
    change(store, key_of("late"), seconds=3.0)
    outcome = pfbench("store", "list", "--json")
    assert len(outcome.json) == 6
    assert f"run {key_of('late')} is damaged: wrong content" in outcome.err
    assert outcome.err.count("\n") == 1
    assert key_of("late") in [*store.keys()]
    assert pfbench("store", "list").out.endswith("\n7 stored\n")  # the text is not verified


def test_a_text_listing_names_what_it_cannot_show(pfbench, store):
    change(store, key_of("late"), seed=b"\x1b", iterations=-1)
    outcome = pfbench("store", "list")
    assert outcome.out.endswith("\n6 stored\n")
    assert f"run {key_of('late')} is damaged: incomplete" in outcome.err


def test_check_reports_and_repairs(pfbench, store, conforms):
    good = pfbench("store", "check", "--json")
    assert (good.status, good.json) == (0, {"schema": 2, "entries": 7, "damaged": []})
    change(store, key_of("late"))
    for repair in ([], ["--repair"]):
        outcome = pfbench("store", "check", "--json", *repair)
        assert outcome.status == 1
        (damage,) = conforms(outcome.json, "store.json")["damaged"]
        assert (damage["key"], damage["reason"]) == (key_of("late"), "wrong content")
        assert (damage["quarantined"] is None) == (not repair)
        assert key_of("late") in outcome.err
    assert set_aside(store) == [("run", key_of("late"), "wrong content")]
    assert pfbench("store", "check").status == 0


def test_gc(pfbench, store, conforms):
    note = {"source": source_note(frozenset({"pfbench.runs.loop.run"}), "0" * 64)}
    store.put(key_of("old"), made_run(), ENVIRONMENT, note)
    dry = conforms(pfbench("store", "gc", "--dry-run", "--json").json, "store.json")
    assert dry["removed"] == [key_of("old")]
    assert key_of("old") in [*store.keys()]
    text = pfbench("store", "gc", "--dry-run").out
    assert text.startswith("1 would be removed, ")
    done = pfbench("store", "gc", "--json").json
    assert done == dry | {"dry_run": False}
    assert key_of("old") not in [*store.keys()]
    assert len(pfbench("store", "list", "--json").json) == 7


def test_merge(pfbench, store, folder, conforms):
    done = conforms(
        pfbench("store", "merge", ".pfbench/store", "--store", "new", "--json").json, "store.json"
    )
    assert (done["added"], done["identical"], done["refused"]) == (7, 0, [])
    assert "0 copied, 7 present before, 0 refused" in (
        pfbench("store", "merge", ".pfbench/store", "--store", "new").out
    )
    Store(folder / "new").put(key_of("late"), made_run(iterations=99), ENVIRONMENT)
    outcome = pfbench("store", "merge", ".pfbench/store", "--store", "new", "--json")
    assert outcome.status == 1
    assert conforms(outcome.json, "store.json")["refused"][0]["key"] == key_of("late")
    assert f"run {key_of('late')} is refused: its" in outcome.err
    assert Store(folder / "new").get(key_of("late")).run.iterations == 99


def test_export(pfbench, store, folder):
    outcome = pfbench("store", "export", "csv-long", "-o", "out", "--algorithm", "frank-wolfe")
    assert outcome.out == "2 runs in 2 files: out\n"
    assert len((folder / "out" / "trace.csv").read_text().splitlines()) == 1 + 2 * 4 * 11
    assert "is not empty" in pfbench("store", "export", "benchopt", "-o", "out").refusal


def test_listing_and_reading_load_neither_pyarrow_nor_numba(store):
    script = (
        "import sys\nfrom pfbench.cli.main import app\n"
        "from pfbench.runs.storage.store import Store\n"
        f"assert Store({str(store.folder)!r}).get({key_of('late')!r}).run.seed == 0\n"
        f"try: app(['store', 'list', '--store', {str(store.folder)!r}])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "assert not {'pyarrow', 'pandas', 'numba', 'scipy'} & set(sys.modules)"
    )
    assert run_python("-c", script)[0].endswith("7 stored\n")


def test_forget(pfbench, store, conforms):
    dry = conforms(
        pfbench("store", "forget", "--status", "timeout", "--dry-run", "--json").json, "store.json"
    )
    assert dry["removed"] == [key_of("late")]
    assert len(store.rows()) == 7
    assert (
        pfbench("store", "forget", "--status", "timeout", "--json").json["removed"]
        == (dry["removed"])
    )
    assert pfbench("store", "forget", key_of("v")[:9]).status == 0
    assert [row.kind for row in store.rows()] == ["run"] * 4 + ["certificate"]
    assert pfbench("store", "check").status == 0


OLD = Path(__file__).parents[1] / "runs" / "storage" / "data" / "old-store.tar.gz"


@pytest.fixture
def old(folder):
    """A store of before: six runs in a segment, two by themselves, a verdict, a certificate."""
    shutil.unpack_archive(OLD, folder / "old", filter="data")
    return folder / "old" / "store"


def test_an_old_store_is_imported(pfbench, old, folder, conforms):
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    before = sorted(old.rglob("*"))
    assert "pfbench store import" in pfbench("store", "list", "--store", old).refusal
    done = pfbench("store", "import", old, "--store", "new", "--json")
    found = conforms(done.json, "store.json")
    assert (done.status, found["added"], found["damaged"]) == (0, 10, [])
    store = Store(folder / "new")
    for seed in range(8):
        entry = store.get(key_of(seed))
        assert (entry.run.rows, entry.run.as_json()) == (
            made_run(seed).rows,
            made_run(seed).as_json(),
        )
        assert (entry.environment, entry.notes["retries"]) == (ENVIRONMENT, seed)
    assert store.get_row("verdict", key_of("v"))["measured"] == {"ratio": 0.1}
    assert sorted(old.rglob("*")) == before
    again = pfbench("store", "import", old, "--store", "new", "--json").json
    assert (again["added"], again["identical"]) == (0, 10)


def test_of_a_damaged_old_store_the_rest_is_imported(pfbench, old, folder):
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    first, second = sorted(old.glob("runs/*/*.parquet"))
    first.write_bytes(first.read_bytes()[:-9])
    data = second.read_bytes()
    second.write_bytes(data.replace(b'"seed": 6', b'"seed": 8').replace(b'"seed": 7', b'"seed": 9'))
    (trace,) = old.glob("segments/*/trace-0.parquet")
    trace.write_bytes(trace.read_bytes()[:40])
    (verdict,) = old.glob("verdicts/*/*.json")
    verdict.write_text(verdict.read_text().replace("holds", "failed"))
    done = pfbench("store", "import", old, "--store", "new", "--json")
    assert (done.status, done.json["added"], len(done.json["damaged"])) == (1, 1, 4)
    assert "Traceback" not in done.err


def test_a_segment_without_groups_is_damaged(pfbench, old):
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    (manifest,) = old.glob("segments/*/manifest.json")
    manifest.write_text('{}\n{"traces": []}\n')
    done = pfbench("store", "import", old, "--store", "new", "--json")
    assert (done.status, done.json["added"], len(done.json["damaged"])) == (1, 4, 1)


def test_without_pyarrow_parquet_is_refused(pfbench, store, old, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    words = 'needs pyarrow: pip install "pfbench[parquet]"'
    assert words in pfbench("store", "export", "benchopt", "-o", "x").refusal
    assert words in pfbench("store", "import", old, "--store", "new").refusal
    assert pfbench("store", "check").status == 0


# --- `pfbench report --compare`: what changed between two stores ----------------------------------


@pytest.fixture
def stores(folder):
    """Two stores of two runs; one has another count in the second."""
    for name, more in (("a", 0), ("b", 5)):
        store = Store(folder / name)
        store.put(key_of(f"{name} 0"), made_run(0), ENVIRONMENT)
        run = made_run(1)
        run = replace(run, counts=replace(run.counts, lo=run.counts.lo + more))
        store.put(key_of(f"{name} 1"), run, ENVIRONMENT)


def test_a_table_of_what_changed(pfbench, stores):
    outcome = pfbench("report", "--compare", "a", "b")
    assert outcome.status == 0
    (line,) = [line for line in outcome.out.splitlines() if " lo " in line]
    assert line.split()[-5:] == ["1", "lo", "3", "8", "2.66667"]


def test_json(pfbench, stores, conforms):
    found = conforms(pfbench("report", "--compare", "a", "b", "--json").json, "changes.json")
    assert (found["identical"], found["changed"]) == (1, 1)
    assert found["changes"][0]["field"] == "lo"


@pytest.mark.parametrize("arguments", [("a", "none"), ("none", "a"), ("a",)])
def test_two_stores_are_needed(pfbench, stores, arguments):
    assert pfbench("report", "--compare", *arguments).refusal
