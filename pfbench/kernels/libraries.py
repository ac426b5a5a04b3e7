"""The libraries that runs compute with, loaded when something runs: listing needs none of them."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from threadpoolctl import threadpool_limits

LIBRARIES = ("numba", "scipy.linalg", "scipy.optimize", "scipy.sparse.linalg", "scipy.special")
"""What an algorithm, a set or a problem imports at its first use."""

_CHOICE = "OPENBLAS_CORETYPE"
_KERNELS = re.compile(r"openblas [0-9.]+ (\w{1,20})")


def import_libraries() -> None:
    """Import the libraries, so that no clock that starts later runs while they are imported."""
    for name in LIBRARIES:
        import_module(name)


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Use one BLAS thread inside: more would change the last bits, and spin beside compiled loops.

    The libraries are loaded first: scipy has a BLAS of its own, and only one that is loaded can be
    limited.
    """
    import_libraries()
    with threadpool_limits(1, user_api="blas"):
        yield


@contextmanager
def use_recorded_blas_kernels(recorded: str, current: str) -> Iterator[str]:
    """Let processes that are started inside take the kernels of OpenBLAS that an author had.

    Rounding grows in a run that is not stable: by other kernels a measure can come out otherwise by
    more than any tolerance.

    Parameters
    ----------
    recorded, current
        What his environment says of BLAS, and ours.

    Yields
    ------
    str
        The kernels; empty if they are not taken: both have the same, they are not OpenBLAS's of one
        name, this processor cannot compute with them, or they are chosen already.
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
