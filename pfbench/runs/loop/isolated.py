"""Isolation of a method in a separate process, without access to the problem.

Each oracle call is a message. Objects that both processes hold are identified by numbers: the
storage that the points of one sequence share, which both change, the pattern of observed entries,
and the tokens by which a point knows whether it is the newest. Each message brings the storage up
to date before it is read.
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
from pfbench.kernels.numba_compilation import thread_count
from pfbench.oracles import Ledger, Oracles
from pfbench.oracles.bundle import ORACLES
from pfbench.points.factored import IterateStorage
from pfbench.points.pattern import Pattern
from pfbench.runs.loop.processes import kill_process_group, prepare_child_process, start_process

_POLL = 0.1
"""Seconds between two checks of the clock and the process while a method computes."""

_KEPT = ("hessian", "table")
"""Verbs whose answer stays in this process, and is queried further."""


class _MessageChannel:
    """End of a pipe; `first` is 0 at one end and 1 at the other, so that numbers are unique."""

    def __init__(self, pipe: Connection, first: int) -> None:
        self.pipe = pipe
        self._next_number = first
        self._things: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._modified: dict[int, IterateStorage] = {}

    def send(self, *message: Any) -> None:
        """Send a message, with the storage of the points in it or in the last received message."""
        patterns: dict[int, Pattern] = {}
        trails = dict(self._modified)
        self._modified = {}
        reported = self._pickle(message, trails, patterns)
        states: dict[int, Any] = {}
        while missing := trails.keys() - states.keys():
            states |= {number: vars(trails[number]) for number in missing}
            parts = self._pickle(states, trails, patterns)
        stored = parts if states else self._pickle(states, trails, patterns)
        self.pipe.send_bytes(pickle.dumps((pickle.dumps(patterns), stored, reported)))

    def receive(self) -> Any:
        """Return the next message.

        Raises
        ------
        EOFError
            If the other end is closed.
        """
        patterns, stored, reported = pickle.loads(self.pipe.recv_bytes())
        for number, pattern in pickle.loads(patterns).items():
            self._register_object(number, pattern)
        for number, state in self._unpickle(stored).items():
            vars(self._remote_object(number, IterateStorage)).update(state)
        self._modified = {}
        return self._unpickle(reported)

    def _register_object(self, number: int, obj: Any) -> None:
        self._things[number] = obj  # kept, so that no other thing gets its id
        self._numbers[id(obj)] = number

    def _remote_object(self, number: int, kind: type) -> Any:
        if number not in self._things:
            self._register_object(number, object.__new__(kind))
        return self._things[number]

    def _pickle(
        self, obj: Any, trails: dict[int, IterateStorage], patterns: dict[int, Pattern]
    ) -> bytes:
        def number(obj: Any) -> tuple[str, Any] | None:
            kind = type(obj)
            if isinstance(obj, np.dtype) and obj.isbuiltin:
                return "dtype", obj.str  # which there is only one of, and is told by that
            if kind not in (IterateStorage, Pattern, object):
                return None
            if id(obj) not in self._numbers:
                self._register_object(self._next_number, obj)
                self._next_number += 2
                if kind is Pattern:
                    patterns[self._numbers[id(obj)]] = obj
            if kind is IterateStorage:
                trails[self._numbers[id(obj)]] = obj
            return kind.__name__, self._numbers[id(obj)]

        buffer = io.BytesIO()
        pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
        pickler.persistent_id = number  # type: ignore[method-assign]
        pickler.dump(obj)
        return buffer.getvalue()

    def _unpickle(self, data: bytes) -> Any:
        def load_reference(reference: tuple[str, Any]) -> Any:
            kind, number = reference
            if kind == "dtype":
                return np.dtype(number)
            if kind != "Trail":
                return self._remote_object(number, object)
            remote_object = self._modified[number] = self._remote_object(number, IterateStorage)
            return remote_object

        unpickler = pickle.Unpickler(io.BytesIO(data))
        unpickler.persistent_load = load_reference  # type: ignore[method-assign]
        return unpickler.load()


# --- where the problem is -------------------------------------------------------------------------


def run_isolated(
    algorithm: Algorithm, ledger: Ledger, ask: Oracles, x: Point, rng: np.random.Generator
) -> Iterator[State]:
    """Yield the states of a method in a separate process.

    Parameters
    ----------
    algorithm
        The algorithm; the other process must be able to import its class.
    ledger
        The ledger; its deadline also applies while the method computes.
    ask, x, rng
        Arguments of its `run`; x and rng are copied.

    Raises
    ------
    InputError
        If the algorithm cannot be sent, or its process dies.
    """
    process, current = start_process(_serve, thread_count())
    link, retained = _MessageChannel(current, 0), dict[int, Any]()
    try:
        try:
            link.send(algorithm, x, rng, ask.n, ask.D)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InputError(
                f"isolated=True needs an algorithm that can be sent to another process ({error}): "
                "put its class at the top of a file."
            ) from error
        while True:
            kind, *reported = _receive_next(link, process, ledger)
            if kind == "state":
                yield reported[0]
                link.send("on")
            elif kind == "end":
                return
            elif kind == "raised":
                raise reported[0]
            else:
                _answer_oracle_call(link, ask, retained, *reported)
    finally:
        kill_process_group(process)
        current.close()


def _receive_next(link: _MessageChannel, process: Any, ledger: Ledger) -> Any:
    """Return the next message of a method; the clock runs while it computes."""
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


def _answer_oracle_call(
    link: _MessageChannel,
    ask: Oracles,
    objects: dict[int, Any],
    index: int,
    verb: str,
    value: Any,
    dropped: list[int],
) -> None:
    """Answer a call of the oracles, or of an object that one of them returned before."""
    for number in dropped:
        objects.pop(number, None)
    oracles = objects[index] if index else ask
    try:
        answer = getattr(oracles, verb)
        answer = answer(*value) if value is not None else answer
    except Exception as error:
        link.send("raise", error)
        return
    if not index and verb in _KEPT:
        number = max(objects, default=0) + 1
        objects[number] = answer
        answer = number
    link.send("answer", answer)


# --- where the method is --------------------------------------------------------------------------


class _RemoteOracles:
    """Oracles as seen by the method: each verb is a message."""

    def __init__(self, link: _MessageChannel, n: int, D: float) -> None:
        self.n, self.D = n, D
        self._link, self._released = link, list[int]()

    def __getattr__(self, verb: str) -> Any:
        if verb not in ORACLES:
            raise AttributeError(f"'Oracles' object has no attribute '{verb}'")

        def call(*args: Any) -> Any:
            answer = self._send_query(0, verb, args)
            return _RemoteObject(self, answer) if verb in _KEPT else answer

        return call

    def _send_query(self, index: int, verb: str, value: Any) -> Any:
        dropped, self._released = self._released, []
        self._link.send("ask", index, verb, value, dropped)
        kind, answer = self._link.receive()
        if kind == "raise":
            raise answer
        return answer


class _RemoteObject:
    """Hessians or a table in the process of the problem."""

    def __init__(self, oracles: _RemoteOracles, index: int) -> None:
        self._oracles, self._position = oracles, index

    @property
    def mean(self) -> Any:
        """Mean of the stored gradients."""
        return self._oracles._send_query(self._position, "mean", None)

    def __getattr__(self, verb: str) -> Any:
        if verb not in ("product", "batch", "difference", "replace"):
            raise AttributeError(verb)
        return lambda *value: self._oracles._send_query(self._position, verb, value)

    def __del__(self) -> None:
        self._oracles._released.append(self._position)


def _serve(pipe: Connection, number: int) -> None:
    """Run a method to its end; executed in its own process."""
    prepare_child_process(number)
    link = _MessageChannel(pipe, 1)
    try:
        algorithm, x, rng, n, D = link.receive()
        with np.errstate(all="ignore"):  # as in the process of the run
            for state in algorithm.run(_RemoteOracles(link, n, D), x, rng):
                link.send("state", state)
                link.receive()
        link.send("end")
    except (EOFError, ConnectionError):
        return
    except BaseException as error:
        _send_error(link, error)


def _send_error(link: _MessageChannel, error: BaseException) -> None:
    """Send an exception of the method; as text if it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
        link.send("raised", error)
    except Exception:
        link.send("raised", RuntimeError(f"{type(error).__name__}: {error}"))
