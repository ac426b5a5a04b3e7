"""Specs of a sweep and of several studies: what they plan, and what they refuse, by field."""

import math
from dataclasses import replace
from math import comb
from pathlib import Path

import pytest
from command_line import SMALL
from hypothesis import given
from hypothesis import strategies as st
from specs import TUNED, read, valid
from stored import made_run

from pfbench.base.counts import COUNTED, Budget
from pfbench.base.errors import InputError, InputErrors
from pfbench.runs.loop.run import Stop, calls_to_targets
from pfbench.runs.planning.plan import describe_user_imports
from pfbench.runs.planning.spec import GIGABYTE, load_spec
from pfbench.runs.planning.spec_text import make_labels

ROOT = Path(__file__).parents[3]
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


STUDIES = f"""
title = "Two studies"

[[study]]
problems = "{SMALL}"
algorithms = ["frank-wolfe[iterations=3]"]

[[study]]
key = "rows"
title = "Rows"
seeds = 2
budget = "lo={{calls}}"
targets = ["fw_gap=0.5", "fw_gap=0.1"]
memory_limit = 2

[study.problems]
small = "{SMALL}"
smaller = "{SMALL[:-1]},seed=3]"

[study.algorithms]
SG = "nfwu-sg[batch={{batch}},iterations=8,step=0.1]"

[[study.setting]]
title = "few"
batch = 5
calls = 100

[[study.setting]]
batch = 7
calls = 1e3
"""


PRICED = (
    STUDIES
    + """
[study.price]
sfo = 1
lo = 50
"""
)


ORDERED = (
    STUDIES.replace('SG = "nfwu', 'FW = "frank-wolfe[iterations=3]"\nSG = "nfwu')
    + """
[[study.ordering]]
source = "a paper, figure 1"
says = "FW is better"
order = ["FW", ["SG"]]
measure = "fw_gap"
target = 0.3
problems = "small"
settings = ["few"]

[[study.ordering]]
source = "a paper, figure 2"
order = ["SG", "FW"]
"""
)


PUBLISHED = f"""
name = "published"
problems = "{SMALL}"
seeds = 6
assumed = ["the noise has variance 1", "steps are 1/L"]

[algorithms]
SG = "nfwu-sg[batch={{batch}},iterations=8,step=0.1]"
"FW, open loop" = "frank-wolfe[iterations=3,step=open-loop]"
"FW, line search" = "frank-wolfe[iterations=3]"

[forms]
FW = ["FW, open loop", "FW, line search"]

[[unit]]
name = "passes"
weights = "sfo=0.5,fo={{half}}"
says = "pass over the entire dataset twice"
place = "section 5.2"
otherwise = {{ SG = "sfo=1" }}

[[setting]]
title = "small"
batch = 3
half = 40

[[ordering]]
source = "A paper, figure 1"
place = "section 5"
says = "SG is before FW"
states = "we set the step to 0.1"
order = ["SG", "FW"]
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
    page = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    assert valid(example)
    sweep = read(tmp_path, example)
    assert len(sweep.runs()) == 10 * (4 + 2 * 2)
    assert describe_user_imports(sweep.user_selectors) == ["my_methods:MySpider[batch=100 or 200]"]


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


def test_all_but_problems_and_algorithms_has_a_default(tmp_path):
    spec = read(tmp_path, f'problems = "{SMALL}"\nalgorithms = "frank-wolfe[iterations=3]"\n')
    (study,) = spec.studies
    assert (spec.name, spec.title, study.title) == ("spec", "spec", "spec")
    assert (study.key, study.seeds, study.measures) == ("", (0,), ("objective",))
    assert [setting.title for setting in study.settings] == [""]
    (run,) = spec.runs()
    assert (run.seed, run.measures, run.every, run.budget, run.stop) == (
        *(0, ("objective",), 1),
        *(None, None),
    )


def test_a_price(tmp_path):
    assert valid(PRICED)
    study = read(tmp_path, PRICED).studies[1]
    assert study.price == {"sfo": 1.0, "lo": 50.0}
    assert read(tmp_path, STUDIES).studies[1].price == {}


def test_published_orders(tmp_path):
    assert valid(ORDERED)
    first, second = read(tmp_path, ORDERED).studies[1].orderings
    assert first.order == second.order[::-1] == (("FW",), ("SG",))
    assert (first.measure, first.target, first.problems, first.settings) == (
        *("fw_gap", 0.3),
        *(("small",), ("few",)),
    )
    # Without a measure it is that of the targets.
    assert (second.measure, second.target, second.problems) == ("fw_gap", None, ())


def test_without_measures_that_of_the_targets_is_drawn(tmp_path):
    text = f'problems = "{SMALL}"\nalgorithms = "frank-wolfe"\ntargets = "{{}}=0.1"\n'
    (study,) = read(tmp_path, text.format("fw_gap")).studies
    assert study.measures == study.recorded_measures == ("fw_gap",)
    (study,) = read(tmp_path, text.format("mine:error")).studies
    assert (study.measures, study.recorded_measures) == (("error",), ("mine:error",))
    assert study.final_target.measure == "error"


def test_a_file_has_one_study_or_several(tmp_path):
    spec = read(tmp_path, STUDIES)
    first, rows = spec.studies
    assert (first.key, first.title, rows.key) == ("study-1", "study-1", "rows")
    assert [setting.title for setting in rows.settings] == ["few", "batch = 7, calls = 1000"]
    assert [problem.label for problem in rows.problems] == ["small", "smaller"]
    assert len(spec.runs()) == 1 + 2 * 2 * 2
    assert {run.memory_limit for run in rows.runs()} == {2 * GIGABYTE}
    assert {run.budget.lo for run in rows.runs()} == {100, 1000}
    run = rows.all_target_plans(rows.problems[1], rows.algorithms[0], rows.settings[0])[1]
    assert (run.seed, run.problem) == (1, f"{SMALL[:-1]},seed=3]")
    assert run.algorithm == "nfwu-sg[batch=5,iterations=8,step=0.1]"


def test_a_run_of_two_studies_has_the_targets_of_both(tmp_path):
    study = f'[[study]]\nproblems = "{SMALL}"\nalgorithms = "frank-wolfe"\n'
    first, second = 'targets = ["fw_gap=0.5", "fw_gap=0.1"]\n', 'targets = "fw_gap=0.1"\n'
    ((_, targets),) = read(tmp_path, study + first + study + second).targets.items()
    assert [one.target for one in targets] == [0.5, 0.1]


def test_each_figure_of_the_papers_has_a_spec_of_both_scales_with_its_orders():
    figures = {"shen2019": 4, "qu2018": 3, "li2019": 2, "wang2019": 3}
    for paper, number in figures.items():
        for k in range(1, number + 1):
            name = f"{paper}-fig{k}"
            quick = load_spec(ROOT / "reports" / f"{name}.toml")
            whole = load_spec(ROOT / "reports" / "paper" / f"{name}.toml")
            assert (quick.name, whole.name) == (name, f"{name}-paper")
            for spec in (quick, whole):
                assert all(study.orderings for study in spec.studies), spec.name
                for study in spec.studies:  # the least p-value of its seeds can decide an order
                    ways = comb(2 * len(study.seeds), len(study.seeds))
                    assert 2 * study.ordering_test_count / ways <= 0.05, spec.name
            said = [
                {
                    (ordering.source, ordering.order)
                    for study in spec.studies
                    for ordering in study.orderings
                }
                for spec in (quick, whole)
            ]
            assert said[0] == said[1]


def test_the_published_schema_takes_every_report():
    paths = [*(ROOT / "reports").rglob("*.toml")]
    assert paths
    for path in paths:
        assert valid(path.read_text(encoding="utf-8")), path
    assert valid(STUDIES)


WRONG = {
    WHOLE: (
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
        ("batch = [5, 7]", "bach = [5, 7]", "grid.bach is used nowhere", False),
        ("batch = [5, 7]", "batch = [5]\nextra = [1]", "grid.extra is used nowhere", False),
        ("batch = [5, 7]", "batch = [5]\nseed = [1]", "grid.seed: the name must be", True),
        (
            '"fw_gap=0.1"',
            '"fw_gap"',
            "targets[0] = 'fw_gap' is wrong: cannot read the target",
            False,
        ),
        ('"fw_gap=0.1"', '"value=0.1"', "must all have the same measure", False),
        ("sfo={calls}", "sfo=-{calls}", "budget sfo=-100.0 must be at least 0", False),
        ("sfo={calls}", "sgo={calls}", "did you mean", False),
        ('every = "{batch}"', 'every = "{batch}.5"', "every='5.5' must be an integer", False),
        ('every = "{batch}"', "every = 0", "every=0 must be at least 1", True),
        ("time_limit = 2.5", "time_limit = 0", "time_limit=0 must be greater than 0", True),
        ("memory_limit = 0.5", 'memory_limit = "1"', "memory_limit='1' must be a number", True),
        ("iterations=3]", "iterations=3", "cannot read", False),
        ("{batch},", "{batch,", "has wrong braces", False),
        ("[grid]", "[grid", "is not a TOML file"),
    ),
    PRICED: (
        ("lo = 50", "la = 50", "unknown field of", True),
        ("lo = 50", "lo = -1", "price.lo", True),
        ("sfo = 1\nlo = 50", "sfo = 0", "a cost above 0"),
    ),
    ORDERED: (
        ('["FW", ["SG"]]', '["FW", ["SC"]]', "choose one of FW, SG", False),
        ('["FW", ["SG"]]', '["FW", ["FW"]]', "each label once"),
        ('["FW", ["SG"]]', '["FW"]', "two labels or more"),
        ('["FW", ["SG"]]', '["FW", []]', "no empty rank"),
        ('problems = "small"', 'problems = "smal"', "did you mean 'small'", False),
        ('settings = ["few"]', 'settings = ["many"]', "unknown setting", False),
        ('measure = "fw_gap"', 'measure = "gap"', "unknown measure"),
        ('source = "a paper, figure 1"', "", "1: the field source is missing"),
        ('order = ["SG", "FW"]', 'ordre = ["SG", "FW"]', "did you mean 'order'"),
        ("target = 0.3", "target = inf", "target"),
    ),
    STUDIES: (
        ("[[study.setting]]", "[[study.column]]", "", True),
        ('key = "rows"', 'key = "../rows"', "", True),
        ('title = "few"', "title = 3", "", True),
        ("batch = 5", "batch = [5]", "", True),
        ("batch = 5", "seed = 5", "", True),
        ("seeds = 2", "seeds = 2\ngrid = {b = [1]}", "", True),
    ),
    PUBLISHED: (
        ('"FW, line search"]', '"FW, line serch"]', "mean 'FW, line search'"),
        ("FW = [", "SG = [", "is another algorithm's name"),
        ('FW = ["FW, open loop", "FW, line search"]', "FW = []", "list labels"),
        ("sfo=0.5", "sf=0.5", "did you mean 'sfo'"),
        ("sfo=0.5", "sfo=-1", "must be a number above 0"),
        ("sfo=0.5", "sfo=much", "must be a number above 0"),
        ("sfo=0.5", "sfo=0.5,sfo=1", "given twice"),
        ("{half}", "{hlf}", "{hlf}"),
        ("{ SG", "{ SGE", "did you mean 'SG'"),
        ('name = "passes"', 'nome = "passes"', "did you mean 'name'"),
        ('place = "section 5"', 'plaice = "section 5"', "mean 'place'"),
        ('order = ["SG", "FW"]', 'order = ["SG", "WF"]', "did you mean 'FW'"),
        ("batch = 3", "batch = 3\nthird = 4", "third is used nowhere"),
    ),
    TUNED: (
        ("trials = 3", "trials = 0", "tune.trials=0 must be at least 1", True),
        ("trials = 3", "", "tune: the field trials is missing", True),
        ("[10, 11]", "[10, 1]", "tune.seeds and the study both have the seed 1", False),
        ("[10, 11]", "2", "tune.seeds and the study both have the seed 0", False),
        ("trials = 3", "trials = 3\ntarget = 'gap'", "cannot read the target", False),
        ("trials = 3", "trials = 3\nbudget = 'sfo=1'", "unknown field", True),
        ("step = [0.1, 0.2]", "step = 0.1", "tune.methods.SG.step = 0.1 must be a list", True),
        ("step = [0.1, 0.2]", "step = [0.1]\nx = [1]", "x is used nowhere", False),
        ("step={step}", "step={stop}", "step is used nowhere", False),
        ("t = [8, 9]", "t = [8, 9]\nb = [5]", "the name b is also used in a setting", False),
        ("[tune.methods.SG]", "[tune.methods.'']", "a label", False),
        ('selector = "nfwu', 'elector = "nfwu', "tune.methods.SG needs a selector", True),
        ("targets =", "#", "tune needs a target", False),
    ),
}
"""Changes of a spec, what is said, and, where it is known, whether the JSON schema can say it."""


@pytest.mark.parametrize(
    ("spec", "change"), [(spec, change) for spec, changes in WRONG.items() for change in changes]
)
def test_a_wrong_field_is_named(tmp_path, spec, change):
    old, new, says, *schema = change
    assert old in spec
    text = spec.replace(old, new, 1)
    with pytest.raises(InputError) as refused:
        read(tmp_path, text)
    assert says in str(refused.value)
    if not any(template in new for template in ("calls", "iterations", "sf", "value")):
        assert "spec.toml" in str(refused.value)
    assert not schema or [valid(text)] != schema


# --- mistakes -------------------------------------------------------------------------------------


def test_all_mistakes_are_told_at_once(tmp_path):
    text = (
        STUDIES.replace("seeds = 2", "sedes = 2")
        .replace('"fw_gap=0.5"', '"fw_gap"')
        .replace("batch = 5", "batch = []")
        .replace("memory_limit = 2", "memory_limit = -2")
        .replace('algorithms = ["frank-wolfe[iterations=3]"]', "")
    )
    with pytest.raises(InputErrors) as refused:
        read(tmp_path, text)
    told = refused.value.messages
    assert all(sentence.startswith("unknown") or "spec.toml" in sentence for sentence in told)
    for says in (
        "study 1: the field algorithms is missing",
        "study 2 'sedes': did you mean 'seeds'?",
        "study 2: targets[0] = 'fw_gap' is wrong: cannot read",
        "study 2: setting 1: batch = []",
        "study 2: memory_limit=-2 must be greater than 0",
    ):
        assert sum(says in sentence for sentence in told) == 1, says
    assert len(told) == 5


def test_values_that_are_not_used_are_told_beside_other_mistakes(tmp_path):
    text = STUDIES.replace("{batch}", "{bach}")
    with pytest.raises(InputErrors) as refused:
        read(tmp_path, text.replace("memory_limit = 2", "memory_limit = 0"))
    told = refused.value.messages
    for says in ("setting.batch is used nowhere", "memory_limit=0"):
        assert sum(says in sentence for sentence in told) == 1, says


def test_of_very_many_mistakes_the_first_are_told(tmp_path):
    fields = "\n".join(f"field{k} = 1" for k in range(100))
    with pytest.raises(InputErrors) as refused:
        read(tmp_path, f'{fields}\nproblems = "{SMALL}"\nalgorithms = "frank-wolfe"\n')
    assert len(refused.value.messages) == 21
    assert refused.value.messages[-1] == "80 more errors of this kind."


# --- labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selectors", "labels"),
    [
        (["frank-wolfe[iterations=3,step=open-loop]"], ["frank-wolfe"]),
        (["a[x=1,y=2]", "a[x=1,y=3]", "b[x=1]"], ["a[y=2]", "a[y=3]", "b"]),
        (["a[x=1]", "a"], ["a[x=1]", "a"]),
        (["my.module:Mine[k=3]", "b"], ["Mine", "b"]),
        (["one:Mine", "two:Mine"], ["one:Mine", "two:Mine"]),
        (["{method}[x=1]"], ["{method}[x=1]"]),
    ],
)
def test_a_label_is_what_distinguishes(selectors, labels):
    assert make_labels(selectors) == labels


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "m:a", "n:a"]),
            st.dictionaries(st.sampled_from("xyz"), st.sampled_from("123"), max_size=3),
        ),
        min_size=1,
        max_size=8,
        unique_by=lambda one: (one[0], *sorted(one[1].items())),
    )
)
def test_labels_are_as_many_as_selectors(chosen):
    texts = [f"{name}[{','.join(f'{k}={v}' for k, v in given.items())}]" for name, given in chosen]
    found = make_labels(texts)
    assert len(set(found)) == len(texts)
    assert all(label.partition("[")[0] in text for label, text in zip(found, texts, strict=True))


def test_units_forms_and_what_is_ours_are_read(tmp_path):
    (study,) = read(tmp_path, PUBLISHED).studies
    assert study.assumed_settings == ("the noise has variance 1", "steps are 1/L")
    assert study.labels_of_variants("FW") == ("FW, open loop", "FW, line search")
    assert study.labels_of_variants("SG") == ("SG",)
    (unit,), (setting,) = study.units, study.settings
    assert study.unit_costs(unit, "FW, open loop", setting.values) == {"sfo": 0.5, "fo": 40.0}
    assert study.unit_costs(unit, "SG", setting.values) == {"sfo": 1.0}
    (order,) = study.orderings
    assert (order.location, order.stated_settings) == ("section 5", "we set the step to 0.1")
    assert order.is_published
    assert study.ordering_test_count == 2
    assert valid(PUBLISHED)


def test_what_stands_beside_several_studies_is_of_each_that_has_not_its_own(tmp_path):
    text = f"""
problems = "{SMALL}"
algorithms = "frank-wolfe[iterations=3]"
seeds = 2
every = 2

[[study]]
key = "one"

[[study]]
key = "two"
seeds = 3
algorithms = "frank-wolfe[iterations=4]"
"""
    one, two = read(tmp_path, text).studies
    assert (len(one.seeds), len(two.seeds)) == (2, 3)
    assert (one.frequency, two.frequency) == ("2", "2")
    assert one.problems == two.problems
    assert "iterations=4" in two.algorithms[0].selector
    assert valid(text)
    with pytest.raises(InputError, match="the field problems is missing"):
        read(tmp_path, text.replace(f'problems = "{SMALL}"', ""))
