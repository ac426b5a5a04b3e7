"""Samples given by counts stand for the index array they abbreviate."""

import numpy as np
import pytest
from helpers import assert_one_sentence
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pfbench.base.errors import InputError
from pfbench.base.sample import Sample, weight_indices

DRAWS = st.lists(st.integers(0, 9), min_size=1, max_size=30).map(np.array)


@given(DRAWS)
def test_a_sample_weighs_like_the_drawn_indices(drawn):
    indices, counts = np.unique(drawn, return_counts=True)
    sample = Sample(indices, counts)
    assert len(sample) == len(drawn)
    for each in (sample, drawn):
        where, weights = weight_indices(each)
        share = np.bincount(where, weights=weights, minlength=10)
        assert_allclose(share, np.bincount(drawn, minlength=10) / len(drawn), rtol=1e-13)


def test_a_sample_can_be_far_longer_than_memory():
    sample = Sample(np.array([3, 5]), np.array([10**12, 3 * 10**12]))
    assert len(sample) == 4 * 10**12
    assert_allclose(weight_indices(sample)[1], [0.25, 0.75])


def test_the_weights_are_the_callers_to_change():
    drawn, sample = np.array([1, 2]), Sample(np.array([1]), np.array([4]))
    for each in (drawn, sample):
        weight_indices(each)[1][:] = 7.0
        assert weight_indices(each)[1][0] < 7.0


@pytest.mark.parametrize("empty", [np.zeros(0, dtype=int), Sample(np.array([1]), np.array([0]))])
def test_the_mean_over_nothing_is_refused(empty):
    with pytest.raises(InputError) as error:
        weight_indices(empty)
    assert_one_sentence(error, "empty sample", "at least one")


@pytest.mark.parametrize(
    ("indices", "counts", "words"),
    [
        ([1, 2], [1], ["same length"]),
        ([[1]], [[1]], ["indices", "vector of integers"]),
        ([1, 2], [1, -1], ["negative"]),
    ],
)
def test_a_bad_sample_is_refused_in_one_sentence(indices, counts, words):
    with pytest.raises(InputError) as error:
        Sample(np.array(indices), np.array(counts))
    assert_one_sentence(error, *words)
