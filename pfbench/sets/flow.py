"""Polytope of unit flows through a directed acyclic graph."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.checks import check_integer
from pfbench.base.errors import InputError
from pfbench.kernels import graphs
from pfbench.sets.body import (
    VectorConvexBody,
    as_read_only_copy,
    check_gradient,
    is_point,
    scale_to_unit,
)


def check_edges(edges: Any, kind: str) -> Integers:
    """Return edges as a read-only array of node pairs, shape (E, 2); raise if they are invalid.

    Raises
    ------
    InputError
        If there is no edge, or an edge is not a pair of nodes 0, 1, ...
    """
    array = np.asarray(edges)
    if array.ndim != 2 or array.shape[1] != 2 or array.shape[0] == 0:
        raise InputError(
            f"edges must be an array of at least one pair ({kind}), so it must have shape (E, 2) "
            f"with E >= 1, not {array.shape}."
        )
    if array.dtype.kind not in "iu":
        raise InputError(f"edges must be pairs of integers, not of {array.dtype}.")
    if array.min() < 0:
        first = int(np.flatnonzero((array < 0).any(axis=1))[0])
        raise InputError(f"edge {first} has a negative node: number the nodes 0, 1, ...")
    return as_read_only_copy(array.astype(np.int64))


@dataclass(frozen=True, repr=False, eq=False)
class UnitFlowPolytope(VectorConvexBody):
    """Flows of value 1 from an origin to a destination in a directed acyclic graph.

    A point has one entry for each edge. The vertices are the incidence vectors of the paths.

    Parameters
    ----------
    edges
        Pairs (tail, head) of nodes 0, 1, ..., shape (E, 2); several edges may join two nodes.
    origin, destination
        Source and sink of the flow.

    Raises
    ------
    InputError
        If an edge, the origin or the destination is not a node, the graph has a cycle, or no path
        leads from the origin to the destination.
    """

    name: ClassVar[str] = "unit-flow"
    polytope: ClassVar[bool] = True
    summary: ClassVar[str] = "unit flows through a directed acyclic graph: convex hull of its paths"
    required_arguments: ClassVar[str] = "a graph: UnitFlowPolytope(edges, origin, destination)"
    source: ClassVar[str] = "shortest path in topological order: Cormen et al. 2022, chapter 22"

    edges: Integers
    origin: int
    destination: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", check_edges(self.edges, "tail, head"))
        for name in ("origin", "destination"):
            node = check_integer(name, getattr(self, name), minimum=0)
            if node >= self._node_count:
                raise InputError(f"{name}={node} is not on an edge: name a node of the graph.")
        if self.origin == self.destination:
            raise InputError(
                f"origin and destination are both {self.origin}: name two different nodes."
            )
        if self._order.size < self._node_count:
            raise InputError("the graph has a cycle: use an acyclic graph.")
        if self._path_edge_per_node[self.origin] < 0:
            raise InputError(
                f"no path leads from origin={self.origin} to destination={self.destination}: add "
                "the missing edges, or exchange origin and destination."
            )

    # --- the graph ----------------------------------------------------------------------------

    @property
    def d(self) -> int:
        """Number of edges."""
        return len(self.edges)

    @cached_property
    def _node_count(self) -> int:
        return int(self.edges.max()) + 1

    @cached_property
    def _tails(self) -> Integers:
        return np.ascontiguousarray(self.edges[:, 0])

    @cached_property
    def _graph(self) -> graphs.Graph:
        indptr = np.zeros(self._node_count + 1, dtype=np.int64)
        indptr[1:] = np.cumsum(np.bincount(self._tails, minlength=self._node_count))
        heads = np.ascontiguousarray(self.edges[:, 1])
        return graphs.Graph(indptr, np.argsort(self._tails, kind="stable"), heads)

    @cached_property
    def _order(self) -> Integers:
        return graphs.topological_order_outside_cycles(self._graph)

    @cached_property
    def _path_edge_per_node(self) -> Integers:
        """For each node, one edge on a path to the destination, or -1 if there is no path."""
        return self._cheapest_next_edges(np.zeros(self.d))

    def _cheapest_next_edges(self, costs: Floats) -> Integers:
        choice = np.empty(self._node_count, dtype=np.int64)
        graphs.costs_to_go(self._order, self._graph, costs, self.destination, choice)
        return choice

    # --- the set ------------------------------------------------------------------------------

    @cached_property
    def diameter(self) -> float:
        """Exact diameter, the square root of the largest number of edges in which two paths differ.

        It takes O(E log E); see `pfbench.kernels.graphs.max_path_difference`.
        """
        paths = self._order, self._graph, self.origin, self.destination
        return math.sqrt(graphs.max_path_difference(*paths))

    def lo(self, g: Any) -> Floats:
        """Return the incidence vector of a path of least cost, given the E edge costs g, in O(E).

        At each node from the origin on, ties go to the edge of lowest index.
        """
        return self._path_vector(
            self._cheapest_next_edges(scale_to_unit(check_gradient(g, self.shape))[0])
        )

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether all flows are nonnegative and balanced at each node, within tolerance."""
        if not is_point(x, self.shape) or x.min() < -tolerance:
            return False
        leaving, entering = (
            np.bincount(ends, weights=x, minlength=self._node_count) for ends in self.edges.T
        )
        balance = leaving - entering
        balance[self.origin] -= 1.0
        balance[self.destination] += 1.0
        return bool(np.abs(balance).max() <= tolerance)

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return the incidence vector of a random path.

        At each node, the next edge is uniform among the edges from which the destination can be
        reached.
        """
        indptr, outgoing, heads = self._graph
        path, node = [], self.origin
        while node != self.destination:
            edges = outgoing[indptr[node] : indptr[node + 1]]
            ends = heads[edges]
            open_ones = edges[(self._path_edge_per_node[ends] >= 0) | (ends == self.destination)]
            path.append(int(rng.choice(open_ones)))
            node = int(heads[path[-1]])
        return self._fill_vector(path, 1.0)

    def start(self) -> Floats:
        """Return the path that takes the first possible edge at each node; 0 is not in the set."""
        return self._path_vector(self._path_edge_per_node)

    def _path_vector(self, choice: Integers) -> Floats:
        """Return the incidence vector of the path that takes edge `choice[v]` at each node v."""
        path = graphs.follow_path(choice, self._graph.heads, self.origin, self.destination)
        return self._fill_vector(path, 1.0)
