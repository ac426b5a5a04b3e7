"""What is told of a method while claims are still being tested on it, and what is tested first."""

from dataclasses import replace

import pytest

from pfbench.claims.catalogue import CLAIMS, methods_first_then_quickest_key
from pfbench.cli import verification_job
from pfbench.cli.progress import StepProgress
from pfbench.runs.engines.engine import SingleProcessEngine
from pfbench.verification.session import Session
from pfbench.verification.subject import Subject
from pfbench.verification.verdict import Verdict

NAMES = (
    "wang2019-table1-prox-spiderboost",
    "wang2019-thm2",
    "methods-run-prox-spiderboost",
    "methods-count-prox-spiderboost",
    "methods-law-prox-spiderboost",
)


def row(name, verdict="holds", seconds=1.0):
    nothing = {"measured": {}, "claimed": {}, "repetitions": 1, "p_value": None}
    return Verdict(
        claim=CLAIMS[name], verdict=verdict, reason="so it is.", seconds=seconds, **nothing
    )


def followed():
    """What follows claims while they are tested."""
    steps = StepProgress("test", len(NAMES), "checks", quiet=True)
    return verification_job.InterimSummary([CLAIMS[name] for name in NAMES], steps)


def test_what_holds_a_method_to_its_source_is_tested_first_then_what_is_quick():
    class Stops(Exception):
        pass

    begun = []

    def check(trial):
        begun.append(trial.claim.name)
        raise Stops

    claims = [replace(CLAIMS[name], check=check) for name in NAMES]
    kept = Session(engine=SingleProcessEngine(), order=methods_first_then_quickest_key("quick"))
    done = kept.verify(claims, Subject())
    assert [verdict.claim.name for verdict in done.rows] == list(NAMES)
    assert begun[:3] == [NAMES[3], NAMES[2], NAMES[4]]
    assert begun[3:] == sorted(begun[3:], key=lambda name: CLAIMS[name].seconds("quick"))
    begun.clear()
    Session(engine=SingleProcessEngine()).verify(claims, Subject())
    assert begun[-1] == NAMES[3]


def test_it_names_what_is_wrong_and_what_is_to_come():
    found = followed()
    words = found.format()
    assert words.startswith("0 of 5 claims verified; remaining: wang2019-table1-prox-")
    assert words.endswith("methods-run-prox-spiderboost and 2 more")
    found.count(row(NAMES[3], "violated"), True)
    found.count(row(NAMES[4]), True)
    assert found.format() == (
        "2 of 5 claims verified: 1 holds, 1 violated (unexpected: "
        "methods-count-prox-spiderboost); remaining: wang2019-table1-prox-spiderboost, "
        "wang2019-thm2, methods-run-prox-spiderboost"
    )


class AtOnce:
    """A timer whose time is over when it starts."""

    def __init__(self, seconds, function):
        self.start = function

    def cancel(self):
        pass


@pytest.mark.parametrize("quiet", [False, True])
def test_it_is_told_while_claims_are_open(pfbench, monkeypatch, quiet):
    monkeypatch.setattr(verification_job.threading, "Timer", AtOnce)
    names = ("shen2019-count-svrg", "shen2019-unbiased-svrg")
    own = "pfbench.algorithms.nfwu:NFWUSVRG"
    json = ("--json", "-") if quiet else ()
    outcome = pfbench("verify", *names, "--algorithm", own, "--jobs", 0, *json)
    assert outcome.status == 0
    assert ("0 of 2 claims verified; remaining: " in outcome.err) == (not quiet)
    assert "verified; remaining" not in pfbench("verify", *names, "--jobs", 0, *json).err
