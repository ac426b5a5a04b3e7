"""Conditional gradient sliding: NCGS and its stochastic forms (qu2018); `condg` has the inner."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.constants import Constants
from pfbench.base.counts import Counts
from pfbench.claims.methods.condg import WANTED, decided
from pfbench.claims.methods.estimates import of_gradients, svrg, with_reference
from pfbench.claims.methods.schedules import CONSTANTS, Printed, beside, least, smoothness
from pfbench.claims.methods.settings import BALL, FEW_ON_BALL, OCTAHEDRON, sized
from pfbench.claims.methods.stating import claims_of
from pfbench.verification import Floats, Untestable
from pfbench.verification.instruments.condg import Inner
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws import Formed, Method, Place, Told, Wanted, setting
from pfbench.verification.laws.counts import PATH
from pfbench.verification.laws.method import Parameters


def eta(s: Parameters) -> float:
    """Return the gap at which condg stops, 1/N unless given."""
    return float(s.get("tolerance") or 1.0 / s["iterations"])


# --- NCGS -------------------------------------------------------------------------------------


def growing(s: Parameters, k: int) -> int:
    """Return m_k = k, unless a constant batch is given."""
    return int(s.get("batch", k))


def ncgs(
    problem: Waves, s: Parameters, told: Sequence[Told], *, stochastic: bool = False
) -> Iterator[Place]:
    """Yield the places of NCGS, k = 1, 2, ..., alpha = 2/(k+1), beta = 1/(2L).

    md = (1 - alpha) ag + alpha theta, theta+ = condg(g, theta, lambda, eta). Option 1 has
    lambda = beta and ag+ = md - (theta - theta+), which tells theta+. Option 2, that of the
    stochastic form, has lambda = k beta/2 and ag+ = condg(g, md, beta, eta), and theta+ is told by
    the next md.
    """
    beta = 0.5 / s["smoothness"]
    theta, ag = problem.start(), problem.start()
    for k, one in enumerate(told, 1):
        alpha = 2.0 / (k + 1.0)
        md = (1.0 - alpha) * ag + alpha * theta
        formed = Formed(at=md, batch=growing(s, k) if stochastic else None)
        if not stochastic and s.get("option", 1) == 1:
            after = theta + (one.x - md)
            calls = [Inner(problem, one.estimate, theta, beta, eta(s), after)]
            yield decided(formed, one.x, calls, one.made)
        else:
            calls = [Inner(problem, one.estimate, md, beta, eta(s), one.x)]
            whole = k < len(told)
            if whole:
                after = _recovered(told[k], one.x, 2.0 / (k + 2.0))
                calls.append(Inner(problem, one.estimate, theta, k * beta / 2.0, eta(s), after))
            yield decided(formed, one.x, calls, one.made, whole)
        theta, ag = after, one.x


def _recovered(following: Told, ag: Floats, alpha: float) -> Floats:
    """Return theta from md = (1 - alpha) ag + alpha theta."""
    if following.at is None:
        raise Untestable("it does not tell theta_md: yield State(theta_ag, theta_md, estimate)")
    return np.asarray((following.at - (1.0 - alpha) * ag) / alpha)


def of_ncgs(asked: Wanted) -> Printed:
    """Return the N of theorem 1: option 1 (12 L Delta + 16 L)/N <= epsilon, else `second_bound`."""
    epsilon, c = asked.epsilon, asked.constants
    L = c.L_f
    if asked.given.get("option", 1) == 1:
        return {"iterations": (12.0 * c.delta + 16.0) * L / epsilon, "smoothness": L}
    N = least(partial(second_bound, c), epsilon)
    return {"iterations": N, "smoothness": L, "tolerance": None}


def second_bound(c: Constants, N: float) -> float:
    """Return that of option 2: 192 L^2 D^2/(N^2 (N+1)) + (144 ell L M^2 + 96 L)/N."""
    L = c.L_f
    return 192.0 * (L * c.D) ** 2 / (N**2 * (N + 1.0)) + (144.0 * c.ell * c.M**2 + 96.0) * L / N


def of_stochastic(asked: Wanted) -> Printed:
    """Return the N of theorem 2, in its provable form, with eta = 1/N and m_k = k."""
    N = least(partial(stochastic_bound, asked.constants), asked.epsilon)
    L = smoothness(asked)
    return {"iterations": N, "smoothness": L, "tolerance": None, "batch": None}


def stochastic_bound(c: Constants, N: float) -> float:
    """Return the bound of theorem 2: the set's size, lower curvature, condg, and noise."""
    L = max(c.L_f, c.L_ms)
    size = 384.0 * (L * c.D) ** 2 / (N * (N + 1.0) * (N + 2.0))
    lower = 192.0 * L * c.ell * c.M**2 / (N + 2.0)
    inner = 96.0 * L / (N * (N + 2.0)) + 36.0 * L / N
    noise = 48.0 * c.sigma2 * (N + 3.0) / ((N + 1.0) * (N + 2.0))
    return size + lower + inner + noise


def of_batches(s: Parameters, n: int) -> tuple[Counts, ...]:
    """Return SFO N(N+1)/2, bN with a constant batch."""
    sizes = sum(growing(s, k) for k in range(1, s["iterations"] + 1))
    return (Counts(sfo=sizes, lo=PATH),)


# --- NCGS-VR ----------------------------------------------------------------------------------


def ncgs_vr(problem: Waves, s: Parameters, told: Sequence[Told]) -> Iterator[Place]:
    """Yield the places of theta+ = condg(v, theta, 1/(3L), eta) with SVRG estimates v."""
    xs, gs = [problem.start()], list[Floats]()
    lam = 1.0 / (3.0 * s["smoothness"])
    for one in told:
        formed = svrg(problem, s, xs, gs)
        call = Inner(problem, one.estimate, xs[-1], lam, eta(s), one.x)
        yield decided(formed, one.x, [call], one.made)
        xs.append(one.x)
        gs.append(one.estimate)


def of_ncgs_vr(asked: Wanted) -> Printed:
    """Return T = 18 L (Delta+1)/epsilon, a multiple of m = n^(1/3), b = n^(2/3), eta = 1/T."""
    c = asked.constants
    L, m = max(c.L_f, c.L_ms), round(c.n ** (1.0 / 3.0))
    least = 18.0 * L * (c.delta + 1.0) / asked.epsilon
    return {
        "iterations": m * math.ceil(least / m - 1e-9),
        "period": m,
        "batch": c.n ** (2.0 / 3.0),
        "smoothness": L,
        "tolerance": None,
    }


# --- the methods ------------------------------------------------------------------------------

SECOND = tuple(
    replace(one, given={"option": 2})
    for one in (
        *WANTED,
        *(Wanted(epsilon, c) for c in CONSTANTS for epsilon in beside(partial(second_bound, c))),
    )
)
NOISY = tuple(
    Wanted(epsilon, c) for c in CONSTANTS for epsilon in beside(partial(stochastic_bound, c))
)
NCGS_SIZES: dict[str, Any] = {"iterations": 8, "smoothness": 1.5}

NCGS = Method(
    name="ncgs",
    source="qu2018 algorithm 2, theorem 1",
    referee=ncgs,
    counts=partial(of_gradients, lo=PATH),
    enumerated=tuple(setting(BALL, **NCGS_SIZES, option=option) for option in (1, 2)),
    followed=tuple(
        setting(problem, **NCGS_SIZES, option=option, tolerance=tolerance)
        for problem, tolerance in ((BALL, None), (BALL, 0.01), (OCTAHEDRON, 0.03))
        for option in (1, 2)
    ),
    sized=tuple(
        sized(OCTAHEDRON, iterations=2000, smoothness=1.5, option=option, tolerance=0.03)
        for option in (1, 2)
    ),
    counted=tuple(
        setting(BALL.seven, **NCGS_SIZES, option=option, tolerance=tolerance)
        for tolerance in (None, 0.003)
        for option in (1, 2)
    ),
    chosen=(
        *(setting(BALL.one, **NCGS_SIZES, output=one) for one in ("uniform", "last", "weighted")),
        setting(BALL.one, **{**NCGS_SIZES, "iterations": 21}, output="uniform"),
    ),
    schedules=(*WANTED, *SECOND),
    schedule=of_ncgs,
    whose="qu2018 theorem 1, the least N with which its bound is at most epsilon; pfbench puts D "
    "for |theta_0 - theta*| and M for |theta*|",
)

STOCHASTIC = Method(
    name="ncgs-stochastic",
    source="qu2018 algorithm 3, theorem 2",
    referee=partial(ncgs, stochastic=True),
    counts=of_batches,
    enumerated=(
        setting(BALL, iterations=3, smoothness=1.5),
        setting(BALL, iterations=2, smoothness=1.5, batch=2, tolerance=0.3),
        setting(BALL.two, iterations=3, smoothness=1.5, batch=2),  # batch = n
    ),
    followed=(
        setting(BALL, **NCGS_SIZES),
        setting(BALL, **NCGS_SIZES, tolerance=0.01),
        setting(OCTAHEDRON, **NCGS_SIZES, batch=2),
    ),
    sized=(sized(OCTAHEDRON, iterations=2000, smoothness=1.5, batch=32, tolerance=0.03),),
    counted=(
        setting(BALL.seven, **NCGS_SIZES),
        setting(BALL.seven, **NCGS_SIZES, batch=3, tolerance=0.003),
    ),
    chosen=(
        *(setting(BALL.one, **NCGS_SIZES, output=one) for one in ("weighted", "uniform", "last")),
        setting(BALL.two, iterations=3, smoothness=1.5, batch=1, output="weighted"),
    ),
    schedules=(*WANTED, *NOISY),
    schedule=of_stochastic,
    whose="the parameters of qu2018 theorem 2; N by a bound that pfbench derived, as the theorem "
    "leaves the constant of its noise open",
)

VR_SIZES: dict[str, Any] = {"smoothness": 1.5, "batch": 2, "period": 3, "iterations": 8}

NCGS_VR = Method(
    name="ncgs-vr",
    source="qu2018 algorithm 4, theorem 3",
    referee=ncgs_vr,
    counts=partial(with_reference, at_snapshot=True, lo=PATH),
    enumerated=(
        setting(BALL, smoothness=1.5, batch=1, period=3, iterations=5),
        setting(BALL, smoothness=1.5, batch=1, period=4, iterations=4, tolerance=0.2),
        setting(BALL, smoothness=1.5, batch=2, period=2, iterations=3),
        setting(BALL.two, smoothness=1.5, batch=2, period=2, iterations=3),  # batch = n
    ),
    followed=(
        setting(BALL, **VR_SIZES),
        setting(BALL, **VR_SIZES, tolerance=0.01),
        setting(OCTAHEDRON, **VR_SIZES, tolerance=0.03),
    ),
    sized=(
        sized(OCTAHEDRON, smoothness=1.5, batch=32, period=67, iterations=2000, tolerance=0.03),
        # Along long epochs inner loops have much to do until the end.
        setting(
            FEW_ON_BALL, smoothness=20.0, batch=1, period=400, iterations=1300, tolerance=0.001
        ),
    ),
    counted=(
        setting(BALL.seven, smoothness=1.5, batch=3, period=4, iterations=10),
        setting(BALL.seven, smoothness=1.5, batch=9, period=3, iterations=7, tolerance=0.003),
    ),
    chosen=(
        setting(BALL.one, **VR_SIZES, output="uniform"),
        setting(BALL.one, **VR_SIZES, output="last"),
        setting(BALL.one, **{**VR_SIZES, "iterations": 21}, output="uniform"),
        setting(BALL.two, smoothness=1.5, batch=1, period=3, iterations=4, output="uniform"),
    ),
    schedules=WANTED,
    schedule=of_ncgs_vr,
    whose="qu2018 theorem 3, the least multiple of m as T",
)

METHODS = (NCGS, STOCHASTIC, NCGS_VR)

CLAIMS = claims_of(*METHODS)
