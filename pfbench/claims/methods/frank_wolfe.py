"""Frank-Wolfe with exact line search, the short step, the open loop, and backtracking."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from pfbench.base.counts import Counts
from pfbench.claims.methods.estimates import searched
from pfbench.claims.methods.schedules import CONSTANTS, SMALLEST, Printed
from pfbench.claims.methods.settings import BALL, OCTAHEDRON, few, sized, with_outputs
from pfbench.claims.methods.stating import claims_of
from pfbench.verification import Floats
from pfbench.verification.instruments.waves import Waves
from pfbench.verification.laws import Formed, Method, Place, Told, Wanted, setting
from pfbench.verification.laws.counts import PATH
from pfbench.verification.laws.method import Parameters

_ROUNDED = 1e-14
"""Error of a value of f by rounding, in parts of the sizes that it sums up."""

_NEAR = 1e-4
"""How near a step of backtracking must come, in parts of it."""

_DECAYED = 0.12
"""The same where rounding leaves of M no more than that it is between 0.9 M and M."""

_SLACK = 1e-12
"""Relative error of a value of f, which backtracking may allow for."""


def path(problem: Waves, s: Parameters, told: Sequence[Told]) -> Iterator[Place]:
    """Yield the places of x+ = x + gamma (v - x), v = LO(g), with the step's rule for gamma."""
    x, search = problem.start(), Backtracking(problem, s.get("smoothness"))
    for t, one in enumerate(told):
        v = problem.lo(one.estimate)
        gap = float(one.estimate @ (x - v))
        formed = Formed(at=x)
        if s["step"] == "line-search":
            yield searched(problem, formed, v - x, 1.0, one.x)[0]
        else:
            if s["step"] == "open-loop":
                gamma = 1.0 / (1.0 + t / s.get("offset", 2.0))
            elif s["step"] == "log-adaptive":
                gamma = 1.0 / (1.0 + t / (2.0 + math.log1p(t)))
            elif s["step"] == "adaptive":
                gamma = min(1.0, max(0.0, gap) / s["curvature"])
            elif s["step"] == "short":
                square = s["smoothness"] * float((v - x) @ (v - x))
                gamma = min(1.0, max(0.0, gap) / (square or 1.0))
            else:
                gamma = search.step(x, one.estimate, v, one.x)
            yield Place(formed=formed, x=x + gamma * (v - x))
        x = one.x


class Backtracking:
    """The step of Pedregosa, Negiar, Askari, Jaggi 2020, algorithm 2, tau = 2 and eta = 0.9.

    M_{-1} is given, or |grad f(x_0) - grad f(x_0 + 1e-3 d)|/(1e-3 |d|).
    """

    def __init__(self, problem: Waves, M: float | None) -> None:
        self._problem, self._M, self._before = problem, M, math.inf
        self._rounded = _ROUNDED * problem.bounds.delta
        self._told = True  # what M is

    def step(self, x: Floats, g: Floats, v: Floats, there: Floats) -> float:
        """Return the first gamma = min(gap/(M |d|^2), 1) that decreases f enough.

        The guess of M divides by a difference of values, and what is enough is one: of two gammas
        between which rounding decides, that one is gone on with that was taken. Where all are so,
        M is not told until a step decreases f by more.
        """
        f, d = self._problem.value, v - x
        gap, square = -float(g @ d), float(d @ d)
        if self._M is None:
            change = self._problem.gradient(x + 1e-3 * d) - self._problem.gradient(x)
            self._M = float(np.linalg.norm(change)) / (1e-3 * math.sqrt(square or 1.0))
        here, M, unsure = f(x), self._M, _NEAR
        taken = min(1.0, max(0.0, float((there - x) @ d) / (square or 1.0)))
        rounded = _ROUNDED * float(np.abs(g) @ (np.abs(x) + np.abs(v)))
        if gap <= 4.0 * rounded or square <= _NEAR**3:  # there is no gap to tell
            self._told = False
            return taken
        enough = _SLACK * abs(here) + self._rounded
        if not self._told:
            if f(x + taken * d) - here > enough - taken * gap / 2.0:
                return 0.0
            if taken * gap > 10.0 * self._rounded and taken < 1.0:
                self._told, self._M, self._before = True, gap / (taken * square), here
            return taken
        if math.isfinite(self._before):
            decrease = max(self._before - here, self._rounded)
            guess = gap * gap / (2.0 * decrease * square)
            unsure = min(_DECAYED, max(_NEAR, self._rounded / decrease) + 3.0 * rounded / gap)
            M = min(max(guess, 0.9 * M), M)
        while True:
            gamma = min(1.0, gap / (M * square))
            near = gamma < 1.0 and abs(taken - gamma) <= unsure * gamma
            if near:
                gamma, M = taken, gap / (taken * square)
            elif gamma * gap <= self._rounded:
                self._told = False
                return min(taken, gamma)
            above = f(x + gamma * d) - here + gamma * gap - gamma * gamma * M * square / 2.0
            if above <= enough and (near or above <= -self._rounded or gamma < 0.4 * taken):
                self._M, self._before = M, here
                return gamma
            M *= 2.0


def counts(s: Parameters, n: int) -> tuple[Counts, ...]:
    """Return FO T, SFO nT, LO T; one gradient more where backtracking has no first estimate."""
    T, searches = s["iterations"], s["step"] in ("line-search", "backtracking")
    probe = 1 if s["step"] == "backtracking" and "smoothness" not in s else 0
    return (Counts(fo=T + probe, sfo=n * (T + probe), lo=T, fv=PATH if searches else 0),)


def schedule(asked: Wanted) -> Printed:
    """Return T of max(2 h0, C)/sqrt(T+1) <= epsilon (6); C = L_f D^2 unless given.

    With backtracking no estimate exceeds max(2 L_f, M_{-1}), which takes the place of L_f; the L
    of the short step does.
    """
    c, given = asked.constants, asked.given
    if given.get("step") == "short":
        L = given.get("smoothness", c.L_f)
        T = (max(2.0 * c.delta, L * c.D**2) / asked.epsilon) ** 2 - 1.0
        return {"iterations": max(1.0, T), "smoothness": L}
    backtracking = given.get("step") == "backtracking"
    L = max(2.0 * c.L_f, given.get("smoothness", 0.0)) if backtracking else c.L_f
    C = given.get("curvature", L * c.D**2)
    T = (max(2.0 * c.delta, C) / asked.epsilon) ** 2 - 1.0
    return {"iterations": max(1.0, T), **({} if backtracking else {"curvature": C})}


RULES: tuple[dict[str, Any], ...] = (
    {"step": "open-loop"},
    {"step": "open-loop", "offset": 4.0},
    {"step": "log-adaptive"},
    {"step": "adaptive", "curvature": 6.0},
    {"step": "adaptive", "curvature": 1.5},
    {"step": "short", "smoothness": 1.5},
    {"step": "short", "smoothness": 0.3},
    {"step": "line-search"},
    {"step": "line-search", "curvature": 6.0},
    {"step": "backtracking", "smoothness": 0.05},
    {"step": "backtracking", "smoothness": 50.0},
    {"step": "backtracking"},
)

WANTED = tuple(
    Wanted(epsilon, c, given)
    for epsilon, c in (
        *product((0.4, 0.03), (CONSTANTS[0], replace(CONSTANTS[0], delta=20.0))),
        (40.0, SMALLEST[0]),
    )
    for given in (
        {},
        {"step": "open-loop"},
        {"step": "adaptive", "curvature": 7.0},
        {"step": "short"},
        {"step": "short", "smoothness": 2.0},
        {"step": "backtracking"},
        {"step": "backtracking", "smoothness": 9.0},
    )
)

FRANK_WOLFE = Method(
    name="frank-wolfe",
    source="lacoste2016 algorithm 1; Jaggi 2013; Wirth, Kerdreux, Pokutta 2023; Pokutta 2024; "
    "Pedregosa, Negiar, Askari, Jaggi 2020",
    referee=path,
    counts=counts,
    enumerated=(setting(BALL, step="open-loop", iterations=4),),
    followed=tuple(setting(BALL, iterations=8, **rule) for rule in RULES),
    sized=(
        sized(BALL, iterations=2000, **RULES[0]),
        # On a polytope: where the ball curves LO comes so near that no weight of it shows.
        *(sized(OCTAHEDRON, iterations=2000, **rule) for rule in RULES[1:3]),
        sized(BALL, iterations=500, step="line-search"),
        sized(BALL, iterations=2000, step="adaptive", curvature=6.0),
        sized(BALL, iterations=200, step="short", smoothness=1.5),
        # Further on rounding decides how far a step goes.
        *(sized(BALL, iterations=30, **rule) for rule in RULES[-3:]),
        *(sized(OCTAHEDRON, iterations=500, **rule) for rule in RULES[-3:]),
        # Where steps go from corner to corner a rule shows until the end.
        *(setting(few(BALL), iterations=3000, **rule) for rule in RULES[:4]),
        setting(few(BALL), iterations=500, step="line-search"),
        *(setting(few(BALL), iterations=500, **rule) for rule in RULES[-3:]),
    ),
    counted=tuple(setting(BALL.seven, iterations=6, **rule) for rule in RULES),
    chosen=with_outputs(BALL.one, "last", "uniform", step="open-loop"),
    schedules=WANTED,
    schedule=schedule,
    whose="lacoste2016 (6) with C = L_f D^2; the C of backtracking, max(2 L_f, M_{-1}) D^2, is of "
    "pfbench",
)

METHODS = (FRANK_WOLFE,)

CLAIMS = claims_of(*METHODS)
