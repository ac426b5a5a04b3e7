"""Studies run what the store lacks; keys cover what could change a result, and nothing else."""

from dataclasses import replace

import pytest

from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.base.errors import Refused
from pfbench.runs import execute, keys
from pfbench.runs.store import Store
from pfbench.runs.study import PlannedRun

SVRG = "svrg[batch=5,period=3,iterations=4,step=0.01]"
PLAN = PlannedRun(
    "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]", SVRG, 0, ("objective",), 1
)


def test_a_run_that_does_not_fit_is_refused_before_the_first_one_starts(tmp_path):
    unfit = replace(PLAN, algorithm="frank-wolfe[iterations=3]")
    with pytest.raises(Refused, match="no feasible set"):
        execute.execute([PLAN, unfit], Store(tmp_path))
    assert list(Store(tmp_path).keys()) == []


def test_a_second_call_makes_nothing_and_returns_the_same(tmp_path):
    plans, made = [PLAN, replace(PLAN, seed=1)], []
    for _ in range(2):
        found = execute.execute(
            plans, Store(tmp_path), progress=lambda plan, fresh: made.append(fresh)
        )
    assert made == [True, True, False, False]
    assert [outcome.plan for outcome in found] == plans
    assert found[0].entry.run.counts.sfo == 2 * 30 + 2 * 5 * 4
    assert found[0].entry.run.rows != found[1].entry.run.rows


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"every": 2},
        {"measures": ("value",)},
        {"algorithm": SVRG.replace("0.01", "0.02")},
        {"problem": PLAN.problem.replace("rows=30", "rows=31")},
        {"problem": PLAN.problem.replace("]", ",alpha=0.2]")},
    ],
)
def test_what_changes_the_result_changes_the_key(tmp_path, change):
    assert execute.make(PLAN, tmp_path)[0] != execute.make(replace(PLAN, **change), tmp_path)[0]


def test_source_is_followed_through_imports_but_not_into_the_rooms_above():
    found = keys.reachable(frozenset({"pfbench.runs.solve", FrankWolfe.__module__}))
    assert {"pfbench.oracles.ledger", "pfbench.points.factored", "pfbench.kernels.observed"} <= {
        *found
    }
    assert "pfbench.algorithms.natasha" not in found
    assert not [name for name in found if name.startswith(("pfbench.cli", "pfbench.reporting"))]


def test_an_edited_module_changes_the_digest_of_those_that_reach_it(tmp_path, monkeypatch):
    (tmp_path / "mine_above.py").write_text("import mine_below\n")
    (tmp_path / "mine_apart.py").write_text("x = 1\n")
    below = tmp_path / "mine_below.py"
    below.write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = [keys.source_digest(frozenset({name})) for name in ("mine_above", "mine_apart")]
    below.write_text("x = 2\n")
    after = [keys.source_digest(frozenset({name})) for name in ("mine_above", "mine_apart")]
    assert (before[0] == after[0], before[1] == after[1]) == (False, True)
