"""The one place that touches numba's decorators, so that the rest of pfbench stays typed."""

import os
from collections.abc import Callable
from time import perf_counter
from typing import Any, Self, TypeVar, cast

# Waiting threads must sleep: on a busy machine, spinning ones slow every loop many times. The
# OpenMP runtime reads this once, when numba loads it.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numba
from numba.core.event import Event, Listener, register, unregister

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a loop for one thread; the machine code is cached beside the source."""
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def compiled_parallel(function: Function) -> Function:
    """Compile a loop whose `parallel_range` runs over threads."""
    return cast(
        Function, numba.njit(cache=True, nogil=True, error_model="numpy", parallel=True)(function)
    )


def compiled_vector(function: Function) -> Function:
    """Compile a loop whose sums may be reordered, so that it vectorises."""
    return cast(
        Function,
        numba.njit(
            cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"}
        )(function),
    )


parallel_range = numba.prange


def threads() -> int:
    """Return the number of threads that parallel loops use."""
    return int(numba.get_num_threads())


@compiled
def checked(index: int, n: int) -> int:
    """Return a sampled index; compiled loops would read and write anywhere with one outside."""
    if index < 0 or index >= n:
        raise IndexError("a sampled component index is outside 0 .. n - 1")
    return index


class CompilationClock(Listener):
    """Seconds that this process spends compiling loops or loading them, while it is open.

    Before each compilation `begun` is called; after it `ended` is told how many seconds it took.
    """

    def __init__(self, begun: Callable[[], None], ended: Callable[[float], None]) -> None:
        self.seconds = 0.0
        self._begun, self._ended = begun, ended
        self._depth = 0
        self._started = 0.0

    def on_start(self, event: Event) -> None:
        """Note when the outermost compilation starts."""
        if self._depth == 0:
            self._started = perf_counter()
            self._begun()
        self._depth += 1

    def on_end(self, event: Event) -> None:
        """Add the time of the outermost compilation."""
        self._depth -= 1
        if self._depth == 0:
            took = perf_counter() - self._started
            self.seconds += took
            self._ended(took)

    def __enter__(self) -> Self:
        register(_EVENT, self)  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *exception: object) -> None:
        unregister(_EVENT, self)  # type: ignore[no-untyped-call]


_EVENT = "numba:compiler_lock"
