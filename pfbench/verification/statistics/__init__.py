"""From measurements to verdicts: tests, intervals, exponents, and the words they allow.

The rules are those of one verification of `CLAIMS` claims. *violated* is said at the family-wise
level `FAMILY_LEVEL`, split over the claims by Bonferroni. *holds* and *tight* are said at 95 %.
"""

from pfbench.verification.statistics.decisions import (
    EXPONENT_MARGIN,
    LAW_MARGIN,
    TIGHT,
    Decision,
    Verdict,
    decide_exact,
    decide_exponent,
    decide_inequality,
    decide_mean,
    decide_share,
    equal,
    sequential,
)
from pfbench.verification.statistics.exponents import (
    CURVATURE,
    LEAST_POINTS,
    ROUNDING,
    Exponent,
    exponent_p_value,
    fit_exponent,
)
from pfbench.verification.statistics.means import (
    CLAIMS,
    CONFIDENCE,
    FAMILY_LEVEL,
    GRID,
    LEVEL,
    Array,
    EProcess,
    Interval,
    log_e_values,
    lower_limit,
    mean_interval,
    upper_limit,
)
from pfbench.verification.statistics.parts import across, all_of, given

__all__ = [
    "CLAIMS",
    "CONFIDENCE",
    "CURVATURE",
    "EXPONENT_MARGIN",
    "FAMILY_LEVEL",
    "GRID",
    "LAW_MARGIN",
    "LEAST_POINTS",
    "LEVEL",
    "ROUNDING",
    "TIGHT",
    "Array",
    "Decision",
    "EProcess",
    "Exponent",
    "Interval",
    "Verdict",
    "across",
    "all_of",
    "decide_exact",
    "decide_exponent",
    "decide_inequality",
    "decide_mean",
    "decide_share",
    "equal",
    "exponent_p_value",
    "fit_exponent",
    "given",
    "log_e_values",
    "lower_limit",
    "mean_interval",
    "sequential",
    "upper_limit",
]
