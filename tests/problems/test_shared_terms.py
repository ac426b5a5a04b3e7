"""Arrays that components share, against one array for each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pfbench.problems.shared_terms import SharedArrayTable

NO_COUNTS = np.empty(0, dtype=np.int64)


@pytest.mark.parametrize("seed", range(4))
def test_each_component_has_the_array_that_was_stored_last(seed):
    rng, n = np.random.default_rng(seed), 9
    each = np.tile(rng.standard_normal(3), (n, 1))
    terms = SharedArrayTable(n, each[0])
    for _ in range(60):
        drawn, term, before = rng.integers(n, size=rng.integers(1, 6)), rng.standard_normal(3), each
        change = terms.replace_and_sum_change(drawn, term)
        each = before.copy()
        each[drawn] = term
        assert_allclose(change, (each - before).sum(axis=0), atol=1e-12)
        indices, counts = rng.integers(n, size=7), rng.integers(5, size=7)
        assert_allclose(terms.mean(indices, NO_COUNTS, 7), each[indices].mean(axis=0))
        size = max(1, int(counts.sum()))
        assert_allclose(terms.mean(indices, counts, size), counts @ each[indices] / size)
        # No array is counted that no component has, and little more than those have room.
        assert len(terms) == len(np.unique(each, axis=0))
        assert len(terms._terms) < 2 * n


def test_an_array_goes_with_its_last_component():
    terms = SharedArrayTable(3, np.zeros(2))
    for stored, left in (([0, 1], 2), ([2], 2), ([0, 1, 2, 1], 1)):
        terms.replace_and_sum_change(np.array(stored), np.ones(2))
        assert len(terms) == left
