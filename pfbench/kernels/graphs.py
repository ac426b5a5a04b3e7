"""Loops over the edges of a graph: topological order, shortest paths, spanning forests.

A directed graph is given by its edges sorted by tail: `outgoing[indptr[i]:indptr[i + 1]]` are the
edges that leave node i, in ascending order; `heads` and `tails` are indexed by edge.
"""

import numpy as np
import numpy.typing as npt

from pfbench.kernels.compiled import compiled

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@compiled
def topological_order(indptr: Integers, outgoing: Integers, heads: Integers) -> Integers:
    """Return the nodes so that edges lead forward; those on or behind a cycle are left out."""
    nodes = indptr.size - 1
    missing = np.zeros(nodes, dtype=np.int64)
    for edge in range(heads.size):
        missing[heads[edge]] += 1
    order = np.empty(nodes, dtype=np.int64)
    found = 0
    for node in range(nodes):
        if missing[node] == 0:
            order[found] = node
            found += 1
    done = 0
    while done < found:
        node = order[done]
        done += 1
        for k in range(indptr[node], indptr[node + 1]):
            head = heads[outgoing[k]]
            missing[head] -= 1
            if missing[head] == 0:
                order[found] = head
                found += 1
    return order[:found]


@compiled
def costs_to_go(
    order: Integers,
    indptr: Integers,
    outgoing: Integers,
    heads: Integers,
    costs: Floats,
    sink: int,
    choice: Integers,
) -> Floats:
    """Return the least cost from each node to the sink (infinite if there is no path).

    `choice`, shape (nodes,), receives the first edge of a cheapest path (-1 if there is none);
    ties go to the lowest edge.
    """
    cost = np.full(indptr.size - 1, np.inf)
    choice[:] = -1
    cost[sink] = 0.0
    for k in range(order.size - 1, -1, -1):
        node = order[k]
        if node == sink:
            continue
        best = np.inf
        for j in range(indptr[node], indptr[node + 1]):
            edge = outgoing[j]
            there = costs[edge] + cost[heads[edge]]
            if there < best:
                best = there
                choice[node] = edge
        cost[node] = best
    return cost


@compiled
def follow(choice: Integers, heads: Integers, source: int, sink: int) -> Integers:
    """Return the edges of the path that takes edge ``choice[node]`` at each node."""
    path = np.empty(choice.size, dtype=np.int64)
    length = 0
    node = source
    while node != sink:
        path[length] = choice[node]
        node = heads[choice[node]]
        length += 1
    return path[:length]


@compiled
def residual_gain(
    tails: Integers,
    heads: Integers,
    used: npt.NDArray[np.bool_],
    nodes: int,
    source: int,
    sink: int,
) -> int:
    """Return the largest number of edges that a second unit of flow can add.

    Where the first unit passes (`used`, shape (edges,)), a second one costs an edge, and so does
    taking the first one back; elsewhere it gains an edge (Bellman-Ford).
    """
    cost = np.full(nodes, nodes * 4)
    cost[source] = 0
    for _ in range(nodes):
        changed = False
        for edge in range(tails.size):
            tail, head = tails[edge], heads[edge]
            step = 1 if used[edge] else -1
            if cost[tail] < nodes * 2 and cost[tail] + step < cost[head]:
                cost[head] = cost[tail] + step
                changed = True
            if used[edge] and cost[head] < nodes * 2 and cost[head] + 1 < cost[tail]:
                cost[tail] = cost[head] + 1
                changed = True
        if not changed:
            break
    return int(-cost[sink])


@compiled
def greedy_forest(order: Integers, ends: Integers, nodes: int) -> Integers:
    """Return the edges that join two trees when they are added in `order` (Kruskal).

    `ends`, shape (edges, 2), are the end nodes of each edge.
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
