"""Checks of a problem's value, gradient, Hessian and components, by numerical derivatives."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.protocols import Gradient
from pfbench.base.sample import Sample
from pfbench.base.state import Point, State
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
    central_difference_at_finest_step,
    derivative,
    is_derivative_wrong,
    norm,
    restrict_to_line,
    value_as_float,
)
from pfbench.checking.traced_runs import point_entries
from pfbench.points import combine, infer_format, inner, keep

_RELATIVE = 1e-7
"""Relative deviation allowed for a derivative, in addition to the error of finite differences."""

_ROUNDING = 1e-9
"""Relative deviation allowed between two ways of computing an array."""

_ALL = 200_000
"""Maximum number of components whose gradients are queried one by one, if time allows."""

Derivative = Callable[[Point], Gradient]


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
        recomputed, repeated = value_as_float(problem, x), problem.gradient(x)
        for verb, is_same, change in (
            ("value", recomputed == value, recomputed - value),
            ("gradient", np.array_equal(repeated, retained), repeated - retained),
        ):
            requirement = f"{verb}(x) must return the same result in each call"
            size = format_brief(norm(change))
            observed = f"the result differs after a call at another point, by {size}"
            require(is_same, requirement, observed, **{"x": x, "the other point": y})
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
            line = LineSegment(line.x, combine(line.x, self.space.random_member(), 0.1))
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
        calls: dict[str, Any] = {"value": (x,), "gradient": (x,), "batch": (S, x)}
        calls["difference"] = (S, x, y)
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


class ComponentChecks(ProblemChecks):
    """Checks of the component gradients of a problem."""

    def check_mean(self) -> str:
        """Check that the gradient of f is the mean of the component gradients.

        Also check that each of them is a gradient, i.e. has a symmetric Jacobian.
        """
        problem, n = self.problem, self.problem.n
        skip_unless_offered(problem, "batch")
        x = self.space.random_member()
        gradient = problem.gradient(keep(x))
        mean = problem.batch(np.arange(n), keep(x))
        needed = "batch(0 .. n-1), the mean over all components, must be the gradient"
        check_equal(needed, mean, gradient, {"x": x})
        total, call_count = 0.0, 0
        for i in TimeLimit(self.seconds_per_check).rounds(min(n, _ALL)):
            total = total + problem.batch(np.array([i]), keep(x))
            call_count += 1
        if call_count == n:
            needed = "the mean of batch([i]) over all i must be the gradient"
            check_equal(needed, np.asarray(total) / n, gradient, {"x": x})
        self._check_derivatives_symmetric()
        alone = "" if call_count == n else f" in one batch, {call_count} of them queried singly"
        return f"the mean of {n} components{alone}"

    def _check_derivatives_symmetric(self) -> None:
        """Raise `CheckFailed` if the Jacobian of a component gradient is not symmetric."""
        problem, space = self.problem, self.space
        if not space.dense:
            return
        for _ in TimeLimit(self.seconds_per_check / 2.0).rounds(8):
            x, i = space.random_member(), int(space.rng.integers(problem.n))
            first, second = space.random_line_anywhere(x), space.random_line_anywhere(x)
            component = partial(problem.batch, np.array([i]))
            along_first, first_error = derivative(restrict_to_line(component, first))
            along_second, second_error = derivative(restrict_to_line(component, second))
            a = second.directional_derivative(along_first)
            b = first.directional_derivative(along_second)
            error = first_error * second.length + second_error * first.length
            scale = norm(along_first) * second.length + norm(along_second) * first.length
            # Below the rounding of a gradient, as where a loss is saturated, there is no verdict.
            rounding = self._rounding(x) * (first.length + second.length)
            asymmetry = abs(a - b)
            if asymmetry > 20.0 * error + 1e-6 * scale + rounding:
                tolerance = 0.01 * asymmetry / max(first.length, second.length)
                fine = [
                    central_difference_at_finest_step(restrict_to_line(component, line), tolerance)
                    for line in (first, second)
                ]
                a, b = second.directional_derivative(fine[0]), first.directional_derivative(fine[1])
                require(
                    abs(a - b) <= asymmetry / 2.0,
                    f"component({i}, x) must have a symmetric Jacobian J, as it is a gradient",
                    f"<Ju, w> = {format_brief(a)}, <Jw, u> = {format_brief(b)}",
                    **{"x": x, "u": first.y - x, "w": second.y - x},
                )

    def _rounding(self, *points: Floats) -> float:
        """Return machine epsilon times the largest gradient norm at the start and at `points`."""
        problem = self.problem
        usual = max(norm(problem.gradient(keep(x))) for x in (self.space.start(), *points))
        return float(np.finfo(float).eps) * usual

    def check_batches_and_differences(self) -> str:
        """Check that `batch` and `difference` are means over a sample, also if an index repeats."""
        problem, space, n = self.problem, self.space, self.problem.n
        skip_unless_offered(problem, "batch")
        for _ in TimeLimit(self.seconds_per_check).rounds(6):
            x = space.random_member()
            y = space.sample_near(x)
            S = space.rng.integers(n, size=int(space.rng.integers(2, 7)))
            S[-1] = S[0]
            before = S.copy()
            alone = [problem.batch(np.array([i]), keep(x)) for i in S.tolist()]
            mean = np.mean(alone, axis=0)
            point = {"x": x, "S": S}
            statement = "batch(S, x) must be the mean over S with multiplicity"
            check_equal(statement, problem.batch(S, keep(x)), mean, point)
            is_same = np.array_equal(S, before)
            require(is_same, "batch must not change S", "batch changes S", **point)
            if "difference" not in problem.lacks:
                other, change = problem.batch(S, keep(y)), problem.difference(S, keep(x), keep(y))
                needed = "difference(S, x, y) must be batch(S, x) - batch(S, y)"
                size = norm(mean) + norm(other)
                check_equal(needed, change, mean - other, {**point, "y": y}, size)
        return "the answers are means over S with multiplicity"

    def check_sample_equals_index_array(self) -> str:
        """Check that `batch` and `difference` treat a `Sample` like its array of indices."""
        problem, space = self.problem, self.space
        skip_unless_offered(problem, "batch")
        S = space.rng.integers(problem.n, size=5)
        S[-1] = S[0]
        sample = Sample(*np.unique(S, return_counts=True))
        x = space.random_member()
        try:
            batch = problem.batch(sample, keep(x))
        except Exception as error:
            raise CheckSkipped(
                "batch(S, x) raises an error if S is a pf.Sample, which the method storc passes"
            ) from error
        point = {"x": x, "S": S}
        check_equal("batch must treat a Sample like S", batch, problem.batch(S, keep(x)), point)
        y = space.sample_near(x)
        batch = problem.difference(sample, keep(x), keep(y))
        right = problem.difference(S, keep(x), keep(y))
        point = {**point, "y": y}
        check_equal("difference must treat a Sample like S", batch, right, point)
        return "a Sample gives the same answers as its indices"

    def check_table(self) -> str:
        """Check that a gradient table stores the last gradient computed for each component."""
        problem, space, n = self.problem, self.space, self.problem.n
        skip_unless_offered(problem, "table")
        if n > 5000:
            raise CheckSkipped(
                f"filling a gradient table takes too long for n = {n} > 5000 components"
            )
        x = space.random_member()
        y = space.sample_near(x)
        table = problem.table(keep(x))
        point = {"x": x, "y": y}
        mean = problem.gradient(keep(x))
        check_equal("the mean of table(x) must equal the gradient", table.mean, mean, point)
        S = space.rng.integers(n, size=min(n, 4))
        old, new = problem.batch(S, keep(x)), problem.batch(S, keep(y))
        size, change = norm(old) + norm(new), new - old
        check_equal("difference must match", table.difference(S, keep(y)), change, point, size)
        check_equal("replace(S, y) must match", table.replace(S, keep(y)), change, point, size)
        distinct = np.unique(S)
        moved = problem.batch(distinct, keep(y)) - problem.batch(distinct, keep(x))
        mean = problem.gradient(keep(x)) + moved * (distinct.size / n)
        check_equal("replace must update the mean", table.mean, mean, point, size)
        after, statement = table.difference(S, keep(y)), "difference(S, y) must be 0 after replace"
        check_equal(statement, after, 0.0 * new, point, size)
        return "the table's entries, differences and replacements are right"


def check_equal(
    requirement: str, observed: Any, expected: Any, arguments: dict[str, Any], scale: float = 0.0
) -> None:
    """Raise `CheckFailed` if `observed` and `expected` differ by more than rounding errors.

    Different shapes fail, too. The tolerance is relative to the larger norm of the two, or to
    `scale` if that is larger.
    """
    needed, shape = np.shape(expected), np.shape(observed)
    requirement_of_shape = f"{requirement}: the result must have the shape {needed}"
    require(shape == needed, requirement_of_shape, f"shape {shape}", **arguments)
    deviation = norm(np.asarray(observed) - np.asarray(expected))
    require(
        deviation <= _ROUNDING * max(norm(observed), norm(expected), scale),
        requirement,
        f"{format_brief(np.asarray(observed))} instead of {format_brief(np.asarray(expected))}, "
        f"off by {format_brief(deviation)}",
        **arguments,
    )
