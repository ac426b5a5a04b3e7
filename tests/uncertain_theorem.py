"""A right theorem, and the same with a tenth of its constant, on a problem that decides neither."""

from dataclasses import dataclass

import pfbench as pf
from pfbench.claims import Claim, bound


@dataclass(frozen=True, kw_only=True)
class Walk(pf.Algorithm):
    """Gradient descent, of which one iterate is returned by chance."""

    name = "walk"
    requires = frozenset({"gradient", "smooth"})
    output: str = "uniform"
    iterations: int
    step: float

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            g = ask.gradient(x)
            at, x = x, x - self.step * g
            yield pf.State(x, at, g)


def schedule(c):
    return {"iterations": 40, "step": 1 / c.L_f}


def claim(name, constant, **given):
    return Claim(
        name=name,
        statement=f"E|grad f|^2 of a uniform output is at most {constant:g} L Delta/T",
        algorithm=Walk,
        instances="robust-regression[source=synthetic,columns=3,set=none,rows=64]",
        check=bound(
            lambda c, a: constant * c.L_f * c.delta / a.iterations,
            "gradient_mapping_sq",
            statistic="output",
            runs=(20, 20),
            parameters=schedule,
        ),
        **given,
    )


RIGHT = claim("walk-right", 2.0)
SMALL = claim("walk-small", 0.2)
