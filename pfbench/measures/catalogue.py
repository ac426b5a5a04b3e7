"""Catalogue of measures, and their look-up for a problem."""

import math
import reprlib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from pfbench.base.arrays import as_read_only
from pfbench.base.checks import check_real
from pfbench.base.errors import InputError
from pfbench.base.names import unknown_name_error
from pfbench.base.protocols import IntervalMeasure, Measure, Problem
from pfbench.base.selectors import Selector
from pfbench.base.state import State
from pfbench.measures import common
from pfbench.points import copy_or_view

MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "objective": common.objective,
        "value": common.value,
        "fw_gap": common.fw_gap,
        "gradient_mapping_sq": common.gradient_mapping_sq,
        "estimator_error": common.estimator_error,
        "coin": common.coin,
    }
)
"""Measures of every problem; a problem may add more."""


class MeasureInfo(NamedTuple):
    """One-line description of a measure, and the source that defines it."""

    summary: str
    source: str


_ROWS = tomllib.loads(Path(__file__).with_name("measures.toml").read_text(encoding="utf-8"))

MEANING: Mapping[str, MeasureInfo] = MappingProxyType(
    {name: MeasureInfo(**row) for name, row in _ROWS.items()}
)
"""Meaning of each measure, including those of single problems, from `measures.toml`."""

BRACKETS = frozenset({"fw_gap"})
"""Measures that return an interval; tables show the upper end under the measure's name."""


def available_measures(problem: Problem) -> dict[str, Measure]:
    """Return all measures available for a problem, by name."""
    own = problem.measures().items()
    return {**MEASURES, **{name: UserMeasure(measure) for name, measure in own}}


def select_measures(problem: Problem, names: list[str]) -> dict[str, Measure]:
    """Return the measures with these names; ``gradient_mapping_sq[lam=0.25]`` sets lambda.

    Raises
    ------
    InputError
        If a name is unknown for this problem (the nearest is suggested), or takes no parameters.
    """
    existing = available_measures(problem)
    return {name: _select_measure(problem, existing, Selector.parse(name)) for name in names}


def _select_measure(
    problem: Problem, existing: Mapping[str, Measure], selector: Selector
) -> Measure:
    if selector.name not in existing:
        raise unknown_name_error(f"measure of {problem.name}", selector.name, existing)
    if not selector.parameters:
        return existing[selector.name]
    if selector.name != "gradient_mapping_sq" or [*selector.parameters] != ["lam"]:
        raise InputError(
            f"{selector}: only the measure gradient_mapping_sq takes a parameter, lam, as in "
            "gradient_mapping_sq[lam=0.25]."
        )
    lam = check_real("the lam of gradient_mapping_sq", selector.parameters["lam"], above=0.0)
    return partial(common.gradient_mapping_sq, lam=lam)


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
        function = self.function(problem, protect_state(state))
        if function is None:
            return None
        if not isinstance(function, tuple):
            return _check_measure_value(function)
        bounds = [*map(_check_measure_value, function)]
        if len(bounds) != 2 or bounds[0] > bounds[1]:
            raise InputError(f"the function returned {function}, not (lower, upper)")
        return bounds[0], bounds[1]


def protect_state(state: State) -> State:
    """Return a state for user code: read-only arrays, and a copy or a view of the iterate."""
    point, estimate, output = (
        as_read_only(item) if isinstance(item, np.ndarray) else item for item in state[1:4]
    )
    return State(copy_or_view(state.x), point, estimate, output, state.coin)


def _check_measure_value(value: Any) -> float:
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputError(
            f"the function returned {reprlib.repr(value)}, which is not a number, a pair (lower, "
            "upper) or None"
        )
    if math.isnan(value):
        raise InputError("the function returned NaN: return None where the measure is not defined")
    return float(value)
