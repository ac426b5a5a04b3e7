"""The sets and penalties by name, as a selector builds them."""

import numpy as np
import pytest
from helpers import assert_one_sentence

from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector
from pfbench.points import RankOne
from pfbench.sets import (
    PENALTIES,
    SETS,
    Box,
    GroupLassoBall,
    GroupPenalty,
    KSparsePolytope,
    L1Penalty,
    MatroidBasePolytope,
    NuclearBall,
    NuclearPenalty,
    Permutahedron,
    UniformMatroid,
    feasible_set,
    penalty,
)
from pfbench.sets.catalogue import can_build

NAMES = [
    *("nuclear", "spectral", "spectrahedron", "row-norm", "column-norm"),
    *("max-row-norm", "max-column-norm"),
    *("l1", "l2", "linf", "box", "simplex", "k-sparse", "group-lasso"),
    *("birkhoff", "unit-flow", "spanning-tree", "matroid-base", "submodular-base"),
    "permutahedron",
]
SHAPES = {"vectors": (4,), "matrices": (3, 2), "square matrices": (3, 3), "arrays": (4,)}
SAMPLES = {"k": 2, "groups": 2, "radius": 1.5, "lower": -2.0, "upper": 3.0, "weight": 0.5}
BUILT = [name for name, cls in SETS.items() if not cls.required_arguments]


def chosen_of(entry):
    """All parameters, and those that are needed."""
    known = entry.parameters()
    return list(known), [name for name, one in known.items() if one.is_required]


def test_every_set_and_penalty_has_its_name():
    assert sorted(SETS) == sorted(NAMES)
    assert sorted(PENALTIES) == ["group", "l1", "nuclear"]
    for classes in (SETS, PENALTIES):
        assert all(cls.name == name and cls.source for name, cls in classes.items())


@pytest.mark.parametrize("entries", [SETS, PENALTIES])
def test_every_entry_has_one_line_and_says_how_it_is_built(entries):
    for name, entry in entries.items():
        assert entry.name == name
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


def test_the_parameters_of_a_selector_fit():
    selector = Selector.parse("k-sparse[k=2,radius=3]")
    assert feasible_set(selector.name, (4,), **selector.parameters) == KSparsePolytope(4, 3, k=2)


REFUSED = {
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
    with pytest.raises(InputError) as error:
        make()
    assert_one_sentence(error, *words)
