"""Checks of a problem: its function, components, constants and feasible set."""

import math
from collections.abc import Callable
from typing import Any

from pfbench.base.protocols import Problem
from pfbench.checking.components import ComponentChecks
from pfbench.checking.constant_search import SEARCHES, ConstantSearch
from pfbench.checking.findings import (
    CheckFailed,
    CheckRunner,
    CheckSkipped,
    format_brief,
    locate_methods,
    skip_unless_offered,
)
from pfbench.checking.function_checks import ValueAndGradientChecks
from pfbench.checking.lines import PointSampler
from pfbench.checking.sampler_checks import SamplerChecks

_SECONDS = 0.25
"""Seconds for each check of the function; a search for one constant takes twice as long."""


def check_problem(problem: Problem, runner: CheckRunner) -> None:
    """Check the oracles, constants and measures of a problem against its definition."""
    look = runner.run_check
    if not look("start", lambda: ValueAndGradientChecks(problem, None, 0.0).check_start()):  # type: ignore[arg-type]
        return
    samplers: list[PointSampler] = []

    def members() -> str:
        samplers.append(PointSampler(problem))
        return _check_combinations_in_set(problem, samplers[0])

    if not look("members", members, locations=locate_methods(problem.set, "lo", "contains")):
        return
    space = samplers[0]
    function = ValueAndGradientChecks(problem, space, _SECONDS)
    components = ComponentChecks(problem, space, _SECONDS)
    points = locate_methods(problem, "gradient", "value")
    if not look("value and gradient", function.check_pure, locations=points):
        return
    sampler = SamplerChecks(problem, space, _SECONDS)
    of_components: tuple[tuple[str, Callable[[], str]], ...] = (
        ("components", components.check_mean),
        ("batch and difference", components.check_batches_and_differences),
        ("Sample objects", components.check_sample_equals_index_array),
        ("hessian", function.check_hessian),
        ("table", components.check_table),
        ("backend", function.check_backend_matches_problem),
    )
    # Of finitely many values, `ConstantSearch` computes the moments.
    moments = (("moments of the draws", sampler.check_constants),)
    of_sampler: tuple[tuple[str, Callable[[], str]], ...] = (
        ("draws", sampler.check_draws_independent),
        ("batch and difference", sampler.check_batches_pure_and_differences),
        *(moments if getattr(problem, "atoms", None) is None else ()),
        ("mean of the draws", sampler.check_mean),
    )
    for check, point in (
        ("gradient", function.check_gradient),
        *(of_sampler if problem.n is None else of_components),
        ("linear minimisation", function.check_linear_minimisation),
        ("proximal map", lambda: _check_proximal_map(problem, space)),
        ("measures", function.check_measures_at_start),
        ("best known", function.check_best_known),
        ("convex", ConstantSearch(problem, space, _SECONDS).check_convexity),
    ):
        look(check, point)
    search = ConstantSearch(problem, space, 2.0 * _SECONDS)
    points = locate_methods(problem, "constants")
    if not look("constants", _check_declarations, problem, search, locations=points):
        return
    for name in search.list_stated_constants():
        look(f"constant {name}", search.compare_constant_with_search, name)


def _check_combinations_in_set(problem: Problem, space: PointSampler) -> str:
    """Check that random convex combinations of the start and vertices are in the set."""
    for _ in range(20):
        x = space.random_member()
        if not problem.set.contains(x):
            raise CheckFailed(
                "convex combinations of start and vertices must be in the set",
                "contains is False for one of these combinations",
                {"x": x},
                locate_methods(problem, "lo", "start")
                + locate_methods(problem.set, "lo", "contains"),
            )
    return "20 convex combinations of start and vertices are in the set"


def _check_declarations(problem: Problem, search: ConstantSearch) -> str:
    constants = search.constants
    if problem.n is not None and constants.n != problem.n:
        raise CheckFailed(
            f"constants(start).n must equal n = {problem.n}",
            f"{constants.n}",
            {},
            locate_methods(problem, "constants"),
        )
    for name in SEARCHES:
        value = float(getattr(constants, name))
        if math.isnan(value) or value < 0.0:
            points = locate_methods(problem, "constants")
            raise CheckFailed(
                f"{name} must be at least 0, or infinite if unknown", f"{value:g}", {}, points
            )
    names = [name for name in SEARCHES if math.isfinite(getattr(constants, name))]
    silent = [name for name in names if not constants.derivations.get(name)]
    words = f"; no derivation is stated for {', '.join(silent)}" if silent else ""
    words += "; not tested: L2_ms" if problem.n is None and "L2_ms" in names else ""
    return f"{', '.join(names) or 'none'} stated{words}"


def _check_proximal_map(problem: Any, space: PointSampler) -> str:
    """Check that prox(x, g, lam) is the proximal point (or projection) of x - lam g."""
    skip_unless_offered(problem, "prox")
    if problem.unconstrained:
        raise CheckSkipped("the problem has neither a set nor a penalty")
    if not space.dense:
        raise CheckSkipped("the problem's points are not arrays")
    h = problem.penalty
    for lam in (0.01, 1.0, 1.0):
        x, g = space.random_member(), space.random_gradient()
        y = x - lam * g
        p = problem.prox(x, g, lam)

        def objective(z: Any, y: Any = y, lam: float = lam) -> float:
            part = 0.0 if h is None else lam * float(h.value(z))
            return part + 0.5 * float(((z - y) ** 2).sum())

        lower = objective(p)
        members = [space.random_member() for _ in range(10)]
        members += [p + w * (z - p) for z in list(members) for w in (1e-1, 1e-3)]
        for z in members:
            # Strong convexity: every other point is worse by half its squared distance.
            short = lower + 0.5 * float(((z - p) ** 2).sum()) - objective(z)
            if not short <= 1e-8 * max(1.0, abs(lower)):
                raise CheckFailed(
                    "prox(x, g, lam) must minimise lam h(z) + |z - (x - lam g)|^2/2 over the set "
                    "(h: penalty)",
                    f"z is better, by {format_brief(short)} more than strong convexity allows",
                    {"x": x, "g": g, "lam": lam, "z": z},
                    locate_methods(problem, "prox")
                    + locate_methods(problem.set if h is None else h, "project", "prox"),
                )
    return "no other point is better than prox(x, g, lam)"
