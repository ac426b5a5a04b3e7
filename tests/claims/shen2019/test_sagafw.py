"""SAGAFW: a disputed rate; what one run of its check measures."""

import numpy as np
import pytest

from pfbench.claims.shen2019.sagafw import CLAIMS, FAMILY, PATH, _batch_by_error, _sfo_to_gap_share
from pfbench.verification.trial import Trial

(CLAIM,) = CLAIMS


@pytest.mark.claims
def test_calls_to_a_target_leave_the_table_out_and_grow_with_accuracy():
    trial, problem = Trial(CLAIM), FAMILY(n=60, seed=3)
    coarse, fine = (_sfo_to_gap_share(trial, problem, share, 5) for share in (0.3, 0.03))
    assert 0.0 < coarse < fine < np.inf


@pytest.mark.claims
def test_the_bound_of_the_proof_needs_more_than_one_sample_and_fewer_than_all():
    """With S = 1 a table of 64 entries is too old along the path."""
    assert PATH().n == 224
    batch = _batch_by_error(Trial(CLAIM), 64)
    assert 1 < batch < 64
