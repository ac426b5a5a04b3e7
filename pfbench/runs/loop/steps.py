"""Iterator that follows a run: states, oracle calls and counts, step by step."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from pfbench.base.counts import Counts
from pfbench.base.errors import InputError
from pfbench.base.protocols import Problem
from pfbench.base.state import Point, State
from pfbench.oracles import Ledger, Oracles, restrict_oracles
from pfbench.points import infer_format, keep
from pfbench.runs.loop.streams import PURPOSES, random_stream

Listener = Callable[[str, tuple[Any, ...], Any], None]
"""Callback with the verb of a backend call, its arguments and its answer."""

HEARD = frozenset({"gradient", "batch", "difference", "value", "lo", "prox", "hessian", "table"})
"""Verbs of a backend whose calls are reported to a listener."""

_PARTS = {"hessian": ("product", "batch"), "table": ("difference", "replace")}
"""Reported verbs of the objects that a backend returns, by the verb that returns them."""


class Step(NamedTuple):
    """State after an update of a run, and counts.

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
    """Run that is opened and followed step by step.

    Iterating yields a `Step` after each update. `states` yields the same states without counts:
    the loop of `solve` reads these. Nothing is recorded unless `wrap` does it.

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
        streams: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.start = problem.start() if start is None else keep(start)
        self.ledger = Ledger() if ledger is None else ledger
        self.streams = {
            purpose: streams[purpose] if purpose in streams else random_stream(seed, purpose)
            for purpose in PURPOSES
        }
        backend: Any = problem.open(self.streams["oracles"])
        self.backend = backend if wrap is None else wrap(backend)
        self.form = infer_format(self.start, problem.name)
        bundle = oracle_class(algorithm) if bundle is None else bundle
        self.ask: Any = bundle(self.backend, self.ledger, problem.set.diameter, self.form)
        run = algorithm.run if begin is None else begin
        self.states = _iterate_after_start(
            lambda: run(self.ask, keep(self.start), self.streams["algorithm"])
        )

    def __iter__(self) -> Iterator[Step]:
        """Yield each update with the counts spent so far."""
        for state in self.states:
            yield Step(state, self.ledger.counts())


def steps(problem: Problem, algorithm: Any, **options: Any) -> Steps:
    """Open a run to be followed step by step; `Steps` has the options."""
    return Steps(problem, algorithm, **options)


class ObservedBackend:
    """Backend, or an object it returned, that reports each answered call to a listener.

    Calls of an object that a verb returned are reported as ``verb.part``, with the arguments of the
    verb before those of the part.
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
            return (
                ObservedBackend(answer, self._listener, name, copies) if name in _PARTS else answer
            )

        setattr(self, name, call)
        return call


def oracle_class(algorithm: Any) -> type[Oracles]:
    """Return the class of oracles that a method requires; all oracles if it states none.

    If a property of the method raises, a note on the exception names it.
    """
    try:
        asks = getattr(algorithm, "asks", None) or getattr(algorithm, "requires", None)
    except Exception as error:
        error.add_note("in its attribute asks or requires")
        raise
    return Oracles if asks is None else restrict_oracles(frozenset(asks))


def _iterate_after_start(begin: Callable[[], Iterator[State]]) -> Iterator[State]:
    """Yield the states of a run that begins when its first state is requested."""
    states = begin()
    if not isinstance(states, Iterator):
        raise InputError(
            f"run(ask, x, rng) returned a {type(states).__name__}: let it yield a State after each "
            "update."
        )
    yield from states
