"""Checks of a problem: its function, components, constants and feasible set."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from pfbench.base.protocols import Problem
from pfbench.checking.constant_search import SEARCHES, ConstantSearch
from pfbench.checking.findings import (
    CheckRunner,
    CheckSkipped,
    format_brief,
    locate_methods,
    require,
    skip_unless_offered,
)
from pfbench.checking.function_checks import ComponentChecks, ValueAndGradientChecks
from pfbench.checking.lines import PointSampler, check_start, norm
from pfbench.checking.penalty_checks import advantage_beyond_strong_convexity
from pfbench.checking.sampler_checks import SamplerChecks

_SECONDS = 0.25
"""Seconds for each check of the function; a search for one constant takes twice as long."""


def check_problem(problem: Problem, runner: CheckRunner) -> None:
    """Check the oracles, constants and measures of a problem against its definition."""

    def look(check: str, function: Callable[[], str], methods: str = "", of_set: str = "") -> bool:
        """Run a check whose failures are the fault of the named methods of the problem or set."""
        locations = locate_methods(problem, *methods.split())
        locations += locate_methods(problem.penalty or problem.set, *of_set.split())
        return runner.run_check(check, function, locations=locations)

    at_start = "start", "start contains"
    if not look("start", partial(check_start, problem.start, problem.set.contains), *at_start):
        return
    samplers: list[PointSampler] = []

    def members() -> str:
        samplers.append(PointSampler(problem))
        return _check_combinations_in_set(problem, samplers[0])

    if not look("members", members, "lo start", "lo contains"):
        return
    space = samplers[0]
    function = ValueAndGradientChecks(problem, space, _SECONDS)
    components = ComponentChecks(problem, space, _SECONDS)
    sampler = SamplerChecks(problem, space, _SECONDS)
    search = ConstantSearch(problem, space, 2.0 * _SECONDS)
    convexity = ConstantSearch(problem, space, _SECONDS)
    if not look("value and gradient", function.check_pure, "gradient value"):
        return
    look("gradient", function.check_gradient, "gradient value")
    if problem.n is None:
        draws = "draw sample mean_gradient batch"
        look("draws", sampler.check_draws_independent, draws)
        look("batch and difference", sampler.check_batches_pure_and_differences, draws)
        if getattr(problem, "atoms", None) is None:  # else `ConstantSearch` computes the moments
            look("moments of the draws", sampler.check_constants, "constants")
        look("mean of the draws", sampler.check_mean, "mean_gradient draw gradient")
    else:
        batches = "batch difference component"
        look("components", components.check_mean, "component batch gradient")
        look("batch and difference", components.check_batches_and_differences, batches)
        look("Sample objects", components.check_sample_equals_index_array, batches)
        look("hessian", function.check_hessian, "hessian")
        look("table", components.check_table, "table")
        look("backend", function.check_backend_matches_problem, "open")
    look("linear minimisation", function.check_linear_minimisation, "lo minimum", "lo")
    look("proximal map", lambda: _check_proximal_map(problem, space), "prox", "project prox")
    look("measures", function.check_measures_at_start)
    look("best known", function.check_best_known, "best_known value")
    look("convex", convexity.check_convexity, "properties gradient")
    if look("constants", lambda: _check_declarations(problem, search), "constants"):
        for name in search.list_stated_constants():
            compare = partial(search.compare_constant_with_search, name)
            look(f"constant {name}", compare, "constants")


def _check_combinations_in_set(problem: Problem, space: PointSampler) -> str:
    """Check that random convex combinations of the start and vertices are in the set."""
    requirement = "convex combinations of start and vertices must be in the set"
    for _ in range(20):
        x = space.random_member()
        observed = "contains is False for one of these combinations"
        require(problem.set.contains(x), requirement, observed, x=x)
    return "20 convex combinations of start and vertices are in the set"


def _check_declarations(problem: Problem, search: ConstantSearch) -> str:
    constants = search.constants
    has_n = problem.n is None or constants.n == problem.n
    require(has_n, f"constants(start).n must equal n = {problem.n}", f"{constants.n}")
    for name in SEARCHES:
        value = float(getattr(constants, name))
        require(value >= 0.0, f"{name} must be at least 0, or infinite if unknown", f"{value:g}")
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
            return (0.0 if h is None else lam * float(h.value(z))) + 0.5 * norm(z - y) ** 2

        members = [space.random_member() for _ in range(10)]
        for z in members + [p + w * (z - p) for z in members for w in (1e-1, 1e-3)]:
            short = advantage_beyond_strong_convexity(objective, p, z)
            require(
                short <= 1e-8 * max(1.0, abs(objective(p))),
                "prox(x, g, lam) must minimise lam h(z) + |z - (x - lam g)|^2/2 over the set "
                "(h: penalty)",
                f"z is better, by {format_brief(short)} more than strong convexity allows",
                **{"x": x, "g": g, "lam": lam, "z": z},
            )
    return "no other point is better than prox(x, g, lam)"
