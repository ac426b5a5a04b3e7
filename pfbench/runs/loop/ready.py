"""A run made ready: its problem, its algorithm with all parameters, and what is measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.algorithms.base import parameters_of
from pfbench.algorithms.promise import Promise
from pfbench.base.assumptions import ASSUMPTIONS, unmet
from pfbench.base.checks import text
from pfbench.base.counts import Budget
from pfbench.base.errors import InputError, Refused
from pfbench.base.names import told
from pfbench.base.protocols import Algorithm, Backend, Choice, Measure, Problem
from pfbench.base.selectors import Selector
from pfbench.base.state import Point
from pfbench.measures import named
from pfbench.points import form_of, is_finite, keep
from pfbench.problems.normed import KINDS
from pfbench.runs.loop.run import TRACE_COLUMNS
from pfbench.runs.loop.stop import Stop

OF_PROBLEMS: Mapping[str, str] = MappingProxyType(
    {
        "smooth": "is for problems without set and penalty",
        "set": "is for problems with a feasible set",
        "polytope": "is for problems over a polytope",
        "norm": "is for problems with a norm in place of a set",
        **{f"norm {kind}": f"is for the norm {kind}" for kind in KINDS},
    }
)
"""What may be required of a problem beside its oracles, and how a refusal says it."""


@dataclass(frozen=True, eq=False)
class Ready:
    """What the loop drives.

    Attributes
    ----------
    problem
        The problem.
    algorithm
        The algorithm with its parameters fixed.
    selector
        The algorithm as it was asked for, as the command line writes it.
    schedule
        Where the parameters come from: "theory", "practical" or "explicit".
    measures
        What the trace records, by name.
    start
        The point to start at; None for the problem's own.
    """

    problem: Problem
    algorithm: Algorithm
    selector: str
    schedule: str
    measures: Mapping[str, Measure]
    start: Point = None

    @property
    def unmet(self) -> tuple[str, ...]:
        """What the algorithm's theorem assumes and the problem is not known to meet."""
        return unmet(getattr(self.algorithm, "assumes", ()), self.problem)

    @property
    def asks(self) -> frozenset[str]:
        """What a run asks of the problem: verbs of the oracles, and kinds of problems."""
        return frozenset(getattr(self.algorithm, "asks", self.algorithm.requires))

    @property
    def length(self) -> int | None:
        """How many iterations the schedule has, None where that is no parameter of it."""
        iterations: int | None = getattr(self.algorithm, "iterations", None)
        return None if iterations is None else iterations * getattr(self.algorithm, "runs", 1)

    @property
    def promised(self) -> tuple[Promise, float] | None:
        """What the theorem of this schedule promises, and the bound's number in its criterion.

        None where the parameters are not those of a theorem, or it has no number.
        """
        promise = getattr(self.algorithm, "promises", None)
        epsilon = Selector.parse(self.selector).parameters.get("epsilon")
        if self.schedule != "theory" or not isinstance(epsilon, (int, float)):
            return None
        if not isinstance(promise, Promise):  # somebody's own class may mean another thing by it
            return None
        start = self.problem.start() if self.start is None else self.start
        return promise, float(promise.bound(epsilon, self.problem.constants(start)))

    def check_ends(
        self, budget: Budget | None, stop: Stop | None, time_limit: float | None
    ) -> None:
        """Refuse a run that nothing would ever end.

        Raises
        ------
        InputError
            If the algorithm is endless, and none of the three is given.
        """
        if budget is not None and not isinstance(budget, Budget):
            raise InputError(
                f"budget={told(budget)} does not say of which calls: write pf.Budget(sfo=100), or "
                '{"sfo": 100}.'
            )
        limited = (budget is not None and bool(budget.limits)) or stop is not None
        if getattr(self.algorithm, "endless", False) and not limited and time_limit is None:
            raise InputError(
                f"{self.algorithm.name} without iterations never ends: give iterations, a budget, "
                "a target or a time limit."
            )

    def check_offered(self, backend: Backend) -> None:
        """Refuse an algorithm that requires what the problem does not offer.

        Raises
        ------
        Refused
            If the problem lacks it, or what it opened for the run has no such oracle.
        """
        name, problem = self.algorithm.name, self.problem.name
        lacks = self.problem.lacks
        for verb in sorted(self.asks):
            if verb in lacks:
                wants = OF_PROBLEMS.get(verb, f"asks for {verb}")
                raise Refused(f"{name} {wants}, but {problem} does not fit: {lacks[verb]}.")
            if verb not in OF_PROBLEMS and not hasattr(backend, verb):
                raise Refused(f"{name} asks for {verb}, which {problem} does not offer.")


def ready(
    problem: Problem,
    algorithm: Choice | Algorithm,
    measures: str | Sequence[str] | Mapping[str, Measure] = (),
    *,
    stop: Stop | None = None,
    start: Point = None,
    selector: str | None = None,
) -> Ready:
    """Fix the parameters of an algorithm for a problem and a start.

    Parameters
    ----------
    problem, algorithm, measures, start
        As `pfbench.solve` takes them.
    stop
        A target, whose measure is recorded, too.
    selector
        The algorithm as it is to be called; by default its name with the given parameters.

    Raises
    ------
    InputError
        If a parameter is missing or out of range, a measure unknown, or the start outside the set.
    Refused
        If the theorem's schedule lacks a constant, or assumes what the problem is not known to
        meet; with explicit parameters, and in the practical schedule, it may.
    """
    _check_kinds(problem, algorithm)
    x0 = problem.start() if start is None else _point(start)
    if start is not None and not problem.set.contains(x0):
        if not form_of(problem.start()).is_point(x0):
            raise InputError(f"start is {told(x0)}, a point here {told(problem.start())}.")
        if not is_finite(x0):
            raise InputError("the start point has NaN or infinite entries: give another.")
        raise InputError("the start point is outside the feasible set: project it first.")
    if isinstance(algorithm, Choice):
        chosen, schedule = _resolved(problem, algorithm, x0)
        given = algorithm.parameters
    else:
        chosen, schedule = algorithm, "explicit"
        given = {name: one for name, one in parameters_of(chosen).items() if one is not None}
    if selector is None:
        selector = str(Selector(chosen.name, given))
    return Ready(problem, chosen, selector, schedule, _recorded(problem, measures, stop), start)


_OF_A_PROBLEM = ("name", "set", "start", "open", "constants")
_OF_AN_ALGORITHM = ("name", "requires", "output", "run")


def _check_kinds(problem: Any, algorithm: Any) -> None:
    """Refuse what is no problem, or no algorithm: a class in place of its object, too."""
    for kind, given, parts in (
        ("problem", problem, _OF_A_PROBLEM),
        ("algorithm", algorithm, _OF_AN_ALGORITHM),
    ):
        if kind == "algorithm" and isinstance(given, Choice):
            continue
        lacks = [part for part in parts if not hasattr(given, part)]
        if lacks or isinstance(given, type):
            why = f"it lacks {', '.join(lacks)}" if lacks else "make an object of it"
            raise InputError(f"{told(given)} is no {kind}: {why}.")


def _point(start: Any) -> Point:
    """Return an own copy of a start, an array in double precision."""
    if not isinstance(start, np.ndarray):
        return keep(start)
    if start.dtype.kind not in "fiu":
        raise InputError(f"the start must be an array of numbers, not {told(start)}.")
    return start.astype(np.float64)


def _resolved(problem: Problem, choice: Choice, x0: Point) -> tuple[Algorithm, str]:
    """Return the algorithm of a choice for a problem and a start, and its schedule."""
    lacking = unmet(choice.assumes, problem)
    if lacking and choice.schedule == "theory":
        words = " and ".join(f"{name} ({ASSUMPTIONS[name]})" for name in lacking)
        raise Refused(
            f"the theorem of {choice.name} assumes {words}, which {problem.name} is not known "
            "to meet: give its parameters explicitly instead of epsilon."
        )
    return choice.resolve(problem.constants(x0))


def _recorded(
    problem: Problem, measures: str | Sequence[str] | Mapping[str, Measure], stop: Stop | None
) -> dict[str, Measure]:
    """Return what a trace records, by name, the measure of a target included."""
    if not isinstance(measures, Mapping):
        listed = [measures] if isinstance(measures, str) else measures
        if not isinstance(listed, Sequence):
            raise InputError(
                f"measures={told(measures)} must be names, as in ['fw_gap'], or functions of "
                "(problem, state) by name."
            )
        measures = named(problem, [text("a measure", name, "fw_gap") for name in listed])
    for name, measure in measures.items():
        text("the name of a measure", name, "distance")
        if not callable(measure):
            raise InputError(
                f"the measure {name} must be a function of (problem, state), not {told(measure)}."
            )
    recorded = dict(measures)
    if stop is not None and not isinstance(stop, Stop):
        raise InputError(
            f'stop={told(stop)} must be a target, pf.Stop("fw_gap", 0.01) or "fw_gap=0.01".'
        )
    if stop is not None and stop.measure not in recorded:
        recorded |= named(problem, [stop.measure])
    for name in recorded:
        if name in TRACE_COLUMNS:
            raise InputError(f"{name!r} is a column of every trace: call the measure otherwise.")
    return recorded
