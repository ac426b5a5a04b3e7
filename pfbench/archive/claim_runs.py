"""Planned runs of an archive of claims: each setting on each instance.

They are executed and checked like the runs of a sweep. A setting is left out unless its problem is
built-in, and its method with all parameters can be written as a selector.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from pfbench.algorithms.base import get_parameters
from pfbench.base.errors import PfbenchError
from pfbench.base.selectors import Selector
from pfbench.base.user_code import is_builtin
from pfbench.measures import available_measures
from pfbench.problems.catalogue import build_problem
from pfbench.runs.planning.plan import PlannedRun
from pfbench.verification.claim import Claim
from pfbench.verification.statements.bound import Bound
from pfbench.verification.statements.error_law import ErrorLawCheck
from pfbench.verification.statements.exact_counts import ExactCounts
from pfbench.verification.statements.rate import RateCheck
from pfbench.verification.statements.setting import MethodOnProblem, draw_seeds
from pfbench.verification.subject import ClaimBroken, NotTestable
from pfbench.verification.trial import Trial

SEEDS = 20
"""Number of runs of a setting that is random."""

Case = tuple[str, Any, Callable[[int], MethodOnProblem]]
"""Label of a setting, its instance, and a function from a data seed to its case."""


def iterate_cases(claim: Claim) -> Iterator[Case]:
    """Yield the settings of a claim on its instances; none if its check states no setting."""
    check, trial = claim.check, Trial(claim)
    for instance in claim.instances:
        if isinstance(check, RateCheck):
            for value in check.values:
                label = f"{instance.name}, {check.varied_parameter} = {value:g}"
                yield label, instance, partial(check.make_case, trial, instance, value)
        elif isinstance(check, Bound | ExactCounts | ErrorLawCheck):
            single = {"": check.setting} if isinstance(check, ErrorLawCheck) else check.settings
            for name, setting in single.items():
                make = partial(_make_case, setting, trial, instance)
                yield f"{instance.name} {name}".rstrip(), instance, make


def _make_case(setting: Any, trial: Trial, instance: Any, data: int) -> MethodOnProblem:
    case: MethodOnProblem = setting.make_case(trial, instance.build_seeded(data))
    return case


def plan_claim_runs(claims: Sequence[Claim], seed: int) -> list[PlannedRun]:
    """Return the planned runs of claims for a seed, without duplicates."""
    plans: dict[PlannedRun, None] = {}
    for claim in claims:
        for _, instance, make_case in iterate_cases(claim):
            for data, run_seed in draw_seeds(Trial(claim, seed=seed), instance, SEEDS):
                plan = _plan(claim, make_case, data, run_seed)
                if plan is None:
                    break
                plans[plan] = None
    return list(plans)


def _plan(
    claim: Claim, make_case: Callable[[int], MethodOnProblem], data: int, seed: int
) -> PlannedRun | None:
    try:
        case = make_case(data)
    except (ClaimBroken, NotTestable, PfbenchError):
        return None
    problem, method = _problem_selector(case.problem), _method_selector(case.algorithm)
    if not problem or not method or not getattr(case.algorithm, "iterations", None):
        return None
    quantity = getattr(claim.check, "quantity", "")
    available = {*available_measures(case.problem)} & {str(quantity), "value"}
    return PlannedRun(problem, method, seed, tuple(sorted(available)), 1)


def _problem_selector(problem: Any) -> str:
    """Return a selector that builds the same problem; empty if there is none."""
    if not is_builtin(type(problem).__module__):
        return ""
    try:
        text = str(Selector(problem.name, problem.parameters))
        return text if build_problem(Selector.parse(text)).digest == problem.digest else ""
    except (PfbenchError, AttributeError):
        return ""


def _method_selector(algorithm: Any) -> str:
    """Return a selector that makes the same method; empty if there is none."""
    kind = type(algorithm)
    parameters = {k: v for k, v in get_parameters(algorithm).items() if v is not None}
    if "." in kind.__qualname__ or not all(
        isinstance(value, bool | int | float | str) for value in parameters.values()
    ):
        return ""
    own = not is_builtin(kind.__module__)
    name = f"{kind.__module__}:{kind.__qualname__}" if own else algorithm.name
    text = str(Selector(name, parameters))
    same = {k: type(v) for k, v in Selector.parse(text).parameters.items()}
    return text if same == {k: type(v) for k, v in parameters.items()} else ""
