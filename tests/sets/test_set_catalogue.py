"""The sets and penalties by name: what they are built from, what they refuse, odd arrays."""

import math

import numpy as np
import pytest
from helpers import refused
from numpy.testing import assert_array_equal

from pfbench.base.errors import DivergedError, InputError
from pfbench.points import RankOne
from pfbench.sets import (
    PENALTIES,
    SETS,
    BirkhoffPolytope,
    Box,
    GraphicMatroid,
    GroupLassoBall,
    GroupPenalty,
    KSparsePolytope,
    L1Penalty,
    Matroid,
    MatroidBasePolytope,
    NuclearBall,
    NuclearPenalty,
    Permutahedron,
    SpanningTreePolytope,
    Spectrahedron,
    SubmodularBasePolytope,
    UniformMatroid,
    UnitFlowPolytope,
    feasible_set,
    penalty,
)
from pfbench.sets.catalogue import can_build

SHAPES = {"vectors": (4,), "matrices": (3, 2), "square matrices": (3, 3), "arrays": (4,)}
SAMPLES = {"k": 2, "groups": 2, "radius": 1.5, "lower": -2.0, "upper": 3.0, "weight": 0.5}
BUILT = [name for name, cls in SETS.items() if not cls.required_arguments]


def chosen_of(entry):
    """All parameters, and those that are needed."""
    known = entry.parameters()
    return list(known), [name for name, one in known.items() if one.is_required]


@pytest.mark.parametrize("entries", [SETS, PENALTIES])
def test_every_entry_has_one_line_and_says_how_it_is_built(entries):
    for name, entry in entries.items():
        assert entry.name == name
        assert entry.source
        assert entry.summary
        assert "\n" not in entry.summary
        assert can_build(entry, SHAPES[entry.points]) == (not entry.required_arguments)
        assert set(entry.parameters()) <= set(SAMPLES)
        assert all(one.description for one in entry.parameters().values())


@pytest.mark.parametrize("name", BUILT)
def test_every_set_that_can_be_is_built_with_all_and_with_its_required_parameters(name):
    entry = SETS[name]
    shape = SHAPES[entry.points]
    for chosen in chosen_of(entry):
        body = feasible_set(name, shape, **{key: SAMPLES[key] for key in chosen})
        assert isinstance(body, SETS[name])
        assert tuple(body.shape) == shape
        v = body.lo(np.ones(shape))
        assert body.contains(v)
        assert body.diameter > 0.0
        assert isinstance(type(body).diameter_is_exact, bool)
        assert isinstance(body.has_projection, bool)
        length = np.linalg.norm(v.matrix() if isinstance(v, RankOne) else v)
        assert length <= body.max_norm * (1.0 + 1e-12)


@pytest.mark.parametrize("name", PENALTIES)
def test_every_penalty_is_built(name):
    entry = PENALTIES[name]
    shape = SHAPES[entry.points]
    for chosen in chosen_of(entry):
        h = penalty(name, shape, **{key: SAMPLES[key] for key in chosen})
        assert isinstance(h, PENALTIES[name])
        assert h.value(np.ones(shape)) > 0.0


def test_parameters_reach_the_set():
    assert feasible_set("box", (2,), lower=-2, upper=3.0) == Box(2, -2.0, 3.0)
    assert feasible_set("k-sparse", (5,), k=2, radius=3.0) == KSparsePolytope(5, 3.0, k=2)
    assert feasible_set("group-lasso", (5,), groups=2) == GroupLassoBall(5, 1.0, groups=2)
    assert feasible_set("matroid-base", (5,), k=2) == MatroidBasePolytope(UniformMatroid(5, 2))
    assert feasible_set("nuclear", (5, 3), radius=2.0) == NuclearBall((5, 3), 2.0)
    assert feasible_set("permutahedron", (3,), radius=2.0) == Permutahedron([2.0, 4.0, 6.0])
    assert penalty("l1", (5, 3), weight=0.1) == L1Penalty(0.1)
    assert penalty("nuclear", (5, 3), weight=0.1) == NuclearPenalty(0.1)
    assert penalty("group", (5,), groups=2) == GroupPenalty(1.0, d=5, groups=2)


# --- parameters, fast bases and calls -------------------------------------------------------------

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
    "groups twice": (lambda: GroupLassoBall(3, groups=[[0, 1], [1, 2]]), ["groups", "once"]),
    "groups missing": (lambda: GroupLassoBall(3, groups=[[0], [2]]), ["groups", "once"]),
    "groups beyond": (lambda: GroupLassoBall(3, groups=[[0, 1], [2, 3]]), ["groups", "once"]),
    "groups empty": (lambda: GroupLassoBall(2, groups=[[0, 1], []]), ["groups", "non-empty"]),
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
    "flow loop": (lambda: UnitFlowPolytope([(0, 1), (1, 1)], 0, 1), ["cycle"]),
    "tree parts": (lambda: SpanningTreePolytope([(0, 1), (2, 3)]), ["2 parts", "MatroidBase"]),
    "tree missing node": (lambda: SpanningTreePolytope([(0, 1), (1, 3)]), ["4 nodes", "2 parts"]),
    "tree loop": (lambda: SpanningTreePolytope([(0, 1), (1, 1)]), ["edge 1", "itself"]),
    "not a matroid": (lambda: MatroidBasePolytope(len), ["not a matroid", "sets.Matroid"]),
    "uniform k": (lambda: UniformMatroid(3, 4), ["k=4", "d=3"]),
    "uniform negative": (lambda: UniformMatroid(3, -1), ["k=-1"]),
    "submodular empty": (lambda: SubmodularBasePolytope(2, lambda s: 1.0), ["1", "subtract"]),
    "submodular nan": (lambda: SubmodularBasePolytope(2, lambda s: math.nan), ["nan", "finite"]),
    "permutahedron empty": (lambda: Permutahedron([]), ["(0,)", "at least one"]),
    "permutahedron nan": (lambda: Permutahedron([1.0, math.nan]), ["entries", "NaN"]),
    "permutahedron radius": (lambda: Permutahedron.standard(3, -1.0), ["radius=-1"]),
    "weight": (lambda: L1Penalty(-0.5), ["weight=-0.5", "at least 0"]),
    "weight nan": (lambda: L1Penalty(math.nan), ["weight=nan", "finite"]),
    "group weight": (lambda: GroupPenalty(-1.0, d=2, groups=1), ["weight=-1"]),
    "group penalty size": (lambda: GroupPenalty(1.0, d=0, groups=1), ["d=0"]),
    "group penalty": (lambda: GroupPenalty(1.0, d=2, groups=[[0]]), ["groups", "once"]),
    "name": (lambda: feasible_set("nuklear", (3, 3)), ["'nuklear'", "'nuclear'"]),
    "parameter": (lambda: feasible_set("l1", (3,), raduis=2.0), ["'raduis'", "'radius'"]),
    "no parameter": (
        lambda: feasible_set("birkhoff", (3, 3), radius=2.0),
        ["'radius'", "no names"],
    ),
    "missing": (lambda: feasible_set("k-sparse", (3,)), ["k-sparse", "needs k", "nonzero"]),
    "range": (lambda: feasible_set("k-sparse", (3,), k=7), ["k=7", "d=3"]),
    "vectors": (lambda: feasible_set("l1", (3, 2)), ["vectors", "(3, 2)", "nuclear"]),
    "square": (lambda: feasible_set("birkhoff", (3, 2)), ["square matrices", "(3, 2)"]),
    "matrices": (lambda: feasible_set("nuclear", (3,)), ["matrices", "(3,)", "l1"]),
    "flow": (lambda: feasible_set("unit-flow", (3,)), ["Python", "UnitFlowPolytope(edges"]),
    "tree": (lambda: feasible_set("spanning-tree", (3,)), ["Python", "SpanningTreePolytope(edges"]),
    "function": (lambda: feasible_set("submodular-base", (3,)), ["SubmodularBasePolytope("]),
    "penalty": (lambda: penalty("l7", (3,)), ["penalty", "'l7'"]),
    "penalty shape": (lambda: penalty("nuclear", (3,)), ["matrices", "(3,)", "l1, group"]),
    "penalty range": (lambda: penalty("l1", (3,), weight=-1.0), ["weight=-1"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_built_is_refused_in_one_sentence(name):
    make, words = REFUSED[name]
    with refused(*words):
        make()


@pytest.mark.parametrize(
    "body",
    [
        UnitFlowPolytope([(0, 1), (1, 2), (0, 2)], 0, 2),
        SpanningTreePolytope([(0, 1), (1, 2), (0, 2)]),
        SubmodularBasePolytope(3, lambda s: math.sqrt(len(s))),
    ],
)
def test_gradients_of_another_shape_are_refused_by_sets_without_a_selector(body):
    for g in (np.zeros(4), np.zeros((3, 2)), [0.0, 0.0, 0.0], None):
        with refused("gradient", str(body.shape)):
            body.lo(g)


def test_a_value_that_is_not_finite_later_is_named():
    values = [0.0]
    body = SubmodularBasePolytope(3, lambda s: values[0])
    values[0] = math.inf
    with refused("inf", "[1]"):
        body.lo(np.array([2.0, 0.0, 1.0]))


MATROIDS = {
    "uniform": UniformMatroid(7, 3),
    "uniform 0": UniformMatroid(7, 0),
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


# --- arrays that are no plain float64 arrays of the shape -----------------------------------------

VERBS = ("lo", "minimum", "project")


def made(name):
    needed = chosen_of(SETS[name])[1]
    return feasible_set(name, SHAPES[SETS[name].points], **{key: SAMPLES[key] for key in needed})


def answer(where, verb, array):
    found = getattr(where, verb)(array)
    return found.matrix() if hasattr(found, "matrix") else found


def verbs(where):
    return [verb for verb in VERBS if verb != "project" or where.has_projection]


@pytest.mark.parametrize("name", BUILT)
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.bool_, ">f8", np.uint64])
def test_arrays_of_another_real_type_are_answered_as_in_double_precision(name, dtype):
    where, rng = made(name), np.random.default_rng(0)
    for scale in (1.0, 100.0):
        array = (scale * rng.standard_normal(where.shape)).clip(-128, 127).astype(dtype)
        if dtype is not np.bool_:
            assert where.contains(array) == where.contains(array.astype(np.float64))
        if dtype is np.int8:
            array.flat[0] = -128
        for verb in verbs(where):
            found = answer(where, verb, array)
            np.testing.assert_array_equal(found, answer(where, verb, array.astype(np.float64)))
            if verb != "minimum":
                assert found.dtype == np.float64
                assert where.contains(found)


ODD = {
    "shape": lambda shape: np.ones([k + 1 for k in shape]),
    "list": lambda shape: np.ones(shape).tolist(),
    "masked": np.ma.ones,
    "complex": lambda shape: np.ones(shape, dtype=complex),
    "text": lambda shape: np.full(shape, "1"),
}


@pytest.mark.parametrize("name", BUILT)
@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_real_array_of_the_shape_is_refused(name, odd):
    where = made(name)
    array = np.ma.masked_less(np.arange(np.prod(where.shape)), 1).reshape(where.shape)
    array = array if odd == "masked" else ODD[odd](where.shape)
    for verb in verbs(where):
        with pytest.raises(InputError):
            answer(where, verb, array)


@pytest.mark.parametrize("name", BUILT)
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_is_not_finite_diverges(name, number):
    where = made(name)
    array = np.ones(where.shape)
    array.flat[1] = number
    for verb in verbs(where):
        if (verb, name, number) == ("lo", "simplex", np.inf):
            continue  # its vertex is that of the least entry, which is finite
        with pytest.raises(DivergedError):
            answer(where, verb, array)
