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

MEANING: Mapping[str, str] = MappingProxyType(
    {
        "objective": "Psi = f + h",
        "value": "f",
        "fw_gap": "Frank-Wolfe gap max <grad f(x), x - u> over u in the set; exact, or a certified "
        "upper bound",
        "fw_gap_lower": "certified lower bound of fw_gap",
        "gradient_mapping_sq": "squared norm of the gradient mapping at lambda",
        "gradient_mapping_lambda": "that lambda, 1/(2 max(L_f, L_ms))",
        "estimator_error": "distance of the gradient estimate from the gradient (not in final)",
        "rmse_heldout": "root mean square error on the held-out entries",
        "rmse_heldout_mean": "the same error of predicting the mean of the observed entries",
        "rmse_truth": "root mean square error of all entries against the underlying matrix",
    }
)
"""What each measure means, those of single problems among them."""

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
