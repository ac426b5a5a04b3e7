"""Claims about steps without a set that are false, or have no meaning, over a set."""

from dataclasses import replace

from verified import claim, steps

from pfbench.claims import bound

ZERO = bound(
    lambda c, a, t: 0, lambda problem, x, y: problem.value(y) - problem.value(x), statistic="step"
)
PROJECTED = claim("projected", "prox-gd", ("f smooth",))
CLAIMS = [PROJECTED, replace(PROJECTED, name="zero", check=replace(ZERO, parameters=steps))]
