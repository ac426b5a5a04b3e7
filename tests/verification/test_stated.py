"""What somebody's own file states: by itself, in lists, in a paper; by file, name and module."""

import pickle
import sys

import pytest

import pfbench as pf
from pfbench.base.errors import InputError
from pfbench.base.selectors import is_user_defined
from pfbench.claims import kim2026
from pfbench.claims.catalogue import find_paper, load_user_papers, select_claims, select_mutants
from pfbench.runs.engines.engine import SingleProcessEngine
from pfbench.verification.description import describe_as_json
from pfbench.verification.user_claims import UserClaimFile, load_claims

TEXT = """
import pfbench as pf
from pfbench.claims import Claim, ExaminationEvidence, Erratum, Mutant, Paper, counts
from pfbench.algorithms.frank_wolfe import FrankWolfe

def claim(name):
    return Claim(
        name=name, statement="T steps", algorithm="frank-wolfe", instances="log-cosh[rows=9]",
        check=counts(lambda c, a: {"sfo": c.n * a.iterations, "lo": a.iterations},
                     parameters={"step": "open-loop", "iterations": 4}),
    )

class Twice(FrankWolfe):
    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            ask.lo(state.estimate)
            yield state

def examine(effort, seed):
    return ExaminationEvidence(printed_fails=True, corrected_holds=True, numbers={"x": 1.0})

ONE, TWO = claim("mine-1"), claim("mine-2")
"""

LISTS = """
CLAIMS = (ONE, TWO)
MUTANTS = [Mutant.from_variant("twice", Twice, ONE), Mutant.from_variant("both", Twice, ONE, TWO)]
ERRATA = [Erratum(name="e", as_printed="a", corrected="b", examine=examine, claim=TWO),
          Erratum(name="free", as_printed="a", corrected="b", examine=examine)]
"""

PAPER = """
MINE = Paper(
    key="mine", title="My paper", claims=(ONE,), errata=(),
    mutants=(Mutant.from_variant("twice", Twice, ONE),),
)
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write the file; forget its module after the test."""
    monkeypatch.setattr(sys, "path", list(sys.path))

    def written(text):
        path = tmp_path / "stated_here.py"
        path.write_text(TEXT + text)
        return str(path)

    yield written
    sys.modules.pop("stated_here", None)


def names(stated):
    return [one.name for one in stated]


def test_a_file_states_all_that_stands_at_its_top_each_once(write):
    found = load_claims(write(LISTS))
    assert names(found.claims) == ["mine-1", "mine-2"]
    assert names(found.mutants) == ["twice", "both"]
    assert names(found.errata) == ["e", "free"]
    assert found.title == "Claims of stated_here.py"


def test_a_name_states_one_with_what_belongs_to_it(write):
    file = write(LISTS)
    two = load_claims(f"{file}:TWO")
    assert names(two.claims) == ["mine-2"]
    assert [(mutant.name, names(mutant.expected_claims)) for mutant in two.mutants] == [
        ("both", ["mine-2"])
    ]
    assert names(two.errata) == ["e"]
    assert names(load_claims("stated_here:ONE").claims) == ["mine-1"]
    assert names(load_claims(f"{file}:CLAIMS").claims) == ["mine-1", "mine-2"]


def test_a_paper_has_its_title(write):
    file = write(PAPER)
    assert load_claims(file).title == load_claims(f"{file}:MINE").title == "My paper"
    assert names(load_claims(f"{file}:MINE").claims) == ["mine-1"]


def test_a_claim_is_known_by_its_file_and_found_again(write):
    """Its functions need no name, and another process imports them from there."""
    file = write(LISTS)
    (claim,) = load_claims(f"{file}:ONE").claims
    again = pickle.loads(pickle.dumps(claim))
    assert (again.name, again.user_source.file_or_module) == ("mine-1", file)
    assert UserClaimFile(file).claim("mine-1").statement == "T steps"
    assert UserClaimFile("/elsewhere/stated_here.py").claim("mine-1").statement == "T steps"
    told = describe_as_json(claim)
    assert told.content[1:] == ["stated_here", "mine-1"]
    modules = {
        "stated_here",
        "pfbench.verification.statements.exact_counts",
        "pfbench.verification.claim",
    }
    assert modules <= told.modules


def test_python_and_the_catalogue_take_files_too(write):
    file = write(LISTS)
    done = pf.verify([file], engine=SingleProcessEngine())
    found = [(row.claim.name, row.verdict) for row in done.rows]
    assert found == [("mine-1", "holds"), ("mine-2", "holds")]
    (claim,) = select_claims([f"{file}:ONE"])
    assert find_paper(claim).title == "Claims of stated_here.py"
    assert names(select_mutants([f"{file}:ONE"])) == ["twice", "both"]
    assert len(load_user_papers([file, "jaggi2013-thm1"])) == 1
    assert not is_user_defined("jaggi2013-thm1")


def test_of_a_paper_that_is_named_come_all_errata_those_about_no_claim_too():
    found = load_claims("pfbench.claims.kim2026:PAPER")
    assert names(found.errata) == names(kim2026.PAPER.errata)
    assert any(erratum.claim is None for erratum in found.errata)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("B = claim('mine-1')", "two claims named mine-1"),
        (
            "M = [Mutant.from_variant('m', Twice, ONE), Mutant.from_variant('m', Twice, TWO)]",
            "two mutants named",
        ),
    ],
)
def test_names_are_not_given_twice(write, text, words):
    with pytest.raises(InputError, match=words):
        load_claims(write(text))
