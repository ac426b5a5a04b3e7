"""Points with named layers, and active sets, against the same operations by their definitions."""

import io
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from helpers import refused

import pfbench as pf
from pfbench.adapters import from_functions
from pfbench.base.state import State
from pfbench.points import (
    Layers,
    combine,
    distance,
    gap_and_distance,
    infer_format,
    inner,
    keep,
    tilt,
)
from pfbench.points.active_atoms import ActiveSet
from pfbench.runs.loop.messages import decode, encode
from pfbench.sets.catalogue import layer_norm_ball

RNG = np.random.default_rng(0)
SHAPES = {"W": (2, 3), "b": (3,)}


def point():
    return Layers.from_arrays({name: RNG.standard_normal(shape) for name, shape in SHAPES.items()})


def test_layers_are_views_by_name_and_arithmetic_keeps_them():
    x, y = point(), point()
    z = 2.0 * x - y / 3.0
    z += 1.0
    assert type(z) is Layers
    for name in SHAPES:
        np.testing.assert_array_equal(z[name], 2.0 * x[name] - y[name] / 3.0 + 1.0)
        assert type(z[name]) is np.ndarray
    x["W"] = 0.0
    x[7:] = 5.0
    assert not x.vector[:6].any()
    assert x["b"].tolist()[1:] == [5.0, 5.0]
    assert [type(part) for part in (x[2:4], x.vector, np.asarray(x), x > 0)] == [np.ndarray] * 4


def test_operations_have_the_bits_of_vectors():
    x, y, g = point(), point(), point()
    plain = [np.array(item) for item in (x, y, g)]
    for ours, theirs in (
        (combine(x, y, 0.3), combine(plain[0], plain[1], 0.3)),
        (tilt(g, x, y, 0.7), tilt(plain[2], plain[0], plain[1], 0.7)),
        (keep(x), plain[0]),
    ):
        assert type(ours) is Layers
        np.testing.assert_array_equal(ours.vector, theirs)
    assert inner(g, x) == inner(plain[2], plain[0])
    assert distance(x, y) == distance(plain[0], plain[1])
    assert gap_and_distance(g, x, y) == gap_and_distance(plain[2], plain[0], plain[1])


@pytest.mark.parametrize("weights", [{"b": 0.5, "W": 0.1}, (0.1, 0.5)])
def test_each_layer_moves_by_a_weight_of_its_own(weights):
    x, y = point(), point()
    z = combine(x, y, weights)
    for name, w in (("W", 0.1), ("b", 0.5)):
        np.testing.assert_allclose(z[name], (1.0 - w) * x[name] + w * y[name], rtol=1e-15)


def test_a_distance_in_a_norm_of_layers():
    x, y = point(), point()
    ball = layer_norm_ball("sum(spectral[radius=2]*linf)", list(SHAPES.values()))
    expected = np.linalg.norm(x["W"] - y["W"], 2) / 2.0 + np.abs(x["b"] - y["b"]).max()
    assert distance(x, y, ball) == pytest.approx(expected, rel=1e-14)


def test_pickles_and_messages_keep_layers():
    x = point()
    arrays = bytearray()
    data = encode(x, id, arrays)
    message = decode(data, lambda kind, number: None, io.BytesIO(arrays))
    for copy in (pickle.loads(pickle.dumps(x)), message):
        assert type(copy) is Layers
        assert copy.shapes == x.shapes
        np.testing.assert_array_equal(copy, x)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: point()["w"], ("unknown layer 'w'", "W")),
        (lambda: Layers(np.zeros(4), (("W", (2, 3)),)), ("cannot be split into layers",)),
        (lambda: Layers.from_arrays({}), ("at least one layer",)),
        (lambda: point().replace({"W": np.zeros((2, 3))}), ("must have shapes",)),
        (lambda: combine(point(), point(), (0.1,)), ("one number for each", "W, ")),
        (lambda: combine(point(), point(), {"W": 0.1}), ("one number for each", "W, ")),
    ],
)
def test_layers_that_do_not_fit_are_refused(call, words):
    with refused(*words):
        call()


def test_a_point_of_other_layers_is_none_of_the_problem():
    form = infer_format(point())
    assert form.is_point(point())
    assert form.is_point(np.zeros(9))
    assert not form.is_point(Layers(np.zeros(9), (("b", (3,)), ("W", (2, 3)))))
    assert "W (2, 3), b (3,)" in form.points_text


def test_a_method_reads_layers_and_one_minimisation_counts_once():
    """And the run has the bits of the same problem on plain vectors."""

    def layered(ask, x, rng):
        for _ in range(5):
            g = ask.batch(ask.sample(rng, 3), x)
            v = ask.lo(g)
            assert (g["W1"].shape, v["W2"].shape) == ((4, 5), (3, 4))
            x = x.replace({name: x[name] + 0.1 * v[name] for name in ("W1", "W2")})
            yield State(x)

    problem = pf.problem("two-layer-network", set="none", norm="sum(spectral[lmo=quintic]*linf)")
    run = pf.solve(problem, layered, measures=["lmo_products"])
    assert (run.status, run.counts.lo, run.counts.sfo) == ("finished", 5, 15)
    assert run.final["lmo_products"] == 15.0

    def plain(ask, x, rng):
        for _ in range(5):
            x = np.asarray(x) + 0.1 * np.asarray(ask.lo(ask.batch(ask.sample(rng, 3), x)))
            yield State(x)

    np.testing.assert_array_equal(pf.solve(problem, plain).x, run.x)


def test_plain_functions_of_layers_and_their_gradients_by_name():
    start = {"W": np.ones((2, 2)), "b": np.array([3.0])}
    problem = from_functions(
        lambda x: 0.5 * float((x["W"] ** 2).sum()) + 2.0 * x["b"][0],
        lambda x: {"b": np.array([2.0]), "W": x["W"]},
        start=start,
        norm="spectral/linf",
    )
    assert problem.gradient(problem.start()).tolist() == [1.0, 1.0, 1.0, 1.0, 2.0]
    assert problem.norm.dual_norm(problem.gradient(problem.start())) == pytest.approx(4.0)
    run = pf.solve(problem, pf.algorithm("uscg", step=0.5, iterations=3, batch=1, output="last"))
    assert (run.counts.lo, run.x["b"].tolist()) == (3, [1.5])
    np.testing.assert_allclose(run.x["W"], np.full((2, 2), 1.0 - 0.75), atol=1e-12)


# --- an active set stays an exact convex combination ----------------------------------------------

D = 6
CORNERS = np.vstack([np.eye(D), -np.eye(D)])


def exactly(S):
    """The weights as fractions, by vertex."""
    return {tuple(S.vertex(i)): Fraction(float(w)) for i, w in enumerate(S.weights)}


def is_exact(S):
    """Whether the weights are above 0 and sum to 1: a wrong multiple of 2^-52 is told by fsum."""
    return S.weights.min() > 0 and math.fsum(S.weights) == 1.0


def test_weights_sum_to_one_exactly_over_many_steps_of_every_kind():
    rng = np.random.default_rng(0)
    S, largest = ActiveSet(CORNERS[0]), 0
    for t in range(10_000):
        kind, v = rng.integers(3), CORNERS[rng.integers(2 * D)]
        gamma = float(rng.choice([rng.random(), 10.0 ** -rng.uniform(0, 20), 0.0, 1.0]))
        at = int(rng.integers(len(S)))
        if kind == 0:
            S.move_toward(v, gamma)
        elif kind == 1 and len(S) > 1:
            S.move_away(at, gamma)
        else:
            S.transfer(at, v, gamma)
        largest = max(largest, len(S))
        assert is_exact(S)
        if t % 1000 == 0:
            assert sum(exactly(S).values()) == 1
            x = sum(float(w) * np.array(v) for v, w in exactly(S).items())
            assert np.abs(S.point() - x).max() <= 1e-15
    assert largest > D


def test_the_point_does_not_drift():
    """A tenth of the weight to and fro, 10 000 times: x is what it was, to the last bits."""
    S = ActiveSet(CORNERS[0])
    for i in range(1, 4):
        S.move_toward(CORNERS[i], 1.0 / (i + 1.0))
    begin = S.point()
    for _ in range(5_000):
        S.transfer(S.find_or_add(CORNERS[1]), CORNERS[2], 0.1)
        S.transfer(S.find_or_add(CORNERS[2]), CORNERS[1], 0.1)
    assert np.abs(S.point() - begin).max() <= 1e-15


@pytest.mark.parametrize("gamma", [0.0, 1e-17, 0.3, 0.5])
def test_each_move_is_what_it_says(gamma):
    S = ActiveSet(CORNERS[0])
    S.move_toward(CORNERS[1], 0.25)
    S.move_toward(CORNERS[2], 0.5)
    x, v = S.point(), CORNERS[5]
    S.move_toward(v, gamma)
    np.testing.assert_allclose(S.point(), (1 - gamma) * x + gamma * v, atol=1e-15)
    x, a = S.point(), S.find_or_add(CORNERS[2])
    share = S.weights[a]
    step = min(gamma, share / (1 - share))
    S.move_away(a, gamma)
    np.testing.assert_allclose(S.point(), x + step * (x - CORNERS[2]), atol=1e-15)
    x, a = S.point(), S.find_or_add(CORNERS[0])
    step = min(gamma, S.weights[a])
    S.transfer(a, CORNERS[7], gamma)
    np.testing.assert_allclose(S.point(), x + step * (CORNERS[7] - CORNERS[0]), atol=1e-15)
    assert is_exact(S)


def test_the_longest_steps_drop_a_vertex():
    S = ActiveSet(CORNERS[0])
    S.move_toward(CORNERS[1], 0.3)
    S.move_away(S.find_or_add(CORNERS[1]), 1.0)
    assert list(exactly(S)) == [tuple(CORNERS[0])]
    S.transfer(0, CORNERS[3], 1.0)
    assert list(exactly(S)) == [tuple(CORNERS[3])]
    S.move_toward(CORNERS[4], 1.0)
    assert list(exactly(S)) == [tuple(CORNERS[4])]


def test_the_extremes_are_those_of_all_products():
    S, g = ActiveSet(CORNERS[0]), np.array([1.0, 3.0, -2.0, 0.0, 0.0, 9.0])
    for i in range(1, 4):
        S.move_toward(CORNERS[i], 0.4)
    a, low = S.argmax_and_argmin_product(g)
    assert (tuple(S.vertex(a)), tuple(S.vertex(low))) == (tuple(CORNERS[1]), tuple(CORNERS[2]))


def test_a_vertex_that_is_a_matrix_keeps_its_shape():
    S = ActiveSet(np.eye(3))
    S.move_toward(np.eye(3)[::-1].copy(), 0.5)
    assert S.point().shape == (3, 3)
    assert len(S) == 2
    S.move_toward(np.eye(3), 0.5)
    assert len(S) == 2
