"""Stochastic Frank-Wolfe methods of Reddi, Sra, Poczos, Smola 2016 (Allerton).

Notation of the source: gamma the step, b the batch, m the epoch length, T iterations, h0 = f(x_0) -
min f.

    for t = 0 .. T-1:
        g_t = mini-batch (sfw), SVRG (svfw) or SAGA (sagafw) estimate at x_t
        v_t = argmin over C of <g_t, v>
        x_{t+1} = x_t + gamma (v_t - x_t)
    output: uniform among x_0 .. x_{T-1}

The mean gap sum V(x_t)/T is at most h0/(T gamma) + L D^2 gamma/2 + D E|g_t - grad f(x_t)|. The
schedules bound the error of each estimator, and make this sum at most epsilon.
"""

import math
from dataclasses import MISSING, dataclass
from typing import Any, ClassVar, Self

from pfbench.algorithms.base import round_up
from pfbench.algorithms.estimator_algorithm import EstimatorAlgorithm
from pfbench.algorithms.guarantee import Guarantee
from pfbench.base.constants import Constants
from pfbench.base.parameters import integer, one_of_values, parameter, positive
from pfbench.estimators.epochs import SG, SVRG
from pfbench.estimators.gradient_tables import SAGA


@dataclass(frozen=True, kw_only=True)
class StochasticFrankWolfe(EstimatorAlgorithm):
    """Base class of Frank-Wolfe methods with a constant step along a gradient estimate."""

    guarantee = Guarantee("E V(x)", "epsilon", "output", "fw_gap")

    output: str = parameter("uniform", "uniform (the source's), or last")
    iterations: int = integer(MISSING, "T")
    step: float = positive(MISSING, "gamma, in (0, 1]", upper=1.0)
    batch: int = integer(MISSING, "b, drawn uniformly with replacement")


def constant_step_schedule(
    error_constant: float, L: float, D: float, h0: float, epsilon: float
) -> dict[str, Any]:
    """Return a constant step gamma and the number T of iterations for accuracy epsilon.

    They satisfy h0/(T gamma) + a L D^2 gamma <= epsilon, where a is `error_constant`. The best
    gamma is sqrt(h0/(a T L D^2)), for which the left side is 2 sqrt(a L D^2 h0/T). T is increased
    if gamma would exceed 1.
    """
    curvature = error_constant * L * D * D
    iterations = max(1, round_up(4.0 * curvature * h0 / epsilon**2), round_up(h0 / curvature))
    step = min(1.0, math.sqrt(h0 / (iterations * curvature)))
    return {"iterations": iterations, "step": step}


class SFW(StochasticFrankWolfe):
    """Stochastic Frank-Wolfe with mini-batches."""

    name = "sfw"
    source = "Reddi, Sra, Poczos, Smola 2016 (Allerton), algorithm 2"
    counts = "T iterations: SFO bT, LO T"
    requires = frozenset({"batch", "lo"})
    estimator_class = SG

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with T iterations and batches of T components.

        The step is sqrt(2 h0/(T L D^2)), with h0 = f(x_0) - min f. T is the least with (sqrt(2 h0 L
        D^2) + D sigma)/sqrt T <= epsilon.
        """
        L, D, h0, sigma2 = cls.schedule_constants(constants, "L", "D", "delta", "sigma2")
        root = math.sqrt(2.0 * h0 * L) * D + D * math.sqrt(sigma2)
        T = max(1, round_up((root / epsilon) ** 2), round_up(2.0 * h0 / (L * D * D)))
        return cls.from_schedule(
            overrides, iterations=T, batch=T, step=min(1.0, math.sqrt(2.0 * h0 / (T * L * D * D)))
        )


@dataclass(frozen=True, kw_only=True)
class SVFW(StochasticFrankWolfe):
    """Stochastic variance-reduced Frank-Wolfe (SVRFW in shen2019)."""

    name = "svfw"
    source = "Reddi, Sra, Poczos, Smola 2016 (Allerton), algorithm 3"
    counts = "T iterations: FO ceil(T/m), SFO n ceil(T/m) + 2bT, LO T"
    requires = frozenset({"gradient", "difference", "lo"})

    period: int = integer(MISSING, "m, iterations between full gradients")

    @property
    def estimator(self) -> SVRG:
        """SVRG gradient estimator, which queries a batch even if x is the snapshot itself."""
        return SVRG(self.batch, self.period, at_snapshot=True)

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with period m = n^(1/3) and batch m^2.

        m is rounded up. The error of the estimate is at most L gamma D. So the mean gap is at most
        h0/(T gamma) + (3/2) L D^2 gamma <= epsilon.
        """
        m = round_up(constants.n ** (1 / 3))
        L, D, h0 = cls.schedule_constants(constants, "L", "D", "delta")
        schedule = constant_step_schedule(1.5, L, D, h0, epsilon)
        return cls(**schedule | {"period": m, "batch": m * m} | overrides)


@dataclass(frozen=True, kw_only=True)
class SAGAFW(StochasticFrankWolfe):
    """SAGA Frank-Wolfe (its claimed complexity is disputed).

    SAGA Frank-Wolfe; shen2019 (appendix 7.2) disputes the complexity that its source claims.
    """

    name = "sagafw"
    source = "Reddi, Sra, Poczos, Smola 2016 (Allerton), algorithm 4"
    counts = "T iterations: SFO n + 2bT, LO T"
    requires = frozenset({"table", "lo"})
    estimator_class = SAGA
    disputed: ClassVar[str] = (
        "the proof of n^(1/3)/epsilon^2 bounds c_0 where it needs the sum of all c_t (shen2019 "
        "appendix 7.2), and contradicts the lower bound sqrt(n)/epsilon^2"
    )

    option: str = one_of_values(
        "repaired", "schedule's batch: repaired n^(2/3), claimed n^(1/3)", ("repaired", "claimed")
    )

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon; option=claimed takes the source's batch.

        The default, with b = n^(2/3), repairs the source: the error is at most sqrt 2 L gamma D
        n/b^(3/2), with L = L_max. A stored gradient is about n/b iterations old. With
        option=claimed, b = n^(1/3), and the step is that of the source, as for `svfw`.
        """
        L, D, h0 = cls.schedule_constants(constants, "L_max", "D", "delta")
        n = constants.n
        if overrides.get("option") == "claimed":
            schedule = constant_step_schedule(1.5, L, D, h0, epsilon) | {
                "batch": round_up(n ** (1 / 3))
            }
        else:
            b = round_up(n ** (2 / 3))
            error = 0.5 + math.sqrt(2.0) * n / b**1.5
            schedule = constant_step_schedule(error, L, D, h0, epsilon) | {"batch": b}
        return cls(**schedule | overrides)
