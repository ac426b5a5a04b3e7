"""Plain functions as a problem: all shapes are the same problem, and what is wrong is named."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pfbench as pf
from pfbench.adapters import FunctionSet, from_functions
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.sample import Sample
from pfbench.sets import L1Ball, L2Ball, Simplex

ROWS, COLUMNS = 20, 4
A = np.random.default_rng(1).standard_normal((ROWS, COLUMNS))
B = np.random.default_rng(2).standard_normal(ROWS)
ZERO = np.zeros(COLUMNS)
L = float(np.linalg.eigvalsh(A.T @ A / ROWS)[-1])
BALL = L1Ball(COLUMNS, 1.3)


def f(x, shift=0.0):
    return float(np.mean((A @ x - B - shift) ** 2) / 2)


def grad(x, shift=0.0):
    return A.T @ (A @ x - B - shift) / ROWS


def f_grad(x):
    return f(x), grad(x)


def part(x, indices):
    return A[indices].T @ (A[indices] @ x - B[indices]) / len(indices)


def lmo(g):
    """As FrankWolfe-book-code has it."""
    return BALL.lo(g)


def lmo_of_copt(u, x, active_set=None):
    return BALL.lo(-u) - x, None, None, 1.0


SHAPES = {
    "two functions": lambda: from_functions(f, grad, lmo, start=ZERO),
    "copt's": lambda: from_functions(f_grad, True, lmo_of_copt, start=ZERO),
    "scipy's": lambda: from_functions(f, grad, BALL, start=ZERO, args=(0.0,)),
    "a sum": lambda: from_functions(f, grad, lmo, start=ZERO, components=(ROWS, part)),
}


def test_integers_of_numpy_become_json():
    problem = from_functions(f, grad, lmo, start=ZERO, components=(np.int64(ROWS), part))
    method = pf.algorithm("frank-wolfe", step="open-loop", iterations=np.int64(2))
    run = pf.solve(problem, method, seed=np.int64(1))
    assert json.loads(json.dumps(run.as_json()))["seed"] == 1


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_is_the_same_problem(shape):
    """Frank-Wolfe by hand, bit for bit."""
    run = pf.solve(SHAPES[shape](), pf.algorithm("frank-wolfe", step="open-loop", iterations=9))
    x = ZERO
    for t in range(9):
        x = (1.0 - 2 / (t + 2)) * x + 2 / (t + 2) * BALL.lo(grad(x))
    assert np.array_equal(run.x, x)
    n = ROWS if shape == "a sum" else 1
    assert (run.counts.sfo, run.counts.fo, run.counts.lo) == (9 * n, 9, 9)


def test_all_that_is_checked():
    known = {"L_f": L, "D": 2.6, "delta": f(ZERO)}
    problem = from_functions(
        f_grad, True, lmo_of_copt, start=ZERO, components=(ROWS, part), constants=known
    )
    assert pf.check(problem).is_passed
    wrong = from_functions(f_grad, True, lmo, start=ZERO, constants=known | {"L_f": L / 3})
    (failure,) = pf.check(wrong).failures
    assert "L_f" in failure.check


def test_a_wrong_lmo_is_found():
    def flipped(g):
        return -BALL.lo(g)

    with pytest.raises(InputError, match=r"check that lmo minimises <g, v>"):
        from_functions(f, grad, flipped, start=ZERO)
    assert not pf.check(FunctionSet(flipped, ZERO)).is_passed
    report = pf.check(FunctionSet(lambda g: 0.9 * BALL.lo(g), ZERO, contains=BALL.contains))
    assert "lo minimises" in [failure.check for failure in report.failures]


def test_a_batch_counts_multiplicity():
    problem, x = SHAPES["a sum"](), np.arange(4.0)
    listed = problem.batch(np.array([3, 3, 3, 7]), x)
    np.testing.assert_allclose(problem.batch(Sample(np.array([3, 7]), np.array([3, 1])), x), listed)
    np.testing.assert_allclose(listed, (3 * part(x, [3]) + part(x, [7])) / 4)


def test_what_needs_a_constant_says_so():
    unknown = from_functions(f, grad, lmo, start=ZERO, properties=("convex",))
    with pytest.raises(RefusedError, match=r"needs the constant (L_f|delta)"):
        pf.solve(unknown, pf.algorithm("frank-wolfe", epsilon=0.1))
    known = from_functions(
        f,
        grad,
        lmo,
        start=ZERO,
        constants={"L_f": L, "D": 2.6, "delta": f(ZERO)},
        properties=("convex",),
    )
    run = pf.solve(known, pf.algorithm("frank-wolfe", epsilon=0.5), measures="fw_gap")
    assert run.status == "finished"
    assert "the diagonal of the box" in unknown.constants(ZERO).derivations["D"]


BAD = {
    "sum": ({"components": (ROWS, lambda x, i: part(x, i) * len(i))}, "the mean over the indices"),
    "constant": ({"constants": {"lipschitz": 1.0}}, "unknown constant"),
    "property": ({"properties": ("konvex",)}, "convex"),
    "outside": ({"start": np.ones(4)}, "outside the set of lmo"),
    "vertex": ({"lmo": lambda g: g[:2]}, "returns an array of shape"),
    "jac": ({"jac": lambda x: x[:2]}, "gradient at the start must have shape"),
    "fun": ({"fun": lambda x: 1 / 0}, "fun raised ZeroDivisionError"),
    "matrix": ({"lmo": None, "start": np.zeros((2, 2))}, "flatten it"),
}


@pytest.mark.parametrize("wrong", BAD)
def test_what_is_wrong_is_said(wrong):
    given, words = BAD[wrong]
    with pytest.raises(InputError, match=words):
        from_functions(**{"fun": f, "jac": grad, "lmo": lmo, "start": ZERO, **given})


def test_membership_ends_where_the_rest_is_rounding():
    """With d + 1 vertices around a point, its distance cannot be bounded any better."""
    inside = np.array([0.3, 0.1, 0.2])
    assert FunctionSet(L1Ball(3, 1.0).lo, np.zeros(3)).contains(inside, 0.0)
    large = FunctionSet(lambda g: np.where(g < 0, 1e9, -1e9), np.zeros(3))
    assert large.contains(inside)
    assert not large.contains(inside + 2e9)


BODIES = (L1Ball(3, 2.0), L2Ball(3, 0.7), Simplex(3, 1.5))


@settings(max_examples=60, deadline=None)
@given(which=st.sampled_from(BODIES), seed=st.integers(0, 10**6), scale=st.sampled_from([0.3, 2.0]))
def test_membership_by_linear_minimisations_alone(which, seed, scale):
    """Against each set's own; a mixture of vertices is in it, and beyond a vertex nothing is."""
    rng = np.random.default_rng(seed)
    found = FunctionSet(which.lo, which.start())
    x = scale * rng.standard_normal(3)
    assert found.contains(x) == which.contains(x)
    weights = rng.dirichlet(np.ones(4))
    assert found.contains(weights @ [which.random_vertex(rng) for _ in weights])
    v = which.random_vertex(rng)
    assert found.contains(v)
    assert not found.contains(v + 1e-6 * (v - which.project(np.zeros(3))))
    assert found.diameter >= which.diameter * (1 - 1e-12)
