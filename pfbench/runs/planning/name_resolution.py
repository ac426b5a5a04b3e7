"""Resolution of the names of a run: catalogue names and user-defined MODULE:NAME."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pfbench.algorithms.base import Algorithm as Kind
from pfbench.algorithms.catalogue import select_algorithm as named_algorithm
from pfbench.algorithms.catalogue import select_user_algorithm
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.protocols import Algorithm, AlgorithmSpec, Measure, Problem
from pfbench.base.relative import evaluate_formulas, is_constant_formula
from pfbench.base.selectors import Selector
from pfbench.base.user_code import instantiate, load_user_algorithm, load_user_object
from pfbench.measures import MEANING, available_measures
from pfbench.measures import select_measures as named
from pfbench.measures.user_measure import UserMeasure
from pfbench.problems.catalogue import build_problem
from pfbench.runs.loop.run import TRACE_COLUMNS
from pfbench.runs.loop.stop import trace_name
from pfbench.runs.planning.user_problem import check_user_problem

_TAKEN = frozenset({*TRACE_COLUMNS, *MEANING, "key", "seed"})
"""Names that columns of a trace or of tables already have."""


def select_problem(text: str) -> Problem:
    """Build the problem of a selector.

    Raises
    ------
    InputError
        If a name is unknown, a parameter wrong, or the result is not a problem.
    DataError
        If its data are missing or damaged.
    """
    selector = Selector.parse(text)
    if ":" not in selector.name:
        return build_problem(selector)
    return check_user_problem(selector, instantiate(selector))


_PARTS = ("name", "requires", "output", "run")


@dataclass(frozen=True)
class UserAlgorithmChoice:
    """User-defined method with formulas as parameters, as in ``my:Method[step=3/L]``."""

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
        """Return the algorithm with evaluated formulas; see `evaluate_formulas`."""
        texts = self.selector.texts
        values = evaluate_formulas(constants, self.parameters, (), self.name)
        retained = {name: texts[name] for name in texts if values[name] == self.parameters[name]}
        return load_user_algorithm(Selector(self.name, values, retained), _PARTS), self.schedule


def select_algorithm(text: str) -> AlgorithmSpec | Algorithm:
    """Return the algorithm of a selector in the form that `solve` takes.

    Raises
    ------
    InputError
        If a name is unknown, a parameter wrong, or the result is not an algorithm.
    """
    selector = Selector.parse(text)
    if ":" not in selector.name:
        return named_algorithm(selector)
    if selector.parameters.keys() & {"epsilon", "schedule"}:
        data = load_user_object(selector.name)
        # Of its theorem, unless its own parameter has that name.
        theorem = isinstance(data, type) and issubclass(data, Kind)
        if theorem and "epsilon" not in data.parameters():
            return select_user_algorithm(data, selector)
    if any(map(is_constant_formula, selector.parameters.values())):
        return UserAlgorithmChoice(selector)
    return load_user_algorithm(selector, _PARTS)


def build_algorithm(text: str, constants: Constants) -> tuple[Algorithm, str]:
    """Return the algorithm of a selector for a problem with these constants, and its schedule."""
    chosen = select_algorithm(text)
    if isinstance(chosen, AlgorithmSpec):
        return chosen.resolve(constants)
    return chosen, "explicit"


def select_measures(problem: Problem, names: Sequence[str]) -> dict[str, Measure]:
    """Return measures of a problem by their names in the trace; of MODULE:NAME that is NAME.

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
        elif "[" in text:
            raise InputError(f"{text}: a measure takes no parameters: leave the brackets out.")
        elif name in measures:
            raise InputError(f"two measures are called {name}: rename one of them.")
        elif name in _TAKEN or name in available_measures(problem) or name.endswith("_lower"):
            raise InputError(f"{text}: traces use the name {name}: rename the measure.")
        else:
            measures[name] = UserMeasure(_load_measure_function(text))
    return measures


def _load_measure_function(text: str) -> Any:
    """Load a measure; raise if it cannot be called with a problem and a state."""
    data = load_user_object(text)
    if isinstance(data, type) or not callable(data):
        raise InputError(f"{text} is not a measure: a function of (problem, state) is needed.")
    try:
        signature = inspect.signature(data)
    except ValueError:  # written in C, which tells nothing
        return data
    try:
        signature.bind(None, None)
    except TypeError as error:
        raise InputError(
            f"{text} is not a measure: it must take two parameters, problem and state ({error})."
        ) from error
    return data
