"""Loops over the edges of a graph: topological order, shortest paths, spanning forests."""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.kernels.numba_compilation import compile_serial


class Graph(NamedTuple):
    """Directed graph, given by its edges sorted by their start node.

    ``outgoing[indptr[i]:indptr[i + 1]]`` are the edges that leave node i, in ascending order;
    ``heads[edge]`` is the end node of an edge.
    """

    indptr: Integers
    outgoing: Integers
    heads: Integers


@compile_serial
def topological_order_outside_cycles(graph: Graph) -> Integers:
    """Return the nodes in topological order, without those on a cycle or reachable from one."""
    nodes = graph.indptr.size - 1
    missing = np.zeros(nodes, dtype=np.int64)
    for edge in range(graph.heads.size):
        missing[graph.heads[edge]] += 1
    order = np.empty(nodes, dtype=np.int64)
    count = 0
    for node in range(nodes):
        if missing[node] == 0:
            order[count] = node
            count += 1
    done = 0
    while done < count:
        node = order[done]
        done += 1
        for k in range(graph.indptr[node], graph.indptr[node + 1]):
            head = graph.heads[graph.outgoing[k]]
            missing[head] -= 1
            if missing[head] == 0:
                order[count] = head
                count += 1
    return order[:count]


@compile_serial
def costs_to_go(
    order: Integers, graph: Graph, costs: Floats, sink: int, choice: Integers
) -> Floats:
    """Return the smallest cost of a path from each node to the sink, infinite without a path.

    `choice`, shape (nodes,), receives the first edge of a cheapest path, or -1 if there is no path.
    Among equally cheap paths, it receives the edge with the lowest index.
    """
    cost = np.full(graph.indptr.size - 1, np.inf)
    choice[:] = -1
    cost[sink] = 0.0
    for k in range(order.size - 1, -1, -1):
        node = order[k]
        if node == sink:
            continue
        best = np.inf
        for j in range(graph.indptr[node], graph.indptr[node + 1]):
            edge = graph.outgoing[j]
            recorded = costs[edge] + cost[graph.heads[edge]]
            if recorded < best:
                best = recorded
                choice[node] = edge
        cost[node] = best
    return cost


@compile_serial
def follow_path(choice: Integers, heads: Integers, source: int, sink: int) -> Integers:
    """Return the edges of a path from source to sink that takes ``choice[node]`` at each node."""
    path = np.empty(choice.size, dtype=np.int64)
    length = 0
    node = source
    while node != sink:
        path[length] = choice[node]
        node = heads[choice[node]]
        length += 1
    return path[:length]


@compile_serial
def max_path_difference(order: Integers, graph: Graph, origin: int, destination: int) -> int:
    """Return the largest number of edges that are on exactly one of two paths.

    The number is the cost of a flow of two units, in which an edge counts 1 for the first unit and
    -1 for the second. The first unit takes a longest path. The second takes a shortest path in the
    residual graph, by Dijkstra with the longest distances as potentials.
    """
    nodes = graph.indptr.size - 1
    longest = np.full(nodes, -1)
    before = np.full(nodes, -1)
    via = np.full(nodes, -1)
    longest[origin] = 0
    for k in range(order.size):
        node = order[k]
        if longest[node] < 0:
            continue
        for j in range(graph.indptr[node], graph.indptr[node + 1]):
            head = graph.heads[graph.outgoing[j]]
            if longest[node] + 1 > longest[head]:
                longest[head] = longest[node] + 1
                before[head] = node
                via[head] = graph.outgoing[j]
    used = np.zeros(graph.heads.size, dtype=np.bool_)
    back = np.full(nodes, -1)
    node = destination
    while node != origin:
        used[via[node]] = True
        back[node] = before[node]
        node = before[node]
    far = 4 * nodes
    reduced = np.full(nodes, far)
    reduced[origin] = 0
    heap = [(0, origin)]
    while len(heap) > 0:
        current, node = heappop(heap)
        if current > reduced[node]:
            continue
        for j in range(graph.indptr[node], graph.indptr[node + 1]):
            edge = graph.outgoing[j]
            head = graph.heads[edge]
            difference = current + longest[head] - longest[node] + (1 if used[edge] else -1)
            if difference < reduced[head]:
                reduced[head] = difference
                heappush(heap, (difference, head))
        if back[node] >= 0 and current < reduced[back[node]]:
            reduced[back[node]] = current
            heappush(heap, (current, back[node]))
    return int(2 * longest[destination] - reduced[destination])


@compile_serial
def greedy_forest(order: Integers, ends: Integers, nodes: int) -> Integers:
    """Return a spanning forest: the edges that join two trees if added in `order` (Kruskal).

    `ends`, shape (edges, 2), has the end nodes of each edge.
    """
    parent = np.arange(nodes)
    chosen = np.empty(min(order.size, nodes), dtype=np.int64)
    count = 0
    for k in range(order.size):
        edge = order[k]
        a, b = ends[edge, 0], ends[edge, 1]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[max(a, b)] = min(a, b)
            chosen[count] = edge
            count += 1
    return chosen[:count]
