"""Checks that a schedule scales with the units of f and x.

Other units must leave its integers unchanged, and multiply each real parameter by a power.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, product
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

    Return None if the method has no schedule. Integers must stay unchanged, up to rounding by 1,
    and each real parameter must scale by one power. If the method's guarantee does not determine
    the unit of the accuracy, each of `ACCURACIES` is tried.
    """
    if not has_schedule(method):
        return None
    reported = partial(Homogeneity, name=getattr(method, "name", "it"), kind="schedule")
    reason = getattr(method, "scale_dependence", "")
    tried: list[list[Departures]] = []
    for unit in accuracy_units(method):
        results = _schedule_departures(method, unit)
        if not results:
            return reported(
                homogeneous=None,
                description="the schedule raises for usual constants, or returns no parameters",
            )
        if not any(real or integers for real, integers in results):
            words = f"epsilon is {ACCURACIES[unit]}"
            return reported(homogeneous=True, description=words, normalised=reason, accuracy=unit)
        tried.append(results)
    texts = [*chain(*(real for real, _ in tried[0])), *chain(*(texts for _, texts in tried[0]))]
    always = all(real and not integers for real, integers in tried[0])
    return reported(homogeneous=False, description=texts[0], normalised=reason, always=always)


def accuracy_units(method: Any) -> list[Unit]:
    """Return the possible units of the accuracy epsilon of a method's schedule.

    The unit is that with which the bound of the method's guarantee scales. If there is no guarantee
    or no such unit, the result is all `ACCURACIES`.
    """
    promise = getattr(method, "guarantee", None)
    if promise is None:
        return [*ACCURACIES]
    f, x = QUANTITIES.get(promise.measure, VALUE if promise.measure == "excess" else SQUARE)
    unit = (f * promise.power, x * promise.power)

    def bound(scaling: Scaling, accuracy: Unit) -> float:
        return float(promise.bound(0.3 * scaling.factor(accuracy), scaling.constants(USUAL[-1])))

    fits = (
        accuracy
        for accuracy in ACCURACIES
        if not find_departure("", partial(bound, accuracy=accuracy), unit)
    )
    return [*islice(fits, 1)] or [*ACCURACIES]


Departures = tuple[list[str], list[str]]
"""Descriptions of the real parameters, and of the integers, that do not scale with the units."""


def find_departures(
    make_parameters: Parameters, stated_units: Mapping[str, Unit] = MappingProxyType({})
) -> Departures:
    """Describe all parameters of a schedule that do not scale with their units.

    A unit in `stated_units` replaces those that a parameter with a usual name may have. An integer
    may change by 1, as schedules round.
    """
    units = {**UNITS, **{name: (unit,) for name, unit in stated_units.items()}}
    real, integers, base = list[str](), list[str](), make_parameters(ONE)
    for name, value in base.items():

        def parameter_value(scaling: Scaling, name: str = name) -> Any:
            return make_parameters(scaling).get(name)

        if is_float(value):
            departures = [
                find_departure(name, parameter_value, unit)
                for unit in units.get(name, (infer_unit(parameter_value),))
            ]
            real += [str(departures[0])] if all(departures) else []
            continue
        changes = ((by, parameter_value(by)) for by in SCALINGS)
        texts = (
            f"{by}: {name} is {other}, not {value}"
            for by, other in changes
            if other != value and not (type(other) is type(value) is int and abs(other - value) < 2)
        )
        integers += islice(texts, 1)
    return real, integers


def _schedule_departures(method: Any, unit: Unit) -> list[Departures]:
    """Find parameters of a schedule that do not scale with their units, for several accuracies.

    The list is empty if the schedule never returns parameters.
    """
    every_one: list[Departures] = []
    for form, constants, epsilon in product(("theory", "practical"), USUAL, _EPSILONS):
        created = partial(compute_scaled_schedule, method, form, epsilon, unit, constants)
        is_given = False
        with suppress(Exception):  # as a schedule may refuse by any error
            is_given = bool(created(ONE))
        if not is_given:
            continue
        try:
            every_one.append(find_departures(created))
        except Exception as error:
            every_one.append(([], [f"the schedule raises in other units ({error})"]))
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
