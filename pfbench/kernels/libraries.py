"""Numerical libraries, loaded only when a run needs them."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module

from threadpoolctl import ThreadpoolController

LIBRARIES = ("numba", "scipy.linalg", "scipy.optimize", "scipy.sparse.linalg", "scipy.special")
"""Modules that an algorithm, a set or a problem imports at its first use."""

_CHOICE = "OPENBLAS_CORETYPE"
_KERNELS = re.compile(r"openblas [0-9.]+ (\w{1,20})")


def import_libraries() -> None:
    """Import the numerical libraries, so that clocks started later exclude their import time."""
    for name in LIBRARIES:
        import_module(name)


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread in the ``with`` block.

    More threads would change the last bits of results and waste cores. The libraries are loaded
    first, because scipy has its own BLAS, and only a loaded BLAS can be limited.
    """
    import_libraries()
    with _find_thread_pools(frozenset(sys.modules)).limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _find_thread_pools(modules: frozenset[str]) -> ThreadpoolController:
    """Return the thread pools of all loaded libraries; importing a module may load another one."""
    return ThreadpoolController()


@contextmanager
def use_recorded_blas_in_child_processes(recorded: str, current: str) -> Iterator[str]:
    """Make child processes that start in the ``with`` block use recorded OpenBLAS kernels.

    Rounding errors grow in an unstable run: with other kernels a measure can differ by more than
    any tolerance.

    Parameters
    ----------
    recorded, current
        BLAS part of the recorded environment, and of the current one.

    Yields
    ------
    str
        Name of the kernels that child processes use; empty if nothing changes. Nothing changes if
        both environments are equal, the recorded one does not have a single name of OpenBLAS
        kernels, this processor does not support them, or the user has set the kernels.
    """
    named = (
        set(_KERNELS.findall(recorded))
        if recorded != current and _CHOICE not in os.environ
        else set()
    )
    chosen = {_CHOICE: named.pop()} if len(named) == 1 else {}
    trial = [
        sys.executable,
        "-c",
        "import numpy, scipy.linalg as s; s.qr(numpy.eye(99) @ numpy.eye(99))",
    ]
    if chosen and subprocess.run(trial, env=os.environ | chosen, capture_output=True).returncode:
        chosen = {}
    os.environ.update(chosen)
    try:
        yield chosen.get(_CHOICE, "")
    finally:
        for name in chosen:
            del os.environ[name]
