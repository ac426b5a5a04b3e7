"""Quantities that a claim measures at a point, by name or as a function."""

import math
from collections.abc import Callable, Hashable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.checks import check_choice
from pfbench.base.counts import COUNTED
from pfbench.base.protocols import Algorithm, Problem, list_known_assumptions
from pfbench.base.state import State
from pfbench.base.status import Status
from pfbench.measures.catalogue import available_measures
from pfbench.points import keep
from pfbench.runs.loop.run import Stop
from pfbench.runs.loop.solve import solve
from pfbench.verification.statements.setting import MethodOnProblem
from pfbench.verification.subject import NotTestable
from pfbench.verification.trial import Trial

Quantity = str | Callable[[Any, Any], float]
"""Name of a measure, or function of a problem and a point."""

SUBOPTIMALITY = "suboptimality"
"""f + h minus the best known value, or else a certified minimum."""


def is_count(quantity: Quantity) -> bool:
    """Return whether a quantity is the name of an oracle kind, whose calls are counted."""
    return isinstance(quantity, str) and quantity in COUNTED


def as_function(problem: Problem, quantity: Quantity) -> Callable[[Any], float]:
    """Return a function of a point that measures a quantity; of an interval, only the upper end.

    Raises
    ------
    InputError
        If the problem has no measure of that name.
    NotTestable
        When the function is called, if the quantity is not defined at the point.
    """
    if not isinstance(quantity, str):
        function = quantity
        return lambda x: float(function(problem, x))
    if quantity == SUBOPTIMALITY:
        return _suboptimality(problem)
    existing, subject = available_measures(problem), f"the quantity measured on {problem.name}"
    measure = existing[check_choice(subject, quantity, [*existing, SUBOPTIMALITY])]

    def upper_end(x: Any) -> float:
        result = measure(problem, State(keep(x)))
        if result is None:
            raise NotTestable(f"{quantity} is not defined on {problem.name}")
        return float(result[1] if isinstance(result, tuple) else result)

    return upper_end


def count_calls_to_target(
    trial: Trial,
    case: MethodOnProblem,
    method: Algorithm,
    seed: int,
    kind: str,
    quantity: Quantity,
    target: float,
) -> float:
    """Count calls of an oracle kind until a quantity is at most `target`; inf if it never is."""
    measured = as_function(case.problem, quantity)

    def measure(_: Problem, state: State) -> float:
        return measured(state.x)

    stop, named = Stop("measured", target), {"measured": measure}
    run = trial.run(case.problem, method, seed=seed, stop=stop, measures=named)
    spent = run.counts.as_dict()[kind]
    return float(spent) if run.status == Status.TARGET else math.inf


def _suboptimality(problem: Problem) -> Callable[[Any], float]:
    objective = available_measures(problem)["objective"]

    def suboptimality(x: Any) -> float:
        best_known = problem.best_known
        lower = minimise_convex(problem) if best_known is None else best_known[0]
        value = objective(problem, State(keep(x)))
        return float(value if isinstance(value, float) else math.nan) - lower

    return suboptimality


ACCURACY = 1e-11
"""Gap at the point that `minimum_value` evaluates, relative to the gap at the start."""

_ITERATIONS = 20_000


def minimise_convex(problem: Any) -> float:
    """Minimise a convex f over the set; return a value that exceeds min f by at most a small gap.

    The gap is at most `ACCURACY` times the gap at the start. A convex f is nowhere below f(x) - max
    over u in C of <grad f(x), x - u>. So the value at a point exceeds the minimum by at most the
    gap. Projected gradient descent runs until the gap is small enough. If it does not succeed,
    blended pairwise Frank-Wolfe runs.

    Raises
    ------
    NotTestable
        If f is not known to be convex over a bounded set of arrays, or the gap stays too large.
    """
    return _least_value(problem) if isinstance(problem, Hashable) else _minimise(problem)


def _minimise(problem: Any) -> float:
    is_known = {"convex", "bounded domain"} <= list_known_assumptions(problem)
    if not is_known or problem.penalty is not None or not isinstance(problem.start(), np.ndarray):
        raise NotTestable(f"the minimum of {problem.name} is not known")
    target = ACCURACY * _gap(problem, problem.start())
    best = problem.start()
    for algorithm in _minimising_methods(problem):
        stop = Stop("fw_gap", target)
        run = solve(problem, algorithm, stop=stop, measures="fw_gap", every=20)
        has_ended = run.status in (Status.TARGET, Status.FINISHED)
        if has_ended and _gap(problem, run.x) < _gap(problem, best):
            best = run.x
        if _gap(problem, best) <= target:
            return float(problem.value(best))
    raise NotTestable(
        f"the minimum of {problem.name} is not known: the least Frank-Wolfe gap found, "
        f"{_gap(problem, best):.2g}, exceeds the required {target:.2g}"
    )


_least_value = lru_cache(maxsize=8)(_minimise)


def _gap(problem: Any, x: Any) -> float:
    """Return the upper end of the Frank-Wolfe gap at x, or 0 if rounding makes it negative."""
    g = problem.gradient(x)
    return max(0.0, float(np.vdot(g, x)) - float(problem.set.minimum(g)[0]))


def _minimising_methods(problem: Any) -> Iterator[Any]:
    """Yield methods that may find the minimum of the problem, the preferred one first."""
    smoothness = problem.constants(problem.start()).L_f
    gradients: Any = ALGORITHMS["prox-gd"]
    pairwise: Any = ALGORITHMS["bpfw"]
    if smoothness > 0.0:
        yield gradients(iterations=_ITERATIONS, step=1.0 / smoothness)
    yield pairwise(iterations=_ITERATIONS)
