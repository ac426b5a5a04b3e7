"""Keys of planned runs in a store, with and without their limits, and the reuse of longer runs.

No algorithm sees its budget or its time limit: a longer run begins with a shorter one, bit for bit.
So a stored run with a larger budget is cut to a smaller one. The parameter `iterations` is a limit
like these if no iterate depends on it (`Algorithm.anytime`). Any other parameter of a schedule
defines another run.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import takewhile
from operator import attrgetter
from typing import Any, NamedTuple

from pfbench.algorithms.base import get_parameters
from pfbench.base.counts import COUNTED, Counts
from pfbench.base.errors import InputError
from pfbench.base.files import find_changed_existing_file
from pfbench.base.selectors import Selector, module_name, replace_file_by_module
from pfbench.base.status import Status
from pfbench.base.user_code import is_pfbench_module
from pfbench.runs.loop.isolated import as_json_parameters
from pfbench.runs.loop.run import TRACE_COLUMNS, Run
from pfbench.runs.loop.trace import finite_or_none
from pfbench.runs.planning.plan import PlannedRun, ResolvedPlan, list_user_code_names, resolve_each
from pfbench.runs.storage.content_keys import (
    content_key_by_seed,
    has_source,
    library_version,
    source_digest,
    source_note,
)
from pfbench.runs.storage.serialization import StoredRun
from pfbench.runs.storage.store import Store

_LOOP = "pfbench.runs.loop.drive"
_ALGORITHMS = "pfbench.algorithms.catalogue"


class RunKeys(NamedTuple):
    """Keys under which a run is stored, and the notes to store with it.

    Attributes
    ----------
    key, seed
        Content key of the run, and its seed.
    family_of_seed
        Function that returns `family`, which only missing and new runs need.
    limits
        Budget of the run, and its parameter `iterations` if that is a limit like a budget.
    parameters, schedule
        Parameters and schedule of the run, even if it is cut from a run of another selector.
    files
        The digests of the files that user-defined code read during planning, by name.
    notes
        Notes to be stored with the run, except its family: limits, source, dimension and, if the
        theorem of its schedule bounds a measure, this measure and its bound.
    """

    key: str
    seed: int
    family_of_seed: Callable[[int], str]
    limits: Mapping[str, float]
    parameters: Mapping[str, Any]
    schedule: str
    files: Mapping[str, str]
    notes: Mapping[str, Any]

    @property
    def family(self) -> str:
        """Key shared by all runs that differ only in their limits."""
        return self.family_of_seed(self.seed)


def compute_keys(
    plans: Sequence[PlannedRun], environment: Mapping[str, str]
) -> dict[PlannedRun, RunKeys]:
    """Return the keys of each planned run.

    Raises
    ------
    InputError
        If a name is unknown or a parameter wrong.
    """
    sources = cache(source_digest)
    keys = {}
    for equal_plans, resolved in resolve_each(plans):
        plan = equal_plans[0]
        modules, run = root_modules(plan, resolved), resolved.resolved_run_or_none
        source = sources(modules)
        limits = {} if plan.budget is None else plan.budget.limits
        iterations = getattr(run.algorithm, "iterations", None) if run else None
        if run and iterations is not None and is_anytime(run.algorithm):
            limits = {**limits, "iterations": iterations}
        notes: dict[str, Any] = {
            "limits": limits,
            "source": source_note(modules, source),
            "dimension": math.prod(resolved.built_problem.problem.shape),
        }
        if run and run.guarantee and (measure := run.guarantee[0].measure):
            promise, bound = run.guarantee
            notes["promised"] = {"measure": measure, "value": bound ** (1.0 / promise.power)}
        common = (
            limits,
            as_json_parameters(get_parameters(run.algorithm)) if run else {},
            run.schedule if run else "explicit",
            resolved.files,
            notes,
        )
        key_of_seed, family_of_seed = (
            content_key_by_seed(_key_content(plan, resolved, limited), source, environment)
            for limited in (True, False)
        )
        for plan in equal_plans:
            keys[plan] = RunKeys(key_of_seed(plan.seed), plan.seed, family_of_seed, *common)
    return keys


def is_anytime(algorithm: Any) -> bool:
    """Return whether no iterate of an algorithm depends on `iterations`.

    A user-defined class must define `anytime` itself, because an inherited value may be wrong for
    the class.
    """
    kind = type(algorithm)
    statement = is_pfbench_module(kind.__module__) or "anytime" in vars(kind)
    return statement and bool(getattr(algorithm, "anytime", False))


def root_modules(plan: PlannedRun, resolved: ResolvedPlan) -> frozenset[str]:
    """Return the names of the modules that define a run: its loop and each of its components.

    Raises
    ------
    InputError
        If a module that the run names has no Python source.
    """
    problem = resolved.built_problem.problem
    parts = (problem, problem.set, problem.penalty)
    modules = {type(part).__module__ for part in parts if part is not None}
    run = resolved.resolved_run_or_none
    algorithm = type(run.algorithm).__module__ if run else _ALGORITHMS
    measures = {getattr(measure, "__module__", _LOOP) for measure in resolved.measures.values()}
    own = {module_name(name) for name in list_user_code_names(plan.user_selectors)}
    for module in sorted(own):
        if not has_source(module):
            raise InputError(
                f"the key of a stored run needs Python source code, but {module} has none: name a "
                f"Python module that imports {module}."
            )
    return frozenset({_LOOP, *modules, algorithm, *measures, *own})


def _key_content(plan: PlannedRun, resolved: ResolvedPlan, limited: bool) -> dict[str, Any]:
    """Return the JSON data whose hash is the key of a run, except its seed.

    If `limited` is false, the data have no budget, no limits of time and memory, and no
    `iterations` where that is a limit like a budget.
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
    """Return an algorithm's class and parameters; if it does not fit the problem, its selector.

    For an algorithm of another library, the version of that library is included.
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


_INTRINSIC_STOPS = frozenset({Status.FINISHED, Status.TARGET, Status.DIVERGED})
_LIMIT_STOPS = frozenset({Status.BUDGET, Status.TIMEOUT, Status.FINISHED})


def _went_beyond(run: Mapping[str, Any], limits: Mapping[str, float]) -> bool:
    """Return whether a stored run continued beyond these limits."""
    spent = {**run["counts"], "iterations": run["iterations"]}
    # So many iterations would have ended it before whatever did.
    last = limits.get("iterations") == run["iterations"] and not (
        _has_ended_at_iteration_limit(run) or run["status"] == Status.TARGET
    )
    return last or any(spent.get(name, 0) > limit for name, limit in limits.items())


def _has_ended_at_iteration_limit(run: Mapping[str, Any]) -> bool:
    """Return whether a stored run ended because it reached its limit of iterations."""
    last = run["limits"].get("iterations")
    return bool(run["status"] == Status.FINISHED and last == run["iterations"])


def _ends_equally(run: Mapping[str, Any], limits: Mapping[str, float], frequency: int) -> bool:
    """Return whether a stored run would end in the same way if it had the given limits."""
    if run["status"] == Status.BUDGET:
        ending = set(run["limits"]) - {"iterations"}
    elif _has_ended_at_iteration_limit(run):
        ending = {"iterations"}
    elif run["status"] == Status.TARGET:
        # Beyond the recorded iterates only the very last one is looked at.
        return bool(run["iterations"] % frequency == 0)
    else:
        return run["status"] in _INTRINSIC_STOPS
    return all(limits.get(name, math.inf) <= run["limits"][name] for name in ending)


def is_strictly_within(limits: Mapping[str, float], other_limits: Mapping[str, float]) -> bool:
    """Return whether all limits are at most the other limits, and at least one is smaller."""
    smaller = all(limits.get(name, math.inf) <= other_limits[name] for name in other_limits)
    return smaller and limits != other_limits


def has_changed_input_file(entry: StoredRun) -> bool:
    """Return whether a file that a stored run read has changed since the run."""
    return bool(find_changed_existing_file(entry.notes.get("files", {})))


class ContainingRunIndex:
    """Index that finds stored runs which differ from a planned run only in their limits."""

    def __init__(self, store: Store, planned: Iterable[RunKeys]) -> None:
        self._store = store
        self._rows_by_family: dict[str, dict[str, Mapping[str, Any]]] = {}
        rows = store.listing(families={keys.family for keys in planned}).rows
        for row in sorted(rows, key=attrgetter("key")):
            if row.limits is not None:
                texts = {"counts": row.counts, "limits": row.limits}
                parsed = {name: json.loads(text or "{}") for name, text in texts.items()}
                self._take(row._asdict() | parsed)

    def add(self, keys: RunKeys, run: Run) -> None:
        """Add a run that has just been stored."""
        existing = {"family": keys.family, "key": keys.key, "limits": keys.limits}
        self._take(run.as_json() | existing)

    def find_stored_or_cut_run(
        self, plan: PlannedRun, keys: RunKeys
    ) -> tuple[StoredRun, str] | None:
        """Return a stored run, cut to the limits of a plan, and the text "stored" or "cut".

        The text is "stored" if the limits make no difference, "cut" if the run is a part of the
        stored one. A cut run is not stored itself. The result is None if no stored run contains
        the planned one.
        """
        longest = math.inf if plan.time_limit is None else plan.time_limit
        for existing in self._rows_by_family.get(keys.family, {}).values():
            over = _went_beyond(existing, keys.limits)
            if existing["seconds"] > longest or not (
                over or _ends_equally(existing, keys.limits, plan.every)
            ):
                continue
            entry = self._store.get(existing["key"])
            if entry is None or has_changed_input_file(entry):
                continue
            if not over:
                return entry, "stored"
            if existing["status"] in _INTRINSIC_STOPS | _LIMIT_STOPS:
                shorter = cut(entry.run, keys.limits, exact=plan.stop is not None)
                if shorter is not None:
                    return replace(entry, run=shorter), "cut"
        return None

    def _take(self, row: Mapping[str, Any]) -> None:
        # A key that was made again replaces what was known of it.
        self._rows_by_family.setdefault(row["family"], {})[row["key"]] = row


def cut(run: Run, limits: Mapping[str, float], *, exact: bool = False) -> Run | None:
    """Return the part of a run within smaller limits; None if the trace does not contain it.

    The part ends at the last recorded iterate within the budget, with the counts spent to reach it,
    or at the iterate that the limit "iterations" names. Return None if that iterate is not
    recorded. If the output is the last iterate, its measures are those in the trace. All other
    measures are None. The time inside oracles is unknown (NaN).

    Parameters
    ----------
    exact
        Also return None if the budget may allow iterates after the last recorded one: a run checks
        its target at its very last iterate, too.
    """
    budget = {name: limit for name, limit in limits.items() if name != "iterations"}
    longest = limits.get("iterations", math.inf)

    def exceeds(row: Mapping[str, float]) -> bool:
        return any(row[name] > limit for name, limit in budget.items())

    table = [dict(zip(run.columns, row, strict=True)) for row in run.rows]
    inner = list(takewhile(lambda r: r["iteration"] <= longest and not exceeds(r), table))
    if not inner:
        return None
    last, further = inner[-1], next(iter(table[len(inner) :]), None)
    finished = last["iteration"] == longest
    if not finished:
        if further is None and not exceeds(run.counts.as_dict()):
            return None
        if further is not None and further["iteration"] > longest:
            return None
        if exact and further is not None and further["iteration"] != last["iteration"] + 1:
            return None
    last_is_output = run.parameters.get("output") == "last" and run.yields_output is False
    difference = set(run.columns) - set(TRACE_COLUMNS) if last_is_output else ()
    final = {name: finite_or_none(last[name]) if name in difference else None for name in run.final}
    allowed = ", ".join(f"{name}={limit:g}" for name, limit in budget.items())
    reason = f"cut from a longer stored run: its next recorded iterate exceeds {allowed}"
    return replace(
        run,
        status=Status.FINISHED if finished else Status.BUDGET,
        stop_reason=Status.FINISHED.end_reason if finished else reason,
        iterations=int(last["iteration"]),
        counts=Counts(**{name: int(last[name]) for name in COUNTED}),
        final=final,
        seconds=last["seconds"],
        oracle_seconds=math.nan,
        rows=run.rows[: len(inner)],
    )
