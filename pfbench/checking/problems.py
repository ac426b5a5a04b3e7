"""The checks of a problem: its function, its components, what it states, and its set."""

import math
from typing import Any

from pfbench.base.protocols import Problem
from pfbench.checking.components import Components
from pfbench.checking.constants import SEARCHES, Search, convex
from pfbench.checking.findings import Examination, Skipped, Wrong, check_has, in_brief, places
from pfbench.checking.functions import Function
from pfbench.checking.lines import Space

_SECONDS = 0.25
"""Patience for each check of the function, and for each constant."""


def check_problem(problem: Problem, examination: Examination) -> None:
    """Look at all that a problem says of itself."""
    look = examination.look
    if not look("start", lambda: Function(problem, None, 0.0).start()):  # type: ignore[arg-type]
        return
    made: list[Space] = []

    def members() -> str:
        made.append(Space(problem))
        return _members(problem, made[0])

    if not look("members", members, where=places(problem.set, "lo", "contains")):
        return
    space = made[0]
    function = Function(problem, space, _SECONDS)
    components = Components(problem, space, _SECONDS)
    if not look("value and gradient", function.pure, where=places(problem, "gradient", "value")):
        return
    for check, at in (
        ("gradient", function.gradient),
        ("components", components.mean),
        ("batch and difference", components.samples),
        ("samples by counts", components.samples_by_counts),
        ("hessian", function.hessian),
        ("table", components.table),
        ("backend", function.backend),
        ("linear minimisation", function.linear_minimisation),
        ("proximal map", lambda: _proximal(problem, space)),
        ("measures", function.measures),
        ("best known", function.best_known),
        ("convex", lambda: convex(problem, space, _SECONDS)),
    ):
        look(check, at)
    search = Search(problem, space, 2.0 * _SECONDS)
    if not look(
        "constants", lambda: _declared(problem, search), where=places(problem, "constants")
    ):
        return
    for name in search.stated():
        look(f"constant {name}", search.counter_example, name)


def _members(problem: Problem, space: Space) -> str:
    """Mixtures of the start and vertices are in the set."""
    for _ in range(20):
        x = space.member()
        if not problem.set.contains(x):
            raise Wrong(
                "mixtures of the start and of vertices that lo returned to be in the set",
                "one is outside",
                {"x": x},
                places(problem, "lo", "start") + places(problem.set, "lo", "contains"),
            )
    return "20 mixtures of the start and vertices are in the set"


def _declared(problem: Problem, search: Search) -> str:
    stated = search.constants
    if stated.n != problem.n:
        raise Wrong(
            f"constants(start).n = n = {problem.n}", f"{stated.n}", {}, places(problem, "constants")
        )
    for name in SEARCHES:
        value = float(getattr(stated, name))
        if math.isnan(value) or value < 0.0:
            where = places(problem, "constants")
            raise Wrong(f"{name} at least 0, or infinite if unknown", f"{value:g}", {}, where)
    silent = [name for name in search.stated() if not stated.derivations.get(name)]
    words = f"; {', '.join(silent)} without a derivation" if silent else ""
    return f"{', '.join(search.stated()) or 'none'} stated{words}"


def _proximal(problem: Any, space: Space) -> str:
    """Check: the proximal map of x - lam g is the nearest member, or minimises with the penalty."""
    check_has(problem, "prox")
    if problem.unconstrained:
        raise Skipped("there is neither a set nor a penalty")
    if not space.dense:
        raise Skipped("its points are no arrays")
    h = problem.penalty
    for lam in (0.01, 1.0, 1.0):
        x, g = space.member(), space.direction()
        y = x - lam * g
        p = problem.prox(x, g, lam)

        def objective(z: Any, y: Any = y, lam: float = lam) -> float:
            part = 0.0 if h is None else lam * float(h.value(z))
            return part + 0.5 * float(((z - y) ** 2).sum())

        least = objective(p)
        others = [space.member() for _ in range(10)]
        others += [p + w * (z - p) for z in list(others) for w in (1e-1, 1e-3)]
        for z in others:
            # Strong convexity: every other point is worse by half its squared distance.
            short = least + 0.5 * float(((z - p) ** 2).sum()) - objective(z)
            if not short <= 1e-8 * max(1.0, abs(least)):
                raise Wrong(
                    "prox(x, g, lam) to minimise lam h(z) + |z - (x - lam g)|^2/2 over the set",
                    f"z is better by {in_brief(short)} than it may be",
                    {"x": x, "g": g, "lam": lam, "z": z},
                    places(problem, "prox")
                    + places(problem.set if h is None else h, "project", "prox"),
                )
    return "no other point is better"
