"""Worst cases of what somebody names: his method, or his claim with its bound, step by step."""

import inspect
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.parameters import check_known
from pfbench.base.protocols import Algorithm
from pfbench.base.selectors import Selector
from pfbench.base.user_code import blamed, load, made
from pfbench.oracles import Ledger, Oracles
from pfbench.points import keep
from pfbench.verification.claim import Claim
from pfbench.verification.instruments.draws import branches
from pfbench.verification.own import stated
from pfbench.verification.stating.bound import Bound
from pfbench.verification.stating.setting import Named, Setting
from pfbench.verification.trial import method_of
from pfbench.verification.worst_case.estimation import TOLERANCE
from pfbench.verification.worst_case.interpolated import WorstFunction
from pfbench.verification.worst_case.recording import MOST_BRANCHES, TooLarge, recorded
from pfbench.verification.worst_case.somebodys import MEASURES, OVER, Class, Worst, worst_case

QUICK, FULL = 4, 8
"""So many steps at most, where nothing says how many."""

QUICK_UNKNOWNS = 16
"""So many gradients and vertices at most, beyond one step, unless full effort is asked."""

_OVER: Mapping[str, str] = {"least": "least", "mean": "mean", "output": "mean", "last": "last"}
_CLASS = ("n", "L", "D", "delta", "convex")


@dataclass(frozen=True)
class Asked:
    """A worst case with what it is held to.

    Attributes
    ----------
    worst
        The worst case.
    run
        What a run on its function measures: in expectation over all draws; NaN without one.
    bound
        What a claim states; None without a claim.
    parameters
        Those of the method.
    """

    worst: Worst
    run: float
    bound: float | None
    parameters: Mapping[str, Any]

    @property
    def broken(self) -> bool:
        """Whether the worst case exceeds the bound, up to the solver's error."""
        return self.bound is not None and self.worst.value > self.bound * (1.0 + TOLERANCE)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        worst, function = self.worst, self.worst.function
        return {
            "steps": worst.steps,
            "parameters": {name: _plain(value) for name, value in self.parameters.items()},
            "measure": worst.measure,
            "over": worst.over,
            "worst_case": None if math.isnan(worst.value) else worst.value,
            "run": None if math.isnan(self.run) else self.run,
            "bound": self.bound,
            "within": _as_json(worst.within, constrained=worst.constrained),
            "function": None if function is None else dict(function.content),
            "proof": None if worst.proof is None else worst.proof.as_json(),
        }


def _as_json(within: Class, *, constrained: bool) -> dict[str, Any]:
    numbers = vars(within) | ({} if constrained else {"D": None})
    return {name: None if value == math.inf else value for name, value in numbers.items()}


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def asked(reference: str, within: str = "", *, full: bool = False) -> Iterator[Asked]:
    """Yield the worst case of somebody's method, or claim, for more and more steps.

    Parameters
    ----------
    reference
        FILE.py:NAME or MODULE:NAME, of an algorithm with its parameters.
    within
        The class, and what is measured, where it is not as usual: ``n=4,delta=2,measure=fw_gap``.
    full
        Whether up to `FULL` steps are taken.

    Raises
    ------
    InputError
        If what is named is neither, or has no worst case that can be computed.
    """
    selector = Selector.parse(reference)
    found = load(selector.name)
    given = dict(Selector.parse(f"within[{within}]").parameters) if within else {}
    check_known("--within", given, (*_CLASS, "measure", "over"))
    if isinstance(found, Claim):
        yield from of_claim(stated(selector.name).claims[0], given, full)
    else:
        yield from _of_method(found, selector, given, full)


def _of_method(
    found: Any, selector: Selector, given: dict[str, Any], full: bool
) -> Iterator[Asked]:
    """Yield those of a class, or of an object, which has its parameters."""
    numbers: Any = [None]
    if isinstance(found, type) and "iterations" not in selector.parameters:
        known = inspect.signature(found).parameters
        numbers = range(1, (FULL if full else QUICK) + 1) if "iterations" in known else [None]
    for N in numbers:
        more = {} if N is None else {"iterations": N}
        method = made(replace(selector, parameters={**selector.parameters, **more}))
        if not hasattr(method, "run") or not hasattr(method, "requires"):
            raise InputError(f"{selector.name} is neither an algorithm nor a claim.")
        if N is not None and N > 1 and _is_large(method, given, N, full):
            return
        yield _asked(method, given, {**selector.parameters, **more}, None)


def of_claim(
    claim: Claim, given: Mapping[str, Any] = MappingProxyType({}), full: bool = False
) -> Iterator[Asked]:
    """Yield those of a claim's method, with its bound; `given` as `within` says it.

    Raises
    ------
    InputError
        If it has no worst case that can be computed.
    """
    check = claim.check
    if not isinstance(check, Bound) or check.of not in MEASURES or check.over not in _OVER:
        raise InputError(
            f"the claim {claim.name} has no computed worst case: it must be a bound on the "
            f"{' or '.join(OVER)} of {', '.join(MEASURES)}."
        )
    if len(check.settings) > 1 or len(check.bounds) > 1:
        raise InputError(f"the claim {claim.name} states several bounds: name one that states one.")
    ((_, setting),), ((_, most),) = check.settings.items(), check.bounds.items()
    if setting.constants is not None:
        raise InputError(
            f"the constants of the claim {claim.name} are a function of a problem, and a worst "
            "case has none before it is computed."
        )
    own = method_of(claim)
    told = {"measure": check.of, "over": _OVER[check.over]} | dict(given)
    for N in range(1, (FULL if full else QUICK) + 1):
        constants = _constants(_within(told, own))
        with blamed(f"the claim {claim.name}"):
            parameters = _parameters(setting, constants, N)
            method = own(**parameters)
            late = (N - 1,) if check.over == "least" else ()
            bound = float(most(constants, Named(**parameters), *late))
        if not math.isfinite(bound):
            raise InputError(
                f"the bound of the claim {claim.name} is {bound:g} on this class: state what it "
                "needs in --within."
            )
        if N > 1 and _is_large(method, told, N, full):
            return
        yield _asked(method, told, parameters, bound)


def _is_large(method: Algorithm, given: Mapping[str, Any], N: int, full: bool) -> bool:
    """Return whether N steps have more unknowns than the effort allows."""
    try:
        found = recorded(method, _within(given, method).n, N)
    except TooLarge:
        return True
    return not full and len(found.answers) > QUICK_UNKNOWNS


def _parameters(setting: Setting, constants: Constants, N: int) -> dict[str, Any]:
    """Return a claim's parameters for N steps.

    Its function is told N where it takes it, as `T` or `iterations`: what it computes may depend on
    it.
    """
    parameters: Any = setting.parameters
    if callable(parameters):
        names = inspect.signature(parameters).parameters
        told = {name: N for name in ("T", "iterations") if name in names}
        parameters = parameters(constants, **told)
    if "epsilon" in parameters:
        raise InputError("a schedule from epsilon fixes the number of steps: state the parameters.")
    return {**parameters, "iterations": N}


def _within(given: Mapping[str, Any], method: Any) -> Class:
    usual: dict[str, Any] = {
        "n": 2 if method.requires & {"batch", "difference", "table"} else 1,
        "convex": given.get("measure") == "suboptimality",
    }
    return Class(**usual | {name: value for name, value in given.items() if name in _CLASS})


def _constants(within: Class) -> Constants:
    of = "of the class"
    return Constants.derived(
        n=(within.n, of),
        D=(within.D, of),
        L_f=(within.L, of),
        L_ms=(within.L, of),
        L_max=(within.L, of),
        delta=(within.delta, of),
    )


def _asked(
    method: Algorithm, given: Mapping[str, Any], parameters: Mapping[str, Any], bound: float | None
) -> Asked:
    chosen = {name: given[name] for name in ("measure", "over") if name in given}
    steps = parameters.get("iterations")
    worst = worst_case(method, _within(given, method), **chosen, steps=steps)
    run = math.nan if worst.function is None else run_on(worst.function, method, worst)
    return Asked(worst, run, bound, parameters)


def run_on(problem: WorstFunction, method: Algorithm, worst: Worst) -> float:
    """Return what a method measures on a worst function, in expectation over all draws."""

    def points(rng: np.random.Generator) -> list[Any]:
        ask = Oracles(problem, Ledger(), problem.set.diameter)
        states = islice(method.run(ask, problem.start(), rng), worst.steps)
        return [problem.start(), *(keep(state.x) for state in states)]

    def measured(x: Any) -> float:
        g = problem.gradient(x)
        if worst.measure == "suboptimality":
            return problem.value(x) - problem.least
        if worst.measure == "fw_gap":
            return float(g @ x) - problem.set.minimum(g)[0]
        return float(g @ g)

    total = 0.0
    for chance, run in branches(points, MOST_BRANCHES):
        values = [measured(x) for x in (run[-1:] if worst.over == "last" else run[:-1])]
        total += chance * (min(values) if worst.over == "least" else float(np.mean(values)))
    return total
