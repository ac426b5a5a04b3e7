"""lacoste2016, local: its verdict, and the fault it must catch."""

from pfbench.claims.lacoste2016 import local


def test_frank_wolfe_keeps_it(judgements):
    found = judgements(local.LOCAL)
    assert (found.verdict, found.lost) == ("within-10", False), found.reason
