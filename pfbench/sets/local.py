"""Linear minimisation over the part of a set within a distance of a point."""

from typing import Any

import numpy as np

from pfbench.base.checks import check_real

_DOUBLINGS, _HALVINGS = 40, 100


def minimise_locally(domain: Any, x: Any, g: Any, radius: float) -> Any:
    """Return a point z of a set with |z - x| <= radius that minimises <g, z>.

    It is P(x - tau g), P the projection onto the set, for the largest tau for which |P(x - tau g) -
    x| is at most the radius: this length does not decrease in tau. Each z is the result of some
    tau, or the limit for tau to infinity, which is the nearest minimiser over the set.

    Parameters
    ----------
    domain
        The set, with `project`.
    x
        A point of the set.
    g
        The slope, of the shape of x.
    radius
        The distance, at least 0.

    Raises
    ------
    InputError
        If the radius is negative or NaN.
    """
    check_real("the radius of a local linear minimisation", radius, minimum=0.0)
    scale = float(np.linalg.norm(g))
    if scale == 0.0 or radius == 0.0:
        return x.copy()

    def step(tau: float) -> Any:
        return domain.project(x - tau * g)

    low, high = 0.0, radius / scale  # the length is at most tau |g|
    for _ in range(_DOUBLINGS):
        if float(np.linalg.norm(step(high) - x)) > radius:
            break
        low, high = high, 2.0 * high
    else:
        return step(low)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if float(np.linalg.norm(step(middle) - x)) <= radius:
            low = middle
        else:
            high = middle
    return step(low)
