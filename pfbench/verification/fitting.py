"""Public function `fit_rate`, which estimates the exponent of a power law from runs."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pfbench.base.checks import check_choice, check_finite_array, check_real, check_text
from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector
from pfbench.base.status import Status
from pfbench.base.user_code import blame_user_code
from pfbench.runs.loop.run import COMPLETED, Run
from pfbench.verification.statistics.exponents import Exponent, fit_exponent

_INVERSE = "1/"


def fit_rate(
    runs: Iterable[Run],
    *,
    x: str | Callable[[Run], float] | None = None,
    targets: Sequence[float] | None = None,
    measure: str = "fw_gap",
    count: str = "sfo",
    decades: float = 2.0,
) -> Exponent:
    """Fit the power law calls ∝ x^slope: one least-squares slope per seed, then their median.

    With `x`, each run has its own value of x, and its total calls are fitted. A run must have
    reached its target or its end. With `targets`, x is 1/target, and the fitted calls are those up
    to the first recorded row at or below the target.

    Parameters
    ----------
    runs
        Runs, as `solve` or a store returns them. The runs of one seed give one slope.
    x
        Variable of the law: the name of a parameter of the problem or the method, ``1/NAME`` for
        its inverse, or a function of a run. Its values must be positive.
    targets
        Target values of the measure, which must be in the traces of the runs.
    measure
        Name of the measure.
    count
        Kind of calls, or ``iteration``.
    decades
        Minimum number of decades of x for a usable fit.

    Returns
    -------
    Exponent
        The exponent, which is the median of the slopes, with its interval at 95 % (none for fewer
        than 6 seeds). It also has the change of the local slope over the range, with an interval
        (`is_curved` says whether that is significant), and the number of censored cells.
        `is_usable` is false if fewer than 4 values of x, or too few decades, are left.

    Raises
    ------
    InputError
        If there is no run, if neither or both of x and targets are given, if a run does not state
        x, if a trace lacks the measure, or if a seed lacks a value of x.
    """
    is_list = isinstance(runs, Iterable) and not isinstance(runs, np.ndarray)
    full_list = list(runs) if is_list else []
    if not full_list or not all(isinstance(run, Run) for run in full_list):
        raise InputError("runs must be a list of at least one run, as pfbench.solve returns it.")
    if (x is None) == (targets is None):
        raise InputError("give x (one value per run) or targets (along each run), but not both.")
    check_text("measure", measure, "fw_gap")
    check_real("decades", decades, minimum=0.0)
    check_choice("count", count, ("iteration", *COUNTED))
    if targets is not None:
        levels = check_finite_array("targets", targets)
        if levels.ndim != 1 or (levels <= 0.0).any():
            raise InputError("targets must be a list of positive numbers.")
        table = [
            [_calls_to_target(run, measure, level, count) for level in levels] for run in full_list
        ]
        return fit_exponent(1.0 / levels, table, least_decades=decades)
    cells: dict[int, dict[float, float]] = {}
    for run in full_list:
        total_calls = _variable_value(run, x)
        cell = cells.setdefault(run.seed, {})
        if total_calls in cell:
            raise InputError(
                f"two runs have seed {run.seed} and x = {total_calls:g}: remove one of them."
            )
        cell[total_calls] = _total_calls(run, count)
    values = sorted({position for results in cells.values() for position in results})
    for seed, cell in cells.items():
        lacking = [position for position in values if position not in cell]
        if lacking:
            raise InputError(f"no run has seed {seed} and x = {lacking[0]:g}: add such a run.")
    table = [[results[position] for position in values] for results in cells.values()]
    return fit_exponent(values, table, least_decades=decades)


def _variable_value(run: Run, x: Any) -> float:
    """Return the value that x has in a run; x is a function, or the name of a parameter."""
    if callable(x):
        with blame_user_code(f"x of {run.algorithm}"):
            return check_real("x", x(run), above=0.0)
    name = check_text("x", x, "epsilon").removeprefix(_INVERSE)
    parameters = {**Selector.parse(run.problem).parameters, **run.parameters}
    parameters |= Selector.parse(run.algorithm).parameters
    value = parameters.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(
            f"x={name} is not a numeric parameter of {run.algorithm} on {run.problem}: name such a "
            "parameter, or pass a function of a run."
        )
    return 1.0 / value if x.startswith(_INVERSE) else float(value)


def _total_calls(run: Run, count: str) -> float:
    """Return the total calls of a run; infinite if it reached neither its target nor its end."""
    spent = run.iterations if count == "iteration" else run.counts.as_dict()[count]
    return float(spent) if run.status in (Status.TARGET, Status.FINISHED) and spent else math.inf


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
