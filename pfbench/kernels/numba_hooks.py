"""Use of numba's internals: a clock of compilations, and a disk cache that does not fail.

`numba_compilation` imports this module together with numba, at the first call of a loop.
"""

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from time import perf_counter
from typing import Any, Self

from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.event import Event, Listener, register, unregister

if sys.platform != "win32":
    import fcntl

_EVENT = "numba:compiler_lock"

IS_SAID = "PFBENCH_NO_CODE_CACHE"
"""Environment variable set once the warning is printed: child processes do not repeat it."""


class CompilationClock(Listener):
    """Clock of the time spent on compiling or loading loops while the clock is open.

    The first callback is called before each compilation, the second one after it with its duration
    in seconds.
    """

    def __init__(self, started: Callable[[], None], ended: Callable[[float], None]) -> None:
        self.seconds = 0.0
        self._on_begin, self._on_end = started, ended
        self._depth, self._start_time = 0, 0.0

    def __enter__(self) -> Self:
        register(_EVENT, self)  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *exception: object) -> None:
        unregister(_EVENT, self)  # type: ignore[no-untyped-call]

    def on_start(self, event: Event) -> None:
        """Record the start of a compilation, possibly nested."""
        if self._depth == 0:
            self._start_time = perf_counter()
            self._on_begin()
        self._depth += 1

    def on_end(self, event: Event) -> None:
        """Record the end of a compilation; add its duration unless it is nested in another."""
        self._depth -= 1
        if self._depth == 0:
            took = perf_counter() - self._start_time
            self.seconds += took
            self._on_end(took)


def enable_cache(dispatcher: Any) -> None:
    """Enable numba's disk cache for a loop, or warn if no cache folder can be written."""
    try:
        dispatcher._cache = ForgivingCache(dispatcher.py_func)  # type: ignore[no-untyped-call]
        _compile_in_one_process(dispatcher)
    except (RuntimeError, OSError):
        warn_uncached_loops("no cache folder can be written")


def _compile_in_one_process(dispatcher: Any) -> None:
    """Allow one process at a time to compile loops; the others then load them from the cache.

    The clock of a run stands still while its process waits.
    """
    compile_loop, path = dispatcher.compile, os.path.join(dispatcher._cache.cache_path, "lock")

    def compile_alone(signature: Any) -> Any:
        # A loop may be called by one that is being compiled.
        if global_compiler_lock.is_locked():  # type: ignore[no-untyped-call]
            return compile_loop(signature)
        with global_compiler_lock, ExitStack() as stack:
            if sys.platform != "win32":
                with suppress(OSError):
                    fcntl.flock(stack.enter_context(open(path, "wb")), fcntl.LOCK_EX)
            return compile_loop(signature)

    dispatcher.compile = compile_alone


class ForgivingCache(FunctionCache):
    """Cache that treats an unreadable or unwritable entry as a missing one."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled loop, or None if it cannot be read from the cache."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # a damaged file raises whatever pickle meets
            self._try(self.flush)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the compiled loop, unless the cache folder cannot be written."""
        self._try(super().save_overload, sig, data)

    def _try(self, action: Any, *arguments: Any) -> None:
        try:
            action(*arguments)
        except OSError as error:
            self.disable()  # type: ignore[no-untyped-call]
            warn_uncached_loops(f"the cache folder cannot be written ({error.strerror})")


def warn_uncached_loops(reason: str) -> None:
    """Print a warning, once, that compiled loops are not cached."""
    if IS_SAID not in os.environ:
        os.environ[IS_SAID] = "1"
        print(
            f"pfbench: each process compiles its loops, because {reason}: set NUMBA_CACHE_DIR to a "
            "writable folder to compile them once.",
            file=sys.stderr,
            flush=True,
        )
