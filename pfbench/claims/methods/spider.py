"""SARAH, SPIDER-SFO and Prox-SpiderBoost with momentum: recursive estimates, three ways to move."""

import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from pfbench.base.constants import Constants
from pfbench.claims.methods import estimates
from pfbench.claims.methods.iterates import RECURSIVE, rows
from pfbench.claims.methods.schedules import WANTED, Printed, least, of_spiderboost, smoothness
from pfbench.claims.methods.settings import BALL, PENALTY, SPACE, sized
from pfbench.claims.methods.stating import claims_of
from pfbench.verification import Floats
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws import Method, Place, Told, Wanted, setting
from pfbench.verification.laws.late_outputs import at_its_end
from pfbench.verification.laws.method import Chances, Parameters

# --- SARAH ------------------------------------------------------------------------------------


def sarah_path(problem: Waves, s: Parameters, told: Sequence[Told]) -> Iterator[Place]:
    """Yield the places of gradient steps; an outer loop goes on from a point of the one before.

    With output=last that is its end, else one of the points x_t of its steps, which is recovered
    from the first step after it: the law of the choice is compared where it is enumerated.
    """
    p, x, candidates = s["period"], problem.start(), list[Floats]()
    for first in range(0, len(told), p):
        epoch, pick = told[first : first + p], None
        if first > 0 and s.get("output", "uniform") == "uniform":
            begun = epoch[0].x + s["step"] * epoch[0].estimate
            off = [float(np.abs(one - begun).max()) for one in candidates]
            pick, x = (int(np.argmin(off)), p), candidates[int(np.argmin(off))]
        xs, gs = [x], list[Floats]()
        for one in epoch:
            formed = estimates.spider(problem, s, xs, gs)
            there = estimates.proximal_step(problem, s, xs[-1], one.estimate)
            yield Place(formed=formed, x=there, pick=pick)
            xs.append(one.x)
            gs.append(one.estimate)
            pick = None
        candidates, x = xs[:p], xs[-1]


def sarah_output(problem: Waves, s: Parameters, places: Sequence[Place]) -> Chances:
    """Return the law of the output after whole outer loops of one component.

    Uniform among the x_t of the last loop, which begins at a uniform x_t of the one before.
    """
    if s["output"] == "last":
        last = places[-1].x
        assert last is not None
        return [(1.0, last)]
    p, starts = s["period"], [(1.0, problem.start())]
    for _ in range(s["iterations"] // p):
        starts = [
            (chance / p, x) for chance, start in starts for x in _descent(problem, s, start, p)
        ]
    return starts


def sarah_end(s: Parameters, ats: Sequence[Floats], last: Floats) -> Chances:
    """Return the law of the output given a run of whole outer loops: a point of the last one."""
    return at_its_end(s, ats[-s["period"] :], last)


def _descent(problem: Waves, s: Parameters, x: Floats, p: int) -> list[Floats]:
    """Return x_0 .. x_{p-1} of gradient descent."""
    xs = [x]
    for _ in range(p - 1):
        xs.append(xs[-1] - s["step"] * problem.gradient(xs[-1]))
    return xs


def of_sarah(asked: Wanted) -> Printed:
    """Return one loop of the least p with 2 h0/(eta p) <= epsilon, b = sqrt n.

    With p large 2 h0/(eta p) falls as 1/sqrt p.
    """
    c = asked.constants
    p, b = least(partial(sarah_bound, c), asked.epsilon), math.ceil(math.sqrt(c.n) - 1e-9)
    return {"iterations": p, "period": p, "batch": b, "step": sarah_step(c, p)}


def sarah_step(c: Constants, p: float) -> float:
    """Return eta = 2/(L (1 + sqrt(1 + 4m/b))), m = p - 1."""
    L, b = max(c.L_f, c.L_ms), math.ceil(math.sqrt(c.n) - 1e-9)
    return 2.0 / (L * (1.0 + math.sqrt(1.0 + 4.0 * (p - 1.0) / b)))


def sarah_bound(c: Constants, p: float) -> float:
    """Return 2 h0/(eta p)."""
    return 2.0 * c.delta / (sarah_step(c, p) * p)


# --- SPIDER-SFO -------------------------------------------------------------------------------


def normalised(problem: Waves, s: Parameters, x: Floats, v: Floats) -> Floats:
    """Return x - min(step/|v|, lam) v; option 1 has no lam."""
    length = float(np.linalg.norm(v))
    multiple = s["step"] / length if length > 0.0 else 0.0
    if s.get("option", 2) == 2 and s.get("lam") is not None:
        multiple = min(multiple, s["lam"])
    return np.asarray(x - multiple * v)


def spider_path(problem: Waves, s: Parameters, told: Sequence[Told]) -> Iterator[Place]:
    """Yield the places of SPIDER-SFO; option 1 stops where |v| <= 2 tolerance, and not before.

    Where it stopped before T, one component shows the v that stopped it.
    """
    limit = 2.0 * s.get("tolerance", 0.0)
    places = estimates.along(problem, s, told, form=estimates.spider, move=normalised)
    for t, (one, place) in enumerate(zip(told, places, strict=True), 1):
        stops = s.get("option", 2) == 1 and float(np.linalg.norm(one.estimate)) <= limit
        ratios = [math.inf] if stops else []
        if t == len(told) < s["iterations"] and problem.n == 1:
            ratios.append(float(np.linalg.norm(problem.gradient(one.x))) / limit)
        yield Place(formed=place.formed, x=place.x, ratios=tuple(ratios))


def spider_length(s: Parameters) -> int | None:
    """Return T; None where option 1 may stop before."""
    return None if s.get("tolerance") else int(s["iterations"])


def spider_output(problem: Waves, s: Parameters, places: Sequence[Place]) -> Chances:
    """Return the law of the output: uniform over the x_k, or last; option 1 returns the last."""
    last = places[-1].x
    assert last is not None
    if s.get("option") == 1 or s["output"] == "last":
        return [(1.0, last)]
    return [(1.0 / len(places), place.formed.at) for place in places]


def of_spider(asked: Wanted) -> Printed:
    """Return K = floor(4 L Delta/epsilon^2) + 1, step epsilon/L, lam 1/(2L), q = S = sqrt n."""
    epsilon, c = asked.epsilon, asked.constants
    L, root = max(c.L_f, c.L_ms), math.sqrt(c.n)
    return {
        "iterations": math.floor(4.0 * L * c.delta / epsilon**2) + 1,
        "step": epsilon / L,
        "lam": 0.5 / L,
        "batch": root,
        "period": root,
    }


# --- momentum ---------------------------------------------------------------------------------


def momentum_path(problem: Waves, s: Parameters, told: Sequence[Told]) -> Iterator[Place]:
    """Yield the places of Prox-SpiderBoost-M: y is told, x follows from the estimates.

    alpha_k = 2/(ceil(k/q) + 1), lambda = (1 + alpha) beta, z = (1 - alpha) y + alpha x,
    x+ = prox(x - lambda v), y+ = z + (beta/lambda) (x+ - x), k = 1, 2, ...
    """
    x, y = problem.start(), problem.start()
    zs, gs = list[Floats](), list[Floats]()
    for k, one in enumerate(told, 1):
        alpha = 2.0 / (estimates.epochs(k, s["period"]) + 1.0)
        lam = (1.0 + alpha) * s["step"]
        zs.append((1.0 - alpha) * y + alpha * x)
        formed = estimates.spider(problem, s, zs, gs)
        gs.append(one.estimate)
        after = problem.prox(x, one.estimate, lam)
        yield Place(formed=formed, x=zs[-1] + (s["step"] / lam) * (after - x))
        x, y = after, one.x


def of_momentum(asked: Wanted) -> Printed:
    """Return beta = 1/(8L), q = S = sqrt n, and Prox-SpiderBoost's T = 20 L Delta/epsilon^2.

    Theorem 3 of wang2019 prints no constant of T.
    """
    return {**of_spiderboost(asked, constant=20.0), "step": 1.0 / (8.0 * smoothness(asked))}


# --- the methods ------------------------------------------------------------------------------

COUNTED = rows((3, 4, 10), (9, 3, 7), (1, 1, 3))

of_epochs = partial(estimates.with_reference, at_snapshot=False)

SARAH = Method(
    name="sarah",
    source="Nguyen, Liu, Scheinberg, Takac 2017 (arXiv 1705.07261)",
    referee=sarah_path,
    counts=of_epochs,
    enumerated=(
        setting(SPACE, step=0.3, batch=1, period=3, iterations=3),
        setting(SPACE, step=0.3, batch=2, period=2, iterations=4),
        setting(SPACE, step=0.3, batch=1, period=3, iterations=6, output="last"),
        setting(SPACE.two, step=0.3, batch=2, period=3, iterations=3),  # batch = n
    ),
    followed=(
        setting(SPACE, step=0.3, batch=3, period=4, iterations=10),
        setting(SPACE, step=0.3, batch=3, period=4, iterations=10, output="last"),
    ),
    counted=tuple(setting(SPACE.seven, step=0.1, **size) for size in COUNTED),
    chosen=(
        setting(SPACE.one, step=0.3, batch=1, period=4, iterations=8, output="uniform"),
        setting(SPACE.one, step=0.3, batch=1, period=4, iterations=8, output="last"),
        setting(SPACE.one, step=0.3, batch=1, period=11, iterations=22, output="uniform"),
    ),
    sized=tuple(
        sized(SPACE, step=0.3, batch=32, period=p, iterations=2000)
        for p in (67, 8)  # short ones are many, from which points are chosen
    ),
    outputs=sarah_output,
    at_end=sarah_end,
    schedules=WANTED,
    schedule=of_sarah,
    whose="Nguyen, Liu, Scheinberg, Takac 2017, one outer loop; b = sqrt n is of pfbench",
)

SPIDER = Method(
    name="spider",
    source="Fang, Li, Lin, Zhang 2018, algorithm 1",
    referee=spider_path,
    counts=of_epochs,
    length=spider_length,
    enumerated=(
        *(setting(SPACE, step=0.3, lam=0.2, **size) for size in RECURSIVE),
        setting(SPACE.two, step=0.3, lam=0.2, batch=2, period=3, iterations=3),  # batch = n
    ),
    followed=(
        setting(SPACE, step=0.3, lam=0.2, batch=3, period=4, iterations=10),
        setting(SPACE, step=0.1, lam=9.0, batch=1, period=2, iterations=4),
        setting(SPACE, step=0.1, batch=2, period=3, iterations=7, option=1),
        setting(SPACE.one, step=0.1, batch=2, period=3, iterations=60, option=1, tolerance=0.5),
    ),
    counted=tuple(setting(SPACE.seven, step=0.1, lam=0.2, **size) for size in COUNTED),
    chosen=(
        setting(SPACE.one, step=0.3, lam=0.2, batch=1, period=3, iterations=8, output="uniform"),
        setting(SPACE.one, step=0.3, lam=0.2, batch=1, period=3, iterations=8, output="last"),
        setting(SPACE.one, step=0.3, lam=0.2, batch=1, period=3, iterations=21, output="uniform"),
        setting(SPACE.two, step=0.3, lam=0.2, batch=1, period=3, iterations=4, output="uniform"),
        setting(SPACE.one, step=0.1, batch=1, period=3, iterations=8, option=1),
    ),
    outputs=spider_output,
    at_end=at_its_end,
    step_power=0,
    schedules=WANTED,
    schedule=of_spider,
    whose="Fang, Li, Lin, Zhang 2018, finite sum, option II, with n0 = 1",
)

MOMENTUM = Method(
    name="prox-spiderboost-m",
    source="wang2019 algorithm 3, theorem 3",
    referee=momentum_path,
    counts=partial(estimates.each_step, of=of_epochs, po=1),
    enumerated=(
        *(setting(BALL, step=0.2, **size) for size in RECURSIVE),
        setting(BALL.two, step=0.2, batch=2, period=3, iterations=3),  # batch = n
    ),
    followed=(
        setting(BALL, step=0.2, batch=3, period=4, iterations=10),
        setting(PENALTY, step=0.2, batch=3, period=4, iterations=10),
        setting(BALL, step=0.4, batch=1, period=1, iterations=4),
    ),
    counted=tuple(setting(BALL.seven, step=0.1, **size) for size in COUNTED),
    chosen=(
        setting(BALL.one, step=0.2, batch=1, period=3, iterations=8, output="uniform"),
        setting(BALL.one, step=0.2, batch=1, period=3, iterations=8, output="last"),
        setting(BALL.one, step=0.2, batch=1, period=3, iterations=21, output="uniform"),
        setting(BALL.two, step=0.2, batch=1, period=3, iterations=4, output="uniform"),
    ),
    schedules=WANTED,
    schedule=of_momentum,
    whose="step, q and S of wang2019 theorem 3; T is that of prox-spiderboost, derived by pfbench "
    "for theorem 2, as theorem 3 prints O(.) only",
)

METHODS = (SARAH, SPIDER, MOMENTUM)

CLAIMS = claims_of(*METHODS)
