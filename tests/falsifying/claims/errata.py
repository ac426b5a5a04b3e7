"""Errata of the catalogue that are bounds or laws, each from the printed statement alone.

The first three were the first ones written; the other seven are `random.Random(52).sample(P, 7)`
of the fifteen bounds and laws without Hessians that were left:

    P = "shen2019-(10) shen2019-remark3.1 shen2019-(9)-sg shen2019-(9)-svrg shen2019-(9)-spiderg "
        "li2019-(22) li2019-(74) pethick2025-D.9 pethick2025-D.10 pethick2025-D.3 pethick2025-D.2e "
        "pethick2025-D.8 pethick2025-(13) relatives-storm-thm1 kim2026-thm1-line".split()

The last claim is theorem 3.1 of arXiv 2508.09628v1, on particles that all move by Frank-Wolfe.
"""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from deterministic import FrankWolfe, given, state_bounds

import pfbench as pf
from pfbench.claims import Claim, error_law


def second_moment(problem, x):
    parts = [problem.component(i, x) for i in range(problem.n)]
    return sum(g @ g for g in parts) / problem.n


def above_the_tangent(problem, x, y):
    move = y - x
    square = move @ move
    above = problem.value(y) - problem.value(x) - problem.gradient(x) @ move
    return above / square if square > 0 else 0


def distance(problem, x):
    away = x - problem.minimiser
    return away @ away


def over_gap(problem, x, number):
    gap = problem.value(x) - problem.best_known[0]
    return number / gap if gap > 0 else 0


def distance_over_gap(problem, x):
    return over_gap(problem, x, distance(problem, x))


def root_over_gap(problem, x):
    return over_gap(problem, x, np.sqrt(distance(problem, x)))


@dataclass(frozen=True, kw_only=True)
class ShortFrankWolfe(FrankWolfe):
    """Frank-Wolfe with a step of its theorem."""

    eta: float

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            g = ask.gradient(x)
            at, x = x, x + self.eta * (ask.lo(g) - x)
            yield pf.State(x, at, g)


def steps_for_one(c):
    """epsilon = 1: eta = 1/(L D) and T = L Delta."""
    T = math.ceil(c.L_f * c.delta)
    if T > 1000:
        raise ValueError("too many steps")
    return {"iterations": T, "eta": 1 / (c.L_f * c.D)}


@dataclass(frozen=True, kw_only=True)
class Spider(pf.Algorithm):
    """SPIDERG: with p = S = sqrt n, gradients at every p-th step, and differences."""

    requires = frozenset({"gradient", "batch", "difference", "lo"})
    iterations: int
    eta: float

    def run(self, ask, x, rng):
        p = math.isqrt(ask.n)
        before, g = x, x
        for t in range(self.iterations):
            if t % p == 0:
                g = ask.gradient(x)
            else:
                g = g + ask.difference(rng.integers(ask.n, size=p), x, before)
            before, x = x, x + self.eta * (ask.lo(g) - x)
            yield pf.State(x, before, g)


@dataclass(frozen=True, kw_only=True)
class Almond(pf.Algorithm):
    """Averages of normalised gradients."""

    deterministic = True
    requires = frozenset({"gradient", "smooth"})
    iterations: int
    step: float
    alpha: float

    def run(self, ask, x, rng):
        mean = None
        for _ in range(self.iterations):
            g = ask.gradient(x)
            v = -g / np.sqrt(g @ g)
            mean = v if mean is None else (1 - self.alpha) * mean + self.alpha * v
            at, x = x, x + self.step * mean
            yield pf.State(x, at, g)


@dataclass(frozen=True, kw_only=True)
class Recursion(pf.Algorithm):
    """u_k = (1 - beta) u_(k-1) + eta for k = 2, 3, ..., from the size of the start."""

    deterministic = True
    requires = frozenset({"gradient", "smooth"})
    iterations: int
    scale: float

    def run(self, ask, x, rng):
        u = abs(x)
        for t in range(self.iterations):
            beta, eta = self.rates(t + 2)
            u = (1 - beta) * u + eta * self.scale
            yield pf.State(u)

    def rates(self, k):
        return 1 / 2, 1


class DecreasingRecursion(Recursion):
    """beta = 1/(2 sqrt k), eta = 1/k."""

    def rates(self, k):
        return 1 / (2 * np.sqrt(k)), 1 / k


def recursion_constants(problem):
    return SimpleNamespace(L_f=problem.constants().L_f, u_1=abs(problem.start()[0]))


def recursion_steps(c, T=4):
    return {"iterations": T, "scale": c.L_f}


def first_entry(problem, x):
    return x[0]


def square_of_step(problem, x, y):
    return (y - x) @ (y - x)


def induction_constants(problem):
    c = problem.constants()
    kappa = c.L_f / c.mu
    return SimpleNamespace(L_f=c.L_f, kappa=kappa, N=math.ceil(8 * np.sqrt(kappa)))


def one(problem, x):
    return 1


@dataclass(frozen=True, kw_only=True)
class Particles(pf.Algorithm):
    """Each particle moves by 2/(t+2) to that with the least <x_i, y>, the last being minus their sum.

    It is the limit of attention with the key-query matrix -I.
    """  # noqa: E501

    deterministic = True
    requires = frozenset({"gradient", "smooth"})
    iterations: int

    def run(self, ask, x, rng):
        points = list_particles(x)
        for t in range(self.iterations):
            targets = [min(points, key=lambda y: p @ y) for p in points]
            points = [p + 2 / (t + 2) * (y - p) for p, y in zip(points, targets, strict=True)]
            yield pf.State(np.concatenate(points[:-1]))


def list_particles(x):
    if len(x) % 2:
        raise ValueError("particles are in the plane")
    rows = [x[k : k + 2] for k in range(0, len(x), 2)]
    return [*rows, -sum(rows)]


def particle_constants(problem):
    points = list_particles(problem.start())
    squares = [(p - q) @ (p - q) for p in points for q in points]
    return SimpleNamespace(diameter_sq=max(squares))


def largest_energy(problem, x):
    return max([x[k : k + 2] @ x[k : k + 2] for k in range(0, len(x), 2)]) / 2


def recursion(method):
    """Return what bounds u_k."""
    constants = {"constants": recursion_constants}
    return state_bounds(method, first_entry, "every", recursion_steps, **constants)


def printed(quantity, statistic="every", assumptions=("f strongly convex",), **options):
    """Return what states a printed inequality on the points of Frank-Wolfe."""
    return state_bounds(FrankWolfe, quantity, statistic, given(4), assumptions, **options)


FALSE = [
    printed(second_moment, assumptions=())(
        "shen2019-second-moment", lambda c, a, t: c.L_ms**2 * c.D**2, "E|grad f_i(x)|^2 <= L^2 D^2"
    ),
    printed(above_the_tangent, "step")(
        "li2019-reversed",
        lambda c, a, t: c.mu / 2,
        "f(y) - f(x) <= <grad f(x), y - x> + (sigma/2)|y - x|^2",
    ),
    printed(distance_over_gap)(
        "li2019-distance",
        lambda c, a, t: 1 / c.mu,
        "f(x) - f(x*) <= sigma eps^2 gives |x - x*|^2 <= eps^2",
    ),
    Claim(
        name="shen2019-spiderg-(9)",
        statement="S = p = sqrt n gives E|g - grad f|^2 <= eps^2/4, eps = L D/2",
        algorithm=Spider,
        assumptions=("n == 4",),
        check=error_law(
            lambda c, a, past: c.L_ms**2 * c.D**2 / 16,
            parameters=lambda c, T=2: {"iterations": T, "eta": 1 / 2},
        ),
    ),
    state_bounds(ShortFrankWolfe, "fw_gap", "mean", steps_for_one)(
        "shen2019-(10)", lambda c, a: 5, "E V(x_t0) <= 5 eps, eps = 1, with exact gradients"
    ),
    state_bounds(Almond, square_of_step, "step", given(4, step=1, alpha=1 / 10))(
        "pethick2025-D.8",
        lambda c, a, t: (a.alpha * a.step / (1 - a.alpha)) ** 2,
        "|x_k - x_(k-1)| <= alpha rho gamma/(1 - alpha)",
    ),
    recursion(DecreasingRecursion)(
        "pethick2025-D.10",
        lambda c, a, t: max(c.u_1, 4 * c.L_f) / np.sqrt(t + 1),
        "u_k <= (1 - 1/(2 sqrt k)) u_(k-1) + c/k gives u_k <= max(u_1, 4c)/sqrt k",
    ),
    recursion(Recursion)(
        "pethick2025-D.9",
        lambda c, a, t: c.u_1 / 2 ** (t + 1) + 2 * c.L_f,
        "u_k <= (1 - beta) u_(k-1) + eta gives u_k <= (1 - beta)^k u_1 + eta/beta, beta = 1/2",
    ),
    printed(root_over_gap)(
        "li2019-(22)",
        lambda c, a, t: 1 / c.mu,
        "f(x) - f(x*) <= sigma eps^2 gives |x - x*| <= eps^2",
    ),
    printed(one, constants=induction_constants)(
        "li2019-(74)",
        lambda c, a, t: c.L_f * c.N * (c.N + 1) / (64 * c.kappa),
        "64 L delta0/(N(N+1) 2^t sigma) <= L delta0/2^t, N = ceil(8 sqrt(L/sigma))",
    ),
    state_bounds(
        Particles, largest_energy, "every", given(64), ("d == 4",), constants=particle_constants
    )(
        "arxiv-2508.09628",
        lambda c, a, t: 2 * c.diameter_sq / t,
        "J(x_i^(t+1)) <= 2/(t+1) lambda_max d(K^0)^2, J = |x|^2/2, if 0 is in K^0",
    ),
]
