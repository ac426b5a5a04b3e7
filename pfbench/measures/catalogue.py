"""Measures by name, and how a name is looked up for a problem."""

from collections.abc import Mapping
from types import MappingProxyType

from pfbench.base.names import unknown
from pfbench.base.protocols import Measure, Problem
from pfbench.measures import common

MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "objective": common.objective,
        "value": common.value,
        "fw_gap": common.fw_gap,
        "gradient_mapping_sq": common.gradient_mapping_sq,
        "estimator_error": common.estimator_error,
    }
)
"""The measures that every problem has; a problem adds its own."""

BRACKETS = frozenset({"fw_gap"})
"""Measures that return an interval; a table shows the upper end under the name itself."""


def available(problem: Problem) -> dict[str, Measure]:
    """Return all measures of a problem by name."""
    return {**MEASURES, **problem.measures()}


def named(problem: Problem, names: list[str]) -> dict[str, Measure]:
    """Return the measures of these names.

    Raises
    ------
    InputError
        If a name is unknown for this problem (the nearest is suggested).
    """
    known = available(problem)
    for name in names:
        if name not in known:
            raise unknown(f"measure of {problem.name}", name, known)
    return {name: known[name] for name in names}
