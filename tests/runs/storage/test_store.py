"""The store gives back what it was given, notices every damage, and its index never lies."""

import errno
import json
import math
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored import ENVIRONMENT, RECOVERY, key_of, made_run

from pfbench.base.counts import Counts
from pfbench.base.errors import InputError, StorageError
from pfbench.runs.storage import maintenance, safe_open, serialization
from pfbench.runs.storage.content_keys import source_digest, source_note
from pfbench.runs.storage.damage import DAMAGES, DamagedFileError
from pfbench.runs.storage.index import NAME
from pfbench.runs.storage.serialization import parse
from pfbench.runs.storage.store import Store

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


def without_time(rows):
    return [{name: row[name] for name in row if name not in ("stored", "bytes")} for row in rows]


# --- what goes in comes out -----------------------------------------------------------------------

numbers = st.floats(allow_nan=True, allow_infinity=True)
counts = st.integers(0, 2**53)


def test_half_a_call_is_not_stored(store):
    run = made_run(0)
    (first, *rest) = run.rows
    with pytest.raises(TypeError, match="float64"):
        store.put(KEY, replace(run, rows=[(first[0] + 0.5, *first[1:]), *rest]), ENVIRONMENT)
    assert not list(store.rows())


@given(
    rows=st.lists(st.tuples(*[counts] * 8, numbers, numbers, numbers), max_size=6),
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


def test_verdicts_and_certificates_lie_beside_the_runs(store):
    fill(store)
    assert store.get_row("verdict", key_of("v")) == VERDICT
    assert store.get_row("certificate", key_of("c")) == CERTIFICATE
    assert store.get_row("verdict", key_of("c")) is None
    found = {(row["kind"], row["status"], row["claim"]) for row in store.rows()}
    assert found == {
        ("run", "finished", None),
        ("verdict", "holds", "qu2018-thm1"),
        ("certificate", "certified", None),
    }
    assert [*store.keys("verdict")] == [key_of("v")]


def test_a_numpy_number_in_a_row_is_a_number(store):
    store.put_row(
        "verdict", KEY, {"verdict": "within-10", "seconds": np.float64(0.5), "n": np.int64(3)}
    )
    assert store.get_row("verdict", KEY) == {"verdict": "within-10", "seconds": 0.5, "n": 3}


def test_a_row_that_json_cannot_hold_is_refused_before_anything_is_written(store):
    with pytest.raises(InputError, match="no JSON"):
        store.put_row("verdict", KEY, {"verdict": "holds", "ratio": math.nan})
    assert store.rows() == []


@pytest.mark.parametrize("key", ["../../../etc/passwd", "short", "", "a/b" * 9, "x" * 200])
def test_a_key_is_no_path(store, key):
    with pytest.raises(InputError, match="is no key"):
        store.put(key, made_run(), ENVIRONMENT)


def test_a_store_of_the_first_layout_is_read(store):
    """As pfbench 0.1 wrote it: no notes, no hash, no list of unmet assumptions."""
    store.put(KEY, made_run(), ENVIRONMENT)
    table = pq.read_table(store.path(KEY))
    header = json.loads(table.schema.metadata[b"pfbench"])
    del header["notes"], header["run"]["unmet"]
    table = table.replace_schema_metadata({b"pfbench": json.dumps(header)})
    pq.write_table(table, store.path(KEY))
    (store.folder / NAME).unlink()
    assert [row["key"] for row in store.rows()] == [KEY]
    entry = store.get(KEY)
    assert (entry.run.rows, entry.run.unmet_assumptions, entry.notes) == (made_run().rows, (), {})


def test_pyarrow_is_loaded_only_for_use(store):
    fill(store)
    script = (
        "import sys; from pathlib import Path; from pfbench.runs.storage.store import Store\n"
        f"assert len(Store(Path({str(store.folder)!r})).rows()) == 6\n"
        "assert 'pyarrow' not in sys.modules and 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# --- damage ---------------------------------------------------------------------------------------


def rewritten(store, **changes):
    """Write the header of the file anew, with its hash, so that only the changes are wrong."""
    table = pq.read_table(store.path(KEY))
    header = json.loads(table.schema.metadata[b"pfbench"]) | changes
    text = json.dumps({name: value for name, value in header.items() if value is not None})
    digest = serialization.run_digest(text.encode(), serialization.trace_columns(table))
    table = table.replace_schema_metadata({b"pfbench": text, b"pfbench.digest": digest})
    pq.write_table(table, store.path(KEY))


def cut(store):
    with store.path(KEY).open("r+b") as file:
        file.truncate(700)


def emptied(store):
    store.path(KEY).write_bytes(b"")


def replaced(store):
    store.path(KEY).write_bytes(b"<html>404</html>" * 20)


def of_another(store):
    store.put(key_of("b"), made_run(1), ENVIRONMENT)
    shutil.copy(store.path(key_of("b")), store.path(KEY))


def edited(store):
    """The header is changed and its hash is not."""
    table = pq.read_table(store.path(KEY))
    metadata = dict(table.schema.metadata)
    metadata[b"pfbench"] = metadata[b"pfbench"].replace(b'"iterations": 3', b'"iterations": 2')
    pq.write_table(table.replace_schema_metadata(metadata), store.path(KEY))


def bomb(store):
    """Kilobytes that unpack to hundreds of megabytes."""
    table = pq.read_table(store.path(KEY))
    many = pa.table({name: pa.array(np.zeros(2_000_000, int)) for name in table.column_names})
    pq.write_table(many.replace_schema_metadata(table.schema.metadata), store.path(KEY))
    assert store.path(KEY).stat().st_size < 200_000


def hash_garbled(store):
    """Bytes that are no text."""
    data = store.path(KEY).read_bytes()
    place = data.rindex(b"pfbench.digest") + 30
    store.path(KEY).write_bytes(data[:place] + b"\xb5" + data[place + 1 :])


def hash_hidden(store):
    """The name of the hash is damaged, and so is a number."""
    number_changed(store)
    data = store.path(KEY).read_bytes()
    store.path(KEY).write_bytes(data.replace(b"pfbench.digest", b"pfbench.digect"))


def number_changed(store):
    table = pq.read_table(store.path(KEY))
    place = table.column_names.index("objective")
    values = np.asarray(table.column("objective")).copy()
    values[2] *= 1.0 + 1e-15
    table = table.set_column(place, table.schema.field(place), [values])
    pq.write_table(table, store.path(KEY))


DAMAGE = {
    "truncated": [cut, emptied],
    "unreadable": [replaced],
    "wrong key": [of_another],
    "wrong schema version": [lambda store: rewritten(store, schema=2)],
    "wrong content": [edited, number_changed, hash_garbled, hash_hidden],
    "incomplete": [lambda store: rewritten(store, environment=None)],
    "too large": [bomb],
}


@pytest.mark.parametrize(
    ("what", "damage"), [(what, damage) for what, some in DAMAGE.items() for damage in some]
)
def test_damage_is_reported_by_name_set_aside_and_counts_as_missing(store, caplog, what, damage):
    store.put(KEY, made_run(), ENVIRONMENT)
    damage(store)
    data = store.path(KEY).read_bytes()
    assert store.get(KEY) is None
    (message,) = caplog.messages
    assert message.startswith(f"run {KEY} is damaged: {what} (")
    aside = store.folder / "damaged" / "runs" / f"{KEY}.parquet"
    assert str(aside) in message
    assert aside.read_bytes() == data
    assert KEY not in [*store.keys()]
    store.put(KEY, made_run(), ENVIRONMENT)
    assert store.get(KEY).run.rows == made_run().rows
    assert aside.read_bytes() == data


def test_every_damage_has_a_test():
    assert {*DAMAGE, "not a file"} == set(DAMAGES)


def test_two_damaged_files_of_one_key_are_both_kept(store):
    for size in (100, 200):
        store.put(KEY, made_run(), ENVIRONMENT)
        os.truncate(store.path(KEY), size)
        assert store.get(KEY) is None
    sizes = {path.name: path.stat().st_size for path in (store.folder / "damaged/runs").iterdir()}
    assert sizes == {f"{KEY}.parquet": 100, f"{KEY}.2.parquet": 200}


def test_a_file_that_was_written_anew_in_between_is_not_set_aside(store):
    store.put(KEY, made_run(), ENVIRONMENT)
    assert store.quarantine("run", KEY) is None
    assert store.get(KEY).run.seed == 0


@given(data=st.data())
@settings(max_examples=80)
def test_no_flipped_bit_and_no_cut_goes_unnoticed(tmp_path_factory, data):
    store = Store(tmp_path_factory.getbasetemp() / "flips")
    kind = data.draw(st.sampled_from(["run", "verdict"]))
    path = store.path(KEY, kind)
    if not path.exists():
        store.put(KEY, made_run(), ENVIRONMENT)
        store.put_row("verdict", KEY, VERDICT)
    whole = path.read_bytes()
    expected, _ = parse(kind, KEY, whole)
    place = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << data.draw(st.integers(0, 7))
        changed = bytes(flipped)
    else:
        changed = whole[:place]
    try:
        found, _ = parse(kind, KEY, changed)
    except DamagedFileError:
        return
    assert repr(found) == repr(expected)
    assert kind == "verdict" or repr(found.run.rows) == repr(expected.run.rows)


def test_a_damaged_verdict_is_set_aside(store, caplog):
    store.put_row("verdict", KEY, VERDICT)
    path = store.path(KEY, "verdict")
    path.write_text(path.read_text().replace("holds", "within-10"))
    assert store.get_row("verdict", KEY) is None
    assert "wrong content" in caplog.text
    assert (store.folder / "damaged" / "verdicts" / f"{KEY}.json").exists()


def test_a_file_that_the_system_does_not_let_be_read_is_no_damage(store, monkeypatch):
    store.put(KEY, made_run(), ENVIRONMENT)

    def denied(path, flags):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(safe_open, "_open_regular", denied)
    with pytest.raises(StorageError, match="mend its permissions"):
        store.get(KEY)
    (store.folder / NAME).unlink()
    with pytest.raises(StorageError, match="mend its permissions"):
        store.rows()
    assert store.path(KEY).exists()


@pytest.mark.parametrize(
    ("run", "says"),
    [
        (made_run(counts=Counts(sfo=2**63)), "larger than 64 bits hold"),
        (made_run(iterations=2**70), "larger than 64 bits hold"),
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


# --- the index ------------------------------------------------------------------------------------


def test_the_index_is_what_the_files_say(store):
    fill(store)
    from_index = store.rows()
    (store.folder / NAME).unlink()
    assert store.rows() == from_index
    assert [row["key"] for row in from_index[:4]] == sorted(key_of(seed) for seed in range(4))
    run = made_run(2)
    row = next(row for row in from_index if row["seed"] == 2 and row["kind"] == "run")
    assert row["counts"] == run.counts.as_dict()
    assert (row["problem"], row["algorithm"]) == (run.problem, run.algorithm)
    assert row["bytes"] == store.path(key_of(2)).stat().st_size


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text[len(text) // 3 :],
        lambda text: text.replace('1, "run"', '2, "run"').replace("finished", "budget"),
        lambda text: text.replace('"run"', '["run"]'),
        lambda text: text.replace(', "finished"', ""),
        lambda text: "[[[\n5\n[1, 2, 3]\nnull\n[1, 2, [3]]\n" + text,
        lambda text: text.replace("\n", "\ngarbage"),
        lambda text: "\x00" * 5000,
        lambda text: "",
    ],
)
def test_a_spoilt_index_costs_time_only(store, spoil):
    fill(store)
    expected = store.rows()
    index = store.folder / NAME
    index.write_text(spoil(index.read_text()))
    assert store.rows() == expected
    assert store.rows() == expected


def test_the_index_is_not_believed_over_a_file_that_changed(store):
    fill(store)
    store.rows()
    path = store.path(key_of(0))
    saved = (store.folder / NAME).read_text()
    store.put(key_of(0), made_run(0, status="budget"), ENVIRONMENT)
    store.path(key_of(1)).unlink()
    (store.folder / NAME).write_text(saved)
    rows = {row["key"]: row for row in store.rows() if row["kind"] == "run"}
    assert rows[key_of(0)]["status"] == "budget"
    assert key_of(1) not in rows
    path.write_bytes(path.read_bytes()[:-1])
    listing = store.listing()
    assert key_of(0) not in {row["key"] for row in listing.rows}
    assert [(kind, key, damage.reason) for kind, key, damage in listing.damaged] == [
        ("run", key_of(0), "truncated")
    ]
    assert path.exists()


def test_a_listing_reads_no_file_that_the_index_knows(store, monkeypatch):
    fill(store)
    from pfbench.runs.storage import store as module

    monkeypatch.setattr(module, "_row", lambda *file: pytest.fail(f"{file} was read"))
    assert len(Store(store.folder).rows()) == 6


def test_strange_files_are_left_alone(store):
    fill(store)
    folder = store.path(key_of(0)).parent
    (folder / "notes.txt").write_text("mine")
    (folder / "x.parquet").write_text("mine")
    (folder / f".{key_of(0)}.parquet.77-ab.partial").write_text("half")
    assert len(store.rows()) == 6
    assert [*store.keys()] == sorted(key_of(seed) for seed in range(4))


def test_a_store_that_must_be_there(tmp_path):
    with pytest.raises(InputError, match="there is no store in"):
        Store(tmp_path / "typo", make=False)
    assert not (tmp_path / "typo").exists()


# --- looking after it -----------------------------------------------------------------------------


def test_check_reads_every_file_and_repair_sets_aside(store):
    fill(store)
    os.truncate(store.path(key_of(1)), 50)
    path = store.path(key_of("v"), "verdict")
    path.write_text(path.read_text()[:-5])
    told = []
    for repair in (False, True):
        told.clear()
        number, damaged = maintenance.check_files(
            store, repair=repair, progress=lambda: told.append(1)
        )
        assert number == len(told) == 6
        assert {(d.kind, d.key, d.reason) for d in damaged} == {
            ("run", key_of(1), "truncated"),
            ("verdict", key_of("v"), "truncated"),
        }
        assert all((d.aside is not None) == repair for d in damaged)
    assert maintenance.check_files(store) == (4, [])
    assert len(store.rows()) == 4


def test_a_file_that_goes_while_it_is_read_does_not_count(store, monkeypatch):
    fill(store)
    gone, read = store.path(key_of(1)), store.read_file
    found = {gone: None}
    monkeypatch.setattr(
        store, "read_file", lambda kind, key: found.get(store.path(key, kind), read(kind, key))
    )
    assert maintenance.check_files(store) == (5, [])


def test_repair_takes_up_what_the_first_layout_set_aside(store):
    store.put(KEY, made_run(), ENVIRONMENT)
    old = store.path(KEY).with_suffix(".damaged")
    old.write_bytes(b"old")
    assert maintenance.check_files(store) == (1, [])
    assert old.exists()
    maintenance.check_files(store, repair=True)
    assert not old.exists()
    assert (store.folder / "damaged" / "runs" / f"{KEY}.parquet").read_bytes() == b"old"


def noted(modules, digest=None):
    modules = frozenset(modules)
    return {"source": source_note(modules, digest or source_digest(modules))}


def test_gc_removes_old_leftovers_and_what_is_outdated_and_nothing_else(store):
    fill(store, 1)
    loop = ["pfbench.runs.loop.stop"]
    store.put(key_of("now"), made_run(), ENVIRONMENT, noted(loop))
    store.put(key_of("old"), made_run(), ENVIRONMENT, noted(loop, "0" * 64))
    store.put_row("verdict", key_of("now"), VERDICT, noted(loop))
    store.put_row("verdict", key_of("old"), VERDICT, noted(loop, "0" * 64))
    store.put_row("finding", key_of("old"), {"shown": True}, noted(loop, "0" * 64))
    store.put(key_of("own"), made_run(), ENVIRONMENT, noted([*loop, "mine"], "0" * 64))
    store.put(key_of("bad"), made_run(), ENVIRONMENT, noted(loop, "0" * 64))
    os.truncate(store.path(key_of("bad")), 99)
    old, young = (store.path(KEY).with_name(f".{KEY}.{k}.partial") for k in "ab")
    old.parent.mkdir(exist_ok=True)
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    files = sorted(path for path in store.folder.rglob("*") if path.is_file())

    planned = maintenance.collect_garbage(store, dry_run=True)
    assert sorted(path for path in store.folder.rglob("*") if path.is_file()) == files
    kinds = ("run", "verdict", "finding")
    outdated = [store.path(key_of("old"), kind) for kind in kinds]
    size = 4 + sum(path.stat().st_size for path in outdated)
    found = maintenance.collect_garbage(store)
    assert (found.leftovers, found.bytes) == ([old], size)
    assert found.outdated_entries == [(kind, key_of("old")) for kind in kinds]
    assert planned == found
    assert found.retained == {"current": 2, "unnoted": 3, "own": 1, "damaged": 1, "young": 1}
    left = sorted(path for path in store.folder.rglob("*") if path.is_file())
    assert left == [path for path in files if path not in (old, *outdated)]


def test_a_store_of_earlier_versions_is_read_and_gc_removes_what_only_they_read(store):
    fill(store, 1)
    checkpoint = store.folder / "checkpoints" / key_of(0)[:2] / f"{key_of(0)}.npz"
    half = checkpoint.with_name(f".{checkpoint.name}.a.partial")
    second = store.folder / "families.jsonl"
    checkpoint.parent.mkdir(parents=True)
    for path in (checkpoint, half, second):
        path.write_bytes(b"old")
    assert store.get(key_of(0)).run.seed == 0
    assert maintenance.check_files(store) == (3, [])
    assert len(store.rows()) == 3
    found = maintenance.collect_garbage(store, dry_run=True)
    assert (found.leftovers, found.bytes) == ([checkpoint, second], 6)
    assert maintenance.collect_garbage(store) == found
    # One that is still being written stays for an hour.
    assert half.exists()
    os.utime(half, (0, 0))
    assert maintenance.collect_garbage(store).leftovers == [half]
    assert not (store.folder / "checkpoints").exists()
    assert store.get(key_of(0)) is not None


def test_gc_imports_nothing_that_a_store_names(store, tmp_path, monkeypatch):
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    store.put(KEY, made_run(), ENVIRONMENT, noted(["pfbench.runs.loop.stop"]))
    store.put(key_of("x"), made_run(), ENVIRONMENT, noted(["evil.mine"], "0" * 64))
    assert maintenance.collect_garbage(store).retained == {"current": 1, "own": 1}


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
    assert store.path(key_of(3)).read_bytes() == other.path(key_of(3)).read_bytes()
    assert store.get(key_of(0)).run.seconds == 0.75
    assert len(store.rows()) == 6
    (store.folder / NAME).unlink()
    assert len(store.rows()) == 6


def test_merged_runs_keep_the_limits_that_they_were_made_with(store, other):
    """A stored run may contain one that is asked for: the index learns of it."""
    notes = {"family": "f" * 64, "limits": {"sfo": 9.0}}
    other.put(key_of(1), made_run(1), ENVIRONMENT, notes)
    maintenance.merge(store, other)
    for _ in range(2):
        (row,) = store.rows()
        assert (row["family"], row["limits"]) == (notes["family"], notes["limits"])
        (store.folder / NAME).unlink()


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
    before = store.path(key_of(0)).read_bytes()
    other.put(key_of(0), change(made_run(0)), ENVIRONMENT)
    other.put(KEY, made_run(), ENVIRONMENT)
    report = maintenance.merge(store, other)
    assert report.refused == [("run", key_of(0), where)]
    assert (report.added, report.equal) == (1, 0)
    assert store.path(key_of(0)).read_bytes() == before


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
    os.truncate(store.path(key_of(0)), 60)
    os.truncate(other.path(key_of(1)), 60)
    report = maintenance.merge(store, other)
    assert [(d.key, d.reason) for d in report.damaged] == [(key_of(1), "truncated")]
    assert report.added == 1
    assert maintenance.check_files(store) == (4, [])
    assert other.path(key_of(1)).exists()


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
