"""Downloading, against a server of the test's own on this machine."""

import bz2
import hashlib
import os
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from problems.data.toy import TOY

from pfbench.base.errors import DataError, InputError
from pfbench.problems.data.cache import arrays_digest
from pfbench.problems.data.catalogue import DataFile
from pfbench.problems.data.loading import load_classification
from pfbench.problems.data.management import fetch, load_and_check

N = 20_000
ROWS = b"".join(b"%+d %d:%d\n" % (1 - 2 * (k % 2), k % 7 + 1, k) for k in range(N))
SUM = arrays_digest(
    np.arange(N + 1),
    (np.arange(N) % 7).astype(np.int32),
    np.arange(N, dtype=float),
    1.0 - 2.0 * (np.arange(N) % 2),
)


@dataclass
class Server:
    """What the server sends, and how often it was asked.

    `cuts` says after how many bytes of the body each answer in turn breaks off (None: not);
    `statuses` are sent instead of the first answers.
    """

    body: bytes = ROWS
    cuts: list = field(default_factory=list)
    statuses: list = field(default_factory=list)
    length: bool = True
    queries: int = 0
    url: str = ""

    def toy(self, **changes):
        """Return the record of a set whose home is this server."""
        record = replace(TOY, rows=N, features=7, counts=(), nonzeros=None, sha256_arrays=SUM)
        return replace(record, **{"file": DataFile(self.url, "toy", "toy", "toy"), **changes})


@contextmanager
def serving(server):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_GET(self):
            server.queries += 1
            if server.statuses:
                self.send_response(server.statuses.pop(0))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(200)
            if server.length:
                self.send_header("Content-Length", str(len(server.body)))
            self.end_headers()
            cut = server.cuts.pop(0) if server.cuts else None
            self.wfile.write(server.body[:cut])
            self.close_connection = True

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_port}/toy"
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


@pytest.fixture(autouse=True)
def _directly(monkeypatch, tmp_path):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("PFBENCH_DATA", str(tmp_path))


@pytest.fixture
def server():
    with serving(Server()) as running:
        yield running


def names(folder):
    return sorted(path.name for path in (folder / "toy").iterdir())


def test_a_set_is_downloaded_checked_and_found(server, tmp_path):
    seen = []
    record = server.toy()
    found = fetch(record, progress=lambda *now: seen.append(now))
    assert found.state == "cached"
    assert found.verified
    assert found.digest == SUM
    assert found.size == len(ROWS)
    assert names(tmp_path) == ["toy"]
    assert load_classification(record).labels.size == N
    assert seen[-1] == (len(ROWS), len(ROWS))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_a_sound_set_is_not_downloaded_again(server, tmp_path):
    record = server.toy()
    fetch(record)
    fetch(record)
    assert server.queries == 1


def test_the_folder_is_made_and_the_variable_names_it(server, tmp_path, monkeypatch):
    monkeypatch.setenv("PFBENCH_DATA", str(tmp_path / "new"))
    assert fetch(server.toy()).path == tmp_path / "new" / "toy" / "toy"


def test_a_server_that_tells_no_length_is_believed(server, tmp_path):
    server.length = False
    seen = []
    assert fetch(server.toy(), progress=lambda *now: seen.append(now)).verified
    assert seen[-1][0] >= len(ROWS)
    assert seen[-1][1] is None


@pytest.mark.parametrize("failures", [{"cuts": [100_000, 0]}, {"statuses": [503, 429]}])
def test_a_download_that_breaks_off_is_tried_again(server, tmp_path, failures, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    vars(server).update(failures)
    assert fetch(server.toy()).verified
    assert server.queries == 3
    assert names(tmp_path) == ["toy"]


@pytest.mark.parametrize("failures", [{"cuts": [100_000] * 2}, {"statuses": [404] * 2}])
def test_a_download_that_fails_is_one_sentence_and_leaves_nothing(server, tmp_path, failures):
    vars(server).update(failures)
    with pytest.raises(DataError, match=r"get the file by hand .* `pfbench data fetch toy` again"):
        fetch(server.toy(), retries=0)
    assert server.queries == 1
    assert names(tmp_path) == []


def test_a_break_by_the_user_leaves_nothing(server, tmp_path):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(server.toy(), progress=stop)
    assert names(tmp_path) == []


def test_a_server_that_is_not_there_is_named(tmp_path):
    with serving(Server()) as gone:
        record = gone.toy()
    with pytest.raises(DataError, match=r"the download of toy from .*/toy failed .* put it there"):
        fetch(record, retries=0)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (ROWS.replace(b"5:11\n", b"5:12\n"), "sha256 of arrays is"),
        (ROWS[: len(ROWS) // 2], "number of rows|no LIBSVM"),
        (b"<html>please log in</html>", r"not LIBSVM text with 7 features"),
    ],
)
def test_a_wrong_download_is_refused_and_leaves_nothing(server, tmp_path, body, reason):
    server.body = body
    with pytest.raises(DataError, match=f"file that {server.url} sent is not .* toy .*({reason})"):
        fetch(server.toy())
    assert names(tmp_path) == []
    server.body = ROWS
    assert fetch(server.toy()).verified


def test_a_wrong_sum_of_the_archive_is_refused(server, tmp_path):
    packed = bz2.compress(ROWS)
    server.body = packed
    file = DataFile(server.url, "toy", "toy.bz2", "toy", hashlib.sha256(packed).hexdigest())
    record = server.toy(file=file, sha256_arrays=None)
    assert fetch(record).verified
    other = replace(record, file=replace(file, sha256_archive="0" * 64))
    with pytest.raises(DataError, match="the sha256 is"):
        fetch(other)


@pytest.mark.parametrize("name", ["toy", "toy.bz2"])
def test_a_damaged_file_is_replaced(server, tmp_path, name):
    path = tmp_path / "toy" / name
    path.parent.mkdir()
    path.write_bytes(b"damaged")
    record = server.toy()
    with pytest.raises(DataError, match="is not the data set toy"):
        load_and_check(record)
    assert fetch(record).verified
    assert load_and_check(record).verified


def test_a_damaged_file_stays_where_the_download_fails(server, tmp_path):
    path = tmp_path / "toy" / "toy"
    path.parent.mkdir()
    path.write_bytes(b"damaged")
    server.statuses = [404]
    with pytest.raises(DataError, match="404"):
        fetch(server.toy(), retries=0)
    assert path.read_bytes() == b"damaged"


def test_a_folder_that_is_not_writable_is_named_before_anything_is_asked(server, tmp_path):
    (tmp_path / "toy").touch()
    with pytest.raises(
        DataError, match=r"toy failed \(.*exists.*PFBENCH_DATA if this one is not writable"
    ):
        fetch(server.toy())
    assert server.queries == 0


def test_a_read_only_cache_can_be_read_but_not_fetched_to(server, tmp_path):
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "toy").write_bytes(ROWS)
    folder.chmod(0o555)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write to a read-only folder")
    try:
        assert fetch(server.toy()).verified
        other = server.toy(sha256_arrays="0" * 64)
        with pytest.raises(DataError, match="is not writable"):
            fetch(other)
    finally:
        folder.chmod(0o755)


def test_embedded_sets_need_no_fetch(tmp_path):
    found = fetch("digits")
    assert found.state == "embedded"
    assert found.digest is not None
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_set_is_refused(tmp_path):
    with pytest.raises(InputError, match="did you mean 'sensorless'"):
        fetch("sensorles")
