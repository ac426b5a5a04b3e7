"""What the tests of a paper's claims share: a claim, an erratum put to the test."""

import hashlib
import json
import math
import os
import pickle

from pfbench.claims.catalogue import MUTANTS
from pfbench.verification.subject import Subject
from pfbench.verification.trial import Trial
from pfbench.verification.verdict import judge as judged


def planted(name):
    """Return the method with a planted fault."""
    return MUTANTS[name].subject.algorithm_under_test()


def trial(claim, algorithm=None, seed=0):
    return Trial(claim, Subject(algorithm=algorithm), seed=seed)


def judge(claim, subject=None, seed=0):
    """Put a claim to the quick test."""
    return judged(Trial(claim, subject or Subject(), "quick", seed))


class Judgements:
    """Verdicts of claims and of planted faults, made once for all tests and their processes."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def __call__(self, claim, mutant=None):
        name = f"{claim.name} {mutant.name if mutant else ''}"
        path = self.folder / hashlib.sha256(name.encode()).hexdigest()
        if not path.exists():
            row = judge(claim, mutant.subject if mutant else None)
            partial = path.with_suffix(f".{os.getpid()}")
            partial.write_bytes(pickle.dumps(row))
            partial.replace(path)
        return pickle.loads(path.read_bytes())

    def assert_caught(self, mutant, claim):
        row = self(claim, mutant)
        assert row.catches_fault, row.reason


def pairs(mutants):
    """Return each mutant with each claim that must catch it and that is quick."""
    found = [(mutant, claim) for mutant in mutants for claim in mutant.expected_claims]
    return [(mutant, claim) for mutant, claim in found if claim.expected_seconds[0] is not None]


def assert_shown(erratum, seeds=(1, 2, 3)):
    for seed in seeds:
        found = erratum.examine("quick", seed)
        assert erratum.is_shown(found), (seed, found.numbers, found.readings)
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
        again = pickle.loads(pickle.dumps(claim))
        for one, other in zip(claim.instances, again.instances, strict=True):
            assert one.build is other.build
            problem = one.example()
            # Not where it is a pair that is compared, or a sampler.
            if hasattr(problem, "constants") and problem.n is not None:
                assert problem.constants(problem.start()).n == problem.n
    for mutant in paper.mutants:
        assert pickle.loads(pickle.dumps(mutant.subject)) == mutant.subject
        assert len(mutant.description) > 10
        assert mutant.expected_claims
    for erratum in paper.errata:
        pickle.dumps(erratum.examine)
        assert erratum.claim in (None, *paper.claims)
