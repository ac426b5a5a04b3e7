"""User-defined problems: validated once, at the start point, before any run."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pfbench.base.checks import check_finite_array, check_integer, check_real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector
from pfbench.base.state import State
from pfbench.base.user_code import blame_user_code
from pfbench.measures import fw_gap
from pfbench.points import FactoredMatrix, infer_format
from pfbench.problems import FiniteSum

SET_METHODS = ("name", "diameter", "has_projection", "contains(x)", "lo(g)", "minimum(g)")
"""Required parts of the feasible set of a problem."""


def check_user_problem(selector: Selector, value: Any) -> FiniteSum:
    """Return a user-defined problem under its selector's name, after validation.

    Raises
    ------
    InputError
        If the value is not a `FiniteSum`, or a part of it is wrong.
    """
    name = selector.name
    if not isinstance(value, FiniteSum):
        raise InputError(
            f"{name} is not a problem: {type(value).__name__} does not derive from "
            "pfbench.problems.FiniteSum; docs/adding-an-algorithm.md shows one that does."
        )
    _check_parts(f"{name} is not a problem", value, ("n", "set"))
    _check_parts(f"the set of {name} is not a feasible set", value.set, SET_METHODS)
    problem = value.with_selector(name, selector.parameters)
    _check_at_start(problem)
    return problem


def _check_parts(blame: str, value: Any, needed: tuple[str, ...]) -> None:
    lacking = [part for part in needed if not hasattr(value, part.partition("(")[0])]
    if lacking:
        raise InputError(
            f"{blame}: {type(value).__name__} lacks {', '.join(lacking)}; "
            "docs/adding-an-algorithm.md shows one that has all."
        )


def _check_at_start(problem: FiniteSum) -> None:
    """Check each part of a problem once, at its start point."""
    name = problem.name

    def part(words: str, function: Callable[[], Any]) -> Any:
        with blame_user_code(f"{words} of {name}"):
            return function()

    n = part("n", lambda: problem.n)
    if n is not None:
        check_integer(f"n of {name}", n, minimum=1)
    x, recomputed = part("start()", lambda: (problem.start(), problem.start()))
    _check_start(name, x, recomputed)
    if not part("set.contains(start)", lambda: problem.set.contains(x)):
        raise InputError(f"start() of {name} is outside its set: project it first.")
    check_real(f"value(start) of {name}", part("value(start)", lambda: problem.value(x)))
    gradient = part("gradient(start)", lambda: problem.gradient(x))
    shape = x.shape if isinstance(x, np.ndarray) else None
    check_finite_array(f"gradient(start) of {name}", gradient, shape=shape)
    form = infer_format(x, name)
    if not form.is_gradient(gradient):
        returned = form.describe(gradient)
        raise InputError(
            f"gradient(start) of {name} is {returned}: it must be {form.gradients_text}."
        )
    lacks = part("lacks", lambda: problem.lacks)
    part("set.minimum(gradient(start))", lambda: fw_gap(problem, State(x)))
    constants = part("constants(start)", lambda: problem.constants(x))
    if not isinstance(constants, Constants) or (n is not None and constants.n != n):
        raise InputError(
            f"constants(start) of {name} must return pfbench.base.constants.Constants with n={n}."
        )
    backend = part("open(rng)", lambda: problem.open(np.random.default_rng(0)))
    if backend is not problem:
        _check_parts(
            f"open(rng) of {name} does not return a backend", backend, ("n", "unconstrained")
        )
    if backend.n != n:
        raise InputError(f"open(rng) of {name} must return a backend for its n={n} components.")
    part("measures()", lambda: problem.measures())
    part("shape", lambda: tuple(problem.shape))
    statement = part("digest", lambda: problem.digest)
    if not isinstance(statement, str) or not statement:
        raise InputError(f"digest of {name} must be a string that changes with its data.")
    if problem.penalty is not None and "lo" not in lacks:
        raise InputError(f"{name} has a feasible set and a penalty: leave one of them out.")


def _check_start(name: str, x: Any, recomputed: Any) -> None:
    if isinstance(x, np.ndarray):
        if x.dtype != np.float64 or x.ndim == 0:
            raise InputError(f"start() of {name} must be an array of float64, not {x.dtype}.")
        if not np.array_equal(check_finite_array(f"start() of {name}", x), recomputed):
            raise InputError(f"start() of {name} differs from call to call: fix its seed.")
    elif not isinstance(x, FactoredMatrix):
        raise InputError(f"start() of {name} must be an array, not {type(x).__name__}.")
