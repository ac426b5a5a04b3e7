"""Check that a run is the same in other units, i.e. on lambda f(x/mu), started at mu x_0.

The schedule scales the parameters accordingly. If the run changes, the algorithm contains an
absolute number: a tolerance, a step or a constant with a unit.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pfbench.base.constants import MEANING
from pfbench.base.errors import format_error
from pfbench.checking.findings import CheckFailed, CheckSkipped, require
from pfbench.checking.traced_runs import RunRecords
from pfbench.verification.homogeneity import ACCURACIES, check_schedule, get_parameters
from pfbench.verification.instruments.rescaled import RescaledProblem
from pfbench.verification.schedules import USUAL as USUAL_CONSTANTS
from pfbench.verification.units import (
    CONSTANTS,
    CURVATURE,
    LENGTH,
    NUMBER,
    ONE,
    SQUARE,
    USUAL,
    VALUE,
    WHOLE,
    Scaling,
    Unit,
    format_unit,
)

SCALINGS = (Scaling(f=2.0**-30), Scaling(f=2.0**30), Scaling(x=2.0**-20), Scaling(x=2.0**20))
"""Scalings that cross any tolerance of a run: powers of four, whose square roots are exact."""

_CLOSE = 1e-9

_EPSILON = 0.1
"""Accuracy for which a schedule is instantiated and run."""

_LARGEST = 10_000
"""Largest integer parameter with which a schedule is run, once its run lengths are reduced."""


def check_unit_invariance(runs: RunRecords) -> str:
    """Check that scaling the units of f and x scales the iterates, and changes no oracle count.

    A schedule that scales with the units defines how parameters scale. Parameters of other methods
    are scaled by the user, in `pfbench.testing.covariant`.

    Raises
    ------
    CheckFailed
        If a run with the schedule's parameters changes.
    CheckSkipped
        If there is no suitable schedule, or points are not arrays.
    """
    if not isinstance(runs.problem.start(), np.ndarray):
        raise CheckSkipped("changing the units of f and x needs a problem whose points are arrays")
    with np.errstate(all="ignore"):  # in the wrong units a run may diverge
        scheduled = _make_short_scheduled_run(runs)
        if scheduled is None:
            raise CheckSkipped("it has no theorem's schedule that scales with the units of f and x")
        for scaling in SCALINGS:
            difference = _describe_scaled_change(*scheduled, scaling)
            needed = "the units of f and x must not affect the run"
            require(not difference, needed, f"{scaling}: {difference}")
    return "with its schedule, the same run in other units of f and x"


def check_schedule_units(runs: RunRecords) -> str:
    """Check that each parameter of a schedule scales with the units of f and x.

    Its integers must be unchanged, and its real parameters must scale by a power.

    Raises
    ------
    CheckFailed
        If a real parameter scales for no accuracy and constants, or the number of iterations is a
        product that gives epsilon an unusual unit, and the method states no `scale_dependence`.
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
    powers = "" if homogeneity.normalised else _describe_iterations(type(runs.algorithm))
    if not powers and (homogeneity.normalised or not homogeneity.always):
        raise CheckSkipped(
            f"the schedule depends on the units of f and x: {homogeneity.description}. "
            f"{homogeneity.normalised}".strip()
        )
    raise CheckFailed(
        "each parameter of the schedule must scale with a power of the units of f and x, unless "
        "`scale_dependence` gives a reason",
        powers or homogeneity.description,
    )


def _describe_iterations(kind: Any) -> str:
    """Describe the number of iterations as a product of powers, if no unit of epsilon fits it.

    Return "" if it is no product, or lacks L, delta, D of a set or the variance of a method without
    full gradients, any of which its source may set to 1.
    """
    usual, requires = USUAL_CONSTANTS[-1], set(getattr(kind, "requires", ()))
    units = {CURVATURE: "L", LENGTH: "D", VALUE: "delta", SQUARE: "sigma2", (1, -3): "L2_ms"}

    def log_iterations(unit: Unit | None, factor: float) -> float:
        names = [name for name in MEANING if CONSTANTS[name] == unit]
        other = {name: factor * getattr(usual, name) for name in names}
        epsilon = 0.002 if names else 0.002 * factor
        return math.log2(kind.theory(epsilon, replace(usual, **other)).iterations)

    def exponent(unit: Unit | None) -> float:
        middle, up, down = (log_iterations(unit, factor) for factor in (1.0, 2.0, 0.5))
        power = round(3.0 * (up - down)) / 6.0
        if abs(up - middle - power) > 0.02:
            raise ValueError("no product of powers")
        return power

    try:
        powers, epsilon = {unit: exponent(unit) for unit in units}, exponent(None)
    except Exception:  # as a schedule may refuse by any error
        return ""
    needed = {CURVATURE, VALUE, *([LENGTH] if "lo" in requires else [])}
    needed |= set() if {"gradient", "table"} & requires else {SQUARE}
    if not (epsilon and all(powers[unit] for unit in needed)):
        return ""
    f, x = (round(-sum(p * u[k] for u, p in powers.items()) / epsilon, 6) for k in (0, 1))
    if (f, x) in {*ACCURACIES, NUMBER, LENGTH, (0.0, 2.0)}:
        return ""
    text = " ".join(f"{units[unit]}^{power:.3g}" for unit, power in powers.items() if power)
    words = f"iterations grow as {text} epsilon^{epsilon:.3g}"
    return f"{words}, which gives epsilon the unit {format_unit((f, x))}"


def _make_short_scheduled_run(
    runs: RunRecords,
) -> tuple[RunRecords, Callable[[Scaling], Any]] | None:
    """Return a short run with the parameters of a method's schedule, and the schedule by scaling.

    Return None if there is no suitable schedule.
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
        return (first, instantiate_scheduled) if first.seed_zero_run.states else None
    except Exception:  # as a schedule may refuse by any error
        return None


def _describe_scaled_change(
    runs: RunRecords, make_algorithm: Callable[[Scaling], Any], scaling: Scaling
) -> str:
    """Describe how other units change an algorithm's run; return "" if they do not."""
    first = runs.seed_zero_run
    try:
        rescaled = RunRecords(make_algorithm(scaling), RescaledProblem(runs.problem, scaling))
        other = rescaled.record_equally_long_run(runs)
    except Exception as error:  # which it does not raise in the units it has
        return format_error(error).rstrip(".")
    if len(first.states) != len(other.states):
        return f"the run has {len(other.states)} iterations, not {len(first.states)}"
    pairs = zip(first.states, other.states, strict=True)
    for k, (state, two) in enumerate(pairs):
        if first.counts[k] != other.counts[k]:
            return f"the oracle calls differ at iteration {k + 1}"
        size = float(np.abs(state.x).max(initial=0.0)) + float(np.abs(first.states[0].x).max())
        if not float(np.abs(two.x / scaling.x - state.x).max(initial=0.0)) <= _CLOSE * size:
            return f"the iterates differ from iteration {k + 1} on"
    return ""
