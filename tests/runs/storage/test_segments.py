"""Runs that are packed down: the same answers, whole or not there, several at once, damage told."""

import errno
import json
import os
import random
import shutil

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from stored import ENVIRONMENT, RECOVERY, SVRG, key_of, made_run

from pfbench.base.errors import StorageError
from pfbench.runs.storage import compaction, maintenance, segment_writer
from pfbench.runs.storage.compaction import compact, compact_if_many
from pfbench.runs.storage.content_keys import source_note
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.exports import export
from pfbench.runs.storage.exports.measure_curves import ExportView
from pfbench.runs.storage.store import Store

FW = "frank-wolfe[iterations=3]"
NOTES = {"family": "f" * 64, "limits": {"sfo": 3.0}, "dimension": 4}


def filled(folder, count=12):
    """A store of runs of two methods, and of one of other columns; and a verdict."""
    store = Store(folder / "store")
    for seed in range(count):
        run = made_run(seed, algorithm=FW if seed % 2 else SVRG, rows=seed % 5)
        store.put(key_of(seed), run, ENVIRONMENT, NOTES if seed % 3 else {})
    odd = made_run(problem=RECOVERY)
    columns = (*odd.columns[:-1], "rmse")
    store.put(key_of("odd"), made_run(problem=RECOVERY, columns=columns), ENVIRONMENT)
    store.put_row("verdict", key_of("v"), {"claim": "c", "verdict": "holds"})
    return store


@pytest.fixture
def store(tmp_path):
    store = filled(tmp_path)
    store.keys_put = [*store.keys()]
    return store


def segment_of(store):
    (name,) = store.segments.names
    return store.folder / "segments" / name


def answers(store, keys):
    return {key: repr(store.get(key)) for key in keys}


def loose(store):
    return sorted(path.stem for path in store.folder.glob("runs/??/*.parquet"))


# --- what goes in comes out -----------------------------------------------------------------------


def test_nothing_changes_but_where_the_runs_lie(store, tmp_path):
    keys, rows = store.keys_put, store.rows()
    before = answers(store, keys), {key: store.read("run", key) for key in keys}
    for form in ("csv-wide", "csv-long", "benchopt"):
        export(store, [r for r in rows if r["kind"] == "run"], form, tmp_path / form, ExportView())
    assert compact(store) == compaction.CompactionReport(13, 1)
    assert loose(store) == []
    for one in (store, Store(store.folder)):
        assert (answers(one, keys), {key: one.read("run", key) for key in keys}) == before
        assert one.rows() == rows
        assert [*one.keys()] == keys
        assert one.get(key_of(3)) is not None
        assert one.get(key_of("none")) is None
    for form in ("csv-wide", "csv-long", "benchopt"):
        again = tmp_path / f"{form} again"
        export(store, [r for r in rows if r["kind"] == "run"], form, again, ExportView())
        for path in again.iterdir():
            assert path.read_bytes() == (tmp_path / form / path.name).read_bytes()
    assert maintenance.check_files(store) == (14, [])
    assert compact(store) == compaction.CompactionReport(0, 0)


def test_any_reader_of_parquet_queries_a_segment(store):
    compact(store)
    found = ds.dataset([str(path) for path in store.folder.glob("segments/*/runs.parquet")])
    asked = found.to_table(columns=["seed", "sfo"], filter=ds.field("algorithm") == FW)
    assert sorted(asked["seed"].to_pylist()) == [1, 3, 5, 7, 9, 11]
    groups = pq.ParquetFile(segment_of(store) / "runs.parquet").metadata.num_row_groups
    assert groups == 2  # one for each set of columns


def test_a_group_of_rows_ends_where_the_problem_does(tmp_path, monkeypatch):
    monkeypatch.setattr(segment_writer, "GROUP", 4)
    store = filled(tmp_path)
    keys = [*store.keys()]
    before = answers(store, keys)
    compact(store)
    file = pq.ParquetFile(segment_of(store) / "runs.parquet")
    parts = [file.read_row_group(k)["algorithm"].to_pylist() for k in range(file.num_row_groups)]
    assert all(len(set(part)) == 1 and len(part) <= 4 for part in parts)
    assert answers(store, keys) == before


def test_runs_of_very_many_columns_take_several_segments(store, monkeypatch):
    monkeypatch.setattr(segment_writer, "MOST_TRACES", 1)
    assert compact(store).segments > 1
    assert [*Store(store.folder).keys()] == store.keys_put


def test_a_run_of_the_first_layout_is_packed(store):
    """It had no hash, which it gets."""
    table = pq.read_table(store.path(key_of(1)))
    text = table.schema.metadata[b"pfbench"]
    pq.write_table(table.replace_schema_metadata({b"pfbench": text}), store.path(key_of(1)))
    before = repr(store.get(key_of(1)))
    compact(store)
    assert repr(store.get(key_of(1))) == before


def test_a_run_that_is_made_again_takes_the_place_of_a_packed_one(store):
    compact(store)
    store.put(key_of(0), made_run(0, status="budget"), ENVIRONMENT)
    for _ in range(2):
        assert store.get(key_of(0)).run.status == "budget"
        (row,) = [row for row in store.rows() if row["key"] == key_of(0)]
        assert row["status"] == "budget"
        assert maintenance.check_files(store)[0] == 14
        compact(store)
    assert loose(store) == []
    assert len(store.segments.names) == 2


def test_a_sweep_packs_down_what_is_too_many(store):
    compact_if_many(store, 13)
    assert len(loose(store)) == 13
    partial = store.folder / "segments" / ".000009-abcdefab.partial"
    partial.mkdir(parents=True)
    compact_if_many(store, 12)  # somebody else is at it
    assert len(loose(store)) == 13
    partial.rmdir()
    compact_if_many(store, 12)
    assert (loose(store), [*store.keys()]) == ([], store.keys_put)


# --- whole or not there ---------------------------------------------------------------------------


def test_a_full_disk_leaves_the_single_files(store, monkeypatch):
    before = answers(store, store.keys_put)

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match="free some space"):
            compact(store)
        compact_if_many(store, 1)
    assert loose(store) == store.keys_put
    assert not [*store.folder.glob("segments/*")]
    assert answers(store, store.keys_put) == before


def test_a_file_that_is_written_while_it_is_packed_stays_and_counts(store, monkeypatch):
    write = segment_writer.write_segment

    def meanwhile(runs, folder):
        write(runs, folder)
        store.put(key_of(0), made_run(0, status="budget"), ENVIRONMENT)
        store.path(key_of(1)).unlink()

    monkeypatch.setattr(segment_writer, "write_segment", meanwhile)
    compact(store)
    assert loose(store) == [key_of(0)]
    assert store.get(key_of(0)).run.status == "budget"
    assert store.get(key_of(1)) is not None
    assert not [*store.folder.rglob("*.partial")]


def test_gc_removes_a_segment_that_a_killed_process_left(store):
    partial = store.folder / "segments" / ".000001-abcdefab.partial"
    partial.mkdir(parents=True)
    (partial / "runs.parquet").write_bytes(b"half")
    assert maintenance.collect_garbage(store).retained["young"] == 1
    for path in (partial / "runs.parquet", partial):
        os.utime(path, (0, 0))
    assert maintenance.collect_garbage(store).leftovers == [partial / "runs.parquet"]
    assert not partial.exists()


# --- damage ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    store = filled(tmp_path_factory.mktemp("packed"))
    store.keys_put = [*store.keys()]
    compact(store)
    return store


@pytest.mark.parametrize("seed", range(40))
def test_no_flipped_bit_and_no_cut_changes_an_answer(packed, tmp_path, seed):
    """A run is what it was, or missing; and whatever was changed is told."""
    rng = random.Random(seed)
    before = answers(packed, packed.keys_put)
    shutil.copytree(packed.folder, tmp_path / "s")
    store = Store(tmp_path / "s")
    path = rng.choice(sorted(segment_of(store).iterdir()))
    data = bytearray(path.read_bytes())
    # The beginning, the end, and anywhere: metadata are the most dangerous.
    place = rng.choice([rng.randrange(len(data)), rng.randrange(min(40, len(data)))])
    place = rng.choice([place, len(data) - 1 - place])
    if rng.random() < 0.7:
        data[place] ^= 1 << rng.randrange(8)
    else:
        del data[place:]
    path.write_bytes(data)
    store = Store(tmp_path / "s")
    for key in packed.keys_put:
        try:
            found = store.stat_entry("run", key)
        except DamagedFileError:
            continue
        assert found is None or repr(found[0]) == before[key]
    shown = {row["key"]: dict(row) for row in packed.rows()}
    listing = store.listing()
    assert all(dict(row) == shown[row["key"]] for row in listing.rows)
    _, damaged = maintenance.check_files(store)
    assert damaged
    _, damaged = maintenance.check_files(store, repair=True)
    assert all(one.aside is not None for one in damaged)
    assert maintenance.check_files(store)[1] == []
    again = answers(store, store.keys())
    assert all(again[key] == before[key] for key in again)
    assert [*(store.folder / "damaged" / "segments").iterdir()]


def test_one_damaged_run_is_told_and_the_others_are_kept(store, caplog):
    """Its hash is wrong, and everything else is right."""
    write = segment_writer.run_digest
    first = store.read("run", key_of(0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            segment_writer,
            "run_digest",
            lambda text, columns: "0" * 64 if key_of(0).encode() in text else write(text, columns),
        )
        compact(store)
    assert store.get(key_of(0)) is None
    assert f"run {key_of(0)} is damaged: wrong content" in caplog.text
    with pytest.raises(DamagedFileError):
        store.read("run", key_of(0))
    number, damaged = maintenance.check_files(store, repair=True)
    assert (number, [(d.kind, d.key, d.reason) for d in damaged]) == (
        14,
        [("run", key_of(0), "wrong content")],
    )
    assert [*store.keys()] == [key for key in store.keys_put if key != key_of(0)]
    store.put(key_of(0), made_run(0, algorithm=SVRG, rows=0), ENVIRONMENT)
    assert store.read("run", key_of(0)) == first


def test_what_is_no_segment_is_told_and_left_alone(store, tmp_path, caplog):
    compact(store)
    folder = store.folder / "segments"
    (tmp_path / "outside").mkdir()
    (folder / "000007-00000000").symlink_to(tmp_path / "outside")
    (folder / "000008-00000000").mkdir()
    (folder / "000009-00000000").write_text("a file")
    (folder / "notes").mkdir()
    listing = Store(store.folder).listing()
    assert len(listing.rows) == 14
    found = {name[:6]: damage.reason for _, name, damage in listing.damaged}
    assert found == {"000007": "not a file", "000008": "incomplete", "000009": "not a file"}
    maintenance.check_files(store, repair=True)
    assert (tmp_path / "outside").exists()
    assert [*Store(store.folder).keys()] == store.keys_put


def test_a_listing_that_lies_is_left_out_of_exports_and_told(store, tmp_path):
    row_of = compaction.make_row
    with pytest.MonkeyPatch.context() as patch:
        lie = {"algorithm": "another"}
        patch.setattr(compaction, "make_row", lambda *run: row_of(*run) | lie)
        compact(store)
    rows = [row for row in store.rows() if row["kind"] == "run"]
    assert {row["algorithm"] for row in rows} == {"another"}
    _, left_out = export(store, rows, "csv-wide", tmp_path / "csv", ExportView())
    assert sum(left_out.values()) == 13
    assert {damage.reason for damage in maintenance.check_files(store)[1]} == {"wrong content"}


# --- looking after it -----------------------------------------------------------------------------


def test_gc_writes_a_segment_anew_without_what_is_outdated(store):
    modules = frozenset({"pfbench.runs.loop.stop"})
    store.put(key_of("old"), made_run(), ENVIRONMENT, {"source": source_note(modules, "0" * 64)})
    compact(store)
    before = answers(store, store.keys_put)
    dry = maintenance.collect_garbage(store, dry_run=True)
    assert dry.outdated_entries == [("run", key_of("old"))]
    assert key_of("old") in [*store.keys()]
    assert maintenance.collect_garbage(store) == dry
    assert [*store.keys()] == store.keys_put
    assert answers(store, store.keys_put) == before
    assert len(store.segments.names) == 1


def test_merging_a_packed_store_packs_what_it_takes(store, tmp_path):
    mine = Store(tmp_path / "mine")
    mine.put(key_of(0), made_run(0, algorithm=SVRG, rows=0, iterations=7), ENVIRONMENT)
    mine.put(key_of(1), made_run(1, status="killed"), ENVIRONMENT)
    compact(store)
    report = maintenance.merge(mine, store)
    assert (report.added, report.equal) == (13, 0)
    assert report.refused == [("run", key_of(0), "iterations")]
    keys = [key for key in store.keys_put if key != key_of(0)]
    assert answers(mine, keys) == answers(store, keys)
    assert loose(mine) == sorted([key_of(0), key_of(1)])
    assert maintenance.merge(mine, store).added == 0


def test_a_manifest_says_what_is_in_it(store):
    compact(store)
    said, text = (segment_of(store) / "manifest.json").read_text().splitlines()
    about = json.loads(text)
    assert len(said) == 64
    assert (about["schema"], about["runs"], len(about["traces"])) == (1, 13, 2)
    sizes = {path.name: path.stat().st_size for path in segment_of(store).glob("*.parquet")}
    assert {name: file["bytes"] for name, file in about["files"].items()} == sizes
