"""Textbook theorems on deterministic methods, and false variants."""

from dataclasses import dataclass

import numpy as np

import pfbench as pf
from pfbench.claims import Claim, bound


@dataclass(frozen=True, kw_only=True)
class Descent(pf.Algorithm):
    """Gradient descent."""

    deterministic = True
    requires = frozenset({"gradient", "smooth"})
    iterations: int
    step: float
    has_estimate: bool = True

    def run(self, ask, x, rng):
        for k in range(self.iterations):
            g = ask.gradient(x)
            at, x = x, x - self.move(k, g)
            yield pf.State(x, at, g if self.has_estimate else None)

    def move(self, k, g):
        return self.step * g


class Decreasing(Descent):
    """The step falls as 1/k."""

    def move(self, k, g):
        return self.step / (k + 1) * g


class Shrunk(Descent):
    """Uses 9/10 of the gradient."""

    def move(self, k, g):
        return self.step * 0.9 * g


class Turning(Descent):
    """Turns round after step 224."""

    def move(self, k, g):
        return self.step * g if k < 224 else -self.step * g


class Greedy(Descent):
    """Changes the coordinate with the largest derivative."""

    def move(self, k, g):
        j = self.chosen(k, g)
        move = 0 * g
        move[j] = self.step * g[j]
        return move

    def chosen(self, k, g):
        return np.argmax(abs(g))


class Cyclic(Greedy):
    """Changes one coordinate after the other."""

    def chosen(self, k, g):
        return k % len(g)


class Sign(Descent):
    """Takes signs."""

    def move(self, k, g):
        return self.step * np.sign(g)


class Threshold(Descent):
    """Ignores a gradient below a twentieth of the first."""

    def run(self, ask, x, rng):
        first = ask.gradient(x)
        for _ in range(self.iterations):
            g = ask.gradient(x)
            at = x
            if g @ g > first @ first / 400:
                x = x - self.step * g
            yield pf.State(x, at, g)


class Nesterov(Descent):
    """Accelerated gradients."""

    def run(self, ask, x, rng):
        y, t = x, 1
        for _ in range(self.iterations):
            g = ask.gradient(y)
            new = y - self.step * g
            s = (1 + np.sqrt(1 + 4 * t * t)) / 2
            y = new + (t - 1) / s * (new - x)
            x, t = new, s
            yield pf.State(x, x, g)


@dataclass(frozen=True, kw_only=True)
class Momentum(Descent):
    """Accelerated gradients for strongly convex functions."""

    momentum: float

    def run(self, ask, x, rng):
        y = x
        for _ in range(self.iterations):
            g = ask.gradient(y)
            new = y - self.step * g
            y = new + self.momentum * (new - x)
            x = new
            yield pf.State(x, x, g)


@dataclass(frozen=True, kw_only=True)
class Projected(Descent):
    """Projected gradients."""

    requires = frozenset({"gradient", "prox"})

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            g = ask.gradient(x)
            at, x = x, ask.prox(x, g, self.step)
            yield pf.State(x, at, g)


@dataclass(frozen=True, kw_only=True)
class FrankWolfe(pf.Algorithm):
    """Frank-Wolfe with the open-loop step 2/(t+2)."""

    deterministic = True
    requires = frozenset({"gradient", "lo"})
    iterations: int

    def run(self, ask, x, rng):
        for t in range(self.iterations):
            g = ask.gradient(x)
            v = ask.lo(g)
            at, x = x, x + self.length(t, g, x, v) * (v - x)
            yield pf.State(x, at, g)

    def length(self, t, g, x, v):
        return 2 / (t + 2)


@dataclass(frozen=True, kw_only=True)
class Short(FrankWolfe):
    """Frank-Wolfe with short steps."""

    smoothness: float

    def length(self, t, g, x, v):
        square = (v - x) @ (v - x)
        return min(g @ (x - v) / (self.smoothness * square), 1) if square > 0 else 0


@dataclass(frozen=True, kw_only=True)
class Away(FrankWolfe):
    """Takes away steps, with short steps."""

    smoothness: float

    def run(self, ask, x, rng):
        V, weights = [ask.lo(ask.gradient(x))], [1.0]
        for _ in range(self.iterations):
            x = sum(weight * v for weight, v in zip(weights, V, strict=True))
            g = ask.gradient(x)
            w, a = ask.lo(g), max(range(len(V)), key=lambda k: g @ V[k])
            away = len(V) > 1 and g @ (x - w) < g @ (V[a] - x)
            d = x - V[a] if away else w - x
            longest = weights[a] / (1 - weights[a]) if away else 1.0
            descent, bend = -(g @ d), self.smoothness * (d @ d)
            gamma = min(longest, descent / bend) if descent > 0 else 0.0
            weights = [(1 + gamma if away else 1 - gamma) * weight for weight in weights]
            if away:
                weights[a] -= gamma
                if gamma == longest:
                    del V[a], weights[a]
            else:
                same = [k for k, v in enumerate(V) if (v == w).all()]
                V, weights = V + [w] * (not same), weights + [0.0] * (not same)
                weights[same[0] if same else -1] += gamma
            yield pf.State(x + gamma * d, x, g)


def times(factor, horizon=16):
    """Return the rule of so many steps of a length in units of 1/L."""
    return lambda c, T=horizon: {"iterations": T, "step": factor / c.L_f}


def given(horizon=16, **values):
    """Return the rule of so many steps and of values that depend on no constant."""
    return lambda c, T=horizon: {"iterations": T, **values}


open_loop, fixed = given(), given(step=0.5)
steps, half, long, double, too_long = map(times, (1, 1 / 2, 3 / 2, 2, 21 / 10))


def middle(c, T=16):
    return {"iterations": T, "step": 2 / (c.L_f + c.mu)}


def accelerated(c, T=16):
    root = np.sqrt(c.mu / c.L_f)
    return {"iterations": T, "step": 1 / c.L_f, "momentum": (1 - root) / (1 + root)}


def short(c, T=16):
    return {"iterations": T, "smoothness": c.L_f}


def harmonic(k):
    return sum(1 / j for j in range(1, k + 1))


def square(problem, x):
    g = problem.gradient(x)
    return g @ g


def length(problem, x):
    return np.sqrt(square(problem, x))


def distance(problem, x):
    away = x - problem.minimiser
    return away @ away


def closer(problem, x, y):
    before = distance(problem, x)
    return distance(problem, y) / before if before > 0 else 0


def per_decrease(problem, x, y):
    decrease = problem.value(x) - problem.value(y)
    return square(problem, x) / decrease if decrease > 0 else 0


def kept(problem, x, y):
    least = problem.best_known[0]
    before = problem.value(x) - least
    return (problem.value(y) - least) / before if before > 0 else 0


def gap(problem, x):
    g = problem.gradient(x)
    return g @ (x - problem.set.lo(g))


CONVEX, STRONG = ("f convex",), ("f strongly convex",)


def state_bounds(
    method, quantity, statistic="mean", parameters=steps, assumptions=(), instances=(), **options
):
    """Return what states a claim; its words are its name if none are given."""
    return lambda name, upper, statement="": Claim(
        name=name,
        statement=statement or name,
        algorithm=method,
        instances=instances,
        assumptions=assumptions,
        check=bound(upper, quantity, statistic=statistic, parameters=parameters, **options),
    )


F = "suboptimality"


def last(method=Descent, parameters=steps, quantity=F):
    return state_bounds(method, quantity, "last", parameters, CONVEX)


def every(method=Descent, parameters=steps, quantity=F):
    return state_bounds(method, quantity, "every", parameters, CONVEX)


def each(method, parameters, quantity, assumptions=CONVEX):
    return state_bounds(method, quantity, "step", parameters, assumptions)


mean = state_bounds(Descent, square)
least = state_bounds(Descent, square, "least")
gradient = last(quantity=square)
strong = state_bounds(Descent, F, "last", steps, STRONG)
wolfe, brief = every(FrankWolfe, open_loop), every(Short, short)
nonconvex = state_bounds(Short, gap, "least", short)
projected = last(Projected)

TRUE = [
    mean("gd-mean", lambda c, a: 2 * c.L_f * c.delta / a.iterations),
    least("gd-least", lambda c, a, t: 2 * c.L_f * c.delta / (t + 1)),
    last()("gd-last", lambda c, a: c.L_f * c.R**2 / (4 * a.iterations + 2)),
    every()("gd-every", lambda c, a, t: c.L_f * c.R**2 / (4 * t + 2)),
    strong("gd-linear", lambda c, a: c.delta * (1 - c.mu / c.L_f) ** (2 * a.iterations)),
    each(Descent, steps, closer, STRONG)("gd-contraction", lambda c, a, t: (1 - c.mu / c.L_f) ** 2),
    each(Descent, steps, per_decrease, ())("gd-decrease", lambda c, a, t: 2 * c.L_f),
    gradient("gd-gradient", lambda c, a: c.L_f**2 * c.R**2 / (a.iterations + 1) ** 2),
    gradient("gd-gradient-gap", lambda c, a: 2 * c.L_f * c.delta / (2 * a.iterations + 1)),
    last(Nesterov)("nesterov", lambda c, a: 2 * c.L_f * c.R**2 / (a.iterations + 1) ** 2),
    state_bounds(Momentum, F, "last", accelerated, STRONG)(
        "nesterov-strong",
        lambda c, a: (1 - np.sqrt(c.mu / c.L_f)) ** a.iterations * (c.delta + c.mu * c.R**2 / 2),
    ),
    wolfe("fw-open", lambda c, a, t: 2 * c.L_f * c.D**2 / (t + 2)),
    brief("fw-short", lambda c, a, t: 2 * c.L_f * c.D**2 / (t + 2)),
    nonconvex("fw-nonconvex", lambda c, a, t: max(2 * c.delta, c.L_f * c.D**2) / np.sqrt(t + 1)),
    state_bounds(FrankWolfe, F, "every", open_loop, ("f convex", "D <= 2 * R"))(
        "fw-near", lambda c, a, t: 8 * c.L_f * c.R**2 / (t + 2)
    ),
    projected("projected", lambda c, a: c.L_f * c.R**2 / (4 * a.iterations)),
    last(Descent, half)("gd-half", lambda c, a: c.L_f * c.R**2 / (2 * a.iterations + 2)),
    last(Descent, long)(
        "gd-long",
        lambda c, a: c.L_f * c.R**2 / 2 * max(1 / (3 * a.iterations + 1), 0.25**a.iterations),
    ),
    state_bounds(Descent, F, "mean", steps, CONVEX)(
        "gd-average", lambda c, a: c.L_f * c.R**2 / a.iterations
    ),
    last(Descent, double, distance)("gd-double", lambda c, a: c.R**2),
    state_bounds(Shrunk, square)(
        "gd-inexact", lambda c, a: 2 * c.L_f * c.delta / (0.99 * a.iterations)
    ),
    state_bounds(Decreasing, square, "least")(
        "gd-decreasing", lambda c, a, t: 2 * c.L_f * c.delta / harmonic(t + 1)
    ),
    state_bounds(Descent, distance, "last", middle, STRONG)(
        "gd-middle", lambda c, a: ((c.L_f - c.mu) / (c.L_f + c.mu)) ** (2 * a.iterations) * c.R**2
    ),
    last(Cyclic)("cyclic-monotone", lambda c, a: c.delta),
]
FALSE = [
    mean("gd-mean-2", lambda c, a: c.L_f * c.delta / a.iterations),
    mean("gd-mean-units", lambda c, a: 2 * c.delta / a.iterations),
    least("gd-least-exponent", lambda c, a, t: 2 * c.L_f * c.delta / (t + 1) ** 1.1),
    last()("gd-last-3", lambda c, a: c.L_f * c.R**2 / (4 * a.iterations + 3)),
    last()("gd-last-exponent", lambda c, a: c.L_f * c.R**2 / (4 * a.iterations**1.1 + 2)),
    strong("gd-linear-3", lambda c, a: c.delta * (1 - c.mu / c.L_f) ** (3 * a.iterations)),
    strong("gd-linear-root", lambda c, a: c.delta * (1 - np.sqrt(c.mu / c.L_f)) ** a.iterations),
    gradient("gd-gradient-exponent", lambda c, a: c.L_f**2 * c.R**2 / (a.iterations + 1) ** 2.5),
    last(Descent, too_long, distance)("gd-too-long", lambda c, a: c.R**2),
    last(Nesterov)("nesterov-2", lambda c, a: c.L_f * c.R**2 / (a.iterations + 1) ** 2),
    each(Nesterov, steps, kept)("nesterov-monotone", lambda c, a, t: 1),
    wolfe("fw-open-2", lambda c, a, t: c.L_f * c.D**2 / (t + 2)),
    wolfe("fw-exponent", lambda c, a, t: 3 * c.L_f * c.D**2 / (t + 2) ** 1.5),
    brief("fw-short-exponent", lambda c, a, t: 4 * c.L_f * c.D**2 / (t + 2) ** 2),
    each(FrankWolfe, open_loop, kept)("fw-monotone", lambda c, a, t: 1),
    nonconvex("fw-nonconvex-1", lambda c, a, t: max(2 * c.delta, c.L_f * c.D**2) / (t + 1)),
    projected("projected-6", lambda c, a: c.L_f * c.R**2 / (6 * a.iterations)),
    every(Cyclic)("cyclic-rate", lambda c, a, t: c.L_f * c.R**2 / (4 * t + 2)),
    last(Greedy)("greedy-rate", lambda c, a: 2 * c.L_f * c.R**2 / a.iterations),
    state_bounds(Sign, length)(
        "sign-mean", lambda c, a: c.delta / (a.step * a.iterations) + a.step * c.L_f / 2
    ),
    state_bounds(Threshold, square, "least")(
        "threshold", lambda c, a, t: 2 * c.L_f * c.delta / (t + 1)
    ),
    every(Turning)("turning", lambda c, a, t: c.L_f * c.R**2 / (4 * t + 2)),
    brief("fw-linear", lambda c, a, t: c.L_f * c.D**2 * 0.9**t),
    last(Descent, steps, distance)("gd-distance", lambda c, a: c.R**2 / a.iterations),
    state_bounds(FrankWolfe, F, "every", open_loop)(
        "fw-convexity-forgotten", lambda c, a, t: 2 * c.L_f * c.D**2 / (t + 2)
    ),
    state_bounds(Short, gap, "every", short)(
        "fw-gap-last", lambda c, a, t: max(2 * c.delta, c.L_f * c.D**2) / np.sqrt(t + 1)
    ),
    state_bounds(Descent, square, "mean", fixed)(
        "gd-fixed", lambda c, a: 4 * c.delta / a.iterations
    ),
    state_bounds(Descent, F, "last")("gd-nonconvex", lambda c, a: c.delta / (a.iterations + 1)),
    # false without the width of the polytope
    state_bounds(Away, F, "every", short, (*STRONG, "polytope"))(
        "away-width", lambda c, a, t: c.L_f * c.D**2 * (1 - c.mu / (32 * c.L_f)) ** ((t - 1) / 2)
    ),
]
