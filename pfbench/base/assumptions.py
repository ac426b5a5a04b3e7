"""What theorems assume of a problem beyond smoothness, and whether a problem is known to meet it.

Algorithms declare `assumes`, problems state `properties`; both take their words from `ASSUMPTIONS`.
"""

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from pfbench.base.protocols import Problem

ASSUMPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "bounded domain": "the feasible set is compact, so that every proximal map lies in a ball",
        "convex": "f is convex",
        "restricted strong convexity": (
            "f grows quadratically along the directions that the penalty or the radius leaves, "
            "with sigma_hat > 0 (li2019)"
        ),
    }
)
"""Every assumption by its name, with what it says."""


def list_known_assumptions(problem: Problem) -> frozenset[str]:
    """Return what a problem is known to meet: its `properties`, and what its set shows."""
    properties = problem.properties
    return properties | {"bounded domain"} if math.isfinite(problem.set.diameter) else properties


def unmet_assumptions(assumes: Iterable[str], problem: Problem) -> tuple[str, ...]:
    """Return the assumptions that a problem is not known to meet, in alphabetical order.

    A problem is only asked for its properties, which may be costly, if something is assumed.
    """
    needed = frozenset(assumes)
    return tuple(sorted(needed - list_known_assumptions(problem))) if needed else ()
