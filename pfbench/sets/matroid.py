"""Matroids and their base polytopes, such as that of the spanning trees of a graph."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.checks import check_integer
from pfbench.base.errors import InputError
from pfbench.base.parameters import Parameter
from pfbench.kernels.graphs import greedy_forest
from pfbench.sets.body import ArrayDataclass, GreedyPolytope, is_point
from pfbench.sets.flow import check_edges
from pfbench.sets.polytope_distance import is_in_hull

# --- matroids -------------------------------------------------------------------------------------


class Matroid(ArrayDataclass, ABC):
    """Base class of matroids on the elements 0, ..., d-1, defined by their independent sets."""

    d: int

    @abstractmethod
    def is_independent(self, members: Integers) -> bool:
        """Return whether a set of distinct elements is independent."""

    def greedy_basis(self, order: Integers) -> Integers:
        """Return the basis that the greedy algorithm builds, considering elements in this order.

        It calls `is_independent` once for each element.
        """
        chosen = np.empty(self.d, dtype=np.int64)
        count = 0
        for element in order:
            chosen[count] = element
            if self.is_independent(chosen[: count + 1]):
                count += 1
        return chosen[:count]

    def max_basis_exchange(self) -> int:
        """Return an upper bound of the number of elements of one basis that another basis lacks.

        It is min(r, d' - r). Here r is the rank, and d' is the number of elements
        that are independent on their own. It calls `is_independent` for each element.
        """
        rank = self.greedy_basis(np.arange(self.d)).size
        useful = sum(self.is_independent(np.array([i])) for i in range(self.d))
        return min(rank, useful - rank)


@dataclass(frozen=True, repr=False, eq=False)
class UniformMatroid(Matroid):
    """Matroid in which every set of at most k of d elements is independent.

    Raises
    ------
    InputError
        If d is below 1, or k is not in 0, ..., d.
    """

    d: int
    k: int

    def __post_init__(self) -> None:
        check_integer("d", self.d, minimum=1)
        if check_integer("k", self.k, minimum=0) > self.d:
            raise InputError(f"k={self.k} must be at most d={self.d}.")

    def is_independent(self, members: Integers) -> bool:
        """Return whether the set has at most k elements."""
        return len(members) <= self.k

    def greedy_basis(self, order: Integers) -> Integers:
        """Return the first k elements of the order."""
        return order[: self.k]


@dataclass(frozen=True, repr=False, eq=False)
class GraphicMatroid(Matroid):
    """Matroid of the edges of an undirected graph, whose independent sets have no cycle.

    Parameters
    ----------
    edges
        Pairs of nodes 0, 1, ..., shape (E, 2); several edges may join two nodes.

    Raises
    ------
    InputError
        If an edge is not a pair of two different nodes.
    """

    edges: Integers

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", check_edges(self.edges, "node, node"))
        loops = np.flatnonzero(self.edges[:, 0] == self.edges[:, 1])
        if loops.size:
            raise InputError(f"edge {loops[0]} joins a node to itself: leave it out.")

    @property
    def d(self) -> int:  # type: ignore[override]
        """Number of edges."""
        return len(self.edges)

    @cached_property
    def node_count(self) -> int:
        """Number of nodes."""
        return int(self.edges.max()) + 1

    def is_independent(self, members: Integers) -> bool:
        """Return whether a set of edges has no cycle."""
        return greedy_forest(members, self.edges, self.node_count).size == len(members)

    def greedy_basis(self, order: Integers) -> Integers:
        """Return the edges that close no cycle with earlier edges of the order (Kruskal)."""
        return greedy_forest(order, self.edges, self.node_count)


# --- their base polytopes -------------------------------------------------------------------------


class _BasisPolytope(GreedyPolytope):
    """Base class of convex hulls of the incidence vectors of a matroid's bases."""

    source: ClassVar[str] = "Edmonds 1971 (greedy algorithm)"
    diameter_is_exact: ClassVar[bool] = False

    @property
    @abstractmethod
    def _matroid(self) -> Matroid:
        """The matroid whose bases define the polytope."""

    @property
    def d(self) -> int:
        """Number of elements of the matroid."""
        return self._matroid.d

    @cached_property
    def rank(self) -> int:
        """Rank of the matroid, the number of elements of each basis."""
        return self._matroid.greedy_basis(np.arange(self.d)).size

    @cached_property
    def diameter(self) -> float:
        """Upper bound of the diameter, from the number of elements in which two bases can differ.

        Two bases of rank r differ in at most twice min(r, d - r) elements, where d does not count
        elements that are in no basis. The bound is exact for uniform matroids.
        """
        return math.sqrt(2.0 * self._matroid.max_basis_exchange())

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether x is within ``tolerance * sqrt(rank)`` of the polytope.

        Wolfe's algorithm decides this; it needs up to some multiple of d greedy bases.
        """
        slack = tolerance * max(1.0, self.rank)
        if not is_point(x, self.shape) or abs(float(x.sum()) - self.rank) > slack:
            return False
        if x.min() < -tolerance or x.max() > 1.0 + tolerance:
            return False
        return is_in_hull(self.lo, x, tolerance * max(1.0, math.sqrt(self.rank)))

    def start(self) -> Floats:
        """Return the incidence vector of the greedy basis for the order 0, 1, ... of elements."""
        return self._greedy_vertex(np.arange(self.d))

    def _greedy_vertex(self, order: Integers) -> Floats:
        """Return the incidence vector of the greedy basis for an order of the elements.

        In the order of increasing g, the basis has the least sum of g. The result is exact in
        floating point, because only entries of g are compared. It takes d independence tests; for a
        graph it takes O(d log d) in total.
        """
        return self._fill_vector(self._matroid.greedy_basis(order), 1.0)


@dataclass(frozen=True, repr=False, eq=False)
class MatroidBasePolytope(_BasisPolytope):
    """Base polytope of a matroid: the convex hull of its bases' incidence vectors.

    Parameters
    ----------
    matroid
        `UniformMatroid`, `GraphicMatroid`, or a user-defined subclass of `Matroid`.
    """

    name: ClassVar[str] = "matroid-base"
    summary: ClassVar[str] = "convex hull of a matroid's bases (here: of all sets of k entries)"

    matroid: Matroid

    def __post_init__(self) -> None:
        if not isinstance(self.matroid, Matroid):
            raise InputError(
                f"a {type(self.matroid).__name__} is not a matroid: derive its class from "
                "pfbench.sets.Matroid."
            )

    @classmethod
    def parameters(cls) -> Mapping[str, Parameter]:
        """Return the parameter k, the rank of a uniform matroid.

        Polytopes of other matroids can be built only in Python.
        """
        description = "rank of a uniform matroid; MatroidBasePolytope(matroid) takes any matroid"
        return {"k": Parameter(description, "")}

    @classmethod
    def for_shape(cls, shape: tuple[int, ...], **parameters: Any) -> Self:
        """Build the convex hull of the incidence vectors of all sets of k entries."""
        return cls(UniformMatroid(shape[0], **parameters))

    @property
    def _matroid(self) -> Matroid:
        return self.matroid


@dataclass(frozen=True, repr=False, eq=False)
class SpanningTreePolytope(_BasisPolytope):
    """Convex hull of the incidence vectors of a connected graph's spanning trees.

    A point has one entry for each edge.

    Parameters
    ----------
    edges
        Pairs of nodes 0, 1, ..., shape (E, 2); several edges may join two nodes.

    Raises
    ------
    InputError
        If an edge is not a pair of two different nodes, or the graph is not connected.
    """

    name: ClassVar[str] = "spanning-tree"
    summary: ClassVar[str] = "convex hull of the spanning trees of a connected graph"
    required_arguments: ClassVar[str] = "a graph: SpanningTreePolytope(edges)"
    source: ClassVar[str] = "Kruskal 1956; Edmonds 1971"

    edges: Integers

    def __post_init__(self) -> None:
        graph = GraphicMatroid(self.edges)
        object.__setattr__(self, "edges", graph.edges)
        if self.rank < graph.node_count - 1:
            raise InputError(
                f"the graph on {graph.node_count} nodes is not connected (it has "
                f"{graph.node_count - self.rank} parts): add edges, or use MatroidBasePolytope of "
                "a GraphicMatroid, whose bases are spanning forests."
            )

    @cached_property
    def _matroid(self) -> GraphicMatroid:
        return GraphicMatroid(self.edges)
