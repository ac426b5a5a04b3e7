"""From measurements to verdicts: tests, intervals, exponents, and the words they allow.

The rules are those of one verification of `CLAIMS` claims. *violated* is said at the family-wise
level `means.FAMILY_LEVEL`, split over the claims by Bonferroni. *holds* and *tight* are said at
95 %.
"""

from pfbench.verification.statistics.decisions import (
    LAW_MARGIN,
    Decision,
    Verdict,
    decide_exponent,
    decide_inequality,
    decide_mean,
    decide_share,
    sequential,
)
from pfbench.verification.statistics.exponents import (
    Exponent,
    fit_exponent,
)
from pfbench.verification.statistics.means import (
    CLAIMS,
    LEVEL,
    EProcess,
    mean_interval,
)

__all__ = [
    "CLAIMS",
    "LAW_MARGIN",
    "LEVEL",
    "Decision",
    "EProcess",
    "Exponent",
    "Verdict",
    "decide_exponent",
    "decide_inequality",
    "decide_mean",
    "decide_share",
    "fit_exponent",
    "mean_interval",
    "sequential",
]
