"""A store on a full or read-only disk, under kill -9, and with several writers at once."""

import gc
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

import pytest
from faults import killing
from stored import ENVIRONMENT, change, key_of, made_run, set_aside

from pfbench.base.errors import StorageError
from pfbench.runs.storage import maintenance
from pfbench.runs.storage.store import Store

pytestmark = pytest.mark.faults

KEY = key_of("a")
START = """
import os, resource, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from stored import ENVIRONMENT, change, key_of, made_run, set_aside
from pfbench.base.errors import StorageError
from pfbench.runs.storage.store import Store, WriteBatch
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


def whole(store, keys):
    """Every one of the keys is there and whole, and nothing else is."""
    assert sorted(store.keys()) == sorted(keys)
    assert all(store.get(key) is not None for key in keys)
    assert set_aside(store) == []
    assert maintenance.check_entries(store)[1] == []


# --- a full disk ----------------------------------------------------------------------------------


def test_a_write_that_the_system_cuts_short(tmp_path):
    """No file may grow further: a large run is refused, and a small one that is there stays."""
    script = """
store.put(key_of("small"), made_run(rows=2), ENVIRONMENT)
resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, 10**6))
import numpy as np
noise = np.random.default_rng(0).random(60000).tolist()
rows = [(k, *[0] * 8, 0.0, noise[k], noise[-k]) for k in range(60000)]
from dataclasses import replace
try:
    store.put(key_of("large"), replace(made_run(), rows=rows), ENVIRONMENT)
except StorageError as error:
    assert "could not be stored" in str(error) and "free some space" in str(error), error
else:
    sys.exit("nothing was refused")
store.put(key_of("small too"), made_run(rows=2), ENVIRONMENT)
sys.exit(0)
"""
    assert run_in(tmp_path, script) == 0
    whole(Store(tmp_path / "store"), [key_of("small"), key_of("small too")])


@pytest.mark.parametrize("size", [90, 120, 200, 300])
def test_a_full_disk_of_its_own(tmp_path, size):
    """A small file system is filled, and goes on when there is room again."""
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", str(tmp_path)]
    if subprocess.run(words, capture_output=True).returncode:
        pytest.skip("mounting is not permitted")
    try:
        stored = []
        room = tmp_path / "room"
        room.write_bytes(bytes(40_000))

        def fill():
            store = Store(tmp_path / "store")
            for seed in count():
                store.put(key_of(seed), made_run(seed), ENVIRONMENT)
                stored.append(key_of(seed))

        with pytest.raises(StorageError, match=r"full.*free some space"):
            fill()
        gc.collect()  # what is refused is kept open by its traceback
        room.unlink()
        store = Store(tmp_path / "store")
        whole(store, stored)
        store.put(KEY, made_run(), ENVIRONMENT)
        whole(store, [*stored, KEY])
        store.close()
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


# --- a read-only store ----------------------------------------------------------------------------


@pytest.mark.parametrize("damaged", [False, True])
def test_a_read_only_store_is_read_and_not_written(damaged):
    with tempfile.TemporaryDirectory() as folder:  # others may not enter that of pytest
        os.chmod(folder, 0o755)
        read_only(Path(folder), damaged)


def read_only(tmp_path, damaged):
    store = Store(tmp_path / "store")
    store.put(KEY, made_run(), ENVIRONMENT)
    store.put(key_of("bad"), made_run(1), ENVIRONMENT)
    if damaged:
        change(store, key_of("bad"))
    store.close()
    before = sorted(path.name for path in (tmp_path / "store").iterdir())
    # Root may write everywhere: it becomes nobody.
    script = f"""
store.close()
for path in ("store", *map(str, Path("store").rglob("*"))):
    os.chmod(path, 0o555)
os.chmod(".", 0o755)
if os.geteuid() == 0:
    os.seteuid(65534)
store = Store(Path("store"))
for write in (
    lambda: store.put(key_of("b"), made_run(), ENVIRONMENT),
    lambda: store.put(key_of("a"), made_run(), ENVIRONMENT),
    lambda: store.put_row("verdict", key_of("a"), {{"verdict": "holds"}}),
    store.check_writable,
    lambda: Store(Path("store/new")),
):
    try:
        write()
    except StorageError as error:
        assert "permissions" in str(error) and "--store" in str(error), error
    else:
        sys.exit("it was written")
assert store.get(key_of("a")).run.seed == 0
assert (store.get(key_of("bad")) is None) == {damaged}
assert len(store.listing().rows) == 2
sys.exit(0)
"""
    try:
        assert run_in(tmp_path, script) == 0
    finally:
        (tmp_path / "store").chmod(0o755)
    assert sorted(path.name for path in (tmp_path / "store").iterdir()) == before


# --- kill -9 --------------------------------------------------------------------------------------


def said_in(record):
    return record.read_text().split() if record.exists() else []


@pytest.mark.parametrize("kills", [4, pytest.param(200, marks=pytest.mark.long)])
def test_kills_at_any_moment(tmp_path, kills):
    """Writers are killed again and again; what they said was stored is stored, and all is whole."""
    script = """
from pfbench.runs.storage.serialization import run_record
said = open("said", "a")
batch = WriteBatch(store)
for seed in range(10**6):
    key = key_of(f"{os.getpid()} {seed}")
    for done in batch.add(run_record(key, made_run(seed), ENVIRONMENT), [key]):
        said.write(done + chr(10)); said.flush()
"""
    record, rng = tmp_path / "said", random.Random(kills)
    writers = []
    for _ in range(kills):
        while len(writers) < min(kills // 2, 4):
            writers.append(process(tmp_path, script))
        before = len(said_in(record))
        while len(said_in(record)) <= before:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.05))
        victim = writers.pop(rng.randrange(len(writers)))
        victim.kill()
        victim.wait()
    for writer in writers:
        writer.kill()
        writer.wait()
    store, said = Store(tmp_path / "store"), said_in(record)
    keys = [*store.keys()]
    assert len(said) >= kills
    assert set(said) <= set(keys)
    whole(store, keys)
    assert sorted(row.key for row in store.rows()) == keys
    assert not store.find_structural_error()


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
        for seed in range(0, 40, 3):
            entry = store.get(key_of(seed))
            assert entry is None or entry.run.seed == seed
        listing = store.listing()
        assert listing.damaged == []
        seen = max(seen, len(listing.rows))
        time.sleep(0.01)
    assert [writer.returncode for writer in writers] == [0, 0]
    whole(store, [key_of(seed) for seed in range(40)])
    assert len(store.rows()) == 80 >= seen > 0


def test_two_processes_set_one_damaged_entry_aside(tmp_path):
    store = Store(tmp_path / "store")
    for seed in range(20):
        store.put(key_of(seed), made_run(seed), ENVIRONMENT)
        change(store, key_of(seed))
    script = """
for seed in range(20):
    if store.get(key_of(seed)) is None:
        store.put(key_of(seed), made_run(seed), ENVIRONMENT)
"""
    both = [process(tmp_path, script) for _ in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    assert all(store.get(key_of(seed)).run.seed == seed for seed in range(20))
    assert sorted(set_aside(store)) == sorted(
        ("run", key_of(seed), "wrong content") for seed in range(20)
    )


# --- a sweep that is killed and resumed -----------------------------------------------------------


@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("victim", "times"), [("parent", 1), ("worker", 2), ("stopped", 2)])
def test_nothing_is_lost_and_nothing_differs(tmp_path, victim, times):
    found, _ = killing.VICTIMS[victim](tmp_path / victim, random.Random(1), times)
    assert found == killing.undisturbed(tmp_path / "undisturbed")
