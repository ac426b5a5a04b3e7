"""Resolution of the selectors and names of a planned run, cached in a process."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any

from pfbench.base.checks import check_real
from pfbench.base.errors import ErrorCollector, RefusedError
from pfbench.base.file_watch import find_changed_file, record_opened_files
from pfbench.base.protocols import Measure, Problem
from pfbench.measures import select_measures as named
from pfbench.runs.loop.isolated import RemoteMethod
from pfbench.runs.loop.resolved_run import ResolvedRun, resolve_run
from pfbench.runs.loop.streams import random_stream
from pfbench.runs.planning.name_resolution import build_algorithm, select_algorithm, select_problem
from pfbench.runs.planning.name_resolution import select_measures as chosen_measures
from pfbench.runs.planning.plan import PlannedRun, list_user_code_names


@dataclass(eq=False)
class BuiltProblem:
    """Problem with derived data that are computed once.

    Attributes
    ----------
    problem
        The problem.
    files
        The digests of the files that user-defined code read to build it, by name.
    """

    problem: Problem
    files: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """Hash of the problem's data."""
        return self.problem.digest

    @cached_property
    def best_known(self) -> tuple[float, str] | None:
        """Best known value of f + h with its origin, None if none is known."""
        try:
            best_known = self.problem.best_known
            return (
                None
                if best_known is None
                else (check_real("best_known", best_known[0]), str(best_known[1]))
            )
        except Exception:  # of whatever kind, where the problem is somebody's own
            return None


@dataclass(frozen=True, eq=False)
class ResolvedPlan:
    """Resolved selectors and names of a planned run.

    Attributes
    ----------
    built_problem
        The problem.
    measures
        The recorded measures by name.
    resolved_run_or_none
        The resolved run; None if it is refused.
    refusal
        Reason of the refusal, in words; empty if there is none.
    files
        The digests of the files that user-defined code read to resolve the run, by name.
    """

    built_problem: BuiltProblem
    measures: dict[str, Measure]
    resolved_run_or_none: ResolvedRun | None
    refusal: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def run_setup(self) -> ResolvedRun:
        """Resolved run.

        Raises
        ------
        RefusedError
            If the algorithm does not fit the problem.
        """
        if self.resolved_run_or_none is None:
            raise RefusedError(self.refusal)
        return self.resolved_run_or_none


def resolve(plan: PlannedRun) -> ResolvedPlan:
    """Resolve a run's selectors and names.

    If the algorithm does not fit the problem, the result has a refusal instead of a run.

    Raises
    ------
    InputError
        If a name is unknown, a parameter wrong, or nothing would ever end the run.
    DataError
        If the problem's data are missing or damaged.
    """
    on, plans = _build_or_reuse(plan.problem)
    # Neither changes what the names stand for.
    common = replace(plan, seed=0, every=1)
    if common not in plans:
        if plan.user_code_name:
            with record_opened_files() as files:
                result = _resolve(common, on)
            plans[common] = replace(result, files={**on.files, **files})
        else:
            plans[common] = _resolve(common, on)
    return plans[common]


def best_known(problem: str) -> tuple[float, str] | None:
    """Return the best known value of f + h of a selector's problem, and its origin."""
    on, _ = _build_or_reuse(problem)
    return on.best_known


def problem_digest(problem: str) -> str:
    """Return the hash of the data of a selector's problem."""
    on, _ = _build_or_reuse(problem)
    return on.digest


def resolve_each(plans: Iterable[PlannedRun]) -> Iterator[tuple[PlannedRun, ResolvedPlan]]:
    """Yield runs, each once, with their resolution, problem by problem.

    Raises
    ------
    InputError
        After all other runs, if a name is unknown or a parameter wrong; `InputErrors` for several.
    DataError
        If the data of a problem are missing or damaged.
    """
    noting = ErrorCollector()
    ordered = sorted(dict.fromkeys(plans), key=lambda plan: plan.problem)
    for problem, of_problem in groupby(ordered, key=lambda plan: plan.problem):
        with noting():
            _build_or_reuse(problem)
            for plan in of_problem:
                with noting():
                    yield plan, resolve(plan)
    noting.raise_collected()


def resolve_with_problem_copy(plan: PlannedRun, code_folder: str = "") -> ResolvedPlan:
    """Resolve a run; copy its problem if user-defined code might change a shared one.

    If `code_folder` is given, a confined process builds and runs the algorithm, whose code it has.
    """
    if code_folder:
        return _resolve(plan, _build_or_reuse(plan.problem)[0], code_folder)
    stop = () if plan.stop is None else (plan.stop.measure,)
    if not list_user_code_names((plan.problem, *plan.measures, *stop)):
        return resolve(plan)
    try:
        on, _ = _build_or_reuse(plan.problem)
        problem = deepcopy(on.problem)
    except Exception:  # of whatever kind, where somebody's object can not be copied
        problem = select_problem(plan.problem)
    return _resolve(plan, BuiltProblem(problem))


def _build_or_reuse(text: str) -> tuple[BuiltProblem, dict[PlannedRun, ResolvedPlan]]:
    """Return a problem and the runs resolved on it; rebuild it if a file that it read changed."""
    newly_built = _build_cached(text)
    if find_changed_file(newly_built[0].files):
        _build_cached.cache_clear()
        newly_built = _build_cached(text)
    return newly_built


@lru_cache(maxsize=1)
def _build_cached(text: str) -> tuple[BuiltProblem, dict[PlannedRun, ResolvedPlan]]:
    """Build a problem.

    Only the last is cached, as it may take gigabytes; runs are handled problem by problem.
    """
    if not list_user_code_names([text]):
        return BuiltProblem(select_problem(text)), {}
    with record_opened_files() as files:
        problem = select_problem(text)
        with suppress(Exception):  # of whatever kind: it is told where the problem is used
            problem.start()
    return BuiltProblem(problem, files), {}


def _resolve(plan: PlannedRun, built_problem: BuiltProblem, folder: str = "") -> ResolvedPlan:
    problem = built_problem.problem
    chosen: Any
    if folder:
        chosen = _isolate(plan.algorithm, plan.problem, folder)
    else:
        chosen = select_algorithm(plan.algorithm)
    measures = chosen_measures(problem, plan.measures)
    if plan.stop is not None and plan.stop.measure not in measures:
        measures |= named(problem, [plan.stop.measure])
    try:
        fit = resolve_run(problem, chosen, measures, selector=plan.algorithm)
        fit = replace(fit, schedule=chosen.schedule) if folder else fit
        fit.check_requirements(problem.open(random_stream(plan.seed, "oracles")))
    except RefusedError as error:
        return ResolvedPlan(built_problem, measures, None, str(error))
    fit.check_termination(plan.budget, plan.stop, plan.time_limit)
    return ResolvedPlan(built_problem, measures, fit)


@lru_cache(maxsize=1)
def _isolate(algorithm: str, problem: str, folder: str) -> RemoteMethod:
    """Return the algorithm of a selector, built in a process of its own; cache the last one."""
    on = _build_or_reuse(problem)[0].problem
    return RemoteMethod(build_algorithm, algorithm, on.constants(on.start()), folder=folder)


def as_json_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters in JSON types; other values become text."""
    return {
        name: value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
        for name, value in parameters.items()
    }
