"""wang2019 section 5: rows like those of a9a."""

import numpy as np

from pfbench.claims.wang2019.section5 import one_of_each


def test_rows_like_a9a_have_one_value_in_each_category():
    features, labels = one_of_each(np.random.default_rng(0), 50)
    assert features.shape == (50, 123)
    assert (features.sum(axis=1) == 14).all()
    assert set(np.unique(features)) == {0.0, 1.0}
    assert set(labels) == {-1.0, 1.0}
