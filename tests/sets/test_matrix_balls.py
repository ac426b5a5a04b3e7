"""The balls of the spectral norm and of norms of rows and columns, against their definitions."""

import math

import numpy as np
import pytest
from helpers import assert_one_sentence
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import pfbench as pf
from pfbench.base.errors import DivergedError, InputError
from pfbench.points import RankOne
from pfbench.sets import (
    ColumnBall,
    MaxColumnBall,
    MaxRowBall,
    NuclearBall,
    RowBall,
    Spectrahedron,
    SpectralBall,
)

SHAPES = [(3, 2), (2, 4), (3, 3), (1, 3), (3, 1)]
BALLS = [SpectralBall, RowBall, ColumnBall, MaxRowBall, MaxColumnBall]
BY_ROWS = (RowBall, MaxRowBall)
LARGEST = (MaxRowBall, MaxColumnBall)
EACH = pytest.mark.parametrize("cls", BALLS)


def norm_of(cls, x):
    """The norm by its definition."""
    if cls is SpectralBall:
        return np.linalg.norm(x, 2)
    lengths = np.linalg.norm(x, axis=1 if cls in BY_ROWS else 0)
    return lengths.max() if cls in LARGEST else lengths.sum()


def dual_norm_of(cls, x):
    """max <x, v> over norm(v) <= 1."""
    if cls is SpectralBall:
        return np.linalg.norm(x, "nuc")
    lengths = np.linalg.norm(x, axis=1 if cls in BY_ROWS else 0)
    return lengths.sum() if cls in LARGEST else lengths.max()


def matrices(largest=1e3):
    entries = st.floats(-largest, largest, allow_subnormal=False)
    return st.sampled_from(SHAPES).flatmap(lambda shape: arrays(float, shape, elements=entries))


@EACH
@given(g=matrices(), radius=st.floats(0.01, 100.0))
def test_lo_attains_the_dual_norm_at_a_point_of_the_ball(cls, g, radius):
    ball = cls(g.shape, radius)
    v, least = ball.lo(g), -radius * dual_norm_of(cls, g)
    slack = 1e-12 * radius * np.linalg.norm(g) + 1e-150  # where squares underflow
    assert np.vdot(g, v) == pytest.approx(least, rel=1e-11, abs=slack)
    assert ball.minimum(g) == pytest.approx((least, least), rel=1e-11, abs=slack)
    assert norm_of(cls, v) <= radius * (1.0 + 1e-12)
    assert ball.contains(v)


@EACH
@given(y=matrices(), radius=st.floats(0.1, 10.0))
def test_the_projection_is_in_the_ball_and_no_point_lies_beyond_its_tangent_plane(cls, y, radius):
    """p is the nearest point if and only if <y - p, v - p> <= 0 for all v in the ball."""
    ball = cls(y.shape, radius)
    p = ball.project(y)
    assert norm_of(cls, p) <= radius * (1.0 + 1e-9)
    excess = radius * dual_norm_of(cls, y - p) - np.vdot(y - p, p)
    assert excess <= 1e-9 * (1.0 + np.linalg.norm(y)) * radius
    if norm_of(cls, y) <= radius:
        np.testing.assert_array_equal(p, y)


@EACH
@pytest.mark.parametrize("shape", [(3, 2), (2, 4)])
def test_the_projection_is_the_solution_of_the_convex_program(cls, shape):
    import cvxpy  # which takes seconds

    y = 2.0 * np.random.default_rng(7).standard_normal(shape)
    x = cvxpy.Variable(shape)
    norm = {
        SpectralBall: lambda: cvxpy.sigma_max(x),
        RowBall: lambda: cvxpy.mixed_norm(x, 2, 1),
        ColumnBall: lambda: cvxpy.mixed_norm(x.T, 2, 1),
        MaxRowBall: lambda: cvxpy.mixed_norm(x, 2, "inf"),
        MaxColumnBall: lambda: cvxpy.mixed_norm(x.T, 2, "inf"),
    }[cls]()
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x - y)), [norm <= 1.3])
    problem.solve(solver=cvxpy.CLARABEL)
    np.testing.assert_allclose(cls(shape, 1.3).project(y), x.value, atol=1e-4)


@EACH
@pytest.mark.parametrize("shape", SHAPES)
def test_diameter_and_largest_norm_are_attained_and_never_exceeded(cls, shape):
    ball, rng = cls(shape, 1.7), np.random.default_rng(3)
    vertices = [ball.random_vertex(rng) for _ in range(60)]
    largest = max(np.linalg.norm(v) for v in vertices)
    assert largest == pytest.approx(ball.max_norm, rel=1e-12)
    assert np.linalg.norm(vertices[0] + vertices[0]) == pytest.approx(ball.diameter, rel=1e-12)
    farthest = max(np.linalg.norm(v - w) for v in vertices for w in vertices)
    assert farthest <= ball.diameter * (1.0 + 1e-12)


@EACH
@pytest.mark.parametrize("shape", SHAPES)
def test_a_random_vertex_is_extreme_and_they_reach_every_row_and_column(cls, shape):
    """It is the only minimiser of the linear function that it defines."""
    ball, rng = cls(shape, 0.6), np.random.default_rng(5)
    seen = np.zeros(shape, dtype=bool)
    for _ in range(80):
        v = ball.random_vertex(rng)
        assert norm_of(cls, v) == pytest.approx(0.6, rel=1e-12)
        np.testing.assert_allclose(ball.lo(-v), v, atol=1e-12)
        seen |= v != 0.0
    assert seen.all()


@EACH
def test_membership_is_up_to_a_relative_tolerance(cls):
    ball = cls((2, 3), 2.0)
    v = ball.random_vertex(np.random.default_rng(1))
    assert ball.contains(ball.start())
    assert ball.contains(v * (1.0 + 1e-10))
    assert not ball.contains(v * (1.0 + 1e-8))
    assert ball.contains(v * 1.05, tolerance=0.1)
    assert not ball.contains(v.T)
    assert not ball.contains(np.full((2, 3), math.nan))
    assert ball.contains(RankOne(np.array([1.0, 0.0]), np.array([0.0, 1.0, 0.0]), 2.0))
    assert not ball.contains(RankOne(np.array([1.0, 0.0]), np.array([0.0, 1.0, 0.0]), -2.1))


@EACH
@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_tiny_and_huge_gradients_and_points(cls, scale):
    ball, rng = cls((3, 2), 1.0), np.random.default_rng(2)
    g = rng.standard_normal((3, 2))
    np.testing.assert_allclose(ball.lo(scale * g), ball.lo(g), rtol=1e-12)
    assert ball.minimum(scale * g)[0] == pytest.approx(scale * ball.minimum(g)[0], rel=1e-12)
    assert ball.contains(ball.project(scale * g))


@EACH
def test_a_zero_gradient_gives_a_point_of_the_boundary(cls):
    ball = cls((2, 3), 0.5)
    assert norm_of(cls, ball.lo(np.zeros((2, 3)))) == pytest.approx(0.5)
    assert ball.minimum(np.zeros((2, 3))) == (0.0, 0.0)


@EACH
def test_what_is_not_finite_or_of_another_shape_is_refused(cls):
    ball = cls((2, 3), 1.0)
    bad = np.array([[1.0, math.nan, 0.0], [0.0, 0.0, 0.0]])
    for ask in (ball.lo, ball.minimum, ball.project):
        with pytest.raises(DivergedError):
            ask(bad)
        with pytest.raises(InputError):
            ask(np.zeros((3, 2)))
    for wrong in (lambda: cls((2, 0)), lambda: cls((2, 3), 0.0), lambda: cls((2, 3), math.inf)):
        with pytest.raises(InputError) as error:
            wrong()
        assert_one_sentence(error)


# --- problems over them ---------------------------------------------------------------------------

FAMILIES = {
    "multiclass-logistic": {"source": "synthetic", "rows": 30, "columns": 4, "classes": 4},
    "multitask-sigmoid": {"rows": 6, "columns": 4, "kinds": 2, "copies": 2},
    "matrix-regression": {"rows": 4, "columns": 4, "rank": 2, "n": 50, "sensing_variance": 0.2},
}
SETS = {
    "nuclear": NuclearBall((4, 4), 3.0),
    "spectral": SpectralBall((4, 4), 3.0),
    "spectrahedron": Spectrahedron(4, 3.0),
    "row-norm": RowBall((4, 4), 3.0),
    "column-norm": ColumnBall((4, 4), 3.0),
}


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("kind", SETS)
def test_problems_on_matrices_take_any_set_of_matrices(name, kind):
    """Constants that depend on the set hold on it; Frank-Wolfe and projections run on it."""
    problem, body = pf.problem(name, **FAMILIES[name], set=kind, radius=3.0), SETS[kind]
    assert problem.set == body
    start = problem.start()
    constants = problem.constants(start)
    assert (body.diameter, body.max_norm) == (constants.D, constants.M)
    assert body.contains(start)
    rng = np.random.default_rng(0)
    points = [body.random_vertex(rng) for _ in range(12)]
    points = [p.matrix() if isinstance(p, RankOne) else p for p in points]
    everyone = np.arange(problem.n)
    for x in points:
        assert problem.value(x) >= problem.value(start) - constants.delta - 1e-12
        mean = problem.gradient(x)
        each = [problem.batch(everyone[i : i + 1], x) for i in range(problem.n)]
        assert np.mean([np.sum((g - mean) ** 2) for g in each]) <= constants.sigma2
    epsilon = 1e-12
    run = pf.solve(
        problem, pf.algorithm("frank-wolfe", iterations=30), measures=["fw_gap"], every=30
    )
    assert (run.status, run.counts.lo) == ("finished", 30)
    assert body.contains(run.x)
    assert 0.0 - epsilon <= run.final["fw_gap"] < run.trace["fw_gap"][0]
    projected = pf.solve(problem, pf.algorithm("prox-gd", iterations=30, step=0.5 / constants.L_f))
    assert body.contains(projected.x)
    assert projected.final["objective"] < problem.value(start)
