"""What the statements of lacoste2016 share: a run step by step, the gap, the curvature."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pfbench.base.protocols import Problem
from pfbench.verification.instruments.indefinite import Hull, Indefinite, curvature
from pfbench.verification.subject import Broken
from pfbench.verification.trial import Step, Trial


def curvature_of(problem: Indefinite) -> float:
    """Return a C >= C_f, positive also where f is concave."""
    hull = problem.set
    if not isinstance(hull, Hull):
        raise TypeError("the curvature is known over the hull of points only")
    return max(curvature(hull.vertices, problem.A), 1e-3)


def gap_at(problem: Problem, x: Any) -> float:
    """Return the Frank-Wolfe gap at x."""
    g = problem.gradient(x)
    return float(g @ x) - problem.minimum(g)[0]


def follow(trial: Trial, problem: Problem, **parameters: Any) -> Iterator[tuple[Any, Any, Step]]:
    """Run the algorithm; yield x_t, x_{t+1} and the step between them.

    Raises
    ------
    Broken
        If it leaves the set.
    """
    x = problem.start()
    for t, step in enumerate(trial.follow(problem, trial.make(**parameters)), 1):
        y = np.array(step.state.x)
        if not np.isfinite(y).all() or not problem.set.contains(y, 1e-9):
            raise Broken(f"x_{t} is outside the feasible set")
        yield x, y, step
        x = y
