"""From measurements to verdicts: tests, intervals, exponents, and the words they allow.

The rules are those of one verification of `CLAIMS` claims. *violated* is said at the family-wise
level `means.FAMILY_LEVEL`, split over the claims by Bonferroni. *holds* and *tight* are said at
95 %.
"""

from pfbench.verification.statistics.decisions import (
    LAW_MARGIN,
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
from pfbench.verification.statistics.exponents import Exponent, fit_exponent
from pfbench.verification.statistics.means import CLAIMS, LEVEL, EProcess, mean_interval
from pfbench.verification.statistics.parts import across, all_of, given

__all__ = [
    "CLAIMS",
    "LAW_MARGIN",
    "LEVEL",
    "Decision",
    "EProcess",
    "Exponent",
    "Verdict",
    "across",
    "all_of",
    "decide_exact",
    "decide_exponent",
    "decide_inequality",
    "decide_mean",
    "decide_share",
    "equal",
    "fit_exponent",
    "given",
    "mean_interval",
    "sequential",
]
