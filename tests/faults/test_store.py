"""A store on a full or read-only disk, under kill -9, and with several writers at once."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stored import ENVIRONMENT, key_of, made_run

from pfbench.base.errors import StorageError
from pfbench.runs.storage import compaction, maintenance
from pfbench.runs.storage.index import NAME
from pfbench.runs.storage.store import Store

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX"),
]

KEY = key_of("a")
START = """
import os, resource, signal, sys
import pyarrow.parquet
from pathlib import Path
sys.path.insert(0, {tests!r})
from stored import ENVIRONMENT, key_of, made_run
from pfbench.base.errors import StorageError
from pfbench.runs.storage.store import Store
store = Store(Path("store"))
"""


def process(folder, script):
    """A process of its own that has a store in a folder."""
    start = START.format(tests=str(Path(__file__).parents[1]))
    return subprocess.Popen([sys.executable, "-c", start + script], cwd=folder)


def run_in(folder, script):
    done = process(folder, script)
    assert done.wait(60) in (0, -signal.SIGKILL)
    return done.returncode


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def whole(store, keys):
    """Every one of the keys is there and whole, and nothing else is."""
    assert sorted(store.keys()) == sorted(keys)
    assert all(store.get(key) is not None for key in keys)
    assert not (store.folder / "damaged").exists()


# --- a full disk ----------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, monkeypatch, code):
    store = Store(tmp_path)
    store.put(key_of("before"), made_run(), ENVIRONMENT)
    before = files(tmp_path)

    def full(handle):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match=r"could not be stored in .*free some space"):
            store.put(KEY, made_run(), ENVIRONMENT)
        with pytest.raises(StorageError, match="free some space"):
            store.put_row("verdict", KEY, {"verdict": "holds"})
    assert files(tmp_path) == before
    store.put(KEY, made_run(), ENVIRONMENT)
    whole(store, [KEY, key_of("before")])


def test_an_overwritten_run_survives_a_full_disk(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.put(KEY, made_run(1), ENVIRONMENT)

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StorageError):
            store.put(KEY, made_run(2), ENVIRONMENT)
    assert store.get(KEY).run.seed == 1


def test_a_write_that_the_system_cuts_short(tmp_path):
    """No file may grow beyond 4 kB: the first is written in part, as on a disk that fills up."""
    script = """
store.put(key_of("small"), made_run(rows=2), ENVIRONMENT)
size = store.path(key_of("small")).stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 300, size + 300))
try:
    store.put(key_of("large"), made_run(rows=3000), ENVIRONMENT)
except StorageError as error:
    assert "could not be stored" in str(error) and "free some space" in str(error), error
else:
    sys.exit("nothing was refused")
store.put(key_of("small too"), made_run(rows=2), ENVIRONMENT)
sys.exit(0)
"""
    assert run_in(tmp_path, script) == 0
    store = Store(tmp_path / "store")
    assert not [name for name in files(tmp_path) if name.endswith(".partial")]
    whole(store, [key_of("small"), key_of("small too")])
    assert len(store.rows()) == 2


def test_a_full_disk_of_its_own(tmp_path):
    """A file system of 100 kB is filled, and goes on when there is room again."""
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=100k", "none", str(tmp_path)], capture_output=True
    ).returncode:
        pytest.skip("mounting is not permitted")
    try:
        store, stored = Store(tmp_path / "store"), []

        def fill():
            for seed in range(100):
                store.put(key_of(seed), made_run(seed), ENVIRONMENT)
                stored.append(key_of(seed))

        with pytest.raises(StorageError, match="No space left on device"):
            fill()
        assert 3 < len(stored) < 99
        whole(store, stored)
        assert len(store.rows()) == len(stored)
        assert not [name for name in files(tmp_path) if name.endswith(".partial")]
        for key in stored[:3]:
            store.path(key).unlink()
        store.put(KEY, made_run(), ENVIRONMENT)
        whole(store, [*stored[3:], KEY])
        assert len(store.rows()) == len(stored) - 2
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_the_index_may_fail_where_the_run_is_stored(tmp_path):
    store = Store(tmp_path)
    (tmp_path / NAME).mkdir()
    store.put(KEY, made_run(), ENVIRONMENT)
    assert [row["key"] for row in store.rows()] == [KEY]


# --- a read-only store ----------------------------------------------------------------------------


def test_a_read_only_store_is_read_and_not_written(tmp_path):
    store = Store(tmp_path / "store")
    store.put(KEY, made_run(), ENVIRONMENT)
    store.put(key_of("cut"), made_run(), ENVIRONMENT)
    os.truncate(store.path(key_of("cut")), 200)
    before = files(tmp_path)
    # Root may write everywhere: it becomes nobody.
    script = """
import numpy.ma, pandas, pyarrow.parquet  # nobody may not be able to read their folders
assert store.get(key_of("a")).run.seed == 0
for path in ("store", *map(str, Path("store").rglob("*"))):
    os.chmod(path, 0o555)
os.chmod(".", 0o755)
if os.geteuid() == 0:
    os.seteuid(65534)
for write in (
    lambda: store.put(key_of("b"), made_run(), ENVIRONMENT),
    lambda: store.put(key_of("a"), made_run(), ENVIRONMENT),
    lambda: store.put_row("verdict", key_of("a"), {"verdict": "holds"}),
    lambda: Store(Path("store/runs/new")),
):
    try:
        write()
    except StorageError as error:
        assert "permissions" in str(error) and "--store" in str(error), error
    else:
        sys.exit("it was written")
assert store.get(key_of("a")).run.seed == 0
assert store.get(key_of("cut")) is None
assert len(store.listing().rows) == 1 and len(store.listing().damaged) == 1
sys.exit(0)
"""
    try:
        assert run_in(tmp_path, script) == 0
    finally:
        for folder in (tmp_path / "store", *(tmp_path / "store").rglob("*")):
            if folder.is_dir():
                folder.chmod(0o755)
    assert files(tmp_path) == before


# --- kill -9 --------------------------------------------------------------------------------------

KILLED = """
store.put(key_of("before"), made_run(), ENVIRONMENT)
def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
{where} = die
store.{what}
"""


@pytest.mark.parametrize("where", ["os.fsync", "os.fstat", "Path.replace", "store._index.add"])
@pytest.mark.parametrize(
    "what",
    [
        "put(key_of('a'), made_run(), ENVIRONMENT)",
        "put_row('verdict', key_of('a'), {'verdict': 'holds'})",
    ],
    ids=["run", "verdict"],
)
def test_a_kill_leaves_the_whole_file_or_none(tmp_path, where, what):
    script = KILLED.format(where=where, what=what)
    assert run_in(tmp_path, script) == -signal.SIGKILL
    store = Store(tmp_path / "store")
    kind = "verdict" if "verdict" in what else "run"
    stored = where == "store._index.add"
    assert [*store.keys(kind)].count(KEY) == stored
    assert (store._get(kind, KEY) is not None) == stored
    assert len(store.rows()) == 1 + stored
    leftovers = list(store.folder.rglob("*.partial"))
    assert len(leftovers) == (not stored)
    assert maintenance.collect_garbage(store).leftovers == []
    for path in leftovers:
        os.utime(path, (0, 0))
    assert maintenance.collect_garbage(store).leftovers == leftovers
    assert not [*store.folder.rglob("*.partial")]
    store.put(KEY, made_run(), ENVIRONMENT)
    whole(store, [KEY, key_of("before")])


def said_in(record):
    return record.read_text().split() if record.exists() else []


def test_kills_at_any_moment(tmp_path):
    """A writer is killed again and again; what it said was stored is stored, and all is whole."""
    script = """
said = open("said", "a")
for seed in range(10**6):
    key = key_of(f"{os.getpid()} {seed}")
    store.put(key, made_run(seed), ENVIRONMENT)
    said.write(key + chr(10)); said.flush()
"""
    record = tmp_path / "said"
    for moment in range(4):
        writer, before = process(tmp_path, script), len(said_in(record))
        while len(said_in(record)) == before:
            time.sleep(0.01)
        time.sleep(0.0137 * moment)
        writer.kill()
        writer.wait()
    store = Store(tmp_path / "store")
    said = said_in(record)
    keys = [*store.keys()]
    assert len(said) >= 4
    assert set(said) <= set(keys)
    assert len(keys) <= len(said) + 4
    whole(store, keys)
    assert sorted(row["key"] for row in store.rows()) == keys


# --- several at once ------------------------------------------------------------------------------


def test_two_writers_and_a_reader_on_one_store(tmp_path):
    """Both write the keys 0 to 19, and each ten of its own, while a third reads and lists."""
    script = """
number = {number}
for seed in [*range(20), *range(20 + 10 * number, 30 + 10 * number)]:
    store.put(key_of(seed), made_run(seed), ENVIRONMENT)
    store.put_row("verdict", key_of(seed), {{"verdict": "holds", "seconds": seed}})
"""
    writers = [process(tmp_path, script.format(number=number)) for number in range(2)]
    store = Store(tmp_path / "store")
    seen = 0
    while any(writer.poll() is None for writer in writers):
        for seed in range(40):
            entry = store.get(key_of(seed))
            assert entry is None or entry.run.seed == seed
        listing = store.listing()
        assert listing.damaged == []
        seen = max(seen, len(listing.rows))
        time.sleep(0.005)
    assert [writer.returncode for writer in writers] == [0, 0]
    whole(store, [key_of(seed) for seed in range(40)])
    from_index = store.rows()
    assert len(from_index) == 80 >= seen > 0
    (store.folder / NAME).unlink()
    assert store.rows() == from_index
    assert not [*store.folder.rglob("*.partial")]


def test_two_processes_set_one_damaged_file_aside(tmp_path):
    store = Store(tmp_path / "store")
    for seed in range(20):
        store.put(key_of(seed), made_run(seed), ENVIRONMENT)
        os.truncate(store.path(key_of(seed)), 100)
    script = """
for seed in range(20):
    if store.get(key_of(seed)) is None:
        store.put(key_of(seed), made_run(seed), ENVIRONMENT)
"""
    both = [process(tmp_path, script) for _ in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    assert all(store.get(key_of(seed)).run.seed == seed for seed in range(20))
    aside = [*(store.folder / "damaged" / "runs").iterdir()]
    assert {path.stem for path in aside} == {key_of(seed) for seed in range(20)}
    assert {path.stat().st_size for path in aside} == {100}


# --- packing down ---------------------------------------------------------------------------------

PACKED = """
from pfbench.runs.storage import compaction, segment_writer
for seed in range(6):
    store.put(key_of(seed), made_run(seed), ENVIRONMENT)
calls = [0]
def die(*arguments, real={where}, **more):
    calls[0] += 1
    if calls[0] == {call}:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments, **more)
{where} = die
compaction.compact(store)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("where", "call"),
    [
        ("os.fsync", 3),
        ("segment_writer.write_segment", 1),
        *(("Path.rename", call) for call in (1, 2)),
        ("Path.unlink", 1),
    ],
)
def test_a_kill_while_packing_leaves_the_files_or_the_whole_segment(tmp_path, where, call):
    assert run_in(tmp_path, PACKED.format(where=where, call=call)) == -signal.SIGKILL
    store, keys = Store(tmp_path / "store"), [key_of(seed) for seed in range(6)]
    whole(store, keys)
    assert [row["key"] for row in store.rows()] == sorted(keys)
    assert {key: store.get(key).run.seed for key in keys} == {k: s for s, k in enumerate(keys)}
    assert maintenance.check_files(store) == (6, [])
    for path in store.folder.rglob("*"):
        os.utime(path, (0, 0))
    maintenance.collect_garbage(store)
    assert not [*store.folder.rglob("*.partial")]
    compaction.compact(store)
    whole(store, keys)
    assert not [*store.folder.glob("runs/??/*")]


def test_two_packers_two_writers_and_a_reader_on_one_store(tmp_path):
    packer = """
from pfbench.runs.storage.compaction import compact
for _ in range(12):
    compact(store)
"""
    writer = """
for seed in range(60):
    store.put(key_of(seed), made_run(seed), ENVIRONMENT)
"""
    store = Store(tmp_path / "store")
    store.put(key_of("early"), made_run(77), ENVIRONMENT)
    processes = [process(tmp_path, script) for script in (packer, packer, writer, writer)]
    while any(one.poll() is None for one in processes):
        assert store.get(key_of("early")).run.seed == 77
        listing = store.listing()
        assert listing.damaged == []
        assert key_of("early") in {row["key"] for row in listing.rows}
        for seed in range(0, 60, 7):
            entry = store.get(key_of(seed))
            assert entry is None or entry.run.seed == seed
    assert [one.returncode for one in processes] == [0] * 4
    compaction.compact(store)
    whole(store, [key_of("early"), *(key_of(seed) for seed in range(60))])
    assert len(store.rows()) == 61
    assert maintenance.check_files(store) == (61, [])
    assert not [*store.folder.rglob("*.partial")]
