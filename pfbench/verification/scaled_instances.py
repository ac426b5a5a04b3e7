"""A bound that is not homogeneous is false in other units: instances are scaled until it breaks."""

from collections.abc import Iterator
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from pfbench.base.verdicts import Verdict
from pfbench.verification.evidence import Evidence
from pfbench.verification.homogeneous import of_claim
from pfbench.verification.instances import Instance
from pfbench.verification.instruments.rescaled import Rescaled
from pfbench.verification.stating.bound import Bound
from pfbench.verification.stating.quantity import at_points, is_count
from pfbench.verification.stating.setting import Setting
from pfbench.verification.statistics import across
from pfbench.verification.subject import Broken, Untestable
from pfbench.verification.trial import Trial
from pfbench.verification.units import QUANTITIES, Scaling, Unit, is_real, rescaled

_POWERS = tuple(2.0**k for k in (4, -4, 8, -8, 16, -16))

SCALINGS = (*(Scaling(f=power) for power in _POWERS), *(Scaling(x=power) for power in _POWERS))
"""f alone, then x alone."""

_MOST_WORK = 10.0
"""Seconds, by a count of steps and calls, after which no further scaling is tried."""


def in_other_units(trial: Trial, evidence: Evidence) -> Evidence:
    """Return the evidence on a bound; of one that keeps no units with instances in other units.

    Where it breaks there it is *violated*, with the instance; else it is *inconclusive*. A claim
    that says why it is not homogeneous (`normalised`) is left as it is.
    """
    claim = trial.claim
    kept = Verdict(evidence.decision.verdict).is_kept
    if not kept or claim.normalised or not isinstance(claim.check, Bound):
        return evidence
    units = of_claim(claim)
    if units.homogeneous is not False:
        return evidence
    tests, runs, begun = evidence.decision.tests, evidence.repetitions, trial.seen.work
    for by in _scalings(trial, claim.check):
        if trial.seen.work - begun > _MOST_WORK:
            break
        found = _scaled(trial, claim.check, by)
        if found is None:
            continue
        runs += found.repetitions
        if found.decision.verdict == Verdict.VIOLATED:
            parts = {"": replace(evidence.decision, tests=tests), str(by): found.decision}
            return replace(evidence, decision=across(parts), repetitions=runs)
        tests += found.decision.tests
    reason = (
        f"The bound is not homogeneous ({units.found}), and is kept in the units that were tried: "
        "correct it, or state why in `normalised`."
    )
    verdict = Verdict.INCONCLUSIVE
    decision = replace(evidence.decision, verdict=verdict, reason=reason, tests=tests, tight_on={})
    return replace(evidence, decision=decision, repetitions=runs)


def _scalings(trial: Trial, check: Bound) -> Iterator[Scaling]:
    """Yield the scalings: none where a unit of what is measured, or of a parameter, is unknown."""
    examples = [one.example() for one in trial.claim.instances]
    plain = all(
        isinstance(one.start(), np.ndarray)
        and one.penalty is None
        and getattr(one, "norm", None) is None
        for one in examples
    )
    units = trial.claim.units
    known = all(
        callable(one.parameters)
        or all(name in units for name, value in one.parameters.items() if is_real(value))
        for one in check.settings.values()
    )
    if plain and known and _unit(trial, check) is not None:
        yield from SCALINGS


def _unit(trial: Trial, check: Bound) -> Unit | None:
    named = QUANTITIES.get(check.of) if isinstance(check.of, str) else None
    return trial.claim.units.get("of", named)


def _scaled(trial: Trial, check: Bound, by: Scaling) -> Evidence | None:
    """Return the evidence on a bound with its instances in other units; None if there is none."""
    instances = tuple(_in_units(one, by) for one in trial.claim.instances)
    settings = {label: _setting(trial, one, by) for label, one in check.settings.items()}
    other = replace(check, of=_measure(trial, check, by), settings=settings)
    claim = replace(trial.claim, instances=instances, check=other)
    try:
        return other.at_one_horizon(replace(trial, claim=claim))
    except (Broken, Untestable, ArithmeticError):  # its parameters may be for the stated units
        return None


def _in_units(one: Instance, by: Scaling) -> Instance:
    @wraps(one.build)
    def build(*args: Any, **parameters: Any) -> Any:
        return Rescaled(one.build(*args, **parameters), by)

    return replace(one, build=build)


def _measure(trial: Trial, check: Bound, by: Scaling) -> Any:
    """Return what is measured, in other units: of the problem itself, times a power."""
    if is_count(check.of):
        return check.of
    factor = by.of(_unit(trial, check) or (0, 0))
    if check.over == "step":
        return lambda on, x, y: factor * check.of(on.inner, x / by.x, y / by.x)
    return lambda on, x: factor * at_points(on.inner, check.of)(x / by.x)


def _setting(trial: Trial, setting: Setting, by: Scaling) -> Setting:
    """Return a setting whose constants, and real parameters, are in other units."""
    known, parameters, units = setting.constants, setting.parameters, trial.claim.units
    if known is not None:
        setting = replace(setting, constants=lambda on: rescaled(known(on.inner), by, units))
    if callable(parameters):
        return setting
    scaled = {
        name: value * by.of(units[name]) if is_real(value) else value
        for name, value in parameters.items()
    }
    return replace(setting, parameters=scaled)
