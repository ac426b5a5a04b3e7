"""Methods that run in separate, confined processes and query the oracles by messages.

This process neither imports nor unpickles the method's code. It sends the start, n, D and the state
of a random stream, which does not reveal the seed. It receives numbered messages of plain data (see
`pfbench.runs.loop.messages`), counts the oracle calls, and evaluates the measures.
"""

import builtins
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

import numpy as np

from pfbench.algorithms.base import get_parameters
from pfbench.base import errors
from pfbench.base.errors import InputError, RefusedError, StalePoint, TimeLimitReached, format_error
from pfbench.base.sample import IndexSampling
from pfbench.base.state import Point, State, describe_wrong_state
from pfbench.base.user_code import is_pfbench_module
from pfbench.kernels.numba_compilation import thread_count
from pfbench.oracles import Ledger, Oracles
from pfbench.oracles.bundle import ORACLES
from pfbench.points.atoms import matrix_entries
from pfbench.points.factored import FactoredMatrix
from pfbench.runs.loop.messages import PipeEnd
from pfbench.runs.loop.processes import kill_process_group, prepare_child_process, start_process
from pfbench.runs.loop.steps import HiddenSeed, PrefetchingGenerator, state_words_hiding_seed

_POLL = 0.1
"""Seconds between two checks of the clock and the process while a method computes."""

_IMPORT_SECONDS = 120.0
"""Seconds within which a method must be imported and created."""

_STOP_SECONDS = 5.0
"""Seconds within which a method must end a run that was stopped."""

_ROUNDING = 1e-6
"""Largest difference of a point's entries from its factors, relative to the largest entry."""


class RemoteMethod:
    """Stand-in for a method that runs in another process, with few rights.

    Parameters
    ----------
    build, arguments
        Function and arguments, called in the process; it returns the method and its schedule.
    folder
        Folder of the method's code; the current folder if empty.

    Raises
    ------
    InputError
        If the method cannot be created.
    """

    def __init__(self, build: Callable[..., Any], *arguments: Any, folder: str = "") -> None:
        self._call = (build, arguments, folder or os.getcwd())
        self._run: object | None = None
        self._started: tuple[PipeEnd, Any] | None = self._start()
        try:
            kind, *description = _receive_from_method(*self._started, Ledger(), _IMPORT_SECONDS)
        except BaseException:
            self.close()
            raise
        if kind != "described":
            self.close()
            raise InputError(f"cannot create the method: {format_error(_as_error(*description))}")
        described, self.plain_parameters, self.schedule, is_weighted = description
        for name, value in described.items():
            if name not in DESCRIBED:
                raise InputError("the method's process sends an invalid description of the method.")
            listed = name in ("requires", "asks", "assumes")
            setattr(self, name, frozenset(value) if listed else value)
        if is_weighted:
            self.output_weight = lambda iteration: self._newest_weight

    def _start(self) -> tuple[PipeEnd, Any]:
        build, arguments, folder = self._call
        process, pipe = start_process(serve_method, thread_count(), folder, build, arguments)
        return PipeEnd(pipe, is_problem=True), process

    def close(self) -> None:
        """End the process of the method; a later run starts a new process."""
        if self._started is not None:
            link, process = self._started
            self._started, self._run = None, None
            kill_process_group(process)
            with suppress(OSError):  # in a garbage collection the pipe may be closed already
                link.pipe.close()

    def run(self, ask: Oracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Yield the states of the method, which runs in another process.

        Raises
        ------
        InputError
            If the process of the method dies, or sends an invalid message.
        """
        if ask._backend.n is None:
            raise RefusedError(
                "a method in a separate process cannot draw from a sampler: omit isolated=True."
            )
        if self._run is not None:  # the states of the run before were not taken to their end
            self._stop_run()
        if self._started is None:
            self._started = self._start()
            _receive_from_method(*self._started, Ledger(), _IMPORT_SECONDS)
        link, process = self._started
        self._run = this_run = object()
        ledger: Ledger = ask._ledger
        bits: Any = rng.bit_generator
        retained = dict[int, Any]()
        link.reset()
        try:
            link.send(x, state_words_hiding_seed(bits.seed_seq), bits.state, ask.n, ask.D)
            while True:
                kind, *reported = _receive_from_method(link, process, ledger)
                if kind == "state":
                    state, weight = reported
                    self._newest_weight = float(weight)
                    _check_entries_match_factors(state)
                    yield state
                    link.send("on")
                elif kind == "end":
                    self._run = None
                    return
                elif kind == "raised":
                    raise _as_error(*reported)
                elif kind == "ask":
                    _answer_oracle_call(link, ask, retained, *reported)
                else:
                    raise InputError("the process of the method sends an invalid message.")
        finally:
            if self._run is this_run:
                self._stop_run()

    def _stop_run(self) -> None:
        """Ask the method to stop an unfinished run; kill its process if it does not answer."""
        assert self._started is not None
        self._run = None  # first: a garbage collection during the wait may end the run's generator
        link, process = self._started
        with suppress(InputError, OSError):
            if link.owes_answer:
                link.send("stop")
                if _receive_from_method(link, process, Ledger(), _STOP_SECONDS) == ("end",):
                    return
        self.close()


def isolate(algorithm: Any) -> Any:
    """Return a stand-in for a method: another process builds the method from its class and runs it.

    Raises
    ------
    InputError
        If its class is not a dataclass at the top of a module, or a parameter is not a plain value.
    """
    kind, parameters = type(algorithm), get_parameters(algorithm)
    if "<locals>" in kind.__qualname__ or not hasattr(kind, "__dataclass_fields__"):
        raise InputError(
            "isolated=True needs an algorithm that another process can create: make "
            f"{kind.__name__} a dataclass at the top level of a file."
        )
    for name, value in parameters.items():
        plain = value is None or type(value) in (bool, int, float, str)
        if not plain and not is_pfbench_module(type(value).__module__):
            raise InputError(f"isolated=True needs plain parameter values, not {name}={value!r}.")
    return RemoteMethod(build_method_and_schedule, kind.__module__, kind.__qualname__, parameters)


def _receive_from_method(
    link: PipeEnd, process: Any, ledger: Ledger, seconds: float = float("inf")
) -> Any:
    """Return the next message of a method; raise if it is late or the method's process ended."""
    ends = perf_counter() + seconds
    while not link.pipe.poll(_POLL):
        if perf_counter() > ledger.deadline:
            raise TimeLimitReached
        if perf_counter() > ends:
            raise InputError(f"the method was not created within {seconds:g} s.")
        if not process.is_alive() and not link.pipe.poll(0):
            break
    try:
        message = link.receive()
    except (EOFError, OSError) as error:
        process.join(10.0)
        raise InputError(f"the method's process ended with status {process.exitcode}.") from error
    if type(message) is not tuple or not message:
        raise InputError("the process of the method sends an invalid message.")
    return message


def _check_entries_match_factors(state: Any) -> None:
    """Raise if a factored matrix has stored entries that differ from the product of its factors."""
    if not isinstance(state, State):
        raise InputError(describe_wrong_state(state))
    for part in (state.x, state.at, state.output):
        if not isinstance(part, FactoredMatrix):
            continue
        with suppress(StalePoint):
            values, pattern = part.values(), part.pattern
            entries = matrix_entries(part.factors(), pattern.row_numbers(), pattern.rows.indices)
            largest = max(1.0, float(np.abs(entries).max(initial=0.0)))
            if np.isfinite(values).all() and np.abs(values - entries).max() > _ROUNDING * largest:
                raise InputError(
                    "the method yields a point whose entries differ from the product of its factors"
                )


def _as_error(name: Any, text: Any) -> BaseException:
    """Return an exception with the type name and the text that the other process has sent.

    The type is one of pfbench or Python; another name gives a `RuntimeError`.
    """
    kind = getattr(errors, str(name), None) or getattr(builtins, str(name), None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        with suppress(Exception):
            error = kind(str(text))
            if str(error) == str(text):
                return error
    return RuntimeError(f"{name}: {text}")


def _answer_oracle_call(
    link: PipeEnd,
    ask: Oracles,
    objects: dict[int, Any],
    index: int,
    verb: str,
    value: Any,
    dropped: list[int],
) -> None:
    """Answer a remote call of an oracle, or of an object that an oracle returned earlier.

    `value` has the arguments by position and by name; it is None if an attribute is read.
    """
    for number in dropped:
        objects.pop(number, None)
    oracles = objects[index] if index else ask
    if verb not in (PARTS if index else ORACLES):
        raise InputError("the method's process queries an unknown oracle.")
    try:
        answer = getattr(oracles, verb)
        answer = answer(*value[0], **value[1]) if value is not None else answer
    except Exception as error:
        link.send("raise", type(error).__name__, str(error))
        return
    if not index and verb in KEPT:
        number = max(objects, default=0) + 1
        objects[number] = answer
        answer = number
    link.send("answer", answer)


KEPT = ("hessian", "table")
"""Verbs whose result stays in the problem's process; the method queries it by `PARTS`."""

DESCRIBED = (
    *("name", "requires", "asks", "assumes", "output", "deterministic", "iterations"),
    *("runs", "runs_until_stopped"),
)

PARTS = ("mean", "product", "batch", "difference", "replace")


class _RunStopped(BaseException):
    """Raised in the method's process after the problem's process has ended the run.

    The class does not derive from `Exception`, so that the method does not catch it.
    """


class _RemoteOracles:
    """Oracles in the method's process: each call is a message to the problem's process."""

    sample = IndexSampling.sample  # and not `difference`, which the other process counts

    def __init__(self, link: PipeEnd, n: int, D: float) -> None:
        self.n, self.D = n, D
        self._link, self._released = link, list[int]()

    def __getattr__(self, verb: str) -> Any:
        if verb not in ORACLES:
            raise AttributeError(f"'Oracles' object has no attribute '{verb}'")

        def call(*args: Any, **keywords: Any) -> Any:
            answer = self._send_query(0, verb, (args, keywords))
            return _RemoteHessiansOrTable(self, answer) if verb in KEPT else answer

        return call

    def _send_query(self, index: int, verb: str, value: Any) -> Any:
        dropped, self._released = self._released, []
        self._link.send("ask", index, verb, value, dropped)
        kind, *content = self._link.receive()
        if kind == "stop":
            raise _RunStopped
        if kind == "raise":
            raise _as_error(*content)
        return content[0]


class _RemoteHessiansOrTable:
    """Proxy of Hessians or a gradient table in the problem's process; each access is a message."""

    def __init__(self, oracles: _RemoteOracles, index: int) -> None:
        self._oracles, self._position = oracles, index

    @property
    def mean(self) -> Any:
        """Mean of the stored gradients."""
        return self._oracles._send_query(self._position, "mean", None)

    def __getattr__(self, verb: str) -> Any:
        if verb not in PARTS:
            raise AttributeError(verb)
        query, index = self._oracles._send_query, self._position
        return lambda *args, **keywords: query(index, verb, (args, keywords))

    def __del__(self) -> None:
        self._oracles._released.append(self._position)


def build_method_and_schedule(
    module: str, name: str, parameters: Mapping[str, Any]
) -> tuple[Any, str]:
    """Return a method built from a class and its parameters, and the schedule name "explicit"."""
    cls: Any = import_module(module)
    for part in name.split("."):
        cls = getattr(cls, part)
    return cls(**parameters), "explicit"


def serve_method(
    pipe: Connection, loop_threads: int, folder: str, build: Callable[..., Any], arguments: Any
) -> None:
    """Build a method in this child process, describe it, and run it on request."""
    prepare_child_process(loop_threads, folder)
    link = PipeEnd(pipe, is_problem=False)
    try:
        algorithm, schedule = build(*arguments)
        is_weighted = getattr(algorithm, "output", "") == "weighted"
        weight = getattr(algorithm, "output_weight", None) if is_weighted else None
        described = _attributes_and_parameters(algorithm)
        link.send("described", *described, schedule, weight is not None)
        while True:
            x, words, state, n, D = link.receive()
            seed: Any = HiddenSeed(words)  # numpy takes it, and its types do not say so
            bits = np.random.PCG64(seed)
            bits.state = state
            ask, rng = _RemoteOracles(link, n, D), PrefetchingGenerator(bits)
            with np.errstate(all="ignore"), suppress(_RunStopped):  # as where the run is measured
                for k, yielded in enumerate(algorithm.run(ask, x, rng), 1):
                    link.send("state", yielded, float(weight(k)) if weight is not None else 1.0)
                    if link.receive() == ("stop",):
                        break
            link.send("end")
            link.reset()
    except (EOFError, ConnectionError):
        return
    except BaseException as error:
        with suppress(OSError):
            link.send("raised", type(error).__name__, str(error)[:2000])


def _attributes_and_parameters(algorithm: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a method's attributes that `DESCRIBED` lists, and its parameters, as plain data."""
    described = {
        name: sorted(map(str, value)) if isinstance(value, frozenset | set) else value
        for name in DESCRIBED
        if (value := getattr(algorithm, name, None)) is not None
    }
    return described, as_json_parameters(get_parameters(algorithm))


def as_json_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dict of parameters with JSON types; a value of another type becomes a string."""
    return {
        name: value if value is None or isinstance(value, bool | int | float | str) else str(value)
        for name, value in parameters.items()
    }
