"""Errata of the catalogue that are bounds, from the printed statement alone."""

from dataclasses import dataclass

import pfbench as pf
from pfbench.claims import Claim, bound


@dataclass(frozen=True, kw_only=True)
class FrankWolfe(pf.Algorithm):
    """Frank-Wolfe; the statements are about its points."""

    deterministic = True
    requires = frozenset({"gradient", "lo"})
    iterations: int

    def run(self, ask, x, rng):
        for t in range(self.iterations):
            g = ask.gradient(x)
            at, x = x, x + 2 / (t + 2) * (ask.lo(g) - x)
            yield pf.State(x, at, g)


def steps(c, T=4):
    return {"iterations": T}


def second_moment(problem, x):
    parts = [problem.component(i, x) for i in range(problem.n)]
    return sum(g @ g for g in parts) / problem.n


def above_the_tangent(problem, x, y):
    move = y - x
    square = move @ move
    above = problem.value(y) - problem.value(x) - problem.gradient(x) @ move
    return above / square if square > 0 else 0


def distance_over_gap(problem, x):
    away = x - problem.minimiser
    gap = problem.value(x) - problem.best_known[0]
    return away @ away / gap if gap > 0 else 0


def claim(name, statement, upper, quantity, statistic, assumptions=("f strongly convex",)):
    return Claim(
        name=name,
        source="erratum",
        statement=statement,
        algorithm=FrankWolfe,
        assumptions=assumptions,
        check=bound(upper, quantity, statistic=statistic, parameters=steps),
    )


FALSE = [
    claim(
        "shen2019-second-moment",
        "E|grad f_i(x)|^2 <= L^2 D^2",
        lambda c, a, t: c.L_ms**2 * c.D**2,
        second_moment,
        "every",
        (),
    ),
    claim(
        "li2019-reversed",
        "f(y) - f(x) <= <grad f(x), y - x> + (sigma/2)|y - x|^2",
        lambda c, a, t: c.mu / 2,
        above_the_tangent,
        "step",
    ),
    claim(
        "li2019-distance",
        "f(x) - f(x*) <= sigma eps^2 gives |x - x*|^2 <= eps^2",
        lambda c, a, t: 1 / c.mu,
        distance_over_gap,
        "every",
    ),
]
