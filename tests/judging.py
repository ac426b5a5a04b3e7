"""What the tests of a paper's claims share: a claim, an erratum put to the test."""

import json
import math
import pickle

import numpy as np

from pfbench.verification.subject import Subject
from pfbench.verification.trial import Trial
from pfbench.verification.verdict import judged


def trial(claim, algorithm=None, seed=0):
    return Trial(claim, Subject(algorithm=algorithm), seed=seed)


def judge(claim, subject=None, seed=0):
    """Put a claim to the quick test."""
    return judged(Trial(claim, subject or Subject(), "quick", seed))


def pairs(paper):
    """Return each mutant with each claim that must catch it and that is quick."""
    return [(m, claim) for m in paper.mutants for claim in m.expected if claim.takes[0] is not None]


def assert_caught(mutant, claim, seed):
    row = judge(claim, mutant.subject, seed)
    assert row.measured.get("verdict", row.verdict) == "violated", row.reason


def assert_shown(erratum, seeds=(1, 2, 3)):
    for seed in seeds:
        found = erratum.examine("quick", seed)
        assert found.shown, (seed, found.numbers)
        assert found.numbers
        assert all(math.isfinite(number) for number in found.numbers.values())
        json.dumps(dict(found.numbers), allow_nan=False)


def assert_complete(paper):
    """See that what a paper holds reaches other processes, and that its instances can be made."""
    for found in (paper.claims, paper.mutants, paper.errata):
        names = [one.name for one in found]
        assert len(set(names)) == len(names)
    for claim in paper.claims:
        assert claim.paper == paper.key
        assert len(claim.statement) > 20
        assert claim.instances
        assert (claim.orders is None) == (claim.kind != "rate")
        again = pickle.loads(pickle.dumps(claim))
        assert (again.name, again.orders) == (claim.name, claim.orders)
        for one, other in zip(claim.instances, again.instances, strict=True):
            assert one.build is other.build
            assert one.about
            problem = one.example()
            assert problem.constants(problem.start()).n == problem.n
    for mutant in paper.mutants:
        assert pickle.loads(pickle.dumps(mutant.subject)) == mutant.subject
        assert len(mutant.about) > 10
        assert mutant.expected
    for erratum in paper.errata:
        pickle.dumps(erratum.examine)
        assert erratum.claim in (None, *paper.claims)


def assert_same_steps(problem, claim, right, variant, **sizes):
    """See that a variant whose fault is taken out makes the steps of the method, bit for bit."""
    sizes = {"iterations": 12, "step": 0.1, "batch": 3, "period": 4} | sizes
    steps = [
        [step.state.x for step in trial(claim).follow(problem, kind(**sizes), seed=2)]
        for kind in (right, variant)
    ]
    assert len(steps[0]) == sizes["iterations"]
    assert all(np.array_equal(a, b) for a, b in zip(*steps, strict=True))
