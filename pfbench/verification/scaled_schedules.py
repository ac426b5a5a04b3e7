"""Which schedules keep their units: whole numbers stay, real parameters scale by one power each."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from pfbench.algorithms.base import parameters_of
from pfbench.base.constants import Constants
from pfbench.verification.parameters import UNITS
from pfbench.verification.stating.setting import has_schedule
from pfbench.verification.units import (
    GRADIENT,
    ONE,
    QUANTITIES,
    SCALINGS,
    SQUARE,
    VALUE,
    Scaling,
    Unit,
    departure,
    is_real,
    unit_of,
)

Parameters = Callable[[Scaling], Mapping[str, Any]]

ACCURACIES: Mapping[Unit, str] = {VALUE: "a gap", SQUARE: "|G|^2", GRADIENT: "|G|"}
"""What an accuracy may be, by its unit."""

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
"""Constants for which schedules are looked at."""

_EPSILONS = (0.4, 0.05, 0.002)


@dataclass(frozen=True, kw_only=True)
class Homogeneity:
    """Whether something keeps its units.

    Attributes
    ----------
    name, kind
        Of what: a claim, an erratum as printed or corrected, or a schedule.
    homogeneous
        Whether it does; None where nothing of it has a unit, or that cannot be told.
    found
        What was looked at, or in what it does not.
    normalised
        Why it need not; empty if nothing is said.
    always
        Whether a real parameter of a schedule departs for each accuracy and all constants.
    accuracy
        The unit of the accuracy of a schedule that keeps its units.
    """

    name: str
    kind: str
    homogeneous: bool | None
    found: str
    normalised: str = ""
    always: bool = False
    accuracy: Unit | None = None

    @property
    def sentence(self) -> str:
        """All of it in a line."""
        words = {True: "homogeneous", False: "not homogeneous", None: "no units"}[self.homogeneous]
        why = f"; {self.normalised}" if self.normalised else ""
        return f"{words}: {self.found}{why}"

    def as_json(self) -> dict[str, Any]:
        """Return it as ``pfbench verify --json`` writes it."""
        left_out = ("always", "accuracy")
        return {name: value for name, value in asdict(self).items() if name not in left_out}


def of_schedule(method: Any) -> Homogeneity | None:
    """Return whether the schedule of a method keeps its units; None if it has none.

    Whole numbers must stay, and each real parameter scale by one power. An accuracy whose unit its
    promise does not say is tried as a gap, a squared mapping and a mapping.
    """
    if not has_schedule(method):
        return None
    told = partial(Homogeneity, name=getattr(method, "name", "it"), kind="schedule")
    reason = getattr(method, "normalised", "")
    known = accuracy_unit(method, USUAL[-1])
    first: Departures | None = None
    for unit in [known] if known else ACCURACIES:
        found = _of_schedule(method, unit)
        if found is None:
            return told(
                homogeneous=None, found="it is refused for usual constants, or tells no parameters"
            )
        if not (found.real or found.whole):
            words = "; ".join([f"epsilon is {ACCURACIES[unit]}", *dict.fromkeys(found.rounds)])
            return told(homogeneous=True, found=words, normalised=reason, accuracy=unit)
        first = first or found
    assert first is not None
    text = (first.real or first.whole)[0]
    return told(homogeneous=False, found=text, normalised=reason, always=first.always)


def accuracy_unit(method: Any, known: Constants) -> Unit | None:
    """Return the unit of the accuracy that makes a method's promise homogeneous; None if none."""
    promise = getattr(method, "promises", None)
    if promise is None:
        return None
    f, x = QUANTITIES.get(promise.measure, VALUE if promise.measure == "excess" else SQUARE)
    unit = (f * promise.power, x * promise.power)

    def bound(by: Scaling, accuracy: Unit) -> float:
        return float(promise.bound(0.3 * by.of(accuracy), by.constants(known)))

    fits = (one for one in ACCURACIES if not departure("", partial(bound, accuracy=one), unit))
    return next(fits, None)


@dataclass(frozen=True)
class Departures:
    """In what parameters do not keep their units: real ones, whole ones; and which round by one.

    `always`: whenever it was looked at a real one, and no whole one that it may follow from.
    """

    real: list[str] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)
    rounds: list[str] = field(default_factory=list)
    always: bool = False

    @classmethod
    def of_all(cls, every: Sequence["Departures"]) -> "Departures":
        """Return those of several accuracies and constants as one."""
        return cls(
            real=[text for one in every for text in one.real],
            whole=[text for one in every for text in one.whole],
            rounds=[text for one in every for text in one.rounds],
            always=all(one.real and not one.whole for one in every),
        )


def parameters_off(made: Parameters) -> Departures:
    """Return in what parameters do not keep their units."""
    found, base = Departures(), made(ONE)
    for name, value in base.items():
        if is_real(value):

            def at(by: Scaling, name: str = name) -> Any:
                return made(by)[name]

            off = [departure(name, at, unit) for unit in UNITS.get(name, (unit_of(at),))]
            found.real.extend([str(off[0])] if all(off) else [])
            continue
        for by in SCALINGS:
            other = made(by).get(name)
            if other != value:
                near = isinstance(value, int) and isinstance(other, int) and abs(other - value) == 1
                text = f"{by}: {name} is {other}, not {value}"
                (found.rounds if near else found.whole).append(text)
                break
    return found


def _of_schedule(method: Any, unit: Unit) -> Departures | None:
    """Return in what a schedule does not keep its units; None if it is never granted."""
    every_one: list[Departures] = []
    for form, constants, epsilon in itertools.product(("theory", "practical"), USUAL, _EPSILONS):
        made = partial(made_for, method, form, epsilon, unit, constants)
        try:
            if not made(ONE):
                continue
        except Exception:  # as a schedule may refuse by any error
            continue
        try:
            off = parameters_off(made)
        except Exception as error:
            off = Departures(whole=[f"it is refused in other units ({error})"])
        every_one.append(off)
    return Departures.of_all(every_one) if every_one else None


def made_for(
    method: Any, form: str, epsilon: float, unit: Unit, constants: Constants, by: Scaling
) -> Mapping[str, Any]:
    """Return what a method's `theory` or `practical` sets for an accuracy, in other units."""
    make = getattr(method, form)
    return parameters_in(make(epsilon * by.of(unit), by.constants(constants)))


def parameters_in(algorithm: Any) -> Mapping[str, Any]:
    """Return the parameters of an algorithm; of one that is no dataclass its plain attributes."""
    told = parameters_of(algorithm) or dict(getattr(algorithm, "__dict__", {}))
    return {k: v for k, v in told.items() if isinstance(v, bool | int | float | str | None)}
