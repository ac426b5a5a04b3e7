"""The quadratics with a known minimiser, against their definition and what they promise."""

import numpy as np
import pytest
from helpers import assert_one_sentence
from numpy.testing import assert_allclose

from pfbench.base.errors import InputError
from pfbench.base.sample import Sample
from pfbench.sets import L1Ball, L2Ball, Simplex
from pfbench.verification.instruments.quadratics import (
    KnownQuadratic,
    boundary_of_l2_ball,
    face_of_l1_ball,
    face_of_simplex,
    interior_of_l2_ball,
    make_restricted_quadratic,
    nesterov_chain,
    rows_of_spectrum,
    vertex_of_simplex,
)

SHAPES = (
    vertex_of_simplex,
    face_of_simplex,
    face_of_l1_ball,
    boundary_of_l2_ball,
    interior_of_l2_ball,
)


def generator(seed=0):
    return np.random.default_rng(seed)


def tiny(shift=0.0):
    """Five rows in three dimensions, inside an l2 ball."""
    rng = generator()
    zero = np.zeros(3)
    return KnownQuadratic(
        L2Ball(3), rng.standard_normal((5, 3)), zero + 0.2, zero, zero - 0.3, 1e-3, shift=shift
    )


def component(problem, i, x):
    """f_i as the docstring defines it."""
    u = x - problem.minimiser
    square = (problem.rows[i] @ u) ** 2 + problem.shift * (u @ u)
    return problem.slope @ u + square / 2


def slope(function, x, step=1e-5):
    unit = np.eye(x.size) * step
    return np.array([(function(x + u) - function(x - u)) / (2 * step) for u in unit])


def points(problem, rng, count=300):
    """Points of the set: mixtures of vertices with the minimiser, and pushed towards it."""
    found = []
    for _ in range(count):
        corners = [problem.set.random_vertex(rng) for _ in range(rng.integers(1, 6))]
        weights = rng.dirichlet(np.ones(len(corners) + 1))
        found.append(weights[0] * problem.minimiser + weights[1:] @ np.array(corners))
    return found


# --- the oracles ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, -0.4])
def test_oracles_are_those_of_the_components(shift):
    problem = tiny(shift)
    x, y = np.array([0.1, -0.4, 0.3]), np.array([0.5, 0.2, -0.1])
    at = {
        "x": np.array([slope(lambda z, i=i: component(problem, i, z), x) for i in range(5)]),
        "y": np.array([slope(lambda z, i=i: component(problem, i, z), y) for i in range(5)]),
    }
    assert problem.value(x) == pytest.approx(np.mean([component(problem, i, x) for i in range(5)]))
    assert_allclose(problem.gradient(x), at["x"].mean(axis=0), atol=1e-9)
    sample = np.array([0, 3, 3, 4])
    assert_allclose(problem.batch(sample, x), at["x"][sample].mean(axis=0), atol=1e-9)
    difference = (at["x"] - at["y"])[sample].mean(axis=0)
    assert_allclose(problem.difference(sample, x, y), difference, atol=1e-9)
    counted = Sample(np.array([0, 3, 4]), np.array([1, 2, 1]))
    assert_allclose(problem.difference(counted, x, y), difference, atol=1e-9)
    hessian = problem.hessian(x)
    assert_allclose(hessian.product(x, y), (at["x"] - at["y"]).mean(axis=0), atol=1e-9)
    assert_allclose(hessian.batch(sample, x, y), difference, atol=1e-9)
    assert_allclose(problem.table(x).mean, at["x"].mean(axis=0), atol=1e-9)
    assert_allclose(problem.table(y).difference(sample, x), difference, atol=1e-9)


@pytest.mark.parametrize("shift", [0.0, -0.4])
def test_constants_bound_random_pairs_and_are_attained(shift):
    problem = tiny(shift)
    known, rng = problem.constants(problem.start()), generator(1)
    hessians = [np.outer(a, a) + shift * np.eye(3) for a in problem.rows]
    mean = np.mean(hessians, axis=0)
    directions = [u / np.linalg.norm(u) for u in rng.standard_normal((3000, 3))]
    for name, sizes in (
        ("L_f", [np.linalg.norm(mean @ u) for u in directions]),
        ("L_ms", [np.mean([np.sum((H @ u) ** 2) for H in hessians]) ** 0.5 for u in directions]),
        ("L_max", [max(np.linalg.norm(H @ u) for H in hessians) for u in directions]),
    ):
        bound = getattr(known, name)
        assert 0.98 * bound < max(sizes) <= bound * (1 + 1e-12)
    assert known.delta == problem.value(problem.start())
    assert known.ell == max(0.0, -shift)
    assert known.D == 2.0


def test_the_rows_have_the_spectrum():
    values = np.array([0.1, 0.5, 1.0, 3.0])
    rows = rows_of_spectrum(generator(), values)
    assert_allclose(np.linalg.eigvalsh(rows.T @ rows / 4), values, rtol=1e-12)


# --- what the families promise --------------------------------------------------------------------


@pytest.mark.parametrize("build", SHAPES)
@pytest.mark.parametrize("kappa", [1.0, 30.0])
def test_strongly_convex_families_keep_their_constants(build, kappa):
    problem = build(generator(2), 12, kappa)
    known = problem.constants(problem.start())
    assert known.L_f == pytest.approx(1.0)
    assert known.sigma_hat == pytest.approx(np.linalg.eigvalsh(problem.hessian_matrix)[0])
    assert known.sigma_hat == pytest.approx(1.0 / kappa)
    for x in points(problem, generator(3)):
        assert problem.set.contains(x)
        squared = np.sum((x - problem.minimiser) ** 2)
        assert problem.value(x) >= 0.5 * problem.sigma_hat * squared - 1e-12


@pytest.mark.parametrize("build", SHAPES)
def test_the_minimiser_is_where_projected_gradients_end(build):
    problem = build(generator(2), 12, 5.0)
    x = problem.start()
    for _ in range(400):
        x = problem.prox(x, problem.gradient(x), 1.0)
    assert_allclose(x, problem.minimiser, atol=1e-8)


def test_the_chain_is_tridiagonal_with_nesterovs_minimiser():
    problem = nesterov_chain(5)
    expected = (2 * np.eye(5) - np.eye(5, k=1) - np.eye(5, k=-1)) / 4
    assert_allclose(problem.hessian_matrix, expected, atol=1e-14)
    assert_allclose(problem.hessian_matrix @ problem.minimiser, np.eye(5)[0] / 4, atol=1e-14)
    assert problem.constants(problem.start()).L_f < 1.0


@pytest.mark.parametrize(("blind", "excess"), [(1, 0.0), (1, 3.0), (4, 0.5)])
def test_restricted_convexity_holds_for_all_and_is_attained_along_a_blind_direction(blind, excess):
    d, rng = 64, generator(4)
    problem = make_restricted_quadratic(rng, d, 1, blind, excess=excess)
    tau = (1 + excess) * blind / (2 * d)
    values, vectors = np.linalg.eigh(problem.hessian_matrix)
    assert_allclose(values[:blind], -excess, atol=1e-12)
    assert_allclose(values[blind:], 1.0, atol=1e-12)

    def excess_of(v):
        return 0.5 * v @ problem.hessian_matrix @ v - 0.5 * v @ v + tau * np.abs(v).sum() ** 2

    directions = [*rng.standard_normal((200, d)), *np.eye(d), *vectors[:, :blind].T]
    directions += [vectors[:, :blind] @ rng.standard_normal(blind) for _ in range(50)]
    assert min(excess_of(v) for v in directions) >= -1e-12
    if blind == 1:
        assert excess_of(vectors[:, 0]) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("excess", [0.0, 1.0, 5.0])
def test_the_restricted_minimiser_is_global_with_its_sigma_hat(excess):
    problem = make_restricted_quadratic(generator(5), 64, 1, 1, excess=excess)
    assert problem.sigma_hat == pytest.approx(1 - 8 * (1 + excess) / 64)
    assert np.linalg.eigvalsh(problem.hessian_matrix)[0] == pytest.approx(-excess, abs=1e-12)
    blind = np.linalg.eigh(problem.hessian_matrix)[1][:, 0]
    ends = [sign * blind / np.abs(blind).sum() for sign in (-1, 1)]
    for x in [*points(problem, generator(6), 1000), *ends]:
        squared = np.sum((x - problem.minimiser) ** 2)
        assert problem.value(x) >= 0.5 * problem.sigma_hat * squared - 1e-12


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rows": np.ones(3)}, ["rows"]),
        ({"rows": np.full((2, 3), np.nan)}, ["rows"]),
        ({"minimiser": np.array([2.0, 0.0, 0.0])}, ["set"]),
        ({"begin": np.array([0.0, 2.0, 0.0])}, ["start"]),
        ({"slope": np.array([1.0, 0.0, 0.0])}, ["stationary"]),
        ({"slope": np.zeros(2)}, ["slope"]),
        ({"sigma_hat": 0.0}, ["sigma_hat"]),
    ],
)
def test_bad_input_is_refused(changes, words):
    given = {
        "set": Simplex(3),
        "rows": np.eye(3),
        "minimiser": np.eye(3)[0],
        "slope": np.zeros(3),
        "begin": np.eye(3)[1],
        "sigma_hat": 1.0,
    }
    assert KnownQuadratic(**given).n == 3
    with pytest.raises(InputError) as error:
        KnownQuadratic(**given | changes)
    assert_one_sentence(error, *words)


def test_l1_ball_instances_start_on_the_ball():
    problem = face_of_l1_ball(generator(), 10, 3.0)
    assert problem.set == L1Ball(10)
    assert problem.set.contains(problem.start())
    assert problem.start() is not problem.begin
