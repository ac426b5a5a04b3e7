"""Checks that the bounds of claims and errata scale correctly with the units of f and x.

No run is needed; see `units` for the scaling rules.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, product
from typing import Any

import numpy as np

from pfbench.algorithms.base import get_parameters
from pfbench.base.constants import MEANING, Constants
from pfbench.base.counts import Counts
from pfbench.base.errors import format_error
from pfbench.verification.claim import Claim, Erratum
from pfbench.verification.parameter_units import UNITS
from pfbench.verification.schedule_homogeneity import Homogeneity, accuracy_units, find_departures
from pfbench.verification.schedules import PublishedSchedule, ScheduleRequest
from pfbench.verification.statements.bound import EACH, Bound
from pfbench.verification.statements.error_law import ErrorLawCheck, Past
from pfbench.verification.statements.exact_counts import ExactCounts
from pfbench.verification.statements.setting import (
    ClaimSetting,
    ParameterNamespace,
    has_schedule,
    iterate_titled_problems,
)
from pfbench.verification.trial import Trial
from pfbench.verification.units import (
    GRADIENT,
    NUMBER,
    QUANTITIES,
    SQUARE,
    Scaling,
    Unit,
    UnitDeparture,
    find_departure,
    format_unit,
    infer_unit,
    is_float,
    rescale_constants,
)

Case = Callable[[Scaling], tuple[Any, Any]]
"""Function of a scaling: constants and parameters of a claim in other units."""


def check_claim_units(claim: Claim) -> Homogeneity:
    """Check that the formulas of a claim scale as they should if the units of f and x change."""
    reported = partial(
        Homogeneity, name=claim.name, kind="claim", normalised=claim.scale_dependence
    )
    try:
        results = [
            *(_describe(f.name, f.find_departure(), f.unit) for f in claim.formulas),
            *_check_bounds(claim),
            *_check_printed_schedule(claim),
        ]
    except Exception as error:  # user functions may raise anything
        return reported(homogeneous=None, description=format_error(error).rstrip("."))
    if not results:
        return reported(homogeneous=None, description="the claim states no formula with units")
    wrong = [text for text, is_kept in results if not is_kept]
    texts = dict.fromkeys(wrong or [text for text, _ in results])
    return reported(homogeneous=not wrong, description="; ".join(texts))


def check_erratum_units(erratum: Erratum) -> Iterator[Homogeneity]:
    """Check the units of the printed and the corrected formula of an erratum; yield the results.

    Yield nothing for an erratum without formulas.
    """
    forms = {"printed": erratum.printed_formula, "right": erratum.corrected_formula}
    for form, value in forms.items():
        if value is not None:
            text, is_kept = _describe(value.name, value.find_departure(), value.unit)
            kind = f"erratum as {form.replace('right', 'corrected')}"
            yield Homogeneity(name=erratum.name, kind=kind, homogeneous=is_kept, description=text)


# --- what a claim states --------------------------------------------------------------------------


def _describe(subject: str, departure: UnitDeparture | None, unit: Unit) -> tuple[str, bool]:
    """Describe a formula's unit or, if it does not scale with this unit, how it scales instead.

    Return the text, and whether the formula is homogeneous.
    """
    return (str(departure), False) if departure else (f"{subject} ({format_unit(unit)})", True)


def _check_printed_schedule(claim: Claim) -> Iterator[tuple[str, bool]]:
    """Yield a description of a claim's published schedule, and whether it scales with the units.

    Yield nothing if the claim is about no published schedule.
    """
    published = getattr(claim.check, "keywords", {}).get("published")
    if published is None:
        return
    by_unit = [
        [*chain(*(_check_request(claim, published, each, unit) for each in published.requests))]
        for unit in accuracy_units(Trial(claim).original_algorithm)
    ]
    best = min(by_unit, key=len)
    yield (best[0], False) if best else ("the printed schedule", True)


def _check_request(
    claim: Claim, published: PublishedSchedule, request: ScheduleRequest, accuracy: Unit
) -> list[str]:
    """Describe the parameters, printed for a request, that do not scale with the units.

    Among the possible units of the parameters in the request, the best ones count.
    """

    def compute(scaling: Scaling, units: Mapping[str, Unit]) -> Mapping[str, Any]:
        other = replace(
            request,
            epsilon=request.epsilon * scaling.factor(accuracy),
            constants=scaling.constants(request.constants),
            parameters=scaling.convert_numbers(request.parameters, units),
        )
        return published.compute(other)

    choices = _unit_choices(claim, request.parameters)
    departures = (find_departures(partial(compute, units=units)) for units in choices)
    return min((real + integers for real, integers in departures), key=len)


def _check_bounds(claim: Claim) -> Iterator[tuple[str, bool]]:
    """Yield a description of each bound of a claim, and whether the bound scales with its unit."""
    check = claim.check
    if not isinstance(check, Bound | ExactCounts | ErrorLawCheck):
        return
    trial = Trial(claim)
    _, problem = next(iterate_titled_problems(trial))
    for label, setting in check.settings.items():
        explicit = {} if callable(setting.parameters) else setting.parameters
        cases = (
            _make_case_function_of_scaling(trial, setting, problem, units)
            for units in _unit_choices(claim, explicit)
        )
        tried = (list(_check_setting(claim, label, case, problem)) for case in cases)
        first = next(tried)
        right = (results for results in (first, *tried) if all(is_kept for _, is_kept in results))
        yield from next(right, first)


def _check_setting(
    claim: Claim, label: str, case: Case, problem: Any
) -> Iterator[tuple[str, bool]]:
    real, integers = find_departures(lambda scaling: vars(case(scaling)[1]), claim.units)
    yield from ((text, False) for text in real + integers)
    for name, point, unit in _iterate_bound_functions(claim, case, problem):
        subject = ", ".join(filter(None, (name, label)))
        yield _describe(subject, find_departure(subject, point, unit), unit or infer_unit(point))


def _iterate_bound_functions(
    claim: Claim, case: Case, problem: Any
) -> Iterator[tuple[str, Callable[[Scaling], Any], Unit | None]]:
    """Yield the name, function and unit of each bound in a claim's check.

    The function maps a scaling of units to the value of the bound.
    """
    check = claim.check
    if isinstance(check, ExactCounts):

        def counts(scaling: Scaling) -> Any:
            formula = check.formula(*case(scaling))
            return list((formula.as_dict() if isinstance(formula, Counts) else formula).values())

        yield "the count", counts, NUMBER
    elif isinstance(check, ErrorLawCheck):
        for name, law, unit in (("square", check.square, SQUARE), ("mean", check.mean, GRADIENT)):
            if law is not None:
                yield name, partial(_evaluate_law, law, case, problem), unit
    elif isinstance(check, Bound):
        named = QUANTITIES.get(check.quantity) if isinstance(check.quantity, str) else None
        bounds = claim.units.get("of", named)
        times: list[tuple[int, ...]] = [(k + check.first,) for k in (1, 7)]
        times = times if check.statistic in EACH else [()]
        for (name, bound), time in product(check.bounds_by_label.items(), times):

            def bound_value(scaling: Scaling, upper: Any = bound, t: Any = time) -> Any:
                return upper(*case(scaling), *t)

            yield f"the bound {name}".strip(), bound_value, bounds


def _evaluate_law(law: Any, case: Any, problem: Any, scaling: Scaling) -> Any:
    x = np.asarray(problem.start(), dtype=float)
    error = np.linspace(1.0, 2.0, x.size).reshape(x.shape) * scaling.factor(GRADIENT)
    moved = np.linspace(3.0, 1.0, x.size).reshape(x.shape) * scaling.x
    return law(*case(scaling), Past(t=1, x=x * scaling.x, error=error, step=moved, problem=problem))


def _make_case_function_of_scaling(
    trial: Trial, setting: ClaimSetting, problem: Any, parameter_units: Mapping[str, Unit]
) -> Case:
    """Return a function that converts a claim's constants and parameters by a given scaling."""
    own, units = trial.original_algorithm if trial.claim.algorithm else None, trial.claim.units
    statement = _state_all_constants(problem.constants(problem.start()))
    existing = statement if setting.constants is None else setting.constants(problem)
    explicit = {} if callable(setting.parameters) else setting.parameters

    def case(scaling: Scaling) -> tuple[Any, Any]:
        constants = rescale_constants(existing, scaling, units)
        parameters = setting.parameters(constants) if callable(setting.parameters) else explicit
        products = scaling.convert_numbers(parameters, parameter_units)
        epsilon = products.pop("epsilon", None)
        if epsilon is not None:
            if own is not None and has_schedule(own):
                products = get_parameters(
                    own.theory(epsilon, scaling.constants(statement), **products)
                )
            products["epsilon"] = epsilon
        return constants, ParameterNamespace(**products)

    return case


def _state_all_constants(constants: Constants) -> Constants:
    """Return constants in which those that a problem does not state are 3: units need no value."""
    missing = [k for k in MEANING if k != "n" and getattr(constants, k) == math.inf]
    values: Any = dict.fromkeys(missing, 3.0)
    return replace(constants, **values)


def _unit_choices(claim: Claim, explicit: Mapping[str, Any]) -> Iterator[dict[str, Unit]]:
    """Yield possible choices of the units of a claim's real parameters.

    A name alone does not determine the unit: a Frank-Wolfe step is dimensionless, a gradient step
    is not.
    """
    floats = [name for name, value in explicit.items() if is_float(value)]
    choices = (
        (claim.units[n],) if n in claim.units else (*UNITS.get(n, ()), NUMBER) for n in floats
    )
    for units in product(*choices):
        yield dict(zip(floats, units, strict=True))
