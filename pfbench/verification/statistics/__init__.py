"""From measurements to verdicts: tests, intervals, exponents, and the words they allow.

The rules are those of one verification of at most `MOST_CLAIMS` claims. *violated* is said at the
family-wise level `means.FAMILY_LEVEL`, split over so many claims by Bonferroni. *holds* and *tight*
are said at 95 %.
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
from pfbench.verification.statistics.means import LEVEL, MOST_CLAIMS, EProcess, mean_interval
from pfbench.verification.statistics.parts import (
    across,
    all_of,
    by_own_constant,
    by_schedule,
    given,
)

__all__ = [
    "LAW_MARGIN",
    "LEVEL",
    "MOST_CLAIMS",
    "Decision",
    "EProcess",
    "Exponent",
    "Verdict",
    "across",
    "all_of",
    "by_own_constant",
    "by_schedule",
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
