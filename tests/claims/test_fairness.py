"""What keeps false statements about papers away: rules for every claim, fault and erratum."""

import re

import numpy as np
import pytest

from pfbench.algorithms.norm_ball_methods import USCG
from pfbench.claims.catalogue import CLAIMS, ERRATA, MUTANTS, PAPERS
from pfbench.claims.pethick2025 import theorems5
from pfbench.claims.relatives.table1 import ROWS
from pfbench.points import keep
from pfbench.verification.claim import MOST_LINES
from pfbench.verification.statements.path_mean import constants_with_norm
from pfbench.verification.subject import Subject
from pfbench.verification.trial import Trial

pytestmark = pytest.mark.claims

ADMITTING = [claim for claim in CLAIMS.values() if claim.admits]
FAULTS = [
    pytest.param(claim, mutant, id=f"{claim.name}, {mutant.name}")
    for paper in PAPERS.values()
    for mutant in paper.mutants
    for claim in mutant.expected_claims
    if claim.admits
]
STEPS = 12


# --- a planted fault breaks the theorem's own condition -------------------------------------------


def path(claim, problem, subject, factor):
    """The first points and estimates of a method at a factor of the step of the claim."""
    step = factor * constants_with_norm(problem)["K"] ** -0.75
    algorithm = Trial(claim, subject).make(iterations=STEPS, batch=1, step=step)
    run = algorithm.run(problem, problem.start(), np.random.default_rng(0))
    start = np.ravel(problem.start())
    seen = [np.append(np.ravel(keep(state.x)), np.ravel(state.estimate)) for state in run]
    return np.array([np.append(start, np.zeros_like(start)), *seen])


def is_admitted(claim, subject):
    """Whether a method is, on all instances, the right one with a step that the theorem admits."""
    least, most = claim.admits["step"]
    for one in claim.instances:
        problem = one()
        found, right = path(claim, problem, subject, 1.0), path(claim, problem, Subject(), 1.0)
        size = np.size(problem.start())
        # The first point that differs from the start, which is the first one but for noise.
        first = int(np.argmax((right[:, :size] != right[0, :size]).any(axis=1)))
        moved, expected = (np.linalg.norm((of[first] - of[0])[:size]) for of in (found, right))
        factor = moved / expected
        if not least - 1e-9 <= factor <= most + 1e-9:
            return False
        admitted = path(claim, problem, Subject(), factor)
        if not np.allclose(found, admitted, rtol=1e-9, atol=1e-12):
            return False
    return True


class HalfStep(USCG):
    """Steps by gamma/2, which theorem 5.5 admits."""

    def update(self, x, v):
        return super().update(x, 0.5 * v)


@pytest.mark.parametrize(("claim", "mutant"), FAULTS)
def test_no_planted_fault_is_admitted_by_its_theorem(claim, mutant):
    assert set(claim.admits) == {"step"}, "test what else a theorem admits here"
    assert not is_admitted(claim, mutant.subject)


def test_a_fault_that_the_theorem_admits_is_found_out():
    assert is_admitted(theorems5.VANISHING, Subject(HalfStep))
    assert is_admitted(theorems5.VANISHING, Subject())
    assert not is_admitted(theorems5.VANISHING, MUTANTS["uscg-quarter-step"].subject)
    assert {claim.name for claim in ADMITTING} >= {"pethick2025-thm5.5", "pethick2025-thm5.7"}


# --- an erratum does not rest on a condition that its paper states --------------------------------


def stated(paper):
    """What its claims say that the paper states or assumes."""
    return " ".join(text for one in paper.claims for text in (one.statement, *one.assumptions))


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", ERRATA)
def test_no_erratum_falls_by_a_condition_that_its_paper_states(name):
    """A reading that makes the printed form right must not be the paper's own."""
    paper = next(one for one in PAPERS.values() if name in {e.name for e in one.errata})
    right = [
        reading for reading, holds in ERRATA[name].examine("quick", 1).readings.items() if holds
    ]
    assert [reading for reading in right if reading in stated(paper)] == []


def test_a_condition_of_the_paper_is_found_in_its_claims():
    """alpha_1 = 1, without which an erratum of the boxes of pethick2025 would stand."""
    assert "alpha_1 = 1" in stated(PAPERS["pethick2025"])


# --- the right of reply ---------------------------------------------------------------------------


@pytest.mark.parametrize("erratum", ERRATA.values(), ids=list(ERRATA))
def test_an_author_is_told_how_to_object(erratum):
    assert 40 <= len(erratum.objection) <= 40 * MOST_LINES
    assert erratum.objection.endswith(".")
    assert not re.search('[“”„«»"]', erratum.objection)


def test_objections_are_their_own():
    """Of the errata of (9), which differ by the estimator alone, it is one."""
    alike = [erratum for name, erratum in ERRATA.items() if not name.startswith("shen2019-(9)")]
    texts = [erratum.objection for erratum in alike if not erratum.name.endswith("-powers")]
    assert len(set(texts)) == len(texts)


def test_what_was_read_in_a_copy_is_called_read_and_not_printed():
    assert {
        erratum.quotation_label for erratum in ERRATA.values() if erratum.ruling == "doubtful"
    } == {"as read"}
    assert {erratum.quotation_label for erratum in ERRATA.values() if erratum.dossier.quotes} == {
        "as printed"
    }


# --- rates that were published before -------------------------------------------------------------


def test_no_rate_is_called_ours_alone():
    """A rate that is derived here claims no priority, and along Frank-Wolfe names who had it."""
    assert [name for name, row in ROWS.items() if "of pfbench" in row.source] == []
    derived = {name: row.source for name, row in ROWS.items() if "derived here" in row.source}
    along = [name for name in derived if "-fw" in name]
    assert len(along) >= 4
    assert [name for name in along if "published before by" not in derived[name]] == []
