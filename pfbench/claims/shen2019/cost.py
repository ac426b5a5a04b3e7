"""The least SFO an iteration for which (9) holds: by the error laws, and as counted."""

import math
from dataclasses import dataclass

import numpy as np

from pfbench.claims.shen2019.estimators import error_law
from pfbench.claims.shen2019.paths import Floats
from pfbench.verification import Instance, Step, Trial


@dataclass(frozen=True)
class LeastCost:
    """The least SFO an iteration for which (9) holds on the worst path.

    Attributes
    ----------
    cost
        n/p + 2S(p-1)/p; S for SG.
    S, p
        Where it is attained, integers.
    """

    cost: float
    S: int
    p: int


def least_cost(
    estimator: str, n: int, epsilon: float, *, L: float = 1.0, L2: float = 1.0, sigma2: float = 1.0
) -> LeastCost:
    """Return the least SFO an iteration, over S and p, for which E|g - grad f|^2 <= epsilon^2/4.

    eta = epsilon/L; the error is largest at j = p-1. The cost falls and then grows with p, up to
    the rounding of S; a fine geometric grid of p, refined around its best, finds it.
    """
    if estimator == "sg":
        S = math.ceil(4.0 * sigma2 / epsilon**2)
        return LeastCost(float(S), S, 1)

    def at(p: int) -> LeastCost:
        law = error_law(estimator, p - 1, epsilon / L, 1.0, L=L, L2=L2, sigma2=sigma2)
        S = max(1, math.ceil(4.0 * law / epsilon**2 * (1.0 - 1e-12)))
        return LeastCost((n + 2.0 * S * (p - 1)) / p, S, p)

    def best(periods: set[int]) -> LeastCost:
        return min((at(p) for p in periods if 2 <= p <= n), key=lambda found: found.cost)

    grid = {round(2.0 * 1.05**k) for k in range(math.ceil(math.log(n) / math.log(1.05)))}
    coarse = best(grid)
    around = range(int(coarse.p / 1.1), math.ceil(coarse.p * 1.1) + 1)
    step = max(1, len(around) // 400)
    return best({*around[::step], coarse.p})


def amortised(
    trial: Trial, path: Instance, n: float, epsilon: float, seed: int
) -> tuple[float, float]:
    """Run one epoch of the cheapest schedule with (9) on the path where the law is attained.

    n is rounded to a multiple of 16. Returns the SFO an iteration as counted, and the mean over the
    last tenth of the epoch of the squared error, in units of epsilon^2/4.
    """
    estimator, size = path.parameters["estimator"], 16 * round(n / 16)
    least = least_cost(estimator, size, epsilon)
    # A path of p steps of length epsilon: the segment is so long that they hardly shrink.
    problem = path(n=size, length=1e6 * epsilon * least.p)
    T = least.p if estimator != "sg" else 50
    algorithm = trial.make(
        batch=least.S, period=least.p, iterations=T, step=epsilon / problem.length
    )
    squares, x = [], problem.start()
    last: Step | None = None
    for t, last in enumerate(trial.follow(problem, algorithm, seed=seed)):
        if t >= T - max(1, T // 10):
            error: Floats = last.estimate - problem.gradient(x)
            squares.append(float(error @ error))
        x = last.state.x
    assert last is not None
    return last.counts().sfo / T, float(np.mean(squares)) / (epsilon**2 / 4.0)
