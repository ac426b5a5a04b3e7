"""Somebody's own problem: checked once, at the start point, before any run."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pfbench.base.checks import finite_array, integer, real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, PfbenchError
from pfbench.base.selectors import Selector
from pfbench.points import Factored
from pfbench.problems import FiniteSum

OF_A_SET = ("name", "diameter", "has_projection", "contains(x)", "lo(g)", "minimum(g)")
"""What the feasible set of a problem must have."""


def own_problem(selector: Selector, given: Any) -> FiniteSum:
    """Return what somebody's class or function made, under its selector's name.

    Raises
    ------
    InputError
        If it does not derive from `FiniteSum`, or what it states is wrong.
    """
    name = selector.name
    if not isinstance(given, FiniteSum):
        raise InputError(
            f"{name} is no problem: {type(given).__name__} does not derive from "
            "pfbench.problems.FiniteSum; docs/adding-an-algorithm.md shows one that does."
        )
    _check_parts(f"{name} is no problem", given, ("n", "set"))
    _check_parts(f"the set of {name} is no feasible set", given.set, OF_A_SET)
    problem = given.called(name, selector.parameters)
    _check(problem)
    return problem


def _check_parts(blame: str, given: Any, needed: tuple[str, ...]) -> None:
    lacking = [part for part in needed if not hasattr(given, part.partition("(")[0])]
    if lacking:
        raise InputError(
            f"{blame}: {type(given).__name__} lacks {', '.join(lacking)}; "
            "docs/adding-an-algorithm.md shows one that has all."
        )


@contextmanager
def _blaming(name: str, part: str) -> Iterator[None]:
    """Say whose part raised what is raised inside."""
    try:
        yield
    except PfbenchError:
        raise
    except Exception as error:
        words = str(error).rstrip(".")
        raise InputError(f"{part} of {name} fails with {type(error).__name__}: {words}.") from error


def _check(problem: FiniteSum) -> None:
    """Look at each part once, at the start point."""
    name = problem.name
    with _blaming(name, "n"):
        n = integer(f"n of {name}", problem.n, least=1)
    with _blaming(name, "start()"):
        x, again = problem.start(), problem.start()
    _check_point(problem, x, again)
    with _blaming(name, "value(start)"):
        real(f"value(start) of {name}", problem.value(x))
    with _blaming(name, "gradient(start)"):
        shape = x.shape if isinstance(x, np.ndarray) else None
        finite_array(f"gradient(start) of {name}", problem.gradient(x), shape=shape)
    with _blaming(name, "constants(start)"):
        constants = problem.constants(x)
    if not isinstance(constants, Constants) or constants.n != n:
        raise InputError(
            f"constants(start) of {name} must return pfbench.base.constants.Constants with n={n}."
        )
    with _blaming(name, "open(rng)"):
        backend = problem.open(np.random.default_rng(0))
    if backend is not problem:
        _check_parts(f"open(rng) of {name} returns no backend", backend, ("n", "unconstrained"))
    if backend.n != n:
        raise InputError(f"open(rng) of {name} must return what answers for its n={n} components.")
    with _blaming(name, "measures()"):
        problem.measures()
    with _blaming(name, "lacks"):
        lacks = problem.lacks
    with _blaming(name, "shape"):
        tuple(problem.shape)
    with _blaming(name, "digest"):
        stated = problem.digest
    if not isinstance(stated, str) or not stated:
        raise InputError(f"digest of {name} must be a text that changes with its data.")
    if problem.penalty is not None and "lo" not in lacks:
        raise InputError(f"{name} has a feasible set and a penalty: leave one of them out.")


def _check_point(problem: FiniteSum, x: Any, again: Any) -> None:
    name = problem.name
    if isinstance(x, np.ndarray):
        if x.dtype != np.float64 or x.ndim == 0:
            raise InputError(f"start() of {name} must be an array of float64, not {x.dtype}.")
        if not np.array_equal(finite_array(f"start() of {name}", x), again):
            raise InputError(f"start() of {name} differs from call to call: fix its seed.")
    elif not isinstance(x, Factored):
        raise InputError(f"start() of {name} must be an array, not {type(x).__name__}.")
    with _blaming(name, "set.contains(start)"):
        inside = problem.set.contains(x)
    if not inside:
        raise InputError(f"start() of {name} is outside its set: project it first.")
