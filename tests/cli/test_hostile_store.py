"""A store that somebody else wrote: no verb ends in a traceback, hangs, or harms what is outside.

PFBENCH_FUZZ=10 tries ten times as many cases.
"""

import json
import os
import random
import sys
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stored import ENVIRONMENT, key_of, made_run

from pfbench.runs.storage import serialization
from pfbench.runs.storage.damage import DamagedFileError
from pfbench.runs.storage.store import Store

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")

MORE = int(os.environ.get("PFBENCH_FUZZ", "1"))
GOOD, BAD, VERDICT = key_of("good"), key_of("bad"), key_of("verdict")

VERBS = (
    ("list",),
    ("list", "--json"),
    ("check",),
    ("gc", "--dry-run"),
    ("gc",),
    ("export", "csv-wide", "-o", "wide"),
    ("export", "csv-long", "-o", "long"),
    ("export", "benchopt", "-o", "benchopt"),
    ("export", "coco", "-o", "coco", "--measure", "fw_gap"),
    ("export", "iohprofiler", "-o", "ioh", "--measure", "fw_gap"),
    ("check", "--repair"),
    ("list", "--json"),
)
FEW = (("list", "--json"), ("check",), ("export", "csv-wide", "-o", "wide"), ("check", "--repair"))


@pytest.fixture
def store(folder):
    """A store with a good run, and another one that a test damages."""
    store = Store(folder / "store")
    for seed, key in enumerate((GOOD, BAD)):
        store.put(key, made_run(seed), ENVIRONMENT, {"dimension": 4})
    store.put_row("verdict", VERDICT, {"claim": "c", "verdict": "holds", "seconds": 1.0})
    return store


@pytest.fixture
def survives(pfbench, folder, store):
    """Try verbs on the store: each ends, with a sentence for each thing that is wrong."""

    def tried(verbs=VERBS, *, gone=True, index=False):
        if not index:
            (store.folder / "index.jsonl").unlink(missing_ok=True)
        for number, verb in enumerate(verbs):
            words = [
                f"{number}-{one}" if verb[k - 1] == "-o" else one for k, one in enumerate(verb)
            ]
            outcome = pfbench("store", *words, "--store", store.folder)
            assert outcome.status in (0, 1, 2), (verb, outcome)
            for word in ("Traceback", "this is a bug", "not enough memory"):
                assert word not in outcome.err + outcome.out, (verb, outcome.err)
            assert all(line.startswith("pfbench: ") for line in outcome.err.splitlines())
        merged = pfbench("store", "merge", store.folder, "--store", folder / "merged", "--json")
        assert merged.status in (0, 1), merged
        keys = {row["key"] for row in pfbench("store", "list", "--json", *at(store)).json}
        assert GOOD in keys
        if gone:
            assert BAD not in keys
            assert not os.path.lexists(store.path(BAD))
            assert os.listdir(store.folder / "damaged" / "runs")

    return tried


def at(store):
    return "--store", store.folder


# --- crafted files --------------------------------------------------------------------------------


def write(store, change=lambda header: header, *, key=BAD, table=None):
    """Write a run whose hash is right, whatever its header and its table say."""
    source = pq.read_table(store.path(GOOD))
    header = json.loads(source.schema.metadata[b"pfbench"]) | {"key": key}
    changed = change(header)
    text = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
    table = (table or (lambda one: one))(source)
    try:
        digest = serialization.run_digest(text, serialization.trace_columns(table))
    except DamagedFileError:  # no hash is right
        digest = "0" * 64
    metadata = {b"pfbench": text, b"pfbench.digest": digest}
    store.path(key).parent.mkdir(exist_ok=True)
    pq.write_table(table.replace_schema_metadata(metadata), store.path(key))


def of_run(**changes):
    """Change fields of the run in a header."""
    return lambda header: header | {"run": header["run"] | changes}


def without(field):
    def change(header):
        run = {name: value for name, value in header["run"].items() if name != field}
        return header | {"run": run}

    return change


VALUES = (None, "x", 3, -1, 2**70, 0.5, True, [], {}, [[]], {"a": {"b": []}}, "\ud800", "")
FIELDS = (
    *("problem", "algorithm", "parameters", "schedule", "unmet", "seed", "status", "stop_reason"),
    *("iterations", "counts", "final", "seconds", "oracle_seconds", "failure_probability"),
    *("own_output", "columns", "rows", "x", "schema"),
)


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_of_any_type(store, survives, pfbench, field):
    """Every value that JSON has, in every field: it is damage, or a run like any other."""
    for number, value in enumerate(VALUES):
        write(store, of_run(**{field: value}), key=key_of(f"{field} {number}"))
    write(store, of_run(nothing=1))
    survives(FEW)


@pytest.mark.parametrize("field", ["environment", "notes", "run", "schema", "key"])
def test_a_part_of_any_type(store, survives, field):
    for number, value in enumerate(VALUES):
        key = key_of(f"{field} {number}")
        write(store, lambda header, value=value: header | {field: value}, key=key)
    write(store, without("counts"))
    survives(FEW)


@pytest.mark.parametrize("note", ["retries", "family", "limits", "dimension", "source", "plan"])
def test_a_note_of_any_type(store, survives, note):
    for number, value in enumerate((*VALUES, {"modules": 3}, {"modules": [3], "digest": []})):
        key = key_of(f"{note} {number}")
        write(store, lambda header, value=value: header | {"notes": {note: value}}, key=key)
    write(store, without("seed"))
    survives(FEW)


def columns(change):
    """Change the columns of a table, by name."""

    def changed(table):
        return pa.table(change({name: table[name] for name in table.column_names}))

    return changed


def cells(name, values, kind=None):
    return columns(lambda found: found | {name: pa.array(values, kind)})


def with_field(header, value):
    return json.dumps(header).encode()[:-1] + b', "x": ' + value + b"}"


HEADERS = {
    "nested": lambda h: b"[" * 200_000 + b"]" * 200_000,
    "nested field": lambda h: (
        json.dumps(h).encode()[:-1] + b', "x": ' + b"[" * 10**5 + b"]" * 10**5 + b"}"
    ),
    "open": lambda h: b'{"a":' * 100_000,
    "digits": lambda h: with_field(h, b"9" * 10_000),
    "huge": lambda h: with_field(h, b" " * (serialization.MOST_TEXT + 1) + b"1"),
    "surrogate": lambda h: of_run(problem="\ud800")(h),
    "surrogate name": lambda h: of_run(final={"\udfff": 1.0})(h),
    "no object": lambda h: b"3",
    "no JSON": lambda h: b"\xff\xfe",
    "null measure": without("final"),
    "NaN seconds": lambda h: of_run(seconds="NaN")(h),
    "float count": of_run(counts={"sfo": 1.5}),
    "huge count": of_run(counts={"sfo": 2**64}),
    "unknown count": of_run(counts={"sgo": 1}),
    "status": of_run(status="\x1b[2J"),
}
TABLES = {
    "text": cells("objective", ["a", "b", "c", "d"]),
    "null": cells("objective", [1.0, None, 2.0, 3.0]),
    "null count": cells("sfo", [1, None, 2, 3]),
    "float count": cells("sfo", [0.0, 1.0, 2.0, 3.0]),
    "int measure": cells("objective", [1, 2, 3, 4]),
    "lists": cells("objective", [[1.0], [2.0], [], [3.0]]),
    "structs": cells("objective", [{"a": 1.0}] * 4),
    "dictionary": cells("objective", pa.array(["a"] * 4).dictionary_encode()),
    "times": cells("objective", [1, 2, 3, 4], pa.timestamp("s")),
    "decimal": cells("objective", [1, 2, 3, 4], pa.decimal128(5)),
    "bytes": cells("objective", [b"a"] * 4),
    "lacking": columns(lambda found: {n: v for n, v in found.items() if n != "sfo"}),
    "other order": columns(lambda found: dict(reversed(found.items()))),
    "none": lambda table: pa.table({}),
    "one": lambda table: pa.table({"a": [1]}),
    "twice": lambda table: table.append_column("objective", table["objective"]),
    "wide": lambda table: pa.table({f"c{k}": [0] for k in range(5000)}),
    "long": lambda t: pa.table({n: pa.array(np.zeros(3 * 10**6, int)) for n in t.column_names}),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_crafted_header(store, survives, name):
    write(store, HEADERS[name])
    survives()


@pytest.mark.parametrize("name", TABLES)
def test_a_crafted_table(store, survives, name):
    write(store, table=TABLES[name])
    survives()


def test_a_decompression_bomb_is_not_unpacked(store, survives, monkeypatch):
    """Sixty million rows in less than a megabyte."""
    import resource

    table = pa.table({"iteration": pa.array(np.zeros(6 * 10**7, np.int8)).cast(pa.int64())})
    pq.write_table(table, store.path(BAD), compression="zstd")
    assert store.path(BAD).stat().st_size < 10**6
    del table
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    survives()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_metadata_that_lie_about_their_length(store, survives):
    data = store.path(BAD).read_bytes()
    for length in (2**31, len(data), 2**32 - 1):
        store.path(BAD).write_bytes(data[:-8] + length.to_bytes(4, "little") + b"PAR1")
        survives(FEW[:3], gone=False)
    survives(FEW)


# --- what is no file ------------------------------------------------------------------------------


def sparse(path):
    """Make a file of a terabyte that has nothing on the disk."""
    path.touch()
    os.truncate(path, 2**40)


def in_place(make):
    """Put something in the place of the damaged run."""

    def put(store, outside):
        store.path(BAD).unlink()
        make(store.path(BAD), outside)

    return put


PLACES = {
    "folder": in_place(lambda path, outside: path.mkdir()),
    "full folder": in_place(lambda path, outside: (path / "x" / "y").mkdir(parents=True)),
    "pipe": in_place(lambda path, outside: os.mkfifo(path)),
    "link": in_place(lambda path, outside: path.symlink_to(outside)),
    "link to a folder": in_place(lambda path, outside: path.symlink_to(outside.parent)),
    "link to nothing": in_place(lambda path, outside: path.symlink_to("nothing")),
    "link to itself": in_place(lambda path, outside: path.symlink_to(path)),
    "device": in_place(lambda path, outside: path.symlink_to("/dev/zero")),
    "huge": in_place(lambda path, outside: sparse(path)),
    "empty": in_place(lambda path, outside: path.touch()),
}


@pytest.mark.parametrize("name", PLACES)
def test_what_is_in_place_of_a_file(store, survives, folder, name):
    outside = folder / "outside"
    outside.write_text("precious")
    PLACES[name](store, outside)
    survives()
    assert outside.read_text() == "precious"


@pytest.mark.parametrize("make", ["mkdir", "pipe", "link", "zero", "hard link", "deep", "huge"])
def test_what_is_in_place_of_the_index(store, survives, folder, make):
    outside = folder / "outside"
    outside.write_text("precious")
    index = store.folder / "index.jsonl"
    index.unlink()
    if make == "mkdir":
        index.mkdir()
    elif make == "pipe":
        os.mkfifo(index)
    elif make == "hard link":
        os.link(outside, index)
    elif make in ("link", "zero"):
        index.symlink_to(outside if make == "link" else "/dev/zero")
    elif make == "deep":
        index.write_text("[" * 10**6 + "\n" + "[[[[" * 10 + "\n[" + "[1]" * 30 + "\n")
    else:
        sparse(index)
    store.put(key_of("more"), made_run(5), ENVIRONMENT)
    assert outside.read_text() == "precious"
    survives(gone=False, index=True)
    assert outside.read_text() == "precious"


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_an_index_of_any_types(store, survives, value):
    """Lines that have the size and time of the file, and any value in one field."""
    index = store.folder / "index.jsonl"
    lines = []
    for line in map(json.loads, filter(None, index.read_text().splitlines())):
        lines += [[*line[:k], value, *line[k + 1 :]] for k in range(len(line))]
    index.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    survives(FEW, gone=False, index=True)


@pytest.mark.parametrize("what", ["runs", "shard", "damaged", "checkpoints", "verdicts"])
def test_a_folder_that_is_a_link_leads_nowhere(store, survives, pfbench, folder, what):
    """What it leads to is neither listed, nor moved, nor removed."""
    outside = folder / "outside"
    outside.mkdir()
    shard = store.path(BAD).parent
    if what == "shard":
        shard.rename(outside / "ab")
        shard.symlink_to(outside / "ab")
        (outside / "ab" / f".x{'.partial'}").touch()
    elif what == "runs":
        (store.folder / "runs").rename(outside / "runs")
        (store.folder / "runs").symlink_to(outside / "runs")
    elif what == "checkpoints":
        (outside / "ab").mkdir()
        (outside / "ab" / "mine.npz").touch()
        (store.folder / "checkpoints").symlink_to(outside)
    else:
        os.truncate(store.path(BAD), 100)
        link = store.folder / what
        if link.exists():
            link.rename(folder / "elsewhere")
        link.symlink_to(outside)
    for path in outside.rglob("*"):
        os.utime(path, (0, 0))
    before = sorted(outside.rglob("*"))
    for verb in VERBS:
        outcome = pfbench("store", *verb, *at(store))
        assert "Traceback" not in outcome.err
        assert "this is a bug" not in outcome.err
    assert sorted(outside.rglob("*")) == before


# --- rows of JSON ---------------------------------------------------------------------------------

ROWS = {
    "deep": b"[" * 10**5 + b"}\n",
    "deep row": b'{"schema": 1, "row": ' + b"[" * 10**5 + b"]" * 10**5 + b"}\n",
    "number": b"3}\n",
    "list": b"[{}\n",
    "empty": b"{}\n",
    "huge": b"{" + b" " * 2**24 + b"}\n",
    "bytes": b"\xff}\n",
    "NUL": b"\x00" * 100 + b"}\n",
}


@pytest.mark.parametrize("name", ROWS)
def test_a_crafted_verdict(store, survives, name):
    store.path(VERDICT, "verdict").write_bytes(ROWS[name])
    write(store, HEADERS["no object"])
    survives()
    assert not store.path(VERDICT, "verdict").exists()


@pytest.mark.parametrize("kind", ["verdict", "finding", "certificate"])
def test_a_row_of_any_types(store, survives, kind):
    fields = ("claim", "problem", "algorithm", "seed", "status", "seconds", "counts", "verdict")
    for field in (*fields, "shown", "certified", "iterations", "stop_reason"):
        for number, value in enumerate(VALUES):
            row = {field: value}
            header = {"schema": 1, "kind": kind, "key": key_of(f"{field} {number}"), "row": row}
            header |= {"sha256": serialization.row_digest(row), "notes": {}}
            path = store.path(header["key"], kind)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(header) + "\n")
    write(store, HEADERS["no object"])
    survives(FEW)


# --- noise ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12 * MORE))
def test_noise(store, survives, seed):
    """Flipped, cut, repeated and foreign bytes: never an answer that differs, never a crash."""
    rng = random.Random(seed)
    for name in (store.path(BAD), store.path(VERDICT, "verdict"), store.folder / "index.jsonl"):
        data = bytearray(name.read_bytes() if name.exists() else b"")
        for _ in range(rng.choice([1, 3, 50])):
            place = rng.randrange(len(data))
            kind = rng.randrange(4)
            if kind == 0:
                data[place] ^= 1 << rng.randrange(8)
            elif kind == 1:
                del data[place : place + rng.choice([1, 5, len(data)])]
            elif kind == 2:
                data[place:place] = data[: rng.randrange(100)]
            else:
                data[place : place + 8] = rng.randbytes(8)
            if not data:
                break
        name.write_bytes(bytes(data))
    survives(FEW, gone=False, index=True)


def test_a_bomb_of_zeros_in_json_is_too_large(store, survives):
    """A text of a gigabyte is a kilobyte on a disk that compresses; its size is what counts."""
    assert len(zlib.compress(b" " * 2**24)) < 2**15
    os.truncate(store.path(VERDICT, "verdict"), 2**33)
    write(store, HEADERS["no object"])
    survives()


def test_no_damage_of_a_run_ends_the_process(store):
    """Some damaged metadata make pyarrow abort if it is asked for a column of a group of rows."""
    data = store.path(BAD).read_bytes()
    whole = repr(store.get(BAD).run.rows)
    for seed in range(1000 * MORE):
        rng, changed = random.Random(seed), bytearray(data)
        for _ in range(rng.choice([1, 1, 2, 8])):
            place = rng.randrange(len(changed))
            if rng.random() < 0.5:
                changed[place] ^= 1 << rng.randrange(8)
            else:
                changed[place : place + rng.choice([0, 4])] = rng.randbytes(4)
        try:
            entry, _ = serialization.parse("run", BAD, bytes(changed))
        except DamagedFileError:
            continue
        assert repr(entry.run.rows) == whole
