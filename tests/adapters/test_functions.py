"""Plain functions as a problem: all shapes are the same problem, and what is wrong is named.

Functions of users may change what they get; numbers may be arrays of one entry or lazy.
"""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pfbench as pf
from pfbench.adapters import FunctionSet, from_functions
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.sample import Sample
from pfbench.problems import FiniteSum
from pfbench.sets import L1Ball, L2Ball, Simplex

ROWS, COLUMNS = 20, 4
A = np.random.default_rng(1).standard_normal((ROWS, COLUMNS))
B = np.random.default_rng(2).standard_normal(ROWS)
ZERO = np.zeros(COLUMNS)
L = float(np.linalg.eigvalsh(A.T @ A / ROWS)[-1])
BALL = L1Ball(COLUMNS, 1.3)


def f(x):
    return float(np.mean((A @ x - B) ** 2) / 2)


def grad(x):
    return A.T @ (A @ x - B) / ROWS


def part(x, indices):
    return A[indices].T @ (A[indices] @ x - B[indices]) / len(indices)


def lmo(g):
    """As FrankWolfe-book-code has it."""
    return BALL.lo(g)


SHAPES = {
    "two functions": lambda: from_functions(f, grad, lmo, start=ZERO),
    "a set": lambda: from_functions(f, grad, BALL, start=ZERO),
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
    problem = from_functions(f, grad, lmo, start=ZERO, components=(ROWS, part), constants=known)
    assert pf.check(problem).is_passed
    wrong = from_functions(f, grad, lmo, start=ZERO, constants=known | {"L_f": L / 3})
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


# --- functions that change their arguments --------------------------------------------------------


def spoiling(function):
    def spoils(*given):
        value = function(*map(np.copy, given))
        for one in given:
            one[...] = 0
        return value

    return spoils


def in_place(g):
    g[...] = BALL.lo(g)
    return g


def contains(x, tolerance):
    inside = BALL.contains(x, tolerance)
    x[...] = 0.0
    return inside


def solved(method, lmo=BALL.lo, **changes):
    parts = {"fun": f, "jac": grad, "components": (ROWS, part), **changes}
    problem = from_functions(lmo=FunctionSet(lmo, ZERO), start=ZERO, **parts)
    run = pf.solve(problem, method, measures=("objective", "fw_gap"))
    return run.status, run.trace.drop(columns="seconds").to_numpy().tolist()


SPOILS = {
    "fun": {"fun": spoiling(f)},
    "jac": {"jac": spoiling(grad)},
    "components": {"components": (ROWS, spoiling(part))},
    "lmo into its gradient": {"lmo": in_place},
    "lmo flips its gradient": {"lmo": spoiling(BALL.lo)},
}


@pytest.mark.parametrize("name", SPOILS)
@pytest.mark.parametrize(
    "method",
    [
        "frank-wolfe[step=line-search,iterations=9]",
        "nfwu-spiderg[batch=3,period=4,iterations=9,step=0.1]",
    ],
)
def test_what_a_function_does_to_its_arguments_changes_no_run(name, method):
    assert solved(method, **SPOILS[name]) == solved(method)


def test_a_projection_and_a_membership_may_change_their_points():
    where = FunctionSet(BALL.lo, ZERO, project=spoiling(BALL.project), contains=contains)
    y = np.arange(4.0)
    np.testing.assert_array_equal(where.project(y), BALL.project(y))
    assert not where.contains(y)
    np.testing.assert_array_equal(y, np.arange(4.0))


# --- numbers --------------------------------------------------------------------------------------


class Own(FiniteSum):
    n, set = 1, L2Ball(4)

    def value(self, x):
        return np.array([x @ x - x[0]])

    def gradient(self, x):
        return 2.0 * x - np.eye(4)[0]


class Two(Own):
    def value(self, x):
        return np.array([x @ x, 0.0])


@pytest.mark.parametrize("step", ["line-search", "backtracking", "open-loop"])
def test_a_value_of_shape_1_is_a_number(step):
    method = f"frank-wolfe[step={step},iterations=3]"
    runs = [
        pf.solve(problem, method, measures="objective")
        for problem in (
            Own(),
            from_functions(lambda x: x @ x - x[0], Own().gradient, L2Ball(4), start=ZERO),
            from_functions(Own().value, Own().gradient, L2Ball(4), start=ZERO),
        )
    ]
    assert {run.status for run in runs} == {"finished"}
    assert len({run.x.tobytes() for run in runs}) == 1
    assert all(type(run.final["objective"]) is float for run in runs[2:])


def test_a_value_of_another_shape_is_refused():
    run = pf.solve(Two(), "frank-wolfe[step=line-search,iterations=3]")
    assert run.status == "error"
    assert "must be a number, not an array" in run.stop_reason
    with pytest.raises(InputError, match="must be a number"):
        from_functions(Two().value, Own().gradient, L2Ball(4), start=ZERO)


@pytest.mark.parametrize("one", [np.array([1.5]), np.array(1.5), np.array([[1.5]])])
def test_constants_and_parameters_of_one_entry_are_numbers(one):
    assert Constants(n=1, L_f=one) == Constants(n=1, L_f=1.5)
    assert Constants.from_derivations(n=(1, ""), L_f=(one, "stated")).L_f == 1.5
    assert L1Ball(2, one).radius == 1.5
    with pytest.raises(InputError, match="L_f must be a number"):
        Constants(n=1, L_f=np.ones(2))
