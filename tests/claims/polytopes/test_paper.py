"""Pyramidal widths are computed again, and the claims on polytopes bind."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
import scipy
from judging import planted, trial

from pfbench.claims.polytopes import good_steps, openloop, table1
from pfbench.verification.instruments.quadratics import (
    POLYTOPES,
    polytope_vertices,
    pyramidal_width,
    quadratic_on_facet,
)

pytestmark = pytest.mark.claims


# --- widths ---------------------------------------------------------------------------------------


def distance(V, W):
    """The distance of two hulls: min |V'a - W'b|, a and b in simplices, by least squares."""
    scale = 1e4
    ones = np.zeros((2, len(V) + len(W)))
    ones[0, : len(V)] = ones[1, len(V) :] = scale
    system = np.vstack([np.hstack([V.T, -W.T]), ones])
    weights = scipy.optimize.nnls(system, np.append(np.zeros(V.shape[1]), [scale, scale]))[0]
    return np.linalg.norm(V.T @ weights[: len(V)] - W.T @ weights[len(V) :])


def faces(kind, d):
    """The vertices of each proper face, by places in `polytope_vertices`."""
    V = polytope_vertices(kind, d)
    if kind == "simplex":
        return [list(F) for k in range(1, d) for F in combinations(range(d), k)]
    if kind == "cube":  # some coordinates are fixed
        return [
            [i for i, v in enumerate(V) if all(v[j] == b for j, b in zip(fixed, bits, strict=True))]
            for k in range(1, d + 1)
            for fixed in combinations(range(d), k)
            for bits in product((0.0, 1.0), repeat=k)
        ]
    return [  # some coordinates with a sign each
        [j if s > 0 else d + j for j, s in zip(chosen, signs, strict=True)]
        for k in range(1, d + 1)
        for chosen in combinations(range(d), k)
        for signs in product((1, -1), repeat=k)
    ]


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("kind", POLYTOPES)
def test_a_pyramidal_width_is_the_least_distance_of_a_face_and_the_other_vertices(kind, d):
    V = polytope_vertices(kind, d)
    found = min(distance(V[F], np.delete(V, F, axis=0)) for F in faces(kind, d) if len(F) < len(V))
    assert pyramidal_width(kind, d) == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "d", "rho"),
    [("simplex", 4, 1 / 8), ("cube", 3, 1 / 36), ("l1", 3, 1 / 32), ("l1", 4, 1 / 48)],
)
def test_the_rate_is_that_of_the_formulas(kind, d, rho):
    """mu/(2 L d) on a simplex, d even; mu/(4 L d^2) on a cube, mu/(16 L (d-1)) on an l1 ball."""
    D = quadratic_on_facet(kind, d).set.diameter
    left = good_steps.suboptimality_bound(1.0, 1.0, 1.0, pyramidal_width(kind, d), D, 2)
    assert 1.0 - left == pytest.approx(rho)


# --- claims ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["afw", "pfw", "bpfw"])
def test_turns_know_the_weights_of_the_active_set(name):
    """Against the set itself: its size after each step, and what each step was."""
    from pfbench.algorithms import ALGORITHMS
    from pfbench.claims.polytopes.good_steps import ActiveSetTracker

    kept = []

    class Kept(ALGORITHMS[name]):
        def move(self, ask, S, x, g, w):
            super().move(ask, S, x, g, w)
            kept.append(S.weights.copy())

    kinds = set()
    for kind, d, turn in (("l1", 4, 1), ("cube", 3, 9), ("simplex", 6, 1), ("cube", 4, 4)):
        problem = quadratic_on_facet(kind, d, 3.0, turn)
        kept.clear()
        made = Kept(iterations=40, smoothness=1.0)
        states = list(made.run(problem, problem.start(), None))
        S = ActiveSetTracker(np.asarray(states[0].x))
        for (before, after), weights in zip(pairwise(states), kept, strict=True):
            g = problem.gradient(before.x)
            kinds.add(S.apply_and_classify_step(before.x, after.x, g, problem.set.lo(g)).kind)
            np.testing.assert_allclose(np.sort(S._weights), np.sort(weights), atol=1e-8)
    assert kinds >= {"good", "drop"}


def test_the_face_is_settled_where_it_is_said(judgements):
    found = judgements(openloop.FACE)
    assert found.verdict == "holds", found.reason
    assert openloop.settling_step(1.0, 2.0, 0.5) == 342
    assert openloop.settling_step(1.0, 2.0, 1.5) == 38
    # The least room is where the weight off the face is bounded: 2 G D (S+3)(S+4) + 8 L D^2.
    G = np.hypot(1.3, 1.5)
    bound = openloop.face_bound(100, 38, 1.0, 1.0, 2.0, G, 0.7)
    assert bound == pytest.approx((4 * np.hypot(1.3, 1.5) * 41 * 42 + 32) / (102 * 103))


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("given", "slope"),
    [
        ({"offset": 1.0}, -1.95),
        ({"offset": 2.0}, -1.99),
        ({"offset": 6.0}, -1.98),
        ({"step": "log-adaptive"}, -1.81),
    ],
)
def test_every_open_loop_falls_faster_than_line_search(given, slope):
    from pfbench.verification.trial import Trial

    found = openloop.log_suboptimality_slope(
        Trial(openloop.SEPARATION), openloop.triangle(0.3, 0.5), {"step": "open-loop"} | given, 4000
    )
    assert found == pytest.approx(slope, abs=0.15)


# --- the table of exponents -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["afw", "pfw", "bpfw"])
def test_ten_times_the_accuracy_costs_the_same_each_time(name):
    parts = np.geomspace(1e-1, 1e-7, 7)
    for instance in table1.POLYTOPES:
        spent = np.diff(table1.calls_to_reduce(trial(table1.TABLE[name]), instance(), parts, 1e-3))
        assert spent.min() >= 0.8 * spent.max(), spent


def test_without_away_steps_ten_times_the_accuracy_costs_ten_times_as_much():
    parts, afw = [0.1, 0.01, 0.001], table1.TABLE["afw"]
    for instance in table1.POLYTOPES[1:]:
        plain, away = (
            table1.calls_to_reduce(trial(afw, kind), instance(), parts, 0.1)
            for kind in (planted("afw-no-away"), None)
        )
        assert plain[1] >= 9.0 * plain[0]
        assert plain[2] >= 9.0 * plain[1] >= 9.0 * 5.0 * away[1]
