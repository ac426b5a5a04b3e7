"""The engine of a Dask cluster, on one of this machine."""

import sys
import time
from dataclasses import replace

import pytest
from command_line import SMALL, SVRG
from stored import made

from pfbench.base.errors import InputError
from pfbench.runs.engines import ThisProcess
from pfbench.runs.making import make
from pfbench.runs.store import Store
from pfbench.runs.study import PlannedRun
from pfbench.runs.workers import Task
from pfbench.verification.session import verify

distributed = pytest.importorskip("distributed", reason="needs distributed")

# Its own threads and sockets are closed when it likes.
pytestmark = pytest.mark.filterwarnings("ignore")

SMOOTH = "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]"
PLAN = PlannedRun(SMALL, SVRG, 0, ("value",), 1)


@pytest.fixture(scope="module")
def local():
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def engine(local):
    from pfbench.runs.cluster import Cluster

    found = Cluster(local.scheduler_address)
    yield found
    found.close()


def test_runs_have_the_same_bits_and_the_same_environment(engine):
    plans = [replace(PLAN, seed=seed) for seed in range(5)]
    assert engine.slots == 2
    assert engine.environment() == ThisProcess().environment()
    for plan, one in zip(plans, made(engine, plans), strict=True):
        alone = make(plan)
        assert one.run.counts == alone.counts
        assert one.run.final == alone.final
        assert one.retries == 0


@pytest.mark.faults
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_run_that_misbehaves_costs_itself_alone(engine, tmp_path):
    mark = tmp_path / "mark"
    plans = [
        PlannedRun(SMOOTH, f"misbehaving:{name}", 0, (), 1, time_limit=2.0)
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
    going = engine.do([Task(make, (plan,)) for plan in (sound, *endless)])
    assert next(going).value.status == "finished"
    time.sleep(0.5)
    going.close()
    (one,) = made(engine, [replace(sound, seed=1)])
    assert one.run.status == "finished"


@pytest.mark.faults
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_run_whose_dask_worker_is_lost_is_made_by_another_and_counted(engine, tmp_path):
    one = PlannedRun(SMOOTH, f"misbehaving:LosesItsParentOnce[mark={tmp_path / 'm'}]", 0, (), 1)
    (found,) = made(engine, [one])
    assert (found.run.status, found.retries) == ("finished", 1)


def test_a_worker_that_differs_makes_nothing(engine):
    found = dict(engine.environment())
    engine._expected = found | {"numpy": "0.1"}, engine._expected[1]
    (one,) = made(engine, [PLAN])
    assert one.run.status == "killed"
    assert "differ from the others'" in one.run.stop_reason


def test_no_scheduler_is_refused(monkeypatch):
    from pfbench.runs import cluster

    monkeypatch.setattr(cluster, "CONNECT", 0.5)
    with pytest.raises(InputError, match="no Dask scheduler answers at"):
        cluster.Cluster("tcp://127.0.0.1:9")


def test_claims_are_verified_there_and_kept_here(engine, tmp_path):
    names = ["shen2019-count-svrg", "shen2019-unbiased-svrg"]
    store, told = Store(tmp_path), []
    for _ in range(2):
        done = verify(
            names, engine=engine, store=store, progress=lambda row, made: told.append(made)
        )
        assert [row.verdict for row in done.rows] == ["holds", "holds"]
    assert told == [True, True, False, False]
    here = verify(names, engine=ThisProcess()).rows
    assert [dict(row.measured) for row in here] == [dict(row.measured) for row in done.rows]
