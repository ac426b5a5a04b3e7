"""Checks of a feasible set: linear minimisation, projection, membership and diameter.

The method `contains` defines the set. Known points of the set are the vertices that `lo` and
`random_vertex` return (all vertices, if few) and their convex combinations. Every answer of the set
is checked against every known point. It is also checked against points beyond the known vertices
that `contains` accepts.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.checking.findings import (
    CheckFailed,
    CheckRunner,
    CheckSkipped,
    TimeLimit,
    format_brief,
    locate_methods,
)
from pfbench.checking.lines import as_dense_array, norm
from pfbench.checking.members import MAX_MEMBERS, SECONDS, SetWithKnownPoints
from pfbench.points import DensePointFormat

_RELATIVE = 1e-8
"""Relative tolerance, with respect to the largest value."""

_BEYOND = 1e-3
"""Distance beyond a vertex, in diameters of the set, at which no point may be in the set."""

Look = tuple[str, Callable[[], str], str]
"""Name of a check, its function, and the methods to blame if the function raises."""


def check_set(body: Any, runner: CheckRunner) -> None:
    """Check the methods and the diameter of a feasible set."""
    look, checks = runner.run_check, SetChecks(body)
    looks: tuple[Look, ...] = (
        ("it declares what it is", checks.check_required_attributes, "shape diameter"),
        ("start", checks.check_start, "start contains"),
        ("lo answers", checks.check_lo_dtype_and_shape, "lo"),
        ("vertices are members", checks.check_lo_answers_are_members, "lo random_vertex contains"),
        ("lo minimises", checks.check_minimality, "lo contains project"),
        ("lo returns vertices", checks.check_extreme_points, "lo contains"),
        ("lo depends on g alone", checks.check_lo_pure_and_scale_invariant, "lo"),
        ("minimum", checks.check_minimum_interval, "minimum lo"),
        ("membership", checks.check_membership, "contains lo"),
        ("random vertices", checks.check_random_vertices_extreme, "random_vertex contains"),
        ("diameter", checks.check_diameter, "diameter max_norm"),
        ("projection", checks.check_projection, "project contains"),
    )
    for number, (check, point, methods) in enumerate(looks):
        is_passed = look(check, point, locations=locate_methods(body, *methods.split()))
        if not is_passed and number < 3:  # the others need all three
            return


class SetChecks(SetWithKnownPoints):
    """Checks of a feasible set, whose method `contains` serves as its definition."""

    def check_required_attributes(self) -> str:
        """Check that the set has all required attributes, and a finite diameter."""
        body = self.body
        needed = ("name", "diameter", "has_projection", "contains", "lo", "minimum", "start")
        # A property that raises is there.
        lacking = [p for p in needed if not (hasattr(body, p) or hasattr(type(body), p))]
        if lacking:
            raise CheckFailed(
                f"a set must have the attributes {', '.join(needed)}",
                f"it has no {', '.join(lacking)}",
            )
        D = body.diameter
        if not 0.0 <= float(D) < math.inf:
            raise CheckFailed("D must be finite", f"{D}")
        return f"points of shape {self.shape}, diameter {format_brief(float(D))}"

    def check_start(self) -> str:
        """Check that the start is in the set, and that each call returns a new copy."""
        x = self.body.start()
        if np.shape(x) != self.shape:
            raise CheckFailed(f"start must have shape {self.shape}", f"{np.shape(x)}", {"x": x})
        if not self.contains(x):
            raise CheckFailed("the start must be in the set", "contains is False", {"x": x})
        before = x.copy()
        x += 1.0
        if not np.array_equal(self.body.start(), before):
            raise CheckFailed(
                "start must return a new copy", "a change of one start changes the others"
            )
        return "a member, a fresh copy each time"

    def check_lo_dtype_and_shape(self) -> str:
        """Check that `lo` returns float64 arrays of the right shape, or matrices of rank one."""
        form = DensePointFormat(self.shape)
        ones = np.ones(self.shape)
        for g in (self.trial_gradients[0], ones, -ones, 0.0 * ones):
            v = self.body.lo(g.copy())
            if not g.any() and not np.isfinite(as_dense_array(v)).all():
                raise CheckFailed(
                    "lo(0) must be a finite vertex", format_brief(as_dense_array(v)), {"g": g}
                )
            if not form.is_vertex(v):
                raise CheckFailed(f"lo(g) must be {form.points_text}", form.describe(v), {"g": g})
        return form.points_text

    def check_lo_answers_are_members(self) -> str:
        """Check that the set contains the points that `lo` returns."""
        for g, v in self.answers:
            if not self.contains(v):
                raise CheckFailed(
                    "lo(g) must be in the set",
                    f"lo(g) is {format_brief(v)}, for which contains is False",
                    {"g": g},
                )
        return f"{len(self.answers)} answers of lo are members"

    def check_minimality(self) -> str:
        """Check that no known point x of the set has <g, x> < <g, lo(g)>."""
        patience = TimeLimit(SECONDS)
        for k in patience.rounds(len(self.answers)):
            g, v = self.answers[k]
            reached, values = float(np.vdot(g, v)), self.member_rows @ g.ravel()
            best = int(np.argmin(values))
            better = self.member_rows[best].reshape(self.shape)
            if values[best] < reached - self._rounding_allowance(g):
                self._fail_not_minimal(g, reached, better)
            self._check_not_improvable(g, v, reached)
        few = " (all that were found)" if len(self.member_rows) < MAX_MEMBERS / 2 else ""
        return f"none of {len(self.member_rows)} members{few} is better in {len(self.answers)} directions"  # noqa: E501

    def _fail_not_minimal(self, g: Floats, reached: float, better: Floats) -> None:
        text = f"<g, lo(g)> = {format_brief(reached)}"
        opposite = as_dense_array(self.body.lo(-g))
        if float(np.vdot(g, opposite)) < reached - self._rounding_allowance(g):
            text += "; lo(-g) is better: does lo maximise (a wrong sign)?"
        raise CheckFailed(
            f"<g, lo(g)> must be the minimum of <g, v> over the set, at most {_product(g, better)}",
            text,
            {"g": g, "a lower member": better},
        )

    def _check_not_improvable(self, g: Floats, v: Floats, reached: float) -> None:
        """Raise `CheckFailed` if `contains` accepts a point y with <g, y> < <g, v>, v = lo(g)."""
        centre, size, D = self.mean_member, norm(g), self.diameter_or_one
        if size == 0.0:
            return
        steps = [
            v + _BEYOND * (v - centre),
            v + 0.1 * (v - centre),
            v - (0.01 * D / size) * g,
            self._farthest_member_from_centre(-g),
        ]
        if getattr(self.body, "has_projection", False):
            steps.append(self.body.project(v - (10.0 * D / size) * g))
        for y in steps:
            if float(np.vdot(g, y)) < reached - 1e-6 * size * D and self.contains(y):
                raise CheckFailed(
                    "no point y of the set may have <g, y> < <g, lo(g)>",
                    f"<g, lo(g)> = {format_brief(reached)}, but <g, y> = {_product(g, y)}: "
                    "lo, contains and project disagree on the size of the set",
                    {"g": g, "a lower member": y},
                )

    def _farthest_member_from_centre(self, u: Floats) -> Floats:
        """Return the last point of the set on the ray from its centre along u, by bisection."""
        near, far = 0.0, 2.0 * self.diameter_or_one / norm(u)
        for _ in range(20):
            middle = 0.5 * (near + far)
            inside = self.contains(self.mean_member + middle * u, 0.0)
            near, far = (middle, far) if inside else (near, middle)
        return np.asarray(self.mean_member + near * u)

    def _rounding_allowance(self, g: Floats) -> float:
        return _RELATIVE * norm(g) * max(self.diameter_or_one, norm(self.mean_member))

    def check_extreme_points(self) -> str:
        """Check that no vertex that `lo` returns lies between two points of the set."""
        looked = 0
        for k in TimeLimit(SECONDS).rounds(len(self.answers)):
            g, v = self.answers[-1 - k]
            self._check_between(v, self._vertices_and_members_near_minimal(g), "lo(g)", {"g": g})
            looked += 1
        return f"no answer of {looked} lies between members{self._remark_on_undeclared_polytope()}"

    def _remark_on_undeclared_polytope(self) -> str:
        """Return a hint if a set seems to be a polytope but does not declare it, else ""."""
        few = len(self.member_rows)
        if getattr(self.body, "polytope", False) or 2 * few > self.found_member_count:
            return ""
        return (
            f"; {self.found_member_count} answers gave only {few} members: if the set is a polytope, set "  # noqa: E501
            "polytope = True, which methods that store its vertices (afw, pfw, bpfw) require"
        )

    def _vertices_and_members_near_minimal(self, g: Floats) -> list[Floats]:
        """Return vertices and known points x of the set that nearly minimise <g, x>."""
        tilts = 1e-6 * max(norm(g), 1e-3) * self.rng.standard_normal((4, *self.shape))
        near = [as_dense_array(self.body.lo(g + tilt)) for tilt in tilts]
        values = self.member_rows @ g.ravel()
        close = np.argsort(values, kind="stable")[:6]
        return near + [self.member_rows[i].reshape(self.shape) for i in close]

    def _check_between(
        self, v: Floats, rest: list[Floats], point: str, arguments: dict[str, Any]
    ) -> None:
        for w in rest:
            far = norm(v - w)
            if far < 1e-5 * self.diameter_or_one:
                continue
            y = v + (_BEYOND * self.diameter_or_one / far) * (v - w)
            if self.contains(y):
                raise CheckFailed(
                    f"{point} must be a vertex, which lies between no two points of the set",
                    f"the point is {format_brief(v)}, which lies between w and y",
                    {**arguments, "w": w, "y": y},
                )

    def check_lo_pure_and_scale_invariant(self) -> str:
        """Check that lo leaves g unchanged, and that lo(c g), c > 0, minimises <g, v> like lo(g).

        Also check that later calls do not overwrite earlier results.
        """
        for g, v in self.answers[:20]:
            copy = g.copy()
            recomputed = as_dense_array(self.body.lo(copy))
            if not np.array_equal(copy, g):
                raise CheckFailed("lo must not change g", "lo changes g in place", {"g": g})
            if not np.array_equal(recomputed, v):
                raise CheckFailed(
                    "lo(g) must return the same vertex in each call",
                    f"{format_brief(recomputed)} after {format_brief(v)}: is an array reused?",
                    {"g": g},
                )
            for factor in (1e-6, 1e6):
                w = as_dense_array(self.body.lo(factor * g))
                if abs(float(np.vdot(g, w - v))) > self._rounding_allowance(g):
                    raise CheckFailed(
                        f"the vertex lo({factor:g} g) must minimise <g, v>, as lo(g) does",
                        f"<g, .> = {format_brief(float(np.vdot(g, w)))} instead of "
                        f"{format_brief(float(np.vdot(g, v)))}",
                        {"g": g},
                    )
        return "g stays unchanged; neither its norm nor earlier calls change the answer"

    def check_minimum_interval(self) -> str:
        """Check that the interval minimum(g) contains the least <g, x> over known points x."""
        for g, v in self.answers:
            lower, upper = self.body.minimum(g)
            reached, allowed = float(np.vdot(g, v)), self._rounding_allowance(g)
            other_lower = float((self.member_rows @ g.ravel()).min())
            if not lower - allowed <= reached or not lower <= upper + allowed:
                statement = f"minimum(g) must start at most at <g, lo(g)> = {format_brief(reached)}"
            elif upper > reached + allowed + 1e-2 * abs(reached) or lower > other_lower + allowed:
                statement = f"minimum(g) must contain the least <g, x>, {format_brief(min(reached, other_lower))}"  # noqa: E501
            else:
                continue
            interval = f"({format_brief(lower)}, {format_brief(upper)})"
            raise CheckFailed(statement, interval, {"g": g})
        return f"contains the least <g, x> for {len(self.answers)} directions g"

    def check_membership(self) -> str:
        """Check that `contains` accepts convex combinations of members, and rejects outsiders."""
        for _ in TimeLimit(SECONDS).rounds(60):
            x = self.random_member()
            if not self.contains(x):
                raise CheckFailed(
                    "convex combinations of points of the set must be in the set",
                    "contains is False",
                    {"x": x},
                )
        for _, v in self.answers[:60]:
            away = v - self.mean_member
            if norm(away) <= 1e-6 * self.diameter_or_one:
                continue
            y = self.mean_member + (1.0 + 0.01) * away
            if self.contains(y):
                raise CheckFailed(
                    "points 1 % farther from the centre than a vertex must be outside the set",
                    "contains(x) is True",
                    {"v": v, "x": y},
                )
        bad = self.mean_member.copy()
        bad.ravel()[0] = math.nan
        accepts_nan = False
        with suppress(Exception):  # in a run, too, the point is then outside
            accepts_nan = self.contains(bad)
        if accepts_nan:
            raise CheckFailed("contains must reject NaN", "contains(x) is True", {"x": bad})
        far = self.mean_member + 1e3 * self.diameter_or_one
        if self.contains(far):
            raise CheckFailed("far points must be outside", "contains(x) is True", {"x": far})
        return "convex combinations are in the set; points beyond vertices, or not finite, are not"

    def check_random_vertices_extreme(self) -> str:
        """Check that random vertices differ, and that none lies between two points of the set.

        Also check that equal seeds give equal vertices.
        """
        if not hasattr(self.body, "random_vertex"):
            raise CheckSkipped("the set has no method random_vertex")
        rng = np.random.default_rng(3)
        vertices = [self.draw_vertex(rng) for _ in TimeLimit(SECONDS).rounds(30)]
        for v in vertices:
            if v.shape != self.shape or not self.contains(v):
                raise CheckFailed("random vertices must be in the set", format_brief(v), {"v": v})
            rest = [w for _, w in self.answers[:10]] + vertices[:10]
            self._check_between(v, rest, "a random vertex", {})
        rng = np.random.default_rng(3)
        recomputed = [self.draw_vertex(rng) for _ in vertices]
        if not np.array_equal(recomputed, vertices):
            raise CheckFailed("random_vertex must depend on rng alone", "the vertices differ")
        are_many = len(self.member_rows) > 2 and len(vertices) > 5
        if are_many and not np.ptp(np.array(vertices), axis=0).any():
            raise CheckFailed("random vertices must differ", f"{len(vertices)} equal ones")
        return f"{len(vertices)} drawn"

    def check_diameter(self) -> str:
        """Check that no two points of the set are farther apart than its stated diameter.

        If the set declares its diameter exact, two points must nearly attain it.
        """
        D, best, pair = float(self.body.diameter), 0.0, (self.mean_member, self.mean_member)
        for k in TimeLimit(SECONDS).rounds(40):
            trials = self.trial_gradients
            g = trials[k % len(trials)] if k % 2 else self.random_member_difference()
            for _ in range(8):
                v, w = as_dense_array(self.body.lo(g)), as_dense_array(self.body.lo(-g))
                if norm(v - w) > best:
                    best, pair = norm(v - w), (v, w)
                if np.array_equal(g, w - v) or not (w - v).any():
                    break
                g = w - v
        gram = self.member_rows @ self.member_rows.T
        distance = gram.diagonal()[:, None] + gram.diagonal() - 2.0 * gram
        i, j = np.unravel_index(int(distance.argmax()), distance.shape)
        first, second = (self.member_rows[k].reshape(self.shape) for k in (i, j))
        if norm(first - second) > best:
            best, pair = norm(first - second), (first, second)
        v, w = pair
        if best > D * (1.0 + 1e-9):
            raise CheckFailed(
                f"no two points of the set may be farther apart than diameter = {format_brief(D)}",
                f"two points at distance {format_brief(best)}",
                {"v": v, "w": w},
            )
        exact = getattr(self.body, "diameter_is_exact", True)
        if exact and best < 0.99 * D:
            raise CheckFailed(
                f"the set must have two points whose distance is its diameter, {format_brief(D)}",
                f"at most {format_brief(best)}: set diameter_is_exact = False if this is a bound",
                {"v": v, "w": w},
            )
        largest = getattr(self.body, "max_norm", math.inf)
        norms = np.sqrt((self.member_rows**2).sum(axis=1))
        if not norms.max() <= largest * (1.0 + 1e-9):
            x = self.member_rows[int(np.argmax(norms))].reshape(self.shape)
            statement = f"no norm may exceed max_norm = {format_brief(float(largest))}"
            raise CheckFailed(statement, format_brief(norm(x)), {"x": x})
        return f"{format_brief(D)}; largest distance found: {format_brief(best)}"

    def _projection_inputs(self) -> Iterator[Floats]:
        """Yield points to project: in the set, near it, far from it, and special arrays."""
        root = math.sqrt(self.mean_member.size)
        for k in range(40):
            size = 10.0 ** self.rng.uniform(-2.0, 1.0) * self.diameter_or_one
            noise = size * self.rng.standard_normal(self.shape) / root
            yield self.random_member() + (noise if k % 6 else 0.0)
            g = self.trial_gradients[self.rng.integers(60, len(self.trial_gradients))]
            yield self.diameter_or_one * 10.0 ** self.rng.uniform(-1.0, 0.5) * g

    def check_projection(self) -> str:
        """Check that <y - p, x - p> <= 0 for p = project(y) and known points x of the set."""
        body = self.body
        if not body.has_projection:
            try:
                body.project(self.mean_member)
            except Exception as error:
                raise CheckSkipped(f"the set has no projection: {error}") from error
            raise CheckFailed(
                "project must raise an error, as has_projection is False", "project returns a point"
            )
        looked, D = 0, self.diameter_or_one
        points = list(self._projection_inputs())
        for k in TimeLimit(SECONDS).rounds(len(points)):
            y = points[k]
            before, p = y.copy(), body.project(y)
            point = {"y": before, "project(y)": p}
            if not np.array_equal(before, y):
                raise CheckFailed("project must not change y", "project changes y in place", point)
            if p.shape != self.shape or not self.contains(p, 1e-7):
                raise CheckFailed(
                    "project(y) must be in the set", "contains(project(y)) is False", point
                )
            if self.contains(before, 0.0) and not norm(p - y) <= _RELATIVE * D:
                raise CheckFailed("project(y) must be y if y is in the set", "another point", point)
            against = as_dense_array(body.lo(p - y))
            for x in (against, *(row.reshape(self.shape) for row in self.member_rows[:50])):
                excess = float(np.vdot(y - p, x - p))
                if excess > _RELATIVE * (norm(y - p) + 1e-3 * D) * D:
                    raise CheckFailed(
                        "<y - p, x - p> must be <= 0 for p = project(y) and all x in the set",
                        f"{format_brief(excess)}, so points between p and x are nearer to y than p",
                        {**point, "x": x},
                    )
            looked += 1
        return f"{looked} projections satisfy the variational inequality"


def _product(g: Floats, x: Floats) -> str:
    return format_brief(float(np.vdot(g, x)))
