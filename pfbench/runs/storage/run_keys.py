"""Keys of planned runs in a store, with and without their limits.

No algorithm sees its budget or its time limit: a longer run begins with a shorter one, bit for bit.
`iterations` is a limit like them if no iterate depends on it (`Algorithm.anytime`); anything
else that a schedule depends on defines another run.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pfbench.algorithms.base import get_parameters
from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector, module_name, replace_file_by_module
from pfbench.base.user_code import is_builtin
from pfbench.runs.planning.plan import PlannedRun, list_user_code_names
from pfbench.runs.planning.resolve import ResolvedPlan, as_json_parameters, resolve_each
from pfbench.runs.storage.content_keys import (
    content_key,
    has_source,
    library_version,
    source_digest,
    source_note,
)

_LOOP = "pfbench.runs.loop.drive"
_ALGORITHMS = "pfbench.algorithms.catalogue"


@dataclass(frozen=True)
class RunKeys:
    """Keys and notes of a run in the store.

    Attributes
    ----------
    key, family
        Content key of the run, and the key shared by all runs that differ only in their limits.
    limits
        Budget of the run, and its parameter `iterations` if that is a limit like a budget.
    source
        Note for the store on the source of the run; see `source_note`.
    dimension
        The number of entries of a point.
    parameters, schedule
        Parameters and schedule of the run, even if it is cut from a run of another selector.
    files
        The digests of the files that user-defined code read during planning, by name.
    guarantee
        The measure that the theorem of its schedule bounds, and the bound; None if there is none.
    """

    key: str
    family: str
    limits: Mapping[str, float]
    source: Mapping[str, Any]
    dimension: int
    parameters: Mapping[str, Any]
    schedule: str
    guarantee: tuple[str, float] | None
    files: Mapping[str, str]


def compute_keys(
    plans: Sequence[PlannedRun], environment: Mapping[str, str]
) -> dict[PlannedRun, RunKeys]:
    """Return the keys of each run.

    Raises
    ------
    InputError
        If a name is unknown or a parameter wrong.
    """
    sources = cache(source_digest)
    keys = {}
    for plan, resolved in resolve_each(plans):
        modules = root_modules(plan, resolved)
        source = sources(modules)
        keys[plan] = RunKeys(
            content_key(_key_content(plan, resolved), source, environment),
            content_key(_key_content(plan, resolved, limited=False), source, environment),
            _limits(
                plan, resolved.resolved_run_or_none and resolved.resolved_run_or_none.algorithm
            ),
            source_note(modules, source),
            math.prod(resolved.built_problem.problem.shape),
            as_json_parameters(get_parameters(resolved.resolved_run_or_none.algorithm))
            if resolved.resolved_run_or_none
            else {},
            resolved.resolved_run_or_none.schedule if resolved.resolved_run_or_none else "explicit",
            _value_of_guaranteed_measure(resolved),
            resolved.files,
        )
    return keys


def _limits(plan: PlannedRun, algorithm: Any) -> dict[str, float]:
    limits = {} if plan.budget is None else plan.budget.limits
    iterations = getattr(algorithm, "iterations", None)
    if is_anytime(algorithm) and iterations is not None:
        limits["iterations"] = iterations
    return limits


def is_anytime(algorithm: Any) -> bool:
    """Return whether no iterate of an algorithm depends on `iterations`.

    A user-defined class has to define this itself: an inherited value may be wrong for it.
    """
    kind = type(algorithm)
    statement = is_builtin(kind.__module__) or "anytime" in vars(kind)
    return statement and bool(getattr(algorithm, "anytime", False))


def _value_of_guaranteed_measure(resolved: ResolvedPlan) -> tuple[str, float] | None:
    """Return the guaranteed measure of a schedule, and its bound in units of the measure."""
    guarantee = resolved.resolved_run_or_none.guarantee if resolved.resolved_run_or_none else None
    if guarantee is None:
        return None
    promise, bound = guarantee
    return (promise.measure, bound ** (1.0 / promise.power)) if promise.measure else None


def root_modules(plan: PlannedRun, resolved: ResolvedPlan) -> frozenset[str]:
    """Return the modules from which a run reaches all others: its loop's, and those it names.

    Raises
    ------
    InputError
        If a module that the run names has no Python source.
    """
    problem = resolved.built_problem.problem
    parts = (problem, problem.set, problem.penalty)
    modules = {type(part).__module__ for part in parts if part is not None}
    algorithm = (
        type(resolved.resolved_run_or_none.algorithm).__module__
        if resolved.resolved_run_or_none
        else _ALGORITHMS
    )
    measures = {getattr(measure, "__module__", _LOOP) for measure in resolved.measures.values()}
    own = {module_name(name) for name in list_user_code_names(plan.user_selectors)}
    for module in sorted(own):
        if not has_source(module):
            raise InputError(
                f"{module} has no Python source, which the key of a stored run needs: name a "
                "Python module that imports it."
            )
    return frozenset({_LOOP, *modules, algorithm, *measures, *own})


def _key_content(
    plan: PlannedRun, resolved: ResolvedPlan, *, limited: bool = True
) -> dict[str, Any]:
    """Return the content of the key of a run, as JSON.

    If not `limited`, the content has no budget, no limits of time and memory, and no `iterations`
    if that is a limit like a budget.
    """
    problem = resolved.built_problem.problem
    return {
        "problem": [
            type(problem).__qualname__,
            resolved.built_problem.digest,
            # What somebody's digest covers is not known.
            dict(problem.parameters) if ":" in problem.name else {},
        ],
        "algorithm": _algorithm_key_content(plan, resolved, limited),
        "seed": plan.seed,
        "limits": {
            "every": plan.every,
            "stop": plan.stop and [plan.stop.measure, plan.stop.target],
            "budget": plan.budget.limits if limited and plan.budget else None,
            "time_limit": plan.time_limit if limited else None,
            "memory_limit": plan.memory_limit if limited else None,
        },
        "measures": sorted(resolved.measures),
        "own": sorted(map(replace_file_by_module, list_user_code_names(plan.user_selectors))),
        # By their content alone: wherever they lie, a run is the same.
        **({"files": sorted(set(resolved.files.values()))} if resolved.files else {}),
    }


def _algorithm_key_content(plan: PlannedRun, resolved: ResolvedPlan, limited: bool) -> list[Any]:
    """Return an algorithm's class and parameters; of a refused algorithm, its selector.

    For an algorithm of another library, also the version of that library.
    """
    if resolved.resolved_run_or_none is None:
        return ["refused", replace_file_by_module(plan.algorithm)]
    algorithm = resolved.resolved_run_or_none.algorithm
    parameters = get_parameters(algorithm)
    selector = Selector.parse(plan.algorithm)
    if ":" in selector.name:
        # Only a dataclass says what its parameters are.
        parameters = {**selector.parameters, **parameters}
    if not limited and is_anytime(algorithm):
        parameters.pop("iterations", None)
    versions = {name: library_version(name) for name in getattr(algorithm, "libraries", ())}
    return [
        type(algorithm).__qualname__,
        as_json_parameters(parameters),
        *([versions] if versions else []),
    ]
