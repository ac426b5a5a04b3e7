"""The store returns what was put, notices every damage, and its listing is what is stored."""

import json
import math
import os
import pickle
import random
import shutil
import sqlite3
import zlib
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored import ENVIRONMENT, RECOVERY, change, crafted, key_of, made_run, set_aside, stored_runs

from pfbench.base.counts import COUNTED, Counts
from pfbench.base.errors import InputError, StorageError
from pfbench.runs.loop.run import TRACE_COLUMNS
from pfbench.runs.storage import database, maintenance, serialization
from pfbench.runs.storage.content_keys import source_digest, source_note
from pfbench.runs.storage.damage import KINDS, DamagedFileError
from pfbench.runs.storage.database import DamagedStoreError
from pfbench.runs.storage.field_types import FIELDS
from pfbench.runs.storage.store import Store, WriteBatch

KEY = key_of("a")
VERDICT = {"claim": "qu2018-thm1", "verdict": "holds", "measured": {"ratio": 0.1}, "seconds": 1.0}
CERTIFICATE = {"algorithm": "frank-wolfe", "horizon": 9, "certified": True, "seed": 2}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def fill(store, count=4):
    for seed in range(count):
        store.put(key_of(seed), made_run(seed), ENVIRONMENT, {"retries": seed})
    store.put_row("verdict", key_of("v"), VERDICT)
    store.put_row("certificate", key_of("c"), CERTIFICATE)


# --- what goes in comes out -----------------------------------------------------------------------

numbers = st.floats(allow_nan=True, allow_infinity=True)
counts = st.integers(0, 2**53)


def test_every_kind_of_entries_has_fields():
    assert FIELDS.keys() >= {*KINDS}


def test_half_a_call_is_not_stored(store):
    run = made_run(0)
    (first, *rest) = run.rows
    with pytest.raises(TypeError, match="float64"):
        store.put(KEY, replace(run, rows=[(first[0] + 0.5, *first[1:]), *rest]), ENVIRONMENT)
    assert not list(store.rows())


@given(
    rows=st.lists(st.tuples(*[counts] * (1 + len(COUNTED)), numbers, numbers, numbers), max_size=6),
    final=st.dictionaries(st.sampled_from(["objective", "fw_gap"]), st.none() | numbers),
    reason=st.text(max_size=20),
)
@settings(max_examples=25)
def test_every_bit_of_a_run_comes_back(tmp_path_factory, rows, final, reason):
    store = Store(tmp_path_factory.mktemp("store"))
    run = made_run(rows=0, final=final, stop_reason=reason)
    run = replace(run, rows=rows)
    store.put(KEY, run, ENVIRONMENT, {"limits": {"sfo": 3}})
    entry = store.get(KEY)
    assert repr(entry.run.rows) == repr(rows)
    assert repr(entry.run.as_json()) == repr(run.as_json())
    assert entry.run.columns == run.columns
    assert (entry.environment, entry.notes) == (ENVIRONMENT, {"limits": {"sfo": 3}})


def test_a_numpy_number_in_a_row_is_a_number(store):
    store.put_row(
        "verdict", KEY, {"verdict": "within-10", "seconds": np.float64(0.5), "n": np.int64(3)}
    )
    assert store.get_row("verdict", KEY) == {"verdict": "within-10", "seconds": 0.5, "n": 3}


def test_a_row_that_json_cannot_hold_is_refused_before_anything_is_written(store):
    with pytest.raises(InputError, match="not valid JSON"):
        store.put_row("verdict", KEY, {"verdict": "holds", "ratio": math.nan})
    assert store.rows() == []


@pytest.mark.parametrize("key", ["../../../etc/passwd", "short", "", "a/b" * 9, "x" * 200])
def test_a_key_is_no_path(store, key):
    with pytest.raises(InputError, match="is not a key"):
        store.put(key, made_run(), ENVIRONMENT)


def test_a_count_that_a_store_lacks_reads_0(store):
    """As in a store of before a new kind of oracle: the trace and the counts lack it."""
    run = made_run()
    meta, _ = serialization.decode_metadata(serialization.run_record(KEY, run, ENVIRONMENT))
    columns = serialization.run_columns(run)
    del columns["po"], meta["run"]["counts"]["po"]
    del meta["trace"]
    store.write([serialization.make_record("run", KEY, meta, columns)])
    found = store.get(KEY).run
    assert (found.rows, found.counts, found.columns) == (run.rows, run.counts, run.columns)


def test_integers_beyond_double_precision_keep_their_bits(store):
    rows = [(2**53 + 1, *[2**62 + 1] * 8, 0.5, 1.0, math.nan)]
    store.put(KEY, made_run(rows=0, iterations=2**53 + 1), ENVIRONMENT)
    store.put(key_of("b"), replace(made_run(), rows=rows), ENVIRONMENT)
    assert repr(store.get(key_of("b")).run.rows) == repr(rows)


def test_a_text_that_is_no_unicode_is_stored_as_what_can_be_read(store):
    store.put(KEY, made_run(stop_reason="caf\udce9"), ENVIRONMENT)
    assert store.get(KEY).run.stop_reason == "caf?"


def test_a_store_travels_to_another_process_as_its_folder(store):
    fill(store)
    assert len(pickle.loads(pickle.dumps(store)).rows()) == 6


def test_an_outside_reader_needs_sqlite_alone(store):
    """Columns by SQL, metadata as JSON, the trace as little-endian numbers."""
    store.put(KEY, made_run(), ENVIRONMENT)
    store.close()
    with closing(sqlite3.connect(store.path)) as opened:
        query = "SELECT seed, json_extract(counts, '$.lo'), meta, trace FROM entries"
        ((seed, lo, meta, trace),) = opened.execute(query).fetchall()
    unpacker = zlib.decompressobj()
    own = json.loads(unpacker.decompress(meta))
    shared = json.loads(zlib.decompress(unpacker.unused_data))
    data, rows = zlib.decompress(trace), own["trace"]["rows"]
    place = shared["trace"]["columns"].index("objective")
    values = np.frombuffer(data, "<f8", rows, 8 * rows * place)
    assert (seed, lo, values.tolist()) == (0, 3, [row[place] for row in made_run().rows])


# --- damage ---------------------------------------------------------------------------------------


def with_meta(record, **parts):
    meta = serialization.decode_metadata(record)[0] | parts
    return crafted(record, meta=zlib.compress(json.dumps(meta).encode()))


DAMAGE = {
    "hash": ("wrong content", lambda r: r._replace(sha256=b"")),
    "trace": ("wrong content", lambda r: r._replace(trace=r.trace[:-1])),
    "meta": ("wrong content", lambda r: r._replace(meta=r.meta[:9] + b"x" + r.meta[10:])),
    "column": ("wrong content", lambda r: r._replace(seed=5)),
    "no blob": ("incomplete", lambda r: r._replace(trace="text")),
    "other column": ("wrong content", lambda r: crafted(r, seed=5)),
    "cut trace": ("truncated", lambda r: crafted(r, trace=r.trace[:-5])),
    "no trace": ("truncated", lambda r: crafted(r, trace=zlib.compress(b""))),
    "more trace": ("truncated", lambda r: crafted(r, trace=r.trace + b"x")),
    "more parts": ("unreadable", lambda r: crafted(r, meta=r.meta + zlib.compress(b"{}"))),
    "bomb": ("too large", lambda r: crafted(r, trace=zlib.compress(bytes(10**6)))),
    "long meta": ("too large", lambda r: crafted(r, meta=zlib.compress(b" " * 2**23))),
    "no JSON": ("unreadable", lambda r: crafted(r, meta=zlib.compress(b"{"))),
    "field": ("incomplete", lambda r: with_meta(r, environment=None)),
    "columns": ("incomplete", lambda r: with_meta(r, trace={"columns": ["lo"], "rows": 4})),
    "rows": ("too large", lambda r: with_meta(r, trace={"columns": TRACE_COLUMNS, "rows": 2**60})),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_reported_set_aside_and_counts_as_missing(store, caplog, name):
    reason, damage = DAMAGE[name]
    store.put(KEY, made_run(), ENVIRONMENT)
    store.write([damage(store.read("run", KEY))])
    assert store.get(KEY) is None
    (message,) = caplog.messages
    assert f"run {KEY} of {store.path} is damaged: {reason} (" in message
    assert "set aside in its table damaged" in message
    assert set_aside(store) == [("run", KEY, reason)]
    assert KEY not in [*store.keys()]
    store.put(KEY, made_run(), ENVIRONMENT)
    assert store.get(KEY).run.rows == made_run().rows


@pytest.fixture
def in_blocks(monkeypatch):
    """Traces of more than two rows are long, and are written and read in blocks of two."""
    monkeypatch.setattr(serialization, "_BLOCK", 2)


def test_a_long_trace_is_read_in_blocks(store, in_blocks):
    store.put(KEY, made_run(rows=201), ENVIRONMENT)
    _, trace = serialization.decode_metadata(store.read("run", KEY))
    for _ in range(2):
        assert [block.shape for block in trace.blocks] == [(12, 2)] * 100 + [(12, 1)]
    assert store.get(KEY).run.rows == made_run(rows=201).rows
    test_a_count_that_a_store_lacks_reads_0(store)


@pytest.mark.parametrize("name", ["trace", "cut trace", "no trace", "more trace", "bomb"])
def test_damage_of_a_long_trace_is_reported(store, caplog, in_blocks, name):
    test_damage_is_reported_set_aside_and_counts_as_missing(store, caplog, name)


def test_what_another_process_has_mended_is_not_set_aside(store):
    store.put(KEY, made_run(), ENVIRONMENT)
    assert not store.quarantine("run", KEY, DamagedFileError("unreadable", ""))
    assert store.get(KEY).run.seed == 0


def outcome_of(read, *arguments, **options):
    """What a reader gets; None where it is refused in a sentence."""
    try:
        return read(*arguments, **options)
    except StorageError:
        return None


@pytest.mark.parametrize("seed", [*range(6), pytest.param(7, marks=pytest.mark.long)])
def test_no_corrupted_file_gives_a_wrong_value(tmp_path, seed):
    """Bytes are changed, zeroed or cut at random; what is read is right, and repair keeps it."""
    store = Store(tmp_path / "whole")
    expected = {key_of(k): made_run(k, rows=3 + 150 * (k == 3)) for k in range(12)}
    for key, run in expected.items():
        store.put(key, run, ENVIRONMENT)
    store.put_row("verdict", key_of("v"), VERDICT)
    listed = {row.key: row for row in store.rows()}
    store.close()
    whole, rng, kept = store.path.read_bytes(), random.Random(seed), []
    for case in range(640 if seed == 7 else 10):
        folder = tmp_path / str(case)
        folder.mkdir()
        data = bytearray(whole)
        for _ in range(rng.choice((1, 1, 1, 5))):
            place = rng.randrange(len(data))
            way = rng.randrange(4)
            if way == 0:
                data[place] ^= 1 << rng.randrange(8)
            elif way == 1:
                data[place : place + 64] = bytes(rng.randrange(256) for _ in range(64))
            elif way == 2:
                data[place - place % 4096 :][:4096] = bytes(4096)
            else:
                data[place - place % 4096 : place - place % 4096 + 4096] = bytes(4096)
        (folder / "store.sqlite").write_bytes(
            data[: rng.choice((len(data),) * 4 + (len(data) // 2,))]
        )
        damaged = Store(folder, make=False)

        def check_values(damaged=damaged):
            right = 0
            for key, run in expected.items():
                entry = outcome_of(damaged.get, key)
                if entry is not None:
                    assert entry.run.as_json() == run.as_json()
                    assert entry.run.rows == run.rows
                    right += 1
            assert outcome_of(damaged.get_row, "verdict", key_of("v")) in (None, VERDICT)
            for row in outcome_of(damaged.rows) or ():
                assert listed[row.key] == row
            return right

        readable = check_values()
        if outcome_of(maintenance.check_entries, damaged, repair=True) is not None:
            assert maintenance.check_entries(damaged) == (len(damaged.rows()), [])
            assert check_values() >= min(readable, 1)
            damaged.put(KEY, made_run(), ENVIRONMENT)
            kept.append(len(damaged.rows()))
        damaged.close()
        shutil.rmtree(folder)
    assert kept


@pytest.mark.parametrize("text", [b"tableentries", b"CREATE TABLE entries"])
def test_a_file_whose_schema_is_no_text_is_damaged(store, text):
    fill(store)
    store.close()
    data = store.path.read_bytes()
    assert data.count(text) == 1
    store.path.write_bytes(data.replace(text, text.replace(b"en", b"\xbf\xff")))
    with pytest.raises(DamagedStoreError, match="is damaged"):
        store.rows()
    assert maintenance.check_entries(store, repair=True)[0] in range(7)
    assert store.rows() is not None


def test_a_damaged_file_is_one_sentence_and_repair_keeps_what_can_be_read(store):
    for seed in range(60):
        store.put(key_of(seed), made_run(seed, rows=60), ENVIRONMENT)
    store.close()
    data = bytearray(store.path.read_bytes())
    data[len(data) // 2 :][:1] = b""
    data[4096 * 6 : 4096 * 8] = bytes(8192)
    store.path.write_bytes(data)
    number, (report,) = maintenance.check_entries(store)
    assert (number, report.kind, report.key) == (0, "file", "store.sqlite")
    number, (report, *_) = maintenance.check_entries(store, repair=True)
    assert os.path.exists(report.aside)
    assert 20 <= number < 60
    assert maintenance.check_entries(store) == (number, [])
    assert all(store.get(key).run.rows == made_run(0, rows=60).rows for key in [*store.keys()])


def test_another_file_is_refused_and_repair_sets_it_aside(store, tmp_path):
    store.close()
    store.path.write_bytes(b"<html>404</html>" * 20)
    with pytest.raises(DamagedStoreError, match=r"damaged .*pfbench store check --repair --store"):
        store.get(KEY)
    assert maintenance.check_entries(store, repair=True)[0] == 0
    assert (store.folder / "damaged" / "1-store.sqlite").read_bytes()[:6] == b"<html>"
    store.put(KEY, made_run(), ENVIRONMENT)
    assert stored_runs(tmp_path) == 1


def test_a_killed_writer_leaves_a_file_that_is_checked(store, monkeypatch):
    fill(store)
    looked = []
    monkeypatch.setattr("pfbench.runs.storage.database.has_leftover_journal", lambda path: True)
    monkeypatch.setattr(
        "pfbench.runs.storage.database.find_structural_error",
        lambda *a, **b: looked.append(1) or "",
    )
    other = Store(store.folder)
    assert len(other.rows()) == 6
    assert looked == []  # the first has it open
    other.close()
    store.close()
    assert len(other.rows()) == 6
    assert looked == [1]


# --- where it lies --------------------------------------------------------------------------------


@pytest.mark.parametrize("why", ["no shared memory", "network"])
def test_without_shared_memory_a_rollback_journal_is_used(tmp_path, monkeypatch, why):
    folder = tmp_path / "store"
    folder.mkdir()
    if why == "network":
        monkeypatch.setattr(database, "_is_on_network", lambda folder: True)
    else:
        (folder / "store.sqlite-shm").mkdir()  # SQLite cannot make it
    store = Store(folder)
    fill(store)
    assert store._database.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert len(Store(folder).rows()) == 6
    store.put(KEY, made_run(), ENVIRONMENT)
    assert Store(folder).get(KEY) is not None
    assert not (folder / "store.sqlite-wal").exists()


def test_a_log_is_ended_where_no_memory_can_be_shared(store):
    fill(store)
    store.close()
    (store.folder / "store.sqlite-shm").mkdir()
    assert len(store.rows()) == 6
    store.put(KEY, made_run(), ENVIRONMENT)
    assert len(Store(store.folder).rows()) == 7


def test_a_batch_reports_what_is_on_the_disk_and_nothing_else(store, monkeypatch):
    moment = [100.0]
    monkeypatch.setattr("pfbench.runs.storage.store.time.monotonic", lambda: moment[0])
    records = [serialization.run_record(key_of(k), made_run(k), ENVIRONMENT) for k in range(40)]
    reported = []

    def interrupted():
        with WriteBatch(store) as batch:
            for number, record in enumerate(records):
                moment[0] += 0.01
                reported.extend(batch.add(record, [number]))
                assert {key_of(k) for k in reported} == set(store.keys())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert 1 < len(reported) < 40
    assert stored_runs(store.folder) == 40


# --- listing --------------------------------------------------------------------------------------


def test_a_listing_is_what_is_stored(store):
    fill(store)
    rows = store.rows()
    assert [row.key for row in rows[:4]] == [key_of(seed) for seed in range(4)]
    run = made_run(2)
    row = next(row for row in rows if row.seed == 2 and row.kind == "run")
    assert json.loads(row.counts) == run.counts.as_dict()
    assert (row.problem, row.algorithm) == (run.problem, run.algorithm)
    record = store.read("run", key_of(2))
    assert row.bytes == len(record.meta) + len(record.trace)
    store.put(key_of(0), made_run(0, status="budget", seconds=math.nan), ENVIRONMENT)
    (row,) = [row for row in store.rows() if row.key == key_of(0)]
    assert (row.status, repr(row.seconds)) == ("budget", "nan")


@pytest.mark.parametrize("right", [False, True], ids=["changed", "crafted"])
def test_a_damaged_column_is_reported_and_the_others_are_listed(store, right):
    fill(store)
    columns = {"seed": "x", "status": "new", "counts": '{"lo": 1.5}', "limits": "[[", "stored": -1}
    for name, value in columns.items():
        store.put(KEY, made_run(), ENVIRONMENT)
        record = store.read("run", KEY)
        change_one = crafted if right else serialization.Record._replace
        store.write([change_one(record, **{name: value})])
        listing = store.listing()
        assert len(listing.rows) == 6
        reason = "incomplete" if right else "wrong content"
        assert [(d.kind, d.key, d.reason) for d in listing.damaged] == [("run", KEY, reason)]


@pytest.mark.parametrize(
    ("run", "says"),
    [
        (made_run(counts=Counts(sfo=2**63)), "exceed 64 bits"),
        (made_run(iterations=2**70), "exceed 64 bits"),
        (made_run(columns=("a",) * 600), "record fewer iterates"),
        (made_run(), ""),
    ],
)
def test_a_run_that_cannot_be_stored_says_why(run, says):
    assert says in serialization.storage_obstacle(run)
    assert bool(serialization.storage_obstacle(run)) == bool(says)


def test_a_reason_of_a_megabyte_is_cut(store):
    store.put(KEY, made_run(stop_reason="x" * 10**7), ENVIRONMENT)
    assert len(store.get(KEY).run.stop_reason) == serialization.LONGEST_REASON


# --- looking after it -----------------------------------------------------------------------------


def noted(modules, digest=None):
    modules = frozenset(modules)
    return {"source": source_note(modules, digest or source_digest(modules))}


def test_gc_finds_what_is_outdated_and_nothing_else(store):
    fill(store, 1)
    loop = ["pfbench.runs.loop.run"]
    store.put(key_of("now"), made_run(), ENVIRONMENT, noted(loop))
    store.put(key_of("old"), made_run(), ENVIRONMENT, noted(loop, "0" * 64))
    store.put_row("verdict", key_of("now"), VERDICT, noted(loop))
    store.put_row("verdict", key_of("old"), VERDICT, noted(loop, "0" * 64))
    store.put_row("finding", key_of("old"), {"shown": True}, noted(loop, "0" * 64))
    store.put(key_of("own"), made_run(), ENVIRONMENT, noted([*loop, "mine"], "0" * 64))
    store.put(key_of("bad"), made_run(), ENVIRONMENT, noted(loop, "0" * 64))
    change(store, key_of("bad"))
    found = maintenance.find_outdated_entries(store)
    assert found == {(kind, key_of("old")) for kind in ("run", "verdict", "finding")}


def test_gc_imports_nothing_that_a_store_names(store, tmp_path, monkeypatch):
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    store.put(KEY, made_run(), ENVIRONMENT, noted(["pfbench.runs.loop.run"]))
    store.put(key_of("x"), made_run(), ENVIRONMENT, noted(["evil.mine"], "0" * 64))
    assert maintenance.find_outdated_entries(store) == set()


# --- merging --------------------------------------------------------------------------------------


@pytest.fixture
def other(tmp_path):
    return Store(tmp_path / "other")


def test_merging_takes_what_lacks_and_keeps_bytes(store, other):
    fill(store, 2)
    fill(other, 4)
    slower = replace(made_run(0), seconds=9.0, oracle_seconds=8.0)
    place = slower.columns.index("seconds")
    rows = [(*row[:place], 7.0, *row[place + 1 :]) for row in slower.rows]
    other.put(key_of(0), replace(slower, rows=rows), ENVIRONMENT, {"retries": 5})
    other.put_row("verdict", key_of("v"), VERDICT | {"seconds": 33.0})
    report = maintenance.merge(store, other)
    assert (report.added, report.equal, report.refused, report.damaged) == (2, 4, [], [])
    assert store.read("run", key_of(3)) == other.read("run", key_of(3))
    assert store.get(key_of(0)).run.seconds == 0.75
    assert len(store.rows()) == 6


def bumped(run, name):
    place = run.columns.index(name)
    rows = [(*row[:place], row[place] + 1, *row[place + 1 :]) for row in run.rows]
    return replace(run, rows=rows)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda run: replace(run, iterations=4), "iterations"),
        (lambda run: replace(run, final={"objective": 0.5}), "final"),
        (lambda run: replace(run, status="budget"), "status"),
        (lambda run: bumped(run, "lo"), "column lo of the trace"),
        (lambda run: bumped(run, "fw_gap"), "column fw_gap of the trace"),
        (lambda run: replace(run, rows=run.rows[:-1]), "length of the trace"),
        (lambda run: replace(run, columns=(*run.columns[:-1], "other")), "columns of the trace"),
    ],
)
def test_merging_refuses_another_content_by_name_and_keeps_ours(store, other, change, where):
    fill(store, 1)
    before = store.read("run", key_of(0))
    other.put(key_of(0), change(made_run(0)), ENVIRONMENT)
    other.put(KEY, made_run(), ENVIRONMENT)
    report = maintenance.merge(store, other)
    assert report.refused == [("run", key_of(0), where)]
    assert (report.added, report.equal) == (1, 0)
    assert store.read("run", key_of(0)) == before


def test_merging_refuses_another_environment_and_another_verdict(store, other):
    fill(store, 1)
    other.put(key_of(0), made_run(0), ENVIRONMENT | {"threads": "2"})
    other.put_row("verdict", key_of("v"), VERDICT | {"verdict": "within-10"})
    assert maintenance.merge(store, other).refused == [
        ("run", key_of(0), "environment"),
        ("verdict", key_of("v"), "verdict"),
    ]


def test_nan_equals_nan_in_a_merge(store, other):
    run = made_run()
    run = replace(run, rows=[(*row[:-1], math.nan) for row in run.rows])
    for one in (store, other):
        one.put(KEY, run, ENVIRONMENT)
    assert maintenance.merge(store, other).equal == 1


@pytest.mark.parametrize("ours", ["killed", "finished"])
def test_a_killed_run_gives_way_whichever_store_has_it(store, other, ours):
    theirs = {"killed": "finished", "finished": "killed"}[ours]
    store.put(KEY, made_run(status=ours), ENVIRONMENT)
    other.put(KEY, made_run(status=theirs), ENVIRONMENT)
    assert maintenance.merge(store, other).refused == []
    assert store.get(KEY).run.status == "finished"


def test_merging_skips_what_is_damaged_there_and_replaces_what_is_damaged_here(store, other):
    fill(store, 2)
    fill(other, 2)
    change(store, key_of(0))
    change(other, key_of(1))
    report = maintenance.merge(store, other)
    assert [(d.key, d.reason) for d in report.damaged] == [(key_of(1), "wrong content")]
    assert report.added == 1
    assert maintenance.check_entries(store) == (4, [])
    assert other.read("run", key_of(1)) is not None


def test_a_store_is_not_merged_into_itself(store):
    fill(store, 1)
    with pytest.raises(InputError, match="the store itself"):
        maintenance.merge(store, Store(store.folder / ".." / "store"))


@given(mine=st.sets(st.integers(0, 5)), theirs=st.sets(st.integers(0, 5)))
@settings(max_examples=15)
def test_a_merge_is_the_union_and_repeating_it_changes_nothing(tmp_path_factory, mine, theirs):
    a, b = (Store(tmp_path_factory.mktemp(name)) for name in "ab")
    for store, seeds in ((a, mine), (b, theirs)):
        for seed in seeds:
            store.put(key_of(seed), made_run(seed, problem=RECOVERY), ENVIRONMENT)
    assert maintenance.merge(a, b).added == len(theirs - mine)
    assert set(a.keys()) == {key_of(seed) for seed in mine | theirs}
    assert maintenance.merge(a, b) == maintenance.MergeReport(0, len(theirs), [], [])


# --- how deep JSON may be nested ------------------------------------------------------------------

DEEPEST = 32
VALUES = st.recursive(
    st.text(alphabet='[]{}"\\ab\n', max_size=40) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
)


@given(VALUES, st.integers(0, 40))
def test_brackets_in_texts_do_not_count(value, more):
    def depth(one):
        if isinstance(one, dict):
            return 1 + max(map(depth, one.values()), default=0)
        return 1 + max(map(depth, one), default=0) if isinstance(one, list) else 0

    for _ in range(more):
        value = [value, "[" * 50]
    text = json.dumps(value).encode()
    if depth(value) <= DEEPEST:
        assert serialization.decode_json(text) == value
    else:
        with pytest.raises(DamagedFileError, match="nested more than 32 deep"):
            serialization.decode_json(text)
