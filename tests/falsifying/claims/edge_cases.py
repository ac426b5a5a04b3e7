"""Claims at the edge: attained, false by very little, conditional, or that cannot be searched."""

from time import sleep

import numpy as np
from deterministic import Descent, F, Projected, state_bounds
from stochastic import four, half, law, two

import pfbench as pf
from pfbench.claims import Claim, counts


class Failing(Descent):
    """Raises."""

    def run(self, ask, x, rng):
        raise RuntimeError("no")
        yield


class Slow(Descent):
    """Takes a twentieth of a second a step."""

    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            sleep(0.05)
            yield state


class Keeping:
    """Keeps the first gradient in an attribute that is None before the run."""

    name, output, requires = "keeping", "last", frozenset({"gradient", "smooth"})
    deterministic = True

    def __init__(self, iterations, step):
        self.iterations, self.step, self.first = iterations, step, None

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            if self.first is None:
                self.first = ask.gradient(x)
            at, x = x, x - self.step * self.first
            yield pf.State(x, at)


class Hanging(Descent):
    """Makes no step."""

    def run(self, ask, x, rng):
        while True:
            sleep(0.1)
        yield


class Sampled(Descent):
    """Draws by `ask.sample`."""

    deterministic = False

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            g = self.estimate(ask, x, rng)
            at, x = x, x - self.step * g
            yield pf.State(x, at, g)

    def estimate(self, ask, x, rng):
        return ask.batch(ask.sample(rng, 1), x)


class Noisy(Sampled):
    """Draws what cannot be enumerated."""

    def estimate(self, ask, x, rng):
        return (1 + rng.normal()) * ask.gradient(x)


def square(problem, x):
    g = problem.gradient(x)
    return g @ g


def claim(
    name,
    upper,
    method=Descent,
    assumptions=(),
    statistic="mean",
    statement="a bound",
    quantity=square,
    parameters=four,
    **options,
):
    stated = state_bounds(method, quantity, statistic, parameters, assumptions, **options)
    return stated(name, upper, statement)


ATTAINED = claim("attained", lambda c, a: 2 * c.L_f * c.delta / a.iterations)
BELOW = claim("below", lambda c, a: (1 - 1e-9) * 2 * c.L_f * c.delta / a.iterations)
HALF = claim("half", lambda c, a: c.L_f * c.delta / a.iterations)
TWO = claim(
    "two",
    {
        "loose": lambda c, a: 3 * c.L_f * c.delta / a.iterations,
        "tight": lambda c, a: 2 * c.L_f * c.delta / a.iterations,
    },
)
LONG = claim(
    "long", lambda c, a: c.L_f * c.delta / a.iterations, assumptions=("iterations >= 900000",)
)
NEAR = claim("near", lambda c, a: 2 * c.L_f * c.delta / a.iterations, assumptions=("R <= 2",))
ODD = claim("odd", lambda c, a: c.L_f * c.delta / a.iterations, assumptions=("f is pleasant",))
KEEPS = claim("keeps", lambda c, a: c.L_f * c.delta / (4 * a.iterations), method=Keeping)
RAISES = claim("raises", lambda c, a: c.L_f, method=Failing)
SLOW = claim("slow", lambda c, a: 2 * c.L_f * c.delta / a.iterations, method=Slow)
HANGS = claim("hangs", lambda c, a: c.L_f, method=Hanging)
MEAN = claim("normal", lambda c, a: c.L_f * c.delta / (20 * a.iterations), method=Noisy)
SINGLE = claim(
    "single",
    lambda c, a, t: c.L_f,
    method=Noisy,
    statistic="every",
    statement="E|g|^2 <= L for some T",
)
EARLY = claim("early", lambda c, a, t: c.L_f * c.delta, statistic="least")
JUMP = claim("jump", lambda c, a, t: 2 * c.L_f * c.delta / (2 * t + 1), statistic="least")
LATE = claim("late", lambda c, a, t: c.L_f * c.delta, statistic="least", first=1)
COUNT = Claim(
    name="count", statement="cost", algorithm=Descent, check=counts(lambda c, a: {"fo": 1})
)


def with_radius(name, step):
    """Return a claim on frank-wolfe, which takes its smoothness from the problem."""
    return claim(
        name,
        lambda c, a, t: 2 * c.L_f * (c.D / 2) ** 2 / (t + 2),
        "frank-wolfe",
        ("f convex", "bounded domain"),
        "every",
        "f(x_t) - f* <= 2 L (D/2)^2/(t+2)",
        F,
        lambda c, T=16: {"iterations": T, "step": step},
        instances=("quadratic[source=synthetic,set=l2,rows=20,columns=3]",),
    )


RADIUS, SHORT = with_radius("radius", "open-loop"), with_radius("short", "short")


class Tabled(Sampled):
    """Moves along the estimate of SAGA."""

    requires = frozenset({"table", "smooth"})

    def run(self, ask, x, rng):
        table = ask.table(x)
        for _ in range(self.iterations):
            g = table.mean + table.replace(rng.integers(ask.n, size=1), x)
            at, x = x, x - self.step * g
            yield pf.State(x, at, g)


class Coins(Sampled):
    """Doubles a step, or makes none, by the same random number."""

    def estimate(self, ask, x, rng):
        coin = rng.random()
        return (0 if coin < 1 / 3 else 2 if coin >= 1 / 2 else 1) * ask.gradient(x)


class Drawing(Sampled):
    """Draws one component in one of four ways, and weights it by its probability."""

    def estimate(self, ask, x, rng):
        t = int(rng.integers(low=0, high=4))
        p = (1 + np.arange(ask.n)) / sum(range(ask.n + 1))
        weighted = rng.choice(ask.n, p=p)
        pairs = rng.integers(ask.n, size=(2, 1))
        i = [weighted, pairs[1, 0], rng.choice(np.arange(ask.n)), rng.permutation(ask.n)[0]][t]
        return ask.batch(np.array([i]), x) * (1 if t else 1 / (ask.n * p[i]))


class Vertices(Descent):
    """Moves towards a vertex."""

    requires = frozenset({"gradient", "lo"})

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            x = pf.combine(x, ask.lo(ask.gradient(x)), self.step)
            yield pf.State(x)


def gap_at_new_point(problem, x, y):
    """Return the Frank-Wolfe gap by `problem.lo`."""
    g = problem.gradient(y)
    return pf.inner(g, y) - pf.inner(g, problem.lo(g))


def half_of_smooth(c, T=4):
    return {"iterations": T, "step": 1 / (2 * c.L_f)}


def eighth(name, method):
    """Return a false claim on a method that draws."""
    statement, convex = "E f(x_T) - f* <= delta/8", ("f strongly convex",)
    upper = lambda c, a: c.delta / 8  # noqa: E731
    return claim(name, upper, method, convex, "last", statement, F, half_of_smooth)


SAMPLED, TABLED = eighth("sampled", Sampled), eighth("tabled", Tabled)
COINS, DRAWN = eighth("coins", Coins), eighth("drawn", Drawing)
BOUNDED = ("f smooth", "bounded domain")


def mapping(name, factor):
    """Return a claim on the gradient mapping with lambda = 1/(2 L), true for factor 8/3 only."""
    return claim(
        name,
        lambda c, a: factor * c.L * c.delta / a.iterations,
        Projected,
        BOUNDED,
        "mean",
        "the mean of |G(x_t)|^2 over t < T is at most a multiple of L Delta/T",
        "gradient_mapping_sq",
        half,
    )


MAPPED, MAPPED_TIGHT = mapping("mapped", 5 / 2), mapping("mapped-tight", 8 / 3)

VERTEX = claim(
    "vertex",
    lambda c, a, t: c.L_f * c.D**2 / 100,
    Vertices,
    BOUNDED,
    "step",
    "V(x_{t+1}) <= L D^2/100",
    gap_at_new_point,
    lambda c, T=4: {"iterations": T, "step": 1 / 2},
)
DROP = claim(
    *("drop", lambda c, a, t: 0, Descent, ("f smooth",), "step", "f decreases by |g|^2/L"),
    lambda problem, x, y: problem.value(y) - problem.value(x) + square(problem, x) / 4,
    four,
)
LAW = law(Sampled, two, assumptions=("f smooth",))("law", lambda c, a, past: c.sigma2 / 2)


def length_of_step(problem, x):
    L = problem.constants(problem.start()).L_f
    return sum((x - problem.set.project(x - problem.gradient(x) / L)) ** 2)


PROJECTED = claim(
    *("projected", lambda c, a: c.delta / (2 * c.L_f * a.iterations), "projected-gradient"),
    *(BOUNDED, "mean", "mean |x_t - x_{t+1}|^2 <= Delta/(2 L T)", length_of_step, four),
)
SPIDER = law("spider-fw", {"iterations": 2, "step": 0.5, "batch": 1, "period": 2}, None, BOUNDED)(
    "spider", lambda c, a, past: past.error_sq + c.L_f**2 * past.step_sq
)
UNITS = claim(
    *("units", lambda c, a, t: 2 * c.L_f * c.D / (t + 2), "frank-wolfe", BOUNDED, "every"),
    *("f(x_t) - min f <= 2 L D/(t + 2)", "suboptimality"),
    parameters=lambda c, T=8: {"iterations": T, "step": "line-search"},
)
