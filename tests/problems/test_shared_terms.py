"""Arrays that components share, against one array for each."""

import numpy as np
import pytest

from pfbench.problems.shared_terms import SharedTerms


@pytest.mark.parametrize("seed", range(4))
def test_each_component_has_the_array_that_was_stored_last(seed):
    rng, n = np.random.default_rng(seed), 9
    each = np.tile(rng.standard_normal(3), (n, 1))
    terms = SharedTerms(n, each[0].copy())
    for _ in range(60):
        distinct = np.unique(rng.integers(n, size=rng.integers(1, 6)))
        term = rng.standard_normal(3)
        terms.store(distinct, term)
        each[distinct] = term
        indices = rng.integers(n, size=7)
        weights = rng.uniform(size=7)
        shares = list(terms.shares(indices, weights))
        assert len(shares) == len(np.unique(each[indices], axis=0))
        np.testing.assert_allclose(
            sum(share * array for share, array in shares), weights @ each[indices]
        )
        assert sum(share for share, _ in shares) == pytest.approx(weights.sum())
        # No array is kept that no component has.
        assert len(terms) == len(np.unique(each, axis=0))


def test_an_array_goes_with_its_last_component():
    terms = SharedTerms(3, np.zeros(2))
    terms.store(np.array([0, 1]), np.ones(2))
    assert len(terms) == 2
    terms.store(np.array([2]), np.ones(2))
    assert len(terms) == 2
    terms.store(np.array([0, 1, 2]), np.ones(2))
    assert len(terms) == 1
