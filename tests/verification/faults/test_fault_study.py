"""Faults are held to claims until one says violated; what does not end is killed."""

import json
import re
from dataclasses import replace

import pytest

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.algorithms.estimator_algorithm import EstimatorAlgorithm
from pfbench.algorithms.nfwu import NFWUSPIDERG
from pfbench.claims.admissible import ADMISSIBLE
from pfbench.claims.catalogue import CLAIMS, claims_about, select_claims
from pfbench.runs.engines.engine import MultiProcessEngine, SingleProcessEngine
from pfbench.runs.storage.store import Store
from pfbench.verification import session as sessions
from pfbench.verification.faults.fault import Edit, Fault, SourceChange
from pfbench.verification.faults.generate import LATE_OPERATORS, generate_faults
from pfbench.verification.faults.mutant_compilation import module_source
from pfbench.verification.faults.mutation_operators import (
    CLASS_OPERATORS,
    RUN_OPERATORS,
    SCHEDULE_OPERATORS,
)
from pfbench.verification.mutation_study import (
    count_caught_and_total,
    count_first_catches_by_claim,
    report,
    run_mutation_study,
)
from pfbench.verification.replay.equivalence import find_equivalence
from pfbench.verification.session import Session
from pfbench.verification.subject import Subject

COUNT, MEAN = CLAIMS["shen2019-count-spiderg"], CLAIMS["shen2019-unbiased-spiderg"]


class Counting(SingleProcessEngine):
    done = 0

    def do(self, tasks):
        self.done += len(tasks)
        return super().do(tasks)


def chosen(*wanted):
    faults = generate_faults(NFWUSPIDERG)
    return [
        next(fault for fault in faults if (fault.operator, fault.function, fault.number) == want)
        for want in wanted
    ]


FOUND = ("bypass", "SPIDERG._mean_difference", 1), ("renewal", "SPIDERG.start", 1)
SAME = ("part-of-batch", "EpochEstimator.reference_gradient", 1)
ADMITTED = ("without-replacement", "Estimator.draw", 1)
COVERED_LATE = ("katyusha-ns", "ncgs-stochastic", "storc", "ncgs", "ncgs-vr", "ncgs-spider")
COVERED = (
    *COVERED_LATE,
    *("prox-spiderboost", "prox-asvrg", "rsag", "natasha15", "uscg-mvr", "cgs-convex"),
)
"""Methods that have, among their faults and their late faults, those of each admissible entry."""
UNSEEN = ("schedule", "NFWU.theory", 1)


@pytest.fixture
def engine():
    return Counting()


def test_each_fault_is_found_by_its_claim_or_is_said_why_not(engine, tmp_path):
    faults = chosen(*FOUND, SAME, ADMITTED, UNSEEN)
    held = Session(engine=engine, store=Store(tmp_path))
    found = run_mutation_study([held], faults, lambda fault: [MEAN, COUNT], ADMISSIBLE)
    first = min((MEAN, COUNT), key=lambda one: one.seconds("quick")).name
    assert [one.caught_by for one in found] == [first, first, None, None, None]
    assert [one.equivalent for one in found] == ["", "", "runs", "", ""]
    assert "Cochran" in found[3].admissible
    assert [one.fault for one in found if one.outcome == "missed"] == [faults[4]]
    assert (count_caught_and_total(found).caught, count_caught_and_total(found).total) == (2, 3)
    assert count_first_catches_by_claim(found) == {first: 2}
    made = engine.done
    again = run_mutation_study([held], faults, lambda fault: [MEAN, COUNT], ADMISSIBLE)
    assert engine.done == made
    assert [one.as_json() for one in again] == [one.as_json() for one in found]
    json.dumps([one.as_json() for one in found], allow_nan=False)
    text = report(found, "the command", "5 of 132")
    assert "2 of 3 (66.7 %)" in text
    assert "`iterations=max(1, round_up(L * delta / epsilon**2))`" in text


@pytest.mark.long
def test_late_faults_are_compared_at_size_and_have_their_part_of_the_report(engine):
    faults = generate_faults(NFWUSPIDERG, late=True)
    narrow = next(
        fault for fault in faults if fault.name.endswith("SPIDERG._mean_difference late-bits 1")
    )
    epoch = next(fault for fault in faults if fault.operator == "late-reference")
    never = after(10**9, epoch)
    law = CLAIMS["methods-law-nfwu-spiderg"]

    def studied(faults, *held):
        return run_mutation_study([Session(engine=engine)], faults, lambda _: held)

    early = chosen(FOUND[0])
    found = studied([*early, narrow, never], COUNT)
    assert [one.equivalent for one in found] == ["", "", "at size"]
    assert [one.fault for one in found if one.outcome == "missed"] == [narrow]
    found[:2] = studied([*early, narrow], COUNT, law)
    assert [one.caught_by for one in found[:2]] == [COUNT.name, law.name]
    early, late = report(found, "the command", "3 of many").split("## Late faults")
    assert "Found of those neither equivalent nor admissible: 1 of 1" in early
    assert "late-" not in early
    assert "Found of those that change a run of that size: 1 of 1" in late
    assert "| late-reference | 1 | 1 | 0 | 0 of 0 | 0 |" in late


def test_a_late_fault_that_changes_no_more_than_rounding_is_equivalent():
    faults = generate_faults(ALGORITHMS["bpfw"], late=True)
    # The late steps of all long runs have the weight 1 all the same.
    fault = next(one for one in faults if "x, g, (0.5 * w - x if" in one.change.line_after)
    assert find_equivalence(after(24, fault)) == "at size"
    assert not find_equivalence(after(2, fault))


def after(times, fault):
    edits = [
        replace(one, replacement=re.sub(r"(kept_late), \d+", rf"\1, {times}", one.replacement))
        for one in fault.change.edits
    ]
    return replace(fault, change=replace(fault.change, edits=tuple(edits)))


def test_what_one_session_does_not_find_is_put_to_the_next(engine):
    (fault,) = chosen(FOUND[0])
    first, second = Session(engine=engine), Session(engine=engine, effort="full")

    def claims_of(_):
        return [COUNT]

    found = run_mutation_study([first, second], [fault], claims_of)
    assert len(found[0].verdicts) == 1
    (unseen,) = chosen(UNSEEN)
    found = run_mutation_study([first, second], [unseen], claims_of)
    assert len(found[0].verdicts) == 2


def test_a_fault_that_loops_for_ever_is_killed_and_not_found(monkeypatch):
    monkeypatch.setattr(sessions, "MIN_TIME_LIMIT", dict.fromkeys(("quick", "full"), 2.0))
    source = "for t in range(self.iterations):\n            g = estimate(x)"
    module = EstimatorAlgorithm.__module__
    text = module_source(module)
    assert text.count(source) == 1
    line = text[: text.index(source)].count("\n") + 1
    change = SourceChange((Edit(line, 8, line, 8, "while True: pass\n        "),), "", "")
    endless = Fault(NFWUSPIDERG, module, "EstimatorAlgorithm.run", "hand", 1, change)
    (verdict,) = Session(engine=MultiProcessEngine(1)).test_faults([(COUNT, endless)])
    assert (verdict.verdict, verdict.lost, verdict.catches_fault) == ("failed", True, False)
    assert "timeout" in verdict.reason


def test_a_fault_that_cannot_be_imported_is_failed_and_found():
    change = SourceChange((Edit(1, 0, 1, 0, "raise RuntimeError\n"),), "", "")
    fault = Fault(NFWUSPIDERG, NFWUSPIDERG.__module__, "NFWU.run", "hand", 1, change)
    verdict = sessions.judge(COUNT, Subject(fault))
    assert (verdict.verdict, verdict.catches_fault) == ("failed", True)
    assert "cannot be imported" in verdict.reason


def test_a_users_faults_are_held_to_his_claims(own, engine):
    faults = [
        fault
        for fault in generate_faults(own.OwnSpider)
        if (fault.operator, fault.number) in {("renewal", 1), ("part-of-batch", 1), ("point", 1)}
    ]
    found = run_mutation_study([Session(engine=engine)], faults, lambda _: [MEAN])
    assert {one.fault.method for one in found} == {"own-spider"}
    assert any(one.caught_by == MEAN.name for one in found)


@pytest.mark.long
def test_what_is_admissible_exists():
    """Each entry covers a fault of the methods it is for, and its operator exists."""
    faults = [
        fault
        for late, names in ((False, COVERED), (True, COVERED_LATE))
        for name in names
        for fault in generate_faults(ALGORITHMS[name], late=late)
    ]
    for entry in ADMISSIBLE:
        operators = RUN_OPERATORS | SCHEDULE_OPERATORS | CLASS_OPERATORS | LATE_OPERATORS
        assert entry.operator in operators
        assert any(entry.covers(fault) for fault in faults), entry


def test_the_name_of_a_method_or_paper_stands_for_its_claims():
    assert select_claims(["nfwu-spiderg"]) == claims_about("nfwu-spiderg")
    assert select_claims(["jaggi2013"]) == [CLAIMS["jaggi2013-thm1"]]
    assert {claim.algorithm for claim in claims_about("nfwu-spiderg")} == {"nfwu-spiderg"}
