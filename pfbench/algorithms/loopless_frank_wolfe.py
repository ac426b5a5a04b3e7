"""Frank-Wolfe along SPIDER, PAGE, L-SVRG, ZeroSARAH, STORM and heavy-ball estimates.

Notation: gamma_t the step, b the batch, p the chance of a full gradient, T iterations, h0 = f(x_0)
- min f, sigma^2 the variance.

    for t = 0 .. T-1:
        g_t = estimate at x_t
        v_t = argmin over C of <g_t, v>
        x_{t+1} = x_t + gamma_t (v_t - x_t)
    output: uniform among x_0 .. x_{T-1}; the last iterate where f is convex

A step has a length of at most gamma D. If E|g_t - grad f(x_t)|^2 is at most (c L gamma D)^2, the
mean gap is at most h0/(T gamma) + (1/2 + c) L D^2 gamma, as for `svfw`. pfbench derives the
schedules from this bound. They have the rates of the cited papers, but other constants.
"""

import math
from dataclasses import MISSING, dataclass
from typing import Any, ClassVar, Self

from pfbench.algorithms.base import SamplingAlgorithm, floor_or_one, round_up, smallest_integer
from pfbench.algorithms.estimator_algorithm import EstimatorAlgorithm
from pfbench.algorithms.guarantee import Guarantee
from pfbench.algorithms.loopless import page_parameters, table_entry_refresh_probability
from pfbench.algorithms.stochastic_frank_wolfe import StochasticFrankWolfe, constant_step_schedule
from pfbench.base.constants import Constants
from pfbench.base.parameters import integer, parameter, positive
from pfbench.base.protocols import AlgorithmOracles, Gradient
from pfbench.base.state import Point
from pfbench.estimators.base import Estimator
from pfbench.estimators.epochs import LSVRG, PAGE, SPIDERG, DoublingSPIDER
from pfbench.estimators.gradient_tables import ZeroSARAH
from pfbench.estimators.momentum import STORM, HeavyBall, VanishingWeights
from pfbench.points import combine

_DIFFERENCES = frozenset({"gradient", "difference", "lo"})
_BATCHES = frozenset({"batch", "lo"})


@dataclass(frozen=True, kw_only=True)
class SpiderFW(StochasticFrankWolfe, SamplingAlgorithm):
    """Frank-Wolfe with SPIDER gradients.

    Frank-Wolfe for non-convex f along SPIDER estimates, with a full gradient every q iterations.

    With sampling=importance, it is the conditional gradient method of Lan 2020, section 7.4, with
    constant weights.
    """

    name = "spider-fw"
    source = (
        "Yurtsever, Sra, Cevher 2019, SPIDER-FW for non-convex finite sums; Lan 2020, section 7.4, "
        "for draws by the L_i"
    )
    counts = "T iterations: FO ceil(T/q), SFO n ceil(T/q) + 2b(T - ceil(T/q)), LO T"
    requires = _DIFFERENCES
    estimator_class = SPIDERG

    batch: int = integer(MISSING, "b, drawn with replacement")
    period: int = integer(MISSING, "q, iterations between full gradients")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with period and batch sqrt n.

        T is the least for which the bound sqrt(6 L D^2 h0/T) of the gap is at most epsilon.

        Then c = 1. The bounded gap is the mean over t of the expected gap.
        """
        L = cls.schedule_smoothness(constants, overrides)
        D, h0 = cls.schedule_constants(constants, "D", "delta")
        root = math.sqrt(constants.n)
        sizes = {"batch": round_up(root), "period": floor_or_one(root)}
        return cls.from_schedule(
            overrides, **sizes, **constant_step_schedule(1.5, L, D, h0, epsilon)
        )


# --- with a coin ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LooplessFW(StochasticFrankWolfe):
    """Base class of Frank-Wolfe methods with full gradients at random iterations."""

    counts = "T iterations, R heads of T-1 coins: FO 1 + R, SFO n + nR + 2b(T-1-R), LO T"
    requires = _DIFFERENCES
    schedule_parameters = StochasticFrankWolfe.schedule_parameters | {"refresh"}
    estimator_class: ClassVar[type[Estimator]] = PAGE

    refresh: float = positive(MISSING, "p, chance of a full gradient", upper=1.0)


class PAGEFW(LooplessFW):
    """Frank-Wolfe with PAGE gradients.

    Frank-Wolfe along PAGE estimates, with full gradients at random iterations, not in epochs.
    """

    name = "page-fw"
    source = "Li, Bao, Zhang, Richtarik 2021, its estimate; Beznosikov, Dobre, Gidel 2024"

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon: batch b = sqrt n, probability p = b/(n + b).

        Then c = 1, as for spider-fw.
        """
        L, D, h0 = cls.schedule_constants(constants, "L", "D", "delta")
        return cls.from_schedule(
            overrides,
            **page_parameters(constants.n),
            **constant_step_schedule(1.5, L, D, h0, epsilon),
        )


class LSVRGFW(LooplessFW):
    """Frank-Wolfe with loopless SVRG gradients."""

    name = "lsvrg-fw"
    source = "Kovalev, Horvath, Richtarik 2020, its estimate"
    estimator_class = LSVRG

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon: batch n^(2/3)/2, `refresh` min(1, 2 n^(-1/3)).

        The constant is c^2 = (1-p)(2-p)/(p^2 b), at most 1. |x_t - w| is at most gamma D times the
        age of w, whose mean square is (1-p)(2-p)/p^2.
        """
        L, D, h0 = cls.schedule_constants(constants, "L", "D", "delta")
        n = constants.n
        b, p = round_up(n ** (2 / 3) / 2.0), min(1.0, 2.0 * n ** (-1 / 3))
        c = math.sqrt((1.0 - p) * (2.0 - p) / b) / p
        return cls.from_schedule(
            overrides, batch=b, refresh=p, **constant_step_schedule(0.5 + c, L, D, h0, epsilon)
        )


# --- with a table, and with momentum --------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ZeroSARAHFW(StochasticFrankWolfe):
    """Frank-Wolfe with ZeroSARAH gradients.

    Frank-Wolfe along ZeroSARAH estimates; the table starts with all component gradients.
    """

    name = "zerosarah-fw"
    source = "Li, Hanzely, Richtarik 2021, its estimate"
    counts = "T iterations: SFO n + 2b(T-1), LO T"
    requires = frozenset({"table", "lo"})
    schedule_parameters = StochasticFrankWolfe.schedule_parameters | {"table_weight"}

    table_weight: float = positive(MISSING, "lambda, weight of the table's mean", upper=1.0)

    @property
    def estimator(self) -> ZeroSARAH:
        """ZeroSARAH gradient estimator."""
        return ZeroSARAH(self.batch, self.table_weight)

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with batch b = sqrt n and a derived table weight.

        The weight is lambda = q/2, where q = 1 - (1 - 1/n)^b is the probability that a batch
        replaces a given table entry. The constant is c^2 = 4/(ab), where a = lambda (2 - lambda).
        """
        L, D, h0 = cls.schedule_constants(constants, "L", "D", "delta")
        b = round_up(math.sqrt(constants.n))
        lam = table_entry_refresh_probability(constants.n, b) / 2.0
        error = 0.5 + 2.0 / math.sqrt(lam * (2.0 - lam) * b)
        return cls.from_schedule(
            overrides, batch=b, table_weight=lam, **constant_step_schedule(error, L, D, h0, epsilon)
        )


@dataclass(frozen=True, kw_only=True)
class StormFW(StochasticFrankWolfe):
    """Frank-Wolfe with STORM gradients.

    Frank-Wolfe along STORM estimates, without full gradients and with a constant batch size.
    """

    name = "storm-fw"
    source = "Cutkosky, Orabona 2019, its estimate"
    counts = "T iterations: SFO b0 + 2b(T-1), LO T; b0 = b without snapshot"
    requires = _BATCHES
    schedule_parameters = StochasticFrankWolfe.schedule_parameters | {"alpha", "snapshot"}
    estimator_class = STORM

    alpha: float = positive(MISSING, "alpha, weight of the newest gradient, in (0, 1]", upper=1.0)
    snapshot: int | None = integer(None, "b0, batch of the first estimate; b if not given")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon: weight alpha, first batch 1/alpha, then batch 1.

        The weight of the newest gradient is alpha = min(1, L gamma D/sigma).

        Then E|g_t - grad f(x_t)|^2 <= 2 L gamma D sigma. T is the least with h0/(T gamma) + L D^2
        gamma/2 + D sqrt(2 L gamma D sigma) <= epsilon for gamma = min(1, (2 h0^2/(L sigma D^3
        T^2))^(1/3), sqrt(2 h0/(L D^2 T))). In the limit the left side is 2.39 (L sigma D^3
        h0/T)^(1/3).
        """
        L, D, h0, sigma2 = cls.schedule_constants(constants, "L", "D", "delta", "sigma2")
        sigma = math.sqrt(sigma2)

        def gamma(T: int) -> float:
            upper = min(1.0, math.sqrt(2.0 * h0 / (L * D * D * T)))
            return min(
                upper, (2.0 * h0**2 / (L * sigma * D**3 * T**2)) ** (1 / 3) if sigma else 1.0
            )

        def bound(T: int) -> float:
            step = gamma(T)
            error = math.sqrt(2.0 * L * step * D * sigma)
            return h0 / (T * step) + L * D * D * step / 2.0 + D * error

        T = smallest_integer(lambda T: bound(T) <= epsilon)
        step = gamma(T)
        alpha = min(1.0, L * step * D / sigma) if sigma else 1.0
        schedule = {"iterations": T, "step": step, "alpha": alpha, "snapshot": round_up(1 / alpha)}
        return cls.from_schedule(overrides, batch=1, **schedule)


# --- convex f -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ConvexFW(EstimatorAlgorithm):
    """Base class of Frank-Wolfe methods for convex f, with steps that decrease as 2/t."""

    assumes = frozenset({"convex"})
    guarantee = Guarantee("E f(x) - min f", "epsilon", "mean", "excess")

    output: str = parameter("last", "last (the bound's), or uniform")
    iterations: int = integer(MISSING, "T")
    step: float | None = positive(None, "gamma, in (0, 1]; it decreases if not given", upper=1.0)

    def gamma(self, t: int) -> float:
        """Return the step size gamma_t of iteration t."""
        return 2.0 / (t + 2.0) if self.step is None else self.step

    def move(self, ask: AlgorithmOracles, x: Point, g: Gradient, t: int) -> Point:
        """Return the next iterate: a Frank-Wolfe step of size gamma_t along the estimate g."""
        return combine(x, ask.lo(g), self.gamma(t))


@dataclass(frozen=True, kw_only=True)
class OneSampleFW(ConvexFW):
    """Base class of Frank-Wolfe methods along averages of batch gradients, with steps 2/(t+2).

    The weight of the newest gradient in the average decreases.
    """

    counts = "T iterations: SFO b + 2b(T-1), LO T"
    requires = _BATCHES

    batch: int = integer(1, "b, drawn uniformly with replacement")
    alpha: float | None = positive(
        None, "weight of the newest gradient, in (0, 1]; it decreases if not given", upper=1.0
    )


class OneSFW(OneSampleFW):
    """One-sample Frank-Wolfe for convex f.

    One-sample stochastic Frank-Wolfe (1-SFW), for a sample distribution independent of x.

    It moves along STORM estimates with alpha_t = 1/(t+1).
    """

    name = "one-sfw"
    source = "Zhang et al. 2020, 1-SFW"

    @property
    def estimator(self) -> STORM:
        """STORM gradient estimator, by default with the weights alpha_t = 1/(t+1)."""
        return STORM(self.batch, self.alpha or VanishingWeights(1.0))

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method with the least T for which the bound on f(x_T) - min f is <= epsilon.

        The bound of f(x_T) - min f is 4/3 D sqrt((2 sigma^2 + 8 L^2 D^2)/T) + 2 L D^2/(T+1).

        The bound follows from (t+1)^2 E|e_t|^2 <= t^2 E|e_{t-1}|^2 + 2 sigma^2 + 8 L^2 D^2 for the
        error e_t of the estimate, as t(t+1)(f(x_t) - min f) telescopes.
        """
        L, D, sigma2 = cls.schedule_constants(constants, "L", "D", "sigma2")
        error = 4.0 / 3.0 * D * math.sqrt(2.0 * sigma2 + 8.0 * L * L * D * D)
        T = smallest_integer(
            lambda T: error / math.sqrt(T) + 2.0 * L * D * D / (T + 1.0) <= epsilon
        )
        return cls.from_schedule(overrides, iterations=T)


class MomentumSFW(OneSampleFW):
    """Stochastic Frank-Wolfe with momentum for convex f.

    Frank-Wolfe along a heavy-ball average, whose newest gradient has the weight (t+1)^(-2/3).
    """

    name = "momentum-sfw"
    source = "Mokhtari, Hassani, Karbasi 2020, stochastic conditional gradient"
    counts = "T iterations: SFO bT, LO T"

    @property
    def estimator(self) -> HeavyBall:
        """Heavy-ball gradient estimator, by default with the weights alpha_t = (t+1)^(-2/3)."""
        return HeavyBall(self.batch, self.alpha or VanishingWeights(2 / 3))

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method with the least T for which the bound on f(x_T) - min f is <= epsilon.

        The bound of f(x_T) - min f is (6/5) D (sigma + 2.06 L D)/T^(1/3) + 2 L D^2/(T+1).

        Here L = L_f. The bound follows from E|e_t| <= (sigma + 2.06 L D)/(t+1)^(1/3) for the error
        e_t of the estimate. Induction gives the noise term sigma. The recursion of the bias takes
        values below 2.06 for t up to 2 10^6; its limit is 2.
        """
        L, D, sigma2 = cls.schedule_constants(constants, "L_f", "D", "sigma2")
        error = 1.2 * D * (math.sqrt(sigma2) + 2.06 * L * D)
        T = smallest_integer(
            lambda T: error * T ** (-1 / 3) + 2.0 * L * D * D / (T + 1.0) <= epsilon
        )
        return cls.from_schedule(overrides, iterations=T)


@dataclass(frozen=True, kw_only=True)
class PAGEConvexFW(ConvexFW):
    """Frank-Wolfe with PAGE gradients for convex f.

    Frank-Wolfe for convex f along PAGE estimates, with steps 2/(t+s), where s is `delay`.
    """

    name = "page-fw-convex"
    source = "Li, Bao, Zhang, Richtarik 2021, its estimate"
    counts = LooplessFW.counts
    requires = _DIFFERENCES
    schedule_parameters = ConvexFW.schedule_parameters | {"refresh", "delay"}
    estimator_class = PAGE

    batch: int = integer(MISSING, "b, drawn uniformly with replacement")
    refresh: float = positive(MISSING, "p, chance of a full gradient", upper=1.0)
    delay: int = integer(MISSING, "s of the steps 2/(t+s), at least 2", minimum=2)

    def gamma(self, t: int) -> float:
        """Return the step size of iteration t: 2/(t + delay), or `step` if it is given."""
        return 2.0 / (t + self.delay) if self.step is None else self.step

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon: batch b = sqrt n, probability p = b/(n + b).

        The offset of the steps is s = 5/p.

        Let K = (2-p)/(pb) and C = L D^2 (1/2 + sqrt K). E|e_t|^2 <= K (L D gamma_t)^2, as gamma
        decreases by at most the share p/5 in a step. So f(x_t) - min f <= ((s-1)(s-2) h0 + 4 C
        t)/((t+s-1)(t+s-2)).
        """
        L, D, h0 = cls.schedule_constants(constants, "L", "D", "delta")
        sizes = page_parameters(constants.n)
        b, p = sizes["batch"], sizes["refresh"]
        s = round_up(5.0 / p)
        C = L * D * D * (0.5 + math.sqrt((2.0 - p) / (p * b)))

        def bound(T: int) -> float:
            return ((s - 1.0) * (s - 2.0) * h0 + 4.0 * C * T) / ((T + s - 1.0) * (T + s - 2.0))

        T = smallest_integer(lambda T: bound(T) <= epsilon)
        return cls.from_schedule(overrides, **sizes, delay=s, iterations=T)


@dataclass(frozen=True, kw_only=True)
class SpiderConvexFW(ConvexFW):
    """Frank-Wolfe with SPIDER gradients for convex f, in epochs that double.

    Frank-Wolfe for convex f along SPIDER estimates, in epochs that double in length.

    Epoch s = 0, 1, ... has 2^s steps, with batches of size 2^s.
    """

    name = "spider-fw-convex"
    source = "Yurtsever, Sra, Cevher 2019, SPIDER-FW for convex finite sums"
    counts = (
        "T iterations, E epochs started: FO E, SFO nE + 2 sum over epochs of 2^s (its steps - 1), "
        "LO T"
    )
    requires = _DIFFERENCES
    estimator_class = DoublingSPIDER

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method with the least T for which 10 L D^2/(T+1) <= epsilon.

        An epoch has 2^s steps of length at most 2D/(2^s + 1). So the root mean square of the error
        e_t of the estimate is at most 4 L D/(t+2). In each step, t(t+1)(f(x_t) - min f) increases
        by at most (8 + 2) L D^2.
        """
        L, D = cls.schedule_constants(constants, "L", "D")
        return cls.from_schedule(
            overrides, iterations=max(1, round_up(10.0 * L * D * D / epsilon) - 1)
        )
