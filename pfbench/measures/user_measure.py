"""User-defined measures, called with a protected state and a check of the return value."""

import math
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfbench.base.arrays import as_read_only
from pfbench.base.errors import InputError
from pfbench.base.protocols import IntervalMeasure, Problem
from pfbench.base.state import State
from pfbench.points import view


@dataclass(frozen=True)
class UserMeasure:
    """Measure by a user-defined function, which cannot change the run and whose result is checked.

    Attributes
    ----------
    function
        Returns a number, an interval (lower, upper), or None where it is not defined.

    Raises
    ------
    InputError
        When called, if the function returns anything else.
    """

    function: Callable[..., Any]

    def __call__(self, problem: Problem, state: State) -> float | IntervalMeasure | None:
        """Return the value of the function as a float, or as a pair of floats for an interval."""
        function = self.function(problem, _protect_state(state))
        if function is None:
            return None
        if not isinstance(function, tuple):
            return _check_measure_value(function)
        if len(function) != 2:
            raise InputError(
                f"the function returned {len(function)} numbers, not two, (lower, upper)"
            )
        lower, upper = map(_check_measure_value, function)
        if lower > upper:
            raise InputError(
                f"the function returned (lower, upper) = ({lower:g}, {upper:g}) with lower > upper"
            )
        return lower, upper


def _protect_state(state: State) -> State:
    """Return a state for user code: read-only arrays, and a copy or a view of the iterate."""
    point, estimate, output = (
        as_read_only(item) if isinstance(item, np.ndarray) else item for item in state[1:4]
    )
    return State(view(state.x), point, estimate, output, state.coin)


def _check_measure_value(value: Any) -> float:
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputError(f"{reprlib.repr(value)} is not a number, (lower, upper) or None")
    if math.isnan(value):
        raise InputError("the function returned NaN: return None where the measure is not defined")
    return float(value)
