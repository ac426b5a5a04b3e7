"""Random generators whose draws are enumerated, so that means over all draws are exact.

The streams are subclasses of `numpy.random.Generator`. A method may use any form of `integers`,
`choice` with and without replacement or with probabilities, `permutation`, `shuffle`, `multinomial`
and `spawn`. A single `random()` may only be compared, as in ``rng.random() < p``.
Each draw is a sequence of choices among finitely many options. Any other draw (an array of
`random`, `normal`, the raw bits) raises `NotEnumerable`. Checks then use sampled draws instead.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats

Outcome = TypeVar("Outcome")

MOST_BRANCHES = 20_000
"""Maximum number of sequences of draws that are enumerated."""

_MOST_OPTIONS = 4096


def rounding_key(array: Floats) -> bytes:
    """Return a hashable key of an array, equal for arrays that differ by rounding errors."""
    return (np.round(array, 9) + 0.0).tobytes()


class NotEnumerable(Exception):
    """Exception raised if an algorithm's random draws cannot be enumerated."""


class NotRepeatable(NotEnumerable):
    """Exception raised if an algorithm draws from its own generator, so no run can be repeated."""


class EnumerableGenerator(np.random.Generator):
    """Random generator whose every draw is a choice among finitely many options.

    It makes given choices first, and then always takes the first option. All choices are recorded.
    A draw raises only `NotEnumerable`, even for arguments that NumPy rejects. A run with a NumPy
    generator shows whether NumPy rejects them.

    Parameters
    ----------
    prefix
        The given choices, as indices of options.
    limit
        Maximum number of sequences of the other choices.
    unit
        The number 1 in the arithmetic of the probabilities.

    Attributes
    ----------
    choices
        (index, number of options, probability) of each choice.
    """

    def __init__(self, prefix: Sequence[int], limit: int, unit: Any) -> None:
        super().__init__(np.random.PCG64(0))
        self._prefix, self._remaining, self._unit = prefix, limit, unit
        self.choices: list[tuple[int, int, Any]] = []

    def choose(self, options: int, chances: Sequence[float] | None = None) -> int:
        """Return and record the next given option, or option 0 if none is left.

        All options are equally likely unless `chances` is given.
        """
        position = len(self.choices)
        option = self._prefix[position] if position < len(self._prefix) else 0
        if position >= len(self._prefix):
            self._remaining //= options
            if self._remaining == 0:
                raise NotEnumerable("the method makes too many random draws to enumerate them")
        chance = self._unit / options if chances is None else self._unit * chances[option]
        self.choices.append((option, options, chance))
        return option

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> Any:
        """Return integers like `numpy.random.Generator.integers`, for scalar `low` and `high`."""
        first, end = (0, low) if high is None else (low, high)
        first, options = int(first), int(end) - int(first) + bool(endpoint)
        firsts = [first + self._choose_one(options) for _ in range(_draw_count(size))]
        return _reshape(np.array(firsts, dtype=dtype), size)

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Any:
        """Return elements like `numpy.random.Generator.choice`.

        Without replacement, the elements are drawn one by one.
        """
        options = int(a) if np.ndim(a) == 0 else np.shape(a)[axis]
        count = _draw_count(size)
        if not replace:
            if p is not None:
                raise NotEnumerable("the method draws distinct items with unequal probabilities")
            distinct = self._choose_distinct(options, count)
        elif p is None:
            distinct = [self._choose_one(options) for _ in range(count)]
        else:
            distinct = [self.choose(options, [float(item) for item in p]) for _ in range(count)]
        reshape = _reshape(np.array(distinct, dtype=np.int64), size)
        return reshape if np.ndim(a) == 0 else np.take(np.asarray(a), reshape, axis=axis)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """Return a permutation like `numpy.random.Generator.permutation`."""
        k = int(x) if np.ndim(x) == 0 else np.shape(x)[axis]
        return self.choice(x, k, replace=False, axis=axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Shuffle x in place like `numpy.random.Generator.shuffle`."""
        if isinstance(x, np.ndarray):
            x[...] = self.permutation(x, axis)
        else:
            x[:] = [x[i] for i in self._choose_distinct(len(x), len(x))]

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        """Return counts like `numpy.random.Generator.multinomial`, for scalar n and flat pvals."""
        cells = list(_compositions(int(n), len(pvals)))
        chances = [_multinomial_chance(cell, pvals) for cell in cells]
        sample = [cells[self.choose(len(cells), chances)] for _ in range(_draw_count(size))]
        table = np.array(sample, dtype=np.int64)
        return (
            table[0] if size is None else table.reshape(*np.broadcast_to(0, size).shape, len(pvals))
        )

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Return a `LazyUniform`, a uniform number that can only be compared."""
        if size is not None or out is not None:
            raise NotEnumerable("the method draws arrays with rng.random, not single numbers")
        return LazyUniform(self.choose, self._unit)

    def spawn(self, n_children: int) -> Any:
        """Return a list that holds this generator `n_children` times."""
        return [self for _ in range(n_children)]

    @property
    def bit_generator(self) -> Any:
        """Property that raises `NotEnumerable`, since raw bits cannot be enumerated."""
        raise NotEnumerable("the method reads rng.bit_generator, whose bits cannot be enumerated")

    def __reduce__(self) -> Any:
        raise NotEnumerable("the method copies its random generator")

    def _choose_one(self, options: int) -> int:
        if not 0 < options <= _MOST_OPTIONS:
            raise NotEnumerable(f"the method draws one of {options} options")
        return self.choose(options)

    def _choose_distinct(self, options: int, count: int) -> list[int]:
        left = list(range(options))
        return [left.pop(self._choose_one(len(left))) for _ in range(count)]


class LazyUniform:
    """Number drawn uniformly from [0, 1), which can only be compared with numbers.

    Each comparison splits the interval of the values that are still possible, and chooses the part
    that contains the number. Any other operation fails.

    Parameters
    ----------
    choose
        Function that decides a choice; see `EnumerableGenerator.choose`.
    unit
        The number 1 in the arithmetic of the chances, e.g. ``Fraction(1)``.
    """

    def __init__(self, choose: Callable[[int, Sequence[Any]], int], unit: Any) -> None:
        self._choose, self._low, self._high = choose, 0 * unit, unit

    def __lt__(self, number: Any) -> bool:
        split = float(number) if isinstance(self._high, float) else number
        if not self._low < split < self._high:
            return bool(split >= self._high)
        share = (split - self._low) / (self._high - self._low)
        below = self._choose(2, (share, 1 - share)) == 0
        self._low, self._high = (self._low, split) if below else (split, self._high)
        return below

    def __ge__(self, number: Any) -> bool:
        return not self < number

    __le__, __gt__ = __lt__, __ge__

    def __bool__(self) -> bool:
        raise NotEnumerable("the method uses a uniform random number as a truth value")

    __array_ufunc__ = None  # so that a number of numpy's leaves the comparison to this one


def _wrap_draw(name: str, draw: Callable[..., Any] | None) -> Callable[..., Any]:
    """Wrap a draw so that errors about its arguments are raised as `NotEnumerable`."""

    def draw_or_raise(self: EnumerableGenerator, *args: Any, **keywords: Any) -> Any:
        if draw is None:
            raise NotEnumerable(f"the method draws with rng.{name}, which cannot be enumerated")
        try:
            return draw(self, *args, **keywords)
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            raise NotEnumerable(f"the method draws in an unknown way ({error})") from error

    return draw_or_raise


for _name in dir(np.random.Generator):
    if not _name.startswith("_") and _name != "bit_generator":
        _draw = _wrap_draw(_name, vars(EnumerableGenerator).get(_name))
        setattr(EnumerableGenerator, _name, _draw)


def enumerate_draws(
    outcome: Callable[[EnumerableGenerator], Outcome], limit: int = MOST_BRANCHES, unit: Any = 1.0
) -> Iterator[tuple[Any, Outcome]]:
    """Yield the probability and the outcome of every sequence of draws.

    Parameters
    ----------
    outcome
        Function of a random stream; called once for each sequence of draws.
    limit
        Maximum number of sequences.
    unit
        The number 1 in the arithmetic of the probabilities; a float unless given.

    Raises
    ------
    NotEnumerable
        If a draw is no choice among finitely many options, or there are too many sequences.
    """
    following: list[int] | None = []
    for _ in range(limit):
        if following is None:
            return
        stream = EnumerableGenerator(following, limit, unit)
        result = outcome(stream)
        chance = math.prod((chance for _, _, chance in stream.choices), start=unit)
        if chance > 0:
            yield chance, result
        following = _next_choices(stream.choices)
    if following is not None:
        raise NotEnumerable(f"the method has more than {limit} sequences of random draws")


def _next_choices(selected: Sequence[tuple[int, int, Any]]) -> list[int] | None:
    """Return the sequence of choices after a given one in lexicographic order; None at the end."""
    for position in range(len(selected) - 1, -1, -1):
        option, options, _ = selected[position]
        if option + 1 < options:
            return [number for number, _, _ in selected[:position]] + [option + 1]
    return None


def _draw_count(size: Any) -> int:
    """Return the number of draws that a NumPy argument `size` denotes; raise if it is invalid."""
    return np.broadcast_to(0, () if size is None else size).size


def _reshape(samples: npt.NDArray[Any], size: Any) -> Any:
    return samples[0] if size is None else samples.reshape(size)


def _compositions(n: int, k: int) -> Iterator[tuple[int, ...]]:
    """Yield all tuples of k nonnegative integers whose sum is n."""
    if math.comb(n + k - 1, k - 1) > _MOST_OPTIONS:
        raise NotEnumerable("the method makes too many random draws to enumerate them")
    for bars in itertools.combinations(range(n + k - 1), k - 1):
        yield tuple(b - a - 1 for a, b in itertools.pairwise((-1, *bars, n + k - 1)))


def _multinomial_chance(cell: Sequence[int], chances: Sequence[float]) -> float:
    ways = math.factorial(sum(cell)) // math.prod(math.factorial(k) for k in cell)
    return ways * math.prod(float(p) ** k for p, k in zip(chances, cell, strict=True))
