"""Checks of a feasible set: linear minimisation, projection, membership and diameter.

The method `contains` defines the set. Known points of the set are the vertices that `lo` and
`random_vertex` return (all vertices, if few) and their convex combinations. Every answer of the set
is checked against every known point. It is also checked against points beyond the known vertices
that `contains` accepts.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
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
    require,
)
from pfbench.checking.lines import as_dense_array, check_start, norm
from pfbench.points import DensePointFormat

_RELATIVE = 1e-8
"""Relative tolerance, with respect to the largest value."""

_BEYOND = 1e-3
"""Distance beyond a vertex, in diameters of the set, at which no point may be in the set."""

_SECONDS = 0.6
"""Seconds after which each check of a set starts no further trial."""

_MAX_MEMBERS = 400
"""Maximum number of random vertices of a set that are stored."""


def check_set(body: Any, runner: CheckRunner) -> None:
    """Check the methods and the diameter of a feasible set."""
    checks = SetChecks(body)
    looks = (
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
        locations = locate_methods(body, *methods.split())
        is_passed = runner.run_check(check, point, locations=locations)
        if not is_passed and number < 3:  # the others need all three
            return


class SetChecks:
    """Checks of a feasible set, whose method `contains` serves as its definition."""

    def __init__(self, body: Any) -> None:
        self.body = body
        self.rng = np.random.default_rng(17)

    # --- known points of the set ------------------------------------------------------------------

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of the points of the set."""
        value = getattr(self.body, "shape", None)
        return tuple(np.shape(self.body.start()) if value is None else value)

    @cached_property
    def diameter_or_one(self) -> float:
        """Diameter of the set, or 1 if that is not positive and finite."""
        D = float(self.body.diameter)
        return D if 0.0 < D < math.inf else 1.0

    @cached_property
    def trial_gradients(self) -> list[Floats]:
        """Inputs to test `lo` with: normal, unit, integer, constant and slowly rotating arrays."""
        size = math.prod(self.shape)
        rows = list(self.rng.standard_normal((60, size)))
        units = self.rng.permutation(size)[:20]
        rows += [sign * np.eye(1, size, k)[0] for k in units for sign in (1.0, -1.0)]
        rows += list(self.rng.integers(-2, 3, size=(20, size)).astype(float))
        rows += [np.ones(size), -np.ones(size), np.zeros(size), np.arange(size) - size / 2.0]
        a, b = self.rng.standard_normal((2, size))
        # As in a run: each is near the last one.
        rows += [math.cos(t) * a + math.sin(t) * b for t in np.linspace(0.0, math.pi, 60)]
        return [g.reshape(self.shape) for g in rows]

    @cached_property
    def answers(self) -> list[tuple[Floats, Floats]]:
        """Pairs (g, lo(g)) for as many test inputs g as time allows."""
        return [(g, self._lo(g.copy())) for g in _iterate_in_time(self.trial_gradients)]

    @cached_property
    def member_rows(self) -> Floats:
        """Known points of the set as rows: answers of `lo`, random vertices and the start."""
        rng = np.random.default_rng(5)
        rows = [v for _, v in self.answers]
        if hasattr(self.body, "random_vertex"):
            rows += [self._draw_vertex(rng) for _ in TimeLimit(_SECONDS).rounds(_MAX_MEMBERS)]
        members = [x.ravel() for x in (*rows, self.body.start()) if self.contains(x)]
        return np.unique(np.array(members).reshape(len(members), -1), axis=0)

    def _lo(self, g: Floats) -> Floats:
        return as_dense_array(self.body.lo(g))

    def _draw_vertex(self, rng: np.random.Generator) -> Floats:
        return as_dense_array(self.body.random_vertex(rng))

    def contains(self, x: Floats, tolerance: float = 1e-9) -> bool:
        """Return whether the method `contains` of the set accepts x."""
        return bool(self.body.contains(x, tolerance))

    def random_member(self) -> Floats:
        """Return a random convex combination of a few known points of the set."""
        rows = self.member_rows
        few = rows[self.rng.integers(len(rows), size=int(self.rng.integers(2, 6)))]
        weights = self.rng.dirichlet(np.ones(len(few)))
        return np.asarray(weights @ few).reshape(self.shape)

    @cached_property
    def mean_member(self) -> Floats:
        """Mean of all known points of the set."""
        return np.asarray(self.member_rows.mean(axis=0)).reshape(self.shape)

    # --- checks -----------------------------------------------------------------------------------

    def check_required_attributes(self) -> str:
        """Check that the set has all required attributes, and a finite diameter."""
        body = self.body
        needed = ("name", "diameter", "has_projection", "contains", "lo", "minimum", "start")
        # A property that raises is there.
        lacking = [p for p in needed if not (hasattr(body, p) or hasattr(type(body), p))]
        requirement = f"a set must have the attributes {', '.join(needed)}"
        require(not lacking, requirement, f"it has no {', '.join(lacking)}")
        D = float(body.diameter)
        require(0.0 <= D < math.inf, "D must be finite", f"{D}")
        return f"points of shape {self.shape}, diameter {format_brief(D)}"

    def check_start(self) -> str:
        """Check that the start is in the set, and that each call returns a new copy."""
        shape = np.shape(self.body.start())
        require(shape == self.shape, f"start must have shape {self.shape}", f"{shape}")
        return check_start(self.body.start, self.contains)

    def check_lo_dtype_and_shape(self) -> str:
        """Check that `lo` returns float64 arrays of the right shape, or matrices of rank one."""
        form = DensePointFormat(self.shape)
        ones = np.ones(self.shape)
        for g in (self.trial_gradients[0], ones, -ones, 0.0 * ones):
            v = self.body.lo(g.copy())
            if not (g.any() or np.isfinite(entries := as_dense_array(v)).all()):
                raise CheckFailed("lo(0) must be a finite vertex", format_brief(entries), {"g": g})
            if not form.is_vertex(v):
                raise CheckFailed(f"lo(g) must be {form.points_text}", form.describe(v), {"g": g})
        return form.points_text

    def check_lo_answers_are_members(self) -> str:
        """Check that the set contains the points that `lo` returns."""
        for g, v in self.answers:
            observed = f"lo(g) is {format_brief(v)}, for which contains is False"
            require(self.contains(v), "lo(g) must be in the set", observed, g=g)
        return f"{len(self.answers)} answers of lo are members"

    def check_minimality(self) -> str:
        """Check that no known point x of the set has <g, x> < <g, lo(g)>."""
        for g, v in _iterate_in_time(self.answers):
            reached, values = float(np.vdot(g, v)), self.member_rows @ g.ravel()
            better = self.member_rows[int(np.argmin(values))].reshape(self.shape)
            if values.min() < reached - self._rounding_allowance(g):
                text = f"<g, lo(g)> = {format_brief(reached)}"
                if float(np.vdot(g, self._lo(-g))) < reached - self._rounding_allowance(g):
                    text += "; lo(-g) is better: does lo maximise (a wrong sign)?"
                lowest = _product(g, better)
                raise CheckFailed(
                    f"<g, lo(g)> must be the minimum of <g, v> over the set, at most {lowest}",
                    text,
                    {"g": g, "a lower member": better},
                )
            self._check_not_improvable(g, v, reached)
        return (
            f"none of {len(self.member_rows)} members is better in {len(self.answers)} directions"
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
        for g, v in _iterate_in_time(self.answers[::-1]):
            tilts = 1e-6 * max(norm(g), 1e-3) * self.rng.standard_normal((4, *self.shape))
            close = np.argsort(self.member_rows @ g.ravel(), kind="stable")[:6]
            near = [self.member_rows[i].reshape(self.shape) for i in close]
            self._check_between(v, [*(self._lo(g + t) for t in tilts), *near], "lo(g)", g=g)
            looked += 1
        return f"no answer of {looked} lies between members"

    def _check_between(self, v: Floats, rest: list[Floats], point: str, **arguments: Any) -> None:
        for w in rest:
            far = norm(v - w)
            if far < 1e-5 * self.diameter_or_one:
                continue
            y = v + (_BEYOND * self.diameter_or_one / far) * (v - w)
            requirement = f"{point} must be a vertex, which lies between no two points of the set"
            observed = f"the point is {format_brief(v)}, which lies between w and y"
            require(not self.contains(y), requirement, observed, **arguments, w=w, y=y)

    def check_lo_pure_and_scale_invariant(self) -> str:
        """Check that lo leaves g unchanged, and that lo(c g), c > 0, minimises <g, v> like lo(g).

        Also check that later calls do not overwrite earlier results.
        """
        for g, v in self.answers[:20]:
            copy = g.copy()
            recomputed = self._lo(copy)
            require(np.array_equal(copy, g), "lo must not change g", "lo changes g in place", g=g)
            requirement = "lo(g) must return the same vertex in each call"
            observed = f"{format_brief(recomputed)} after {format_brief(v)}: is an array reused?"
            require(np.array_equal(recomputed, v), requirement, observed, g=g)
            for factor in (1e-6, 1e6):
                w = self._lo(factor * g)
                is_minimal = not abs(float(np.vdot(g, w - v))) > self._rounding_allowance(g)
                requirement = f"the vertex lo({factor:g} g) must minimise <g, v>, as lo(g) does"
                observed = f"<g, .> = {_product(g, w)} instead of {_product(g, v)}"
                require(is_minimal, requirement, observed, g=g)
        return "g stays unchanged; neither its norm nor earlier calls change the answer"

    def check_minimum_interval(self) -> str:
        """Check that the interval minimum(g) contains the least <g, x> over known points x."""
        for g, v in self.answers:
            lower, upper = self.body.minimum(g)
            reached, allowed = float(np.vdot(g, v)), self._rounding_allowance(g)
            lowest = float((self.member_rows @ g.ravel()).min())
            interval = f"({format_brief(lower)}, {format_brief(upper)})"
            requirement = f"minimum(g) must start at most at <g, lo(g)> = {format_brief(reached)}"
            starts_below = lower - allowed <= reached and lower <= upper + allowed
            require(starts_below, requirement, interval, g=g)
            best = format_brief(min(reached, lowest))
            requirement = f"minimum(g) must contain the least <g, x>, {best}"
            ends_above = upper > reached + allowed + 1e-2 * abs(reached)
            require(not (ends_above or lower > lowest + allowed), requirement, interval, g=g)
        return f"contains the least <g, x> for {len(self.answers)} directions g"

    def check_membership(self) -> str:
        """Check that `contains` accepts convex combinations of members, and rejects outsiders."""
        for _ in TimeLimit(_SECONDS).rounds(60):
            x = self.random_member()
            requirement = "convex combinations of points of the set must be in the set"
            require(self.contains(x), requirement, "contains is False", x=x)
        accepted = "contains(x) is True"
        for _, v in self.answers[:60]:
            away = v - self.mean_member
            if norm(away) <= 1e-6 * self.diameter_or_one:
                continue
            y = self.mean_member + (1.0 + 0.01) * away
            requirement = "points 1 % farther from the centre than a vertex must be outside the set"
            require(not self.contains(y), requirement, accepted, v=v, x=y)
        bad = self.mean_member.copy()
        bad.ravel()[0] = math.nan
        accepts_nan = False
        with suppress(Exception):  # in a run, too, the point is then outside
            accepts_nan = self.contains(bad)
        require(not accepts_nan, "contains must reject NaN", accepted, x=bad)
        far = self.mean_member + 1e3 * self.diameter_or_one
        require(not self.contains(far), "far points must be outside", accepted, x=far)
        return "convex combinations are in the set; points beyond vertices, or not finite, are not"

    def check_random_vertices_extreme(self) -> str:
        """Check that random vertices differ, and that none lies between two points of the set.

        Also check that equal seeds give equal vertices.
        """
        if not hasattr(self.body, "random_vertex"):
            raise CheckSkipped("the set has no method random_vertex")
        rng = np.random.default_rng(3)
        vertices = [self._draw_vertex(rng) for _ in TimeLimit(_SECONDS).rounds(30)]
        for v in vertices:
            is_member = v.shape == self.shape and self.contains(v)
            require(is_member, "random vertices must be in the set", format_brief(v), v=v)
            rest = [w for _, w in self.answers[:10]] + vertices[:10]
            self._check_between(v, rest, "a random vertex")
        rng = np.random.default_rng(3)
        are_equal = np.array_equal([self._draw_vertex(rng) for _ in vertices], vertices)
        require(are_equal, "random_vertex must depend on rng alone", "the vertices differ")
        are_many = len(self.member_rows) > 2 and len(vertices) > 5
        differ = not are_many or np.ptp(np.array(vertices), axis=0).any()
        require(differ, "random vertices must differ", f"{len(vertices)} equal ones")
        return f"{len(vertices)} drawn"

    def check_diameter(self) -> str:
        """Check that no two points of the set are farther apart than its stated diameter.

        If the set declares its diameter exact, two points must nearly attain it.
        """
        D = float(self.body.diameter)
        gram = self.member_rows @ self.member_rows.T
        squares = gram.diagonal()[:, None] + gram.diagonal() - 2.0 * gram
        farthest = np.unravel_index(int(squares.argmax()), squares.shape)
        v, w = (self.member_rows[int(k)].reshape(self.shape) for k in farthest)
        for k in TimeLimit(_SECONDS).rounds(40):
            trials = self.trial_gradients
            g = trials[k % len(trials)] if k % 2 else self.random_member() - self.random_member()
            for _ in range(8):
                pair = self._lo(g), self._lo(-g)
                v, w = max((v, w), pair, key=lambda both: norm(both[0] - both[1]))
                following = pair[1] - pair[0]
                if np.array_equal(g, following) or not following.any():
                    break
                g = following
        best = norm(v - w)
        requirement = f"no two points of the set may be farther apart than diameter = {D:.6g}"
        observed = f"two points at distance {format_brief(best)}"
        require(not best > D * (1.0 + 1e-9), requirement, observed, v=v, w=w)
        is_attained = best >= 0.99 * D or not getattr(self.body, "diameter_is_exact", True)
        requirement = f"the set must have two points whose distance is its diameter, {D:.6g}"
        observed = f"at most {best:.6g}: set diameter_is_exact = False if this is a bound"
        require(is_attained, requirement, observed, v=v, w=w)
        largest = float(getattr(self.body, "max_norm", math.inf))
        x = max(self.member_rows, key=norm).reshape(self.shape)
        requirement = f"no norm may exceed max_norm = {format_brief(largest)}"
        require(norm(x) <= largest * (1.0 + 1e-9), requirement, format_brief(norm(x)), x=x)
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
        for y in _iterate_in_time(list(self._projection_inputs())):
            before, p = y.copy(), body.project(y)
            point = {"y": before, "project(y)": p}
            is_same = np.array_equal(before, y)
            require(is_same, "project must not change y", "project changes y in place", **point)
            is_member = p.shape == self.shape and self.contains(p, 1e-7)
            observed = "contains(project(y)) is False"
            require(is_member, "project(y) must be in the set", observed, **point)
            is_kept = not self.contains(before, 0.0) or norm(p - y) <= _RELATIVE * D
            require(is_kept, "project(y) must be y if y is in the set", "another point", **point)
            members = (row.reshape(self.shape) for row in self.member_rows[:50])
            for x in (self._lo(p - y), *members):
                excess = float(np.vdot(y - p, x - p))
                if excess > _RELATIVE * (norm(y - p) + 1e-3 * D) * D:
                    raise CheckFailed(
                        "<y - p, x - p> must be <= 0 for p = project(y) and all x in the set",
                        f"{format_brief(excess)}, so points between p and x are nearer to y than p",
                        {**point, "x": x},
                    )
            looked += 1
        return f"{looked} projections satisfy the variational inequality"


def _iterate_in_time(items: list[Any]) -> Iterable[Any]:
    """Yield items of a list for as long as the time limit of a check allows."""
    return (items[k] for k in TimeLimit(_SECONDS).rounds(len(items)))


def _product(g: Floats, x: Floats) -> str:
    return format_brief(float(np.vdot(g, x)))
