"""A method in a process of its own: a call of an oracle is a message, and the problem stays here.

What both processes hold at once is told by a number: the storage that the points of one sequence
share, which both change, the pattern of observed entries, and the marks by which a point knows
whether it is the newest. Each message brings the storage up to date, before it is read.
"""

import io
import pickle
from collections.abc import Iterator
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

import numpy as np

from pfbench.base.errors import InputError, TimeLimitReached
from pfbench.base.protocols import Algorithm
from pfbench.base.state import Point, State
from pfbench.kernels.compiled import threads
from pfbench.oracles import Ledger, Oracles
from pfbench.oracles.bundle import VERBS
from pfbench.points.factored import Trail
from pfbench.points.pattern import Pattern
from pfbench.runs.loop.processes import end, settle, started

_POLL = 0.1
"""Seconds between two looks at the clock and the process while a method computes."""

_KEPT = ("hessian", "table")
"""Verbs whose answer stays here, and is asked further."""


class _Link:
    """One end of a pipe; `first` is 0 at one end and 1 at the other, so that numbers differ."""

    def __init__(self, pipe: Connection, first: int) -> None:
        self.pipe = pipe
        self._next = first
        self._things: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._touched: dict[int, Trail] = {}

    def send(self, *message: Any) -> None:
        """Send a message, with the storage that it or the last one received is about."""
        patterns: dict[int, Pattern] = {}
        trails = dict(self._touched)
        self._touched = {}
        told = self._packed(message, trails, patterns)
        states: dict[int, Any] = {}
        while missing := trails.keys() - states.keys():
            states |= {number: vars(trails[number]) for number in missing}
            parts = self._packed(states, trails, patterns)
        stored = parts if states else self._packed(states, trails, patterns)
        self.pipe.send_bytes(pickle.dumps((pickle.dumps(patterns), stored, told)))

    def receive(self) -> Any:
        """Return the next message.

        Raises
        ------
        EOFError
            If the other end is gone.
        """
        patterns, stored, told = pickle.loads(self.pipe.recv_bytes())
        for number, pattern in pickle.loads(patterns).items():
            self._know(number, pattern)
        for number, state in self._unpacked(stored).items():
            vars(self._thing(number, Trail)).update(state)
        self._touched = {}
        return self._unpacked(told)

    def _know(self, number: int, thing: Any) -> None:
        self._things[number] = thing  # kept, so that no other thing gets its id
        self._numbers[id(thing)] = number

    def _thing(self, number: int, kind: type) -> Any:
        if number not in self._things:
            self._know(number, object.__new__(kind))
        return self._things[number]

    def _packed(self, what: Any, trails: dict[int, Trail], patterns: dict[int, Pattern]) -> bytes:
        def number(thing: Any) -> tuple[str, Any] | None:
            kind = type(thing)
            if isinstance(thing, np.dtype) and thing.isbuiltin:
                return "dtype", thing.str  # which there is only one of, and is told by that
            if kind not in (Trail, Pattern, object):
                return None
            if id(thing) not in self._numbers:
                self._know(self._next, thing)
                self._next += 2
                if kind is Pattern:
                    patterns[self._numbers[id(thing)]] = thing
            if kind is Trail:
                trails[self._numbers[id(thing)]] = thing
            return kind.__name__, self._numbers[id(thing)]

        buffer = io.BytesIO()
        pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
        pickler.persistent_id = number  # type: ignore[method-assign]
        pickler.dump(what)
        return buffer.getvalue()

    def _unpacked(self, data: bytes) -> Any:
        def thing(told: tuple[str, Any]) -> Any:
            kind, number = told
            if kind == "dtype":
                return np.dtype(number)
            if kind != "Trail":
                return self._thing(number, object)
            found = self._touched[number] = self._thing(number, Trail)
            return found

        unpickler = pickle.Unpickler(io.BytesIO(data))
        unpickler.persistent_load = thing  # type: ignore[method-assign]
        return unpickler.load()


# --- where the problem is -------------------------------------------------------------------------


def apart(
    algorithm: Algorithm, ledger: Ledger, ask: Oracles, x: Point, rng: np.random.Generator
) -> Iterator[State]:
    """Yield the states of a method that runs in a process of its own.

    Parameters
    ----------
    algorithm
        It must be found there by its module.
    ledger
        Its deadline holds while the method computes, too.
    ask, x, rng
        What its `run` takes; x and rng are copied.

    Raises
    ------
    InputError
        If the algorithm cannot be sent, or its process dies.
    """
    process, here = started(_serve, threads())
    link, kept = _Link(here, 0), dict[int, Any]()
    try:
        try:
            link.send(algorithm, x, rng, ask.n, ask.D)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InputError(
                f"isolated=True needs an algorithm that can be sent to another process ({error}): "
                "put its class at the top of a file."
            ) from error
        while True:
            kind, *told = _next(link, process, ledger)
            if kind == "state":
                yield told[0]
                link.send("on")
            elif kind == "end":
                return
            elif kind == "raised":
                raise told[0]
            else:
                _answer(link, ask, kept, *told)
    finally:
        end(process)
        here.close()


def _next(link: _Link, process: Any, ledger: Ledger) -> Any:
    """Return the next message of a method; no clock stands still while it computes."""
    while not link.pipe.poll(_POLL):
        if perf_counter() > ledger.deadline:
            raise TimeLimitReached
        if not process.is_alive() and not link.pipe.poll(0):
            break
    try:
        return link.receive()
    except (EOFError, ConnectionError) as error:
        process.join()
        raise InputError(
            f"the process of the method ended with status {process.exitcode}."
        ) from error


def _answer(
    link: _Link,
    ask: Oracles,
    kept: dict[int, Any],
    place: int,
    verb: str,
    given: Any,
    dropped: list[int],
) -> None:
    """Answer a call of the oracles, or of what one of them returned before."""
    for number in dropped:
        kept.pop(number, None)
    asked = kept[place] if place else ask
    try:
        answer = getattr(asked, verb)
        answer = answer(*given) if given is not None else answer
    except Exception as error:
        link.send("raise", error)
        return
    if not place and verb in _KEPT:
        number = max(kept, default=0) + 1
        kept[number] = answer
        answer = number
    link.send("answer", answer)


# --- where the method is --------------------------------------------------------------------------


class _Asked:
    """The oracles as the method has them: each verb is a message."""

    def __init__(self, link: _Link, n: int, D: float) -> None:
        self.n, self.D = n, D
        self._link, self._dropped = link, list[int]()

    def __getattr__(self, verb: str) -> Any:
        if verb not in VERBS:
            raise AttributeError(f"'Oracles' object has no attribute '{verb}'")

        def call(*given: Any) -> Any:
            answer = self._ask(0, verb, given)
            return _Kept(self, answer) if verb in _KEPT else answer

        return call

    def _ask(self, place: int, verb: str, given: Any) -> Any:
        dropped, self._dropped = self._dropped, []
        self._link.send("ask", place, verb, given, dropped)
        kind, answer = self._link.receive()
        if kind == "raise":
            raise answer
        return answer


class _Kept:
    """Hessians or a table, which lie where the problem is."""

    def __init__(self, asked: _Asked, place: int) -> None:
        self._asked, self._place = asked, place

    @property
    def mean(self) -> Any:
        """The mean of the stored gradients."""
        return self._asked._ask(self._place, "mean", None)

    def __getattr__(self, verb: str) -> Any:
        if verb not in ("product", "batch", "difference", "replace"):
            raise AttributeError(verb)
        return lambda *given: self._asked._ask(self._place, verb, given)

    def __del__(self) -> None:
        self._asked._dropped.append(self._place)


def _serve(pipe: Connection, number: int) -> None:
    """Run a method to its end; runs in its own process."""
    settle(number)
    link = _Link(pipe, 1)
    try:
        algorithm, x, rng, n, D = link.receive()
        with np.errstate(all="ignore"):  # as in the process of the run
            for state in algorithm.run(_Asked(link, n, D), x, rng):
                link.send("state", state)
                link.receive()
        link.send("end")
    except (EOFError, ConnectionError):
        return
    except BaseException as error:
        _tell(link, error)


def _tell(link: _Link, error: BaseException) -> None:
    """Send what a method raised; what cannot be sent, in words."""
    try:
        pickle.loads(pickle.dumps(error))
        link.send("raised", error)
    except Exception:
        link.send("raised", RuntimeError(f"{type(error).__name__}: {error}"))
