"""A store of unknown origin: no verb ends in a traceback, hangs, or harms what is outside."""

import json
import os
import sqlite3
import sys
import zlib
from contextlib import closing

import pytest
from stored import ENVIRONMENT, crafted, key_of, made_run, set_aside

from pfbench.runs.storage.serialization import Record, decode_metadata
from pfbench.runs.storage.store import Store

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")

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

    def tried(verbs=VERBS, *, gone=True):
        store.close()
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
            assert set_aside(store)

    return tried


def at(store):
    return "--store", store.folder


# --- crafted rows ---------------------------------------------------------------------------------


def write(store, change=lambda header: header, *, key=BAD, columns=None):
    """Write a run whose checksum and hash are right, whatever its metadata and its columns are."""
    record = store.read("run", GOOD)
    changed = change(decode_metadata(record)[0])
    text = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
    insert(store, record._replace(key=key, meta=zlib.compress(text)), columns or {})


def insert(store, record, columns):
    record = crafted(record, **columns)
    store.close()
    with closing(sqlite3.connect(store.path)) as database, database:
        database.text_factory = bytes
        places = ", ".join("?" * len(record))
        names = ", ".join(Record._fields)
        database.execute(f"INSERT OR REPLACE INTO entries ({names}) VALUES ({places})", record)


def of_run(**changes):
    """Change fields of the run in its metadata."""
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


def having(**changes):
    """Change parts of the metadata."""
    return lambda header: header | changes


ANY_TYPE = {
    **{f"field {name}": [of_run(**{name: value}) for value in VALUES] for name in FIELDS},
    **{
        f"part {name}": [having(**{name: value}) for value in VALUES]
        for name in ("environment", "notes", "run", "trace")
    },
    **{
        f"note {name}": [
            having(notes={name: value})
            for value in (*VALUES, {"modules": 3}, {"modules": [3], "digest": []})
        ]
        for name in ("retries", "family", "limits", "dimension", "source", "plan")
    },
}


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", ANY_TYPE)
def test_metadata_of_any_type(store, survives, name):
    """Every value that JSON has, in every field: it is damage, or a run like any other."""
    for number, change in enumerate(ANY_TYPE[name]):
        write(store, change, key=key_of(f"{name} {number}"))
    write(store, without("counts"))
    survives(FEW)


def with_field(header, value):
    return json.dumps(header).encode()[:-1] + b', "x": ' + value + b"}"


HEADERS = {
    "nested": lambda h: b"[" * 200_000 + b"]" * 200_000,
    "nested field": lambda h: with_field(h, b"[" * 10**5 + b"]" * 10**5),
    "open": lambda h: b'{"a":' * 100_000,
    "digits": lambda h: with_field(h, b"9" * 10_000),
    "huge": lambda h: with_field(h, b" " * (2**22 + 1) + b"1"),
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
    **{
        f"trace {name}": having(trace={"columns": columns, "rows": rows})
        for name, columns, rows in (
            ("in other order", ["iteration", "seconds", "fo"], 4),
            ("with a name twice", ["iteration"] * 2, 4),
            ("without columns", [], 4),
            ("too wide", [f"c{k}" for k in range(5000)], 1),
            ("too long", ["iteration"], 2**62),
            ("of negative length", ["iteration"], -1),
            ("without a list", {"a": 1}, 4),
        )
    },
}


@pytest.mark.thin(8)
@pytest.mark.parametrize("name", HEADERS)
def test_a_crafted_header(store, survives, name):
    write(store, HEADERS[name])
    survives()


@pytest.mark.thin(3)
@pytest.mark.parametrize("column", Record._fields)
def test_a_column_of_any_type(store, survives, column):
    write(store, HEADERS["no object"])
    values = 3, -1, 2**62, 0.5, -1e300, float("inf"), None, b"\xff\xfe", "\x1b[2J", "[[[", "{}"
    for number, value in enumerate(values):
        record = store.read("run", GOOD)._replace(key=f"{number:064x}")
        if column not in ("kind", "key") or value is not None:
            insert(store, record, {column: value})
    survives(FEW)


def test_a_decompression_bomb_is_not_unpacked(store, survives):
    """A terabyte could follow: what is more than a trace has is not unpacked."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bomb = zlib.compressobj(9)
    data = b"".join(bomb.compress(bytes(10**7)) for _ in range(30)) + bomb.flush()
    for name in ("meta", "trace"):
        write(store, columns={name: data})
        survives(FEW)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


@pytest.mark.thin(5)
@pytest.mark.parametrize("kind", ["verdict", "finding", "certificate", "fault", "new"])
def test_a_row_of_any_types(store, survives, kind):
    fields = ("claim", "problem", "algorithm", "seed", "status", "seconds", "counts", "verdict")
    for field in (*fields, "shown", "certified", "iterations", "stop_reason"):
        for number, value in enumerate(VALUES):
            meta = json.dumps({"row": {field: value}, "notes": {}}).encode()
            columns = {"key": key_of(f"{field} {number}"), "kind": kind, "trace": b""}
            insert(store, store.read("run", GOOD), {**columns, "meta": zlib.compress(meta)})
    write(store, HEADERS["no object"])
    survives(FEW)


# --- what is no store -----------------------------------------------------------------------------


def sparse(path):
    """Make a file of a terabyte that has nothing on the disk."""
    path.touch()
    os.truncate(path, 2**40)


PLACES = {
    "folder": lambda path, outside: path.mkdir(),
    "pipe": lambda path, outside: os.mkfifo(path),
    "link": lambda path, outside: path.symlink_to(outside),
    "link to a folder": lambda path, outside: path.symlink_to(outside.parent),
    "link to nothing": lambda path, outside: path.symlink_to("nothing"),
    "link to itself": lambda path, outside: path.symlink_to(path),
    "device": lambda path, outside: path.symlink_to("/dev/zero"),
    "huge": lambda path, outside: sparse(path),
    "text": lambda path, outside: path.write_text("precious " * 100),
}


@pytest.mark.thin(3)
@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("name", PLACES)
def test_what_is_in_place_of_the_file(pfbench, store, folder, name, suffix):
    outside = folder / "outside"
    outside.write_text("precious")
    store.close()
    path = store.folder / f"store.sqlite{suffix}"
    path.unlink(missing_ok=True)
    PLACES[name](path, outside)
    for verb in FEW:
        outcome = pfbench("store", *verb, *at(store))
        assert outcome.status in (0, 1, 2), (verb, outcome)
        assert "Traceback" not in outcome.err
        assert "this is a bug" not in outcome.err
    assert outside.read_text() == "precious"


TABLES = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries; END",
    "view": "DROP TABLE entries; CREATE VIEW entries AS SELECT 1",
    "other columns": "ALTER TABLE entries DROP COLUMN limits",
    "more": "CREATE TABLE more (x)",
    "none": "DROP TABLE damaged",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_that_pfbench_does_not_write(pfbench, store, name):
    store.close()
    with closing(sqlite3.connect(store.path)) as database:
        database.executescript(TABLES[name])
    outcome = pfbench("store", "list", *at(store))
    assert outcome.status != 0
    assert "its tables are not those of this version of pfbench" in outcome.err
    assert pfbench("store", "check", "--repair", *at(store)).status == 1
    assert pfbench("store", "check", *at(store)).status == 0
