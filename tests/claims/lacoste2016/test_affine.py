"""lacoste2016, affine: its verdict, and the fault it must catch."""

from pfbench.claims.lacoste2016 import affine


def test_frank_wolfe_keeps_it(judgements):
    found = judgements(affine.AFFINE)
    assert (found.verdict, found.lost) == ("holds", False), found.reason
