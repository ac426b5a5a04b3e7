"""The paper as a whole: its names, its instances, and what a verdict reaches."""

import re
from functools import partial
from pathlib import Path

import pytest

from pfbench.claims import shen2019
from pfbench.claims.shen2019 import PAPER
from pfbench.claims.shen2019.epoch_estimators import METHODS

FOLDER = Path(shen2019.__file__).parent
THEOREMS = {
    *("table1_counts", "error_laws", "recovery_claims", "remark31", "sagafw", "table1"),
    *("theorem31", "theorem51", "unbiased"),
}


def test_the_claims_have_the_names_of_the_theory():
    five = ("count", "thm3.1", "mse", "unbiased", "table1")
    assert {claim.name for claim in PAPER.claims} == {
        *(f"shen2019-{family}-{estimator}" for family in five for estimator in METHODS),
        *(f"shen2019-crossover-{name}" for name in ("casvrg", "caspiderg")),
        *(f"shen2019-{name}" for name in ("rem3.1", "sagafw", "rlrmr-sso", "thm5.1")),
    }
    assert (len(PAPER.claims), len(PAPER.errata)) == (31, 18)


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: claim.name)
def test_an_instance_says_what_it_is_and_makes_the_same_problem_each_time(claim):
    for family in claim.instances:
        assert len(family.description) > 40
        assert family.example().digest == family.example().digest


def in_the_folder(module):
    """The files of the paper's folder that one of them reaches by imports, itself included."""
    found, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            source = (FOLDER / f"{name}.py").read_text()
            waiting += re.findall(r"^from pfbench\.claims\.shen2019\.(\w+) import", source, re.M)
    return found


def test_a_verdict_reaches_no_other_theorem_and_no_erratum_of_others():
    """So an edit of one theorem leaves the verdicts on all others in the store."""
    for theorem in THEOREMS:
        others = (THEOREMS | {"error_law_errata", "size_errata"}) - {theorem}
        assert in_the_folder(theorem) & others == set()
    for claim in PAPER.claims:
        check = claim.check.func if isinstance(claim.check, partial) else claim.check
        assert check.__module__.rpartition(".")[2] in THEOREMS | {"exact_counts"}
