"""Public function `fit_rate`, which estimates the exponent of a power law from runs."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from pfbench.base.checks import check_choice, check_finite_array, check_real, check_text
from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError
from pfbench.runs.loop.run import COMPLETED, Run
from pfbench.verification.statistics.seed_decisions import Exponent, fit_exponent


def fit_rate(
    runs: Iterable[Run],
    *,
    targets: Sequence[float],
    measure: str = "fw_gap",
    count: str = "sfo",
    decades: float = 2.0,
) -> Exponent:
    """Fit the power law calls ∝ (1/target)^slope: one slope per run, then their median.

    The fitted calls are those up to the first recorded row at or below the target. The exponent in
    a parameter of the problem is tested by a claim; see `pfbench.claims.rate`.

    Parameters
    ----------
    runs
        Runs with different seeds, as `solve` or a store returns them.
    targets
        Target values of the measure, which must be in the traces of the runs.
    measure
        Name of the measure.
    count
        Kind of calls, or ``iteration``.
    decades
        Minimum number of decades of 1/target for a usable fit.

    Returns
    -------
    Exponent
        The exponent, which is the median of the slopes, with its interval at 95 % (none for fewer
        than 6 seeds). It also has the change of the local slope over the range, with an interval
        (`is_curved` says whether that is significant), and the number of censored cells.
        `is_usable` is false if fewer than 4 targets, or too few decades, are left.

    Raises
    ------
    InputError
        If there is no run, if a target is not positive, or if a trace lacks the measure.
    """
    is_list = isinstance(runs, Iterable) and not isinstance(runs, np.ndarray)
    full_list = list(runs) if is_list else []
    if not full_list or not all(isinstance(run, Run) for run in full_list):
        raise InputError("runs must be a list of at least one run, as pfbench.solve returns it.")
    check_text("measure", measure, "fw_gap")
    check_real("decades", decades, minimum=0.0)
    check_choice("count", count, ("iteration", *COUNTED))
    levels = check_finite_array("targets", targets)
    if levels.ndim != 1 or (levels <= 0.0).any():
        raise InputError("targets must be a list of positive numbers.")
    table = [
        [_calls_to_target(run, measure, level, count) for level in levels] for run in full_list
    ]
    return fit_exponent(1.0 / levels, table, least_decades=decades)


def _calls_to_target(run: Run, measure: str, target: float, count: str) -> float:
    """Return the calls of a run until the measure reaches a target; infinite if it never does."""
    if measure not in run.columns:
        raise InputError(
            f"the trace of {run.algorithm}, seed {run.seed}, has no {measure}: repeat the run "
            f"with measures=[{measure!r}]."
        )
    row = run.first_value(measure, target) if run.status in COMPLETED else None
    if row is None:
        return math.inf
    spent = float(run.rows[row][run.columns.index(count)])
    return spent if spent > 0.0 else math.inf
