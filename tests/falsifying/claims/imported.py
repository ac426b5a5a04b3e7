"""False claims on methods that are in other files of the folder."""

import math

from deterministic import FrankWolfe, Nesterov, open_loop, steps
from stochastic import Spider

from pfbench.claims import Claim, bound, error_law


def once(c):
    """Two steps with batches of two."""
    return {"iterations": 3, "step": 1 / (2 * c.L_f), "batch": 2}


def spider(name, square, mean, *assumptions):
    """Return a claim on the error of the recursive estimate."""
    return Claim(
        name=name,
        statement=name,
        algorithm=Spider,
        assumptions=("f smooth", *assumptions),
        check=error_law(square, mean=mean, parameters=once),
    )


def on_convex(name, method, upper, parameters, *assumptions):
    """Return a claim on f(x_t) - min f for every t."""
    check = bound(upper, "suboptimality", statistic="every", parameters=parameters)
    words = ("f is convex", *assumptions)
    return Claim(name=name, statement=name, algorithm=method, assumptions=words, check=check)


FALSE = [
    # with replacement the factor is 1
    spider(
        "population-factor",
        lambda c, a, past: (
            past.error_sq + (c.n - a.batch) / (c.n - 1) * c.L_ms**2 / a.batch**2 * past.step_sq
        ),
        lambda c, a, past: past.error,
    ),
    spider(
        "no-bias",
        lambda c, a, past: past.error_sq + c.L_ms**2 / a.batch * past.step_sq,
        lambda c, a, past: 0 * past.error,
    ),
    on_convex(
        "two-thirds",
        Nesterov,
        lambda c, a, t: 2 * c.L_f * c.R**2 / (3 * (t + 1) ** 2) if t > 1 else math.inf,
        steps,
    ),
    on_convex(
        "first-step",
        FrankWolfe,
        lambda c, a, t: c.L_f * c.D**2 / (2 * t + 1 / 2) if t else math.inf,
        open_loop,
        "bounded domain",
    ),
]
