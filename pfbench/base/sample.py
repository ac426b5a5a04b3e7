"""Samples of component indices, as index arrays or as counts."""

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.errors import InputError
from pfbench.base.names import brief_repr

MOST_COUNTED = 2**53 - 1
"""Maximum number of draws: a float represents every integer up to this one."""

_INDEX = np.dtype(np.int64)


@dataclass(frozen=True, slots=True)
class Sample:
    """Multiset of component indices with counts, for batches much larger than n.

    Attributes
    ----------
    indices
        Distinct component indices, integers of shape (k,).
    counts
        Number of draws of each index, integers of shape (k,); `len` of the sample is their sum,
        which is below 2^53. Both arrays are copied.

    Raises
    ------
    InputError
        If `indices` and `counts` are not integer arrays of one length, or a count is negative or
        too large.
    """

    indices: Integers
    counts: Integers
    _size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("indices", "counts"):
            array = np.array(index_array(getattr(self, name), f"a Sample's {name}"))
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if self.indices.shape != self.counts.shape:
            raise InputError("a Sample needs indices and counts of the same length.")
        counts = self.counts.tolist()
        size = sum(counts)
        if min(counts, default=0) < 0:
            raise InputError("a Sample's counts must not be negative.")
        if size > MOST_COUNTED:
            raise InputError(f"a Sample of {size} draws is too large: draw fewer than 2^53.")
        object.__setattr__(self, "_size", size)

    def __len__(self) -> int:
        return self._size


@dataclass(frozen=True, slots=True)
class Draws:
    """Independent draws xi_1, ..., xi_b of a sampler, which may be kept and used again.

    Attributes
    ----------
    values
        Values that the sampler drew, in the format of the sampler.
    size
        Number of draws b, which is `len` of the object.
    """

    values: Any
    size: int

    def __len__(self) -> int:
        return self.size


Indices = Integers | Sample | Draws
"""Argument of `batch` and `difference`: drawn indices with repetitions, a `Sample`, or `Draws`."""


class IndexSampling:
    """Mixin for oracles of a finite sum, which draw component indices with replacement."""

    def sample(self: Any, rng: np.random.Generator, size: int) -> Any:
        """Return the indices of `size` components, shape (size,); nothing is counted."""
        return rng.integers(self.n, size=size)

    def difference(self: Any, sample: Any, x: Any, y: Any) -> Any:
        """Return the mean of grad f_i(x) - grad f_i(y) over a sample."""
        return self.batch(sample, x) - self.batch(sample, y)


def index_array(value: Any, name: str = "a sample") -> Integers:
    """Return a vector of indices of any integer type as int64, shape (size,).

    Raises
    ------
    InputError
        If `value` is not a one-dimensional integer array, or an index is above the largest int64.
    """
    if value.__class__ is np.ndarray and value.dtype == _INDEX and value.ndim == 1:
        return cast(Integers, value)
    if not isinstance(value, np.ndarray):
        raise InputError(
            f"{name} must be an integer array or a pf.Sample, not {brief_repr(value)}."
        )
    if value.ndim != 1 or value.dtype.kind not in "iu":
        raise InputError(
            f"{name} must be a vector of integers, not an array of {value.dtype} of shape "
            f"{value.shape}."
        )
    if value.dtype == np.uint64 and value.size and int(value.max()) > np.iinfo(np.int64).max:
        raise InputError(f"{name} must have indices below 2^63.")
    return np.array(value, dtype=np.int64, copy=True, subok=False)


_COUNTED = (Sample, Draws)


def as_indices(sample: Any) -> Indices:
    """Return a sample in the form that oracles take: `Sample`, `Draws` or an int64 index array."""
    return sample if isinstance(sample, _COUNTED) else index_array(sample)


_ONCE = np.empty(0, dtype=np.int64)
_ONCE.setflags(write=False)


def count_indices(sample: Indices) -> tuple[Integers, Integers, int]:
    """Return the indices of a sample, how often each is drawn, and the total number of draws.

    The numbers of draws have shape (k,), or (0,) if each index is drawn once.

    Raises
    ------
    InputError
        If the sample is empty.
    """
    size = len(sample)
    if size == 0:
        raise InputError("the mean over an empty sample is not defined: draw at least one index.")
    if isinstance(sample, Sample):
        return sample.indices, sample.counts, size
    if isinstance(sample, Draws):
        raise InputError("a finite sum takes component indices, not the draws of a sampler.")
    return sample, _ONCE, size


def weight_indices(sample: Indices) -> tuple[Integers, Floats]:
    """Return the indices of a sample, and the weight of each index in the mean over the sample.

    Raises
    ------
    InputError
        If the sample is empty.
    """
    indices, counts, size = count_indices(sample)
    return indices, counts / size if counts.size else np.full(size, 1.0 / size)
