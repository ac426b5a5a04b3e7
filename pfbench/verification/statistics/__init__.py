"""From measurements to verdicts: tests, intervals, exponents, and the words they allow.

The rules are those of one verification of at most `MOST_TESTS` tests, all parts of all claims
together. *violated* is said at the family-wise level `means.FAMILY_LEVEL`, split over so many tests
by Bonferroni; of exponents see `decide_exponent`. *holds* and *tight* are said at 95 %.
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
    doubtful,
    equal,
    sequential,
)
from pfbench.verification.statistics.exponents import Exponent, fit_exponent
from pfbench.verification.statistics.means import LEVEL, MOST_TESTS, EProcess, mean_interval
from pfbench.verification.statistics.parts import (
    across,
    all_of,
    by_own_constant,
    by_schedule,
    given,
)
from pfbench.verification.statistics.uniform import decide_uniform

__all__ = [
    "LAW_MARGIN",
    "LEVEL",
    "MOST_TESTS",
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
    "decide_uniform",
    "doubtful",
    "equal",
    "fit_exponent",
    "given",
    "mean_interval",
    "sequential",
]
