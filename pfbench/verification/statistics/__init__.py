"""Verdicts from measured samples: tests, confidence intervals and exponents.

The rules are for one verification with at most `MOST_TESTS` tests over all claims. The verdict
*violated* has the family-wise error rate `means.FAMILY_LEVEL`, divided by that number of tests
(Bonferroni). The verdicts *holds*, *within-10* and *attained* have the confidence 95 %, each under
the assumptions that its rule states.
"""

from pfbench.verification.statistics.decisions import (
    Decision,
    decide_equality,
    decide_exact,
    decide_inequality,
    decide_mean,
    decide_mean_sequentially,
    decide_share,
    decide_uniform,
    is_doubtful,
)
from pfbench.verification.statistics.exponents import Exponent, fit_exponent, make_fit_function
from pfbench.verification.statistics.means import LEVEL, MOST_TESTS, EProcess, mean_interval
from pfbench.verification.statistics.medians import MOST_SEEDS, SEEDS, SeedRows
from pfbench.verification.statistics.parts import (
    cap_by_own_constant,
    cap_by_schedule,
    combine_all,
    combine_instances,
    combine_with_conditions,
)
from pfbench.verification.statistics.seed_decisions import (
    EXPONENT_MARGIN,
    LAW_MARGIN,
    decide_exponent,
    decide_median,
)

__all__ = [
    "EXPONENT_MARGIN",
    "LAW_MARGIN",
    "LEVEL",
    "MOST_SEEDS",
    "MOST_TESTS",
    "SEEDS",
    "Decision",
    "EProcess",
    "Exponent",
    "SeedRows",
    "cap_by_own_constant",
    "cap_by_schedule",
    "combine_all",
    "combine_instances",
    "combine_with_conditions",
    "decide_equality",
    "decide_exact",
    "decide_exponent",
    "decide_inequality",
    "decide_mean",
    "decide_mean_sequentially",
    "decide_median",
    "decide_share",
    "decide_uniform",
    "fit_exponent",
    "is_doubtful",
    "make_fit_function",
    "mean_interval",
]
