"""Assumptions of theorems beyond smoothness, and a check that a problem meets them.

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
"""Meaning of each assumption, by name."""


def list_known_assumptions(problem: Problem) -> frozenset[str]:
    """Return the assumptions known to hold for a problem: its `properties` and its set's."""
    properties = problem.properties
    return properties | {"bounded domain"} if math.isfinite(problem.set.diameter) else properties


def unmet_assumptions(assumes: Iterable[str], problem: Problem) -> tuple[str, ...]:
    """Return the assumptions that a problem is not known to meet, in alphabetical order.

    The properties of the problem, which may be costly, are computed only if something is assumed.
    """
    needed = frozenset(assumes)
    return tuple(sorted(needed - list_known_assumptions(problem))) if needed else ()
