"""lacoste2016, affine: its verdict, and the fault it must catch."""

from judging import judge

from pfbench.claims.lacoste2016 import affine


def test_frank_wolfe_keeps_it():
    found = judge(affine.AFFINE, seed=1)
    assert (found.verdict, found.failed) == ("holds", False), found.reason


def test_the_planted_fault_is_called_violated():
    (mutant,) = affine.MUTANTS
    assert judge(affine.AFFINE, mutant.subject, seed=3).verdict == "violated", mutant.about
