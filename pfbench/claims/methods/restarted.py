"""Conditional gradient sliding with restarts: CGS and STORC (li2019); `condg` has the inner."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pfbench.base.counts import Counts
from pfbench.claims.methods.condg import WANTED, decided
from pfbench.claims.methods.schedules import Printed
from pfbench.claims.methods.settings import BALL, OCTAHEDRON, few, sized
from pfbench.claims.methods.stating import claims_of
from pfbench.verification.instruments.condg import Inner
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws import Formed, Method, Place, Told, Wanted, setting
from pfbench.verification.laws.counts import PATH
from pfbench.verification.laws.method import Parameters


def cgs(problem: Waves, s: Parameters, told: Sequence[Told], *, sampled: bool) -> Iterator[Place]:
    """Yield the places of restarts t = 1, 2, ... of N steps, k = 1 .. N, gamma = 2/(k+1).

    z = (1 - gamma) y + gamma x, x+ = condg(g, x, k/(3L), eta), y+ = (1 - gamma) y + gamma x+, which
    tells x+. eta = 2 L D_t^2/(N k), D_t^2 = 4 delta 2^-t/sigma_hat. STORC's g has its snapshot at
    y_0. The source leaves open which Frank-Wolfe comes to a gap of eta.
    """
    N, L = s["period"], s["smoothness"]
    y = problem.start()
    for number, one in enumerate(told):
        t, k = number // N + 1, number % N + 1
        if k == 1:
            x, snapshot = y, y
        gamma = 2.0 / (k + 1.0)
        z = (1.0 - gamma) * y + gamma * x
        formed = Formed(at=z)
        if sampled:
            known = problem.gradient(snapshot)
            formed = Formed(at=z, batch=s["batch"], against=snapshot, known=known)
        tolerance = 8.0 * L * s["delta"] * 0.5**t / (s["curvature"] * N * k)
        after = y + (one.x - y) / gamma
        call = Inner(problem, one.estimate, x, k / (3.0 * L), tolerance, after)
        yield decided(formed, one.x, [call], one.made, printed=False)
        x, y = after, one.x


def restarted(s: Parameters) -> int:
    """Return the steps of all restarts."""
    return int(s.get("restarts", 1) * s["period"])


def of_gradients(s: Parameters, n: int) -> tuple[Counts, ...]:
    """Return FO and SFO of a full gradient a step."""
    T = restarted(s)
    return (Counts(fo=T, sfo=n * T, lo=PATH),)


def of_snapshots(s: Parameters, n: int) -> tuple[Counts, ...]:
    """Return SFO n + 2mN a restart; at y_0 itself the difference is 0, and may be left out."""
    R, m, N = s.get("restarts", 1), s["batch"], s["period"]
    return tuple(Counts(fo=R, sfo=R * (n + 2 * m * steps), lo=PATH) for steps in (N, N - 1))


def of_cgs(asked: Wanted) -> Printed:
    """Return N = 8 sqrt(L/sigma_hat), log2(delta0/epsilon) restarts, at least 1."""
    c = asked.constants
    return {
        "restarts": math.log2(c.delta / asked.epsilon) if c.delta > 2.0 * asked.epsilon else 1,
        "period": math.ceil(8.0 * math.sqrt(c.L_f / c.sigma_hat) - 1e-9),
        "smoothness": c.L_f,
        "curvature": c.sigma_hat,
        "delta": c.delta,
    }


def of_storc(asked: Wanted) -> Printed:
    """Return theorem 2's m: 5200 N L_max/sigma_hat where f_i are convex, else 8000 N L~/sigma_hat.

    L~ = (L_max + ell)(1 + ell/sigma_hat). In practice m = n^(2/3), as the theorem's is far above n.
    """
    c, printed = asked.constants, of_cgs(asked)
    N = float(printed["period"] or 0.0)
    if asked.practical:
        m = c.n ** (2.0 / 3.0)
    elif c.ell == 0.0:
        m = 5200.0 * N * c.L_max / c.sigma_hat
    else:
        mixed = (c.L_max + c.ell) * (1.0 + c.ell / c.sigma_hat)
        m = 8000.0 * N * mixed / c.sigma_hat
    return {**printed, "batch": m}


# --- the methods ------------------------------------------------------------------------------

CONVEX = tuple(replace(one, constants=replace(one.constants, ell=0.0)) for one in WANTED)
PRACTICAL = tuple(replace(one, practical=True) for one in WANTED)

CGS_SIZES: dict[str, Any] = {"period": 4, "smoothness": 1.5, "curvature": 1.0, "delta": 0.02}

LONG: dict[str, Any] = {**CGS_SIZES, "period": 250, "restarts": 8, "delta": 500.0}
"""2000 steps, with a delta for which the last tolerances are near 0.01."""

STEEP: dict[str, Any] = {**CGS_SIZES, "period": 20, "restarts": 10, "smoothness": 2e3, "delta": 1.0}
"""Quadratics for which condg makes thousands of steps."""

CGS = Method(
    name="cgs",
    source="li2019 algorithm 1, theorem 1",
    referee=partial(cgs, sampled=False),
    counts=of_gradients,
    length=restarted,
    enumerated=(setting(BALL, **CGS_SIZES, restarts=2),),
    followed=(setting(BALL, **CGS_SIZES, restarts=3), setting(OCTAHEDRON, **CGS_SIZES, restarts=2)),
    sized=(sized(OCTAHEDRON, **LONG), setting(few(BALL), **STEEP)),
    counted=(setting(BALL.seven, **CGS_SIZES, restarts=3),),
    chosen=(setting(BALL.one, **CGS_SIZES, restarts=2, output="last"),),
    schedules=WANTED,
    schedule=of_cgs,
    whose="li2019 theorem 1 with (10), L_f for its L",
)

STORC = Method(
    name="storc",
    source="li2019 algorithm 2, theorem 2",
    referee=partial(cgs, sampled=True),
    counts=of_snapshots,
    length=restarted,
    enumerated=(
        setting(BALL, **{**CGS_SIZES, "period": 2}, restarts=2, batch=1),
        setting(BALL, **CGS_SIZES, batch=1),
        setting(BALL, **{**CGS_SIZES, "period": 3}, batch=2),
        setting(BALL, **{**CGS_SIZES, "period": 2}, batch=4),
        setting(BALL.two, **{**CGS_SIZES, "period": 3}, batch=2),  # batch = n
    ),
    followed=(
        setting(BALL, **CGS_SIZES, restarts=3, batch=2),
        setting(OCTAHEDRON, **CGS_SIZES, restarts=2, batch=5),
    ),
    sized=(sized(OCTAHEDRON, **LONG, batch=32), setting(few(BALL), **STEEP, batch=5)),
    counted=(
        setting(BALL.seven, **CGS_SIZES, restarts=3, batch=3),
        setting(BALL.seven, **CGS_SIZES, restarts=1, batch=9),
    ),
    chosen=(setting(BALL.one, **CGS_SIZES, restarts=2, batch=1, output="last"),),
    schedules=(*WANTED, *CONVEX, *PRACTICAL),
    schedule=of_storc,
    whose="li2019 theorem 2 with (10) to (12); L_f in N and L_max in m for its one L, and the "
    "practical m = n^(2/3), are of pfbench",
)

METHODS = (CGS, STORC)

CLAIMS = claims_of(*METHODS)
