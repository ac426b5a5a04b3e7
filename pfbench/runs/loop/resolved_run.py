"""Resolved run: problem, algorithm with all parameters, and measures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfbench.algorithms.base import get_parameters
from pfbench.algorithms.guarantee import Guarantee
from pfbench.base.checks import check_text
from pfbench.base.counts import Budget
from pfbench.base.errors import InputError, RefusedError
from pfbench.base.names import brief_repr
from pfbench.base.protocols import (
    ASSUMPTIONS,
    Algorithm,
    AlgorithmSpec,
    Backend,
    Measure,
    Problem,
    unmet_assumptions,
)
from pfbench.base.selectors import Selector
from pfbench.base.state import Point
from pfbench.measures.catalogue import select_measures
from pfbench.points import infer_format, is_finite, keep
from pfbench.problems.moments import KINDS
from pfbench.runs.loop.run import TRACE_COLUMNS, Stop

PROBLEM_ORACLES: Mapping[str, str] = {
    "smooth": "is for problems without set and penalty",
    "set": "is for problems with a feasible set",
    "polytope": "is for problems over a polytope",
    "norm": "is for problems with a norm in place of a set",
    **{f"norm {kind}": f"is for the norm {kind}" for kind in KINDS},
}
"""Kinds of problems that an algorithm may require, with words for the message of a refusal."""


@dataclass(frozen=True, eq=False)
class ResolvedRun:
    """Run whose problem, algorithm parameters and measures are all determined.

    Attributes
    ----------
    problem
        The problem.
    algorithm
        The algorithm with fixed parameters.
    selector
        The algorithm as requested, in command-line form.
    schedule
        Origin of the parameters: "theory", "practical" or "explicit".
    measures
        Measures in the trace, by name.
    start
        The start point; None for the problem's own.
    """

    problem: Problem
    algorithm: Algorithm
    selector: str
    schedule: str
    measures: Mapping[str, Measure]
    start: Point = None

    @property
    def unmet_assumptions(self) -> tuple[str, ...]:
        """Assumptions of the algorithm's theorem that the problem is not known to meet."""
        return unmet_assumptions(getattr(self.algorithm, "assumes", ()), self.problem)

    @property
    def asks(self) -> frozenset[str]:
        """Names of the oracles and problem kinds that the algorithm requires."""
        asks = getattr(self.algorithm, "asks", self.algorithm.requires)
        if self.problem.n is None:
            asks = getattr(self.algorithm, "sampler_asks", asks)
        return frozenset(asks)

    @property
    def iteration_count(self) -> int | None:
        """Number of iterations of the schedule; None for an algorithm without `iterations`."""
        iterations: int | None = getattr(self.algorithm, "iterations", None)
        return None if iterations is None else iterations * getattr(self.algorithm, "runs", 1)

    @property
    def guarantee(self) -> tuple[Guarantee, float] | None:
        """Guarantee of the schedule's theorem, and the bound that it gives for the stated epsilon.

        The value is None unless the parameters follow from epsilon by a theorem with a guarantee.
        """
        promise = getattr(self.algorithm, "guarantee", None)
        epsilon = Selector.parse(self.selector).parameters.get("epsilon")
        if self.schedule != "theory" or not isinstance(epsilon, (int, float)):
            return None
        if not isinstance(promise, Guarantee):  # a user's class may mean something else by it
            return None
        start = self.problem.start() if self.start is None else self.start
        return promise, float(promise.bound(epsilon, self.problem.constants(start)))

    def check_termination(
        self, budget: Budget | None, stop: Stop | None, time_limit: float | None
    ) -> None:
        """Raise if neither the algorithm nor any limit would end the run.

        Raises
        ------
        InputError
            If the algorithm is endless, and there is neither budget, target nor time limit.
        """
        if budget is not None and not isinstance(budget, Budget):
            raise InputError(
                f"budget={brief_repr(budget)} has no numbers of calls: write pf.Budget(sfo=100)."
            )
        is_limited = bool(budget and budget.limits) or stop is not None or time_limit is not None
        if getattr(self.algorithm, "runs_until_stopped", False) and not is_limited:
            raise InputError(
                f"{self.algorithm.name} has no stopping rule: set iterations, a budget, a target "
                "or a time limit."
            )

    def check_requirements(self, backend: Backend) -> Backend:
        """Raise if the problem lacks something that the algorithm requires; return `backend`.

        Raises
        ------
        RefusedError
            If the problem does not meet a requirement, or its backend lacks an oracle.
        """
        algorithm, problem = self.algorithm.name, self.problem.name
        lacks = self.problem.lacks
        for verb in sorted(self.asks):
            if verb in lacks:
                needs = PROBLEM_ORACLES.get(verb, f"queries {verb}")
                raise RefusedError(
                    f"{algorithm} {needs}, but {problem} does not fit: {lacks[verb]}."
                )
            if verb not in PROBLEM_ORACLES and not hasattr(backend, verb):
                raise RefusedError(f"{algorithm} queries {verb}, which {problem} does not offer.")
        return backend


def resolve_run(
    problem: Problem,
    algorithm: AlgorithmSpec | Algorithm,
    measures: str | Sequence[str] | Mapping[str, Measure] = (),
    *,
    stop: Stop | None = None,
    start: Point = None,
    selector: str | None = None,
) -> ResolvedRun:
    """Resolve the parameters of an algorithm for a problem and a start point.

    Parameters
    ----------
    problem, algorithm, measures, start
        As in `pfbench.solve`.
    stop
        Target, whose measure is recorded in addition.
    selector
        Text that names the algorithm; by default its name with the explicit parameters.

    Raises
    ------
    InputError
        If a parameter is missing or out of range, a measure unknown, or the start outside the set.
    RefusedError
        If the theorem's schedule lacks a constant, or assumes something that the problem is not
        known to meet; explicit parameters and the practical schedule are allowed.
    """
    _check_interfaces(problem, algorithm)
    x0 = problem.start() if start is None else _copy_numeric_start(start)
    if start is not None and not problem.set.contains(x0):
        if not infer_format(problem.start()).is_point(x0):
            raise InputError(
                f"start is {brief_repr(x0)}, but a point must be {brief_repr(problem.start())}."
            )
        if not is_finite(x0):
            raise InputError("the start point has NaN or infinite entries: choose another.")
        raise InputError("the start point is outside the feasible set: project it first.")
    if isinstance(algorithm, AlgorithmSpec):
        chosen, schedule = _resolve_algorithm(problem, algorithm, x0)
        parameters = algorithm.parameters
    else:
        chosen, schedule = algorithm, "explicit"
        parameters = {
            name: parameter
            for name, parameter in get_parameters(chosen).items()
            if parameter is not None
        }
    if selector is None:
        selector = str(Selector(chosen.name, parameters))
    return ResolvedRun(
        problem,
        chosen,
        selector,
        schedule,
        _collect_recorded_measures(problem, measures, stop),
        None if start is None else x0,
    )


_OF_A_PROBLEM = ("name", "set", "start", "open", "constants")
_OF_AN_ALGORITHM = ("name", "requires", "output", "run")


def _check_interfaces(problem: Any, algorithm: Any) -> None:
    """Raise if the problem or the algorithm is a class, or lacks an attribute of its interface."""
    for kind, value, parts in (
        ("a problem", problem, _OF_A_PROBLEM),
        ("an algorithm", algorithm, _OF_AN_ALGORITHM),
    ):
        if kind == "an algorithm" and isinstance(value, AlgorithmSpec):
            continue
        lacks = [part for part in parts if not hasattr(value, part)]
        if lacks or isinstance(value, type):
            why = f"it lacks {', '.join(lacks)}" if lacks else "create an object of this class"
            raise InputError(f"{brief_repr(value)} is not {kind}: {why}.")


def _copy_numeric_start(start: Any) -> Point:
    """Return a copy of a start point; an array must be numeric and is converted to float64."""
    if not isinstance(start, np.ndarray):
        return keep(start)
    if start.dtype.kind not in "fiu":
        raise InputError(f"the start must be an array of numbers, not {brief_repr(start)}.")
    return start.astype(np.float64)


def _resolve_algorithm(problem: Problem, choice: AlgorithmSpec, x0: Point) -> tuple[Algorithm, str]:
    """Return the algorithm, resolved for a problem and a start point, and its schedule's name."""
    lacking = unmet_assumptions(choice.assumes, problem)
    if lacking and choice.schedule == "theory":
        properties = " and ".join(f"{name} ({ASSUMPTIONS[name]})" for name in lacking)
        raise RefusedError(
            f"the theorem of {choice.name} assumes {properties}, which {problem.name} is not known "
            "to satisfy: give the method's parameters explicitly instead of epsilon."
        )
    return choice.resolve(problem.constants(x0))


def _collect_recorded_measures(
    problem: Problem, measures: str | Sequence[str] | Mapping[str, Measure], stop: Stop | None
) -> dict[str, Measure]:
    """Return the measures to record, by name; the measure of the stopping target is one of them."""
    if not isinstance(measures, Mapping):
        listed = [measures] if isinstance(measures, str) else measures
        if not isinstance(listed, Sequence):
            raise InputError(
                f"measures={brief_repr(measures)} must be a name, a list of names, as in "
                "['fw_gap'], or a dict from names to functions of (problem, state)."
            )
        measures = select_measures(
            problem, [check_text("a measure", name, "fw_gap") for name in listed]
        )
    for name, measure in measures.items():
        check_text("the name of a measure", name, "distance")
        if not callable(measure):
            raise InputError(
                f"the measure {name} must be a function of (problem, state), not {brief_repr(measure)}."  # noqa: E501
            )
    recorded = dict(measures)
    if stop is not None and not isinstance(stop, Stop):
        raise InputError(
            f'stop={brief_repr(stop)} must be a target, pf.Stop("fw_gap", 0.01) or "fw_gap=0.01".'
        )
    if stop is not None and stop.measure not in recorded:
        recorded |= select_measures(problem, [stop.measure])
    for name in recorded:
        if name in TRACE_COLUMNS:
            raise InputError(f"{name!r} is a column of every trace: rename the measure.")
    return recorded
