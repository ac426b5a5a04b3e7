"""The engine of a Dask cluster, on one of this machine."""

import json
import shutil
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace

import pytest
from command_line import SMALL, SVRG
from stored import made

from pfbench.base.errors import InputError, WorkerDied
from pfbench.claims.catalogue import verify
from pfbench.runs.engines import cluster
from pfbench.runs.engines.engine import SingleProcessEngine
from pfbench.runs.engines.run_task import execute_plan
from pfbench.runs.engines.workers import Task
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.storage.store import Store

distributed = pytest.importorskip("distributed", reason="needs distributed")

# Its own threads and sockets are closed when it likes.
pytestmark = pytest.mark.filterwarnings("ignore")

SMOOTH = "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]"
ROLES = ("scheduler", "worker", "client")
PLAN = PlannedRun(SMALL, SVRG, 0, ("value",), 1)


@pytest.fixture(scope="module")
def local():
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None
    ) as made:
        yield made


@pytest.fixture
def engine(local):
    found = cluster.DaskEngine(local.scheduler_address)
    yield found
    found.close()


@pytest.mark.parametrize(
    "address",
    ["nonsense", "tcp://", "tcp://host", "tcp://host:port", "http://h:1", "tcp://h:99999", ":8786"],
)
def test_what_is_no_address_is_refused_at_once(address):
    with pytest.raises(InputError, match="is not an address: write tcp://HOST:8786"):
        cluster.DaskEngine(address)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make certificates")
def test_a_cluster_behind_tls(tmp_path):
    """With certificates of our own making, as docs/clusters.md shows; without them it is closed."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make_one = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=pfbench"
    command = [*make_one.split(), "-keyout", key, "-out", cert]
    subprocess.run(command, check=True, capture_output=True)
    tls = {f"distributed.comm.tls.{role}.cert": str(cert) for role in ROLES}
    tls |= {f"distributed.comm.tls.{role}.key": str(key) for role in ROLES}
    tls["distributed.comm.tls.ca-file"] = str(cert)
    dask = pytest.importorskip("dask")
    with (
        dask.config.set(tls),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, protocol="tls://", dashboard_address=None
        ) as local,
    ):
        address = local.scheduler_address
        assert address.startswith("tls://")
        with closing(cluster.DaskEngine(address)) as engine:
            (one,) = made(engine, [PLAN])
        assert one.run.counts == execute_plan(PLAN).counts
        with pytest.raises(InputError, match="does not answer like a Dask scheduler"):
            cluster.DaskEngine(address.replace("tls://", "tcp://"))


def test_runs_have_the_same_bits_and_the_same_environment(engine):
    plans = [replace(PLAN, seed=seed) for seed in range(5)]
    assert engine.slots == 2
    assert engine.environment() == SingleProcessEngine().environment()
    for plan, one in zip(plans, made(engine, plans), strict=True):
        alone = execute_plan(plan)
        assert one.run.counts == alone.counts
        assert one.run.final == alone.final
        assert one.retries == 0


def test_a_file_is_found_in_the_folder_of_the_command(engine, tmp_path, monkeypatch):
    """The workers were started elsewhere, and share the disk."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "on_cluster.py").write_text(
        "from own_beside import Descent as Mine, Quadratic\n"
    )
    (tmp_path / "sub" / "own_beside.py").write_text(
        "from misbehaving import Descent\nfrom own_things import Quadratic\n"
    )
    monkeypatch.chdir(tmp_path)
    plan = PlannedRun("sub/on_cluster.py:Quadratic", "sub/on_cluster.py:Mine", 0, (), 1)
    (found,) = made(engine, [plan])
    assert (found.run.status, found.run.counts.fo) == ("finished", 6)


@pytest.mark.faults
def test_a_run_that_misbehaves_costs_itself_alone(engine, tmp_path):
    mark = tmp_path / "mark"
    plans = [
        PlannedRun(
            SMOOTH, f"misbehaving:{name}", 0, (), 1, time_limit=2.0 if name == "Loops" else 60.0
        )
        for name in ("Loops", "Crashes", f"IsKilledOnce[mark={mark}]", "Descent")
    ]
    found = made(engine, plans)
    assert [found[k].run.status for k in range(4)] == ["timeout", "error", "finished", "finished"]
    assert [found[k].retries for k in range(4)] == [0, 0, 1, 0]
    assert found[0].run.counts.fo == 3


@pytest.mark.faults
def test_a_sweep_that_is_left_leaves_no_run_behind(engine):
    """The threads of the cluster are free again, though their runs would not have ended."""
    sound = PlannedRun(SMOOTH, "misbehaving:Descent", 0, (), 1)
    endless = [
        PlannedRun(SMOOTH, "misbehaving:Loops", seed, (), 1, time_limit=3000.0) for seed in (0, 1)
    ]
    going = engine.do([Task(execute_plan, (plan,)) for plan in (sound, *endless)])
    assert next(going).value.status == "finished"
    time.sleep(0.5)
    going.close()
    (one,) = made(engine, [replace(sound, seed=1)])
    assert one.run.status == "finished"


@pytest.mark.long
@pytest.mark.faults
def test_a_run_whose_dask_worker_is_lost_is_made_by_another(engine, tmp_path):
    plan = PlannedRun(SMOOTH, f"misbehaving:LosesItsParentOnce[mark={tmp_path / 'm'}]", 0, (), 1)
    (found,) = made(engine, [plan])
    assert found.run.status == "finished"


def test_a_worker_that_differs_makes_nothing(engine):
    found = dict(engine.environment())
    engine._expected = found | {"numpy": "0.1"}, engine._expected[1]
    (one,) = made(engine, [PLAN])
    assert one.run.status == "killed"
    assert "differ from other workers'" in one.run.stop_reason


def test_no_scheduler_is_refused(monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT", 0.5)
    with pytest.raises(InputError, match="no Dask scheduler answers at"):
        cluster.DaskEngine("tcp://127.0.0.1:9")


def test_claims_are_verified_there_and_kept_here(engine, tmp_path):
    names = ["shen2019-count-svrg", "shen2019-unbiased-svrg"]
    store, told = Store(tmp_path), []
    for _ in range(2):
        done = verify(
            names, engine=engine, store=store, progress=lambda row, made: told.append(made)
        )
        assert [row.verdict for row in done.rows] == ["holds", "holds"]
    assert told == [True, True, False, False]
    here = verify(names, engine=SingleProcessEngine()).rows
    assert [dict(row.measured) for row in here] == [dict(row.measured) for row in done.rows]


@pytest.fixture
def processes(tmp_path):
    """A scheduler and its only worker as processes: its address, and both, to be killed."""

    def dask(*arguments):
        command = [sys.executable, "-m", "dask", *arguments]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    file = tmp_path / "scheduler.json"
    where = ("--scheduler-file", str(file), "--no-dashboard")
    scheduler = dask("scheduler", "--port", "0", "--host", "127.0.0.1", *where)
    worker = dask("worker", *where, "--no-nanny", "--nthreads", "1", "--local-directory", tmp_path)
    try:
        until = time.monotonic() + 120
        while not file.exists() or not file.read_text().endswith("}"):
            assert time.monotonic() < until
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=120)
        yield address, scheduler, worker
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()


def ends_well(text):
    return text.endswith(".") and not text.endswith("..") and "\n" not in text


@pytest.mark.faults
def test_without_workers_no_task_is_awaited_for_ever(processes, monkeypatch):
    monkeypatch.setattr(cluster, "NO_WORKERS_LEFT", 1.0)
    address, _, worker = processes
    with closing(cluster.DaskEngine(address)) as engine:
        going = engine.do([Task(time.sleep, (seconds,)) for seconds in (2.0, 300.0, 300.0)])
        assert next(going).status == "done"
        worker.kill()
        found = sorted(going, key=lambda result: result.index)
        assert [(one.index, one.status) for one in found] == [(1, "lost"), (2, "lost")]
        for one in found:
            assert one.reason == f"the Dask scheduler {address} has had no workers for 1 s"
        with pytest.raises(InputError, match=f"scheduler at {address} .* has no workers") as error:
            engine.environment()
    assert ends_well(str(error.value))


@pytest.mark.long
@pytest.mark.faults
def test_of_a_killed_scheduler_all_that_was_not_done_is_lost(processes, monkeypatch, caplog):
    # Dask tells it at once: neither limit is awaited.
    monkeypatch.setattr(cluster, "CONNECT", 600.0)
    # A worker that has just begun imports everything before it answers; on a busy machine, slowly.
    monkeypatch.setattr(cluster, "ANSWER", 600.0)
    monkeypatch.setattr(cluster, "NO_WORKERS_LEFT", 600.0)
    address, scheduler, _ = processes
    reason = f"the Dask scheduler {address} was lost"
    with closing(cluster.DaskEngine(address)) as engine:
        assert engine.environment() == SingleProcessEngine().environment()
        going = engine.do([Task(abs, (-1,)), *[Task(time.sleep, (300.0,))] * 2])
        assert next(going).value == 1
        scheduler.kill()
        assert [(one.status, one.reason) for one in going] == [("lost", reason)] * 2
        with pytest.raises(WorkerDied, match=f"scheduler at {address} does not answer") as error:
            engine.environment()
        again = list(engine.do([Task(abs, (-1,))]))
        assert [(one.status, one.reason) for one in again] == [("lost", reason)]
    assert not [one for one in caplog.records if one.name == "distributed.client" and one.exc_info]
    assert ends_well(str(error.value))


def held(name):
    """Say that it has begun, and stay until all may end."""
    distributed.Event(f"{name} has begun").set()
    distributed.Event("all may end").wait(60)


@pytest.mark.long
def test_workers_that_are_busy_are_named(engine, local, monkeypatch):
    monkeypatch.setattr(cluster, "ANSWER", 0.3)
    with distributed.Client(local.scheduler_address, set_as_default=False) as other:
        names = ["first", "second"]
        foreign = other.map(held, names, pure=False)
        assert all(distributed.Event(f"{one} has begun", other).wait(60) for one in names)
        with pytest.raises(InputError, match="check that all are idle and have pfbench") as error:
            engine.environment()
        distributed.Event("all may end", other).set()
        other.gather(foreign)
    assert local.scheduler_address in str(error.value)
    assert ends_well(str(error.value))
    monkeypatch.setattr(cluster, "ANSWER", 60.0)
    assert engine.environment() == SingleProcessEngine().environment()


@pytest.mark.long
def test_what_a_worker_cannot_tell_is_one_sentence(engine, monkeypatch):
    monkeypatch.setattr(cluster, "_query_process_environment", _broken)
    with pytest.raises(InputError, match=r"Error: No module named 'pfbench'\): check") as error:
        engine.environment()
    assert ends_well(str(error.value))


def _broken():
    raise ModuleNotFoundError("No module named 'pfbench'.\n")
