"""Checks of a problem: its function, components, constants and feasible set."""

import math
from collections.abc import Callable
from typing import Any

from pfbench.base.protocols import Problem
from pfbench.checking.components import ComponentChecks
from pfbench.checking.constant_search import SEARCHES, ConstantSearch, check_convexity
from pfbench.checking.findings import (
    CheckFailed,
    CheckRunner,
    CheckSkipped,
    format_brief,
    locate_methods,
    skip_unless_offered,
)
from pfbench.checking.function_checks import FunctionChecks
from pfbench.checking.lines import PointSampler
from pfbench.checking.sampler_checks import SamplerChecks

_SECONDS = 0.25
"""Seconds for each check of the function; a search for one constant takes twice as long."""


def check_problem(problem: Problem, runner: CheckRunner) -> None:
    """Check the oracles, constants and measures of a problem against its definition."""
    look = runner.run_check
    if not look("start", lambda: FunctionChecks(problem, None, 0.0).check_start()):  # type: ignore[arg-type]
        return
    samplers: list[PointSampler] = []

    def members() -> str:
        samplers.append(PointSampler(problem))
        return _check_members(problem, samplers[0])

    if not look("members", members, locations=locate_methods(problem.set, "lo", "contains")):
        return
    space = samplers[0]
    function = FunctionChecks(problem, space, _SECONDS)
    components = ComponentChecks(problem, space, _SECONDS)
    if not look(
        "value and gradient",
        function.check_pure,
        locations=locate_methods(problem, "gradient", "value"),
    ):
        return
    sampler = SamplerChecks(problem, space, _SECONDS)
    of_components: tuple[tuple[str, Callable[[], str]], ...] = (
        ("components", components.check_mean),
        ("batch and difference", components.check_batches_and_differences),
        ("Sample objects", components.check_samples_match_indices),
        ("hessian", function.check_hessian),
        ("table", components.check_table),
        ("backend", function.check_backend_matches_problem),
    )
    of_sampler: tuple[tuple[str, Callable[[], str]], ...] = (
        ("draws", sampler.check_draws),
        ("batch and difference", sampler.check_batches_and_differences),
        ("moments of the draws", sampler.check_constants),
        ("mean of the draws", sampler.check_mean),
    )
    for check, point in (
        ("gradient", function.check_gradient),
        *(of_sampler if problem.n is None else of_components),
        ("linear minimisation", function.check_linear_minimisation),
        ("proximal map", lambda: _check_proximal_map(problem, space)),
        ("measures", function.check_measures_at_start),
        ("best known", function.check_best_known),
        ("convex", lambda: check_convexity(problem, space, _SECONDS)),
    ):
        look(check, point)
    search = ConstantSearch(problem, space, 2.0 * _SECONDS)
    if not look(
        "constants",
        lambda: _check_declarations(problem, search),
        locations=locate_methods(problem, "constants"),
    ):
        return
    for name in search.list_stated_constants():
        look(f"constant {name}", search.find_counterexample, name)


def _check_members(problem: Problem, space: PointSampler) -> str:
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
    stated = [name for name in SEARCHES if math.isfinite(getattr(constants, name))]
    silent = [name for name in stated if not constants.derivations.get(name)]
    words = f"; no derivation is stated for {', '.join(silent)}" if silent else ""
    words += "; not tested: L2_ms" if problem.n is None and "L2_ms" in stated else ""
    return f"{', '.join(stated) or 'none'} stated{words}"


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


_POINTS = 6
"""Number of points (or pairs of points) at which moments of a finite distribution are summed."""

_GROUP = 50
"""Number of draws in each group of a median of means, if the distribution is not finite."""

_FALSE_ALARM = 1e-7
"""Maximum probability with which a correct sampler fails the test of its mean."""


class SamplerChecks(ProblemChecks):
    """Checks of a problem's random draws xi and of the gradients grad f(x, xi)."""

    def check_draws(self) -> str:
        """Check that samples drawn with equal seeds give the same batch gradient."""
        x, points = self.space.random_member(), locate_methods(self.problem, "draw", "sample")
        first, second = (self._batch_gradient(seed, x) for seed in (3, 3))
        if not np.array_equal(first, second):
            raise CheckFailed(
                "equal seeds must give equal batch gradients", "two differ", {"x": x}, points
            )
        return "equal seeds give equal draws"

    def _batch_gradient(self, seed: int, x: Any) -> Floats:
        S = self.problem.sample(np.random.default_rng(seed), 8)
        return np.asarray(self.problem.batch(S, keep(x)))

    def check_batches_and_differences(self) -> str:
        """Check that batch(S, x) depends on S and x alone.

        Also check that difference(S, x, y) = batch(S, x) - batch(S, y).
        """
        problem, rng = self.problem, np.random.default_rng(5)
        points = locate_methods(problem, "batch", "mean_gradient", "difference")
        for size in (1, 7):
            x, y = self.space.random_member(), self.space.random_member()
            S = problem.sample(rng, size)
            before = np.array(problem.batch(S, keep(x)))
            at_y = np.array(problem.batch(S, keep(y)))
            problem.batch(problem.sample(rng, 3), keep(y))
            if not np.array_equal(before, problem.batch(S, keep(x))):
                raise CheckFailed(
                    "batch(S, x) must depend on S and x alone",
                    "two calls with the same arguments differ",
                    {"x": x},
                    points,
                )
            values = {"x": x, "y": y}
            change = problem.difference(S, keep(x), keep(y))
            check_equal(
                "difference(S, x, y) must be batch(S, x) - batch(S, y)",
                np.asarray(change),
                before - at_y,
                values,
                points,
            )
        return "samples of 1 and 7 draws, each used several times"

    def check_mean(self) -> str:
        """Check that the mean of the sampled gradients grad f(x, xi) is the gradient of f at x."""
        problem = self.problem
        points = locate_methods(problem, "mean_gradient", "draw", "gradient")
        if problem.atoms is not None:
            for _ in range(_POINTS):
                x = self.space.random_member()
                total = np.tensordot(
                    problem.atoms.probabilities, self._compute_gradients_by_atom(x), axes=1
                )
                expected = problem.gradient(keep(x))
                check_equal("the mean must be the gradient", total, expected, {"x": x}, points)
            return f"the mean over all {len(problem.atoms.probabilities)} values is the gradient"
        sigma2 = problem.constants(problem.start()).sigma2
        if not math.isfinite(sigma2):
            raise CheckSkipped("the problem states neither `atoms` nor a variance bound `sigma2`")
        x, rng = self.space.start(), np.random.default_rng(11)
        expected = np.asarray(problem.gradient(keep(x)))
        groups = math.ceil(8.0 * math.log(expected.size / _FALSE_ALARM))
        means = [problem.batch(problem.sample(rng, _GROUP), keep(x)) for _ in range(groups)]
        deviations = np.abs(np.median(means, axis=0) - expected)
        # A group's mean is off by twice its standard deviation with probability 1/4 at most.
        allowed = 2.0 * math.sqrt(sigma2 / _GROUP) + 1e-9 * norm(expected)
        if deviations.max() > allowed:
            raise CheckFailed(
                "the median of means of sampled gradients must differ from gradient(x) by at most "
                f"{format_brief(allowed)} in each entry",
                f"an entry is off by {format_brief(float(deviations.max()))}",
                {"x": x},
                points,
            )
        return f"within {format_brief(allowed)} an entry, by {groups * _GROUP} draws"

    def check_constants_by_exact_sums(self) -> str:
        """Check the constants sigma2, L_ms and L_max by exact sums over a finite distribution."""
        problem = self.problem
        if problem.atoms is None:
            raise CheckSkipped("the problem states no atoms")
        constants, p = problem.constants(problem.start()), problem.atoms.probabilities
        largest = {"sigma2": 0.0, "L_ms": 0.0, "L_max": 0.0}
        arguments: dict[str, Any] = {}
        for _ in range(_POINTS):
            x, y = self.space.random_member(), self.space.random_member()
            at_x = self._compute_gradients_by_atom(x)
            change = at_x - self._compute_gradients_by_atom(y)
            sizes = (change**2).reshape(len(p), -1).sum(axis=1)
            errors = ((at_x - problem.gradient(keep(x))) ** 2).reshape(len(p), -1).sum(axis=1)
            far = distance(x, y)
            values = {
                "sigma2": float(p @ errors),
                "L_ms": math.sqrt(float(p @ sizes)) / far if far else 0.0,
                "L_max": math.sqrt(float(sizes.max())) / far if far else 0.0,
            }
            for name, value in values.items():
                if value > largest[name]:
                    largest[name], arguments[name] = value, {"x": x, "y": y}
        for name, value in largest.items():
            limit = float(getattr(constants, name))
            if value > limit * (1.0 + 1e-7) + 1e-12:
                derivation = constants.derivations.get(name, "")
                raise CheckFailed(
                    f"{name} must be at most {format_brief(limit)} ({derivation})",
                    format_brief(value),
                    arguments[name],
                    locate_methods(problem, "constants"),
                )
        return ", ".join(
            f"{name} {format_brief(value)} of {format_brief(float(getattr(constants, name)))}"
            for name, value in largest.items()
        )

    def _compute_gradients_by_atom(self, x: Any) -> Floats:
        """Return grad f(x, xi) for each of the K possible values of xi, shape (K, *shape)."""
        values = self.problem.atoms.values
        singles = (Draws(values[k : k + 1], 1) for k in range(len(values)))
        return np.array([self.problem.batch(S, keep(x)) for S in singles])
