"""The quadratics with a known minimiser, the indefinite ones, the hulls and the double well."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from verification.instruments.by_definition import assert_oracles_are_those_of

from pfbench.base.errors import RefusedError
from pfbench.claims.lacoste2016.sections_2_and_3 import DoubleWell
from pfbench.sets import L2Ball
from pfbench.verification.instruments.indefinite import (
    ConvexHull,
    IndefiniteQuadratic,
    curvature_upper_bound,
    make_quadratic_linear_along_box,
    minimum_on_simplex,
    noisy_ball,
    random_on_l1_ball,
    random_on_simplex,
    spread_on_simplex,
    transform_quadratic,
)
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

    def components(x):
        u = x - problem.minimiser
        return problem.slope @ u + ((problem.rows @ u) ** 2 + shift * (u @ u)) / 2

    x, y = np.array([0.1, -0.4, 0.3]), np.array([0.5, 0.2, -0.1])
    assert_oracles_are_those_of(components, problem, x, y)


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


# --- the indefinite quadratics, the hulls and the double well, against their definitions ----------


def tiny_indefinite():
    """Four components in three dimensions."""
    rng = generator()
    A = rng.standard_normal((3, 3))
    noise, spread = rng.standard_normal((4, 3)), rng.standard_normal(4)
    return IndefiniteQuadratic(
        L2Ball(3, 2.0),
        A + A.T,
        rng.standard_normal(3),
        np.array([2.0, 0.0, 0.0]),
        -20.0,
        2.0,
        noise - noise.mean(axis=0),
        spread - spread.mean(),
    )


def differences(f, x, h=1e-6):
    steps = h * np.eye(x.size)
    return np.array([(f(x + s) - f(x - s)) / (2 * h) for s in steps])


def well():
    rng = generator(3)
    return DoubleWell(rng.uniform(-1, 1, 4), rng.uniform(0.1, 1, 4), 2.0 * np.ones(5))


# --- hulls ----------------------------------------------------------------------------------------


def test_a_hull_minimises_over_its_points_and_knows_what_it_holds():
    hull = ConvexHull(np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [1.0, 1.0]]))
    assert hull.diameter == 5.0
    assert hull.radius == 4.0
    assert hull.minimum(np.array([-1.0, 0.0])) == (-4.0, -4.0)
    assert_allclose(hull.lo(np.array([-1.0, 0.0])), [4.0, 0.0])
    assert_allclose(hull.lo(np.array([1.0, 1.0])), [0.0, 0.0])
    assert hull.contains([2.0, 1.5])
    assert not hull.contains([2.0, 1.6])
    assert not hull.contains([-1e-6, 1.0])
    assert hull.contains([-1e-6, 1.0], 1e-5)
    assert any((hull.random_vertex(generator()) == v).all() for v in hull.vertices)
    with pytest.raises(RefusedError, match="no projection"):
        hull.project(np.zeros(2))


# --- quadratics -----------------------------------------------------------------------------------


def test_oracles_of_indefinite_quadratics():
    problem, (x, y) = tiny_indefinite(), generator(1).standard_normal((2, 3))

    def components(x):
        return (problem.b + problem.noise) @ x + (x @ problem.A @ x + problem.spread * (x @ x)) / 2

    assert_oracles_are_those_of(components, problem, x, y, lacks=("hessian", "table"))
    assert problem.decrease(x, y) == pytest.approx(problem.value(x) - problem.value(y))


def test_constants_are_those_of_the_definitions():
    problem, rng = tiny_indefinite(), generator(2)
    known = problem.constants(problem.start())
    each = [problem.A + t * np.eye(3) for t in problem.spread]
    assert known.L_f == pytest.approx(np.linalg.norm(problem.A, 2))
    assert known.L_max == pytest.approx(max(np.linalg.norm(A, 2) for A in each))
    square = np.mean([A @ A for A in each], axis=0)
    assert known.L_ms == pytest.approx(np.sqrt(np.linalg.norm(square, 2)))
    assert known.ell == pytest.approx(-np.linalg.eigvalsh(problem.A)[0])
    assert known.delta == problem.value(problem.start()) + 20.0
    for _ in range(50):
        x = L2Ball(3, 2.0).random_vertex(rng)
        errors = [problem.batch(np.array([i]), x) - problem.gradient(x) for i in range(4)]
        assert np.mean(np.sum(np.square(errors), axis=1)) <= known.sigma2


@pytest.mark.parametrize("seed", range(4))
def test_the_least_value_on_a_simplex_is_attained_and_not_beaten(seed):
    rng = generator(seed)
    A = rng.standard_normal((3, 3))
    A, b = A + A.T, rng.standard_normal(3)
    k = 200
    grid = np.array([(i, j, k - i - j) for i, j in product(range(k + 1), repeat=2) if i + j <= k])
    values = [b @ x + 0.5 * x @ A @ x for x in grid / k]
    least = minimum_on_simplex(A, b)
    # A step of the grid is sqrt(2)/k, and a minimum is flat to first order along its face.
    assert min(values) - 2.0 * np.abs(A).max() / k**2 <= least <= min(values) + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_the_curvature_bounds_every_difference_and_is_exact_where_convex(seed):
    rng = generator(seed)
    hull = ConvexHull(rng.standard_normal((6, 3)))
    A = rng.standard_normal((3, 3))
    A = A + A.T
    weights = rng.dirichlet(np.full(6, 0.2), (2, 500))
    u = weights[0] @ hull.vertices - weights[1] @ hull.vertices
    assert np.einsum("ij,jk,ik->i", u, A, u).max() <= curvature_upper_bound(hull.vertices, A)
    pairs = hull.vertices[:, None] - hull.vertices
    exact = np.einsum("abi,ij,abj->ab", pairs, A @ A, pairs).max()
    assert curvature_upper_bound(hull.vertices, A @ A) == pytest.approx(exact)
    assert curvature_upper_bound(hull.vertices, -A @ A) == pytest.approx(0.0, abs=1e-12)


def test_the_curvature_of_a_simplex_ignores_what_no_difference_sees():
    eye = np.eye(4)
    assert curvature_upper_bound(eye, eye + 7.0 * np.ones((4, 4))) == pytest.approx(2.0)


def test_a_moved_quadratic_is_the_same_function_on_the_preimage():
    rng = generator(5)
    problem = random_on_simplex(rng, 4, 1.0)
    M, b = rng.standard_normal((4, 4)), rng.standard_normal(4)
    image = transform_quadratic(problem, M, b)
    z = rng.dirichlet(np.ones(4)) @ image.set.vertices
    x = M @ z + b
    assert problem.set.contains(x)
    assert_allclose(M @ image.start_point + b, problem.start_point, atol=1e-12)
    assert image.value(z) - image.minimum_value == pytest.approx(
        problem.value(x) - problem.minimum_value
    )
    assert_allclose(image.gradient(z), M.T @ problem.gradient(x))


# --- instances ------------------------------------------------------------------------------------


def test_a_start_on_the_simplex_is_its_highest_vertex():
    for seed in range(5):
        problem = random_on_simplex(generator(seed), 4, 0.5)
        assert problem.value(problem.start_point) == max(problem.value(v) for v in np.eye(4))
        assert problem.value(problem.start_point) > problem.minimum_value


def test_a_slope_is_straight_and_ends_at_its_rise():
    problem = make_quadratic_linear_along_box(2.0, 8.0, 3.0, n=4)
    known = problem.constants(problem.start())
    assert problem.n == 4
    assert known.L_f == known.L_ms == 2.0
    assert known.delta == 3.0
    end = np.array([float(problem.set.upper[0]), 0.0])
    assert problem.value(end) == pytest.approx(-3.0)
    g = float(np.linalg.norm(problem.gradient(np.zeros(2))))
    assert np.linalg.norm(end) == pytest.approx(8.0 * g / 2.0)
    assert_allclose(problem.gradient(end), problem.gradient(np.zeros(2)))


def test_the_spread_minimiser_is_stationary_at_the_centre():
    problem = spread_on_simplex(50)
    centre = np.full(50, 1 / 50)
    assert_allclose(problem.gradient(centre), 0.0, atol=1e-15)
    assert problem.value(centre) == pytest.approx(problem.minimum_value)
    pushed = spread_on_simplex(50, 1.0)
    others = np.where(np.arange(50) > 0, 1 / 49, 0.0)
    g = pushed.gradient(others)
    assert g @ others - pushed.minimum(g)[0] == pytest.approx(0.0, abs=1e-12)


def test_random_quadratics_on_the_l1_ball_are_scaled_and_curve_down():
    problem = random_on_l1_ball(generator(), 6, 8, 10.0)
    known = problem.constants(problem.start())
    assert known.delta == pytest.approx(10.0)
    assert known.ell == pytest.approx(0.3 * known.L_f)
    rng = generator(1)
    for _ in range(100):
        x = rng.dirichlet(np.ones(6)) * rng.choice([-1.0, 1.0], 6)
        assert problem.value(x) >= problem.minimum_value
    vertices = np.concatenate([np.eye(6), -np.eye(6)])
    assert problem.value(problem.start_point) == max(problem.value(v) for v in vertices)


def test_the_noisy_ball_has_the_noise_it_says():
    problem = noisy_ball(2, 6, 3.0, noise=2.0, spread=0.5)
    known = problem.constants(problem.start())
    assert known.L_f == pytest.approx(1.0)
    assert known.L_ms == pytest.approx(np.sqrt(1.25))
    assert known.sigma2 == pytest.approx((2.0 + 0.5 * 3.0) ** 2)
    assert known.delta == pytest.approx(4.5)


def test_the_double_well_is_its_formula_and_convex_where_it_says():
    problem, rng = well(), generator(7)
    for _ in range(20):
        x = rng.uniform(-2, 2, 5)
        assert_allclose(problem.gradient(x), differences(problem.value, x), atol=1e-7)
        v = rng.standard_normal(5)
        along = differences(lambda t, x=x, v=v: problem.gradient(x + t[0] * v) @ v, np.zeros(1))
        assert along[0] == pytest.approx(problem.hessian_operator(x)(v) @ v, abs=1e-6)
        least = np.linalg.eigvalsh(np.array([problem.hessian_operator(x)(e) for e in np.eye(5)]))[0]
        assert problem.is_convex_near(x) == (least >= 0.0)
        assert np.linalg.norm(problem.hessian_operator(x)(v)) <= (
            problem.constants(x).L_f * np.linalg.norm(v)
        )
    bottom = np.append(-1.0, problem.centre)
    assert problem.value(bottom) == 0.0
    assert_allclose(problem.gradient(bottom), 0.0, atol=1e-15)
