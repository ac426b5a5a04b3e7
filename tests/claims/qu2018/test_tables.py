"""What tables 1 to 3 compare: the erratum is shown, and its correction is not seen to fail."""

from judging import assert_complete, assert_shown

from pfbench.claims.qu2018 import PAPER, tables


def test_the_erratum_is_shown():
    (erratum,) = tables.ERRATA
    assert_shown(erratum)


def test_the_links_are_not_seen_to_fail():
    found = tables.one_epsilon("quick", 1, printed=tables._LINKS)
    assert not found.printed_fails
    assert found.corrected_holds


def test_the_paper_is_complete():
    assert_complete(PAPER)
    assert (len(PAPER.claims), len(PAPER.mutants), len(PAPER.errata)) == (10, 16, 2)
