"""Conditional gradient sliding for convex f, and with SPIDER's estimate; `condg` has the inner."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pfbench.claims.methods.condg import WANTED, decided
from pfbench.claims.methods.estimates import of_gradients, spider, with_reference
from pfbench.claims.methods.schedules import CONSTANTS, Printed, beside, least, smoothness
from pfbench.claims.methods.settings import BALL, FEW_ON_BALL, OCTAHEDRON, sized, with_outputs
from pfbench.claims.methods.stating import claims_of
from pfbench.verification import Floats
from pfbench.verification.instruments.condg import Inner
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws import Formed, Method, Place, Told, Wanted, setting
from pfbench.verification.laws.counts import PATH
from pfbench.verification.laws.method import Parameters


def convex(problem: Waves, s: Parameters, told: Sequence[Told]) -> Iterator[Place]:
    """Yield the places of y+ = (1 - gamma) y + gamma x+, which tells x+; gamma = 3/(k+2).

    x+ = condg(g, x, (k+1)/(3L), L D^2/(k(k+1))), g the gradient at (1 - gamma) y + gamma x.
    """
    x = y = problem.start()
    L, square = s["smoothness"], s["diameter"] ** 2
    for k, one in enumerate(told, 1):
        gamma = 3.0 / (k + 2.0)
        z = y + gamma * (x - y)
        after = y + (one.x - y) / gamma
        lam, eta = (k + 1.0) / (3.0 * L), L * square / (k * k + k)
        call = Inner(problem, one.estimate, x, lam, eta, after)
        yield decided(Formed(at=z), one.x, [call], one.made)
        x, y = after, one.x


def convex_bound(c: Any, N: float) -> float:
    """Return 15 L D^2/(2(N+1)(N+2))."""
    return float(15.0 * c.L_f * c.D**2 / (2.0 * (N * N + 3.0 * N + 2.0)))


def of_convex(asked: Wanted) -> Printed:
    """Return the least N of `convex_bound`, with L_f and D."""
    c = asked.constants
    N = least(partial(convex_bound, c), asked.epsilon)
    return {"iterations": N, "smoothness": c.L_f, "diameter": c.D}


def recursive(problem: Waves, s: Parameters, told: Sequence[Told]) -> Iterator[Place]:
    """Yield the places of x+ = condg(G, x, 1/L, eta) with SPIDER estimates G."""
    xs, gs = [problem.start()], list[Floats]()
    for one in told:
        formed = spider(problem, s, xs, gs)
        lam = 1.0 / s["smoothness"]
        call = Inner(problem, one.estimate, xs[-1], lam, s["tolerance"], one.x)
        yield decided(formed, one.x, [call], one.made)
        xs.append(one.x)
        gs.append(one.estimate)


def of_recursive(asked: Wanted) -> Printed:
    """Return N = 32 L Delta/epsilon, eta = epsilon/(48L), T = sqrt n, b = 10 T.

    L is the mean of the L_i where these are drawn by, which is the source's own.
    """
    c, L = asked.constants, smoothness(asked)
    T = math.ceil(math.sqrt(c.n) - 1e-9)
    return {
        "iterations": max(1.0, 32.0 * L * c.delta / asked.epsilon),
        "smoothness": L,
        "tolerance": asked.epsilon / (48.0 * L),
        "period": T,
        "batch": 10 * T,
    }


BESIDE = tuple(
    Wanted(epsilon, c) for c in CONSTANTS for epsilon in beside(partial(convex_bound, c))
)

SIZES: dict[str, Any] = {"smoothness": 1.5, "diameter": 2.0}

CONVEX = Method(
    name="cgs-convex",
    source="Lan, Zhou 2016, conditional gradient sliding",
    referee=convex,
    counts=partial(of_gradients, lo=PATH),
    enumerated=(setting(BALL, smoothness=1.5, diameter=0.1, iterations=4),),  # condg moves at once
    followed=(
        setting(BALL, **SIZES, iterations=9),
        setting(OCTAHEDRON, smoothness=2.5, diameter=3.0, iterations=9),
        setting(BALL, smoothness=1.5, diameter=0.1, iterations=9),  # so that beta shows
    ),
    # With the set's diameter, 3, so that condg moves more than once.
    sized=tuple(
        sized(OCTAHEDRON, smoothness=1.5, diameter=D, iterations=200) for D in (3.0, 300.0)
    ),
    counted=(
        setting(BALL.seven, **SIZES, iterations=8),
        setting(BALL.seven, smoothness=1.5, diameter=0.1, iterations=8),
    ),
    chosen=with_outputs(BALL.one, "last", "uniform", lengths=(8,), **SIZES),
    schedules=(*WANTED, *BESIDE),
    schedule=of_convex,
    whose="Lan, Zhou 2016 as Lan 2020, section 7.2, has it; the bound was derived again by pfbench",
)

BY_SMOOTHNESS: dict[str, Any] = {"sampling": "importance"}

SPIDER_SIZES: dict[str, Any] = {"smoothness": 1.5, "tolerance": 0.05, "period": 3}

AT_SIZE: dict[str, Any] = {"smoothness": 1.5, "tolerance": 0.03}

SPIDER = Method(
    name="ncgs-spider",
    source="Lan 2020, algorithm 7.12 in sliding, and with uniform draws",
    referee=recursive,
    counts=partial(with_reference, at_snapshot=False, lo=PATH),
    enumerated=(
        setting(BALL, **SPIDER_SIZES, batch=1, iterations=5),
        setting(BALL, **{**SPIDER_SIZES, "period": 2}, batch=2, iterations=3),
        setting(BALL.two, **SPIDER_SIZES, batch=2, iterations=3),  # batch = n
        setting(BALL, **SPIDER_SIZES, **BY_SMOOTHNESS, batch=1, iterations=5),
        setting(BALL, **SPIDER_SIZES, **BY_SMOOTHNESS, batch=2, iterations=3),
    ),
    followed=(
        setting(BALL, **SPIDER_SIZES, batch=2, iterations=8),
        setting(OCTAHEDRON, **{**SPIDER_SIZES, "tolerance": 0.02}, batch=2, iterations=8),
        setting(BALL, **SPIDER_SIZES, **BY_SMOOTHNESS, batch=2, iterations=8),
    ),
    sized=(
        sized(OCTAHEDRON, **AT_SIZE, batch=32, period=67, iterations=2000),
        sized(OCTAHEDRON, **AT_SIZE, **BY_SMOOTHNESS, batch=32, period=67, iterations=500),
        # Along long epochs inner loops have much to do until the end.
        setting(
            FEW_ON_BALL, smoothness=200.0, tolerance=0.01, batch=1, period=400, iterations=1300
        ),
    ),
    counted=(
        setting(BALL.seven, **SPIDER_SIZES, batch=3, iterations=10),
        setting(BALL.seven, **{**SPIDER_SIZES, "tolerance": 0.003}, batch=9, iterations=7),
        setting(BALL.seven, **SPIDER_SIZES, **BY_SMOOTHNESS, batch=9, iterations=10),
    ),
    chosen=(
        setting(BALL.one, **SPIDER_SIZES, batch=2, iterations=8, output="uniform"),
        setting(BALL.one, **SPIDER_SIZES, batch=2, iterations=8, output="last"),
        setting(BALL.one, **SPIDER_SIZES, batch=2, iterations=8, output="weighted"),
        setting(BALL.one, **SPIDER_SIZES, batch=2, iterations=21, output="uniform"),
        setting(BALL.two, **SPIDER_SIZES, batch=1, iterations=4, output="uniform"),
    ),
    schedules=(*WANTED, *(replace(one, given=BY_SMOOTHNESS) for one in WANTED[:6])),
    schedule=of_recursive,
    whose="Lan 2020, corollary 7.13, as a formal development quotes it, with draws by the L_i; "
    "uniform ones, with L of the mean square, are of pfbench",
)

METHODS = (CONVEX, SPIDER)

CLAIMS = claims_of(*METHODS)
