"""Gradient descent of a user, with a right rate and a wrong one."""

from dataclasses import dataclass

import pfbench as pf
from pfbench.claims import Claim, bound


@dataclass(frozen=True, kw_only=True)
class Down(pf.Algorithm):
    requires = frozenset({"gradient", "smooth"})
    deterministic = True
    iterations: int
    step: float = 1.0

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            x = x - self.step * ask.gradient(x)
            yield pf.State(x)


def steps(c, T=50):
    return {"iterations": T, "step": 1 / c.L_f}


def claim(name, factor):
    def most(c, a):
        return factor * c.L_f * c.delta / a.iterations

    check = bound(most, "gradient_mapping_sq", parameters=steps)
    on = ("quadratic[source=synthetic,set=none]",)
    return Claim(name=name, statement="", algorithm=Down, instances=on, check=check)


TRUE, WRONG = claim("true", 2), claim("wrong", 1.9)
