"""lacoste2016, local: its verdict, and the fault it must catch."""

from judging import judge

from pfbench.claims.lacoste2016 import local


def test_frank_wolfe_keeps_it():
    found = judge(local.LOCAL, seed=1)
    assert (found.verdict, found.failed) == ("tight", False), found.reason


def test_the_planted_fault_is_called_violated():
    (mutant,) = local.MUTANTS
    assert judge(local.LOCAL, mutant.subject, seed=3).verdict == "violated", mutant.about
