"""Minimum of a convex problem over a set, certified by the Frank-Wolfe gap."""

from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from pfbench.algorithms.catalogue import ALGORITHMS
from pfbench.base.assumptions import list_known_assumptions
from pfbench.base.status import Status
from pfbench.runs.loop.solve import solve
from pfbench.runs.loop.stop import Stop
from pfbench.verification.subject import NotTestable

ACCURACY = 1e-11
"""Gap at the returned value, relative to the gap at the start."""

_ITERATIONS = 20_000


def minimum_value(problem: Any) -> float:
    """Return an upper bound of min f over the set, which is exact up to `ACCURACY`.

    A convex f is nowhere below f(x) - max over u in C of <grad f(x), x - u>. So the value at a
    point exceeds the minimum by at most the gap. Projected gradients run until the gap is small,
    then pairwise Frank-Wolfe if that is not enough.

    Raises
    ------
    NotTestable
        If f is not known to be convex over a bounded set of arrays, or the gap stays too large.
    """
    return _least_value(problem) if isinstance(problem, Hashable) else _minimise(problem)


def _minimise(problem: Any) -> float:
    unknown = f"the minimum of {problem.name} is not known"
    is_known = {"convex", "bounded domain"} <= list_known_assumptions(problem)
    if not is_known or problem.penalty is not None or not isinstance(problem.start(), np.ndarray):
        raise NotTestable(unknown)
    target = ACCURACY * _gap(problem, problem.start())
    best = problem.start()
    for algorithm in _methods(problem):
        stop = Stop("fw_gap", target)
        run = solve(problem, algorithm, stop=stop, measures="fw_gap", every=20)
        if run.status in (Status.TARGET, Status.FINISHED) and _gap(problem, run.x) < _gap(
            problem, best
        ):
            best = run.x
        if _gap(problem, best) <= target:
            return float(problem.value(best))
    raise NotTestable(f"{unknown}: it is certified only to within {_gap(problem, best):.2g}")


_least_value = lru_cache(maxsize=8)(_minimise)


def _gap(problem: Any, x: Any) -> float:
    """Return the Frank-Wolfe gap at x, at least 0."""
    g = problem.gradient(x)
    return max(0.0, float(np.vdot(g, x)) - float(problem.set.minimum(g)[1]))


def _methods(problem: Any) -> Iterator[Any]:
    """Yield the methods to try, with their parameters."""
    smoothness = problem.constants(problem.start()).L_f
    gradients: Any = ALGORITHMS["prox-gd"]
    pairwise: Any = ALGORITHMS["bpfw"]
    if smoothness > 0.0:
        yield gradients(iterations=_ITERATIONS, step=1.0 / smoothness)
    yield pairwise(iterations=_ITERATIONS)
