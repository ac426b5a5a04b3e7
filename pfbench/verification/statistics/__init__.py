"""Verdicts from measured samples: tests, confidence intervals and exponents.

The rules are for one verification with at most `MOST_TESTS` tests over all claims. The verdict
*violated* has the family-wise error rate `means.FAMILY_LEVEL`, divided by that number of tests
(Bonferroni). The verdicts *holds*, *within-10* and *attained* have the confidence 95 %, each under
the assumptions that its rule states.
"""

from pfbench.verification.statistics.decisions import Decision as Decision
from pfbench.verification.statistics.decisions import Evidence as Evidence
from pfbench.verification.statistics.decisions import decide_deviations as decide_deviations
from pfbench.verification.statistics.decisions import decide_equality as decide_equality
from pfbench.verification.statistics.decisions import decide_exact as decide_exact
from pfbench.verification.statistics.decisions import decide_inequality as decide_inequality
from pfbench.verification.statistics.decisions import decide_mean as decide_mean
from pfbench.verification.statistics.decisions import (
    decide_mean_sequentially as decide_mean_sequentially,
)
from pfbench.verification.statistics.decisions import decide_share as decide_share
from pfbench.verification.statistics.decisions import decide_uniform as decide_uniform
from pfbench.verification.statistics.decisions import is_doubtful as is_doubtful
from pfbench.verification.statistics.decisions import rejects as rejects
from pfbench.verification.statistics.means import EARLY_SEEDS as EARLY_SEEDS
from pfbench.verification.statistics.means import LEVEL as LEVEL
from pfbench.verification.statistics.means import MOST_SEEDS as MOST_SEEDS
from pfbench.verification.statistics.means import MOST_TESTS as MOST_TESTS
from pfbench.verification.statistics.means import SEEDS as SEEDS
from pfbench.verification.statistics.means import SeedRows as SeedRows
from pfbench.verification.statistics.means import max_log_e_value as max_log_e_value
from pfbench.verification.statistics.parts import (
    best_if_all_hold_else_worst as best_if_all_hold_else_worst,
)
from pfbench.verification.statistics.parts import (
    cap_at_holds_by_own_constant as cap_at_holds_by_own_constant,
)
from pfbench.verification.statistics.parts import (
    cap_at_holds_by_schedule_alone as cap_at_holds_by_schedule_alone,
)
from pfbench.verification.statistics.parts import combine_all as combine_all
from pfbench.verification.statistics.parts import (
    combine_parts_and_conditions as combine_parts_and_conditions,
)
from pfbench.verification.statistics.seed_decisions import EXPONENT_MARGIN as EXPONENT_MARGIN
from pfbench.verification.statistics.seed_decisions import LAW_MARGIN as LAW_MARGIN
from pfbench.verification.statistics.seed_decisions import Exponent as Exponent
from pfbench.verification.statistics.seed_decisions import decide_exponent as decide_exponent
from pfbench.verification.statistics.seed_decisions import decide_median as decide_median
from pfbench.verification.statistics.seed_decisions import fit_exponent as fit_exponent
from pfbench.verification.statistics.seed_decisions import make_fit_function as make_fit_function
