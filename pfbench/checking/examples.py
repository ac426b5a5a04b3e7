"""Example sets that need a graph or a function, and a problem on which old points expire."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.errors import StalePoint
from pfbench.checking.findings import CheckFailed, CheckSkipped
from pfbench.problems import FiniteSum
from pfbench.problems.catalogue import problem
from pfbench.sets.flow import UnitFlowPolytope
from pfbench.sets.matroid import SpanningTreePolytope
from pfbench.sets.submodular import SubmodularBasePolytope

SHAPES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"vectors": (6,), "arrays": (6,), "matrices": (4, 3), "square matrices": (3, 3)}
)
"""Shapes of points for which all vertices can be enumerated."""

# Numbered against the flow, with a parallel edge, a dead end, and a node before the origin.
_FLOW = np.array([(4, 3), (4, 2), (3, 2), (2, 0), (3, 0), (4, 3), (3, 5), (6, 4), (6, 2), (4, 0)])

# Two triangles that share an edge, a parallel edge, and a bridge.
_GRAPH = np.array([(0, 1), (1, 2), (0, 2), (2, 3), (1, 3), (0, 1), (3, 4)])

_COVERED = (frozenset({0, 1}), frozenset({1, 2, 3}), frozenset({3}), frozenset({0, 3, 4}))


def _union_size(members: Any) -> float:
    """Return the number of elements that the given sets cover, a submodular function."""
    return float(len(frozenset().union(*(_COVERED[i] for i in members))))


EXAMPLES: Mapping[str, Callable[[], Any]] = MappingProxyType(
    {
        "unit-flow": lambda: UnitFlowPolytope(_FLOW, 4, 0),
        "spanning-tree": lambda: SpanningTreePolytope(_GRAPH),
        "submodular-base": lambda: SubmodularBasePolytope(4, _union_size),
    }
)
"""Functions that build the example sets, by name."""


@contextmanager
def convert_point_errors(verb: str) -> Iterator[None]:
    """Context manager that fails a check if its block reads a point that is no longer valid.

    It raises `CheckFailed` for `StalePoint`, and `CheckSkipped` for any other exception.
    """
    try:
        yield
    except StalePoint as error:
        raise CheckFailed(
            "code must call keep(x) on each point that it still reads after the next step",
            "the code reads a factored matrix that is no longer valid",
        ) from error
    except Exception as error:
        raise CheckSkipped(
            f"the code cannot {verb} factored matrices ({type(error).__name__})"
        ) from error


@cache
def make_expiring_points_problem() -> FiniteSum:
    """Return a small problem on which only the two newest points of a run can be read."""
    return problem("robust-matrix-recovery", rows=6, columns=5, rank=1, density=0.5)
