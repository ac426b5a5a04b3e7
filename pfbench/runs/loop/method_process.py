"""Process of a method that runs apart from its problem; see `pfbench.runs.loop.isolated`."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from pfbench.algorithms.base import get_parameters
from pfbench.base.sample import IndexSampling
from pfbench.oracles.bundle import ORACLES
from pfbench.runs.loop.method_link import MethodEnd
from pfbench.runs.loop.processes import prepare_child_process
from pfbench.runs.loop.streams import HiddenSeed, PrefetchingGenerator

KEPT = ("hessian", "table")
"""Verbs whose result stays in the problem's process; the method queries it by `PARTS`."""

DESCRIBED = (
    *("name", "requires", "asks", "assumes", "output", "deterministic", "iterations"),
    *("runs", "runs_until_stopped"),
)

PARTS = ("mean", "product", "batch", "difference", "replace")


class _RunStopped(BaseException):
    """Raised after the problem's process has ended the run; not an `Exception`."""


class _RemoteOracles(IndexSampling):
    """Oracles in the process of the method: each call is a message."""

    def __init__(self, link: MethodEnd, n: int, D: float) -> None:
        self.n, self.D = n, D
        self._link, self._released = link, list[int]()

    def __getattr__(self, verb: str) -> Any:
        if verb not in ORACLES:
            raise AttributeError(f"'Oracles' object has no attribute '{verb}'")

        def call(*args: Any) -> Any:
            answer = self._send_query(0, verb, args)
            return _RemoteOracleResult(self, answer) if verb in KEPT else answer

        return call

    def _send_query(self, index: int, verb: str, value: Any) -> Any:
        dropped, self._released = self._released, []
        self._link.send("ask", index, verb, value, dropped)
        kind, *content = self._link.receive()
        if kind == "stop":
            raise _RunStopped
        (answer,) = content
        if kind == "raise":
            raise answer
        return answer


class _RemoteOracleResult:
    """Hessians or gradient table in the process of the problem; each access is a message."""

    def __init__(self, oracles: _RemoteOracles, index: int) -> None:
        self._oracles, self._position = oracles, index

    @property
    def mean(self) -> Any:
        """The mean of the stored gradients."""
        return self._oracles._send_query(self._position, "mean", None)

    def __getattr__(self, verb: str) -> Any:
        if verb not in PARTS:
            raise AttributeError(verb)
        return lambda *value: self._oracles._send_query(self._position, verb, value)

    def __del__(self) -> None:
        self._oracles._released.append(self._position)


def build_from_class(module: str, name: str, parameters: Mapping[str, Any]) -> tuple[Any, str]:
    """Return a method, built from a class of a module and parameters, and its schedule."""
    cls: Any = import_module(module)
    for part in name.split("."):
        cls = getattr(cls, part)
    return cls(**parameters), "explicit"


def serve(
    pipe: Connection, loop_threads: int, folder: str, build: Callable[..., Any], arguments: Any
) -> None:
    """Build a method in this child process, describe it, and run it on request."""
    prepare_child_process(loop_threads, folder)
    link = MethodEnd(pipe, 1)
    try:
        algorithm, schedule = build(*arguments)
        link.send(
            "described", *_attributes_and_parameters(algorithm), schedule, _weights(algorithm)
        )
        while True:
            x, words, state, n, D = link.receive()
            seed: Any = HiddenSeed(words)  # numpy takes it, and its types do not say so
            bits = np.random.PCG64(seed)
            bits.state = state
            ask, rng = _RemoteOracles(link, n, D), PrefetchingGenerator(bits)
            with np.errstate(all="ignore"), suppress(_RunStopped):  # as where the run is measured
                for yielded in algorithm.run(ask, x, rng):
                    link.send("state", yielded)
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
    """Return the described attributes of a method and its parameters, as plain data."""
    described = {
        name: sorted(map(str, value)) if isinstance(value, frozenset | set) else value
        for name in DESCRIBED
        if (value := getattr(algorithm, name, None)) is not None
    }
    return described, {
        name: value if value is None or isinstance(value, bool | int | float | str) else str(value)
        for name, value in get_parameters(algorithm).items()
    }


def _weights(algorithm: Any) -> list[float] | None:
    """Return the weight of each iteration in a weighted output; None for other outputs."""
    weight = getattr(algorithm, "output_weight", None)
    if getattr(algorithm, "output", "") != "weighted" or weight is None:
        return None
    return [float(weight(k)) for k in range(1, algorithm.iterations + 1)]
