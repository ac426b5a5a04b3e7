"""The spec of a sweep: what it plans, and what it refuses, by field."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import SMALL
from specs import read, valid
from stored import made_run

from pfbench.base.counts import COUNTED, Budget
from pfbench.base.errors import InputError
from pfbench.runs.loop.run import Stop, calls_to_targets
from pfbench.runs.planning.plan import describe_user_imports
from pfbench.runs.planning.spec import load_spec

WHOLE = f"""
name = "whole"
problems = ["{SMALL}", "nonconvex-logistic[source=synthetic,seed={{seed}}]"]
seeds = [3, 1]
measures = ["objective", "fw_gap"]
every = "{{batch}}"
budget = "sfo={{calls}}"
targets = ["fw_gap=0.1", "fw_gap=1e-3", "fw_gap=0.5"]
time_limit = 2.5
memory_limit = 0.5

[algorithms]
SG = "nfwu-sg[batch={{batch}},iterations=8,step=0.1]"
FW = "frank-wolfe[iterations=3]"

[grid]
batch = [5, 7]
calls = [100, 1e4]
"""


def test_a_sweep_is_the_product_of_all_it_lists(tmp_path):
    sweep = read(tmp_path, WHOLE)
    assert sweep.name == "whole"
    assert len(sweep.runs()) == 4 * 2 * 2 * 2
    first = sweep.runs()[0]
    assert first.problem == SMALL
    assert first.algorithm == "nfwu-sg[batch=5,iterations=8,step=0.1]"
    assert (first.seed, first.every) == (3, 5)
    assert first.measures == ("objective", "fw_gap")
    assert first.budget == Budget(sfo=100)
    assert first.stop == Stop("fw_gap", 1e-3)
    assert (first.time_limit, first.memory_limit) == (2.5, 0.5e9)
    assert {(p.every, p.budget.sfo) for p in sweep.runs()} == {
        (batch, calls) for batch in (5, 7) for calls in (100, 1e4)
    }
    assert {p.problem for p in sweep.runs() if p.seed == 1} == {
        SMALL,
        "nonconvex-logistic[source=synthetic,seed=1]",
    }
    assert [target.target for target in sweep.studies[0].targets] == [0.5, 0.1, 1e-3]


def test_a_run_that_a_setting_does_not_touch_is_planned_once(tmp_path):
    sweep = read(
        tmp_path,
        f'problems = "{SMALL}"\nseeds = 2\n[grid]\nb = [5, 7, 9]\n[algorithms]\n'
        'A = "nfwu-sg[batch={b},iterations=8,step=0.1]"\nB = "frank-wolfe[iterations=3]"\n',
    )
    assert len(sweep.runs()) == 2 * (3 + 1)


def test_the_example_of_the_documentation(tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "clusters.md").read_text(encoding="utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    assert valid(example)
    sweep = read(tmp_path, example)
    assert len(sweep.runs()) == 10 * (4 + 2 * 2)
    assert describe_user_imports(sweep.user_selectors) == ["my_methods:MySpider[batch=100 or 200]"]


def test_own_algorithms_are_named_and_not_imported(tmp_path):
    text = f'problems = "{SMALL}"\nalgorithms = ["no_such:Method[iterations=3]", "no_such:Other"]\n'
    selectors = read(tmp_path, text).user_selectors
    assert selectors == ["no_such:Method[iterations=3]", "no_such:Other"]


def test_the_schema_takes_what_the_reader_takes():
    assert valid(WHOLE)
    assert valid(f'problems = "{SMALL}"\nalgorithms = ["frank-wolfe"]\nbudget = {{lo = 5}}\n')


# The last is whether the JSON schema can say it, too.
@pytest.mark.parametrize(
    ("old", "new", "says", "schema"),
    [
        ('name = "whole"', "name = 3", "name = 3 must be a string", True),
        ('name = "whole"', "nmae = 3", "did you mean 'name'?", True),
        ("seeds = [3, 1]", "seeds = [3, -1]", "seeds[1]=-1 must be at least 0", True),
        ("seeds = [3, 1]", "seeds = [3, 3]", "must be a list of different seeds", True),
        ("seeds = [3, 1]", "seeds = 0", "seeds=0 must be at least 1", True),
        ("seeds = [3, 1]", "seeds = true", "seeds=True must be an integer", True),
        ("FW = ", "SG2 = 3 # ", "algorithms.SG2 = 3 must be a string", True),
        ('"frank-wolfe[iterations=3]"', '"  "', "algorithms.FW = '  ' must be a string", True),
        ('["objective", "fw_gap"]', '["value", "value"]', "'value' appears twice", True),
        ('["objective", "fw_gap"]', "[]", "measures is empty", True),
        ("[5, 7]", "5", "grid.batch = 5 must be a list", True),
        ("[5, 7]", "[5, []]", "grid.batch[1] = [] must be a number or text", True),
        ("batch = [5, 7]", "bach = [5, 7]", "names {batch}, for which the grid has no", False),
        ("batch = [5, 7]", "batch = [5]\nextra = [1]", "grid.extra is used nowhere", False),
        ("batch = [5, 7]", "batch = [5]\nseed = [1]", "grid.seed: the name must be", True),
        ('"fw_gap=0.1"', '"fw_gap"', "targets[0] = 'fw_gap': cannot read the target", False),
        ('"fw_gap=0.1"', '"value=0.1"', "must all have one measure", False),
        ("sfo={calls}", "sfo=-{calls}", "budget = 'sfo=-100'", False),
        ("sfo={calls}", "sgo={calls}", "did you mean", False),
        ('every = "{batch}"', 'every = "{batch}.5"', "every = '5.5' must be a whole", False),
        ('every = "{batch}"', "every = 0", "every=0 must be at least 1", True),
        ("time_limit = 2.5", "time_limit = 0", "time_limit=0 must be greater than 0", True),
        ("memory_limit = 0.5", 'memory_limit = "1"', "memory_limit='1' must be a number", True),
        ("iterations=3]", "iterations=3", "cannot read", False),
        ("{batch},", "{batch,", "has wrong braces", False),
        ("[grid]", "[grid", "is not a TOML file", None),
    ],
)
def test_a_wrong_field_is_named(tmp_path, old, new, says, schema):
    assert old in WHOLE
    text = WHOLE.replace(old, new)
    with pytest.raises(InputError) as refused:
        read(tmp_path, text)
    assert says in str(refused.value)
    if "calls" not in new and "iterations" not in new:
        assert "spec.toml" in str(refused.value)
    if schema is not None:
        assert valid(text) != schema


def test_what_is_needed_must_be_there(tmp_path):
    with pytest.raises(InputError, match="algorithms is missing"):
        read(tmp_path, f'problems = "{SMALL}"\n')
    with pytest.raises(InputError, match="cannot be read"):
        load_spec(tmp_path / "none.toml")


def test_a_target_is_reached_at_the_first_row_below_it():
    columns = ("iteration", *COUNTED, "seconds", "gap")
    rows = [
        (k, 0, 10 * k, 0, 0, k, 0, 0, 0, 0.0, gap)
        for k, gap in enumerate([3.0, math.nan, 0.9, 2.0, 0.4])
    ]
    targets = [Stop("gap", level) for level in (1.0, 0.5, 0.1)]
    run = replace(made_run(), columns=columns, rows=rows)
    found = [one["calls"] and one["calls"]["sfo"] for one in calls_to_targets(targets, run)]
    assert found == [20, 40, None]
