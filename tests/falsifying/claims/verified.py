"""User-defined claims that hold on their own instance, in one dimension."""

from deterministic import Cyclic, Descent

from pfbench.claims import Claim, bound
from pfbench.verification.instruments.slopes import ConstantSlopeProblem


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
