"""Verification from Python."""

import pfbench as pf
from pfbench.algorithms import ALGORITHMS


def test_verify_is_public():
    done = pf.verify(["shen2019-count-svrg"], algorithm=ALGORITHMS["nfwu-spiderg"])
    (row,) = done.rows
    assert row.verdict == "holds"  # their counts are the same
    done = pf.verify(["shen2019-count-sg"], algorithm=ALGORITHMS["nfwu-svrg"])
    assert not done.is_clean
