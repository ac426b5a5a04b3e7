"""Which bounds keep their units: of claims and errata, before any run. See `units`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from pfbench.algorithms.base import parameters_of
from pfbench.base.counts import Counts
from pfbench.base.errors import Refused, in_words
from pfbench.verification.claim import Claim, Erratum
from pfbench.verification.parameters import UNITS
from pfbench.verification.scaled_schedules import (
    ACCURACIES,
    USUAL,
    Homogeneity,
    accuracy_unit,
    made_for,
    parameters_off,
)
from pfbench.verification.schedules import PublishedSchedule, ScheduleRequest, schedule_as_published
from pfbench.verification.stating.bound import Bound
from pfbench.verification.stating.counts import ExactCounts
from pfbench.verification.stating.error_law import ErrorLaw, Past
from pfbench.verification.stating.setting import Named, Setting, has_schedule, problems
from pfbench.verification.trial import Trial
from pfbench.verification.units import (
    GRADIENT,
    NUMBER,
    ONE,
    QUANTITIES,
    SQUARE,
    Departure,
    Scaling,
    Unit,
    departure,
    is_real,
    rescaled,
    said,
    unit_of,
)

_NO_FORMULA = {
    "rate": "exponents have no unit",
    "identity": "both sides are the same thing",
    "count": "whole numbers have no unit",
    "certificate": "it is a transcript",
    "law": "it is compared with what is computed of the problem",
    "computed": "it is computed of the whole class",
    "separation": "it compares numbers of calls",
}

Case = Callable[[Scaling], tuple[Any, Any]]
"""Constants and parameters of a claim in other units."""


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
            found, kept = _told(one.name, one.departure(), one.unit)
            kind = f"erratum as {form.replace('right', 'corrected')}"
            yield Homogeneity(name=erratum.name, kind=kind, homogeneous=kept, found=found)


# --- what a claim states --------------------------------------------------------------------------


def _told(of: str, gone: Departure | None, unit: Unit) -> tuple[str, bool]:
    """Return what was looked at, or how it departs from its unit; and whether it keeps that."""
    return (str(gone), False) if gone else (f"{of} ({said(unit)})", True)


def _formulas(claim: Claim) -> Iterator[tuple[str, bool]]:
    return (_told(one.name, one.departure(), one.unit) for one in claim.formulas)


def _stated_schedule(claim: Claim) -> Iterator[tuple[str, bool]]:
    """Yield of a claim about a schedule whether what its source prints keeps the units."""
    published = getattr(claim.check, "keywords", {}).get("published")
    if getattr(claim.check, "func", None) is not schedule_as_published or published is None:
        return
    own = Trial(claim).own
    known = accuracy_unit(own, USUAL[-1])
    offs: list[list[str]] = []
    for unit in [known] if known else ACCURACIES:
        made = [partial(_printed, own, published, one, unit) for one in published.requests]
        found = [parameters_off(one) for one in made]
        offs.append([text for one in found for text in one.real + one.whole])
    best = min(offs, key=len)
    yield (best[0], False) if best else ("the printed schedule", True)


def _printed(
    own: Any, published: PublishedSchedule, asked: ScheduleRequest, unit: Unit, by: Scaling
) -> Mapping[str, Any]:
    """Return the schedule that a source prints, for what is asked in other units."""
    given = {
        name: value * by.of(_parameter_unit(own, name)) if is_real(value) else value
        for name, value in asked.parameters.items()
    }
    other = replace(
        asked,
        epsilon=asked.epsilon * by.of(unit),
        constants=by.constants(asked.constants),
        parameters=given,
    )
    return published.schedule(other)


def _word(claim: Claim) -> Iterator[tuple[str, bool]]:
    """Yield, of a check that is a word of `stating`, what was looked at and whether it is right."""
    check = claim.check
    if not isinstance(check, Bound | ExactCounts | ErrorLaw):
        return
    trial = Trial(claim)
    _, problem = next(problems(trial))
    settings = {"": check.setting} if isinstance(check, ErrorLaw) else check.settings
    for label, setting in settings.items():
        explicit = {} if callable(setting.parameters) else setting.parameters
        tried = (
            list(_of_setting(claim, label, _case(trial, setting, problem, units), problem))
            for units in _unit_choices(trial, explicit)
        )
        first = next(tried)
        yield from next((one for one in (first, *tried) if all(right for _, right in one)), first)


def _of_setting(claim: Claim, label: str, case: Case, problem: Any) -> Iterator[tuple[str, bool]]:
    off = parameters_off(partial(_given, case))
    yield from ((one, False) for one in off.real + off.whole)
    for name, at, unit in _bounds(claim, case, problem):
        of = ", ".join(filter(None, (name, label)))
        yield _told(of, departure(of, at, unit), unit or unit_of(at))


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


def _case(trial: Trial, setting: Setting, problem: Any, every: Mapping[str, Unit]) -> Case:
    """Return constants and parameters of a claim as a function of the units."""
    own, units = trial.own if trial.claim.algorithm else None, trial.claim.units
    stated = problem.constants(problem.start())
    known = stated if setting.constants is None else setting.constants(problem)
    explicit = {} if callable(setting.parameters) else setting.parameters

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


def _unit_choices(trial: Trial, explicit: Mapping[str, Any]) -> Iterator[dict[str, Unit]]:
    """Yield units of the real parameters that a claim states by name, the likeliest first.

    A name does not tell them all: a step of Frank-Wolfe is a number, one along a gradient is none.
    """
    own = trial.own if trial.claim.algorithm else None
    choices = {
        name: [trial.claim.units[name]]
        if name in trial.claim.units
        else list(dict.fromkeys((_parameter_unit(own, name), *UNITS.get(name, ()), NUMBER)))
        for name, value in explicit.items()
        if is_real(value)
    }
    for units in product(*choices.values()):
        yield dict(zip(choices, units, strict=True))


def _parameter_unit(method: Any, name: str) -> Unit:
    """Return the unit of a method's parameter: its schedule's; else that which its name has."""
    if name == "epsilon":
        return accuracy_unit(method, USUAL[-1]) or GRADIENT
    if has_schedule(method):
        unit = accuracy_unit(method, USUAL[-1]) or GRADIENT
        made = partial(made_for, method, "theory", 0.05, unit, USUAL[1])
        try:
            if is_real(made(ONE).get(name)):
                return unit_of(lambda by: made(by)[name])
        except (Refused, TypeError, OverflowError):
            pass
    if name == "step" and "lo" in getattr(method, "requires", ()):
        return NUMBER
    return UNITS.get(name, (NUMBER,))[0]
