"""Downloading, against a server of the test's own on this machine."""

import bz2
import gzip
import hashlib
import json
import os
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from pfbench.base.errors import DataError, InputError
from pfbench.problems.data.catalogue import DataFile, DataSet
from pfbench.problems.data.digests import arrays_digest
from pfbench.problems.data.download import RetryPolicy, download, download_note_path
from pfbench.problems.data.loading import load_classification
from pfbench.problems.data.management import check, fetch, status

IMPATIENT = RetryPolicy(attempts=3, wait=0.0, timeout=5.0)
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
    """What the server sends, and what it was asked.

    `cuts` says after how many bytes of the body each answer in turn breaks off (None: not);
    `statuses` are sent instead of the first answers.
    """

    body: bytes = ROWS
    cuts: list = field(default_factory=list)
    statuses: list = field(default_factory=list)
    ranges: bool = True
    tag: str | None = '"one"'
    length: bool = True
    encoding: str | None = None
    asked: list = field(default_factory=list)
    url: str = ""

    def toy(self, **changes):
        """Return the record of a set whose home is this server."""
        record = DataSet(
            name="toy",
            summary="many rows",
            home="this test",
            citation="none",
            terms="none",
            format="svmlight",
            task="binary",
            rows=N,
            features=7,
            classes=2,
            file=DataFile(self.url, "toy", "toy", "toy"),
            sha256_arrays=SUM,
        )
        return replace(record, **changes)


@contextmanager
def serving(server):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_GET(self):
            span = self.headers.get("Range")
            server.asked.append(span)
            if server.statuses:
                self.send_response(server.statuses.pop(0))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            body = server.body
            current = self.headers.get("If-Range") in (None, server.tag)
            if span is not None and server.ranges and current:
                begin = int(span.removeprefix("bytes=").removesuffix("-"))
                if begin >= len(body):
                    self.send_response(416)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206)
                end = len(body) - 1
                self.send_header("Content-Range", f"bytes {begin}-{end}/{len(body)}")
                body = body[begin:]
            else:
                self.send_response(200)
            if server.tag is not None:
                self.send_header("ETag", server.tag)
            if server.encoding is not None:
                self.send_header("Content-Encoding", server.encoding)
            if server.length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            cut = server.cuts.pop(0) if server.cuts else None
            self.wfile.write(body if cut is None else body[:cut])
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
def _directly(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server():
    with serving(Server()) as running:
        yield running


def names(folder):
    return sorted(path.name for path in (folder / "toy").iterdir())


def test_a_set_is_downloaded_checked_and_found(server, tmp_path):
    seen = []
    record = server.toy()
    found = fetch(record, folder=tmp_path, progress=lambda *now: seen.append(now))
    assert found.state == "cached"
    assert found.verified
    assert found.digest == SUM
    assert found.size == len(ROWS)
    assert names(tmp_path) == ["toy"]
    assert load_classification(record, folder=tmp_path).labels.size == N
    assert seen[0] == (0, len(ROWS))
    assert seen[-1] == (len(ROWS), len(ROWS))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_a_sound_set_is_not_downloaded_again(server, tmp_path):
    record = server.toy()
    fetch(record, folder=tmp_path)
    fetch(record, folder=tmp_path)
    assert len(server.asked) == 1


def test_the_folder_is_made_and_the_variable_names_it(server, tmp_path, monkeypatch):
    monkeypatch.setenv("PFBENCH_DATA", str(tmp_path / "new"))
    assert fetch(server.toy()).path == tmp_path / "new" / "toy" / "toy"


def test_a_cut_connection_is_continued_where_it_broke(server, tmp_path):
    server.cuts = [100_000, 50_000]
    assert fetch(server.toy(), folder=tmp_path, patience=IMPATIENT).verified
    assert server.asked[0] is None
    starts = [int(span[len("bytes=") : -1]) for span in server.asked[1:]]
    assert len(starts) == 2
    assert 90_000 < starts[0] <= 100_000
    assert starts[0] + 40_000 < starts[1] <= starts[0] + 50_000


def test_a_download_that_is_given_up_is_continued_by_the_next(server, tmp_path):
    record = server.toy()
    server.cuts = [100_000, 0, 0, 0]
    with pytest.raises(DataError, match=r"toy .* broke off .* bytes that arrived are kept, run"):
        fetch(record, folder=tmp_path, patience=IMPATIENT)
    kept = status(record, folder=tmp_path)
    assert kept.state == "absent"
    assert 90_000 < kept.partial <= 100_000
    server.asked.clear()
    assert fetch(record, folder=tmp_path, patience=IMPATIENT).verified
    assert server.asked == [f"bytes={kept.partial}-"]
    assert names(tmp_path) == ["toy"]


def test_a_part_that_was_whole_already_is_not_asked_for_again(server, tmp_path):
    part = tmp_path / "toy.part"
    download(server.url, part, name="toy")
    download(server.url, part, name="toy")
    assert len(server.asked) == 1
    assert part.read_bytes() == ROWS


def test_a_file_that_changed_meanwhile_is_sent_whole(server, tmp_path):
    server.cuts = [100_000]
    server.body = bytes(len(ROWS))
    part = tmp_path / "toy.part"
    with pytest.raises(DataError):
        download(server.url, part, name="toy", patience=RetryPolicy(attempts=0, wait=0.0))
    server.body, server.tag = ROWS, '"two"'
    download(server.url, part, name="toy", patience=IMPATIENT)
    assert part.read_bytes() == ROWS


def test_a_file_of_another_length_is_never_spliced(server, tmp_path):
    server.cuts, server.tag = [100_000], None
    part = tmp_path / "toy.part"
    with pytest.raises(DataError):
        download(server.url, part, name="toy", patience=RetryPolicy(attempts=0, wait=0.0))
    server.body = ROWS[::-1] + b"\n"
    download(server.url, part, name="toy", patience=IMPATIENT)
    assert part.read_bytes() == server.body
    assert server.asked[1] is not None
    assert server.asked[2] is None


def test_a_server_with_less_than_the_part_is_asked_anew(server, tmp_path):
    server.cuts, server.tag = [100_000], None
    part = tmp_path / "toy.part"
    with pytest.raises(DataError):
        download(server.url, part, name="toy", patience=RetryPolicy(attempts=0, wait=0.0))
    server.body = ROWS[:1000]
    download(server.url, part, name="toy", patience=IMPATIENT)
    assert part.read_bytes() == ROWS[:1000]


def test_a_part_of_another_address_is_not_continued(server, tmp_path):
    part = tmp_path / "toy.part"
    part.write_bytes(b"x" * 100)
    note = {"url": server.url + "/other", "validator": '"one"', "total": len(ROWS)}
    download_note_path(part).write_text(json.dumps(note))
    download(server.url, part, name="toy")
    assert server.asked == [None]
    assert part.read_bytes() == ROWS


def test_a_part_without_a_readable_note_is_not_continued(server, tmp_path):
    part = tmp_path / "toy.part"
    part.write_bytes(b"x" * 100)
    download_note_path(part).write_text("damaged")
    download(server.url, part, name="toy")
    assert part.read_bytes() == ROWS


def test_a_server_without_ranges_sends_the_file_anew(server, tmp_path):
    server.ranges, server.cuts = False, [100_000]
    assert fetch(server.toy(), folder=tmp_path, patience=IMPATIENT).verified


def test_a_server_that_always_breaks_at_the_same_place_ends_the_tries(server, tmp_path):
    server.ranges, server.cuts = False, [50_000] * 100
    with pytest.raises(DataError, match="broke off"):
        fetch(server.toy(), folder=tmp_path, patience=IMPATIENT)
    assert len(server.asked) == 1 + IMPATIENT.attempts


def test_a_server_that_tells_no_length_is_believed(server, tmp_path):
    server.length = False
    seen = []
    assert fetch(server.toy(), folder=tmp_path, progress=lambda *now: seen.append(now)).verified
    assert seen[-1] == (len(ROWS), None)


def test_a_busy_server_is_asked_again(server, tmp_path):
    server.statuses = [503, 429]
    assert fetch(server.toy(), folder=tmp_path, patience=IMPATIENT).verified
    assert len(server.asked) == 3


def test_a_server_that_stays_busy_is_named(server, tmp_path):
    server.statuses = [503] * 9
    with pytest.raises(DataError, match=r"\(HTTP 503 Service Unavailable\): run .* again later"):
        fetch(server.toy(), folder=tmp_path, patience=IMPATIENT)
    assert len(server.asked) == IMPATIENT.attempts


def test_a_missing_file_is_one_clear_sentence_at_once(server, tmp_path):
    server.statuses = [404] * 9
    with pytest.raises(DataError) as caught:
        fetch(server.toy(), folder=tmp_path, patience=IMPATIENT)
    assert str(caught.value) == (
        f"the download of toy from {server.url} was refused (HTTP 404 Not Found): get the file by "
        f"hand and put it into {tmp_path / 'toy'}, or try again later."
    )
    assert len(server.asked) == 1
    assert names(tmp_path) == []


def test_a_server_that_is_not_there_is_named(tmp_path):
    with serving(Server()) as gone:
        record = gone.toy()
    with pytest.raises(DataError, match="the server cannot be reached or closed the connection"):
        fetch(record, folder=tmp_path, patience=IMPATIENT)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (ROWS.replace(b"5:11\n", b"5:12\n"), "sha256 of arrays is"),
        (ROWS[: len(ROWS) // 2], "line|number of rows"),
        (b"<html>please log in</html>", "line 1 .* does not begin with a finite number"),
    ],
)
def test_a_wrong_download_is_refused_and_leaves_nothing(server, tmp_path, body, reason):
    server.body = body
    with pytest.raises(DataError, match=f"what {server.url} sent is not .* toy: .*({reason})"):
        fetch(server.toy(), folder=tmp_path)
    assert names(tmp_path) == []
    server.body = ROWS
    assert fetch(server.toy(), folder=tmp_path).verified


def test_a_wrong_sum_of_the_archive_is_refused(server, tmp_path):
    packed = bz2.compress(ROWS)
    server.body = packed
    file = DataFile(server.url, "toy", "toy.bz2", "toy", hashlib.sha256(packed).hexdigest())
    record = server.toy(file=file, sha256_arrays=None)
    assert fetch(record, folder=tmp_path).verified
    other = replace(record, file=replace(file, sha256_archive="0" * 64))
    with pytest.raises(DataError, match="its sha256 is"):
        fetch(other, folder=tmp_path)


def test_the_first_sum_of_an_unverified_set_is_kept_and_binds(server, tmp_path):
    record = server.toy(sha256_arrays=None)
    found = fetch(record, folder=tmp_path)
    assert not found.verified
    assert names(tmp_path) == ["toy", "toy.sha256"]
    kept = (tmp_path / "toy" / "toy.sha256").read_text()
    assert kept == f"{hashlib.sha256(ROWS).hexdigest()}  toy\n"
    (tmp_path / "toy" / "toy").unlink()
    server.body = ROWS.replace(b"5:11\n", b"5:12\n")
    with pytest.raises(DataError, match=r"its first download had .* toy\.sha256 .*delete that too"):
        fetch(record, folder=tmp_path)
    (tmp_path / "toy" / "toy.sha256").unlink()
    assert not fetch(record, folder=tmp_path).verified


@pytest.mark.parametrize("name", ["toy", "toy.bz2"])
def test_a_damaged_file_is_replaced_and_kept_beside(server, tmp_path, name):
    path = tmp_path / "toy" / name
    path.parent.mkdir()
    path.write_bytes(b"damaged")
    record = server.toy()
    with pytest.raises(DataError, match="is not the data set toy"):
        check(record, folder=tmp_path)
    assert fetch(record, folder=tmp_path).verified
    assert names(tmp_path) == sorted(["toy", f"{name}.damaged"])
    assert check(record, folder=tmp_path).verified


def test_a_damaged_file_stays_where_the_download_fails(server, tmp_path):
    path = tmp_path / "toy" / "toy"
    path.parent.mkdir()
    path.write_bytes(b"damaged")
    server.statuses = [404]
    with pytest.raises(DataError, match="HTTP 404"):
        fetch(server.toy(), folder=tmp_path)
    assert path.read_bytes() == b"damaged"


def test_a_folder_that_is_not_writable_is_named_before_anything_is_asked(server, tmp_path):
    (tmp_path / "toy").touch()
    with pytest.raises(
        DataError, match=r"toy cannot be written \(Not a directory\): set PFBENCH_DATA to another\."
    ):
        fetch(server.toy(), folder=tmp_path)
    assert server.asked == []


def test_a_read_only_cache_can_be_read_but_not_fetched_to(server, tmp_path):
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "toy").write_bytes(ROWS)
    folder.chmod(0o555)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write to a read-only folder")
    try:
        assert fetch(server.toy(), folder=tmp_path).verified
        other = server.toy(sha256_arrays="0" * 64)
        with pytest.raises(DataError, match="cannot be written"):
            fetch(other, folder=tmp_path)
    finally:
        folder.chmod(0o755)


def test_two_downloads_to_a_folder_do_not_mix(server, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    folder = tmp_path / "toy"
    folder.mkdir()
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with pytest.raises(DataError, match=r"another download to .* is under way"):
            fetch(server.toy(), folder=tmp_path)
    finally:
        os.close(descriptor)
    assert fetch(server.toy(), folder=tmp_path).verified


def test_a_break_by_the_user_leaves_a_part_to_continue(server, tmp_path):
    def stop(done, total):
        if done > 100_000:
            raise KeyboardInterrupt

    record = server.toy()
    with pytest.raises(KeyboardInterrupt):
        fetch(record, folder=tmp_path, progress=stop)
    kept = status(record, folder=tmp_path).partial
    assert kept > 90_000
    assert fetch(record, folder=tmp_path).verified
    assert server.asked[1] == f"bytes={kept}-"


def test_a_file_that_the_server_marks_as_packed_is_kept_as_it_is(server, tmp_path):
    server.body, server.encoding = gzip.compress(ROWS), "gzip"
    record = server.toy(file=DataFile(server.url, "toy", "toy.gz", "toy"))
    found = fetch(record, folder=tmp_path)
    assert found.path.read_bytes() == server.body


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "requests", None)
    with pytest.raises(DataError, match=r'pip install "pfbench\[data\]"'):
        download("http://127.0.0.1/", tmp_path / "part", name="toy")


def test_embedded_sets_need_no_fetch(tmp_path):
    found = fetch("digits", folder=tmp_path)
    assert found.state == "embedded"
    assert found.digest is not None
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_set_is_refused(tmp_path):
    with pytest.raises(InputError, match="did you mean 'sensorless'"):
        fetch("sensorles", folder=tmp_path)
