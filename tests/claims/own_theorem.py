"""A theorem of somebody's own: gradient descent, and a planted fault, and an erratum."""

from dataclasses import dataclass

import pfbench as pf
from pfbench.claims import Claim, Erratum, ExaminationEvidence, Mutant, bound, counts
from pfbench.verification.instruments.slopes import ConstantSlopeProblem


@dataclass(frozen=True, kw_only=True)
class Descent(pf.Algorithm):
    """Gradient descent."""

    name = "descent"
    requires = frozenset({"gradient", "smooth"})
    deterministic = True
    iterations: int
    step: float

    def run(self, ask, x, rng):
        for _ in range(self.iterations):
            g = ask.gradient(x)
            at, x = x, x - self.step * g
            yield pf.State(x, at, g)


def schedule(c):
    return {"iterations": 40, "step": 1 / c.L_f}


def slope():
    """Return a slope on which every gradient is the same until its end."""
    return ConstantSlopeProblem(n=4, g=0.5, gap=4.0)


MEAN = Claim(
    name="descent-mean",
    source="Nesterov 2004, (1.2.15)",
    statement="the mean of |grad f(x_t)|^2 is at most 2 L Delta/T",
    algorithm=Descent,
    instances=(slope,),
    check=bound(
        lambda c, a: 2 * c.L_f * c.delta / a.iterations, "gradient_mapping_sq", parameters=schedule
    ),
)

DECREASE = Claim(
    name="descent-value",
    source="Nesterov 2004, (1.2.13)",
    statement="f never exceeds f(x_0)",
    algorithm=Descent,
    instances=("quadratic[rows=20,columns=3,source=synthetic,set=none]", slope()),
    check=bound(lambda c, a, t: c.delta, "value", statistic="every", parameters=schedule),
)

COUNT = Claim(
    name="descent-count",
    statement="T iterations cost n T component gradients",
    algorithm=Descent,
    instances=(slope,),
    check=counts(lambda c, a: {"sfo": c.n * a.iterations}, parameters=schedule),
)


class Twice(Descent):
    """Asks for each gradient twice."""

    def run(self, ask, x, rng):
        for state in super().run(ask, x, rng):
            ask.gradient(state.x)
            yield state


def misprint(effort, seed):
    return ExaminationEvidence(printed_fails=True, corrected_holds=True, numbers={"ratio": 2.0})


CLAIMS = [MEAN, DECREASE, COUNT]
MUTANTS = [Mutant.from_variant("descent-twice", Twice, COUNT)]
ERRATA = [
    Erratum(
        name="descent-(1)", as_printed="L Delta/T", corrected="2 L Delta/T", examine=misprint,
        claim=MEAN,
    )
]  # fmt: skip
