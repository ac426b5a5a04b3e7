"""Test of inhomogeneous bounds on problems in which f or x is measured in other units."""

from collections.abc import Iterator
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from pfbench.base.status import Verdict
from pfbench.verification.homogeneity import check_claim_units
from pfbench.verification.instances import Instance
from pfbench.verification.instruments.rescaled import RescaledProblem
from pfbench.verification.statements.bound import Bound
from pfbench.verification.statements.quantity import as_function, is_count
from pfbench.verification.statements.setting import Given
from pfbench.verification.statistics import Evidence, best_if_all_hold_else_worst
from pfbench.verification.subject import ClaimBroken, NotTestable
from pfbench.verification.trial import Trial
from pfbench.verification.units import QUANTITIES, Scaling, Unit, is_float, rescale_constants

_POWERS = tuple(2.0**k for k in (4, -4, 8, -8, 16, -16))

SCALINGS = (*(Scaling(f=power) for power in _POWERS), *(Scaling(x=power) for power in _POWERS))
"""Scalings of f alone, then of x alone."""

_MOST_WORK = 10.0
"""Estimated seconds, from steps and calls, after which no further scaling is tried."""


def recheck_inhomogeneous_bound(trial: Trial, evidence: Evidence) -> Evidence:
    """Retest a bound in other units if it does not scale with the units; return all evidence.

    Only bounds that do not scale like the bounded quantity are tested. Such a bound gets the
    verdict *violated* if it fails in other units, else *inconclusive*. A claim whose
    `scale_dependence` states a reason keeps its evidence.
    """
    claim = trial.claim
    is_kept = Verdict(evidence.decision.verdict).keeps_bound
    if not is_kept or claim.scale_dependence or not isinstance(claim.check, Bound):
        return evidence
    units = check_claim_units(claim)
    if units.homogeneous is not False:
        return evidence
    tests, runs, work = evidence.decision.test_count, evidence.repetitions, trial.coverage.work
    for by in _iterate_applicable_scalings(trial, claim.check):
        if trial.coverage.work - work > _MOST_WORK:
            break
        result = _decide_in_scaled_units(trial, claim.check, by)
        if result is None:
            continue
        runs += result.repetitions
        if result.decision.verdict == Verdict.VIOLATED:
            parts = {"": replace(evidence.decision, test_count=tests), str(by): result.decision}
            return replace(evidence, decision=best_if_all_hold_else_worst(parts), repetitions=runs)
        tests += result.decision.test_count
    reason = (
        f"The bound is not homogeneous ({units.description}), but holds in the units that were tried: "  # noqa: E501
        "correct it, or state the reason in `scale_dependence`."
    )
    decision = replace(evidence.decision, verdict=Verdict.INCONCLUSIVE, test_count=tests)
    decision = replace(decision, reason=reason, tight_on={})
    return replace(evidence, decision=decision, repetitions=runs)


def _iterate_applicable_scalings(trial: Trial, check: Bound) -> Iterator[Scaling]:
    """Yield the scalings of f and x under which the bound of a claim can be tested.

    There are none if a unit is unknown. There are none either if a problem has a penalty, a norm,
    or points that are not arrays.
    """
    examples = [instance.example() for instance in trial.claim.instances]
    plain = all(
        isinstance(example.start(), np.ndarray)
        and example.penalty is None
        and getattr(example, "norm", None) is None
        for example in examples
    )
    units = trial.claim.units
    is_known = all(
        callable(setting.parameters)
        or all(name in units for name, value in setting.parameters.items() if is_float(value))
        for setting in check.settings.values()
    )
    if plain and is_known and _unit_of_quantity(trial, check) is not None:
        yield from SCALINGS


def _unit_of_quantity(trial: Trial, check: Bound) -> Unit | None:
    named = QUANTITIES.get(check.quantity) if isinstance(check.quantity, str) else None
    return trial.claim.units.get("of", named)


def _decide_in_scaled_units(trial: Trial, check: Bound, scaling: Scaling) -> Evidence | None:
    """Test a bound in other units; return the evidence, or None if this is impossible."""
    instances = tuple(_rescale(instance, scaling) for instance in trial.claim.instances)
    constants = check.constants
    other = replace(
        check,
        quantity=_make_rescaled_quantity(trial, check, scaling),
        parameters={
            label: _rescale_parameters(trial, setting.parameters, scaling)
            for label, setting in check.settings.items()
        },
        constants=constants
        and (lambda on: rescale_constants(constants(on.inner), scaling, trial.claim.units)),
    )
    claim = replace(trial.claim, instances=instances, check=other)
    try:
        return other.decide(replace(trial, claim=claim))
    except (ClaimBroken, NotTestable, ArithmeticError):  # as parameters are for stated units
        return None


def _rescale(instance: Instance, by: Scaling) -> Instance:
    @wraps(instance.build)
    def build(*args: Any, **parameters: Any) -> Any:
        return RescaledProblem(instance.build(*args, **parameters), by)

    return replace(instance, build=build)


def _make_rescaled_quantity(trial: Trial, check: Bound, scaling: Scaling) -> Any:
    """Return a function that measures, in other units, the quantity that is bounded.

    It scales the value of the quantity for the original problem.
    """
    if is_count(check.quantity):
        return check.quantity
    factor = scaling.factor(_unit_of_quantity(trial, check) or (0, 0))
    if check.statistic == "step":
        return lambda on, x, y: factor * check.quantity(on.inner, x / scaling.x, y / scaling.x)
    return lambda on, x: factor * as_function(on.inner, check.quantity)(x / scaling.x)


def _rescale_parameters(trial: Trial, parameters: Given, scaling: Scaling) -> Given:
    """Return the parameters of a setting; real numbers among them are in other units."""
    if callable(parameters):
        return parameters
    units = trial.claim.units
    float_units = {name: units[name] for name, value in parameters.items() if is_float(value)}
    return scaling.convert_numbers(parameters, float_units)
