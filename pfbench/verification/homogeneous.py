"""Which bounds and schedules keep their units; before any run, in microseconds. See `units`."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from pfbench.algorithms.base import parameters_of
from pfbench.base.constants import Constants
from pfbench.base.counts import Counts
from pfbench.base.errors import PfbenchError, Refused, in_words
from pfbench.verification.claim import Claim, Erratum
from pfbench.verification.laws.method import Method, Wanted
from pfbench.verification.laws.schedules import keeps_its_schedule
from pfbench.verification.stating.bound import Bound
from pfbench.verification.stating.counts import ExactCounts
from pfbench.verification.stating.error_law import ErrorLaw, Past
from pfbench.verification.stating.setting import Named, Setting, has_schedule, problems
from pfbench.verification.subject import Untestable
from pfbench.verification.trial import Trial
from pfbench.verification.units import (
    GRADIENT,
    NUMBER,
    ONE,
    PARAMETERS,
    QUANTITIES,
    SCALINGS,
    SQUARE,
    VALUE,
    Scaling,
    Unit,
    departure,
    is_real,
    rescaled,
    said,
    unit_of,
)

ACCURACIES: Mapping[Unit, str] = {VALUE: "a gap", SQUARE: "|G|^2", GRADIENT: "|G|"}
"""What an accuracy may be, by its unit."""

USUAL = tuple(
    Constants(
        n=n,
        D=2.0,
        L_f=3.0,
        L_ms=2.5,
        L_max=4.0,
        L2_ms=0.7,
        sigma2=1.1,
        delta=5.0,
        M=1.2,
        sigma_hat=0.3,
        ell=0.8,
    )
    for n in (20, 700, 50_000)
)
"""Constants for which schedules are looked at."""

_EPSILONS = (0.4, 0.05, 0.002)

_NO_FORMULA = {
    "rate": "exponents have no unit",
    "identity": "both sides are the same thing",
    "count": "whole numbers have no unit",
    "certificate": "it is a transcript",
    "law": "it is compared with what is computed of the problem",
    "computed": "it is computed of the whole class",
    "separation": "it compares numbers of calls",
}

Parameters = Callable[[Scaling], Mapping[str, Any]]

Case = Callable[[Scaling], tuple[Any, Any]]
"""Constants and parameters of a claim in other units."""


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
    def explained(self) -> bool:
        """Whether a reason is given where, and only where, it does not keep its units."""
        return (self.homogeneous is False) == bool(self.normalised)

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


def of_claim(claim: Claim) -> Homogeneity:
    """Return whether the bound of a claim scales like what it bounds, with all its settings."""
    told = partial(Homogeneity, name=claim.name, kind="claim", normalised=claim.normalised)
    try:
        found = [*_formulas(claim), *_word(claim), *_stated_schedule(claim)]
    except Exception as error:  # somebody's own functions may raise anything
        return told(homogeneous=None, found=in_words(error).rstrip("."))
    off = [one for one, right in found if not right]
    if off or found:
        text = "; ".join(dict.fromkeys(off or [one for one, _ in found]))
        return told(homogeneous=not off, found=text)
    return told(homogeneous=None, found=_NO_FORMULA.get(claim.kind, "it states no formula"))


def of_erratum(erratum: Erratum) -> Iterator[Homogeneity]:
    """Yield whether the two forms of an erratum keep their units, where these are formulas."""
    for form in ("printed", "right"):
        one = getattr(erratum, form)
        if one is not None:
            off = one.departure()
            found = str(off) if off else f"{one.name} ({said(one.unit)})"
            kind = f"erratum as {form.replace('right', 'corrected')}"
            yield Homogeneity(name=erratum.name, kind=kind, homogeneous=not off, found=found)


def of_schedule(method: Any, every: tuple[Constants, ...] = USUAL) -> Homogeneity | None:
    """Return whether the schedule of a method keeps its units; None if it has none.

    Whole numbers must stay, and each real parameter scale by one power. An accuracy whose unit its
    promise does not say is tried as a gap, a squared mapping and a mapping.
    """
    if not has_schedule(method):
        return None
    told = partial(Homogeneity, name=getattr(method, "name", "it"), kind="schedule")
    reason = getattr(method, "normalised", "")
    known = accuracy_unit(method, every[-1])
    first: Departures | None = None
    for unit in [known] if known else ACCURACIES:
        found = _of_schedule(method, unit, every)
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

            off = [departure(name, at, unit) for unit in PARAMETERS.get(name, (unit_of(at),))]
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


# --- what a claim states --------------------------------------------------------------------------


def _formulas(claim: Claim) -> Iterator[tuple[str, bool]]:
    for one in claim.formulas:
        off = one.departure()
        yield (str(off), False) if off else (f"{one.name} ({said(one.unit)})", True)


def _stated_schedule(claim: Claim) -> Iterator[tuple[str, bool]]:
    """Yield of a claim about a schedule whether what its source prints keeps the units."""
    method = getattr(claim.check, "keywords", {}).get("method")
    if getattr(claim.check, "func", None) is not keeps_its_schedule or method is None:
        return
    own = Trial(claim).own
    known = accuracy_unit(own, USUAL[-1])
    offs: list[list[str]] = []
    for unit in [known] if known else ACCURACIES:
        made = [partial(_printed, own, method, one, unit) for one in method.schedules]
        found = [parameters_off(one) for one in made]
        offs.append([text for one in found for text in one.real + one.whole])
    best = min(offs, key=len)
    yield (best[0], False) if best else ("the printed schedule", True)


def _printed(own: Any, method: Method, asked: Wanted, unit: Unit, by: Scaling) -> Mapping[str, Any]:
    """Return the schedule that a source prints, for what is asked in other units."""
    assert method.schedule is not None
    given = {
        name: value * by.of(_parameter_unit(own, name)) if is_real(value) else value
        for name, value in asked.given.items()
    }
    other = replace(
        asked,
        epsilon=asked.epsilon * by.of(unit),
        constants=by.constants(asked.constants),
        given=given,
    )
    return method.schedule(other)


def _word(claim: Claim) -> Iterator[tuple[str, bool]]:
    """Yield, of a check that is a word of `stating`, what was looked at and whether it is right."""
    check = claim.check
    if not isinstance(check, Bound | ExactCounts | ErrorLaw):
        return
    trial = Trial(claim)
    _, problem = next(problems(trial))
    settings = {"": check.setting} if isinstance(check, ErrorLaw) else check.settings
    for label, setting in settings.items():
        case = _case(trial, setting, problem)
        off = parameters_off(partial(_given, case))
        yield from ((one, False) for one in off.real + off.whole)
        for name, at, unit in _bounds(claim, case, problem):
            of = ", ".join(filter(None, (name, label)))
            gone = departure(of, at, unit)
            at_all = unit or unit_of(at)
            yield (str(gone), False) if gone else (f"{of} ({said(at_all)})", True)


def _bounds(
    claim: Claim, case: Case, problem: Any
) -> Iterator[tuple[str, Callable[[Scaling], Any], Unit | None]]:
    """Yield the bounds of a word as functions of a scaling, each with its name and unit."""
    check = claim.check
    if isinstance(check, ExactCounts):

        def counts(by: Scaling) -> Any:
            found = check.formula(*case(by))
            return list((found.as_dict() if isinstance(found, Counts) else found).values())

        yield "the count", counts, NUMBER
    elif isinstance(check, ErrorLaw):
        for name, law, unit in (("square", check.square, SQUARE), ("mean", check.mean, GRADIENT)):
            if law is not None:
                yield name, partial(_law, law, case, problem), unit
    elif isinstance(check, Bound):
        named = QUANTITIES.get(check.of) if isinstance(check.of, str) else None
        bounds = claim.units.get("of", named)
        for name, most in check.bounds.items():
            for t in (1, 7) if check.over in ("every", "step", "least") else (None,):
                told = () if t is None else (t,)
                label = f"the bound {name}".strip()

                def at(by: Scaling, most: Any = most, told: Any = told) -> Any:
                    return most(*case(by), *told)

                yield label, at, bounds


def _given(case: Case, by: Scaling) -> Mapping[str, Any]:
    return vars(case(by)[1])


def _law(law: Any, case: Any, problem: Any, by: Scaling) -> Any:
    x = np.asarray(problem.start(), dtype=float)
    error = np.linspace(1.0, 2.0, x.size).reshape(x.shape) * by.of(GRADIENT)
    moved = np.linspace(3.0, 1.0, x.size).reshape(x.shape) * by.x
    return law(*case(by), Past(t=1, x=x * by.x, error=error, moved=moved, problem=problem))


def _case(trial: Trial, setting: Setting, problem: Any) -> Case:
    """Return constants and parameters of a claim as a function of the units."""
    own, units = trial.own if trial.claim.algorithm else None, trial.claim.units
    stated = problem.constants(problem.start())
    known = stated if setting.constants is None else setting.constants(problem)
    explicit = {} if callable(setting.parameters) else setting.parameters
    every = {
        name: units.get(name) or _parameter_unit(own, name)
        for name, value in explicit.items()
        if is_real(value)
    }

    def case(by: Scaling) -> tuple[Any, Any]:
        constants = rescaled(known, by, units)
        told = setting.parameters(constants) if callable(setting.parameters) else explicit
        given = {
            name: value * by.of(every[name]) if name in every else value
            for name, value in told.items()
        }
        epsilon = given.pop("epsilon", None)
        if epsilon is not None:
            if own is not None and has_schedule(own):
                given = parameters_of(own.theory(epsilon, by.constants(stated), **given))
            given["epsilon"] = epsilon
        return constants, Named(**given)

    return case


def _parameter_unit(method: Any, name: str) -> Unit:
    """Return the unit of a method's parameter: its schedule's; else that which its name has."""
    if name == "epsilon":
        return accuracy_unit(method, USUAL[-1]) or GRADIENT
    if has_schedule(method):
        unit = accuracy_unit(method, USUAL[-1]) or GRADIENT
        made = partial(_made, method, "theory", 0.05, unit, USUAL[1])
        try:
            if is_real(made(ONE).get(name)):
                return unit_of(lambda by: made(by)[name])
        except (Refused, TypeError, OverflowError):
            pass
    if name == "step" and "lo" in getattr(method, "requires", ()):
        return NUMBER
    return PARAMETERS.get(name, (NUMBER,))[0]


# --- schedules ------------------------------------------------------------------------------------


def _of_schedule(method: Any, unit: Unit, every: tuple[Constants, ...]) -> Departures | None:
    """Return in what a schedule does not keep its units; None if it is never granted."""
    every_one: list[Departures] = []
    for form, constants, epsilon in itertools.product(("theory", "practical"), every, _EPSILONS):
        made = partial(_made, method, form, epsilon, unit, constants)
        try:
            if not made(ONE):
                continue
        except (PfbenchError, Untestable, NotImplementedError, OverflowError, AttributeError):
            continue
        try:
            off = parameters_off(made)
        except (PfbenchError, Untestable, OverflowError) as error:
            off = Departures(whole=[f"it is refused in other units ({error})"])
        every_one.append(off)
    return Departures.of_all(every_one) if every_one else None


def _made(
    method: Any, form: str, epsilon: float, unit: Unit, constants: Constants, by: Scaling
) -> Mapping[str, Any]:
    make = getattr(method, form)
    return parameters_in(make(epsilon * by.of(unit), by.constants(constants)))


def parameters_in(algorithm: Any) -> Mapping[str, Any]:
    """Return the parameters of an algorithm; of one that is no dataclass its plain attributes."""
    told = parameters_of(algorithm) or dict(getattr(algorithm, "__dict__", {}))
    return {k: v for k, v in told.items() if isinstance(v, bool | int | float | str | None)}
