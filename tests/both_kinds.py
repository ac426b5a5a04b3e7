"""A small problem of each kind, whose points are arrays or factored matrices, as dense arrays."""

import numpy as np
import pytest
from helpers import tiny_logistic, tiny_recovery

from pfbench.points import FactoredMatrix, keep

each_kind = pytest.mark.parametrize("kind", ["logistic", "recovery"])


def small(kind):
    if kind == "recovery":
        return tiny_recovery(shape=(6, 5), n=18, radius=3.0, tolerance=1e-12)
    return tiny_logistic(n=21, d=4, radius=2.0)


def start(kind):
    """A dense start that is not 0, inside the set."""
    if kind == "logistic":
        return 0.2 * np.cos(3.0 + np.arange(4))
    u, v = np.cos(np.arange(6)), np.sin(1.0 + np.arange(5))
    return 0.4 * np.outer(u, v) / (np.linalg.norm(u) * np.linalg.norm(v))


def dense(x):
    """A copy of a point as an array."""
    return keep(x).matrix() if isinstance(x, FactoredMatrix) else np.array(x)


def minimiser(G, radius):
    """Return argmin <G, v> over the nuclear ball (G a matrix) or the l1 ball (G a vector)."""
    if G.ndim == 2:
        U, _, Vt = np.linalg.svd(G)
        return -radius * np.outer(U[:, 0], Vt[0])
    k = np.argmax(np.abs(G))
    return -radius * np.sign(G[k]) * np.eye(G.size)[k]
