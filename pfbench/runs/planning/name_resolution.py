"""Names of a run: resolution of selectors, and validation of user-defined problems."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from pfbench.algorithms.base import Algorithm as Kind
from pfbench.algorithms.catalogue import select_algorithm as named_algorithm
from pfbench.algorithms.catalogue import select_user_algorithm
from pfbench.base.checks import check_finite_array, check_integer, check_real
from pfbench.base.constants import Constants, evaluate_formulas, is_formula_in_constants
from pfbench.base.errors import InputError
from pfbench.base.protocols import Algorithm, AlgorithmSpec, Measure, Problem
from pfbench.base.selectors import FILE, Selector, strip_quotes
from pfbench.base.state import State
from pfbench.base.user_code import (
    blame_user_code,
    instantiate,
    load_user_algorithm,
    load_user_object,
    name_format_error,
)
from pfbench.measures.catalogue import MEANING, UserMeasure, available_measures
from pfbench.measures.catalogue import select_measures as named
from pfbench.measures.common import fw_gap
from pfbench.points import infer_format, is_finite
from pfbench.problems import FiniteSum
from pfbench.problems.catalogue import build_problem
from pfbench.runs.loop.run import TRACE_COLUMNS, trace_name

_TAKEN = frozenset({*TRACE_COLUMNS, *MEANING, "key", "seed"})
"""Names that a measure cannot have, as columns of traces or tables have them."""


@lru_cache(maxsize=4096)
def unquote_selector(text: str) -> str:
    """Return a selector without surrounding quotes.

    Raises
    ------
    InputError
        If the selector cannot be read, or is FILE.py without :NAME.
    """
    text = strip_quotes(text)
    name = Selector.parse(text).name
    if name.endswith(FILE):
        raise name_format_error(name)
    return text


def select_problem(text: str) -> Problem:
    """Build the problem that a text such as ``quadratic[rows=40]`` selects.

    Raises
    ------
    InputError
        If a name is unknown, a parameter wrong, or the result is not a problem.
    DataError
        If its data are missing or damaged.
    """
    selector = Selector.parse(unquote_selector(text))
    if ":" not in selector.name:
        return build_problem(selector)
    return check_user_problem(selector, instantiate(selector))


_PARTS = ("name", "requires", "output", "run")


@dataclass(frozen=True)
class UserAlgorithmChoice:
    """User-defined method whose parameters may be formulas, as in ``my:Method[step=3/L]``."""

    selector: Selector
    schedule: str = "explicit"
    assumes: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Name of the method, MODULE:NAME."""
        return self.selector.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Explicit parameters, by name."""
        return self.selector.parameters

    def resolve(self, constants: Constants) -> tuple[Algorithm, str]:
        """Return the algorithm with its parameter formulas evaluated, and its schedule's name."""
        texts = self.selector.texts
        values = evaluate_formulas(constants, self.parameters, (), self.name)
        retained = {name: texts[name] for name in texts if values[name] == self.parameters[name]}
        return load_user_algorithm(Selector(self.name, values, retained), _PARTS), self.schedule


def select_algorithm(text: str) -> AlgorithmSpec | Algorithm:
    """Return the algorithm that a text such as ``saga[step=0.1]`` selects, for use by `solve`.

    Raises
    ------
    InputError
        If a name is unknown, a parameter wrong, or the result is not an algorithm.
    """
    selector = Selector.parse(unquote_selector(text))
    if ":" not in selector.name:
        return named_algorithm(selector)
    if selector.parameters.keys() & {"epsilon", "schedule"}:
        data = load_user_object(selector.name)
        # Of its theorem, unless its own parameter has that name.
        theorem = isinstance(data, type) and issubclass(data, Kind)
        if theorem and "epsilon" not in data.parameters():
            return select_user_algorithm(data, selector)
    if any(map(is_formula_in_constants, selector.parameters.values())):
        return UserAlgorithmChoice(selector)
    return load_user_algorithm(selector, _PARTS)


def build_algorithm_and_schedule(text: str, constants: Constants) -> tuple[Algorithm, str]:
    """Return the algorithm that a text selects for the given constants, and its schedule's name."""
    chosen = select_algorithm(text)
    if isinstance(chosen, AlgorithmSpec):
        return chosen.resolve(constants)
    return chosen, "explicit"


def select_measures(problem: Problem, names: Sequence[str]) -> dict[str, Measure]:
    """Return a dict of measures of a problem by their names in the trace.

    The name of MODULE:NAME in the trace is NAME.

    Raises
    ------
    InputError
        If a name is unknown or in use, or is not a function of problem and state.
    """
    measures: dict[str, Measure] = {}
    for text in names:
        name = trace_name(text)
        if ":" not in text:
            measures |= named(problem, [text])
        elif name in measures:
            raise InputError(f"two measures are called {name}: rename one of them.")
        elif name in _TAKEN or name in available_measures(problem) or name.endswith("_lower"):
            raise InputError(
                f"the measure {text} has the name {name}, which traces use: rename the measure."
            )
        else:
            function = load_user_object(text)
            if isinstance(function, type) or not callable(function):
                raise InputError(f"{text} must be a function of (problem, state).")
            measures[name] = UserMeasure(function)
    return measures


SET_METHODS = ("name", "diameter", "has_projection", "contains(x)", "lo(g)", "minimum(g)")
"""Required parts of the feasible set of a problem."""


def check_user_problem(selector: Selector, value: Any) -> FiniteSum:
    """Validate a user-defined problem, and return it with the selector as its name.

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


def _check_parts(fault: str, value: Any, needed: tuple[str, ...]) -> None:
    lacking = [part for part in needed if not hasattr(value, part.partition("(")[0])]
    if lacking:
        raise InputError(
            f"{fault}: {type(value).__name__} lacks {', '.join(lacking)}; "
            "docs/adding-an-algorithm.md shows a complete example."
        )


def _check_at_start(problem: FiniteSum) -> None:
    """Check each part of a user-defined problem once, at its start point."""
    name = problem.name

    def part(words: str, function: Callable[[], Any]) -> Any:
        with blame_user_code(f"{words} of {name}"):
            return function()

    n = part("n", lambda: problem.n)
    if n is not None:
        check_integer(f"n of {name}", n, minimum=1)
    x, recomputed = part("start()", lambda: (problem.start(), problem.start()))
    form = infer_format(x, name)
    if not is_finite(x):
        raise InputError(f"start() of {name} has NaN or infinite entries: choose another start.")
    if isinstance(x, np.ndarray) and not np.array_equal(x, recomputed):
        raise InputError(f"start() of {name} differs from call to call: fix its random seed.")
    if not part("set.contains(start)", lambda: problem.set.contains(x)):
        raise InputError(f"start() of {name} is outside its feasible set: project the point first.")
    check_real(f"value(start) of {name}", part("value(start)", lambda: problem.value(x)))
    gradient = part("gradient(start)", lambda: problem.gradient(x))
    if not form.is_gradient(gradient):
        returned = form.describe(gradient)
        raise InputError(
            f"gradient(start) of {name} is {returned}: it must be {form.gradients_text}."
        )
    if isinstance(gradient, np.ndarray):
        check_finite_array(f"gradient(start) of {name}", gradient)
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
        raise InputError(f"open(rng) of {name} must return an object with n={n}, not {backend.n}.")
    part("measures()", lambda: problem.measures())
    part("shape", lambda: tuple(problem.shape))
    statement = part("digest", lambda: problem.digest)
    if not isinstance(statement, str) or not statement:
        raise InputError(f"digest of {name} must be a string that changes with the problem's data.")
    if problem.penalty is not None and "lo" not in lacks:
        raise InputError(f"{name} has both a feasible set and a penalty: leave one of the two out.")
