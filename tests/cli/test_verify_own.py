"""``pfbench verify FILE.py``: claims that somebody states himself."""

import shutil
from pathlib import Path

import pytest

FILE = Path(__file__).parent.parent / "claims" / "own_theorem.py"


@pytest.fixture(autouse=True)
def own(folder):
    """The file of a user's theorem in the current folder; forgotten after the test."""
    shutil.copy(FILE, folder / "mine.py")
    return folder


HELD = {"descent-mean": "within-10", "descent-value": "within-10", "descent-count": "holds"}


def verdicts(content):
    return {row["claim"]: row["verdict"] for row in content["results"]}


@pytest.mark.usefixtures("in_this_process")
def test_all_that_a_file_states_is_verified(written):
    outcome, content = written("verify", "mine.py", "--jobs", 1, "--table", "t.md")
    assert "importing mine.py" in outcome.err
    assert verdicts(content) == HELD
    assert [row["kind"] for row in content["results"]] == ["bound", "bound", "count"]
    (finding,) = content["findings"]
    assert (finding["erratum"], finding["claim"]) == ("descent-(1)", "descent-mean")
    assert finding["evidence"]["shown"]
    table = Path("t.md").read_text()
    assert "## Claims of mine.py" in table
    assert "T iterations cost n T component gradients" in table
    line = next(line for line in table.splitlines() if line.startswith("| descent-(1) |"))
    numbers = {name: value for name, value in finding["evidence"].items() if name != "shown"}
    assert "| shown: " in line
    assert numbers
    for name, value in numbers.items():
        assert f"{name} **{value:.3g}**" in line


def test_a_verdict_is_kept_until_the_file_is_edited(pfbench, own):
    arguments = ("verify", "mine.py:COUNT", "--jobs", 0)
    assert "1 check (1 run, 0 cached)" in pfbench(*arguments).err
    assert "1 check (0 run, 1 cached)" in pfbench(*arguments).err
    with (own / "mine.py").open("a") as file:
        file.write("# edited\n")
    assert "1 check (1 run, 0 cached)" in pfbench(*arguments).err


@pytest.mark.parametrize("name", ["mine.py:COUNT", "mine:COUNT"])
def test_one_claim_is_named(pfbench, name):
    content = pfbench("verify", name, "--jobs", 0, "--json").json
    assert verdicts(content) == {"descent-count": "holds"}
    assert content["findings"] == []


def test_they_are_listed_and_explained_like_ours(pfbench):
    listed = pfbench("verify", "mine.py", "--list").out
    assert all(name in listed for name in HELD)
    assert "3 claims" in listed
    told = pfbench("explain", "mine.py:MEAN").out
    for words in ("2 L Delta/T", "Nesterov 2004", "descent", "descent-(1)", "\nslope\n"):
        assert words in told
    told = pfbench("explain", "mine.py:COUNT").out
    assert "descent-twice" in told
    assert "name one, as FILE.py:NAME" in pfbench("explain", "mine.py").err


def test_planted_and_generated_faults_of_their_method(pfbench, conforms):
    arguments = ("--max-faults", 6, "--jobs", 0, "--json")
    content = conforms(pfbench("faults", "mine.py", *arguments).json, "verify.json")
    (planted,) = content["mutants"]
    assert planted["caught_by"] == planted["expected_claims"] == ["descent-count"]
    assert {one["method"] for one in content["generated"]} == {"descent"}
    assert sum(one["caught_by"] in HELD for one in content["generated"]) >= 2


HEAD = """
import pfbench as pf
from pfbench.claims import Claim, bound
def claim(**given):
    return Claim(**{"name": "a", "statement": "b", "check": print, "kind": "bound", **given})
"""


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("", "bad.py:HEAD", "bad.py states no claim: make one"),
        ("A = claim()", "bad.py:claim", "is no claim: name one of A, or the file alone"),
        ("A = claim(kind='bounds')", "bad.py", "did you mean 'bound'"),
        ("A = claim(check=1)", "bad.py", "must be a function of a Trial"),
        ("A = claim(instances=(1,))", "bad.py", "1 is not an instance of a claim"),
        ("bound(lambda c: 1, 'value')", "bad.py", "the bound must be a function of (c, a)"),
        (
            "bound(lambda c, a: 1, 'value', statistic='all')",
            "bad.py",
            "unknown value for statistic 'all'",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(pfbench, own, text, name, words):
    (own / "bad.py").write_text(HEAD + text + "\n")
    refusal = pfbench("verify", name, "--jobs", 0, "--json").refusal
    assert words in refusal


def test_a_claim_that_cannot_be_tested_hinders_no_other(written, own):
    with (own / "mine.py").open("a") as file:
        file.write(
            "from dataclasses import replace\n"
            "BARE = replace(MEAN, name='bare', instances=())\n"
            "LATE = replace(MEAN, name='late', check=bound(lambda c, a: float('inf'), 'value',"
            " parameters=schedule))\n"
        )
    outcome, content = written("verify", "mine.py", "--jobs", 0, status=1)
    assert verdicts(content) == HELD | dict.fromkeys(("bare", "late"), "inconclusive")
    said = {row["claim"]: row["reason"] for row in content["results"]}
    assert said["bare"] == (
        "the claim has no instance to test: state `instances`, or search by `pfbench falsify`."
    )
    assert "is inf: it must be positive and finite" in said["late"]
    assert f"bare: {said['bare']}" in outcome.out


def test_units_are_said_before_any_run(written, pfbench, own):
    text = (own / "mine.py").read_text()
    lost = text.replace("c.L_f * c.delta / a.iterations", "c.L_f * (c.delta + 1) / a.iterations")
    assert lost != text
    (own / "bad.py").write_text(lost)
    outcome, content = written("verify", "bad.py:MEAN", "--jobs", 0)
    first = outcome.out.splitlines()[0]
    assert first.startswith("units of descent-mean: not homogeneous: f by 2^4: the bound is ")
    assert first.endswith(" times, not 256")
    (row, *_) = content["units"]
    assert (row["name"], row["homogeneous"], row["scale_dependence"]) == ("descent-mean", False, "")
    outcome = pfbench("verify", "mine.py:MEAN", "--jobs", 0)
    assert outcome.out.startswith("units of descent-mean: homogeneous: the bound (f^2 x^-2)")


def test_units_alone_are_told_without_a_run(written):
    given = ("units", "mine.py", "qu2018-thm3")
    _, content = written(*given, "--table", "units.md")
    found = {row["name"]: row["homogeneous"] for row in content["units"]}
    assert found["descent-mean"]
    assert found["qu2018-thm3"] is False
    table = Path("units.md").read_text()
    line = next(line for line in table.splitlines() if line.startswith("| qu2018-thm3 |"))
    assert "multiples of L to L Delta" in line
    assert "## Homogeneous" in table


def test_what_stays_inconclusive_is_led_to_harder_instances(written, own):
    shutil.copy(FILE.parent.parent / "uncertain_theorem.py", own / "unsure.py")
    # Its verdict is what its own instances say.
    outcome, content = written("verify", "unsure.py:SMALL", "--jobs", 0)
    assert verdicts(content) == {"walk-small": "inconclusive"}
    (hardest,) = content["harder_instances"]
    assert hardest["verdict"] == "violated"
    assert "for at most 100 s of processor time each: walk-small" in outcome.err
    told = " ".join(outcome.out.split())
    assert (
        f"the hardest is {hardest['instance']} of {hardest['source_claim']}: violated there" in told
    )


@pytest.mark.usefixtures("in_this_process")
def test_other_instances_are_tried_where_a_bound_holds_with_room(pfbench, own):
    wide = (own / "mine.py").read_text().replace("lambda c, a: 2 * c", "lambda c, a: 200 * c")
    (own / "mine.py").write_text(wide)
    content = pfbench("verify", "mine.py:MEAN", "--harder-instances", "--jobs", 0, "--json").json
    assert verdicts(content) == {"descent-mean": "holds"}
    assert content["harder_instances"][0]["claim"] == "descent-mean"
