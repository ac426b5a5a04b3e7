"""What the names of a run stand for: what a catalogue has, or somebody's own MODULE:NAME."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pfbench.algorithms.base import Algorithm as Kind
from pfbench.algorithms.catalogue import named_algorithm, own_choice
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.protocols import Algorithm, Choice, Measure, Problem
from pfbench.base.relative import at, is_relative
from pfbench.base.selectors import Selector
from pfbench.base.user_code import load, made, own_algorithm
from pfbench.measures import MEANING, available, named
from pfbench.measures.own import OwnMeasure
from pfbench.problems.catalogue import named_problem
from pfbench.runs.loop.run import TRACE_COLUMNS
from pfbench.runs.loop.stop import in_trace
from pfbench.runs.planning.own_problem import own_problem

_TAKEN = frozenset({*TRACE_COLUMNS, *MEANING, "key", "seed"})
"""Names that a column of a trace, alone or beside others, already has."""


def chosen_problem(text: str) -> Problem:
    """Build the problem of a selector.

    Raises
    ------
    InputError
        If a name is unknown, a parameter wrong, or what is made is no problem.
    DataError
        If its data are missing or damaged.
    """
    selector = Selector.parse(text)
    if ":" not in selector.name:
        return named_problem(selector)
    return own_problem(selector, made(selector))


_PARTS = ("name", "requires", "output", "run")


@dataclass(frozen=True)
class OwnChoice:
    """Somebody's own method of which parameters follow constants, as in ``my:Method[step=3/L]``."""

    selector: Selector
    schedule: str = "explicit"
    assumes: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """MODULE:NAME."""
        return self.selector.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters that were given, by name."""
        return self.selector.parameters

    def resolve(self, constants: Constants) -> tuple[Algorithm, str]:
        """Return the algorithm that is made of the formulas' values; see `at`."""
        texts = self.selector.texts
        values = at(constants, self.parameters, (), self.name)
        kept = {name: texts[name] for name in texts if values[name] == self.parameters[name]}
        return own_algorithm(Selector(self.name, values, kept), _PARTS), self.schedule


def chosen_algorithm(text: str) -> Choice | Algorithm:
    """Return the algorithm of a selector as `solve` takes it.

    Raises
    ------
    InputError
        If a name is unknown, a parameter wrong, or what is made is no algorithm.
    """
    selector = Selector.parse(text)
    if ":" not in selector.name:
        return named_algorithm(selector)
    if selector.parameters.keys() & {"epsilon", "schedule"}:
        found = load(selector.name)
        # Of its theorem, unless its own parameter has that name.
        theorem = isinstance(found, type) and issubclass(found, Kind)
        if theorem and "epsilon" not in found.parameters():
            return own_choice(found, selector)
    if any(map(is_relative, selector.parameters.values())):
        return OwnChoice(selector)
    return own_algorithm(selector, _PARTS)


def chosen_measures(on: Problem, names: Sequence[str]) -> dict[str, Measure]:
    """Return measures of a problem by their names in the trace; of MODULE:NAME that is NAME.

    Raises
    ------
    InputError
        If a name is unknown or taken, or what it names is no function of problem and state.
    """
    found: dict[str, Measure] = {}
    for text in names:
        name = in_trace(text)
        if ":" not in text:
            found |= named(on, [text])
        elif "[" in text:
            raise InputError(f"{text}: a measure takes no parameters: leave the brackets out.")
        elif name in found:
            raise InputError(f"two measures are called {name}: rename one of them.")
        elif name in _TAKEN or name in available(on) or name.endswith("_lower"):
            raise InputError(f"{text}: the name {name} is taken in traces; rename the measure.")
        else:
            found[name] = OwnMeasure(_function(text))
    return found


def _function(text: str) -> Any:
    """Load a measure; refuse what cannot be called with a problem and a state."""
    found = load(text)
    if isinstance(found, type) or not callable(found):
        raise InputError(f"{text} is no measure: a function of (problem, state) is needed.")
    try:
        signature = inspect.signature(found)
    except ValueError:  # written in C, which tells nothing
        return found
    try:
        signature.bind(None, None)
    except TypeError as error:
        raise InputError(
            f"{text} is no measure: it must take two parameters, problem and state ({error})."
        ) from error
    return found
