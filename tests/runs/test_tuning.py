"""The search before a comparison: what it chooses, on which seeds, and that it is made once."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import run

from pfbench.runs.execute import PlanOutcome, execute, resolve_tuning, summarise_trial
from pfbench.runs.loop.run import Stop
from pfbench.runs.planning.spec import load_spec
from pfbench.runs.planning.tune import TuningChoice, value_beyond_end
from pfbench.runs.storage.serialization import StoredRun
from pfbench.runs.storage.store import Store

TARGETS = (Stop("m", 1.0),)
SPEC = """
problems = { one = "p[k=1]", two = "p[k=2]" }
algorithms = "a[x=7]"
seeds = [0, 1]
measures = "m"
targets = "m=1"

[tune]
trials = 4
seeds = [10, 11]
methods.A = { selector = "a[x={x}]", x = [1, 2, 3, 4] }
methods.B = { selector = "b[x={x},y={y}]", x = [1, 2, 3], y = [1, 2, 3] }
"""


def parameter(plan, name="x"):
    return int(plan.algorithm.partition(f"{name}=")[2][0])


def of_plans(found):
    """What becomes of plans, where `found` makes the run of one."""
    asked = []

    def make(_, plans):
        asked.append(list(plans))
        return [PlanOutcome(plan, StoredRun("0" * 64, found(plan), {})) for plan in plans]

    return make, asked


def spec_of(tmp_path, text=SPEC):
    (tmp_path / "spec.toml").write_text(text)
    return load_spec(tmp_path / "spec.toml")


def test_the_planted_best_is_chosen(tmp_path):
    """On the first problem 3 needs the fewest calls, on the second 2."""
    best = {"p[k=1]": 3, "p[k=2]": 2}

    def found(plan):
        calls = 100 * (1 + abs(parameter(plan) - best[plan.problem]))
        return run([2.0, 0.5], [0, calls + plan.seed], seed=plan.seed, status="target")

    make, _ = of_plans(found)
    (study,) = resolve_tuning(spec_of(tmp_path), make).studies
    assert study.labels == ("a", "A, tuned", "B, tuned")
    tuned = study.algorithms[1]
    for problem in study.problems:
        (setting,) = study.settings
        plans = study.all_target_plans(problem, tuned, setting)
        assert {plan.algorithm for plan in plans} == {f"a[x={best[problem.selector]}]"}
        assert [plan.seed for plan in plans] == [0, 1]


def test_no_seed_of_the_search_is_used_again_and_all_have_the_same_trials(tmp_path):
    make, asked = of_plans(lambda plan: run([2.0], seed=plan.seed))
    spec = resolve_tuning(spec_of(tmp_path), make)
    (searched,) = asked
    assert {plan.seed for plan in searched} == {10, 11}
    assert {plan.seed for plan in spec.runs()} == {0, 1}
    (study,) = spec.studies
    assert {len(choice.trials) for choice in study.choices} == {4}
    assert len(study.choices) == 2 * 2


def test_what_the_runs_cost_does_not_depend_on_the_other_methods(tmp_path):
    """Whatever else is tuned, a method's trials and its choice are the same."""
    make, asked = of_plans(lambda plan: run([2.0, 0.5], [0, 10 * parameter(plan)]))
    resolve_tuning(spec_of(tmp_path), make)
    alone = "\n".join(line for line in SPEC.splitlines() if not line.startswith("methods.B"))
    (study,) = resolve_tuning(spec_of(tmp_path, alone), make).studies
    both, one = asked
    assert [plan for plan in both if plan.algorithm[0] == "a"] == one
    assert [choice.best_trial().values for choice in study.choices] == [{"x": 1}] * 2


def test_a_spec_without_tuning_stays_as_it_is(tmp_path):
    make, asked = of_plans(lambda plan: pytest.fail("nothing is searched"))
    spec = spec_of(tmp_path, SPEC.partition("[tune]")[0])
    assert resolve_tuning(spec, make) is spec
    assert asked == []


@given(
    st.lists(
        st.tuples(st.integers(1, 1000), st.booleans()),  # calls, and whether they reach the target
        min_size=1,
        max_size=6,
    )
)
def test_expected_calls_charge_each_failed_run_its_own(parts):
    runs = [run([2.0, 0.5 if hit else 2.0], [0, calls]) for calls, hit in parts]
    hits = sum(hit for _, hit in parts)
    found = summarise_trial(TARGETS, {}, runs)
    assert found.hits == (hits,)
    total = sum(calls for calls, _ in parts)
    assert found.expected_calls == (total / hits if hits else math.inf,)
    assert found.total_calls == total


def test_where_nobody_reaches_the_target_the_last_value_decides():
    trials = [
        summarise_trial(TARGETS, {"x": k}, [run([9.0, last], status=status)])
        for k, (last, status) in enumerate(
            [(3.0, "budget"), (2.0, "budget"), (2.0, "finished"), (1.5, "diverged")]
        )
    ]
    assert TuningChoice("p", "s", {}, tuple(trials)).best_trial().values == {"x": 1}


def test_a_hit_goes_before_any_last_value():
    missed = summarise_trial(TARGETS, {"x": 0}, [run([9.0, 1.1], [0, 5])])
    late = summarise_trial(TARGETS, {"x": 1}, [run([9.0, 0.9], [0, 5000])])
    assert TuningChoice("p", "s", {}, (missed, late)).best_trial() is late


def test_the_search_is_stored_and_made_once(tmp_path):
    text = """
problems = "quadratic[rows=30,columns=4,seed={seed}]"
algorithms = "frank-wolfe[iterations=3]"
targets = "fw_gap=0.01"
budget = "sfo=300"
[tune]
trials = 2
seeds = [5]
methods.sfw = { selector = "sfw[batch=3,iterations=50,step={step}]", step = [0.5, 0.05] }
"""
    spec, fresh = spec_of(tmp_path, text), []

    def make(_, plans):
        store = Store(tmp_path / "store")
        return execute(plans, store, progress=lambda one: fresh.append(one.origin != "stored"))

    first = resolve_tuning(spec, make)
    # Whichever of the two is chosen, it lies at an end, and a third is tried.
    assert fresh == [True, True, True]
    assert resolve_tuning(spec, make).studies == first.studies
    assert fresh == [True, True, True, False, False, False]
    make(spec, first.runs())
    assert fresh[6:] == [True, True]


# --- to each target -------------------------------------------------------------------------------

TWO = """
problems = "p"
algorithms = "a[x=7]"
seeds = [0, 1]
measures = "m"
targets = ["m=1", "m=0.1"]

[tune]
trials = 3
seeds = [10]
methods.A = { selector = "a[x={x}]", x = [0.01, 0.03, 0.1] }
"""


def value(plan):
    return float(plan.algorithm.partition("x=")[2].rstrip("]"))


def slow_but_deep(plan):
    """Larger steps are quicker to 1; only the smaller ones come to 0.1, the smaller the sooner."""
    x = value(plan)
    deep = 0.05 if x < 0.05 else 0.5
    return run([2.0, 0.9, deep], [0, round(10 / x), round(10_000 * max(x, 0.002))], seed=plan.seed)


def test_each_target_takes_its_best_out_of_the_same_trials(tmp_path):
    """The planted quick step serves the easy target, the planted small one the hard target."""
    make, asked = of_plans(slow_but_deep)
    (study,) = resolve_tuning(spec_of(tmp_path, TWO), make).studies
    easy, hard = study.targets
    (problem,), tuned, (setting,) = study.problems, study.algorithms[1], study.settings
    plans = study.plans_by_target(problem, tuned, setting)
    chosen = {target: {value(plan) for plan in plans[target]} for target in study.targets}
    assert chosen == {easy: {0.3}, hard: {0.003}}
    # All go on to the hardest target, as each is chosen for both, and beyond both ends once.
    assert {plan.stop for some in asked for plan in some} == {hard}
    assert [[value(plan) for plan in some] for some in asked] == [[0.01, 0.03, 0.1], [0.3, 0.003]]
    stops = {target: plans[target][0].stop for target in (easy, hard)}
    assert stops == {easy: easy, hard: hard}
    (choice,) = study.choices
    assert (choice.parameters_at_ends(0), choice.parameters_at_ends(1)) == (("x",), ("x",))
    assert sum(one.total_calls for one in choice.trials) == sum(
        slow_but_deep(plan).counts.sfo for plans in asked for plan in plans
    )
    assert {*study.runs()} >= {plan for target in (easy, hard) for plan in plans[target]}


def test_what_is_chosen_inside_its_grid_makes_nothing_grow(tmp_path):
    def found(plan):
        return run([2.0, 0.05], [0, 100 if value(plan) == 0.03 else 200], seed=plan.seed)

    make, asked = of_plans(found)
    (study,) = resolve_tuning(spec_of(tmp_path, TWO), make).studies
    assert len(asked) == 1
    assert study.choices[0].parameters_at_ends(0) == study.choices[0].parameters_at_ends(1) == ()


def test_with_half_of_its_grid_a_method_is_at_the_end(tmp_path):
    """The best is 0.001: from 0.1 and 0.03 the grid goes on to 0.009, and that is its end."""

    def found(plan):
        return run([2.0, 0.05], [0, round(1e6 * value(plan))], seed=plan.seed)

    make, _ = of_plans(found)
    text = TWO.replace("[0.01, 0.03, 0.1]", "[0.1, 0.03]")
    (study,) = resolve_tuning(spec_of(tmp_path, text), make).studies
    (choice,) = study.choices
    assert choice.best_trial().values == {"x": 0.009}
    assert choice.parameters_at_ends() == ("x",)


@pytest.mark.parametrize(
    ("tried", "at", "beyond"),
    [
        ([0.1, 0.03, 0.01, 0.003], 0.1, 0.3),
        ([0.1, 0.03, 0.01, 0.003], 0.003, 0.001),
        ([0.1, 0.03, 0.01, 0.003], 0.03, None),
        ([100, 10, 1, 0.1], 100, 1000),
        ([8, 64], 64, 512),
        ([8, 64], 8, 1),
        ([1, 2], 1, None),
        ([5], 5, None),
        (["line-search", "open-loop"], "open-loop", None),
        ([True, False], True, None),
        ([0, 1, 2], 2, None),
        (["100/L", "10/L", "1/L", "0.1/L"], "0.1/L", "0.01/L"),
        (["100/L", "10/L", "1/L", "0.1/L"], "100/L", "1000/L"),
        (["0.3/L", "1/L", "3/L"], "3/L", "10/L"),
        (["0.1*sqrt(2*delta/L)", "1*sqrt(2*delta/L)"], "1*sqrt(2*delta/L)", "10*sqrt(2*delta/L)"),
        (["0.1*sqrt(delta)+sqrt(L)", "1*sqrt(delta)+sqrt(L)"], "1*sqrt(delta)+sqrt(L)", None),
        (["0.3/L", "1/L", "3/L"], "1/L", None),
        (["1*L", "0.1*L"], "0.1*L", "0.01*L"),
        (["1/L", "1*L"], "1*L", None),
        (["1/L", 3.0], 3.0, None),
    ],
)
def test_a_grid_goes_on_by_its_own_rule(tried, at, beyond):
    assert value_beyond_end(tried, at) == beyond
