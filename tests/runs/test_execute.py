"""Studies run what the store lacks; keys cover what could change a result, and nothing else."""

import gc
import sys
import weakref
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored import comparable

from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.base.counts import Budget, Counts
from pfbench.base.errors import InputErrors, StorageError
from pfbench.runs import execute
from pfbench.runs.engines import engine as engines
from pfbench.runs.engines import run_task
from pfbench.runs.engines.run_task import make_unfinished_run
from pfbench.runs.loop.run import Stop
from pfbench.runs.planning.plan import PlannedRun, resolve
from pfbench.runs.storage import content_keys
from pfbench.runs.storage.run_keys import compute_keys
from pfbench.runs.storage.store import Store

SVRG = "svrg[batch=5,period=3,iterations=4,step=0.01]"
PLAN = PlannedRun(
    "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=none]", SVRG, 0, ("objective",), 1
)


def outcomes(plans, folder, **options):
    engine = engines.SingleProcessEngine()
    return list(execute.iterate_plan_outcomes(plans, Store(folder), engine, **options))


def test_a_run_that_does_not_fit_is_stored_with_the_reason(tmp_path):
    unfit = replace(PLAN, algorithm="frank-wolfe[iterations=3]")
    made, refused = execute.execute([PLAN, unfit], Store(tmp_path))
    assert made.entry.run.status == "finished"
    assert (refused.entry.run.status, refused.entry.run.counts) == ("refused", Counts())
    assert "no feasible set" in refused.entry.run.stop_reason


def test_all_wrong_runs_are_told_before_the_first_one_starts(tmp_path):
    wrong = {
        "algorithm": ("svgr[epsilon=1]", "svrg[bach=5]"),
        "problem": ("nonconvex[rows=3]", "quadratic[rows=-1]"),
        "measures": (("objctive",),),
    }
    plans = [replace(PLAN, **{name: value}) for name, values in wrong.items() for value in values]
    with pytest.raises(InputErrors) as refused:
        execute.execute([PLAN, *plans, *plans], Store(tmp_path))
    told = refused.value.messages
    assert len(told) == len(plans)
    for name in ("'svgr'", "'bach'", "'nonconvex'", "rows=-1", "'objctive'"):
        assert sum(name in sentence for sentence in told) == 1, name
    assert list(Store(tmp_path).keys()) == []


@pytest.mark.thin(4)
@pytest.mark.parametrize("limits", [{}, {"time_limit": 60.0}, {"budget": Budget(sfo=40)}])
@pytest.mark.parametrize(
    ("problem", "algorithm"),
    [
        ("nonconvex-logistic[source=synthetic,rows={rows},columns=4]", "sfw[epsilon=4]"),
        (
            "multitask-sigmoid[columns=4,kinds=2,copies=2,rows={rows}]",
            "ncgs[iterations=3,smoothness=4]",
        ),
        (
            "matrix-regression[rows=4,columns=4,rank=1,seed={rows}]",
            "sagafw[iterations=3,step=0.1,batch=2]",
        ),
    ],
)
def test_a_problem_that_has_been_left_is_freed_at_once(limits, problem, algorithm):
    """The garbage collector would come late: of arrays it counts the number, and not the bytes."""
    left = []
    gc.collect()
    gc.disable()
    try:
        for rows in (20, 21, 22):
            plan = replace(PLAN, problem=problem.format(rows=rows), algorithm=algorithm, **limits)
            assert run_task.execute_plan(plan).status in ("finished", "budget")
            left.append(weakref.ref(resolve(plan).built_problem.problem))
        assert [there() is not None for there in left] == [False, False, True]
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("algorithm", "bound"),
    [
        ("frank-wolfe[epsilon=0.5]", ("fw_gap", 0.5)),
        ("nfwu-sg[epsilon=0.5]", ("fw_gap", 2.0)),  # 2 epsilon D, and D = 2
        ("prox-gd[epsilon=0.5]", ("gradient_mapping_sq", 0.25)),  # |G| <= epsilon
        ("frank-wolfe[iterations=3]", None),
        ("sfw[iterations=3,step=0.5,batch=1]", None),
    ],
)
def test_what_a_theorem_promises_is_stored_in_units_of_its_measure(tmp_path, algorithm, bound):
    problem = "nonconvex-logistic[source=synthetic,rows=30,columns=4,set=l1,radius=1]"
    plan = replace(PLAN, problem=problem, algorithm=algorithm, budget=Budget(sfo=60, po=5))
    (made,) = execute.execute([plan], Store(tmp_path))
    stated = made.entry.notes.get("promised")
    assert (stated and tuple(stated.values())) == bound
    assert stated is None or list(stated) == ["measure", "value"]


def test_what_somebody_calls_promises_and_is_none_stops_no_run(tmp_path, monkeypatch):
    plan = replace(PLAN, problem=PLAN.problem.replace("set=none", "set=l1"))
    plan = replace(plan, algorithm="frank-wolfe[epsilon=0.5]", budget=Budget(lo=3))
    monkeypatch.setattr(FrankWolfe, "guarantee", "much")
    (made,) = execute.execute([plan], Store(tmp_path))
    assert made.entry.run.status == "budget"
    assert "promised" not in made.entry.notes


def test_a_second_call_makes_nothing_and_returns_the_same(tmp_path):
    plans, made = [PLAN, replace(PLAN, seed=1)], []
    for _ in range(2):
        found = execute.execute(
            plans, Store(tmp_path), progress=lambda one: made.append(one.origin != "stored")
        )
    assert made == [True, True, False, False]
    assert [outcome.plan for outcome in found] == plans
    assert found[0].entry.run.counts.sfo == 2 * 30 + 2 * 5 * 4
    assert found[0].entry.run.rows != found[1].entry.run.rows


def key(plan):
    return compute_keys([plan], {})[plan].key


def test_each_limit_has_a_key_of_its_own():
    plans = [
        replace(PLAN, **limit)
        for limit in (
            {"budget": Budget(sfo=100)},
            {"budget": Budget(sfo=101)},
            {"budget": Budget(lo=100)},
            {"stop": Stop("objective", 0.1)},
            {"stop": Stop("objective", 0.2)},
            {"stop": Stop("value", 0.1)},
            {"time_limit": 3.0},
            {"time_limit": 4.0},
            {"memory_limit": 3.0},
            {"memory_limit": 4.0},
        )
    ]
    assert len({keys.key for keys in compute_keys(plans, {}).values()}) == len(plans)


def test_source_is_followed_through_imports_but_not_into_the_rooms_above():
    found = content_keys.reachable_files_by_module(
        frozenset({"pfbench.runs.loop.solve", FrankWolfe.__module__})
    )
    assert {
        "pfbench.oracles.ledger",
        "pfbench.points.factored",
        "pfbench.kernels.observed_entries",
    } <= {*found}
    assert "pfbench.algorithms.natasha" not in found
    assert not [name for name in found if name.startswith(("pfbench.cli", "pfbench.reporting"))]


def keys_in(plans):
    return compute_keys(plans, {})


ALL = [
    replace(PLAN, algorithm=algorithm, seed=seed, every=every)
    for algorithm in (
        SVRG,
        "saga[batch=5,iterations=4,step=0.01]",
        "spider[batch=3,period=2,iterations=4,step=0.1]",
    )
    for seed in (0, 1, 5)
    for every in (1, 3)
]


def comparable_keys(keys):
    return keys._replace(family_of_seed=None), keys.family


@settings(max_examples=12)
@given(st.lists(st.sampled_from(ALL), min_size=1, unique=True), st.randoms())
def test_neither_order_nor_company_changes_a_key(some, random):
    """Other algorithms, seeds and settings of a sweep, and their order, change no run."""
    alone = [(plan, comparable_keys(keys_in([plan])[plan])) for plan in some]
    more = list(dict.fromkeys([*some, *random.sample(ALL, 4)]))
    random.shuffle(more)
    together = keys_in(more)
    assert [(plan, comparable_keys(together[plan])) for plan in some] == alone
    assert len({keys.key for keys in together.values()}) == len(more)


@settings(max_examples=6)
@given(st.permutations(ALL[:4]))
def test_neither_order_nor_company_changes_a_result(plans):
    with TemporaryDirectory() as folder:
        found = execute.execute(plans, Store(Path(folder)))
    for outcome in found:
        alone = run_task.execute_plan(outcome.plan)
        assert comparable(outcome.entry.run)[1:] == comparable(alone)[1:]
        assert outcome.entry.run.final == alone.final


METHOD = """
from dataclasses import dataclass
from misbehaving import Descent
from {helper} import factor

@dataclass(frozen=True, kw_only=True)
class Method(Descent):
    def fourth(self, g):
        return factor * g
"""


def test_an_edited_helper_makes_the_runs_again_that_reach_it_and_no_others(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for name, helper in (("method_one", "helper_one"), ("method_two", "helper_two")):
        (tmp_path / f"{name}.py").write_text(METHOD.format(helper=helper))
        (tmp_path / f"{helper}.py").write_text(
            "from helper_below import factor\n" if name == "method_one" else "factor = 1.0\n"
        )
    (tmp_path / "helper_below.py").write_text("factor = 1.0\n")
    chosen = ["method_one:Method", "method_two:Method", "misbehaving:Descent", SVRG]
    plans = [replace(PLAN, algorithm=name, seed=seed) for name in chosen for seed in (0, 1)]

    def made():
        found = outcomes(plans, tmp_path / "store")
        return {outcome.plan.algorithm for outcome in found if outcome.origin == "made"}

    assert made() == set(chosen)
    assert made() == set()
    (tmp_path / "helper_below.py").write_text("factor = 1.0  # edited\n")
    assert made() == {"method_one:Method"}
    (tmp_path / "helper_two.py").write_text("factor = 1.0  # edited\n")
    assert made() == {"method_two:Method"}
    assert made() == set()


def test_a_worker_with_another_source_of_somebodys_module_makes_nothing(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    helper = tmp_path / "helper_of_late.py"
    helper.write_text("factor = 1.0\n")
    (tmp_path / "method_late.py").write_text(METHOD.format(helper="helper_of_late"))
    plans = [replace(PLAN, algorithm=name) for name in ("method_late:Method", SVRG)]

    class Edited(engines.MultiProcessEngine):
        def do(self, tasks):
            helper.write_text("factor = 2.0\n")
            return super().do(tasks)

    found = {
        outcome.plan.algorithm: outcome.entry.run
        for outcome in execute.iterate_plan_outcomes(plans, Store(tmp_path / "store"), Edited(1))
    }
    assert found[SVRG].status == "finished"
    assert found["method_late:Method"].status == "killed"
    assert "different versions of method_late, or of a module imported by these" in (
        found["method_late:Method"].stop_reason
    )
    (again, _) = execute.execute(
        plans, Store(tmp_path / "store"), engine=engines.MultiProcessEngine(1)
    )
    assert (again.origin, again.entry.run.status) == ("made", "finished")


@pytest.mark.parametrize(
    ("text", "helper"),
    [
        ("from pkg_keys.below import factor\n", "below"),
        ("import pkg_keys.below\n", "__init__"),
        (
            "from typing import TYPE_CHECKING\nif not TYPE_CHECKING:\n    import pkg_keys.below\n",
            "below",
        ),
        ("try:\n    import pkg_keys.broken.part\nexcept Exception:\n    pass\n", "__init__"),
    ],
)
@pytest.mark.parametrize("coding", ["utf-8-sig", "latin-1"])
def test_a_key_covers_packages_and_files_of_any_coding(tmp_path, monkeypatch, text, helper, coding):
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "pkg_keys"
    (package / "broken").mkdir(parents=True)
    (package / "broken" / "__init__.py").write_text("raise RuntimeError\n")
    for name in ("__init__", "below"):
        (package / f"{name}.py").write_text("factor = 1\n")
    mark = "# -*- coding: latin-1 -*-\n" if coding == "latin-1" else ""
    (package / "method.py").write_text(f"{mark}# \u00e9\n{text}", encoding=coding)
    before = content_keys.source_digest(frozenset({"pkg_keys.method"}))
    assert content_keys.source_digest(frozenset({"pkg_keys.method"})) == before
    with (package / f"{helper}.py").open("a") as file:
        file.write("factor = 2  # edited\n")
    assert content_keys.source_digest(frozenset({"pkg_keys.method"})) != before
    for name in [name for name in sys.modules if name.partition(".")[0] == "pkg_keys"]:
        del sys.modules[name]


def test_what_is_for_types_only_is_not_covered():
    found = content_keys.reachable_files_by_module(frozenset({"pfbench.runs.loop.run"}))
    assert "pandas" not in found
    assert "pfbench.base.counts" in found


def test_a_killed_run_is_stored_and_made_again(tmp_path, monkeypatch):
    lost = make_unfinished_run(PLAN, "killed", "its process was ended by SIGKILL, 3 times")
    store = Store(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(execute, "execute_and_digest_files", lambda *_: (lost, {}))
        (first,) = outcomes([PLAN], tmp_path)
    (key,) = store.keys()
    assert store.get(key).run.status == "killed"
    (second,) = outcomes([PLAN], tmp_path)
    assert (first.entry.key, second.origin) == (key, "made")
    assert store.get(key).run.status == "finished"


def test_a_run_that_cannot_be_stored_gets_its_row_and_ends_no_sweep(tmp_path, monkeypatch):
    plans = [PLAN, replace(PLAN, seed=1)]
    made = run_task.execute_plan

    def huge(plan, source=None):
        run = made(plan, source)
        return (replace(run, counts=replace(run.counts, sfo=2**63)) if plan.seed == 0 else run), {}

    monkeypatch.setattr(execute, "execute_and_digest_files", huge)
    found = outcomes(plans, tmp_path)
    assert sorted(outcome.entry.run.status for outcome in found) == ["error", "finished"]
    (failed,) = [outcome.entry.run for outcome in found if outcome.entry.run.status == "error"]
    assert "64 bits" in failed.stop_reason
    assert len(Store(tmp_path).rows()) == 2


def test_the_notes_say_the_dimension_and_the_plan(tmp_path):
    (found,) = outcomes([PLAN], tmp_path)
    notes = Store(tmp_path).get(found.entry.key).notes
    assert notes["dimension"] == 4
    assert PlannedRun.from_json(notes["plan"]) == PLAN
    whole = replace(PLAN, budget=Budget(sfo=9), stop=Stop("value", 0.5), time_limit=2.0)
    assert PlannedRun.from_json(whole.as_json()) == whole


def test_the_notes_say_the_least_known_objective_where_there_is_one(tmp_path):
    known = replace(PLAN, problem="simplex-norm[columns=4]", algorithm="frank-wolfe[iterations=3]")
    first, second = execute.execute([PLAN, known], Store(tmp_path))
    assert "best_known" not in first.entry.notes
    noted = second.entry.notes["best_known"]
    assert noted["value"] == pytest.approx(0.25)
    assert noted["source"]


def test_a_store_that_cannot_be_written_is_refused_before_any_run(tmp_path, monkeypatch):
    def refused(**where):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pfbench.base.files.TemporaryFile", refused)
    monkeypatch.setattr(execute, "execute_and_digest_files", pytest.fail)
    with pytest.raises(StorageError, match=r"cannot be written \(Permission denied\): choose"):
        outcomes([PLAN], tmp_path)


def test_runs_that_are_the_same_are_made_once(tmp_path):
    same = replace(PLAN, algorithm="svrg[step=0.01,batch=5,period=3,iterations=4]")
    found = outcomes([PLAN, same], tmp_path)
    assert [outcome.plan for outcome in found] == [PLAN, same]
    assert len(list(Store(tmp_path).keys())) == 1


def test_the_notes_say_how_often_a_run_was_lost(tmp_path, monkeypatch):
    class Unlucky(engines.SingleProcessEngine):
        def do(self, tasks):
            for result in super().do(tasks):
                yield replace(result, retries=2)

    (outcome,) = execute.iterate_plan_outcomes([PLAN], Store(tmp_path), Unlucky())
    notes = Store(tmp_path).get(outcome.entry.key).notes
    assert notes["retries"] == 2
    modules = frozenset(notes["source"]["modules"])
    assert {"pfbench.runs.loop.drive", "pfbench.problems.linear_models"} <= modules
    assert notes["source"]["digest"] == content_keys.source_digest(modules)


def test_only_what_is_not_stored_is_told_of(tmp_path):
    asked = []
    execute.execute([PLAN], Store(tmp_path), on_missing=asked.append)
    execute.execute([PLAN], Store(tmp_path), on_missing=asked.append)
    execute.execute([PLAN, replace(PLAN, seed=1)], Store(tmp_path), on_missing=asked.append)
    assert asked == [[PLAN], [replace(PLAN, seed=1)]]


def test_a_run_that_failed_for_an_outer_reason_is_made_again_on_demand(tmp_path, monkeypatch):
    asked = replace(PLAN, algorithm="misbehaving:NeedsVariable")

    def made_now(**more):
        (outcome,) = outcomes([asked], tmp_path, **more)
        return outcome.origin, outcome.entry.run.status

    assert [made_now(), made_now()] == [("made", "error"), ("stored", "error")]
    monkeypatch.setenv("PFBENCH_TEST_VARIABLE", "1")
    assert made_now() == ("stored", "error")
    expected = execute.predict_origins([asked], tmp_path, engines.SingleProcessEngine(), ["error"])
    assert list(expected.values()) == ["made"]
    assert made_now(recomputed_statuses=["error"]) == ("made", "finished")
    assert made_now(recomputed_statuses=["error"]) == ("stored", "finished")


@pytest.mark.parametrize(("limit", "status"), [(None, "killed"), (1e12, "error")])
def test_a_lack_of_memory_is_final_only_where_the_plan_limits_it(tmp_path, limit, status):
    """It is a fact of the machine, not of the method."""
    asked = replace(PLAN, algorithm="misbehaving:LacksMemory", memory_limit=limit)
    again = []
    for _ in range(2):
        (outcome,) = outcomes([asked], tmp_path)
        assert outcome.entry.run.status == status
        assert outcome.entry.run.stop_reason == "not enough memory (MemoryError: no more)"
        assert outcome.entry.run.counts.fo == 4
        again.append(outcome.origin)
    assert again == ["made", "made" if limit is None else "stored"]
