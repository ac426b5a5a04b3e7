"""Conditional gradient sliding of Lan and Zhou, and its SPIDER form for non-convex sums.

The function condg(l, u, lambda, eta) of `sliding` minimises <l, x> + |x - u|^2/(2 lambda) over C.
It starts at u, and stops when the Frank-Wolfe gap is at most eta.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from pfbench.algorithms.base import Algorithm, SamplingAlgorithm, round_up, smallest_integer
from pfbench.algorithms.estimator_algorithm import EstimatorAlgorithm
from pfbench.algorithms.guarantee import Guarantee, mapping_square_guarantee
from pfbench.algorithms.sliding import SlidingMethod, condg
from pfbench.base.constants import Constants
from pfbench.base.parameters import integer, positive
from pfbench.base.protocols import AlgorithmOracles, Gradient
from pfbench.base.state import Point, State
from pfbench.estimators.epochs import SPIDERG
from pfbench.points import combine, keep


@dataclass(frozen=True, kw_only=True)
class ConvexCGS(Algorithm):
    """Conditional gradient sliding for convex f, the method that `cgs` and `ncgs` extend.

    y = x = x_0
    for k = 1 .. N:  gamma = 3/(k+2), beta = 3L/(k+1), eta = L D^2/(k(k+1))
        z = (1 - gamma) y + gamma x
        x = condg(grad f(z), x, 1/beta, eta)
        y = (1 - gamma) y + gamma x
    """

    name = "cgs-convex"
    source = "Lan, Zhou 2016, conditional gradient sliding"
    counts = "N iterations: FO N, SFO nN, LO as many as condg needs, at most 9N(N+1) + N"
    requires = frozenset({"gradient", "lo"})
    assumes = frozenset({"convex"})
    schedule_parameters = frozenset({"iterations", "smoothness", "diameter"})
    constant_defaults = (("smoothness", "L_f"), ("diameter", "D"))
    deterministic = True
    anytime = True
    condg: ClassVar[Callable[..., Point]] = staticmethod(condg)
    guarantee = Guarantee("f(x) - min f", "epsilon", "last", "excess")

    iterations: int = integer(MISSING, "N")
    smoothness: float = positive(MISSING, "L; the problem's L_f if not given")
    diameter: float = positive(MISSING, "D; the set's if not given")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method with the least number N of iterations that ensures accuracy epsilon.

        N is the least with 15 L D^2/(2(N+1)(N+2)) <= epsilon. Let Gamma_k = 6/(k(k+1)(k+2)). As
        beta gamma/Gamma increases with k, f(y_k) - min f is at most beta_k gamma_k D^2/2 + Gamma_k
        sum of eta_i gamma_i/Gamma_i (Lan 2020, section 7.2).
        """
        L, D = cls.schedule_constants(constants, "L_f", "D")
        size = 7.5 * L * D * D
        N = smallest_integer(lambda N: size / ((N + 1.0) * (N + 2.0)) <= epsilon)
        return cls.from_schedule(overrides, iterations=N, smoothness=L, diameter=D)

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the class's pseudo-code."""
        L = self.smoothness
        x, y = keep(x), keep(x)
        for k in range(1, self.iterations + 1):
            gamma, beta = 3.0 / (k + 2.0), 3.0 * L / (k + 1.0)
            z = combine(y, x, gamma)
            g = ask.gradient(z)
            x = self.condg(ask, g, x, 1.0 / beta, L * self.diameter**2 / (k * (k + 1.0)))
            y = combine(y, x, gamma)
            yield State(y, z, g)


@dataclass(frozen=True, kw_only=True)
class NCGSSpider(SlidingMethod, SamplingAlgorithm, EstimatorAlgorithm):
    """Non-convex conditional gradient sliding with SPIDER gradients.

    Conditional gradient sliding for non-convex sums, with SPIDER gradient estimates.

    With a SPIDER estimate G, the step is x+ = condg(G, x, 1/L, eta). In the source, components are
    drawn in proportion to their constants L_i, and L is the mean of the L_i. This is
    sampling=importance. Uniform draws, which pfbench adds, use L_ms for L.
    """

    name = "ncgs-spider"
    source = "Lan 2020, algorithm 7.12 in sliding, and with uniform draws"
    counts = "N iterations: FO ceil(N/T), SFO n ceil(N/T) + 2b(N - ceil(N/T)), LO as condg needs"
    requires = frozenset({"gradient", "difference", "lo"})
    guarantee = mapping_square_guarantee("1/L")
    scale_dependence = ""
    estimator_class = SPIDERG

    tolerance: float = positive(MISSING, "eta, gap at which condg stops")
    batch: int = integer(MISSING, "b")
    period: int = integer(MISSING, "T, iterations between full gradients")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method with tolerance epsilon/(48 L), period sqrt n and batch 10 sqrt n.

        The number of iterations is N = 32 L Delta/epsilon. In the notation of the module, eta is
        the tolerance, T the period and b the batch.

        Then E|G|^2 <= 16 L Delta/N + 24 L eta <= epsilon (Lan 2020, theorem 7.18, corollary 7.13).
        """
        L, (delta,) = (
            cls.schedule_smoothness(constants, overrides),
            cls.schedule_constants(constants, "delta"),
        )
        T = round_up(math.sqrt(constants.n))
        return cls.from_schedule(
            overrides,
            iterations=max(1, round_up(32.0 * L * delta / epsilon)),
            smoothness=L,
            tolerance=epsilon / (48.0 * L),
            period=T,
            batch=10 * T,
        )

    def move(self, ask: AlgorithmOracles, x: Point, g: Gradient, t: int) -> Point:
        """Return the next iterate: the result of condg from x for the gradient estimate g."""
        return self.condg(ask, g, x, 1.0 / self.smoothness, self.eta)
