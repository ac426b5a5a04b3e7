"""Checks of a problem's value, gradient and Hessian against numerical derivatives."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np

from pfbench.base.protocols import Gradient
from pfbench.base.state import Point, State
from pfbench.checking.components import check_equal
from pfbench.checking.findings import (
    CheckFailed,
    CheckSkipped,
    TimeLimit,
    format_brief,
    locate_methods,
    require,
    skip_unless_offered,
)
from pfbench.checking.lines import (
    LineSegment,
    ProblemChecks,
    as_dense_array,
    derivative,
    is_derivative_wrong,
    norm,
    restrict_to_line,
    value_as_float,
)
from pfbench.checking.traced_runs import point_entries
from pfbench.points import infer_format, inner, keep

_RELATIVE = 1e-7
"""Relative deviation allowed for a derivative, in addition to the error of finite differences."""

Derivative = Callable[[Point], Gradient]


def check_start(problem: Any) -> str:
    """Check that `start` returns a point of the feasible set, as a new copy in each call."""
    x, start = problem.start(), problem.start()
    require(problem.set.contains(x), "the start must be in the set", "it is outside", start=x)
    if not isinstance(x, np.ndarray):
        return "in the set"
    copy = x.copy()
    require(np.array_equal(x, start), "all starts must be equal", "two starts differ", start=x)
    x += 1.0
    require(
        np.array_equal(problem.start(), copy),
        "each call of start must return a new copy of the start point",
        "a change of one start changes the next: return a copy",
        start=copy,
    )
    return "in the set, a fresh copy each time"


class ValueAndGradientChecks(ProblemChecks):
    """Checks of the value, gradient, Hessian and further attributes of a problem."""

    def check_pure(self) -> str:
        """Check that `value` and `gradient` depend on x alone, and do not change x in place.

        Also check that `gradient` returns a new array in each call.
        """
        problem, space = self.problem, self.space
        x, y = space.random_member(), space.random_member()
        before = point_entries(x).copy()
        g = problem.gradient(x)
        is_changed_by_gradient = not np.array_equal(before, point_entries(x))
        value = value_as_float(problem, x)
        verb = "gradient" if is_changed_by_gradient else "value"
        is_same = np.array_equal(before, point_entries(x))
        observed = f"{verb} changes x in place"
        require(is_same, f"{verb}(x) must not change x", observed, x=space.start())
        form = infer_format(problem.start(), problem.name)
        if not form.is_gradient(g):
            needed = f"gradient(x) must be {form.gradients_text}"
            raise CheckFailed(needed, form.describe(g), {"x": x})
        require(math.isfinite(value), "value(x) must be finite", f"{value}", x=x)
        retained = np.array(g)
        other = problem.gradient(y)
        require(
            np.array_equal(retained, g) and not np.shares_memory(other, g),
            "each call of gradient must return a new array",
            "the next call overwrites the gradient returned before",
            x=x,
        )
        changes = {
            "value": abs(value_as_float(problem, x) - value),
            "gradient": norm(problem.gradient(x) - retained),
        }
        for verb, change in changes.items():
            size = format_brief(change)
            observed = f"the result differs after a call at another point, by {size}"
            requirement = f"{verb}(x) must return the same result in each call"
            require(change == 0.0, requirement, observed, **{"x": x, "the other point": y})
        return "finite, repeatable, and nothing is changed in place"

    # --- derivatives ------------------------------------------------------------------------------

    def check_gradient(self) -> str:
        """Check the gradient against numerical directional derivatives at random points."""
        visited = list[tuple[float, float]]()
        wrong: tuple[LineSegment, float, float] | None = None
        for k in TimeLimit(self.seconds_per_check).rounds(16):
            x = self.space.start() if k == 0 else self.space.random_member()
            line = self.space.random_line_anywhere(x)
            value = value_as_float(self.problem, keep(x))
            require(not math.isnan(value), "f must be finite", "nan", x=x)
            slope, expected, error = self._slopes(line)
            if not math.isfinite(expected) or error > 0.1 * max(abs(expected), abs(slope), 1e-300):
                continue
            visited.append((slope, expected))
            allowed = 20.0 * error + _RELATIVE * max(abs(slope), abs(expected))
            allowed += 1e-11 * abs(value)
            path = restrict_to_line(partial(value_as_float, self.problem), line)
            if wrong is None and is_derivative_wrong(slope, expected, allowed, path):
                wrong = line, slope, expected
        if wrong is not None:
            self._fail_gradient(wrong, visited)
        if not visited:
            raise CheckSkipped("value(x) is not smooth enough for an accurate numerical derivative")
        return f"{len(visited)} directional derivatives, by differences"

    def _slopes(self, line: LineSegment) -> tuple[float, float, float]:
        """Return the slope of f along a line from the gradient and from values, with its error.

        The slope by the gradient is <gradient, u> for the direction u of the line. If a value is
        not finite, the line is replaced by one inside the set.
        """
        value, g = partial(value_as_float, self.problem), self.problem.gradient(keep(line.x))
        result, error = derivative(restrict_to_line(value, line))
        if not math.isfinite(float(result)):
            line = self.space.random_line_inside_set(line.x)
            result, error = derivative(restrict_to_line(value, line))
        return line.directional_derivative(g), float(result), error

    def _fail_gradient(
        self, wrong: tuple[LineSegment, float, float], visited: list[tuple[float, float]]
    ) -> NoReturn:
        line, slope, expected = wrong
        text = f"{format_brief(slope)}, off by {format_brief(slope - expected)}"
        ratios = np.array([a / b for a, b in visited if b != 0.0])
        if len(ratios) > 1 and np.ptp(ratios) <= 1e-4 * abs(ratios).max():
            text += f"; everywhere it is {format_brief(float(ratios.mean()))} times the derivative"
        u, ends = "y - x", {"x": line.x, "y": line.y}
        if self.space.dense:
            u, ends = "u", {"x": line.x, "u": line.y - line.x}
        needed = f"{format_brief(expected)}, the derivative of value at x along {u}"
        raise CheckFailed(f"<gradient(x), {u}> must be {needed}", text, ends)

    def check_hessian(self) -> str:
        """Check Hessian-vector products against finite differences of gradients.

        Also check that batch products are means of component products.
        """
        problem, space, n = self.problem, self.space, self.problem.n
        skip_unless_offered(problem, "hessian")
        looked = 0
        # Where a gradient is next to nothing, it may be rounded to less than its digits.
        usual = max(norm(problem.gradient(x)) for x in (space.start(), space.random_member()))
        for _ in TimeLimit(self.seconds_per_check).rounds(8):
            s = space.random_member()
            line, H = space.random_line_anywhere(s), problem.hessian(keep(s))
            i = int(space.rng.integers(n))
            pairs: list[tuple[str, Any, Derivative]] = [
                ("product(y, s)", H.product(line.y, keep(s)), problem.gradient)
            ]
            if "batch" not in problem.lacks:
                item = np.array([i])
                batch = H.batch(item, line.y, keep(s))
                pairs.append((f"batch([{i}], y, s)", batch, partial(problem.batch, item)))
            for call, product, source in pairs:
                path = restrict_to_line(source, line)
                expected, error = derivative(path)
                rounding = 1e-11 * max(norm(source(keep(s))), usual)
                allowed = 20.0 * error + 1e-6 * max(norm(product), norm(expected)) + rounding
                if is_derivative_wrong(product, expected, allowed, path):
                    size, deviation = norm(product), norm(product - expected)
                    raise CheckFailed(
                        f"{call} of hessian(s) must be the derivative of the gradient at s along y "
                        f"- s, whose norm is {format_brief(norm(expected))}",
                        f"an array of norm {format_brief(size)}, off by {format_brief(deviation)}",
                        {"s": s, "y": line.y},
                    )
            looked += 1
            if "batch" in problem.lacks:
                continue
            S = space.rng.integers(n, size=5)
            mean = np.mean([H.batch(np.array([j]), line.y, keep(s)) for j in S.tolist()], axis=0)
            needed = "hessian(s).batch(S, y, s) must be the mean over S"
            check_equal(needed, H.batch(S, line.y, keep(s)), mean, {"s": s, "S": S})
        return f"products at {looked} points, against differences of gradients"

    # --- what else a problem says -----------------------------------------------------------------

    def check_backend_matches_problem(self) -> str:
        """Check that the backend from `open` gives the same answers as the problem itself."""
        problem, space = self.problem, self.space
        backend = problem.open(np.random.default_rng(0))
        if backend is problem:
            return "the problem is its own backend"
        x = space.random_member()
        y = space.sample_near(x)
        S = space.rng.integers(problem.n, size=3)
        calls: dict[str, tuple[Any, ...]] = {
            "value": (x,),
            "gradient": (x,),
            "batch": (S, x),
            "difference": (S, x, y),
        }
        verbs = []
        for verb, call in calls.items():
            if verb in problem.lacks or not hasattr(backend, verb):
                continue
            copies = [keep(item) if item is x or item is y else item for item in call]
            result, right = getattr(backend, verb)(*copies), getattr(problem, verb)(*copies)
            statement = f"{verb} of open(rng) must answer like the problem"
            check_equal(statement, np.asarray(result), np.asarray(right), {"x": x})
            verbs.append(verb)
        return f"it answers like the problem: {', '.join(verbs)}"

    def check_linear_minimisation(self) -> str:
        """Check that <g, lo(g)> lies between the bounds of `minimum(g)`, up to a tolerance."""
        problem, space = self.problem, self.space
        skip_unless_offered(problem, "lo")
        norm_set = None if problem.is_bounded else problem.norm
        if norm_set is not None and norm_set.matrix_products_per_lmo:
            raise CheckSkipped(
                "lo is approximate for this norm: the measure lmo_lower shows how accurate lo is"
            )
        backend = problem.open(np.random.default_rng(0))
        tolerance = 1e-9 if backend is problem else 1e-2
        for _ in TimeLimit(self.seconds_per_check).rounds(8):
            g = space.random_gradient()
            v = backend.lo(g)
            lower, upper = problem.minimum(g)
            reached = float(np.vdot(g, as_dense_array(v))) if space.dense else inner(g, v)
            allowed = tolerance * max(abs(lower), abs(upper)) + 1e-12 * norm(g) * space.scale
            is_inside = not (reached > upper + allowed or reached < lower - allowed)
            needed = f"<g, lo(g)> must be {format_brief(upper)}, which minimum(g) returns"
            require(is_inside, needed, format_brief(reached), g=g)
        return "lo and minimum agree"

    def check_best_known(self) -> str:
        """Check that the objective is at least `best_known` at random points of the set."""
        best_known = self.problem.best_known
        if best_known is None:
            raise CheckSkipped("the problem states no best_known")
        best, h = best_known[0], self.problem.penalty
        for k in TimeLimit(self.seconds_per_check).rounds(100):
            x = self.space.start() if k == 0 else self.space.random_member()
            value = value_as_float(self.problem, keep(x)) + (0.0 if h is None else h.value(x))
            is_above = not value < best - 1e-9 * max(1.0, abs(best))
            needed = f"the objective must be at least best_known = {format_brief(best)}"
            require(is_above, needed, format_brief(value), x=x)
        return f"no value is below {format_brief(best)}"

    def check_measures_at_start(self) -> str:
        """Check that each measure of the problem is finite or None at the start point."""
        problem = self.problem
        measures = problem.measures()
        for name, measure in measures.items():
            reported = measure(problem, State(problem.start()))
            parts = reported if isinstance(reported, tuple) else (reported,)
            if not all(part is None or np.isfinite(float(part)) for part in parts):
                raise CheckFailed(
                    f"the measure {name} must be a number, an interval or None at the start",
                    str(reported),
                    {"x": problem.start()},
                    locate_methods(measure, "__call__"),
                )
        return ", ".join(measures) or "the problem defines no measures"
