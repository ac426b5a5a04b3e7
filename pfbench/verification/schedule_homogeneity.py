"""Checks that a schedule scales with the units of f and x.

Other units must leave its integers unchanged, and multiply each real parameter by a power.
"""

import itertools
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

from pfbench.algorithms.base import get_parameters as parameters_of
from pfbench.base.constants import Constants
from pfbench.verification.parameter_units import UNITS
from pfbench.verification.statements.setting import has_schedule
from pfbench.verification.units import (
    GRADIENT,
    ONE,
    QUANTITIES,
    SCALINGS,
    SQUARE,
    VALUE,
    Scaling,
    Unit,
    find_departure,
    infer_unit,
    is_float,
)

Parameters = Callable[[Scaling], Mapping[str, Any]]

ACCURACIES: Mapping[Unit, str] = {VALUE: "a gap", SQUARE: "|G|^2", GRADIENT: "|G|"}
"""Meaning of an accuracy, by its unit."""

USUAL = tuple(
    Constants(
        n=n,
        D=2.0,
        L_f=2.5,
        L_ms=3.0,
        L_max=4.0,
        L_mean=2.8,
        L2_ms=0.7,
        sigma2=1.1,
        delta=5.0,
        M=1.2,
        sigma_hat=0.3,
        ell=0.8,
        derivations={},  # claims are sent to other processes, which a read-only mapping is not
    )
    for n in (20, 700, 50_000)
)
"""Constants for which schedules are checked."""

_EPSILONS = (0.4, 0.05, 0.002)


@dataclass(frozen=True, kw_only=True)
class Homogeneity:
    """Result of the check that a bound or schedule scales with the units of f and x.

    Attributes
    ----------
    name, kind
        Name and kind of the subject: a claim, an erratum as printed or corrected, or a schedule.
    homogeneous
        Whether the subject is homogeneous; None if nothing in it has a unit, or units are unknown.
    description
        What was checked, or the departure from the units.
    normalised
        Reason why the subject need not be homogeneous; empty if none is stated.
    always
        Whether a real parameter of a schedule departs for all accuracies and constants.
    accuracy
        Unit of the accuracy of a homogeneous schedule.
    """

    name: str
    kind: str
    homogeneous: bool | None
    description: str
    normalised: str = ""
    always: bool = False
    accuracy: Unit | None = None

    @property
    def sentence(self) -> str:
        """Result and description of the check in one line."""
        words = {True: "homogeneous", False: "not homogeneous", None: "no units"}[self.homogeneous]
        why = f"; {self.normalised}" if self.normalised else ""
        return f"{words}: {self.description}{why}"

    def as_json(self) -> dict[str, Any]:
        """Return the result as a JSON object, as ``pfbench verify --json`` writes it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "homogeneous": self.homogeneous,
            "description": self.description,
            "scale_dependence": self.normalised,
        }


def check_schedule(method: Any) -> Homogeneity | None:
    """Check that the schedule of a method scales with the units of f and x.

    Return None if the method has no schedule. Integers must stay unchanged, and each real parameter
    must scale by one power. The method's guarantee may not determine the unit of the accuracy. Then
    the accuracy is tried as a gap, a squared gradient mapping and a gradient mapping.
    """
    if not has_schedule(method):
        return None
    reported = partial(Homogeneity, name=getattr(method, "name", "it"), kind="schedule")
    reason = getattr(method, "scale_dependence", "")
    existing = accuracy_unit(method, USUAL[-1])
    first: list[UnitDepartures] = []
    for unit in [existing] if existing else ACCURACIES:
        results = _schedule_departures(method, unit)
        if not results:
            return reported(
                homogeneous=None,
                description="the schedule raises for usual constants, or returns no parameters",
            )
        if not any(departures.texts for departures in results):
            rounds = dict.fromkeys(text for departures in results for text in departures.rounds)
            words = "; ".join([f"epsilon is {ACCURACIES[unit]}", *rounds])
            return reported(homogeneous=True, description=words, normalised=reason, accuracy=unit)
        first = first or results
    real = [text for departures in first for text in departures.real]
    texts = real or [text for departures in first for text in departures.integers]
    always = all(departures.real and not departures.integers for departures in first)
    return reported(homogeneous=False, description=texts[0], normalised=reason, always=always)


def accuracy_unit(method: Any, constants: Constants) -> Unit | None:
    """Return the unit of the accuracy epsilon, inferred from the guarantee of a method.

    Return None if there is no guarantee, or no unit with which the guarantee scales.
    """
    promise = getattr(method, "guarantee", None)
    if promise is None:
        return None
    f, x = QUANTITIES.get(promise.measure, VALUE if promise.measure == "excess" else SQUARE)
    unit = (f * promise.power, x * promise.power)

    def bound(scaling: Scaling, accuracy: Unit) -> float:
        return float(promise.bound(0.3 * scaling.factor(accuracy), scaling.constants(constants)))

    fits = (
        accuracy
        for accuracy in ACCURACIES
        if not find_departure("", partial(bound, accuracy=accuracy), unit)
    )
    return next(fits, None)


@dataclass(frozen=True)
class UnitDepartures:
    """Descriptions of a schedule's parameters that do not scale with their units.

    They are listed by kind: real numbers, integers, and integers that are off by one.
    """

    real: list[str] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)
    rounds: list[str] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """Descriptions of all parameters that do not scale, except integers that are off by one."""
        return self.real + self.integers


def find_departures(
    make_parameters: Parameters, stated_units: Mapping[str, Unit] = MappingProxyType({})
) -> UnitDepartures:
    """Return descriptions of all parameters of a schedule that do not scale with their units.

    A unit in `stated_units` replaces those that a parameter with a usual name may have.
    """
    units = {**UNITS, **{name: (unit,) for name, unit in stated_units.items()}}
    departures, base = UnitDepartures(), make_parameters(ONE)
    for name, value in base.items():
        if is_float(value):

            def parameter_value(scaling: Scaling, name: str = name) -> Any:
                return make_parameters(scaling)[name]

            deviation = [
                find_departure(name, parameter_value, unit)
                for unit in units.get(name, (infer_unit(parameter_value),))
            ]
            departures.real.extend([str(deviation[0])] if all(deviation) else [])
            continue
        for by in SCALINGS:
            other = make_parameters(by).get(name)
            if other != value:
                near = isinstance(value, int) and isinstance(other, int) and abs(other - value) == 1
                text = f"{by}: {name} is {other}, not {value}"
                (departures.rounds if near else departures.integers).append(text)
                break
    return departures


def _schedule_departures(method: Any, unit: Unit) -> list[UnitDepartures]:
    """Find parameters of a schedule that do not scale with their units, for several accuracies.

    The list is empty if the schedule never returns parameters.
    """
    every_one: list[UnitDepartures] = []
    for form, constants, epsilon in itertools.product(("theory", "practical"), USUAL, _EPSILONS):
        created = partial(compute_scaled_schedule, method, form, epsilon, unit, constants)
        is_given = False
        with suppress(Exception):  # as a schedule may refuse by any error
            is_given = bool(created(ONE))
        if not is_given:
            continue
        try:
            every_one.append(find_departures(created))
        except Exception as error:
            text = f"the schedule raises in other units ({error})"
            every_one.append(UnitDepartures(integers=[text]))
    return every_one


def compute_scaled_schedule(
    method: Any, form: str, epsilon: float, unit: Unit, constants: Constants, scaling: Scaling
) -> Mapping[str, Any]:
    """Return the parameters of a method's `theory` or `practical` schedule in other units."""
    make = getattr(method, form)
    return get_parameters(make(epsilon * scaling.factor(unit), scaling.constants(constants)))


def get_parameters(algorithm: Any) -> Mapping[str, Any]:
    """Return an algorithm's parameters by name; if it is no dataclass, its attributes."""
    parameters = parameters_of(algorithm) or dict(getattr(algorithm, "__dict__", {}))
    return {k: v for k, v in parameters.items() if isinstance(v, bool | int | float | str | None)}
