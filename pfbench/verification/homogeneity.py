"""Checks that bounds and schedules scale correctly with the units of f and x.

See `units` for the scaling rules. The checks need no run. A bound that does not scale is then
tested on problems in which f or x is measured in other units.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, wraps
from itertools import chain, islice, product
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.algorithms.base import get_parameters as parameters_of
from pfbench.base.constants import MEANING, Constants
from pfbench.base.counts import Counts
from pfbench.base.errors import format_error
from pfbench.base.status import Verdict
from pfbench.verification.claim import Claim, Erratum
from pfbench.verification.instances import Instance
from pfbench.verification.instruments.rescaled import RescaledProblem
from pfbench.verification.schedules import USUAL
from pfbench.verification.statements.bound import EACH, Bound
from pfbench.verification.statements.error_law import ErrorLawCheck, Past
from pfbench.verification.statements.exact_counts import ExactCounts
from pfbench.verification.statements.quantity import as_function, is_count
from pfbench.verification.statements.setting import (
    ClaimSetting,
    Given,
    ParameterNamespace,
    has_schedule,
    iterate_titled_problems,
)
from pfbench.verification.statistics import Evidence, best_if_all_hold_else_worst
from pfbench.verification.subject import ClaimBroken, NotTestable
from pfbench.verification.trial import Trial
from pfbench.verification.units import (
    GRADIENT,
    NUMBER,
    ONE,
    PARAMETER_UNITS,
    QUANTITIES,
    SCALINGS,
    SQUARE,
    VALUE,
    Formula,
    Scaling,
    Unit,
    find_departure,
    format_unit,
    infer_unit,
    is_float,
    rescale_constants,
)

ACCURACIES: Mapping[Unit, str] = {VALUE: "a gap", SQUARE: "|G|^2", GRADIENT: "|G|"}
"""Meaning of an accuracy, by its unit."""

_EPSILONS = (0.4, 0.05, 0.002)

_POWERS = tuple(2.0**k for k in (4, -4, 8, -8, 16, -16))

_TESTED_SCALINGS = (
    *(Scaling(f=power) for power in _POWERS),
    *(Scaling(x=power) for power in _POWERS),
)
"""Scalings of f alone, then of x alone, in which an inhomogeneous bound is tested."""

_MOST_WORK = 10.0
"""Estimated seconds, from steps and calls, after which no further scaling is tried."""

Case = Callable[[Scaling], tuple[Any, Any]]
"""Function of a scaling: constants and parameters of a claim in other units."""

Result = tuple[str, bool]
"""Description of a formula, a bound or a schedule, and whether it scales with the units."""

Parameters = Callable[[Scaling], Mapping[str, Any]]

Departures = tuple[list[str], list[str]]
"""Descriptions of the real parameters, and of the integers, that do not scale with the units."""


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


def check_claim_units(claim: Claim) -> Homogeneity:
    """Check that the formulas of a claim scale as they should if the units of f and x change."""
    reported = partial(
        Homogeneity, name=claim.name, kind="claim", normalised=claim.scale_dependence
    )
    try:
        formulas = map(_check_formula, claim.formulas)
        results = [*formulas, *_check_bounds(claim), *_check_printed_schedule(claim)]
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
    forms = {"printed": erratum.printed_formula, "corrected": erratum.corrected_formula}
    for form, formula in forms.items():
        if formula is not None:
            text, is_kept = _check_formula(formula)
            kind = f"erratum as {form}"
            yield Homogeneity(name=erratum.name, kind=kind, homogeneous=is_kept, description=text)


def _check_formula(formula: Formula) -> Result:
    departure = formula.find_departure()
    if departure:
        return str(departure), False
    return f"{formula.name} ({format_unit(formula.unit)})", True


# --- bounds of claims -----------------------------------------------------------------------------


def _check_bounds(claim: Claim) -> Iterator[Result]:
    """Yield a description of each bound of a claim, and whether the bound scales with its unit."""
    check = claim.check
    if not isinstance(check, Bound | ExactCounts | ErrorLawCheck):
        return
    trial = Trial(claim)
    _, problem = next(iterate_titled_problems(trial))
    for label, setting in check.settings.items():
        cases = (
            _make_case_function_of_scaling(trial, setting, problem, units)
            for units in _unit_choices(claim, _explicit_parameters(setting.parameters))
        )
        tried = (list(_check_setting(claim, label, case, problem)) for case in cases)
        first = next(tried)
        right = (results for results in (first, *tried) if all(is_kept for _, is_kept in results))
        yield from next(right, first)


def _check_setting(claim: Claim, label: str, case: Case, problem: Any) -> Iterator[Result]:
    for text in chain(*find_departures(lambda scaling: vars(case(scaling)[1]), claim.units)):
        yield text, False
    for name, function, unit in _iterate_bound_functions(claim, case, problem):
        subject = ", ".join(filter(None, (name, label)))
        departure = find_departure(subject, function, unit)
        right = f"{subject} ({format_unit(unit or infer_unit(function))})"
        yield str(departure or right), departure is None


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
        times = [(k + check.first,) for k in (1, 7)] if check.statistic in EACH else [()]
        for (name, bound), time in product(check.bounds_by_label.items(), times):

            def bound_value(scaling: Scaling, upper: Any = bound, t: Any = time) -> Any:
                return upper(*case(scaling), *t)

            yield f"the bound {name}".strip(), bound_value, _unit_of_quantity(claim, check)


def _unit_of_quantity(claim: Claim, check: Bound) -> Unit | None:
    named = QUANTITIES.get(check.quantity) if isinstance(check.quantity, str) else None
    return claim.units.get("of", named)


def _evaluate_law(law: Any, case: Any, problem: Any, scaling: Scaling) -> Any:
    x = np.asarray(problem.start(), dtype=float)
    error = np.linspace(1.0, 2.0, x.size).reshape(x.shape) * scaling.factor(GRADIENT)
    moved = np.linspace(3.0, 1.0, x.size).reshape(x.shape) * scaling.x
    return law(*case(scaling), Past(t=1, x=x * scaling.x, error=error, step=moved, problem=problem))


def _make_case_function_of_scaling(
    trial: Trial, setting: ClaimSetting, problem: Any, parameter_units: Mapping[str, Unit]
) -> Case:
    """Return a function that converts a claim's constants and parameters by a given scaling.

    Constants that the problem does not state are 3, as units need no value.
    """
    own, units = trial.original_algorithm if trial.claim.algorithm else None, trial.claim.units
    statement = problem.constants(problem.start())
    missing = [k for k in MEANING if k != "n" and getattr(statement, k) == math.inf]
    statement = replace(statement, **dict.fromkeys(missing, 3.0))
    existing = statement if setting.constants is None else setting.constants(problem)
    explicit = _explicit_parameters(setting.parameters)

    def case(scaling: Scaling) -> tuple[Any, Any]:
        constants = rescale_constants(existing, scaling, units)
        parameters = setting.parameters(constants) if callable(setting.parameters) else explicit
        products = scaling.convert_numbers(parameters, parameter_units)
        epsilon = products.pop("epsilon", None)
        if epsilon is not None and own is not None and has_schedule(own):
            scheduled = own.theory(epsilon, scaling.constants(statement), **products)
            products = parameters_of(scheduled)
        products |= {} if epsilon is None else {"epsilon": epsilon}
        return constants, ParameterNamespace(**products)

    return case


def _explicit_parameters(parameters: Given) -> Mapping[str, Any]:
    """Return the parameters that a claim states as a mapping, not as a function."""
    return {} if callable(parameters) else parameters


def _unit_choices(claim: Claim, explicit: Mapping[str, Any]) -> Iterator[dict[str, Unit]]:
    """Yield possible choices of the units of a claim's real parameters.

    A name alone does not determine the unit: a Frank-Wolfe step is dimensionless, a gradient step
    is not.
    """
    floats = [name for name, value in explicit.items() if is_float(value)]
    choices = (
        (claim.units[n],) if n in claim.units else (*PARAMETER_UNITS.get(n, ()), NUMBER)
        for n in floats
    )
    for units in product(*choices):
        yield dict(zip(floats, units, strict=True))


# --- schedules ------------------------------------------------------------------------------------


def check_schedule(method: Any) -> Homogeneity | None:
    """Check that the schedule of a method scales with the units of f and x.

    Return None if the method has no schedule. Integers must stay unchanged, up to rounding by 1,
    and each real parameter must scale by one power. If the method's guarantee does not determine
    the unit of the accuracy, each of `ACCURACIES` is tried.
    """
    if not has_schedule(method):
        return None
    reason, name = getattr(method, "scale_dependence", ""), getattr(method, "name", "it")
    reported = partial(Homogeneity, name=name, kind="schedule", normalised=reason)
    tried: list[list[Departures]] = []
    for unit in accuracy_units(method):
        results = _schedule_departures(method, unit)
        if not results:
            words = "the schedule raises for usual constants, or returns no parameters"
            return reported(homogeneous=None, description=words)
        if not any(chain(*results)):
            words = f"epsilon is {ACCURACIES[unit]}"
            return reported(homogeneous=True, description=words, accuracy=unit)
        tried.append(results)
    reals, integers = zip(*tried[0], strict=True)
    always = all(reals) and not any(integers)
    text = next(chain(*reals, *integers))
    return reported(homogeneous=False, description=text, always=always)


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


def _schedule_departures(method: Any, unit: Unit) -> list[Departures]:
    """Find parameters of a schedule that do not scale with their units, for several accuracies.

    The list is empty if the schedule never returns parameters.
    """
    results: list[Departures] = []
    for form, constants, epsilon in product(("theory", "practical"), USUAL, _EPSILONS):

        def compute(
            scaling: Scaling, form: str = form, c: Constants = constants, epsilon: float = epsilon
        ) -> Mapping[str, Any]:
            make = getattr(method, form)
            return get_parameters(make(epsilon * scaling.factor(unit), scaling.constants(c)))

        try:
            if not compute(ONE):
                continue
        except Exception:  # as a schedule may refuse by any error
            continue
        try:
            results.append(find_departures(compute))
        except Exception as error:
            results.append(([], [f"the schedule raises in other units ({error})"]))
    return results


def get_parameters(algorithm: Any) -> Mapping[str, Any]:
    """Return an algorithm's parameters by name; if it is no dataclass, its attributes."""
    parameters = parameters_of(algorithm) or dict(getattr(algorithm, "__dict__", {}))
    return {k: v for k, v in parameters.items() if isinstance(v, bool | int | float | str | None)}


def _check_printed_schedule(claim: Claim) -> Iterator[Result]:
    """Yield the result for the schedule of a claim's method, if the claim compares it with print.

    The claim itself compares each parameter.
    """
    if "published" in getattr(claim.check, "keywords", {}):
        result = check_schedule(Trial(claim).original_algorithm)
        if result is not None and result.homogeneous is not None:
            yield result.description, result.homogeneous


def find_departures(
    make_parameters: Parameters, stated_units: Mapping[str, Unit] = MappingProxyType({})
) -> Departures:
    """Describe all parameters of a schedule that do not scale with their units.

    A unit in `stated_units` replaces those that a parameter with a usual name may have. An integer
    may change by 1, as schedules round.
    """
    units = {**PARAMETER_UNITS, **{name: (unit,) for name, unit in stated_units.items()}}
    real, integers = list[str](), list[str]()
    for name, value in make_parameters(ONE).items():

        def parameter_value(scaling: Scaling, name: str = name) -> Any:
            return make_parameters(scaling).get(name)

        if is_float(value):
            possible: Iterable[Unit | None] = units.get(name, (None,))
            departures = [find_departure(name, parameter_value, unit) for unit in possible]
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


# --- tests in other units -------------------------------------------------------------------------


def recheck_inhomogeneous_bound(trial: Trial, evidence: Evidence) -> Evidence:
    """Retest a bound in other units if it does not scale with the units; return all evidence.

    Only bounds that do not scale like the bounded quantity are tested. Such a bound gets the
    verdict *violated* if it fails in other units, else *inconclusive*. A claim whose
    `scale_dependence` states a reason keeps its evidence.
    """
    claim, check, decision = trial.claim, trial.claim.check, evidence.decision
    is_kept = Verdict(decision.verdict).keeps_bound
    if not is_kept or claim.scale_dependence or not isinstance(check, Bound):
        return evidence
    units = check_claim_units(claim)
    if units.homogeneous is not False:
        return evidence
    tests, runs, work = decision.test_count, evidence.repetitions, trial.coverage.work
    for by in _TESTED_SCALINGS if _can_be_scaled(claim, check) else ():
        if trial.coverage.work - work > _MOST_WORK:
            break
        result = _decide_in_scaled_units(trial, check, by)
        if result is None:
            continue
        runs += result.repetitions
        if result.decision.verdict == Verdict.VIOLATED:
            parts = {"": replace(decision, test_count=tests), str(by): result.decision}
            return replace(evidence, decision=best_if_all_hold_else_worst(parts), repetitions=runs)
        tests += result.decision.test_count
    reason = (
        f"The bound is not homogeneous ({units.description}), but holds in the units that were "
        "tried: correct it, or state the reason in `scale_dependence`."
    )
    decision = replace(
        decision, verdict=Verdict.INCONCLUSIVE, test_count=tests, reason=reason, tight_on={}
    )
    return replace(evidence, decision=decision, repetitions=runs)


def _can_be_scaled(claim: Claim, check: Bound) -> bool:
    """Return whether a bound can be tested in other units.

    It cannot if a unit is unknown, or if a problem has a penalty, a norm, or points that are not
    arrays.
    """
    examples = [instance.example() for instance in claim.instances]
    are_plain = all(
        isinstance(example.start(), np.ndarray)
        and example.penalty is None
        and getattr(example, "norm", None) is None
        for example in examples
    )
    explicit = [_explicit_parameters(setting.parameters) for setting in check.settings.values()]
    floats = {name for each in explicit for name, value in each.items() if is_float(value)}
    is_known = floats <= {*claim.units} and _unit_of_quantity(claim, check) is not None
    return are_plain and is_known


def _decide_in_scaled_units(trial: Trial, check: Bound, scaling: Scaling) -> Evidence | None:
    """Test a bound in other units; return the evidence, or None if this is impossible."""
    units, constants, quantity = trial.claim.units, check.constants, check.quantity
    factor = scaling.factor(_unit_of_quantity(trial.claim, check) or NUMBER)

    def convert_parameters(parameters: Given) -> Given:
        if callable(parameters):
            return parameters
        floats = [name for name, value in parameters.items() if is_float(value)]
        return scaling.convert_numbers(parameters, {name: units[name] for name in floats})

    def measure(on: Any, *points: Any) -> Any:
        points = tuple(x / scaling.x for x in points)
        if check.statistic == "step":
            return factor * quantity(on.inner, *points)
        return factor * as_function(on.inner, quantity)(*points)

    def rescale(instance: Instance) -> Instance:
        @wraps(instance.build)
        def build(*args: Any, **parameters: Any) -> Any:
            return RescaledProblem(instance.build(*args, **parameters), scaling)

        return replace(instance, build=build)

    other = replace(
        check,
        quantity=quantity if is_count(quantity) else measure,
        parameters={
            label: convert_parameters(setting.parameters)
            for label, setting in check.settings.items()
        },
        constants=constants and (lambda on: rescale_constants(constants(on.inner), scaling, units)),
    )
    claim = replace(trial.claim, instances=tuple(map(rescale, trial.claim.instances)), check=other)
    try:
        return other.decide(replace(trial, claim=claim))
    except (ClaimBroken, NotTestable, ArithmeticError):  # as parameters are for stated units
        return None
