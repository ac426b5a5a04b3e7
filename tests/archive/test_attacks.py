"""Ways to an archive that says more than is so, and ways out of the processes of a check."""

import io
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
import zipfile
from contextlib import closing
from dataclasses import replace

import pytest
from forged_archives import checking, forged, run

from pfbench.archive import unpacking
from pfbench.archive.contents import archive_path
from pfbench.archive.unpacking import read_runs, refuse_module_name_clashes
from pfbench.base.counts import Counts
from pfbench.base.errors import InputError
from pfbench.oracles import Ledger
from pfbench.runs.engines.engine import MultiProcessEngine
from pfbench.runs.engines.workers import Task
from pfbench.runs.storage.archive import is_valid_data_file_name, open_archive

# --- what is no plain archive ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sitecustomize", "usercustomize", "json", "numpy.linalg"])
def test_no_module_of_an_archive_stands_in_anothers_place(name):
    with pytest.raises(InputError, match="the archive has a module"):
        refuse_module_name_clashes([name])


@pytest.mark.parametrize(
    "name", ["con.csv", "a/NUL", "lpt1.txt", "x-1.0.dist-info/entry_points.txt"]
)
def test_no_file_has_a_name_that_a_system_reads_otherwise(name):
    assert not is_valid_data_file_name(name)
    assert is_valid_data_file_name("xcon.csv")


def changed_case(data):
    """A file under a name that some systems do not tell from another one."""
    archive = zipfile.ZipFile(whole := io.BytesIO(data), "a")
    with archive:
        archive.writestr("code/LAZY_descent.py", archive.read("code/lazy_descent.py"))
    return whole.getvalue()


def other_local_name(data):
    """One name where it is listed, another where it is read."""
    return data.replace(b"code/lazy_descent.py", b"code/lazy_descend.py", 1)


def before_and_after(data):
    """A page in front, which a browser would show, and a letter behind."""
    return b"<html><script>alert(1)</script></html>" + data + b"z"


def listed_elsewhere(data):
    """The list that zipfile reads is another than the last bytes name."""
    return data[:-22] + b"PK\x06\x07" + bytes(16) + data[-22:]


@pytest.mark.parametrize(
    "trick", [changed_case, other_local_name, before_and_after, listed_elsewhere]
)
def test_what_is_no_plain_archive_is_refused(archive, tmp_path, trick):
    """Other names, types and sizes are those of `test_archive` in the store."""
    (tmp_path / "tricky.zip").write_bytes(trick(archive.read_bytes()))
    with pytest.raises(InputError):
        open_archive(tmp_path / "tricky.zip").unpack(tmp_path)


def test_a_list_of_millions_of_files_is_not_read(tmp_path, monkeypatch):
    size = 2**24 + 46
    end = b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 65535, 65535, size, 0, 0)
    (tmp_path / "long.zip").write_bytes(bytes(size) + end)
    monkeypatch.setattr(zipfile, "ZipFile", None)
    with pytest.raises(InputError, match="list of files has"):
        open_archive(tmp_path / "long.zip")


def test_runs_that_unpack_to_more_than_memory_are_refused(archive, tmp_path, monkeypatch):
    """Each alone is as long as a run may be, and zeros are a thousandth of it in the file."""
    open_archive(archive).unpack(tmp_path)
    monkeypatch.setattr(unpacking, "MOST_NUMBERS", 1000)
    with pytest.raises(InputError, match="more than 1,000 numbers"):
        read_runs(tmp_path)


def test_another_file_in_its_place_while_it_is_checked_changes_nothing(archive, tmp_path):
    path = tmp_path / "a.zip"
    shutil.copy(archive, path)
    opened = open_archive(path)
    path.write_bytes(b"another")
    assert opened.sha256 == open_archive(archive).sha256
    opened.unpack(tmp_path / "inside")


def test_a_changed_byte_is_named_and_nothing_runs(archive, tmp_path):
    name = "code/lazy_descent.py"
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(tmp_path / "byte.zip", "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            other = data.replace(b"self.step *", b"self.step +")
            new.writestr(entry, other if entry.filename == name else data)
    done = run("archive", "check", tmp_path / "byte.zip", "--jobs", 1)
    assert done.exit_code == 2
    assert f"{name} does not match its hash" in done.stderr


def test_an_archive_of_another_theorem_is_refused(archive, tmp_path, monkeypatch):
    """As a workflow does that was told to check a named one."""
    monkeypatch.chdir(tmp_path)
    code = zipfile.ZipFile(archive).read("code/lazy_descent.py")
    (tmp_path / "other.py").write_bytes(code)
    (tmp_path / "lazy_descent.py").write_bytes(code + b"\n# a later text")
    for theorem, says in (
        ("other.py", "not an archive of other.py"),
        ("lazy_descent.py", "another"),
    ):
        done = run("archive", "check", archive, "--theorem", theorem)
        assert done.exit_code == 1
        assert says in done.stderr


def test_a_file_is_where_code_looks_for_it():
    assert archive_path("data/a.csv", "/home/u/data/a.csv", ["/home/u"], "/x") == "data/a.csv"
    assert archive_path("/home/u/b.csv", "/home/u/b.csv", ["/home/u"], "/x") == "b.csv"
    assert archive_path("/etc/b.csv", "/etc/b.csv", ["/home/u"], "/x") is None
    assert archive_path("../b.csv", "/home/b.csv", ["/home/u"], "/x") is None


# --- what its code does ---------------------------------------------------------------------------

HOSTILE = """
import ctypes
import os
import socket
import sys
import time


class Text(str):
    def __reduce__(self):
        return os.system, ("touch {canary}",)


def answer():
    return [Text("said"), float("inf")]


def environment():
    return dict(os.environ)


def write(path):
    open(path, "w").close()
    return True


def connect(port):
    socket.create_connection(("127.0.0.1", port), timeout=5).close()
    return True


def parent_memory():
    return open(f"/proc/{{os.getppid()}}/environ", "rb").read().decode(errors="replace")


def end():
    os._exit(0)


def forge():
    "Answers in place of the worker, by whatever connection it has."
    for number in range(3, 64):
        try:
            os.write(number, b"\\x00\\x00\\x00\\x04\\x80\\x04N.")
        except OSError:
            pass
    return "forged"


def local(path):
    socket.socket(socket.AF_UNIX).connect(path)
    return True


def unlock(path):
    "Takes the read-only flag away again, as whoever set it can."
    attributes = (ctypes.c_uint64 * 4)(0, 1, 0, 0)
    ctypes.CDLL(None).syscall(442, -100, b"/", 0x8000, attributes, 32)
    return write(path)


def daemon(path):
    "Leaves the group and the parent, and beats on."
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, 0)
        os.setsid()
        if os.fork() == 0:
            while True:
                with open(path, "a") as file:
                    file.write("x")
                time.sleep(0.02)
        os._exit(0)
    while not os.path.exists(path):
        time.sleep(0.02)
    return True


def loud():
    os.write(1, b"\\x1b[31mred")
    os.write(2, b"\\x1b[31mred")
    return True
"""


@pytest.fixture
def engine():
    """One process, for all calls that leave it alive."""
    with closing(MultiProcessEngine(1, idle=[])) as engine:
        yield engine


@pytest.fixture
def hostile(tmp_path, monkeypatch, engine):
    """Call functions of code that nobody trusts, as a check does; return how each ended."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "hostile.py").write_text(HOSTILE.format(canary=tmp_path / "canary"))
    monkeypatch.setenv("PFBENCH_SECRET", "a secret")

    def call(name, *arguments):
        task = Task(call_in_code, ("hostile", name, arguments), 60.0, "archive", str(folder))
        (result,) = engine.do([task])
        return result

    return call


def call_in_code(module, name, arguments):
    """Runs in the worker, which finds the module in its folder."""
    return getattr(__import__(module), name)(*arguments)


POISON = """
import pfbench.oracles.ledger
from pfbench.base.counts import Counts
from pfbench.verification.statements.bound import Bound


def none(self):
    return Counts()


pfbench.oracles.ledger.Ledger.counts = none
pfbench.oracles.ledger.Ledger.charge = lambda self, amounts, call, *at: call(*at)
Bound._bound_value.__code__ = (lambda self, bound, case, t, lower=0.0: 1e9).__code__
"""


def test_code_that_changes_how_pfbench_counts_changes_nothing_where_runs_are_measured(
    archive, tmp_path
):
    """The runs are those of an archive whose author had counted none of them."""

    def poisoned(files):
        name = "code/lazy_descent.py"
        return {**files, name: files[name] + POISON.encode()}

    seeds = set()  # of runs that count something: Lazy may skip each of its four steps

    def nothing_counted(store):
        for key in [*store.keys()]:
            entry = store.get(key)
            if entry.run.counts.fo:
                seeds.add(entry.run.seed)
            store.put(key, replace(entry.run, counts=Counts()), entry.environment, entry.notes)

    path = forged(archive, tmp_path / "poisoned.zip", runs=nothing_counted, files=poisoned)
    check = checking(path, tmp_path / "inside")
    stored = [entry for entry in read_runs(tmp_path / "inside") if entry.run.seed in seeds]
    check.process_until_time_limit(list(check.rerun_and_new_seed_tasks(stored[:1]))[:1])
    assert "differs here in fo " in check.outcome.deviations[0]
    assert "lazy_descent" not in sys.modules
    assert Ledger.counts.__name__ == "counts"


linux = pytest.mark.skipif(sys.platform != "linux", reason="what takes rights away is Linux's")


def test_an_answer_is_plain_data_and_never_unpickled(hostile, tmp_path):
    assert hostile("answer").value == ["said", float("inf")]
    assert not (tmp_path / "canary").exists()
    assert hostile("forge").status != "done"


def test_a_process_that_ends_itself_has_answered_nothing(hostile):
    assert hostile("end").status == "died"


@linux
def test_it_has_no_secret_and_cannot_leave_its_folder(hostile, tmp_path, capfd):
    known = hostile("environment").value
    assert "PFBENCH_SECRET" not in known
    assert known["HOME"] == str(tmp_path / "code")
    assert hostile("write", str(tmp_path / "code" / "inside")).status == "done"
    outside = hostile("write", str(tmp_path / "outside"))
    if "mount" in os.listdir("/proc/self/ns") and outside.status == "done":
        pytest.skip("this system takes no right to write away")
    assert "Read-only" in outside.reason
    assert hostile("parent_memory").status == "error"
    assert hostile("loud").value is True
    assert "red" not in "".join(capfd.readouterr())


def has_stopped(path):
    """Return whether a file has its size for a while."""
    size = os.path.getsize(path)
    time.sleep(0.3)
    return os.path.getsize(path) == size


@linux
def test_it_has_neither_network_nor_sockets_and_takes_no_right_back(hostile, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert hostile("connect", server.getsockname()[1]).status == "error"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen()
        assert "Permission denied" in hostile("local", str(tmp_path / "s")).reason
    if hostile("write", str(tmp_path / "outside")).status == "error":
        assert "Read-only" in hostile("unlock", str(tmp_path / "outside")).reason


WITHOUT_NAMESPACES = """
import json, sys, time
from pathlib import Path

from pfbench.runs.engines.engine import MultiProcessEngine
from pfbench.runs.engines.workers import Task
from pfbench.runs.loop.processes import confinement_sentence

if __name__ == "__main__":
    Path("/proc/sys/user/max_user_namespaces").write_text("0")
    folder = sys.argv[1]
    calls = f"__import__('hostile').daemon('{folder}/beats')", "__import__('hostile').connect(9)"
    tasks = [Task(confinement_sentence, (), 60.0, "archive", folder)]
    tasks += [Task(eval, (call,), 60.0, "archive", folder) for call in calls]
    done = {each.index: each for each in MultiProcessEngine(1).do(tasks)}
    print(json.dumps([done[0].value, done[1].value, done[2].reason]))
"""


@linux
@pytest.mark.slow
def test_where_no_namespace_is_allowed_its_processes_end_and_have_no_network(hostile, tmp_path):
    command = ("unshare", "-Ur", sys.executable, "-c", WITHOUT_NAMESPACES, tmp_path / "code")
    if shutil.which("unshare") is None:
        pytest.skip("this system has no unshare")
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if "max_user_namespaces" in outcome.stderr:
        pytest.skip("this system lets no namespace forbid others")
    sentence, is_started, reason = json.loads(outcome.stdout)
    assert sentence.startswith("no network access; no sockets of this machine; writing outside")
    assert "processes that end their supervisor (not forbidden here)" in sentence
    assert is_started is True
    assert "Permission denied" in reason
    assert has_stopped(tmp_path / "code" / "beats")
