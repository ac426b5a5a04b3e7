"""Claims, mutants and errata put to the test in this process."""

from pfbench.verification.subject import Broken, Subject
from pfbench.verification.trial import Trial


def decided(claim, subject=None, *, effort="quick", seed=0):
    """The decision of a claim's check, on its own method or on a subject."""
    return claim.check(Trial(claim, subject or Subject(), effort, seed)).decision


def uncaught(mutant, *, seed=0):
    """The names of the claims that should catch a mutant and do not."""
    return [claim.name for claim in mutant.expected if not _violated(claim, mutant.subject, seed)]


def _violated(claim, subject, seed):
    try:
        return decided(claim, subject, seed=seed).verdict == "violated"
    except Broken:
        return True
