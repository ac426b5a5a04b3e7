"""The door of a planned run: what its selectors and names stand for, found once in a process."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any

from pfbench.base.checks import real
from pfbench.base.errors import Noting, Refused
from pfbench.base.file_watch import changed, reading
from pfbench.base.protocols import Measure, Problem
from pfbench.measures import named
from pfbench.runs.loop.ready import Ready, ready
from pfbench.runs.loop.streams import stream
from pfbench.runs.planning.plan import PlannedRun, own_names
from pfbench.runs.planning.selecting import chosen_algorithm, chosen_measures, chosen_problem


@dataclass(eq=False)
class Built:
    """A problem, and what is computed of it once.

    Attributes
    ----------
    problem
        The problem.
    files
        The digests of the files that user-defined code read to build it, by their names.
    """

    problem: Problem
    files: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """The hash of the problem's data."""
        return self.problem.digest

    @cached_property
    def best_known(self) -> tuple[float, str] | None:
        """The least known value of f + h with where it comes from, None if none is known."""
        try:
            found = self.problem.best_known
            return None if found is None else (real("best_known", found[0]), str(found[1]))
        except Exception:  # of whatever kind, where the problem is somebody's own
            return None


@dataclass(frozen=True, eq=False)
class Resolved:
    """What the selectors and names of a planned run stand for.

    Attributes
    ----------
    on
        The problem.
    measures
        The recorded measures by name.
    fit
        What is run; None if it is refused.
    refusal
        Why it is refused, in words; empty if it is not.
    files
        The digests of the files that user-defined code read for it, by their names.
    """

    on: Built
    measures: dict[str, Measure]
    fit: Ready | None
    refusal: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def ready(self) -> Ready:
        """What is run.

        Raises
        ------
        Refused
            If the algorithm does not fit the problem.
        """
        if self.fit is None:
            raise Refused(self.refusal)
        return self.fit


def resolve(plan: PlannedRun) -> Resolved:
    """Build what a run's selectors and names stand for.

    A combination that does not fit is returned as refused.

    Raises
    ------
    InputError
        If a name is unknown, a parameter wrong, or nothing would ever end the run.
    DataError
        If the problem's data are missing or damaged.
    """
    on, known = _built(plan.problem)
    # Neither changes what the names stand for.
    common = replace(plan, seed=0, every=1)
    if common not in known:
        if plan.code:
            with reading() as files:
                found = _resolve(common, on)
            known[common] = replace(found, files={**on.files, **files})
        else:
            known[common] = _resolve(common, on)
    return known[common]


def best_known(problem: str) -> tuple[float, str] | None:
    """Return the least known value of f + h of a selector's problem, as `Built.best_known`."""
    on, _ = _built(problem)
    return on.best_known


def resolve_each(plans: Iterable[PlannedRun]) -> Iterator[tuple[PlannedRun, Resolved]]:
    """Yield runs, each once and with what it stands for, problem by problem.

    Raises
    ------
    InputError
        After the last, if a name is unknown or a parameter wrong; `Mistakes`, if several are.
    DataError
        If the data of a problem are missing or damaged.
    """
    noting = Noting()
    ordered = sorted(dict.fromkeys(plans), key=lambda plan: plan.problem)
    for problem, of_problem in groupby(ordered, key=lambda plan: plan.problem):
        with noting():
            _built(problem)
            for plan in of_problem:
                with noting():
                    yield plan, resolve(plan)
    noting.refuse()


def resolve_apart(plan: PlannedRun) -> Resolved:
    """As `resolve`, on a problem of its own if somebody's code might leave something in it."""
    stop = () if plan.stop is None else (plan.stop.measure,)
    if not own_names((plan.problem, *plan.measures, *stop)):
        return resolve(plan)
    try:
        on, _ = _built(plan.problem)
        problem = deepcopy(on.problem)
    except Exception:  # of whatever kind, where somebody's object can not be copied
        problem = chosen_problem(plan.problem)
    return _resolve(plan, Built(problem))


def _built(text: str) -> tuple[Built, dict[PlannedRun, Resolved]]:
    """Return a problem, and what has been resolved on it; a new one if a file of it changed."""
    found = _newly_built(text)
    if changed(found[0].files):
        _newly_built.cache_clear()
        found = _newly_built(text)
    return found


@lru_cache(maxsize=1)
def _newly_built(text: str) -> tuple[Built, dict[PlannedRun, Resolved]]:
    """Build a problem.

    Only the last is kept, as it may take gigabytes; runs are taken problem by problem.
    """
    if not own_names([text]):
        return Built(chosen_problem(text)), {}
    with reading() as files:
        problem = chosen_problem(text)
        with suppress(Exception):  # of whatever kind: it is told where the problem is used
            problem.start()
    return Built(problem, files), {}


def _resolve(plan: PlannedRun, on: Built) -> Resolved:
    problem, chosen = on.problem, chosen_algorithm(plan.algorithm)
    measures = chosen_measures(problem, plan.measures)
    if plan.stop is not None and plan.stop.measure not in measures:
        measures |= named(problem, [plan.stop.measure])
    try:
        fit = ready(problem, chosen, measures, selector=plan.algorithm)
        fit.check_offered(problem.open(stream(plan.seed, "oracles")))
    except Refused as error:
        return Resolved(on, measures, None, str(error))
    fit.check_ends(plan.budget, plan.stop, plan.time_limit)
    return Resolved(on, measures, fit)


def plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON writes them; what it has no form for is text."""
    return {
        name: value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
        for name, value in parameters.items()
    }
