"""The checks of a feasible set: its linear minimisation, projection, membership and diameter.

What the set is, its membership says. The pool of known members are its vertices as `lo` and
`random_vertex` return them (all of them, where they are few) and mixtures; every answer is held to
every known member, and to points that membership accepts though no vertex was there.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.checking.findings import Examination, Patience, Skipped, Wrong, in_brief, places
from pfbench.checking.lines import dense, norm
from pfbench.checking.members import MOST, SECONDS, Members
from pfbench.points import DenseForm

_RELATIVE = 1e-8
"""A value may be off by so much of the largest one there is."""

_BEYOND = 1e-3
"""So far beyond a vertex, in diameters, nothing may be in the set."""

Look = tuple[str, Callable[[], str], tuple[str, ...]]
"""A check: its name, what looks, and the methods at fault if that raises."""


def check_set(body: Any, examination: Examination) -> None:
    """Look at all that a feasible set answers."""
    look, held = examination.look, Held(body)
    first: tuple[Look, ...] = (
        ("it declares what it is", held.declared, ("shape", "diameter")),
        ("start", held.start, ("start", "contains")),
        ("lo answers", held.answered, ("lo",)),
    )
    for check, at, methods in first:
        if not look(check, at, where=places(body, *methods)):
            return
    rest: tuple[Look, ...] = (
        ("vertices are members", held.vertices, ("lo", "random_vertex", "contains")),
        ("lo minimises", held.minimises, ("lo",)),
        ("lo returns vertices", held.extreme, ("lo",)),
        ("lo is a function of g", held.repeatable, ("lo",)),
        ("minimum", held.minimum, ("minimum",)),
        ("membership", held.membership, ("contains",)),
        ("random vertices", held.random_vertices, ("random_vertex",)),
        ("diameter", held.diameter, ("diameter",)),
        ("projection", held.projection, ("project",)),
    )
    for check, at, methods in rest:
        look(check, at, where=places(body, *methods))


class Held(Members):
    """A set, held to its definition."""

    def declared(self) -> str:
        """Check: it has what a feasible set needs."""
        body = self.body
        needed = ("name", "diameter", "has_projection", "contains", "lo", "minimum", "start")
        lacking = [part for part in needed if not hasattr(body, part)]
        if lacking:
            raise Wrong(f"{', '.join(needed)}", f"it lacks {', '.join(lacking)}")
        D = body.diameter
        if not 0.0 <= float(D) < math.inf:
            raise Wrong("a finite diameter", f"{D}", {}, places(body, "diameter"))
        return f"points of shape {self.shape}, diameter {in_brief(float(D))}"

    def start(self) -> str:
        """Check: the start is a member, and fresh each time."""
        x = self.body.start()
        if np.shape(x) != self.shape:
            raise Wrong(f"a start of shape {self.shape}", f"shape {np.shape(x)}", {"x": x})
        if not self.has(x):
            raise Wrong("a start in the set", "contains says that it is outside", {"x": x})
        before = x.copy()
        x += 1.0
        if not np.array_equal(self.body.start(), before):
            raise Wrong("a fresh start each time", "what is done to one changes the next")
        return "a member, a fresh copy each time"

    def answered(self) -> str:
        """Check: `lo` returns arrays of float64 like points, or vertices of rank one."""
        form = DenseForm(self.shape)
        ones = np.ones(self.shape)
        for g in (self.directions[0], ones, -ones, 0.0 * ones):
            v = self.body.lo(g.copy())
            if not g.any() and not np.isfinite(dense(v)).all():
                raise Wrong("lo(0) to be any vertex", in_brief(dense(v)), {"g": g})
            if not form.is_vertex(v):
                raise Wrong(f"lo(g) to be {form.points}", form.said(v), {"g": g})
        return form.points

    def vertices(self) -> str:
        """Check: what `lo` returns are members."""
        for g, v in self.answers:
            if not self.has(v):
                raise Wrong(
                    "lo(g) in the set",
                    f"{in_brief(v)}, which contains calls outside",
                    {"g": g},
                    places(self.body, "lo", "contains"),
                )
        return f"{len(self.answers)} answers of lo are members"

    def minimises(self) -> str:
        """No member has a lower product with g than lo(g)."""
        patience = Patience(SECONDS)
        for k in patience.rounds(len(self.answers)):
            g, v = self.answers[k]
            reached, values = float(np.vdot(g, v)), self.known @ g.ravel()
            best = int(np.argmin(values))
            better = self.known[best].reshape(self.shape)
            if values[best] < reached - self._allowed(g):
                self._not_minimal(g, reached, better)
            self._beyond(g, v, reached)
        few = f", all {len(self.known)} that were found" if len(self.known) < MOST / 2 else ""
        return f"none of {len(self.known)} members is below in {len(self.answers)} directions{few}"

    def _not_minimal(self, g: Floats, reached: float, better: Floats) -> None:
        text = f"<g, lo(g)> = {in_brief(reached)}"
        opposite = dense(self.body.lo(-g))
        if float(np.vdot(g, opposite)) < reached - self._allowed(g):
            text += "; lo(-g) is lower: does it maximise, a wrong sign?"
        raise Wrong(
            f"<g, lo(g)> to be the least over the set, at most {_product(g, better)}",
            text,
            {"g": g, "a lower member": better},
        )

    def _beyond(self, g: Floats, v: Floats, reached: float) -> None:
        """Refuse an answer that membership or the projection can improve."""
        centre, size = self.centre, norm(g)
        if size == 0.0:
            return
        steps = [
            v + _BEYOND * (v - centre),
            v + 0.1 * (v - centre),
            v - (0.01 * self.scale / size) * g,
            self._farthest(-g),
        ]
        if getattr(self.body, "has_projection", False):
            steps.append(self.body.project(v - (10.0 * self.scale / size) * g))
        for y in steps:
            if float(np.vdot(g, y)) < reached - 1e-6 * size * self.scale and self.has(y):
                raise Wrong(
                    "no member below lo(g)",
                    f"<g, lo(g)> = {in_brief(reached)}, and a member with {_product(g, y)}: one of "
                    "lo, contains and project is of another size",
                    {"g": g, "a lower member": y},
                    places(self.body, "lo", "contains", "project"),
                )

    def _farthest(self, u: Floats) -> Floats:
        """Return the last member from the middle on in a direction, by halving."""
        near, far = 0.0, 2.0 * self.scale / norm(u)
        for _ in range(20):
            middle = 0.5 * (near + far)
            inside = self.has(self.centre + middle * u, 0.0)
            near, far = (middle, far) if inside else (near, middle)
        return np.asarray(self.centre + near * u)

    def _allowed(self, g: Floats) -> float:
        return _RELATIVE * norm(g) * max(self.scale, norm(self.centre))

    def extreme(self) -> str:
        """No answer of `lo` lies between two members."""
        looked = 0
        for k in Patience(SECONDS).rounds(len(self.answers)):
            g, v = self.answers[-1 - k]
            self._between(v, self._same_face(g), "lo(g)", {"g": g}, "lo")
            looked += 1
        return f"{looked} answers lie between no two members{self._finite()}"

    def _finite(self) -> str:
        """Return a remark where a set seems to have finitely many vertices, and does not say so."""
        few = len(self.known)
        if getattr(self.body, "polytope", False) or 2 * few > self.looked:
            return ""
        return (
            f"; only {few} members were found by {self.looked} answers: if it is a polytope, state "
            "polytope = True, which methods that keep its vertices (afw, pfw, bpfw) require"
        )

    def _same_face(self, g: Floats) -> list[Floats]:
        """Return vertices that are next to minimal against g, and some known members."""
        tilts = 1e-6 * max(norm(g), 1e-3) * self.rng.standard_normal((4, *self.shape))
        near = [dense(self.body.lo(g + tilt)) for tilt in tilts]
        values = self.known @ g.ravel()
        close = np.argsort(values, kind="stable")[:6]
        return near + [self.known[i].reshape(self.shape) for i in close]

    def _between(
        self, v: Floats, others: list[Floats], said: str, at: dict[str, Any], verb: str
    ) -> None:
        for w in others:
            far = norm(v - w)
            if far < 1e-5 * self.scale:
                continue
            y = v + (_BEYOND * self.scale / far) * (v - w)
            if self.has(y):
                raise Wrong(
                    f"{said} to be a vertex: between no two members",
                    f"{in_brief(v)}, which lies between w and y",
                    {**at, "w": w, "y": y},
                    places(self.body, verb, "contains"),
                )

    def repeatable(self) -> str:
        """lo leaves g as it is, hands out its own arrays, and does not depend on the size of g."""
        for g, v in self.answers[:20]:
            given = g.copy()
            again = dense(self.body.lo(given))
            if not np.array_equal(given, g):
                raise Wrong("lo to leave g as it is", "it changes g in place", {"g": g})
            if not np.array_equal(again, v):
                raise Wrong(
                    "the same vertex whenever lo is asked for one g",
                    f"{in_brief(again)} after {in_brief(v)}: is an array used again?",
                    {"g": g},
                )
            for factor in (1e-6, 1e6):
                w = dense(self.body.lo(factor * g))
                if abs(float(np.vdot(g, w - v))) > self._allowed(g):
                    raise Wrong(
                        f"lo({factor:g} g) as good as lo(g)",
                        f"<g, .> = {in_brief(float(np.vdot(g, w)))} instead of "
                        f"{in_brief(float(np.vdot(g, v)))}",
                        {"g": g},
                    )
        return "g stays as it is; neither its size nor earlier calls matter"

    def minimum(self) -> str:
        """minimum(g) brackets <g, lo(g)>."""
        for g, v in self.answers:
            lower, upper = self.body.minimum(g)
            reached, allowed = float(np.vdot(g, v)), self._allowed(g)
            least = float((self.known @ g.ravel()).min())
            if not lower - allowed <= reached or not lower <= upper + allowed:
                said = f"a lower end of minimum(g) at most <g, lo(g)> = {in_brief(reached)}"
            elif upper > reached + allowed + 1e-2 * abs(reached) or lower > least + allowed:
                said = f"minimum(g) to bound the least product, {in_brief(min(reached, least))}"
            else:
                continue
            where = places(self.body, "minimum", "lo")
            raise Wrong(said, f"({in_brief(lower)}, {in_brief(upper)})", {"g": g}, where)
        return f"brackets the least product in {len(self.answers)} directions"

    def membership(self) -> str:
        """Mixtures of members are in; what lies beyond a vertex, or is no point, is not."""
        for _ in Patience(SECONDS).rounds(60):
            x = self.member()
            if not self.has(x):
                raise Wrong("a mixture of members in the set", "it is called outside", {"x": x})
        for _, v in self.answers[:60]:
            away = v - self.centre
            if norm(away) <= 1e-6 * self.scale:
                continue
            y = self.centre + (1.0 + 0.01) * away
            if self.has(y):
                raise Wrong(
                    "nothing in the set beyond a vertex, 1 % farther from the middle",
                    "it is called inside",
                    {"v": v, "x": y},
                    places(self.body, "contains", "lo"),
                )
        bad = self.centre.copy()
        bad.ravel()[0] = math.nan
        if self.has(bad):
            raise Wrong("a point with NaN outside the set", "it is called inside", {"x": bad})
        far = self.centre + 1e3 * self.scale
        if self.has(far):
            raise Wrong("a point far away outside the set", "inside", {"x": far})
        return "mixtures are in; what lies beyond vertices, or is not finite, is not"

    def random_vertices(self) -> str:
        """Random vertices are vertices, and differ."""
        if not hasattr(self.body, "random_vertex"):
            raise Skipped("it has none")
        rng = np.random.default_rng(3)
        drawn = [self.drawn_vertex(rng) for _ in Patience(SECONDS).rounds(30)]
        for v in drawn:
            if v.shape != self.shape or not self.has(v):
                raise Wrong("a random vertex in the set", in_brief(v), {"v": v})
            others = [w for _, w in self.answers[:10]] + drawn[:10]
            self._between(v, others, "a random vertex", {}, "random_vertex")
        rng = np.random.default_rng(3)
        again = [self.drawn_vertex(rng) for _ in drawn]
        if not np.array_equal(again, drawn):
            raise Wrong("the same vertices from the same stream", "others")
        if len(self.known) > 2 and len(drawn) > 5 and not np.ptp(np.array(drawn), axis=0).any():
            raise Wrong("different vertices", f"the same one {len(drawn)} times")
        return f"{len(drawn)} drawn"

    def diameter(self) -> str:
        """No two members are farther apart than the diameter; two are so far, if it is exact."""
        D, best, pair = float(self.body.diameter), 0.0, (self.centre, self.centre)
        for k in Patience(SECONDS).rounds(40):
            g = self.directions[k % len(self.directions)] if k % 2 else self.apart()
            for _ in range(8):
                v, w = dense(self.body.lo(g)), dense(self.body.lo(-g))
                if norm(v - w) > best:
                    best, pair = norm(v - w), (v, w)
                if np.array_equal(g, w - v) or not (w - v).any():
                    break
                g = w - v
        gram = self.known @ self.known.T
        apart = gram.diagonal()[:, None] + gram.diagonal() - 2.0 * gram
        i, j = np.unravel_index(int(apart.argmax()), apart.shape)
        first, second = (self.known[k].reshape(self.shape) for k in (i, j))
        if norm(first - second) > best:
            best, pair = norm(first - second), (first, second)
        v, w = pair
        if best > D * (1.0 + 1e-9):
            raise Wrong(
                f"no two members farther apart than the diameter {in_brief(D)}",
                f"two at the distance {in_brief(best)}",
                {"v": v, "w": w},
            )
        exact = getattr(self.body, "diameter_is_exact", True)
        if exact and best < 0.99 * D:
            raise Wrong(
                f"two members at the distance of the diameter {in_brief(D)}, which is exact",
                f"{in_brief(best)} at most: say diameter_is_exact = False if it is a bound",
                {"v": v, "w": w},
            )
        largest = getattr(self.body, "largest_norm", math.inf)
        norms = np.sqrt((self.known**2).sum(axis=1))
        if not norms.max() <= largest * (1.0 + 1e-9):
            x = self.known[int(np.argmax(norms))].reshape(self.shape)
            said = f"no member longer than largest_norm = {in_brief(float(largest))}"
            raise Wrong(said, in_brief(norm(x)), {"x": x}, places(self.body, "largest_norm"))
        return f"{in_brief(D)}; the farthest two that were found are {in_brief(best)} apart"

    def _to_project(self) -> Iterator[Floats]:
        """Yield members, points near and far from them, units, whole numbers and ties."""
        root = math.sqrt(self.centre.size)
        for k in range(40):
            size = 10.0 ** self.rng.uniform(-2.0, 1.0) * self.scale
            noise = size * self.rng.standard_normal(self.shape) / root
            yield self.member() + (noise if k % 6 else 0.0)
            g = self.directions[self.rng.integers(60, len(self.directions))]
            yield self.scale * 10.0 ** self.rng.uniform(-1.0, 0.5) * g

    def projection(self) -> str:
        """project(y) is the member for which <y - p, x - p> <= 0 for all members x."""
        body = self.body
        if not body.has_projection:
            try:
                body.project(self.centre)
            except Exception as error:
                raise Skipped(f"it refuses: {error}") from error
            raise Wrong("`project` to refuse, as has_projection is false", "it answers")
        looked = 0
        points = list(self._to_project())
        for k in Patience(SECONDS).rounds(len(points)):
            y = points[k]
            before, p = y.copy(), body.project(y)
            at = {"y": before, "project(y)": p}
            if not np.array_equal(before, y):
                raise Wrong("project to leave y as it is", "it changes y in place", at)
            if p.shape != self.shape or not self.has(p, 1e-7):
                raise Wrong(
                    "project(y) in the set",
                    "it is outside",
                    at,
                    places(body, "project", "contains"),
                )
            if self.has(before, 0.0) and not norm(p - y) <= _RELATIVE * self.scale:
                raise Wrong("a member to be its own projection", "another point", at)
            against = dense(body.lo(p - y))
            for x in (against, *(row.reshape(self.shape) for row in self.known[:50])):
                excess = float(np.vdot(y - p, x - p))
                if excess > _RELATIVE * (norm(y - p) + 1e-3 * self.scale) * self.scale:
                    raise Wrong(
                        "<y - p, x - p> <= 0 for p = project(y) and each member x",
                        f"{in_brief(excess)}: x is nearer to y, or lies in its direction",
                        {**at, "x": x},
                    )
            looked += 1
        return f"{looked} points, by the variational inequality"


def _product(g: Floats, x: Floats) -> str:
    return in_brief(float(np.vdot(g, x)))
