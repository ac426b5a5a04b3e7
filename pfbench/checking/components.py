"""Checks of a problem's component gradients: means, batches, differences and tables."""

from functools import partial
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.sample import Sample
from pfbench.checking.findings import (
    CheckSkipped,
    TimeLimit,
    format_brief,
    require,
    skip_unless_offered,
)
from pfbench.checking.lines import (
    ProblemChecks,
    central_difference_at_finest_step,
    derivative,
    norm,
    restrict_to_line,
)
from pfbench.points import keep

_ROUNDING = 1e-9
"""Relative deviation allowed between two ways of computing an array."""

_ALL = 200_000
"""Maximum number of components whose gradients are queried one by one, if time allows."""


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
