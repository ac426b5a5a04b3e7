"""Samples of component indices, as index arrays or as counts."""

from dataclasses import dataclass

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.errors import InputError


@dataclass(frozen=True, slots=True)
class Sample:
    """A multiset of component indices given by counts: for batches far above n.

    Attributes
    ----------
    indices
        Distinct component indices, shape (k,).
    counts
        How often each was drawn, shape (k,); `len` of the sample is their sum.

    Raises
    ------
    InputError
        If the two arrays differ in shape or a count is negative.
    """

    indices: Integers
    counts: Integers

    def __post_init__(self) -> None:
        if self.indices.shape != self.counts.shape or self.indices.ndim != 1:
            raise InputError("a Sample needs indices and counts of one common length.")
        if self.counts.size and self.counts.min() < 0:
            raise InputError("a Sample's counts must not be negative.")

    def __len__(self) -> int:
        return int(self.counts.sum())


Indices = Integers | Sample
"""What `batch` and `difference` take: drawn indices with repetitions, or a `Sample`."""


def weighted(sample: Indices) -> tuple[Integers, Floats]:
    """Return indices (k,) and weights (k,) such that the mean over the sample is the weighted sum.

    Raises
    ------
    InputError
        If the sample is empty.
    """
    size = len(sample)
    if size == 0:
        raise InputError("the mean over an empty sample is not defined: draw at least one index.")
    if isinstance(sample, Sample):
        return sample.indices, sample.counts / size
    return sample, np.full(size, 1.0 / size)
