"""Lazy use of numba: it is imported, and loops are compiled, at the first call of a loop.

Importing numba takes longer than all other imports of pfbench, and most commands compile nothing.
If the disk cache of compiled loops is unavailable, as in a container or on a full disk, loops are
compiled without it.
"""

import os
from collections.abc import Callable
from functools import cache, wraps
from types import FunctionType
from typing import Any, TypeVar, cast

from pfbench.base.arrays import Floats

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

    from pfbench.kernels.numba_hooks import enable_cache

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


def allow_read_only_cache_folders() -> None:
    """Allow numba to read compiled code from cache folders that are read-only."""
    from numba.core.caching import _CacheLocator

    setattr(_CacheLocator, "ensure_cache_path", lambda self: None)  # noqa: B010
