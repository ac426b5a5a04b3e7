"""``pfbench verify``."""

import json
import shutil
from pathlib import Path

import pytest

COUNT, MEAN = "shen2019-count-svrg", "shen2019-unbiased-spiderg"


@pytest.fixture
def own(folder):
    """The file of a user's methods, in the current folder."""
    source = Path(__file__).parent.parent / "claims" / "own_methods.py"
    shutil.copy(source, folder / "own_methods.py")
    return folder


def test_named_claims_are_tested_and_nothing_else(pfbench, conforms):
    outcome = pfbench("verify", MEAN, COUNT, "--jobs", 2, "--json", "out.json")
    assert outcome.status == 0
    content = json.loads(Path("out.json").read_text())
    conforms(content, "verify.json")
    assert [row["claim"] for row in content["results"]] == [MEAN, COUNT]
    assert content["summary"]["holds"] == 2
    assert content["findings"] == []
    for name in (MEAN, COUNT):
        assert name in outcome.out
    assert outcome.out.strip().endswith("2 holds")


def test_json_alone_goes_to_the_standard_output(pfbench, conforms):
    outcome = pfbench("verify", COUNT, "--json", "-")
    assert (outcome.status, outcome.err) == (0, "")
    conforms(outcome.json, "verify.json")


def test_a_planted_error_of_a_user_is_named_violated(pfbench, own, conforms):
    reference = "own_methods:DividedByN"
    outcome = pfbench("verify", "--algorithm", reference, "--json", "out.json")
    assert outcome.status == 1
    assert f"importing {reference}" in outcome.err
    content = json.loads((own / "out.json").read_text())
    conforms(content, "verify.json")
    verdicts = {row["claim"]: row["verdict"] for row in content["results"]}
    assert verdicts == {"shen2019-mse-spiderg": "violated", MEAN: "violated"}
    assert all(row["reason"] for row in content["results"])


@pytest.mark.usefixtures("own")
def test_a_right_method_of_a_user_passes(pfbench):
    outcome = pfbench("verify", "--algorithm", "own_methods:MySpider")
    assert outcome.status == 0
    assert "violated" not in outcome.out


@pytest.mark.usefixtures("own")
def test_an_algorithm_that_dies_is_a_row(pfbench):
    outcome = pfbench("verify", COUNT, "--algorithm", "own_methods:Raises", "--json", "-")
    assert outcome.status == 1
    (row,) = outcome.json["results"]
    assert row["verdict"] == "violated"
    assert "I do not work" in row["reason"]


def test_without_a_claim_conformance_is_tested(pfbench, own, conforms):
    own.joinpath("plain.py").write_text(
        "from own_methods import MySpider\n\nclass Plain(MySpider):\n    claims = ()\n"
    )
    outcome = pfbench("verify", "--algorithm", "plain:Plain", "--json", "out.json")
    assert outcome.status == 0
    assert "no claim is named" in outcome.out
    content = json.loads((own / "out.json").read_text())
    conforms(content, "verify.json")
    assert all(test["passed"] for test in content["conformance"])


def test_mutants(pfbench, conforms):
    outcome = pfbench("verify", "shen2019-count-spiderg", "--mutants", "--json", "out.json")
    assert outcome.status == 0
    content = json.loads(Path("out.json").read_text())
    conforms(content, "verify.json")
    assert content["mutants"]
    for mutant in content["mutants"]:
        assert mutant["caught_by"]
        assert set(mutant["caught_by"]) <= set(mutant["expected_claims"])


def test_list_and_explain_run_nothing(pfbench):
    listed = pfbench("verify", "--list", "--full")
    assert listed.status == 0
    assert "67 claims, about" in listed.out
    explained = pfbench("verify", "--explain", COUNT)
    assert explained.status == 0
    assert "svrg-double-lo" in explained.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["shen2019-count-svgr"], "did you mean 'shen2019-count-svrg'"),
        (["--explain", "shen2019-count-svgr"], "did you mean"),
        (["--quick", "--full"], "exclude each other"),
        (["--algorithm", "no_such_module:X"], "there is no module no_such_module"),
        (["--algorithm", "json"], "MODULE:NAME"),
        (["--algorithm", "json:dumps"], "is no algorithm"),
        ([COUNT, "--jobs", "0"], "jobs"),
        (["lacoste2016-affinee", "--mutants"], "unknown"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(pfbench, arguments, words):
    outcome = pfbench("verify", *arguments)
    assert outcome.status == 2
    assert words in outcome.err
    assert outcome.out == ""


def test_a_file_that_cannot_be_written_is_named_before_the_work(pfbench):
    outcome = pfbench("verify", COUNT, "--json", "no/such/folder/out.json")
    assert outcome.status == 2
    assert "no/such/folder" in outcome.err
    assert outcome.out == ""


def test_repeated_verifications_are_counted(pfbench):
    outcome = pfbench("verify", MEAN, COUNT, "--repeat", 3, "--seed", 7, "--table", "verdicts.md")
    assert outcome.status == 0
    text = Path("verdicts.md").read_text()
    assert "3 verifications with seeds 7 to 9. 0 of 6 verdicts are *violated*" in text
    assert f"| {COUNT} |  | 3 |  |  |  |" in text


def test_a_table_of_verdicts(pfbench):
    assert pfbench("verify", MEAN, COUNT, "--table", "verdicts.md").status == 0
    lines = Path("verdicts.md").read_text().splitlines()
    assert sum(line.startswith("| shen2019-") for line in lines) == 2
    assert any(line.startswith(f"| {COUNT} | holds |") for line in lines)
