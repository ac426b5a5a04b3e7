"""Constants that are 0: a linear f, a constant one, a set of one point."""

import numpy as np
import pytest

import pfbench as pf
from pfbench.adapters import from_functions
from pfbench.base.errors import InputError
from pfbench.sets import Simplex

ZERO = {"L_f": 0.0, "L_ms": 0.0, "L_max": 0.0, "sigma2": 0.0}
PROBLEMS = {
    "linear": (lambda x: float(x[0]), lambda x: np.eye(2)[0], Simplex(2), ZERO | {"delta": 1.0}),
    "constant": (lambda x: 1.0, lambda x: np.zeros(2), Simplex(2), ZERO | {"delta": 0.0}),
    "point": (lambda x: float(x @ x), lambda x: 2.0 * x, Simplex(1), {"L_f": 2.0, "delta": 1.0}),
}
METHODS = [
    *(f"frank-wolfe[step={step},iterations=3]" for step in ("open-loop", "log-adaptive")),
    *(f"frank-wolfe[step={step},iterations=3]" for step in ("line-search", "adaptive")),
    "frank-wolfe[epsilon=0.5]",
    "frank-wolfe[step=backtracking,iterations=3]",
    *(
        f"{name}[iterations=3,step={s}]"
        for name in ("afw", "pfw")
        for s in ("short", "line-search")
    ),
    "bpfw[iterations=3]",
    "bpfw[iterations=3,lazy=true]",
]


def made(name):
    fun, jac, where, constants = PROBLEMS[name]
    return from_functions(fun, jac, where, start=where.start(), constants=constants)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", METHODS)
def test_methods_that_need_no_curvature_reach_the_minimum(name, method):
    run = pf.solve(made(name), method)
    assert run.status == "finished", run.stop_reason
    assert run.final["objective"] == (0.0 if name == "linear" else 1.0)
    assert run.final["fw_gap"] == 0.0


def test_a_linear_function_is_done_in_one_step():
    run = pf.solve(made("linear"), "frank-wolfe[step=adaptive,iterations=1]")
    assert run.final["objective"] == 0.0


@pytest.mark.parametrize("name", ["prox-gd", "sfw", "saga", "page-fw"])
def test_a_schedule_that_divides_by_0_names_the_constant(name):
    method = pf.algorithm(name, epsilon=0.1)
    problem = from_functions(
        *PROBLEMS["linear"][:2], *([] if name == "saga" else [Simplex(2)]),
        start=np.eye(2)[0], constants=ZERO | {"delta": 1.0},
    )  # fmt: skip
    with pytest.raises(InputError, match="is not defined where L_f"):
        pf.solve(problem, method)


@pytest.mark.parametrize("given", ["frank-wolfe[curvature=-1]", "afw[iterations=3,smoothness=-1]"])
def test_a_negative_one_is_refused(given):
    with pytest.raises(InputError, match="must be at least 0"):
        pf.solve(made("linear"), given)


BOUNDS = [
    "frank-wolfe[step=adaptive,curvature=0,iterations=2]",
    "frank-wolfe[epsilon=0.5,curvature=0]",
    *(f"frank-wolfe[step={step},smoothness=0,iterations=2]" for step in ("short", "backtracking")),
    "frank-wolfe[epsilon=0.5,step=short,smoothness=0]",
    "afw[iterations=2,smoothness=0]",
]


@pytest.mark.parametrize("given", BOUNDS)
def test_a_given_zero_is_refused_unless_the_function_is_linear(given):
    """A derived 0 is right for a linear f; a stated one would make a step of any length."""
    assert pf.solve(made("linear"), given, budget="fo=9").final["objective"] == 0.0
    name = "curvature" if "curvature" in given else "smoothness"
    for constants in ({"L_f": 2.0, "delta": 1.0}, {"delta": 1.0}):
        problem = from_functions(
            lambda x: float(x @ x), lambda x: 2.0 * x, Simplex(2), start=np.eye(2)[0],
            constants=constants,
        )  # fmt: skip
        with pytest.raises(InputError, match=f"^{name}=0 must be greater than 0"):
            pf.solve(problem, given)
