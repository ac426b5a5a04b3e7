"""Lazy use of numba: it is imported, and loops are compiled, at the first call of a loop.

Importing numba takes longer than all other imports of pfbench, and most commands compile nothing.
If the disk cache of compiled loops is unavailable, as in a container or on a full disk, loops are
compiled without it.
"""

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cache, wraps
from time import perf_counter
from types import FunctionType
from typing import Any, Self, TypeVar, cast

from pfbench.base.arrays import Floats

if sys.platform != "win32":
    import fcntl

Function = TypeVar("Function", bound=Callable[..., Any])


def compile_serial(function: Function) -> Function:
    """Return a loop compiled for one thread; its machine code is cached next to the source."""
    return _compile_lazily(function)


def compile_parallel(function: Function) -> Function:
    """Return a loop compiled for several threads, which share the iterations of `prange`."""
    return _compile_lazily(function, parallel=True)


def compile_reordering_sums(function: Function) -> Function:
    """Return a compiled loop whose sums may be reordered, so that the compiler can vectorise it."""
    return _compile_lazily(function, fastmath={"contract", "reassoc", "nsz"})


def prange(stop: int) -> range:
    """Return range(stop); in loops of `compile_parallel`, threads share the iterations."""
    return range(stop)


def _compile_lazily(function: Function, **options: Any) -> Function:
    """Return a function that numba compiles at its first call."""

    @cache
    def dispatcher() -> Callable[..., Any]:
        return _make_dispatcher(cast(FunctionType, function), options)

    created: Callable[..., Any] | None = None

    @wraps(function)
    def call(*arguments: Any) -> Any:
        nonlocal created
        if created is None:
            created = dispatcher()
        return created(*arguments)

    call.dispatcher = dispatcher  # type: ignore[attr-defined]
    return cast(Function, call)


def _make_dispatcher(function: FunctionType, options: dict[str, Any]) -> Callable[..., Any]:
    """Return numba's dispatcher, which compiles a loop for each new set of argument types.

    Inside the loop, called loops are replaced by their dispatchers.
    """
    import numba

    existing = dict(function.__globals__)
    for name in function.__code__.co_names:
        value: Any = existing.get(name)
        if value is prange:
            existing[name] = numba.prange
        elif hasattr(value, "dispatcher"):
            existing[name] = value.dispatcher()
    defaults, closure = function.__defaults__, function.__closure__
    visited = FunctionType(function.__code__, existing, function.__name__, defaults, closure)
    created = numba.njit(nogil=True, error_model="numpy", **options)(wraps(function)(visited))
    enable_cache(created)
    return cast(Callable[..., Any], created)


def thread_count() -> int:
    """Return the number of threads that parallel loops use."""
    import numba

    return int(numba.get_num_threads())


def set_threads(number: int) -> None:
    """Set the number of threads that parallel loops use."""
    import numba

    numba.set_num_threads(number)


@compile_serial
def check_index(index: int, n: int) -> int:
    """Return an index; raise IndexError unless it is in 0 .. n - 1.

    Compiled loops do not check indices themselves.
    """
    if index < 0 or index >= n:
        raise IndexError("a sampled component index is outside 0 .. n - 1")
    return index


@compile_serial
def check_size(x: Floats, size: int) -> None:
    """Raise IndexError unless x has `size` entries, because compiled loops do not check bounds."""
    if x.size != size:
        raise IndexError("a point or gradient has another size than the points of the problem")


def warn_if_uncached() -> None:
    """Warn if compiled loops cannot be cached, and keep child processes from warning again."""
    if not os.access(os.path.dirname(__file__), os.W_OK):
        check_index.dispatcher()  # type: ignore[attr-defined]


class CompilationClock:
    """Clock of the time spent on compiling or loading loops while the clock is open.

    The first callback is called before each compilation, the second one after it with its duration
    in seconds. numba is imported before the clock opens.
    """

    def __init__(self, started: Callable[[], None], ended: Callable[[float], None]) -> None:
        self.seconds = 0.0
        self._on_begin, self._on_end = started, ended
        self._listener: Any = None
        self._depth, self._start_time = 0, 0.0

    def __enter__(self) -> Self:
        from numba.core.event import register

        self._listener = _listener_class()(self)
        register(_EVENT, self._listener)  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *exception: object) -> None:
        from numba.core.event import unregister

        unregister(_EVENT, self._listener)  # type: ignore[no-untyped-call]
        self._listener = None  # or clock and listener would wait for the garbage collector

    def on_start(self) -> None:
        """Record the start of a compilation, possibly nested."""
        if self._depth == 0:
            self._start_time = perf_counter()
            self._on_begin()
        self._depth += 1

    def on_end(self) -> None:
        """Record the end of a compilation; add its duration unless it is nested in another."""
        self._depth -= 1
        if self._depth == 0:
            took = perf_counter() - self._start_time
            self.seconds += took
            self._on_end(took)


@cache
def _listener_class() -> type[Any]:
    """Return the class of the objects that numba calls before and after each compilation.

    It is created once: a class is freed only by the garbage collector, with everything it refers
    to, and a clock's run may have gigabytes.
    """
    from numba.core.event import Event, Listener

    class Compilations(Listener):
        """Listener that informs a clock of the start and the end of compilations."""

        def __init__(self, clock: CompilationClock) -> None:
            self.clock = clock

        def on_start(self, event: Event) -> None:
            self.clock.on_start()

        def on_end(self, event: Event) -> None:
            self.clock.on_end()

    return Compilations


_EVENT = "numba:compiler_lock"


_IS_SAID = "PFBENCH_NO_CODE_CACHE"
"""Environment variable set once the warning is printed: child processes do not repeat it."""


def enable_cache(dispatcher: Any) -> None:
    """Enable numba's disk cache for a loop, or warn if no cache folder can be written."""
    try:
        dispatcher._cache = _failure_tolerant_cache_class()(dispatcher.py_func)
        _compile_in_one_process(dispatcher)
    except (RuntimeError, OSError):
        warn_uncached_loops("no cache folder can be written")


def _compile_in_one_process(dispatcher: Any) -> None:
    """Allow one process at a time to compile loops; the others then load them from the cache.

    The clock of a run stands still while its process waits.
    """
    from numba.core.compiler_lock import global_compiler_lock

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


def allow_read_only_cache_folders() -> None:
    """Allow numba to read compiled code from cache folders that are read-only."""
    from numba.core.caching import _CacheLocator

    setattr(_CacheLocator, "ensure_cache_path", lambda self: None)  # noqa: B010


def warn_uncached_loops(reason: str) -> None:
    """Print a warning, once, that compiled loops are not cached."""
    if _IS_SAID not in os.environ:
        os.environ[_IS_SAID] = "1"
        print(
            f"pfbench: each process compiles its loops, because {reason}: set NUMBA_CACHE_DIR to a "
            "writable folder to compile them once.",
            file=sys.stderr,
            flush=True,
        )


@cache
def _failure_tolerant_cache_class() -> type[Any]:
    """Return a subclass of numba's cache whose methods do not raise if the disk fails."""
    from numba.core.caching import FunctionCache

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

    return ForgivingCache
