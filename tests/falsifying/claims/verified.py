"""User-defined claims that hold on their own instance, in one dimension."""

from dataclasses import dataclass

import pfbench as pf
from pfbench.claims import Claim, bound
from pfbench.verification.instruments.slopes import ConstantSlopeProblem


@dataclass(frozen=True, kw_only=True)
class Cyclic(pf.Algorithm):
    """Changes one coordinate after the other: gradient descent in one dimension."""

    deterministic = True
    requires = frozenset({"gradient", "smooth"})
    iterations: int
    step: float

    def run(self, ask, x, rng):
        for k in range(self.iterations):
            g, at, x = ask.gradient(x), x, x.copy()
            j = k % len(x)
            x[j] = x[j] - self.step * g[j]
            yield pf.State(x, at, g)


class Descent(Cyclic):
    """Gradient descent."""

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            g, at = ask.gradient(x), x
            x = x - self.step * g
            yield pf.State(x, at, g)


def steps(c, T=40):
    return {"iterations": T, "step": 1 / c.L_f}


def claim(name, method, assumptions):
    return Claim(
        name=name,
        statement="the mean of |grad f(x_t)|^2 is at most 2 L Delta/T",
        algorithm=method,
        instances=(ConstantSlopeProblem(n=4, g=0.5, gap=4.0),),
        assumptions=assumptions,
        check=bound(
            lambda c, a: 2 * c.L_f * c.delta / a.iterations, "gradient_mapping_sq", parameters=steps
        ),
    )


CLAIMS = [
    claim("cyclic-stated", Cyclic, ("f smooth",)),
    claim("cyclic-unstated", Cyclic, ()),
    claim("descent", Descent, ("f smooth",)),
]
