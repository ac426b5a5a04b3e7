"""Specs that would run away are refused by field; tuning in a spec: what is tried."""

import os
import time
import tomllib
from itertools import product
from pathlib import Path

import pytest
from command_line import SMALL
from hypothesis import example, given, settings
from hypothesis import strategies as st
from specs import SCHEMA, TUNED, read, valid

from pfbench.base.errors import InputError, PfbenchError
from pfbench.runs.planning import spec_text
from pfbench.runs.planning.plan import MOST_RUNS, describe_user_imports
from pfbench.runs.planning.spec import STUDY_FIELDS, load_spec
from pfbench.runs.planning.spec_text import LONGEST, fill_template, placeholder_names
from pfbench.runs.planning.tune import TunedMethod

MORE = int(os.environ.get("PFBENCH_FUZZ", "1"))
"""So many times as many cases as usual."""

SWEEP = f'problems = "{SMALL}"\nalgorithms = "nfwu-sg[batch={{b}},iterations=3,step=0.1]"\n'
REPORT = f"""
title = "t"
[[study]]
key = "k"
title = "t"
problems = "{SMALL}"
seeds = 1
measures = ["fw_gap"]
every = 1
[study.algorithms]
SG = "nfwu-sg[batch={{b}},iterations=3,step=0.1]"
[[study.setting]]
title = "b"
"""


@pytest.fixture
def refusal(tmp_path):
    """Return the sentence with which a spec is refused, which takes no time to speak of."""

    def refused(text):
        path = tmp_path / "spec.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        started = time.monotonic()
        with pytest.raises(InputError) as caught:
            load_spec(path)
        assert time.monotonic() - started < 20.0
        sentence = str(caught.value)
        assert "spec.toml" in sentence
        assert len(sentence) < 1000
        assert "\n" not in sentence
        return sentence

    return refused


# --- how many runs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ("seeds = 1000000000\n[grid]\nb=[1]", "plans 1,000,000,000 runs"),
        (
            "seeds = 1000000000000\n[grid]\nb=[1]",
            "plans 1,000,000,000,000 runs, more than the 100,000 allowed",
        ),
        (f"seeds = {[*range(MOST_RUNS + 1)]}\n[grid]\nb=[1]", f"plans {MOST_RUNS + 1:,} runs"),
        (
            "\n".join(["[grid]", *(f"{name} = {[*range(1000)]}" for name in "bcd")]),
            "plans 1,000,000,000 runs",
        ),
    ],
    ids=["seeds", "more seeds", "a list of seeds", "a grid"],
)
def test_the_runs_are_counted_before_they_are_made(refusal, rest, says):
    assert says in refusal(SWEEP.replace("{b}", "{b}{c}{d}" if "c =" in rest else "{b}") + rest)


# --- templates ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "template",
    [
        "{b.__class__}",
        "{seed.__class__.__init__.__globals__}",
        "{b[0]}",
        "{b!r}",
        "{b!x}",
        "{b:zz}",
        "{b:>3000000000}",
        "{seed:>9..9}",
        "{b:{b.__class__}}",
        "{}",
        "{0}",
        "{b",
        "b}",
        "{{b}",
        "{ b }",
    ],
)
def test_nothing_but_a_name_stands_in_braces(refusal, template):
    grid = "[grid]\nb=[1]\n"
    assert "has wrong braces" in refusal(SWEEP.replace("{b}", template) + grid)
    assert "has wrong braces" in refusal(REPORT.replace("{b}", template) + "b = 1\n")


def test_doubled_braces_are_literal():
    values = {"b": "{seed}", "seed": 3}
    text = fill_template("{{b}} {b} {seed}{{}}", location="x", values_source="y", values=values)
    assert text == "{b} {seed} 3{}"
    assert placeholder_names("{{b}} {b} {seed}", location="x") == {"b", "seed"}


def test_values_that_make_a_template_very_long_are_refused(refusal):
    template = "{b}" * 100
    sweep = SWEEP.replace("{b}", template) + f'[grid]\nb = ["{"x" * LONGEST}"]\n'
    assert "longer than 10,000 characters" in refusal(sweep)


# --- TOML -----------------------------------------------------------------------------------------


HUGE_OR_DEEP = {
    "digits": (f"seeds = {'9' * 5000}\n", "cannot be read as TOML (Exceeds the limit"),
    "digits in a list": (
        f"seeds = [1, {'9' * 5000}]\n",
        "cannot be read as TOML (Exceeds the limit",
    ),
    "hexadecimal": (f"seeds = 0x{'f' * 5000}\n", "seeds is an integer of more than 64 bits"),
    "64 bits": (f"seeds = [1, {2**63}]\n", "seeds[1] is an integer of more than 64 bits"),
    "digits in a table": (
        f"budget = {{sfo = {'1_0' * 1000}}}\n",
        "budget.sfo is an integer of more than 64 bits",
    ),
    "brackets": (f"seeds = {'[' * 100_000}\n", "line 3 is nested more than 16 deep"),
    "closed brackets": (f"seeds = {'[' * 100_000}{']' * 100_000}\n", "line 3 is nested"),
    "tables": (f"grid = {'{a=' * 5000}1{'}' * 5000}\n", "is nested more than 16 deep"),
    "dotted key": (f"{'a.' * 50_000}a = 1\n", "line 3 is nested more than 16 deep"),
    "dotted table": (f"[{'a.' * 50_000}a]\n", "line 3 is nested more than 16 deep"),
    "quoted keys": ('"a".' * 50_000 + "a = 1\n", "line 3 is nested more than 16 deep"),
    "huge": (f"name = '{'x' * spec_text.MOST_BYTES}'", "is larger than 1,000,000 bytes"),
    "bytes": (b'name = "\xff"', "is not a TOML file"),
}


@pytest.mark.parametrize(("text", "says"), HUGE_OR_DEEP.values(), ids=HUGE_OR_DEEP)
def test_a_huge_or_deep_file_is_refused_by_field(refusal, text, says):
    text = text if isinstance(text, bytes) else SWEEP.replace("{b}", "3") + text
    assert says in refusal(text)


def test_brackets_and_dots_in_texts_and_comments_count_nothing(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(
        SWEEP.replace("{b}", "3")
        + f'about = """{"[{." * 50}"""\ntitle = \'{"[." * 50}\'\n# {"[." * 50}\nseeds = [1, 2]\n'
    )
    assert len(load_spec(path).runs()) == 2


def test_a_file_without_an_end_is_not_read_for_ever():
    with pytest.raises(InputError, match="larger than"):
        load_spec(Path("/dev/zero"))


# --- what is announced ----------------------------------------------------------------------------


def test_every_text_that_own_code_is_called_with_is_told():
    selectors = [f"os:system[command={text},n={k}]" for text in ("ls", "rm -r x") for k in range(9)]
    assert describe_user_imports(["sfw[batch=1]", *selectors, "a:b"]) == [
        "os:system[command=ls or rm -r x,n=0 to 8]",
        "a:b",
    ]


# --- anything -------------------------------------------------------------------------------------

SCALARS = st.one_of(
    st.integers(-(2**70), 2**70).map(str),
    st.floats().map(repr),
    st.sampled_from(["true", "1979-05-27", "inf", "nan", "[]", "{}", "[[1]]"]),
    st.text(max_size=20).map(lambda text: '"' + text.replace("\\", "").replace('"', "") + '"'),
    st.sampled_from(
        ['"{b}"', '"{seed}"', '"{b.real}"', '"{{"', '"}"', '"{seed!r:9}"', '"a:b[{b}]"']
    ),
)
FIELDS = st.sampled_from(
    (*STUDY_FIELDS, "grid.b", "grid.c", "budget.sfo", "title", "study", "key", "x")
)


@settings(max_examples=150 * MORE)
@given(st.lists(st.tuples(FIELDS, SCALARS), max_size=6), st.booleans())
@example([("seeds", "1000000"), ("grid.b", "[1]")], False)
def test_any_spec_is_read_or_refused_in_a_sentence(tmp_path_factory, fields, report):
    begin = REPORT if report else 'problems = "a"\nalgorithms = "b[x={seed}]"\n'
    text = "".join(f"{name} = {value}\n" for name, value in dict(fields).items())
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(text + begin if report else begin + text, encoding="utf-8", errors="replace")
    try:
        assert 0 < len(load_spec(path).runs()) <= MOST_RUNS
    except PfbenchError as error:
        assert str(error)  # noqa: PT017
    else:
        # The published schema takes whatever the reader takes.
        SCHEMA.validate(tomllib.loads(path.read_text(encoding="utf-8")))


@settings(max_examples=200 * MORE)
@given(st.text(alphabet="{}b!:.[]()0_ é", max_size=30))
def test_any_template_is_filled_or_refused(template):
    doubled = template.replace("{", "{{").replace("}", "}}")
    assert fill_template(doubled, location="x", values_source="y", values={}) == template
    try:
        text = fill_template(template, location="x", values_source="y", values={"b": 1})
    except InputError:
        return
    assert placeholder_names(template, location="x") <= {"b"}
    assert text.count("1") == template.count("{b}") or "{{" in template


@settings(max_examples=100 * MORE)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "bytes.toml"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"bytes\.toml"):
        load_spec(path)


# --- Tuning in a spec: what is tried, and what a file must not say --------------------------------


def test_the_search_is_planned_beside_the_runs(tmp_path):
    assert valid(TUNED)
    spec = read(tmp_path, TUNED)
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
    spec = read(tmp_path, TUNED.replace("nfwu-sg[batch={b},iterations={t}", "my:SG[b={b},t={t}"))
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


def test_very_many_points_are_refused_before_they_are_made(refusal):
    numbers = [*range(1000)]
    text = TUNED.replace("t = [8, 9]", f"t = {numbers}\nu = {numbers}")
    assert "plans 2,000,000 runs" in refusal(text.replace("step={step}", "step={step},u={u}"))


def test_a_candidate_is_a_table_of_parameters(tmp_path):
    text = TUNED.replace("[tune]", "candidate = { batch = [5, 7], t = 8 }\n[tune]")
    assert valid(text)
    assert read(tmp_path, text).candidate == {"batch": [5, 7], "t": 8}
    for wrong in ("3", "{ batch = [] }", "{ seed = 1 }", "{ t = [[1]] }"):
        text = TUNED.replace("[tune]", f"candidate = {wrong}\n[tune]")
        assert not valid(text)
        with pytest.raises(InputError, match="candidate"):
            read(tmp_path, text)
