"""A problem's function: its value, gradients and Hessians against differences and each other."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.protocols import Gradient
from pfbench.base.state import Point, State
from pfbench.checking.components import same
from pfbench.checking.findings import Patience, Skipped, Wrong, check_has, in_brief, place, places
from pfbench.checking.lines import (
    Line,
    OnSpace,
    along,
    complex_step,
    dense,
    derivative,
    norm,
    value_at,
)
from pfbench.checking.trails import entries
from pfbench.points import form_of, inner, keep

_RELATIVE = 1e-7
"""A derivative may be off by so much of itself, besides the error of the differences."""

Derivative = Callable[[Point], Gradient]


class Function(OnSpace):
    """The function of one problem, looked at."""

    # --- start and values -------------------------------------------------------------------------

    def start(self) -> str:
        """Check: the start is in the set, and fresh each time."""
        problem = self.problem
        x, again = problem.start(), problem.start()
        where = places(problem, "start") + places(problem.set, "start")
        if not problem.set.contains(x):
            where += places(problem.set, "contains")
            raise Wrong("a start in the set", "it is outside", {"start": x}, where)
        if not isinstance(x, np.ndarray):
            return "in the set"
        kept = x.copy()
        if not np.array_equal(x, again):
            raise Wrong("the same start in each call", "two differ", {"start": x}, where)
        x += 1.0
        if not np.array_equal(problem.start(), kept):
            raise Wrong(
                "a fresh copy of the start in each call",
                "what is done to one changes the next: return a copy",
                {"start": kept},
                where,
            )
        return "in the set, a fresh copy each time"

    def pure(self) -> str:
        """Value and gradient change no point, depend on it alone, and hand out fresh arrays."""
        problem, space = self.problem, self.space
        x, y = space.member(), space.member()
        before = entries(x).copy()
        value, g = value_at(problem, x), problem.gradient(x)
        if not np.array_equal(before, entries(x)):
            verb = "gradient" if self._changes(problem.gradient) else "value"
            raise Wrong(
                f"{verb}(x) to leave x as it is",
                "it changes x in place",
                {"x": space.start()},
                places(problem, verb),
            )
        form = form_of(problem.start(), problem.name)
        if not form.is_gradient(g):
            where = places(problem, "gradient")
            raise Wrong(f"gradient(x) to be {form.gradients}", form.said(g), {"x": x}, where)
        if not math.isfinite(value):
            raise Wrong("a finite value", f"{value}", {"x": x}, places(problem, "value"))
        kept = np.array(g)
        other = problem.gradient(y)
        if not np.array_equal(kept, g) or np.shares_memory(other, g):
            raise Wrong(
                "a new array in each call of gradient",
                "the next call overwrites the last gradient",
                {"x": x},
                places(problem, "gradient"),
            )
        again, repeated = value_at(problem, x), problem.gradient(x)
        if again != value or not np.array_equal(repeated, kept):
            verb = "value" if again != value else "gradient"
            raise Wrong(
                f"the same {verb} whenever it is asked at x",
                f"it differs after a call at another point, by "
                f"{in_brief(abs(again - value) if verb == 'value' else norm(repeated - kept))}",
                {"x": x, "the other point": y},
                places(problem, verb),
            )
        return "finite, repeatable, and nothing is changed in place"

    def _changes(self, verb: Callable[[Point], Any]) -> bool:
        x = self.space.member()
        before = entries(x).copy()
        verb(x)
        return not np.array_equal(before, entries(x))

    # --- derivatives ------------------------------------------------------------------------------

    def gradient(self) -> str:
        """Every directional derivative of the value is what the gradient says."""
        sharpest = ""
        seen = list[tuple[float, float]]()
        wrong: tuple[Line, float, float] | None = None
        for k in Patience(self.patience).rounds(16):
            x = self.space.start() if k == 0 else self.space.member()
            line = self.space.line(x)
            if math.isnan(value := value_at(self.problem, keep(x))):
                raise Wrong("a finite value", "nan", {"x": x}, places(self.problem, "value"))
            slope, expected, error, how = self._slopes(line)
            sharpest = how if how != "differences" else sharpest or how
            if not math.isfinite(expected) or error > 0.1 * max(abs(expected), abs(slope), 1e-300):
                continue
            seen.append((slope, expected))
            allowed = 20.0 * error + _RELATIVE * max(abs(slope), abs(expected))
            allowed += 1e-11 * abs(value)
            if not abs(slope - expected) <= allowed and wrong is None:
                wrong = line, slope, expected
        if wrong is not None:
            self._accuse(wrong, seen)
        if not seen:
            raise Skipped("value is too rough for differences: no derivative could be taken")
        return f"{len(seen)} directional derivatives, by {sharpest}"

    def _slopes(self, line: Line) -> tuple[float, float, float, str]:
        """Return what the gradient says, the derivative, its error, and how it was taken."""
        value, g = partial(value_at, self.problem), self.problem.gradient(keep(line.x))
        slope = line.slope(g)
        found, error = derivative(lambda t: value(line.at(t)))
        if not math.isfinite(float(found)):
            line = self.space.inner_line(line.x)
            slope = line.slope(g)
            found, error = derivative(lambda t: value(line.at(t)))
        expected = float(found)
        exact = complex_step(self.problem.value, line)
        if exact is not None and abs(exact - expected) <= 20.0 * error + 1e-6 * abs(expected):
            return slope, exact, 1e-6 * error, "complex steps"
        return slope, expected, error, "differences"

    def _accuse(self, wrong: tuple[Line, float, float], seen: list[tuple[float, float]]) -> None:
        line, slope, expected = wrong
        u = "y - x" if not self.space.dense else "u"
        text = f"{in_brief(slope)}, off by {in_brief(slope - expected)}"
        ratios = np.array([a / b for a, b in seen if b != 0.0])
        if len(ratios) > 1 and np.ptp(ratios) <= 1e-4 * abs(ratios).max():
            text += f"; everywhere it is {in_brief(float(ratios.mean()))} times the derivative"
        at: dict[str, Any] = {"x": line.x}
        if isinstance(line.x, np.ndarray):
            at["u"] = line.y - line.x
            text += self._worst_entry(line.x)
        else:
            at["y"] = line.y
        raise Wrong(
            f"<gradient(x), {u}> = {in_brief(expected)}, the derivative of value at x along {u}",
            text,
            at,
            places(self.problem, "gradient", "value"),
        )

    def _worst_entry(self, x: Floats) -> str:
        """Return which entry of the gradient is off most, in words."""
        value, g = partial(value_at, self.problem), np.ravel(self.problem.gradient(x))
        d = x.size
        off, patience = np.full(d, -1.0), Patience(1.0)
        for k in patience.rounds(d):
            unit = np.zeros(x.shape)
            unit.ravel()[k] = 0.05 * max(1.0, norm(x))
            found, _ = derivative(lambda t, unit=unit: value(x + t * unit))  # type: ignore[misc]
            off[k] = abs(g[k] - float(found) / unit.ravel()[k])
        worst = int(np.argmax(off))
        if off[worst] < 0.5 * norm(off) or d == 1:
            return ""
        return f"; the entry that is off most is number {worst}"

    def hessian(self) -> str:
        """Hessian products are the derivatives of gradients; batches are means of components."""
        problem, space, n = self.problem, self.space, self.problem.n
        check_has(problem, "hessian")
        looked = 0
        # Where a gradient is next to nothing, it may be rounded to less than its digits.
        usual = max(norm(problem.gradient(x)) for x in (space.start(), space.member()))
        for _ in Patience(self.patience).rounds(8):
            s = space.member()
            line, H = space.line(s), problem.hessian(keep(s))
            where = places(H, "product") + places(problem, "hessian")
            i = int(space.rng.integers(n))
            pairs: list[tuple[str, Any, Derivative]] = [
                ("product(y, s)", H.product(line.y, keep(s)), problem.gradient)
            ]
            if "batch" not in problem.lacks:
                one = np.array([i])
                found = H.batch(one, line.y, keep(s))
                batch_where = places(H, "batch")
                pairs.append((f"batch([{i}], y, s)", found, partial(problem.batch, one)))
            for said, product, of in pairs:
                expected, error = derivative(along(of, line))
                off = norm(product - expected)
                rounding = 1e-11 * max(norm(of(keep(s))), usual)
                if not off <= 20.0 * error + 1e-6 * max(norm(product), norm(expected)) + rounding:
                    raise Wrong(
                        f"{said} of hessian(s) to be the derivative of the gradient at s along "
                        f"y - s, of norm {in_brief(norm(expected))}",
                        f"an array of norm {in_brief(norm(product))}, off by {in_brief(off)}",
                        {"s": s, "y": line.y},
                        batch_where if said.startswith("batch") else where,
                    )
            looked += 1
            if "batch" in problem.lacks:
                continue
            S = space.rng.integers(n, size=5)
            singles = [H.batch(np.array([j]), line.y, keep(s)) for j in S.tolist()]
            same(
                "hessian(s).batch(S, y, s), the mean over S",
                H.batch(S, line.y, keep(s)),
                np.mean(singles, axis=0),
                {"s": s, "S": S},
                batch_where,
            )
        return f"products at {looked} points, by differences of gradients"

    # --- what else a problem says -----------------------------------------------------------------

    def backend(self) -> str:
        """Check: what the problem opens for a run answers as the problem does."""
        problem, space = self.problem, self.space
        backend = problem.open(np.random.default_rng(0))
        where = places(problem, "open")
        if backend is problem:
            return "the problem is its own backend"
        x = space.member()
        y = space.near(x)
        S = space.rng.integers(problem.n, size=3)
        calls: dict[str, tuple[Any, ...]] = {
            "value": (x,),
            "gradient": (x,),
            "batch": (S, x),
            "difference": (S, x, y),
        }
        asked = []
        for verb, given in calls.items():
            if verb in problem.lacks or not hasattr(backend, verb):
                continue
            copies = [keep(one) if one is x or one is y else one for one in given]
            found, right = getattr(backend, verb)(*copies), getattr(problem, verb)(*copies)
            said = f"{verb} of open(rng) to answer as the problem does"
            same(said, np.asarray(found), np.asarray(right), {"x": x}, where)
            asked.append(verb)
        return f"answers as the problem: {', '.join(asked)}"

    def linear_minimisation(self) -> str:
        """Check: a run's linear minimisation is one over the set, up to its tolerance."""
        problem, space = self.problem, self.space
        check_has(problem, "lo")
        if problem.norm is not None and problem.norm.products and not problem.bounded:
            raise Skipped("it is made of products of matrices: lmo_lower tells what it is worth")
        backend = problem.open(np.random.default_rng(0))
        tolerance = 1e-9 if backend is problem else 1e-2
        where = places(problem, "lo", "minimum") + places(problem.set, "lo")
        for _ in Patience(self.patience).rounds(8):
            g = space.direction()
            v = backend.lo(g)
            lower, upper = problem.minimum(g)
            reached = float(np.vdot(g, dense(v))) if space.dense else inner(g, v)
            allowed = tolerance * max(abs(lower), abs(upper)) + 1e-12 * norm(g) * space.scale
            if reached > upper + allowed or reached < lower - allowed:
                raise Wrong(
                    f"<g, lo(g)> = {in_brief(upper)}, as minimum(g) says",
                    in_brief(reached),
                    {"g": g},
                    where,
                )
        return "lo and minimum agree"

    def best_known(self) -> str:
        """No point that was looked at lies below the best known value."""
        known = self.problem.best_known
        if known is None:
            raise Skipped("no best value is stated")
        best, h = known[0], self.problem.penalty
        for k in Patience(self.patience).rounds(100):
            x = self.space.start() if k == 0 else self.space.member()
            found = value_at(self.problem, keep(x)) + (0.0 if h is None else h.value(x))
            if found < best - 1e-9 * max(1.0, abs(best)):
                raise Wrong(
                    f"no value below the best known one, {in_brief(best)}",
                    in_brief(found),
                    {"x": x},
                    places(self.problem, "best_known", "value"),
                )
        return f"no point is below {in_brief(best)}"

    def measures(self) -> str:
        """Its own measures answer at the start."""
        problem = self.problem
        found = problem.measures()
        for name, measure in found.items():
            told = measure(problem, State(problem.start()))
            parts = told if isinstance(told, tuple) else (told,)
            if not all(one is None or np.isfinite(float(one)) for one in parts):
                raise Wrong(
                    f"the measure {name} to be a number, an interval or None at the start",
                    str(told),
                    {"x": problem.start()},
                    (place(measure, "__call__"),),
                )
        return ", ".join(found) or "it has none of its own"
