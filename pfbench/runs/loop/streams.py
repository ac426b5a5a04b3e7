"""Random streams of one run."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.arrays import Integers
from pfbench.base.errors import InputError

PURPOSES: Mapping[str, int] = MappingProxyType({"algorithm": 1, "output": 2, "oracles": 3})
"""Purposes of random numbers in a run, each with a separate stream."""

_MOST_AHEAD = 1 << 13
"""Maximum number of indices that are drawn ahead, 64 kB."""


def random_stream(seed: int, purpose: str) -> np.random.Generator:
    """Return the random stream of one purpose; it depends only on the user's seed."""
    bits = np.random.PCG64(np.random.SeedSequence((seed, PURPOSES[purpose])))
    return PrefetchingGenerator(bits) if purpose == "algorithm" else np.random.Generator(bits)


MOST_SPAWNED = 32
"""Number of streams that can be spawned from a stream with a hidden seed."""


class HiddenSeed(np.random.bit_generator.ISpawnableSeedSequence):
    """Seed sequence that replays fixed state words, so that the seed stays hidden.

    Parameters
    ----------
    words
        State words of the stream, then of each stream that can be spawned from it; see `hide_seed`.
    """

    def __init__(self, words: Sequence[Sequence[int]]) -> None:
        self._own, *self._children = words

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        """Return the first of the fixed state words, as NumPy's method; raise for more."""
        words = np.array(self._own, np.uint32).view(dtype)
        if n_words > len(words):
            raise InputError("a stream with a hidden seed has no more state words.")
        return words[:n_words]

    def spawn(self, n_children: int) -> "list[HiddenSeed]":
        """Return at most `MOST_SPAWNED` child sequences in all, which cannot spawn."""
        if n_children > len(self._children):
            raise InputError(f"a stream with a hidden seed spawns {MOST_SPAWNED} streams at most.")
        new, self._children = self._children[:n_children], self._children[n_children:]
        return [HiddenSeed([words]) for words in new]


def hide_seed(seed: Any) -> list[list[int]]:
    """Return the state words of a stream and of those it can spawn, without the seed."""
    parts = [seed, *np.random.SeedSequence(seed.entropy).spawn(MOST_SPAWNED)]
    return [part.generate_state(8).tolist() for part in parts]


class PrefetchingGenerator(np.random.Generator):
    """NumPy generator that draws batches of indices ahead, several at once.

    Its results are identical bit for bit to those of NumPy's generator: before it draws anything
    but indices below the same bound, and before its state is read, it rewinds what was drawn ahead.
    One call costs NumPy as much as a thousand indices, so small batches are much quicker.
    """

    _prefetch_limit = _MOST_AHEAD
    _bound = 0
    _batches = 1
    _position = _end = 0

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> Any:
        """Return random integers, as `numpy.random.Generator.integers`."""
        plain = high is None and dtype is np.int64 and not endpoint
        if not (
            plain and type(low) is int and type(size) is int and 0 < size < self._prefetch_limit
        ):
            self._rewind()
            return super().integers(low, high, size, dtype, endpoint)
        first = self._position
        if low != self._bound or first + size > self._end:
            self._prefetch(low, size)
            first = 0
        self._position = first + size
        return self._block[first : self._position]

    @property
    def bit_generator(self) -> np.random.BitGenerator:
        """Bit generator. Others may draw from it, so reading it ends drawing ahead."""
        self._rewind()
        self._prefetch_limit = 0
        return super().bit_generator

    def __reduce__(self) -> Any:
        """Return the parts of a copy; a shallow copy shares the bit generator."""
        _ = self.bit_generator
        return super().__reduce__()

    def _prefetch(self, bound: int, size: int) -> None:
        """Draw a batch and further ones ahead: for the same bound twice as many as before."""
        batches = (
            min(2 * self._batches, self._prefetch_limit // size) if bound == self._bound else 1
        )
        self._rewind()
        if batches > 1:
            self._state = super().bit_generator.state
        self._block: Integers = super().integers(bound, size=batches * size)
        self._bound, self._batches, self._end = bound, batches, batches * size

    def _rewind(self) -> None:
        """Rewind the stream to the state without indices drawn ahead."""
        if self._position < self._end:
            super().bit_generator.state = self._state
            super().integers(self._bound, size=self._position)
        self._bound = self._position = self._end = 0


def _rewinding(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of NumPy's generator that rewinds the stream first."""

    @wraps(method)
    def call(self: PrefetchingGenerator, *args: Any, **keywords: Any) -> Any:
        self._rewind()
        return method(self, *args, **keywords)

    return call


for _name, _method in vars(np.random.Generator).items():
    if callable(_method) and _name not in vars(PrefetchingGenerator) and not _name.startswith("_"):
        setattr(PrefetchingGenerator, _name, _rewinding(_method))
