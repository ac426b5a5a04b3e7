"""What is computed of runs, and of nothing else: curves, calls to a target, comparisons.

No number of a method depends on the other methods that are shown. `curves` has medians over seeds,
`prices` and `runtimes` the calls to a target and what is expected of them, `distributions` shares
of targets, `bootstrap` the intervals of both, `limits` the runs at equal counts, `significance` the
test that says which differences are more than luck.
"""

from pfbench.reporting.statistics.bootstrap import (
    EVEN,
    LEVEL,
    RESAMPLES,
    Interval,
    ert_interval,
    even,
    ratio_interval,
)
from pfbench.reporting.statistics.curves import (
    QUARTILES_FROM,
    Band,
    Ending,
    Final,
    band,
    band_means,
    column,
    endings,
    final,
    first,
    nothing_varies,
)
from pfbench.reporting.statistics.distributions import Distribution, ecdf, profile
from pfbench.reporting.statistics.limits import common_limits, shortened
from pfbench.reporting.statistics.prices import Price
from pfbench.reporting.statistics.runtimes import Runtimes, ert, runtimes
from pfbench.reporting.statistics.significance import (
    Sample,
    holm,
    leaders,
    middle,
    rank_test,
    seeds_needed,
    told,
)
from pfbench.reporting.statistics.suboptimality import OBJECTIVE, SUBOPTIMALITY, with_suboptimality
from pfbench.runs.loop.run import HOLDS

__all__ = [
    "EVEN",
    "HOLDS",
    "LEVEL",
    "OBJECTIVE",
    "QUARTILES_FROM",
    "RESAMPLES",
    "SUBOPTIMALITY",
    "Band",
    "Distribution",
    "Ending",
    "Final",
    "Interval",
    "Price",
    "Runtimes",
    "Sample",
    "band",
    "band_means",
    "column",
    "common_limits",
    "ecdf",
    "endings",
    "ert",
    "ert_interval",
    "even",
    "final",
    "first",
    "holm",
    "leaders",
    "middle",
    "nothing_varies",
    "profile",
    "rank_test",
    "ratio_interval",
    "runtimes",
    "seeds_needed",
    "shortened",
    "told",
    "with_suboptimality",
]
