"""Iterator that follows a run, step by step: states, oracle calls, counts, random streams."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from pfbench.base.arrays import Integers
from pfbench.base.counts import Counts
from pfbench.base.errors import InputError
from pfbench.base.protocols import Problem
from pfbench.base.state import Point, State
from pfbench.oracles import Ledger, Oracles, restrict_oracles
from pfbench.points import infer_format, keep

Listener = Callable[[str, tuple[Any, ...], Any], None]
"""Callback with the verb of a backend call, its arguments and its answer."""

HEARD = frozenset(
    {"gradient", "batch", "difference", "value", "lo", "prox", "local_lo", "hessian", "table"}
)
"""Verbs of a backend whose calls are reported to a listener."""

_PARTS = {"hessian": ("product", "batch"), "table": ("difference", "replace")}
"""Reported verbs of the objects that a backend returns, by the verb that returns them."""


class Step(NamedTuple):
    """State of a run after an update, with the oracle calls counted so far.

    Attributes
    ----------
    state
        The yielded state, not copied.
    counts
        The counts spent so far.
    """

    state: State
    counts: Counts


class Steps:
    """Run that is started and then followed step by step.

    Iterating yields a `Step` after each update. The attribute `states` yields the same states
    without counts, as the loop of `solve` uses them. Nothing is recorded, unless the object that
    `wrap` returns records calls.

    Parameters
    ----------
    problem, algorithm
        The problem, and the method with its parameters.
    seed
        The seed of the run's random streams.
    start
        The start point; None for the problem's own.
    ledger
        The ledger, with the budget; an unlimited one if None.
    bundle
        Function from backend, ledger, diameter and form of points to the oracles. If None: the
        oracles that the method requires, or all oracles if it states no requirements.
    begin
        Function from oracles, start and random stream to the states; the method's `run` if None.
    wrap
        Function from the backend to an object that replaces it; called before any oracle.
    streams
        Random streams by purpose, in place of those of the seed.

    Attributes
    ----------
    start, form, ledger, backend, ask, streams, states
        The start, the form of points, the ledger, and the backend or its replacement. Then the
        oracles that the method queries, the random streams by purpose, and the states.
    """

    def __init__(
        self,
        problem: Problem,
        algorithm: Any,
        *,
        seed: int = 0,
        start: Point = None,
        ledger: Ledger | None = None,
        bundle: Callable[..., Any] | None = None,
        begin: Callable[..., Iterator[State]] | None = None,
        wrap: Callable[[Any], Any] | None = None,
        streams: Mapping[str, Any] | None = None,
    ) -> None:
        self.start = problem.start() if start is None else keep(start)
        self.ledger = Ledger() if ledger is None else ledger
        self.streams = {name: random_stream(seed, name) for name in PURPOSES} | dict(streams or {})
        backend: Any = problem.open(self.streams["oracles"])
        self.backend = backend if wrap is None else wrap(backend)
        self.form = infer_format(self.start, problem.name)
        bundle = oracle_class(algorithm) if bundle is None else bundle
        self.ask: Any = bundle(self.backend, self.ledger, problem.set.diameter, self.form)
        run = algorithm.run if begin is None else begin
        self.states = _iterate_with_lazy_start(
            lambda: run(self.ask, keep(self.start), self.streams["algorithm"])
        )

    def __iter__(self) -> Iterator[Step]:
        """Yield the run's state after each update, with the oracle calls counted so far."""
        for state in self.states:
            yield Step(state, self.ledger.counts())


def steps(problem: Problem, algorithm: Any, **options: Any) -> Steps:
    """Start a run to be followed step by step; see `Steps` for the options."""
    return Steps(problem, algorithm, **options)


class ObservedBackend:
    """Wrapper that reports to a listener the calls of a backend, or of an object that it returned.

    A call of an object that an oracle returned is reported as ``verb.part``. Its arguments are
    those of the oracle, followed by those of the call.
    """

    def __init__(
        self, backend: Any, listener: Listener, prefix: str = "", before: tuple[Any, ...] = ()
    ) -> None:
        self._backend, self._listener = backend, listener
        self._prefix, self._before = prefix, before

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._backend, name)
        if name not in (_PARTS[self._prefix] if self._prefix else HEARD):
            return value
        verb = f"{self._prefix}.{name}" if self._prefix else name

        def call(*arguments: Any) -> Any:
            copies = tuple(map(keep, arguments)) if name in _PARTS else ()
            answer = value(*arguments)
            self._listener(verb, (*self._before, *arguments), answer)
            if name in _PARTS:
                return ObservedBackend(answer, self._listener, name, copies)
            return answer

        setattr(self, name, call)
        return call


def oracle_class(algorithm: Any) -> type[Oracles]:
    """Return the class of oracles that a method requires; `Oracles` if it states no requirement.

    If a property of the method raises, a note on the exception names the property.
    """
    try:
        asks = getattr(algorithm, "asks", None) or getattr(algorithm, "requires", None)
    except Exception as error:
        error.add_note("in its attribute asks or requires")
        raise
    return Oracles if asks is None else restrict_oracles(frozenset(asks))


def _iterate_with_lazy_start(begin: Callable[[], Iterator[State]]) -> Iterator[State]:
    """Yield the states of a run, which starts when its first state is requested."""
    states = begin()
    if not isinstance(states, Iterator):
        raise InputError(
            f"run(ask, x, rng) returned a {type(states).__name__}: yield a State after each update."
        )
    yield from states


def make_oracles(problem: Problem, backend: Any, ledger: Ledger | None = None) -> Oracles:
    """Return counted oracles for a backend; points have the format of the problem's start point.

    Parameters
    ----------
    problem
        The problem.
    backend
        Backend that the problem opened, possibly wrapped by an observer.
    ledger
        Ledger that counts the calls; by default a new one.

    Raises
    ------
    InputError
        If the problem's start is not a point.
    """
    form = infer_format(problem.start(), problem.name)
    return Oracles(backend, ledger or Ledger(), problem.set.diameter, form)


PURPOSES: Mapping[str, int] = {"algorithm": 1, "output": 2, "oracles": 3}
"""Purposes of random numbers in a run, each with a separate stream."""

_MOST_AHEAD = 1 << 13
"""Maximum number of indices that are drawn ahead, 64 kB."""


def random_stream(seed: int, purpose: str) -> np.random.Generator:
    """Return a random generator that depends only on the run's seed and on the purpose."""
    bits = np.random.PCG64(np.random.SeedSequence((seed, PURPOSES[purpose])))
    return PrefetchingGenerator(bits) if purpose == "algorithm" else np.random.Generator(bits)


MOST_SPAWNED = 32
"""Number of streams that can be spawned from a stream with a hidden seed."""


class HiddenSeed(np.random.bit_generator.ISpawnableSeedSequence):
    """Seed sequence that replays fixed state words, so that the seed stays hidden.

    Parameters
    ----------
    words
        State words of the stream, then of each stream that can be spawned from it; see
        `state_words_hiding_seed`.
    """

    def __init__(self, words: Sequence[Sequence[int]]) -> None:
        self._own, *self._children = words

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        """Return the first `n_words` fixed state words, as in NumPy; raise if there are fewer."""
        words = np.array(self._own, np.uint32).view(dtype)
        if n_words > len(words):
            raise InputError(f"a stream with a hidden seed has only {len(words)} words of state.")
        return words[:n_words]

    def spawn(self, n_children: int) -> "list[HiddenSeed]":
        """Return `n_children` child sequences, which cannot spawn; raise if fewer remain.

        All calls together return at most `MOST_SPAWNED`.
        """
        if n_children > len(self._children):
            raise InputError(f"a stream with a hidden seed spawns at most {MOST_SPAWNED} streams.")
        new, self._children = self._children[:n_children], self._children[n_children:]
        return [HiddenSeed([words]) for words in new]


def state_words_hiding_seed(seed: Any) -> list[list[int]]:
    """Return state words that replace a seed and its spawned seeds without revealing the seed."""
    parts = [seed, *np.random.SeedSequence(seed.entropy).spawn(MOST_SPAWNED)]
    return [part.generate_state(8).tolist() for part in parts]


class PrefetchingGenerator(np.random.Generator):
    """NumPy generator that draws several batches of indices ahead, with unchanged results.

    It rewinds the indices drawn ahead before its state is read, and before it draws anything but
    indices below the same bound. In NumPy, one call costs as much as drawing a thousand indices, so
    small batches become much faster.
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
        is_plain = high is None and dtype is np.int64 and not endpoint and type(low) is int
        if not (is_plain and type(size) is int and 0 < size < self._prefetch_limit):
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
        """Bit generator that this generator draws from; reading it undoes draws made ahead.

        Reading it rewinds indices drawn ahead and stops drawing ahead, since others may draw from
        it.
        """
        self._rewind()
        self._prefetch_limit = 0
        return super().bit_generator

    def __reduce__(self) -> Any:
        """Return the parts for pickling and copying; a shallow copy shares the bit generator."""
        _ = self.bit_generator
        return super().__reduce__()

    def _prefetch(self, bound: int, size: int) -> None:
        """Draw a batch of random indices, and more in advance for later calls.

        If the bound is that of the last call, twice as many are drawn ahead as then.
        """
        batches = 1
        if bound == self._bound:
            batches = min(2 * self._batches, self._prefetch_limit // size)
        self._rewind()
        if batches > 1:
            self._state = super().bit_generator.state
        self._block: Integers = super().integers(bound, size=batches * size)
        self._bound, self._batches, self._end = bound, batches, batches * size

    def _rewind(self) -> None:
        """Rewind the stream to its state before the indices that are drawn ahead but unused."""
        if self._position < self._end:
            super().bit_generator.state = self._state
            super().integers(self._bound, size=self._position)
        self._bound = self._position = self._end = 0


def _rewinding(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a wrapper of a method of NumPy's generator that first rewinds the stream."""

    @wraps(method)
    def call(self: PrefetchingGenerator, *args: Any, **keywords: Any) -> Any:
        self._rewind()
        return method(self, *args, **keywords)

    return call


for _name, _method in vars(np.random.Generator).items():
    if callable(_method) and _name not in vars(PrefetchingGenerator) and not _name.startswith("_"):
        setattr(PrefetchingGenerator, _name, _rewinding(_method))
