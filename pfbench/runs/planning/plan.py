"""Planned runs, defined by selectors, names and limits, and their cached resolution."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Any

from pfbench.base.checks import check_integer, check_real
from pfbench.base.counts import Budget
from pfbench.base.errors import ErrorCollector, InputError, RefusedError
from pfbench.base.files import find_changed_existing_file, record_opened_files
from pfbench.base.protocols import Measure, Problem
from pfbench.base.selectors import Selector, replace_file_by_module
from pfbench.base.selectors import list_user_code_names as own_in
from pfbench.measures.catalogue import select_measures as named
from pfbench.runs.loop.isolated import RemoteMethod
from pfbench.runs.loop.resolved_run import ResolvedRun, resolve_run
from pfbench.runs.loop.run import Run, Stop
from pfbench.runs.loop.steps import random_stream
from pfbench.runs.planning.name_resolution import (
    build_algorithm_and_schedule,
    select_algorithm,
    select_problem,
)
from pfbench.runs.planning.name_resolution import select_measures as chosen_measures

MOST_RUNS = 100_000
"""Maximum number of runs in a spec."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """Run to be executed, defined by problem, algorithm, measures, seed and limits.

    Attributes
    ----------
    problem, algorithm
        Selectors; either may be user-defined, ``MODULE:NAME[...]`` or ``FILE.py:NAME[...]``.
    seed
        The algorithm's seed.
    measures, every
        Recorded measures, and the number of iterations between rows; a measure may be
        ``MODULE:NAME``.
    budget, stop, time_limit
        As in `pfbench.solve` (oracle calls, a target by its name in the trace, seconds).
    memory_limit
        Bytes by which the run may increase the memory of its process; None for no limit.
    """

    problem: str
    algorithm: str
    seed: int
    measures: tuple[str, ...]
    every: int
    budget: Budget | None = None
    stop: Stop | None = None
    time_limit: float | None = None
    memory_limit: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the planned run as JSON data, which `from_json` reads."""
        stop, budget = self.stop, self.budget
        return {name: getattr(self, name) for name in self.__slots__} | {
            "measures": list(self.measures),
            "budget": None if budget is None else budget.limits,
            "stop": None if stop is None else [stop.measure, stop.target],
        }

    @classmethod
    def from_json(cls, plan: Mapping[str, Any]) -> "PlannedRun":
        """Return the planned run described by JSON data from `as_json`.

        Raises
        ------
        InputError
            If the mapping is not a planned run.
        """
        try:
            budget, stop = plan["budget"], plan["stop"]
            arguments = {field.name: plan[field.name] for field in fields(cls)} | {
                "measures": tuple(plan["measures"]),
                "budget": None if budget is None else Budget(**budget),
                "stop": None if stop is None else Stop(*stop),
            }
            for text in (plan["problem"], plan["algorithm"], *arguments["measures"]):
                if not isinstance(text, str):
                    raise TypeError(f"{text!r} is not a selector")
            planned_run = cls(**arguments)
            check_integer("every", planned_run.every, minimum=1)
            check_integer("seed", planned_run.seed, minimum=0)
            for name in ("time_limit", "memory_limit"):
                if arguments[name] is not None:
                    check_real(name, arguments[name], above=0.0)
            for text in planned_run.selectors:
                Selector.parse(text)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"the plan of a run is invalid ({type(error).__name__}: {error})."
            ) from error
        return planned_run

    @property
    def selectors(self) -> tuple[str, ...]:
        """Selectors of problem, algorithm and measures."""
        return (self.problem, self.algorithm, *self.measures)

    @property
    def user_selectors(self) -> tuple[str, ...]:
        """Selectors MODULE:NAME of a user-defined problem, algorithm and measures."""
        return tuple(text for text in self.selectors if list_user_code_names([text]))

    @property
    def user_code_name(self) -> str:
        """Method and user-defined code of the run, as one text; "" if no code is user-defined.

        A worker that has run user-defined code executes only runs of the same code.
        """
        target = [] if self.stop is None else [self.stop.measure]
        own = list_user_code_names([*self.selectors, *target])
        return " ".join([self.algorithm.partition("[")[0], *own]) if own else ""


def list_user_code_names(selectors: Iterable[str]) -> list[str]:
    """Return the names MODULE:NAME and FILE.py:NAME in selectors, each once."""
    return list(dict.fromkeys(name for text in selectors for name in own_in(text)))


def describe_user_imports(selectors: Iterable[str]) -> list[str]:
    """Return a text for each user-defined MODULE:NAME in the selectors, with its parameters.

    If selectors differ in a parameter, the text has all values of this parameter. Of more than six
    whole numbers, it has only the smallest and the largest.

    Raises
    ------
    InputError
        If a selector cannot be read.
    """
    arguments: dict[str, dict[str, dict[str, None]]] = {}
    for text in dict.fromkeys(selectors):
        selector = Selector.parse(text)
        for own in own_in(text):
            parameters = arguments.setdefault(own, {})
            for name, value in selector.texts.items() if own == selector.name else ():
                parameters.setdefault(name, {})[value] = None
    texts = []
    for name, parameters in arguments.items():
        pairs = (f"{key}={_join_values([*values])}" for key, values in parameters.items())
        texts.append(f"{name}[{','.join(pairs)}]" if parameters else name)
    return texts


def _join_values(values: Sequence[str]) -> str:
    """Return the values of a parameter as text; many whole numbers are shown as a range."""
    if len(values) > 6 and all(map(str.isdecimal, values)):
        return f"{min(values, key=int)} to {max(values, key=int)}"
    return " or ".join(values)


def check_run_count(location: str, number: int) -> None:
    """Raise if a number of runs exceeds `MOST_RUNS`; the location is that in the spec.

    Raises
    ------
    InputError
        If there are more than `MOST_RUNS`.
    """
    if number > MOST_RUNS:
        raise InputError(
            f"{location} plans {number:,} runs, more than the {MOST_RUNS:,} allowed: split it."
        )


def portable_identity(source: PlannedRun | Run) -> tuple[str, str, int]:
    """Return a run's problem, algorithm and seed, with user files named without their folders."""
    problem, algorithm = map(replace_file_by_module, (source.problem, source.algorithm))
    return problem, algorithm, source.seed


@dataclass(eq=False)
class BuiltProblem:
    """Problem, together with derived data that are computed only once.

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
        """Best known value of the objective, with its source; None if no value is known."""
        try:
            if (best_known := self.problem.best_known) is None:
                return None
            return check_real("best_known", best_known[0]), str(best_known[1])
        except Exception:  # of any kind, from a user's problem
            return None


@dataclass(frozen=True, eq=False)
class ResolvedPlan:
    """Planned run with its problem built, its measures loaded and its algorithm resolved.

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
        """Resolved run; reading this property raises if the algorithm does not fit the problem.

        Raises
        ------
        RefusedError
            If the algorithm does not fit the problem.
        """
        if self.resolved_run_or_none is None:
            raise RefusedError(self.refusal)
        return self.resolved_run_or_none


def resolve(plan: PlannedRun) -> ResolvedPlan:
    """Build the problem of a planned run, load its measures and resolve its algorithm.

    If the algorithm does not fit the problem, the result has the reason of the refusal instead of a
    run.

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
        nothing: AbstractContextManager[dict[str, str]] = nullcontext({})
        with record_opened_files() if plan.user_code_name else nothing as files:
            result = _resolve(common, on)
        plans[common] = replace(result, files={**on.files, **files})
    return plans[common]


def resolve_each(plans: Iterable[PlannedRun]) -> Iterator[tuple[list[PlannedRun], ResolvedPlan]]:
    """Resolve the distinct planned runs, problem by problem.

    Runs that differ only in their seed, if they follow each other, are yielded as one list with
    their common resolution.

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
            build_or_reuse(problem)
            for _, equal in groupby(of_problem, key=_without_seed):
                equal_plans = [*equal]
                with noting():
                    yield equal_plans, resolve(equal_plans[0])
    noting.raise_collected()


_without_seed = attrgetter(*(part.name for part in fields(PlannedRun) if part.name != "seed"))


def resolve_with_problem_copy(plan: PlannedRun, code_folder: str = "") -> ResolvedPlan:
    """Resolve a run, on a copy of the shared problem if user-defined code might change the problem.

    If `code_folder` is given, a confined process builds and runs the algorithm from the code in
    this folder.
    """
    if code_folder:
        return _resolve(plan, build_or_reuse(plan.problem), code_folder)
    stop = () if plan.stop is None else (plan.stop.measure,)
    if not list_user_code_names((plan.problem, *plan.measures, *stop)):
        return resolve(plan)
    try:
        problem = deepcopy(build_or_reuse(plan.problem).problem)
    except Exception:  # of any kind, from a user's object that cannot be copied
        problem = select_problem(plan.problem)
    return _resolve(plan, BuiltProblem(problem))


def build_or_reuse(text: str) -> BuiltProblem:
    """Return the problem of a selector; it is rebuilt if a file that it read has changed."""
    return _build_or_reuse(text)[0]


def _build_or_reuse(text: str) -> tuple[BuiltProblem, dict[PlannedRun, ResolvedPlan]]:
    """Return the problem of a selector, and the runs resolved on it; see `build_or_reuse`."""
    if find_changed_existing_file(_build_problem_cached(text)[0].files):
        _build_problem_cached.cache_clear()
    return _build_problem_cached(text)


@lru_cache(maxsize=1)
def _build_problem_cached(text: str) -> tuple[BuiltProblem, dict[PlannedRun, ResolvedPlan]]:
    """Return the problem of a selector, and a dict; only the last problem is cached.

    A problem may take gigabytes, and runs are handled problem by problem.
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
    """Return the algorithm of a selector, built in its own process; the last result is cached."""
    on = build_or_reuse(problem).problem
    return RemoteMethod(
        build_algorithm_and_schedule, algorithm, on.constants(on.start()), folder=folder
    )
