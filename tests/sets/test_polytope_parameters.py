"""Bad parameters are refused in one sentence before any work; fast bases equal greedy ones."""

import math

import numpy as np
import pytest
from helpers import assert_one_sentence
from numpy.testing import assert_array_equal

from pfbench.base.errors import InputError
from pfbench.sets import (
    BirkhoffPolytope,
    Box,
    GraphicMatroid,
    GroupLassoBall,
    GroupPenalty,
    KSparsePolytope,
    L1Penalty,
    Matroid,
    MatroidBasePolytope,
    OracleMatroid,
    PartitionMatroid,
    Permutahedron,
    SpanningTreePolytope,
    Spectrahedron,
    SubmodularBasePolytope,
    UniformMatroid,
    UnitFlowPolytope,
)

REFUSED = {
    "box size": (lambda: Box(0), ["d=0", "at least 1"]),
    "box crossed": (lambda: Box(2, [0.0, 3.0], 1.0), ["entry 1", "exchange"]),
    "box nan": (lambda: Box(2, math.nan, 1.0), ["lower=nan", "finite"]),
    "box inf": (lambda: Box(2, 0.0, [1.0, math.inf]), ["upper", "infinite"]),
    "box shape": (lambda: Box(2, np.zeros(3)), ["lower", "(3,)", "(2,)"]),
    "box text": (lambda: Box(2, "a"), ["lower='a'", "number"]),
    "sparse k": (lambda: KSparsePolytope(3, k=4), ["k=4", "at most d=3"]),
    "sparse k 0": (lambda: KSparsePolytope(3, k=0), ["k=0", "at least 1"]),
    "sparse k real": (lambda: KSparsePolytope(3, k=1.5), ["k=1.5", "integer"]),
    "sparse radius": (lambda: KSparsePolytope(3, -1.0, k=1), ["radius=-1", "greater than 0"]),
    "sparse size": (lambda: KSparsePolytope(0, k=1), ["d=0"]),
    "groups length": (lambda: GroupLassoBall(3, groups=0), ["groups=0", "at least 1"]),
    "groups text": (lambda: GroupLassoBall(3, groups="ab"), ["groups='ab'", "integer"]),
    "groups flat": (lambda: GroupLassoBall(3, groups=[0, 1, 2]), ["groups=[0, 1, 2]", "lists"]),
    "groups twice": (lambda: GroupLassoBall(3, groups=[[0, 1], [1, 2]]), ["index 1", "twice"]),
    "groups missing": (lambda: GroupLassoBall(3, groups=[[0], [2]]), ["index 1", "no group"]),
    "groups beyond": (lambda: GroupLassoBall(3, groups=[[0, 1], [2, 3]]), ["index 3", "d=3"]),
    "groups empty": (lambda: GroupLassoBall(2, groups=[[0, 1], []]), ["group 1", "empty"]),
    "groups negative": (lambda: GroupLassoBall(2, groups=[[0, -1]]), ["index", "-1"]),
    "groups radius": (lambda: GroupLassoBall(2, 0.0, groups=1), ["radius=0"]),
    "birkhoff": (lambda: BirkhoffPolytope(0), ["m=0", "at least 1"]),
    "spectrahedron": (lambda: Spectrahedron(0), ["d=0", "at least 1"]),
    "spectrahedron radius": (lambda: Spectrahedron(2, 0.0), ["radius=0", "greater than 0"]),
    "flow no edges": (lambda: UnitFlowPolytope([], 0, 1), ["pair", "(tail, head)"]),
    "flow triples": (lambda: UnitFlowPolytope([(0, 1, 2)], 0, 1), ["(1, 3)", "pair"]),
    "flow reals": (lambda: UnitFlowPolytope([(0.0, 1.0)], 0, 1), ["integers", "float64"]),
    "flow negative": (lambda: UnitFlowPolytope([(0, 1), (1, -2)], 0, 1), ["edge 1", "negative"]),
    "flow origin": (lambda: UnitFlowPolytope([(0, 1)], 2, 1), ["origin=2", "node"]),
    "flow same": (
        lambda: UnitFlowPolytope([(0, 1)], 1, 1),
        ["origin and destination", "different"],
    ),
    "flow unreachable": (
        lambda: UnitFlowPolytope([(0, 1), (2, 1)], 0, 2),
        ["origin=0", "destination=2"],
    ),
    "flow cycle": (
        lambda: UnitFlowPolytope([(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)], 0, 4),
        ["cycle", "acyclic"],
    ),
    "flow loop": (lambda: UnitFlowPolytope([(0, 1), (1, 1)], 0, 1), ["edge 1 (1 -> 1)", "cycle"]),
    "tree parts": (lambda: SpanningTreePolytope([(0, 1), (2, 3)]), ["2 parts", "MatroidBase"]),
    "tree missing node": (lambda: SpanningTreePolytope([(0, 1), (1, 3)]), ["4 nodes", "2 parts"]),
    "tree loop": (lambda: SpanningTreePolytope([(0, 1), (1, 1)]), ["edge 1", "itself"]),
    "not a matroid": (lambda: MatroidBasePolytope(len), ["not a matroid", "OracleMatroid"]),
    "uniform k": (lambda: UniformMatroid(3, 4), ["k=4", "d=3"]),
    "uniform negative": (lambda: UniformMatroid(3, -1), ["k=-1"]),
    "partition capacity": (lambda: PartitionMatroid([0, 2], [1, 1]), ["class 2", "3 capacities"]),
    "partition negative": (lambda: PartitionMatroid([0, 0], [-1]), ["capacities", "-1"]),
    "partition reals": (lambda: PartitionMatroid([0.5], [1]), ["labels", "integers"]),
    "oracle empty": (lambda: OracleMatroid(2, lambda s: False), ["empty set", "dependent"]),
    "submodular empty": (lambda: SubmodularBasePolytope(2, lambda s: 1.0), ["1", "subtract"]),
    "submodular nan": (lambda: SubmodularBasePolytope(2, lambda s: math.nan), ["nan", "finite"]),
    "supermodular": (
        lambda: SubmodularBasePolytope(4, lambda s: float(len(s) ** 2)),
        ["not submodular", "element"],
    ),
    "supermodular above one element": (
        lambda: SubmodularBasePolytope(3, lambda s: (0.0, 1.0, 1.0, 1.5)[len(s)]),
        ["not submodular", "adds 0 to", "but 0.5 if"],
    ),
    "permutahedron empty": (lambda: Permutahedron([]), ["(0,)", "at least one"]),
    "permutahedron nan": (lambda: Permutahedron([1.0, math.nan]), ["entries", "NaN"]),
    "permutahedron radius": (lambda: Permutahedron.standard(3, -1.0), ["radius=-1"]),
    "weight": (lambda: L1Penalty(-0.5), ["weight=-0.5", "at least 0"]),
    "weight nan": (lambda: L1Penalty(math.nan), ["weight=nan", "finite"]),
    "group weight": (lambda: GroupPenalty(-1.0, d=2, groups=1), ["weight=-1"]),
    "group penalty size": (lambda: GroupPenalty(1.0, d=0, groups=1), ["d=0"]),
    "group penalty": (lambda: GroupPenalty(1.0, d=2, groups=[[0]]), ["index 1", "no group"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_parameters_are_refused_in_one_sentence(name):
    make, words = REFUSED[name]
    with pytest.raises(InputError) as error:
        make()
    assert_one_sentence(error, *words)


def test_the_edge_that_is_named_lies_on_a_cycle():
    """Behind the cycle 1 -> 2 -> 3 -> 1 lie edges that are on none."""
    with pytest.raises(InputError) as error:
        UnitFlowPolytope([(3, 4), (0, 1), (4, 5), (1, 2), (2, 3), (3, 1)], 0, 4)
    assert any(f"edge {k} " in str(error.value) for k in (3, 4, 5))


@pytest.mark.parametrize(
    "body",
    [
        Box(3),
        KSparsePolytope(3, k=2),
        GroupLassoBall(3, groups=2),
        BirkhoffPolytope(3),
        Spectrahedron(3),
        UnitFlowPolytope([(0, 1), (1, 2), (0, 2)], 0, 2),
        SpanningTreePolytope([(0, 1), (1, 2), (0, 2)]),
        MatroidBasePolytope(UniformMatroid(3, 1)),
        SubmodularBasePolytope(3, lambda s: math.sqrt(len(s))),
        Permutahedron([1.0, 2.0, 3.0]),
    ],
)
def test_gradients_of_another_shape_are_refused(body):
    for g in (np.zeros(4), np.zeros((3, 2)), [0.0, 0.0, 0.0], None):
        with pytest.raises(InputError) as error:
            body.lo(g)
        assert_one_sentence(error, "gradient", str(body.shape))


def test_a_value_that_is_not_finite_later_is_named():
    values = [0.0]
    body = SubmodularBasePolytope(3, lambda s: values[0])
    values[0] = math.inf
    with pytest.raises(InputError) as error:
        body.lo(np.array([2.0, 0.0, 1.0]))
    assert_one_sentence(error, "inf", "[1]")


MATROIDS = {
    "uniform": UniformMatroid(7, 3),
    "uniform 0": UniformMatroid(7, 0),
    "partition": PartitionMatroid([0, 2, 0, 3, 2, 2, 0], [2, 4, 1, 0]),
    "graphic": GraphicMatroid([(0, 1), (1, 2), (0, 2), (3, 4), (3, 4), (2, 3), (5, 1)]),
}


@pytest.mark.parametrize("name", MATROIDS)
def test_the_fast_basis_is_the_greedy_one_and_what_is_exchanged_is_bounded(name):
    matroid, rng = MATROIDS[name], np.random.default_rng(0)
    for _ in range(50):
        order = rng.permutation(matroid.d)
        assert_array_equal(matroid.greedy_basis(order), Matroid.greedy_basis(matroid, order))
    bases = [set(matroid.greedy_basis(rng.permutation(matroid.d)).tolist()) for _ in range(80)]
    most = max(len(a - b) for a in bases for b in bases)
    assert most <= matroid.max_basis_exchange() <= Matroid.max_basis_exchange(matroid)


def test_the_oracle_is_asked_once_for_each_element():
    asked = []

    def oracle(members):
        asked.append(len(members))
        return len(members) <= 2

    body = MatroidBasePolytope(OracleMatroid(6, oracle))
    asked.clear()
    body.lo(np.arange(6.0))
    assert asked == [1, 2, 3, 3, 3, 3]


def test_the_function_is_asked_once_for_each_set_of_the_chain():
    asked = []

    def function(members):
        asked.append(members.tolist())
        return math.sqrt(len(members))

    body = SubmodularBasePolytope(4, function)
    body.lo(np.zeros(4))
    asked.clear()
    body.lo(np.array([3.0, 1.0, 2.0, 0.0]))
    assert asked == [[3], [3, 1], [3, 1, 2]]
