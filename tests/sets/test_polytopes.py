"""Every polytope against its definition, the list of its vertices."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from helpers import refused
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from pfbench.base.errors import DivergedError, RefusedError
from pfbench.sets import (
    BirkhoffPolytope,
    Box,
    GraphicMatroid,
    KSparsePolytope,
    L1Ball,
    LinfBall,
    Matroid,
    MatroidBasePolytope,
    Permutahedron,
    Simplex,
    SpanningTreePolytope,
    SubmodularBasePolytope,
    UniformMatroid,
    UnitFlowPolytope,
)

# --- the definitions, written down without the package --------------------------------------------


@dataclass
class Case:
    """A set and all its vertices as flat rows."""

    body: Any
    vertices: np.ndarray


def incidence(members, d):
    row = np.zeros(d)
    row[list(members)] = 1.0
    return row


def paths(edges, origin, destination):
    if origin == destination:
        return [()]
    return [
        (k, *rest)
        for k, (tail, head) in enumerate(edges)
        if tail == origin
        for rest in paths(edges, head, destination)
    ]


def spanning_trees(edges):
    nodes = max(map(max, edges)) + 1
    signed = np.zeros((len(edges), nodes))
    for k, (a, b) in enumerate(edges):
        signed[k, a], signed[k, b] = 1.0, -1.0
    return [
        tree
        for tree in itertools.combinations(range(len(edges)), nodes - 1)
        if np.linalg.matrix_rank(signed[list(tree)]) == nodes - 1
    ]


def distinct(rows):
    return np.unique(np.round(np.array(rows), 12), axis=0)


def submodular_vertices(value, d):
    """The marginal values along each order of the elements."""
    rows = []
    for order in itertools.permutations(range(d)):
        row = np.empty(d)
        for k, i in enumerate(order):
            row[i] = value(order[: k + 1]) - value(order[:k])
        rows.append(row)
    return distinct(rows)


def box():
    lower, upper = np.array([-1.0, 0.5, -3.0]), np.array([2.0, 0.75, -1.0])
    vertices = np.array(list(itertools.product(*zip(lower, upper, strict=True))))
    return Case(Box(3, lower, upper), vertices)


def k_sparse(k, d=4, radius=1.5):
    rows = []
    for support in itertools.combinations(range(d), k):
        for signs in itertools.product([-radius, radius], repeat=k):
            row = np.zeros(d)
            row[list(support)] = signs
            rows.append(row)
    return Case(KSparsePolytope(d, radius, k=k), np.array(rows))


def linf(d=3, radius=1.5):
    vertices = radius * np.array(list(itertools.product([-1.0, 1.0], repeat=d)))
    return Case(LinfBall(d, radius), vertices)


def birkhoff(m=3):
    vertices = [np.eye(m)[list(p)].ravel() for p in itertools.permutations(range(m))]
    return Case(BirkhoffPolytope(m), np.array(vertices))


# Numbered against the flow, with a parallel edge, a dead end (5), and a node (6) before the origin.
DAG = [(4, 3), (4, 2), (3, 2), (2, 0), (3, 0), (4, 3), (3, 5), (6, 4), (6, 2), (4, 0)]


def unit_flow(edges=DAG, origin=4, destination=0):
    vertices = [incidence(p, len(edges)) for p in paths(edges, origin, destination)]
    return Case(UnitFlowPolytope(edges, origin, destination), np.array(vertices))


# Two triangles that share an edge, a parallel edge, and a bridge.
GRAPH = [(0, 1), (1, 2), (0, 2), (2, 3), (1, 3), (0, 1), (3, 4)]


def spanning_tree(edges=GRAPH):
    vertices = np.array([incidence(t, len(edges)) for t in spanning_trees(edges)])
    return Case(SpanningTreePolytope(edges), vertices)


def matroid(described, bases, d):
    return Case(MatroidBasePolytope(described), np.array([incidence(b, d) for b in bases]))


def uniform(d=5, k=2):
    return matroid(UniformMatroid(d, k), list(itertools.combinations(range(d), k)), d)


FOREST = [(0, 1), (1, 2), (0, 2), (3, 4), (3, 4)]


def graphic():
    """A graph of two parts: its bases are forests."""
    bases = [(*t, k) for t in ((0, 1), (0, 2), (1, 2)) for k in (3, 4)]
    return matroid(GraphicMatroid(FOREST), bases, 5)


VECTORS = np.array([[1, 0, 1, 0, 2], [0, 1, 1, 0, 0], [0, 0, 0, 0, 0]], dtype=float)


class LinearMatroid(Matroid):
    """Columns of a matrix; element 3 is 0, and 4 is parallel to 0."""

    d = 5

    def is_independent(self, members):
        return np.linalg.matrix_rank(VECTORS[:, members]) == len(members)

    def __repr__(self):
        return "LinearMatroid()"


def linear():
    bases = [
        s for s in itertools.combinations(range(5), 2) if np.linalg.matrix_rank(VECTORS[:, s]) == 2
    ]
    return matroid(LinearMatroid(), bases, 5)


WEIGHTS = {(0, 1): 1.0, (1, 2): 2.5, (0, 3): 0.5, (2, 3): 1.5, (0, 2): 0.25}


def cut(members):
    chosen = {int(i) for i in members}
    return sum(w for (a, b), w in WEIGHTS.items() if (a in chosen) != (b in chosen))


def coverage(members):
    covers = [{0, 1}, {1, 2, 3}, {3}, {0, 4, 5}]
    return float(len(set().union(*(covers[int(i)] for i in members))))


def submodular(value, d=4):
    return Case(SubmodularBasePolytope(d, value), submodular_vertices(value, d))


def permutahedron(*entries):
    return Case(Permutahedron(entries), distinct(list(itertools.permutations(entries))))


CASES = {
    "box": box(),
    "l1": replace(k_sparse(1), body=L1Ball(4, 1.5)),
    "linf": linf(),
    "simplex": Case(Simplex(4, 1.5), 1.5 * np.eye(4)),
    "1-sparse": k_sparse(1),
    "2-sparse": k_sparse(2),
    "4-sparse": k_sparse(4),
    "birkhoff": birkhoff(),
    "flow": unit_flow(),
    "spanning-tree": spanning_tree(),
    "uniform": uniform(),
    "graphic": graphic(),
    "linear": linear(),
    "cut": submodular(cut),
    "coverage": submodular(coverage),
    "permutahedron": permutahedron(1.0, 2.0, 3.0, 4.0),
    "permutations with ties": permutahedron(0.5, -2.0, 0.5, 1.5),
}

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
PROJECTABLE = {name: case for name, case in CASES.items() if case.body.has_projection}

# Whole numbers make ties; the others do not.
ENTRIES = st.integers(-2, 2).map(float) | st.floats(-4.0, 4.0)
GRADIENTS = st.lists(ENTRIES, min_size=12, max_size=12).map(np.array)


def gradient_for(case, numbers):
    return np.resize(numbers, case.body.shape)


def is_vertex(case, v):
    if isinstance(case.body, SubmodularBasePolytope):  # sums of marginal values are rounded
        return np.abs(case.vertices - v.ravel()).max(axis=1).min() <= 1e-12
    return any(np.array_equal(v.ravel(), u) for u in case.vertices)


# --- linear minimisation --------------------------------------------------------------------------


@every_case
@settings(max_examples=10)
@given(numbers=GRADIENTS)
@example(numbers=np.zeros(12))
@example(numbers=-np.zeros(12))
@example(numbers=np.ones(12))
@example(numbers=np.r_[2.3e-8, np.zeros(11)])
def test_lo_is_a_vertex_of_least_value_by_enumeration(case, numbers):
    g = gradient_for(case, numbers)
    before = g.copy()
    v, (lower, upper) = case.body.lo(g), case.body.minimum(g)
    assert_array_equal(g, before)
    assert v.shape == case.body.shape == g.shape
    assert v.dtype == np.float64
    assert is_vertex(case, v)
    least = (case.vertices @ g.ravel()).min()
    assert_allclose(np.vdot(g, v), least, rtol=1e-13, atol=1e-13)
    assert_allclose([lower, upper], least, rtol=1e-13, atol=1e-13)
    assert lower <= upper


@every_case
@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_lo_and_minimum_of_huge_and_tiny_gradients(case, size):
    g = np.random.default_rng(3).standard_normal(case.body.shape)
    assert_array_equal(case.body.lo(size * g), case.body.lo(g))
    assert_allclose(np.array(case.body.minimum(size * g)) / size, case.body.minimum(g), rtol=1e-12)


@every_case
def test_sums_of_the_largest_floats_do_not_overflow_on_the_way_to_the_vertex(case):
    random = np.sign(np.random.default_rng(4).standard_normal(case.body.shape))
    for signs in (random, np.ones(case.body.shape), -np.ones(case.body.shape)):
        v = case.body.lo(1.7e308 * signs)
        assert is_vertex(case, v)
        assert_allclose(np.vdot(signs, v), (case.vertices @ signs.ravel()).min(), rtol=1e-13)


def test_the_cost_of_a_path_may_exceed_the_largest_float():
    body = UnitFlowPolytope([(0, 1), (1, 2), (0, 1)], 0, 2)
    assert_array_equal(body.lo(np.array([1.7e308, 1.7e308, 1.6e308])), [0, 1, 1])
    assert_array_equal(body.lo(np.array([-1.6e308, -1.7e308, -1.7e308])), [0, 1, 1])


@every_case
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", [0, -1])
def test_what_is_not_finite_is_divergence(case, bad, where):
    g = np.ones(case.body.shape)
    g.flat[where] = bad
    asks = [case.body.lo, case.body.minimum]
    if isinstance(case.body, Simplex) and bad == np.inf:  # its vertex does not depend on it
        asks = [case.body.minimum]
    if case.body.has_projection:
        asks.append(case.body.project)
    for ask in asks:
        with pytest.raises(DivergedError):
            ask(g)


def test_ties_go_to_the_lowest_index():
    assert_array_equal(KSparsePolytope(4, k=2).lo(np.array([1.0, -2.0, 1.0, -1.0])), [-1, 1, 0, 0])
    assert_array_equal(KSparsePolytope(4, k=2).lo(np.array([0.0, 0.0, 3.0, 0.0])), [1, 0, -1, 0])
    assert_array_equal(Box(3, -1.0, [1.0, 2.0, 3.0]).lo(np.array([0.0, 1.0, -0.0])), [1, -1, 3])
    assert_array_equal(BirkhoffPolytope(3).lo(np.zeros((3, 3))), np.eye(3))
    # Of the paths of equal cost, the one of the lowest edge at each node.
    assert_array_equal(np.flatnonzero(UnitFlowPolytope(DAG, 4, 0).lo(np.zeros(10))), [0, 2, 3])
    assert_array_equal(np.flatnonzero(UnitFlowPolytope(DAG, 4, 0).lo(np.ones(10))), [9])
    assert_array_equal(np.flatnonzero(SpanningTreePolytope(GRAPH).lo(np.ones(7))), [0, 1, 3, 6])
    assert_array_equal(
        MatroidBasePolytope(UniformMatroid(4, 2)).lo(np.array([1.0, 0, 1, 1])), [1, 1, 0, 0]
    )
    assert_array_equal(Permutahedron([1.0, 2.0, 3.0]).lo(np.zeros(3)), [3, 2, 1])
    assert_array_equal(SubmodularBasePolytope(4, coverage).lo(np.zeros(4)), [2, 2, 0, 2])


# --- projection -----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", PROJECTABLE.values(), ids=PROJECTABLE)
@given(numbers=GRADIENTS, size=st.sampled_from([0.1, 1.0, 30.0]))
def test_projection_is_feasible_idempotent_and_satisfies_the_variational_inequality(
    case, numbers, size
):
    y = size * gradient_for(case, numbers)
    before = y.copy()
    p = case.body.project(y)
    assert_array_equal(y, before)
    assert case.body.contains(p, 1e-13)
    # <y - p, v - p> <= 0 for every vertex v: then, and only then, p is the projection.
    assert ((case.vertices - p) @ (y - p)).max() <= 1e-12 * (10.0 + 4.0 * size) ** 2
    assert_allclose(case.body.project(p), p, atol=1e-13)
    inside = case.vertices.mean(axis=0) + 0.01 * numbers[0] * (case.vertices[0] - p)
    if case.body.contains(inside, 0.0):
        assert_allclose(case.body.project(inside), inside, atol=1e-14)


@pytest.mark.parametrize("case", PROJECTABLE.values(), ids=PROJECTABLE)
@pytest.mark.parametrize("size", [1e10, 1e17, 1e300, 1.7e308])
def test_points_far_outside_are_projected_into_the_set(case, size):
    rng = np.random.default_rng(5)
    d = case.vertices.shape[1]
    if isinstance(case.body, L1Ball | Simplex):
        size = min(size, 1e300)  # moduli are added up
    for direction in (*np.eye(d), np.ones(d), -np.ones(d), *np.sign(rng.standard_normal((5, d)))):
        p = case.body.project(size * direction)
        assert case.body.contains(p, 1e-12)
        # So far out the projection lies on the face in that direction ...
        assert_allclose(p @ direction, (case.vertices @ direction).max(), atol=1e-9)
        # ... and is symmetric there: entries that y does not tell apart are equal.
        if isinstance(case.body, KSparsePolytope | Permutahedron):
            for value in np.unique(direction):
                assert np.ptp(p[direction == value]) <= 1e-12


def test_huge_and_small_entries_are_projected_together():
    assert_allclose(
        KSparsePolytope(3, k=2).project(np.array([1e300, 0.9, -0.8])),
        [1.0, 0.55, -0.45],
        rtol=1e-14,
    )
    p = Permutahedron([3.0, 2.0, 1.0]).project(np.array([0.3, -1e300, 0.1]))
    assert_allclose(p, [2.6, 1.0, 2.4], rtol=1e-14)
    near = Permutahedron([10.0, 0.0]).project(np.array([1e17, 1e17 + 16.0]))
    assert_allclose(near, [0.0, 10.0])


REFUSING = {name: case for name, case in CASES.items() if name not in PROJECTABLE}


@pytest.mark.parametrize("case", REFUSING.values(), ids=REFUSING)
def test_a_projection_that_has_no_closed_form_is_refused(case):
    with refused(case.body.name, "projection-free", error=RefusedError):
        case.body.project(np.zeros(case.body.shape))


def test_which_sets_have_a_projection():
    names = {case.body.name for case in PROJECTABLE.values()}
    assert names == {"box", "l1", "linf", "simplex", "k-sparse", "permutahedron"}


# --- diameter -------------------------------------------------------------------------------------


def largest_distance(case):
    return np.linalg.norm(case.vertices[:, None] - case.vertices[None], axis=2).max()


@every_case
def test_diameter_is_attained_by_two_vertices_or_a_bound_of_their_distance(case):
    attained = largest_distance(case)
    assert attained <= case.body.diameter * (1.0 + 1e-14)
    if case.body.diameter_is_exact:
        assert_allclose(case.body.diameter, attained, rtol=1e-14)


def test_the_bounds_are_attained_where_they_are_said_to_be_exact():
    for name in ("uniform",):
        assert_allclose(CASES[name].body.diameter, largest_distance(CASES[name]), rtol=1e-14)
    for name in ("spanning-tree", "cut", "coverage"):
        assert CASES[name].body.diameter <= 2.0 * largest_distance(CASES[name])


def test_sets_of_one_point_have_diameter_0():
    bodies = [
        Box(2, 1.5, 1.5),
        BirkhoffPolytope(1),
        UnitFlowPolytope([(0, 1)], 0, 1),
        SpanningTreePolytope([(0, 1), (1, 2)]),
        MatroidBasePolytope(UniformMatroid(3, 3)),
        MatroidBasePolytope(UniformMatroid(3, 0)),
        SubmodularBasePolytope(1, lambda s: 2.0 * len(s)),
        Permutahedron([2.0, 2.0]),
    ]
    for body in bodies:
        assert body.diameter == 0.0
        only = body.random_vertex(np.random.default_rng(0))
        assert_array_equal(body.lo(np.ones(body.shape)), only)
        assert_array_equal(body.start(), only)
        assert body.contains(only)
        assert not body.contains(only + 1e-6)


# --- membership -----------------------------------------------------------------------------------


def reach(vertices, centre, direction):
    """The largest s for which centre + s direction is a convex combination of the vertices."""
    k = len(vertices)
    result = linprog(
        np.append(np.zeros(k), -1.0),
        A_eq=np.vstack([np.column_stack([vertices.T, -direction]), np.append(np.ones(k), 0.0)]),
        b_eq=np.append(centre, 1.0),
    )
    assert result.status == 0
    return -result.fun


@every_case
def test_membership_changes_at_the_boundary(case):
    rng, shape = np.random.default_rng(1), case.body.shape
    spread = np.abs(case.vertices).max()
    for _ in range(15):
        weights = rng.dirichlet(np.full(len(case.vertices), 0.3), size=2)
        centre, other = weights @ case.vertices
        direction = (other - centre) / np.linalg.norm(other - centre) * spread
        s = reach(case.vertices, centre, direction)
        # A little outside is enough for a facet that the direction crosses at a small angle.
        for step, inside in ((0.0, True), (s - 1e-7, True), (s + 1e-4, False), (s + 0.5, False)):
            x = (centre + step * direction).reshape(shape)
            assert case.body.contains(x) is inside


@every_case
def test_vertices_are_members_with_a_tolerance_for_rounding_only(case):
    centre = case.vertices.mean(axis=0)
    for v in case.vertices[:12]:
        v = v.reshape(case.body.shape)
        out = v - centre.reshape(case.body.shape)
        assert case.body.contains(v)
        assert case.body.contains(v + 1e-11 * out)
        assert not case.body.contains(v + 1e-6 * out)
        assert case.body.contains(v + 0.01 * out, tolerance=0.5)
    assert not case.body.contains(np.full(case.body.shape, np.nan))
    assert not case.body.contains(np.full(case.body.shape, np.inf))
    assert not case.body.contains(np.zeros((1, 1, 1)))
    assert not case.body.contains("x")


@every_case
def test_points_off_the_affine_hull_are_outside(case):
    """Moved along an entry, or from one entry to another, so that sums are kept."""
    d = case.vertices.shape[1]
    centre = case.vertices.mean(axis=0)
    spread = case.vertices - centre
    rank = np.linalg.matrix_rank(spread)
    moves = [*np.eye(d), *(a - b for a, b in itertools.combinations(np.eye(d), 2))]
    for move in moves:
        if np.linalg.matrix_rank(np.vstack([spread, move])) > rank:
            for step in (1e-6, -1e-6, 0.1):
                assert not case.body.contains((centre + step * move).reshape(case.body.shape))


# --- vertices and starts --------------------------------------------------------------------------


@every_case
def test_random_vertices_are_vertices_and_all_occur(case):
    rng = np.random.default_rng(0)
    drawn = [case.body.random_vertex(rng) for _ in range(400)]
    assert all(v.shape == case.body.shape and is_vertex(case, v) for v in drawn)
    assert len(distinct([v.ravel() for v in drawn])) == len(case.vertices)


@every_case
def test_the_start_is_0_where_it_can_be_and_a_fresh_vertex_elsewhere(case):
    start = case.body.start()
    assert start.shape == case.body.shape
    if case.body.contains(np.zeros(case.body.shape), 1e-12):
        assert not start.any()
    else:
        assert is_vertex(case, start)
    start += 9.0
    assert case.body.contains(case.body.start())


def test_which_sets_hold_0():
    holding = {name for name, case in CASES.items() if not case.body.start().any()}
    assert holding == {"l1", "linf", "1-sparse", "2-sparse", "4-sparse", "cut"}
    assert not Box(2, -1.0, 1.0).start().any()
    assert not Permutahedron([1.0, -1.0]).start().any()


@every_case
def test_sets_are_compared_and_hashed_by_content(case):
    again = {name: other for name, other in CASES.items() if other.body == case.body}
    assert len(again) == 1
    assert hash(case.body) == hash(next(iter(again.values())).body)
    assert "..." not in repr(case.body)


def test_two_sets_made_of_equal_arrays_are_equal_and_their_arrays_do_not_change():
    edges = np.array(DAG)
    body = UnitFlowPolytope(edges, 4, 0)
    assert body == unit_flow().body
    assert repr(body) == repr(unit_flow().body)
    assert body != UnitFlowPolytope([*DAG, (4, 0)], 4, 0)
    assert body != UnitFlowPolytope(DAG, 4, 2)
    edges[:] = 0
    assert body == unit_flow().body
    with pytest.raises(ValueError, match="read-only"):
        body.edges[0, 0] = 1
    assert Box(1000, np.zeros(1000)) != Box(1000, np.eye(1000)[500] * 0.5)


# --- many random graphs ---------------------------------------------------------------------------


def random_dag(rng):
    nodes = int(rng.integers(2, 7))
    pairs = [(a, b) for a in range(nodes) for b in range(a + 1, nodes)]
    edges = [pairs[k] for k in rng.integers(len(pairs), size=rng.integers(1, 11))]
    names = rng.permutation(nodes)
    edges = [(int(names[a]), int(names[b])) for a, b in edges]
    return edges, edges[0][0], edges[int(rng.integers(len(edges)))][1]


def test_random_acyclic_graphs():
    rng = np.random.default_rng(2)
    tried = 0
    while tried < 150:
        edges, origin, destination = random_dag(rng)
        if origin == destination or not paths(edges, origin, destination):
            continue
        tried += 1
        case = unit_flow(edges, origin, destination)
        assert_allclose(case.body.diameter, largest_distance(case), atol=1e-12)
        for _ in range(5):
            g = rng.integers(-3, 4, size=len(edges)).astype(float)
            v = case.body.lo(g)
            assert is_vertex(case, v)
            assert g @ v == (case.vertices @ g).min()
        assert is_vertex(case, case.body.random_vertex(rng))


def test_the_two_paths_that_differ_most_need_not_include_a_longest_one():
    """0 to 1 and 2 to 9 in two edges each; so are 0 to 2 and 1 to 9; and an edge 1 to 2."""
    edges = [(0, 3), (3, 1), (1, 2), (2, 4), (4, 9), (0, 5), (5, 2), (1, 6), (6, 9)]
    case = unit_flow(edges, 0, 9)
    longest = case.vertices[case.vertices.sum(axis=1) == 5.0]
    assert np.linalg.norm(case.vertices[:, None] - longest, axis=2).max() < math.sqrt(8.0)
    assert_allclose(case.body.diameter, math.sqrt(8.0), rtol=1e-15)


def test_random_connected_graphs():
    rng = np.random.default_rng(2)
    tried = 0
    while tried < 60:
        nodes = int(rng.integers(2, 6))
        pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
        edges = [pairs[k] for k in rng.integers(len(pairs), size=rng.integers(1, 9))]
        if max(map(max, edges)) < nodes - 1 or not spanning_trees(edges):
            continue
        tried += 1
        case = spanning_tree(edges)
        assert largest_distance(case) <= case.body.diameter + 1e-12
        for _ in range(5):
            g = rng.integers(-3, 4, size=len(edges)).astype(float)
            v = case.body.lo(g)
            assert is_vertex(case, v)
            assert g @ v == (case.vertices @ g).min()


def test_a_path_through_many_nodes():
    """A ladder: 2^2000 paths of 2000 edges each, the cheapest known."""
    n = 2000
    edges = np.repeat(np.stack([np.arange(n), np.arange(1, n + 1)], axis=1), 2, axis=0)
    body = UnitFlowPolytope(edges, 0, n)
    g = np.random.default_rng(0).standard_normal(2 * n)
    pairs = g.reshape(n, 2)
    assert_allclose(body.minimum(g)[0], pairs.min(axis=1).sum(), rtol=1e-12)
    assert_array_equal(body.lo(g).reshape(n, 2), np.eye(2)[pairs.argmin(axis=1)])
    assert_allclose(body.diameter, math.sqrt(2.0 * n))
    assert body.contains(np.full(2 * n, 0.5))
    assert not body.contains(np.full(2 * n, 0.51))
