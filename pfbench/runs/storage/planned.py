"""By what a store knows a planned run: its key, and that of all that differ in their limits.

No algorithm sees its budget or its time limit: a longer run begins with a shorter one, bit for bit.
`iterations` is a limit like them where no iterate depends on it (`Algorithm.anytime`); anything
else that a schedule depends on makes another run.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pfbench.algorithms.base import parameters_of
from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector, by_module, module_of
from pfbench.base.user_code import is_ours
from pfbench.runs.planning.plan import PlannedRun, own_names
from pfbench.runs.planning.resolve import Resolved, plain, resolve_each
from pfbench.runs.storage.keys import (
    content_key,
    has_source,
    source_digest,
    source_note,
    version_of,
)

_LOOP = "pfbench.runs.loop.drive"
_ALGORITHMS = "pfbench.algorithms.catalogue"


@dataclass(frozen=True)
class Keys:
    """By what the store knows a run.

    Attributes
    ----------
    key, family
        Its content key, and that of all runs which differ from it in their limits alone.
    limits
        Its budget, and under "iterations" that parameter, where it is a limit like a budget.
    source
        The store's note on its source.
    dimension
        The number of entries of a point.
    parameters, schedule
        As the run has them, also where it is cut from one of another selector.
    files
        The digests of the files that user-defined code read where it was planned, by their names.
    promised
        The measure that the theorem of its schedule bounds, and the bound; None if it has no such.
    """

    key: str
    family: str
    limits: Mapping[str, float]
    source: Mapping[str, Any]
    dimension: int
    parameters: Mapping[str, Any]
    schedule: str
    promised: tuple[str, float] | None
    files: Mapping[str, str]


def keys_of(plans: Sequence[PlannedRun], environment: Mapping[str, str]) -> dict[PlannedRun, Keys]:
    """Return the keys of each run.

    Raises
    ------
    InputError
        If a name is unknown or a parameter wrong.
    """
    sources = cache(source_digest)
    found = {}
    for plan, there in resolve_each(plans):
        modules = modules_of(plan, there)
        source = sources(modules)
        found[plan] = Keys(
            content_key(_content(plan, there), source, environment),
            content_key(_content(plan, there, limited=False), source, environment),
            _limits(plan, there.fit and there.fit.algorithm),
            source_note(modules, source),
            math.prod(there.on.problem.shape),
            plain(parameters_of(there.fit.algorithm)) if there.fit else {},
            there.fit.schedule if there.fit else "explicit",
            _promised(there),
            there.files,
        )
    return found


def _limits(plan: PlannedRun, algorithm: Any) -> dict[str, float]:
    limits = {} if plan.budget is None else plan.budget.limits
    iterations = getattr(algorithm, "iterations", None)
    if anytime(algorithm) and iterations is not None:
        limits["iterations"] = iterations
    return limits


def anytime(algorithm: Any) -> bool:
    """Return whether no iterate of an algorithm depends on `iterations`.

    Somebody's own class has to say so itself: what it inherits may hold no longer.
    """
    kind = type(algorithm)
    said = is_ours(kind.__module__) or "anytime" in vars(kind)
    return said and bool(getattr(algorithm, "anytime", False))


def _promised(there: Resolved) -> tuple[str, float] | None:
    """Return the promise of a schedule in units of its measure."""
    found = there.fit.promised if there.fit else None
    if found is None:
        return None
    promise, bound = found
    return (promise.measure, bound ** (1.0 / promise.power)) if promise.measure else None


def modules_of(plan: PlannedRun, there: Resolved) -> frozenset[str]:
    """Return the modules from which a run reaches all others: its loop's, and those it names.

    Raises
    ------
    InputError
        If there is no Python source of one that the run names.
    """
    problem = there.on.problem
    parts = (problem, problem.set, problem.penalty)
    made = {type(part).__module__ for part in parts if part is not None}
    algorithm = type(there.fit.algorithm).__module__ if there.fit else _ALGORITHMS
    measures = {getattr(measure, "__module__", _LOOP) for measure in there.measures.values()}
    own = {module_of(name) for name in own_names(plan.own_selectors)}
    for module in sorted(own):
        if not has_source(module):
            raise InputError(
                f"{module} has no Python source that a stored run could be known by: name a "
                "module that has one, and imports it."
            )
    return frozenset({_LOOP, *made, algorithm, *measures, *own})


def _content(plan: PlannedRun, there: Resolved, *, limited: bool = True) -> dict[str, Any]:
    """Return as JSON which run is asked for.

    If not `limited`, whatever ends it from outside, and whatever its `iterations` are, where these
    are a limit like a budget.
    """
    problem = there.on.problem
    return {
        "problem": [
            type(problem).__qualname__,
            there.on.digest,
            # What somebody's digest covers is not known.
            dict(problem.parameters) if ":" in problem.name else {},
        ],
        "algorithm": _algorithm(plan, there, limited),
        "seed": plan.seed,
        "limits": {
            "every": plan.every,
            "stop": plan.stop and [plan.stop.measure, plan.stop.target],
            "budget": plan.budget.limits if limited and plan.budget else None,
            "time_limit": plan.time_limit if limited else None,
            "memory_limit": plan.memory_limit if limited else None,
        },
        "measures": sorted(there.measures),
        "own": sorted(map(by_module, own_names(plan.own_selectors))),
        # By their content alone: wherever they lie, a run is the same.
        **({"files": sorted(set(there.files.values()))} if there.files else {}),
    }


def _algorithm(plan: PlannedRun, there: Resolved, limited: bool) -> list[Any]:
    """Return an algorithm's class and parameters; of one that does not fit, its selector.

    Of one that runs another library's code, that one's version, too.
    """
    if there.fit is None:
        return ["refused", by_module(plan.algorithm)]
    algorithm = there.fit.algorithm
    parameters = parameters_of(algorithm)
    selector = Selector.parse(plan.algorithm)
    if ":" in selector.name:
        # Only a dataclass says what its parameters are.
        parameters = {**selector.parameters, **parameters}
    if not limited and anytime(algorithm):
        parameters.pop("iterations", None)
    versions = {name: version_of(name) for name in getattr(algorithm, "libraries", ())}
    return [type(algorithm).__qualname__, plain(parameters), *([versions] if versions else [])]
