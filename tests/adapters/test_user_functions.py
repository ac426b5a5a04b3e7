"""Functions of users may change what they get; numbers may be arrays of one entry or lazy."""

import copy
import math
import pickle

import numpy as np
import pytest
import scipy.optimize

import pfbench as pf
from pfbench.adapters import BlackBox, FunctionSet, from_functions
from pfbench.adapters.black_box import LazyValue
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.problems import FiniteSum
from pfbench.sets import L1Ball, L2Ball

A = np.random.default_rng(0).standard_normal((20, 4))
BALL = L1Ball(4)


def f(x):
    return float((A @ x - 1.0) @ (A @ x - 1.0)) / 40.0


def grad(x):
    return A.T @ (A @ x - 1.0) / 20.0


def mean(x, S):
    return A[S].T @ (A[S] @ x - 1.0) / len(S)


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


def lmo_of_copt(u, x, active):
    v = BALL.lo(-u) - x
    u[...] = x[...] = 0.0
    return v, None, None, 1.0


def solved(method, lmo=BALL.lo, **given):
    given = {"fun": f, "jac": grad, "components": (20, mean), **given}
    problem = from_functions(lmo=FunctionSet(lmo, np.zeros(4)), start=np.zeros(4), **given)
    run = pf.solve(problem, method, measures=("objective", "fw_gap"))
    return run.status, run.trace.drop(columns="seconds").to_numpy().tolist()


SPOILS = {
    "fun": {"fun": spoiling(f)},
    "jac": {"jac": spoiling(grad)},
    "components": {"components": (20, spoiling(mean))},
    "lmo into its gradient": {"lmo": in_place},
    "lmo flips its gradient": {"lmo": spoiling(BALL.lo)},
    "copt's": {"lmo": lmo_of_copt},
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
    where = FunctionSet(BALL.lo, np.zeros(4), project=spoiling(BALL.project), contains=contains)
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
            from_functions(lambda x: x @ x - x[0], Own().gradient, L2Ball(4), start=np.zeros(4)),
            from_functions(Own().value, Own().gradient, L2Ball(4), start=np.zeros(4)),
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
        from_functions(Two().value, Own().gradient, L2Ball(4), start=np.zeros(4))


@pytest.mark.parametrize("one", [np.array([1.5]), np.array(1.5), np.array([[1.5]])])
def test_constants_and_parameters_of_one_entry_are_numbers(one):
    assert Constants(n=1, L_f=one) == Constants(n=1, L_f=1.5)
    assert Constants.from_derivations(n=(1, ""), L_f=(one, "stated")).L_f == 1.5
    assert L1Ball(2, one).radius == 1.5
    with pytest.raises(InputError, match="L_f must be a number"):
        Constants(n=1, L_f=np.ones(2))


class Scipy(BlackBox):
    """A method of scipy with `jac=True`."""

    name, requires, deterministic = "scipy", frozenset({"gradient", "value", "smooth"}), True
    method = "BFGS"

    def minimise(self, oracles, tell, rng):
        found = scipy.optimize.minimize(
            oracles.value_and_gradient, oracles.start, jac=True, method=self.method, callback=tell
        )
        return found.x


@pytest.mark.parametrize("method", ["BFGS", "CG", "L-BFGS-B", "TNC", "SLSQP"])
def test_methods_of_scipy_take_value_and_gradient_together(method):
    solver = Scipy()
    object.__setattr__(solver, "method", method)
    problem = pf.problem("log-cosh", rows=20, columns=3, set="none")
    run = pf.solve(problem, solver, measures="objective")
    assert run.status == "finished", run.stop_reason
    assert run.final["gradient_mapping_sq"] < 1e-6


def lazy(value=2.5):
    asked = []

    def ask(z):
        asked.append(z)
        return value

    return LazyValue(ask, np.zeros(1)), asked


OPERATIONS = {
    "f / 2": lambda f: f / 2,
    "2 / f": lambda f: 2 / f,
    "f ** 2": lambda f: f**2,
    "divmod": lambda f: divmod(f, 2),
    "np.float64 + f": lambda f: np.float64(1.0) + f,
    "array * f": lambda f: (np.ones(2) * f).tolist(),
    "f - array": lambda f: (f - np.ones(2)).tolist(),
    "f + f": lambda f: f + f,
    "f == f": lambda f: (f == f, f != f, f == 2.5, hash(f) == hash(2.5)),
    "builtins": lambda f: (abs(f), round(f), round(f, 1), int(f), bool(f), str(f), f"{f:.3f}"),
    "math": lambda f: (math.isnan(f), math.floor(f), math.ceil(f), math.trunc(f), math.sqrt(f)),
    "numpy": lambda f: (np.isnan(f), np.isfinite(f), np.isscalar(f), np.asarray(f).dtype.str),
    "methods": lambda f: (f.is_integer(), f.real, f.imag, f.conjugate()),
    "copies": lambda f: (copy.deepcopy(f), copy.copy(f), pickle.loads(pickle.dumps(f))),
    "minimum": lambda f: (min(f, 3.0), max([f, 1.0]), sorted([f, 1.0])[0], f < 3, f <= 3),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_lazy_value_is_its_float_in_every_operation_and_asked_once(name):
    found, asked = lazy()
    assert not asked
    assert OPERATIONS[name](found) == OPERATIONS[name](2.5)
    assert len(asked) == 1


def test_an_undefined_lazy_value_is_not_equal_to_itself():
    found, _ = lazy(math.nan)
    assert found != found
    with pytest.raises(AttributeError):
        found.missing  # noqa: B018
