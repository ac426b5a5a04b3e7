"""Check that a run is the same in other units, i.e. on lambda f(x/mu), started at mu x_0.

The parameters are scaled accordingly. If the run changes, the algorithm contains an absolute
number: a tolerance, a step or a constant with a unit.
"""

import copy
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.errors import format_error
from pfbench.checking.findings import CheckFailed, CheckSkipped, TimeLimit
from pfbench.checking.traced_runs import RunRecord, RunRecords
from pfbench.verification.instruments.rescaled import RescaledProblem
from pfbench.verification.parameter_units import UNITS, USUAL, WHOLE
from pfbench.verification.schedule_homogeneity import check_schedule, get_parameters
from pfbench.verification.subject import instantiate_with_accepted_parameters
from pfbench.verification.units import NUMBER, ONE, Scaling, Unit

SCALINGS = (Scaling(f=2.0**-30), Scaling(f=2.0**30), Scaling(x=2.0**-20), Scaling(x=2.0**20))
"""Scalings that cross any tolerance of a run: powers of four, whose square roots are exact."""

_TRIED, _SECONDS = 30, 2.0
"""Maximum number of combinations of parameter units, and seconds after which none is started."""

_CLOSE = 1e-9

_EPSILON = 0.1
"""Accuracy for which a schedule is instantiated and run."""

_LARGEST = 10_000
"""Largest integer parameter with which a schedule is run, once its run lengths are reduced."""


def check_unit_invariance(runs: RunRecords) -> str:
    """Check that scaling the units of f and x scales the iterates, and changes no oracle count.

    A schedule that scales with the units defines how parameters scale. Without such a schedule,
    combinations of units are tried.

    Raises
    ------
    CheckFailed
        If a run with the schedule's parameters changes.
    CheckSkipped
        If no combination of units leaves the run unchanged, or points are not arrays.
    """
    if not isinstance(runs.problem.start(), np.ndarray):
        raise CheckSkipped("changing the units of f and x needs a problem whose points are arrays")
    with np.errstate(all="ignore"):  # in the wrong units a run may diverge
        return _check_runs_in_other_units(runs)


def _check_runs_in_other_units(runs: RunRecords) -> str:
    """Compare runs in other units of f and x; return the result of `check_unit_invariance`."""
    difference = scheduled = _describe_schedule_change(runs)
    if difference:
        raise CheckFailed("the units of f and x must not affect the run", difference)
    patience = TimeLimit(_SECONDS)
    for units in itertools.islice(_iterate_parameter_unit_choices(runs.algorithm), _TRIED):
        if difference and patience.is_over:
            break
        created = partial(_rescale_parameters, runs.algorithm, units)
        scaled_difference = next(
            filter(None, (_describe_scaled_change(runs, created, by) for by in SCALINGS)), ""
        )
        if not scaled_difference:
            return "the same run in other units of f and x"
        difference = difference or scaled_difference
    if scheduled == "":
        return "with its schedule, the same run in other units of f and x"
    raise CheckSkipped(
        f"{difference}: a tolerance, a step or a constant does not scale with the units"
    )


def check_schedule_units(runs: RunRecords) -> str:
    """Check that each parameter of a schedule scales with the units of f and x.

    Its integers must be unchanged, and its real parameters must scale by a power.

    Raises
    ------
    CheckFailed
        If a real parameter scales for no accuracy and constants, and the method states no
        `scale_dependence`.
    CheckSkipped
        If only integers change (as in a bound with a "+1"), if the parameter scales for some
        accuracies or constants, or if there is no schedule.
    """
    homogeneity = check_schedule(type(runs.algorithm))
    if homogeneity is None or homogeneity.homogeneous is None:
        raise CheckSkipped(
            homogeneity.description if homogeneity else "it has no theorem's schedule"
        )
    if homogeneity.homogeneous:
        return homogeneity.description
    if homogeneity.normalised or not homogeneity.always:
        raise CheckSkipped(
            f"the schedule depends on the units of f and x: {homogeneity.description}. "
            f"{homogeneity.normalised}".strip()
        )
    raise CheckFailed(
        "each parameter of the schedule must scale with a power of the units of f and x, unless "
        "`scale_dependence` gives a reason",
        homogeneity.description,
    )


def _describe_schedule_change(runs: RunRecords) -> str | None:
    """Return a text on how other units change a run with the schedule's parameters.

    Return "" if they do not, and None if there is no suitable schedule.
    """
    kind, homogeneity = type(runs.algorithm), check_schedule(type(runs.algorithm))
    if homogeneity is None or homogeneity.accuracy is None:
        return None
    constants, unit = runs.problem.constants(runs.problem.start()), homogeneity.accuracy

    small: dict[str, int] = {}  # so that the run is short

    def instantiate_scheduled(scaling: Scaling) -> Any:
        return kind.theory(_EPSILON * scaling.factor(unit), scaling.constants(constants), **small)

    try:
        parameters = get_parameters(instantiate_scheduled(ONE))
        small |= {name: USUAL[name] for name in WHOLE if parameters.get(name)}
        values = get_parameters(instantiate_scheduled(ONE)).values()
        if max((value for value in values if type(value) is int), default=0) > _LARGEST:
            return None
        first = RunRecords(instantiate_scheduled(ONE), runs.problem)
        if not first.seed_zero_run.states:
            return None
    except Exception:  # as a schedule may refuse by any error
        return None
    return next(
        filter(
            None, (_describe_scaled_change(first, instantiate_scheduled, by) for by in SCALINGS)
        ),
        "",
    )


def _describe_scaled_change(
    runs: RunRecords, make_algorithm: Callable[[Scaling], Any], scaling: Scaling
) -> str:
    """Return a text on how other units change an algorithm's run, or "" if they do not."""
    try:
        other = RunRecords(
            make_algorithm(scaling), RescaledProblem(runs.problem, scaling)
        ).record_equally_long_run(runs)
    except Exception as error:  # which it does not raise in the units it has
        return f"{scaling}: {format_error(error).rstrip('.')}"
    return _describe_run_difference(runs.seed_zero_run, other, scaling)


def _rescale_parameters(algorithm: Any, units: Mapping[str, Unit], scaling: Scaling) -> Any:
    """Return a copy of an algorithm whose parameters are converted to other units."""
    changed = {
        name: value * scaling.factor(units[name])
        for name, value in get_parameters(algorithm).items()
        if units.get(name, NUMBER) != NUMBER
    }
    if is_dataclass(algorithm):
        return instantiate_with_accepted_parameters(algorithm, (), **changed)
    other = copy.copy(algorithm)
    vars(other).update(changed)
    return other


def _describe_run_difference(first: RunRecord, other: RunRecord, scaling: Scaling) -> str:
    if len(first.states) != len(other.states):
        return f"{scaling}: the run has {len(other.states)} iterations, not {len(first.states)}"
    pairs = zip(first.states, other.states, strict=True)
    for k, (state, two) in enumerate(pairs):
        if first.counts[k] != other.counts[k]:
            return f"{scaling}: the oracle calls differ at iteration {k + 1}"
        size = float(np.abs(state.x).max(initial=0.0)) + float(np.abs(first.states[0].x).max())
        if not float(np.abs(two.x / scaling.x - state.x).max(initial=0.0)) <= _CLOSE * size:
            return f"{scaling}: the iterates differ from iteration {k + 1} on"
    return ""


def _iterate_parameter_unit_choices(algorithm: Any) -> Iterator[Mapping[str, Unit]]:
    """Yield possible units of an algorithm's parameters, as dicts by parameter name.

    Parameters that are missing in a dict are dimensionless.
    """
    names = [
        name
        for name, value in get_parameters(algorithm).items()
        if UNITS.get(name, (NUMBER,)) != (NUMBER,) and type(value) in (int, float)
    ]
    for units in itertools.product(*(UNITS[name] for name in names)):
        yield dict(zip(names, units, strict=True))
