"""False claims on methods that are in other files of the folder."""

import math

from deterministic import F, FrankWolfe, Nesterov, every, open_loop, state_bounds
from stochastic import Spider, law


def once(c):
    """Two steps with batches of two."""
    return {"iterations": 3, "step": 1 / (2 * c.L_f), "batch": 2}


FALSE = [
    # with replacement the factor is 1
    law(Spider, once, lambda c, a, past: past.error, ("f smooth",))(
        "population-factor",
        lambda c, a, past: (
            past.error_sq + (c.n - a.batch) / (c.n - 1) * c.L_ms**2 / a.batch**2 * past.step_sq
        ),
    ),
    law(Spider, once, lambda c, a, past: 0 * past.error, ("f smooth",))(
        "no-bias", lambda c, a, past: past.error_sq + c.L_ms**2 / a.batch * past.step_sq
    ),
    every(Nesterov)(
        "two-thirds", lambda c, a, t: 2 * c.L_f * c.R**2 / (3 * (t + 1) ** 2) if t > 1 else math.inf
    ),
    state_bounds(FrankWolfe, F, "every", open_loop, ("f is convex", "bounded domain"))(
        "first-step", lambda c, a, t: c.L_f * c.D**2 / (2 * t + 1 / 2) if t else math.inf
    ),
]
