"""A problem's components: their mean, batches, differences, tables; whether they are gradients."""

from functools import partial
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.sample import Sample
from pfbench.checking.findings import Patience, Skipped, Wrong, check_has, in_brief, places
from pfbench.checking.lines import OnSpace, along, derivative, norm
from pfbench.points import keep

_ROUNDING = 1e-9
"""Two ways to compute one array may differ by so much of its norm."""

_UNSCALED = 1e6
"""Entries of gradients that differ by a larger factor are remarked on."""

_ALL = 200_000
"""Up to so many components are asked one after the other, if there is time."""


class Components(OnSpace):
    """The component gradients of one problem, looked at."""

    def mean(self) -> str:
        """Check: the gradient is the mean of all component gradients, and they are gradients."""
        problem, n = self.problem, self.problem.n
        check_has(problem, "batch")
        where = places(problem, "component", "batch", "gradient")
        x = self.space.member()
        everyone = np.arange(n)
        same(
            "batch(0 .. n-1), the mean of all components, to be the gradient",
            problem.batch(everyone, keep(x)),
            problem.gradient(keep(x)),
            {"x": x},
            where,
        )
        total, patience, asked = 0.0, Patience(self.patience), 0
        for i in patience.rounds(min(n, _ALL)):
            total = total + problem.batch(np.array([i]), keep(x))
            asked += 1
        if asked == n:
            same(
                "the mean of batch([i]) over all i to be the gradient",
                np.asarray(total) / n,
                problem.gradient(keep(x)),
                {"x": x},
                where,
            )
        self._curl()
        alone = "" if asked == n else f" at once, {asked} alone"
        return f"the mean of {n} components{alone}{self._scales()}"

    def _curl(self) -> None:
        """Refuse components whose derivatives are not symmetric: they are no gradients."""
        problem, space = self.problem, self.space
        if not space.dense:
            return
        for _ in Patience(self.patience / 2.0).rounds(8):
            x, i = space.member(), int(space.rng.integers(problem.n))
            first, second, one = space.line(x), space.line(x), np.array([i])
            component = partial(problem.batch, one)
            of = [derivative(along(component, line)) for line in (first, second)]
            a, b = second.slope(of[0][0]), first.slope(of[1][0])
            sizes = [norm(one[0]) for one in of]
            error = of[0][1] * second.length + of[1][1] * first.length
            scale = sizes[0] * second.length + sizes[1] * first.length
            # Below the rounding of a gradient, as where a loss is saturated, there is no verdict.
            rounding = self._rounding(x) * (first.length + second.length)
            if abs(a - b) > 20.0 * error + 1e-6 * scale + rounding:
                raise Wrong(
                    f"the derivative of component {i} to be symmetric, as that of any gradient",
                    f"<Ju, w> = {in_brief(a)}, <Jw, u> = {in_brief(b)}",
                    {"x": x, "u": first.y - x, "w": second.y - x},
                    places(problem, "component", "batch"),
                )

    def _rounding(self, *points: Floats) -> float:
        """Return the rounding of a gradient at the start and at points, as a norm."""
        problem = self.problem
        usual = max(norm(problem.gradient(keep(x))) for x in (self.space.start(), *points))
        return float(np.finfo(float).eps) * usual

    def _scales(self) -> str:
        """Return a remark where the entries of gradients differ very much in scale."""
        if not self.space.dense:
            return ""
        points = [self.space.start(), *(self.space.member() for _ in range(8))]
        squares = [np.square(np.asarray(self.problem.gradient(keep(x)))) for x in points]
        sizes = np.sqrt(np.mean(squares, axis=0))
        sizes = sizes[sizes > 0.0]
        ratio = sizes.max() / sizes.min() if sizes.size else 1.0
        if not ratio > _UNSCALED:
            return ""
        return (
            f"; its entries differ by a factor of {ratio:.0e} in scale: a loss of unscaled columns "
            "is saturated at most points, and a gap of 0 there says nothing, so scale the columns"
        )

    def samples(self) -> str:
        """Batches and differences are means over the sample, with multiplicity."""
        problem, space, n = self.problem, self.space, self.problem.n
        check_has(problem, "batch")
        where = places(problem, "batch")
        for _ in Patience(self.patience).rounds(6):
            x = space.member()
            y = space.near(x)
            S = space.rng.integers(n, size=int(space.rng.integers(2, 7)))
            S[-1] = S[0]
            before = S.copy()
            alone = [problem.batch(np.array([i]), keep(x)) for i in S.tolist()]
            mean = np.mean(alone, axis=0)
            at = {"x": x, "S": S}
            said = "batch(S, x), the mean over S with multiplicity"
            same(said, problem.batch(S, keep(x)), mean, at, where)
            if not np.array_equal(S, before):
                raise Wrong("batch to leave S as it is", "it changes S", at, where)
            if "difference" not in problem.lacks:
                other = problem.batch(S, keep(y))
                same(
                    "difference(S, x, y) = batch(S, x) - batch(S, y)",
                    problem.difference(S, keep(x), keep(y)),
                    mean - other,
                    {"x": x, "y": y, "S": S},
                    places(problem, "difference", "batch"),
                    norm(mean) + norm(other),
                )
        return "means with multiplicity"

    def samples_by_counts(self) -> str:
        """Check: a `Sample` is the index array that it counts."""
        problem, space = self.problem, self.space
        check_has(problem, "batch")
        S = space.rng.integers(problem.n, size=5)
        S[-1] = S[0]
        sample = Sample(*np.unique(S, return_counts=True))
        x = space.member()
        try:
            found = problem.batch(sample, keep(x))
        except Exception as error:
            raise Skipped(
                "batch takes arrays of indices alone: storc, which draws a pf.Sample, cannot be run"
            ) from error
        where, at = places(problem, "batch"), {"x": x, "S": S}
        same("batch of a Sample to be that of S", found, problem.batch(S, keep(x)), at, where)
        y = space.near(x)
        found = problem.difference(sample, keep(x), keep(y))
        right = problem.difference(S, keep(x), keep(y))
        where, at = places(problem, "difference", "batch"), {**at, "y": y}
        same("difference of a Sample to be that of S", found, right, at, where)
        return "as index arrays"

    def table(self) -> str:
        """Check: a table has the component gradients where they were last asked."""
        problem, space, n = self.problem, self.space, self.problem.n
        check_has(problem, "table")
        if n > 5000:
            raise Skipped(f"n = {n} is too large to fill a table twice in the time")
        x = space.member()
        y = space.near(x)
        table = problem.table(keep(x))
        where = places(table, "replace", "difference") + places(problem, "table")
        at = {"x": x, "y": y}
        same(
            "the mean of table(x) to be the gradient",
            table.mean,
            problem.gradient(keep(x)),
            at,
            where,
        )
        S = space.rng.integers(n, size=min(n, 4))
        old, new = problem.batch(S, keep(x)), problem.batch(S, keep(y))
        size = norm(old) + norm(new)
        same("table.difference(S, y)", table.difference(S, keep(y)), new - old, at, where, size)
        same("table.replace(S, y)", table.replace(S, keep(y)), new - old, at, where, size)
        distinct = np.unique(S)
        moved = problem.batch(distinct, keep(y)) - problem.batch(distinct, keep(x))
        mean = problem.gradient(keep(x)) + moved * (distinct.size / n)
        same("the mean after table.replace(S, y)", table.mean, mean, at, where, size)
        after = table.difference(S, keep(y))
        same("table.difference(S, y) = 0 after replace(S, y)", after, 0.0 * new, at, where, size)
        return "filled, differences, replaced once for each index"


def same(
    said: str,
    found: Any,
    expected: Any,
    at: dict[str, Any],
    where: tuple[str, ...],
    size: float = 0.0,
) -> None:
    """Refuse two arrays that differ by more than rounding; `size` is that of what they are from."""
    if np.shape(found) != np.shape(expected):
        raise Wrong(f"{said}, of shape {np.shape(expected)}", f"shape {np.shape(found)}", at, where)
    off = norm(np.asarray(found) - np.asarray(expected))
    if not off <= _ROUNDING * max(norm(found), norm(expected), size):
        raise Wrong(
            said,
            f"{in_brief(np.asarray(found))} instead of {in_brief(np.asarray(expected))}, off by "
            f"{in_brief(off)}",
            at,
            where,
        )
