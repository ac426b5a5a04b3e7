"""Worst cases of a user's method, or of a claim's method with its bound, for several N."""

import inspect
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.parameters import check_parameter_names
from pfbench.base.protocols import Algorithm
from pfbench.base.selectors import Selector
from pfbench.base.user_code import blame_user_code, instantiate, load_user_object
from pfbench.oracles import Oracles
from pfbench.points import keep
from pfbench.runs.loop.steps import Steps
from pfbench.verification.claim import Claim
from pfbench.verification.instruments.enumerated_random import enumerate_draws
from pfbench.verification.statements.bound import Bound
from pfbench.verification.statements.setting import ClaimSetting, ParameterNamespace
from pfbench.verification.trial import claim_method
from pfbench.verification.user_claims import load_claims
from pfbench.verification.worst_case.custom import (
    MEASURES,
    OVER,
    ComputedWorstCase,
    FunctionClass,
    compute_worst_case,
)
from pfbench.verification.worst_case.estimation import TOLERANCE
from pfbench.verification.worst_case.recording import (
    MOST_BRANCHES,
    ProblemTooLarge,
    RecordingOptions,
    record_method,
)
from pfbench.verification.worst_case.worst_function import WorstFunction

MAX_STEPS = 4
"""Maximum number of steps, unless the method fixes it."""

MAX_UNKNOWNS = 16
"""Maximum number of gradients and vertices beyond one step."""

_OVER: Mapping[str, str] = {"least": "least", "mean": "mean", "output": "mean", "last": "last"}
_CLASS = ("n", "L", "D", "delta", "convex")


@dataclass(frozen=True)
class WorstCaseCheck:
    """Computed worst case, compared with a run on the worst function and with a claim's bound.

    Attributes
    ----------
    worst_case
        The worst case.
    run_value
        Measure of a run on the worst function, expected over all draws; NaN if there is none.
    bound
        Bound that the claim states; None without a claim.
    parameters
        Parameters of the method.
    """

    worst_case: ComputedWorstCase
    run_value: float
    bound: float | None
    parameters: Mapping[str, Any]

    @property
    def is_violated(self) -> bool:
        """Whether the worst case exceeds the bound, up to the solver's error."""
        return self.bound is not None and self.worst_case.value > self.bound * (1.0 + TOLERANCE)

    def as_json(self) -> dict[str, Any]:
        """Return the worst case, the run's measure and the bound as a JSON object."""
        worst, function = self.worst_case, self.worst_case.function
        return {
            "steps": worst.steps,
            "parameters": {name: _as_json_value(value) for name, value in self.parameters.items()},
            "measure": worst.measure,
            "statistic": worst.statistic,
            "worst_case": None if math.isnan(worst.value) else worst.value,
            "run": None if math.isnan(self.run_value) else self.run_value,
            "bound": self.bound,
            "function_class": _as_json(worst.function_class, constrained=worst.is_constrained),
            "function": None if function is None else dict(function.content),
        }


def _as_json(function_class: FunctionClass, *, constrained: bool) -> dict[str, Any]:
    numbers = vars(function_class) | ({} if constrained else {"D": None})
    return {name: None if value == math.inf else value for name, value in numbers.items()}


def _as_json_value(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def iterate_user_worst_cases(reference: str, function_class: str = "") -> Iterator[WorstCaseCheck]:
    """Yield the computed worst cases of a user's method or claim for N = 1, 2, ... steps.

    Parameters
    ----------
    reference
        FILE.py:NAME or MODULE:NAME of a claim, or of an algorithm with its parameters.
    function_class
        Changes of the default class, measure and statistic, e.g. ``n=4,delta=2,measure=fw_gap``.

    Raises
    ------
    InputError
        If the object is neither, or the worst case cannot be computed.
    """
    selector = Selector.parse(reference)
    data = load_user_object(selector.name)
    text = f"within[{function_class}]" if function_class else "within"
    parameters = dict(Selector.parse(text).parameters)
    check_parameter_names("--function-class", parameters, (*_CLASS, "measure", "over"))
    if isinstance(data, Claim):
        claim = load_claims(selector.name).claims[0]
        check = _bound_of_claim(claim)
        parameters = {"measure": check.quantity, "over": _OVER[check.statistic]} | parameters
        cases = _iterate_claim_cases(claim, check, parameters)
    else:
        cases = _iterate_method_cases(data, selector)
    measure, over = parameters.get("measure"), parameters.get("over")
    for number, (method, arguments, bound) in enumerate(cases):
        inner, N = _function_class(parameters, method), arguments.get("iterations")
        if number:
            try:
                record_method(method, inner.n, N, RecordingOptions(max_answers=MAX_UNKNOWNS))
            except ProblemTooLarge:
                return
        worst = compute_worst_case(method, inner, measure=measure, over=over, steps=N)
        run = math.nan
        if worst.function is not None:
            run = measure_on_worst_function(worst.function, method, worst)
        yield WorstCaseCheck(worst, run, bound, arguments)


Case = tuple[Algorithm, Mapping[str, Any], float | None]
"""A method, its parameters, and the bound that a claim states if any."""


def _iterate_method_cases(obj: Any, selector: Selector) -> Iterator[Case]:
    """Yield a class of methods for N = 1, 2, ... steps, or a method that fixes N itself."""
    numbers: Any = [None]
    if isinstance(obj, type) and "iterations" not in selector.parameters:
        existing = inspect.signature(obj).parameters
        numbers = range(1, MAX_STEPS + 1) if "iterations" in existing else [None]
    for N in numbers:
        arguments = {**selector.parameters, **({} if N is None else {"iterations": N})}
        method = instantiate(replace(selector, parameters=arguments))
        if not hasattr(method, "run") or not hasattr(method, "requires"):
            raise InputError(f"{selector.name} must be an algorithm or a claim, but is neither.")
        yield method, arguments, None


def _bound_of_claim(claim: Claim) -> Bound:
    """Return the check of a claim; raise `InputError` if its worst case cannot be computed."""
    check = claim.check
    if (
        not isinstance(check, Bound)
        or check.quantity not in MEASURES
        or check.statistic not in _OVER
        or check.constants is not None
        or not len(check.settings) == len(check.bounds_by_label) == 1
    ):
        raise InputError(
            f"the claim {claim.name} has no computed worst case: it must state one bound, without "
            f"constants=, of the {' or '.join(OVER)} value of one of {', '.join(MEASURES)}."
        )
    return check


def _iterate_claim_cases(
    claim: Claim, check: Bound, overrides: Mapping[str, Any]
) -> Iterator[Case]:
    """Yield a claim's method for N = 1, 2, ... steps, with the bound that the claim states."""
    ((_, upper),) = check.bounds_by_label.items()
    own = claim_method(claim)
    constants = _constants(_function_class(overrides, own))
    for N in range(1 + check.first, MAX_STEPS + 1):
        with blame_user_code(f"the claim {claim.name}"):
            parameters = _claim_parameters_at_horizon(check.setting, constants, N)
            method = own(**parameters)
            late = (N - 1,) if check.statistic == "least" else ()
            bound = float(upper(constants, ParameterNamespace(**parameters), *late))
        if not math.isfinite(bound):
            raise InputError(
                f"the bound of the claim {claim.name} is {bound:g} on the function class: give the "
                "constants that the bound needs in --function-class."
            )
        yield method, parameters, bound


def _claim_parameters_at_horizon(
    setting: ClaimSetting, constants: Constants, N: int
) -> dict[str, Any]:
    """Return the parameters that a claim states for N steps of its method.

    If the parameters are a function with a parameter `T` or `iterations`, that receives N.
    """
    parameters: Any = setting.parameters
    if callable(parameters):
        names = inspect.signature(parameters).parameters
        report = {name: N for name in ("T", "iterations") if name in names}
        parameters = parameters(constants, **report)
    if "epsilon" in parameters:
        raise InputError(
            "the claim's epsilon fixes the number of steps, which a worst case varies: state "
            "`parameters` without epsilon."
        )
    return {**parameters, "iterations": N}


def _function_class(parameters: Mapping[str, Any], method: Any) -> FunctionClass:
    usual: dict[str, Any] = {
        "n": 2 if method.requires & {"batch", "difference", "table"} else 1,
        "convex": parameters.get("measure") == "suboptimality",
    }
    overrides = {name: value for name, value in parameters.items() if name in _CLASS}
    return FunctionClass(**usual | overrides)


def _constants(function_class: FunctionClass) -> Constants:
    numbers = {name: getattr(function_class, name) for name in ("n", "D", "delta")}
    numbers |= dict.fromkeys(("L_f", "L_ms", "L_max"), function_class.L)
    derived = {name: (number, "of the class") for name, number in numbers.items()}
    return Constants.from_derivations(**derived)


def measure_on_worst_function(
    problem: WorstFunction, method: Algorithm, worst: ComputedWorstCase
) -> float:
    """Return a method's expected measure on its worst-case function, over all draws."""

    def points(rng: np.random.Generator) -> list[Any]:
        run = Steps(problem, method, bundle=Oracles, streams={"algorithm": rng})
        states = islice(run.states, worst.steps)
        return [problem.start(), *(keep(state.x) for state in states)]

    def measure(x: Any) -> float:
        g = problem.gradient(x)
        if worst.measure == "suboptimality":
            return problem.value(x) - problem.minimum_value
        if worst.measure == "fw_gap":
            return float(g @ x - problem.set.minimum(g)[0])
        return float(g @ g)

    total = 0.0
    for chance, run in enumerate_draws(points, MOST_BRANCHES):
        values = [measure(x) for x in (run[-1:] if worst.statistic == "last" else run[:-1])]
        total += chance * (min(values) if worst.statistic == "least" else float(np.mean(values)))
    return total
