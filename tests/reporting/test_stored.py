"""Reports of what a store has: runs that are found, not planned; what changed between two."""

import json
from dataclasses import replace

import pytest
from made_runs import run
from stored import ENVIRONMENT, change, key_of, made_run

from pfbench.base.counts import Budget
from pfbench.base.errors import InputError
from pfbench.reporting.answers import answer_sentences
from pfbench.reporting.report import collect_report, merge_reports
from pfbench.reporting.report_contents import seeds_in_words
from pfbench.reporting.result_tables import compare_by_each_price
from pfbench.reporting.stores import compare_stores, load_stored_report
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.loop.run import Stop
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.spec import load_spec
from pfbench.runs.storage.serialization import StoredRun, run_record
from pfbench.runs.storage.store import Store

HERE = {"python": "3.x"}


def key(number):
    return f"{number:064x}"


def put(store, number, problem="p", algorithm="a", seed=0, *, values=(2.0, 1.0), **planned):
    """Store a run with its plan."""
    found = replace(run(list(values), seed=seed), problem=problem, algorithm=algorithm)
    plan = PlannedRun(problem, algorithm, seed, ("m",), 1, **planned)
    store.put(key(number), found, HERE, {"plan": plan.as_json()})


def panels(report):
    (results,) = report.results
    return {
        (panel.title, group.label): [one.seed for one in group.runs]
        for panel in results.panels
        for group in panel.groups
    }


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def test_runs_are_grouped_by_problem_algorithm_and_seed(store):
    for number, (problem, algorithm, seed) in enumerate(
        [
            ("p[x=1]", "a", 1),
            ("p[x=1]", "a", 0),
            ("p[x=2]", "b[k=1]", 0),
            ("p[x=2]", "b[k=2]", 2**40),
        ]
    ):
        put(store, number, problem, algorithm, seed)
    report = load_stored_report(store, "s")
    assert panels(report) == {
        ("p[x=1]", "a"): [0, 1],
        ("p[x=2]", "b[k=1]"): [0],
        ("p[x=2]", "b[k=2]"): [2**40],
    }
    (results,) = report.results
    assert results.study.measures == ("m",)
    assert seeds_in_words(results.study) == "0, 1 and 1099511627776"
    assert "up to 3 seeds each: 4 runs" in answer_sentences(compare_by_each_price(results))[0]
    assert (report.spec.name, len(report.spec.runs())) == ("s", 4)
    assert report.environments[0].runs == 4


def test_problems_that_differ_in_the_seed_of_their_run_are_one(store):
    for seed in range(3):
        put(store, seed, f"p[x=1,seed={seed}]", "a", seed)
    assert panels(load_stored_report(store, "s")) == {("p", "a"): [0, 1, 2]}
    # Not so where a problem's seed is not that of the run.
    put(store, 3, "p[x=1,seed=1]", "a", 5)
    assert len(panels(load_stored_report(store, "s"))) == 3


def test_names_and_selectors_choose(store):
    put(store, 0, "p[x=1]", "a")
    put(store, 1, "p[x=2]", "b")
    put(store, 2, "q", "b[k=1]")
    assert panels(load_stored_report(store, "s", problems=["p"])).keys() == {
        ("p[x=1]", "a"),
        ("p[x=2]", "b"),
    }
    assert panels(
        load_stored_report(store, "s", problems=["p[x=1]", "q"], algorithms=["b"])
    ).keys() == {("q", "b")}
    with pytest.raises(InputError, match="has no runs that match --problem and --algorithm"):
        load_stored_report(store, "s", problems=["r"])


def test_an_empty_store_is_refused(store):
    with pytest.raises(InputError, match="has no runs: see"):
        load_stored_report(store, "s")


def test_the_longest_run_is_taken_and_the_others_are_told(store):
    put(store, 0, values=[3.0, 2.0, 1.0], budget=Budget(lo=3))
    put(store, 1, values=[3.0, 2.0], budget=Budget(lo=2))
    report = load_stored_report(store, "s")
    ((_, found),) = report.results[0].runs
    assert found.iterations == 2
    assert "Left out: 1 other (" in report.results[0].study.introduction


def test_the_targets_are_those_of_the_plans(store):
    put(store, 0, stop=Stop("m", 0.1))
    put(store, 1, seed=1, stop=Stop("m", 0.5))
    put(store, 2, seed=2)
    assert load_stored_report(store, "s").results[0].study.targets == (
        Stop("m", 0.5),
        Stop("m", 0.1),
    )


def test_what_is_damaged_or_strange_is_left_out(store):
    put(store, 0)
    put(store, 1, seed=1)
    change(store, key(1))
    found = replace(run([1.0]), algorithm="a b [", seed=2)
    store.put(key(2), found, HERE, {"plan": {"problem": 3}})
    found = replace(run([1.0]), seed=3)
    other = PlannedRun("p", "elsewhere", 3, (), 1)
    store.put(key(3), found, HERE, {"plan": other.as_json()})
    # The last says of itself another run than its plan: what it says of itself counts.
    assert panels(load_stored_report(store, "s")) == {("p", "a"): [0, 3]}


def test_nothing_that_a_store_names_is_imported(store):
    put(store, 0, "no_such_module:Problem", "no_such_module:Method[x=1]")
    assert panels(load_stored_report(store, "s")) == {("Problem", "Method"): [0]}


def test_braces_of_a_stored_selector_are_no_names(store):
    put(store, 0, "p[x={y}]", "a[z={seed}]")
    ((problem, algorithm),) = panels(load_stored_report(store, "s"))
    assert (problem, algorithm) == ("p", "a")


def test_several_reports_are_one_page(store, tmp_path):
    put(store, 0, "p", "a")
    first = load_stored_report(store, "store")
    (tmp_path / "two.toml").write_text(
        'title = "Two"\n[[study]]\nkey = "k"\ntitle = "K"\nproblems = "p"\nalgorithms = "b"\n'
        '[[study]]\nkey = "l"\nproblems = "p"\nalgorithms = "c"\n'
    )
    spec = load_spec(tmp_path / "two.toml")
    outcomes = [
        PlanOutcome(plan, StoredRun(key(0), replace(run([1.0]), algorithm=plan.algorithm), HERE))
        for plan in spec.runs()
    ]
    report = merge_reports("all", "All", [first, collect_report(spec, outcomes)])
    assert [study.key for study in report.spec.studies] == ["store", "two-k", "two-l"]
    assert [study.title for study in report.spec.studies][1:] == ["Two: K", "Two: l"]
    assert [found.study for found in report.results] == list(report.spec.studies)
    assert [(one.values, one.runs) for one in report.environments] == [(HERE, 3)]
    assert "# two.toml" in report.spec.text
    assert json.dumps([group.label for found in report.results for group in found])


def test_of_many_runs_equal_parts_are_one_object(store):
    for number in range(40):
        put(store, number, "p", "ab"[number % 2], number // 2, values=(2.0,) * (1 + number // 4))
    (results,) = load_stored_report(Store(store.folder), "s").results
    runs = [run for _, run in results.runs]
    assert [run.iterations for run in runs] == 2 * [number // 2 for number in range(20)]
    for group in results:
        assert {len({id(getattr(run, name)) for run in group.runs}) for name in SHARED} == {1}


SHARED = ("problem", "parameters", "columns", "status")


# --- What changed between two stores, planted one by one ------------------------------------------


def put_planned(store, run, version="1", budget=None):
    plan = PlannedRun(run.problem, run.algorithm, run.seed, ("fw_gap",), 1, budget)
    key = key_of(f"{version} {plan}")
    store.put(key, run, ENVIRONMENT, {"plan": plan.as_json()})
    return key


@pytest.fixture
def stores(tmp_path):
    return Store(tmp_path / "a"), Store(tmp_path / "b")


def test_runs_of_one_plan_are_the_same_under_any_key_and_however_long_they_took(stores):
    before, after = stores
    for seed in range(3):
        put_planned(before, made_run(seed))
        put_planned(after, made_run(seed, seconds=9.0, oracle_seconds=1.0), version="2")
    diff = compare_stores(*stores)
    assert (diff["identical"], diff["changed"], diff["changes"]) == (3, 0, [])


@pytest.mark.parametrize(
    ("change", "what", "values"),
    [
        ({"status": "diverged"}, "status", ("finished", "diverged")),
        ({"iterations": 2}, "iterations", (3, 2)),
        ({"final": {"objective": 0.25, "fw_gap": None}}, "final objective", (0.125, 0.25)),
        ({"final": {"objective": 0.125, "fw_gap": 1.0}}, "final fw_gap", (None, 1.0)),
        ({"final": {"fw_gap": None}}, "final objective", (0.125, None)),
    ],
)
def test_each_change_is_found_and_named(stores, change, what, values):
    before, after = stores
    run = made_run(4)
    put_planned(before, run)
    put_planned(after, replace(run, **change), version="2")
    (found,) = compare_stores(*stores)["changes"]
    assert [found[name] for name in ("problem", "algorithm", "seed")] == [
        *(run.problem, run.algorithm, 4)
    ]
    assert (found["field"], found["before"], found["after"]) == (what, *values)


def test_a_count_has_its_factor(stores):
    run = made_run(0)
    put_planned(stores[0], run)
    put_planned(stores[1], replace(run, counts=replace(run.counts, sfo=2 * run.counts.sfo)))
    (found,) = compare_stores(*stores)["changes"]
    assert (found["field"], found["factor"]) == ("sfo", 2.0)


def test_other_plans_are_other_runs(stores):
    put_planned(stores[0], made_run(0))
    put_planned(stores[1], made_run(0), budget=Budget(sfo=9))
    put_planned(stores[1], made_run(1))
    diff = compare_stores(*stores)
    numbers = [diff[name] for name in ("identical", "changed", "only_before", "only_after")]
    assert numbers == [0, 0, 1, 2]


def test_of_two_runs_of_a_plan_the_last_one_stands(stores):
    old, new = (
        put_planned(stores[0], made_run(0, iterations=7)),
        put_planned(stores[0], made_run(0), version="2"),
    )
    for moment, key in ((10**9, old), (2 * 10**9, new)):
        entry = stores[0].get(key)
        record = run_record(key, entry.run, entry.environment, entry.notes, moment)
        stores[0].write([record])
    put_planned(stores[1], made_run(0), version="3")
    assert compare_stores(*stores)["identical"] == 1


def test_damaged_files_are_counted_and_left(stores):
    key = put_planned(stores[0], made_run(0))
    change(stores[0], key)
    assert compare_stores(*stores)["unreadable"] == 1
    assert [*stores[0].keys()] == [key]
