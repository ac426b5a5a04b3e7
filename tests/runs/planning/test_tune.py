"""Tuning in a spec: what is tried, and what a file must not say."""

from itertools import product

import pytest
from command_line import SMALL
from hypothesis import given
from hypothesis import strategies as st
from specs import read, valid

from pfbench.base.errors import InputError
from pfbench.runs.planning.tune import TunedMethod

SPEC = f"""
problems = ["{SMALL}", "{SMALL[:-1]},seed={{seed}}]"]
algorithms = {{ SG = "nfwu-sg[batch={{b}},iterations=8,step=0.1]" }}
seeds = [0, 1]
targets = ["fw_gap=0.5", "fw_gap=0.1"]
grid = {{ b = [5, 7] }}

[tune]
trials = 3
seeds = [10, 11]

[tune.methods.SG]
selector = "nfwu-sg[batch={{b}},iterations={{t}},step={{step}}]"
step = [0.1, 0.2]
t = [8, 9]
"""


def test_the_search_is_planned_beside_the_runs(tmp_path):
    assert valid(SPEC)
    spec = read(tmp_path, SPEC)
    assert len(spec.runs()) == 2 * 2 * 2
    searches = spec.search_runs()
    assert len(searches) == 2 * 2 * 3 * 2
    assert {plan.seed for plan in searches} == {10, 11}
    assert {plan.stop for plan in searches} == {spec.studies[0].final_target}
    # A problem's own seed follows that of the run, so the data are fresh, too.
    assert {plan.problem[-9:] for plan in searches if "seed" in plan.problem} == {
        "5,seed=10]"[-9:],
        "5,seed=11]"[-9:],
    }


def test_own_methods_that_are_tuned_are_told_of(tmp_path):
    spec = read(tmp_path, SPEC.replace("nfwu-sg[batch={b},iterations={t}", "my:SG[b={b},t={t}"))
    assert {text.partition("[")[0] for text in spec.user_selectors} == {"my:SG"}


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), st.integers(1, 40))
def test_as_many_points_for_all(sizes, trials):
    grid = {name: list(range(size)) for name, size in zip("abc", sizes, strict=False)}
    whole = [dict(zip(grid, chosen, strict=True)) for chosen in product(*grid.values())]
    points = TunedMethod("m", "m", grid).grid_points(trials)
    assert len(points) == min(trials, len(whole))
    assert points == [point for point in whole if point in points]


def test_points_of_a_larger_grid_are_spread():
    points = TunedMethod("m", "m", {"a": range(6), "b": range(6)}).grid_points(6)
    assert len({point["a"] for point in points}) >= 4
    assert len({point["b"] for point in points}) >= 4


# The last is whether the JSON schema can say it, too.
@pytest.mark.parametrize(
    ("old", "new", "says", "schema"),
    [
        ("trials = 3", "trials = 0", "tune.trials=0 must be at least 1", True),
        ("trials = 3", "", "tune.trials is missing", True),
        ("[10, 11]", "[10, 1]", "tune.seeds and the study both have the seed 1", False),
        ("[10, 11]", "2", "tune.seeds and the study both have the seed 0", False),
        ("trials = 3", "trials = 3\ncount = 'sof'", "tune.count 'sof': did you mean", True),
        ("trials = 3", "trials = 3\ntarget = 'gap'", "cannot read the target", False),
        ("trials = 3", "trials = 3\ntarget = 'value=1'", "unknown measure", False),
        ("trials = 3", "trials = 3\nbeyond = 1", "tune.beyond = 1 must be true or false", True),
        ("trials = 3", "trials = 3\nbudget = 'sfo=1'", "unknown field", True),
        ("step = [0.1, 0.2]", "step = 0.1", "tune.methods.SG.step = 0.1 must be a list", True),
        ("step = [0.1, 0.2]", "step = [0.1]\nx = [1]", "x is used nowhere", False),
        ("step={step}", "step={stop}", "step is used nowhere", False),
        ("t = [8, 9]", "t = [8, 9]\nb = [5]", "the name b is also used in a setting", False),
        ("[tune.methods.SG]", "[tune.methods.'']", "a label", False),
        ('selector = "nfwu', 'elector = "nfwu', "tune.methods.SG needs a selector", True),
        ("targets =", "#", "tune.target is missing, and the study has no targets", False),
        ("t = [8, 9]", f"t = {list(range(1000))}\nu = {list(range(1000))}", "", False),
    ],
)
def test_a_wrong_field_is_named(tmp_path, old, new, says, schema):
    assert old in SPEC
    text = SPEC.replace(old, new, 1)
    if " u = " in text.replace("\n", " "):
        text, says = text.replace("step={step}", "step={step},u={u}"), "2,000,000 points"
    with pytest.raises(InputError) as refused:
        read(tmp_path, text)
    assert says in str(refused.value)
    assert valid(text) != schema


def test_a_candidate_is_a_table_of_parameters(tmp_path):
    text = SPEC.replace("[tune]", "candidate = { batch = [5, 7], t = 8 }\n[tune]")
    assert valid(text)
    assert read(tmp_path, text).candidate == {"batch": [5, 7], "t": 8}
    for wrong in ("3", "{ batch = [] }", "{ seed = 1 }", "{ t = [[1]] }"):
        text = SPEC.replace("[tune]", f"candidate = {wrong}\n[tune]")
        assert not valid(text)
        with pytest.raises(InputError, match="candidate"):
            read(tmp_path, text)
