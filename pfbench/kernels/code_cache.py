"""Disk cache of compiled loops; if it is unavailable, loops are compiled without it.

A container or a shared installation may have no writable folder, and a disk may be full.
"""

import os
import sys
from functools import cache
from typing import Any

_IS_SAID = "PFBENCH_NO_CODE_CACHE"
"""Environment variable set once the warning is printed: child processes do not repeat it."""


def enable_cache(dispatcher: Any) -> None:
    """Enable numba's disk cache of a loop, or warn if no cache folder can be written."""
    try:
        dispatcher._cache = _forgiving_cache()(dispatcher.py_func)
    except (RuntimeError, OSError):
        warn_uncached_loops("no cache folder can be written")


def allow_read_only_cache_folders() -> None:
    """Allow numba to read compiled code from cache folders that are read-only."""
    from numba.core.caching import _CacheLocator

    setattr(_CacheLocator, "ensure_cache_path", lambda self: None)  # noqa: B010


def warn_uncached_loops(reason: str) -> None:
    """Print once that compiled loops are not cached."""
    if _IS_SAID not in os.environ:
        os.environ[_IS_SAID] = "1"
        print(
            f"pfbench: each process compiles its loops, because {reason}: set NUMBA_CACHE_DIR to a "
            "writable folder to compile them once.",
            file=sys.stderr,
            flush=True,
        )


@cache
def _forgiving_cache() -> type[Any]:
    """Return numba's cache class of a function, in a form that never raises after construction."""
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
