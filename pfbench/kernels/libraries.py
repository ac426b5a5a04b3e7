"""The libraries that runs compute with, loaded when something runs: listing needs none of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from threadpoolctl import threadpool_limits

from pfbench.kernels.compiled import has_numba

LIBRARIES = ("numba", "scipy.linalg", "scipy.optimize", "scipy.sparse.linalg", "scipy.special")
"""What an algorithm, a set or a problem imports at its first use."""


def load() -> None:
    """Import the libraries, so that no clock that starts later runs while they are imported."""
    for name in LIBRARIES:
        if name != "numba" or has_numba():
            import_module(name)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Use one BLAS thread inside: more would change the last bits, and spin beside compiled loops.

    The libraries are loaded first: scipy has a BLAS of its own, and only one that is loaded can be
    limited.
    """
    load()
    with threadpool_limits(1, user_api="blas"):
        yield
