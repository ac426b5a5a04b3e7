"""SARAH, SPIDER and the momentum form of Prox-SpiderBoost.

The three methods share the recursive estimate v_t = mean over S of [grad f_i(x_t) - grad
f_i(x_{t-1})] + v_{t-1}, with a reference gradient at the start of each epoch. They differ in their
steps along this estimate.
"""

import math
from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from typing import Any, Self

import numpy as np

from pfbench.algorithms.base import round_up, smallest_integer
from pfbench.algorithms.estimator_algorithm import EstimatorAlgorithm
from pfbench.algorithms.guarantee import Guarantee, gradient_square_guarantee
from pfbench.algorithms.proximal import COMPOSITE, SMOOTH
from pfbench.base.checks import check_integer
from pfbench.base.constants import Constants
from pfbench.base.parameters import integer, nonnegative, one_of_values, parameter, positive
from pfbench.base.protocols import AlgorithmOracles
from pfbench.base.state import Point, State
from pfbench.estimators.epochs import SPIDERG
from pfbench.points import combine, keep, shift

_NEEDS = frozenset({"gradient", "difference"})


@dataclass(frozen=True, kw_only=True)
class RecursiveMethod(EstimatorAlgorithm):
    """Base class of SARAH, SPIDER and Prox-SpiderBoost-M, with their common parameters."""

    estimator_class = SPIDERG

    iterations: int = integer(MISSING, "T")
    batch: int = integer(MISSING, "S")
    period: int = integer(MISSING, "epoch length, iterations between full gradients")


@dataclass(frozen=True, kw_only=True)
class SARAH(RecursiveMethod):
    """SARAH, unconstrained.

    for each outer loop, from x_0:
        v_0 = grad f(x_0),  x_1 = x_0 - eta v_0
        for t = 1 .. p-1:  v_t recursive,  x_{t+1} = x_t - eta v_t
        next x_0: x_t with t uniform in 0 .. p-1 (output=uniform), or the last (output=last)
    """

    name = "sarah"
    source = "Nguyen, Liu, Scheinberg, Takac 2017 (arXiv 1705.07261)"
    counts = "T iterations: FO ceil(T/p), SFO n ceil(T/p) + 2S(T - ceil(T/p))"
    requires = _NEEDS | SMOOTH
    guarantee = gradient_square_guarantee()

    output: str = parameter("uniform", "uniform: each outer loop starts at a random x_t; or last")
    step: float = positive(MISSING, "eta")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with batch sqrt n and a single outer loop.

        The length p of the loop is the least with E|grad f|^2 <= 2 h0/(eta p) <= epsilon, for the
        step eta = 2/(L (1 + sqrt(1 + 4m/b))) with m = p - 1.
        """
        L, h0 = cls.schedule_constants(constants, "L", "delta")
        b = check_integer(
            "batch", overrides.get("batch", round_up(math.sqrt(constants.n))), minimum=1
        )

        def step(p: int) -> float:
            return 2.0 / (L * (1.0 + math.sqrt(1.0 + 4.0 * (p - 1) / b)))

        p = smallest_integer(lambda p: 2.0 * h0 / (step(p) * p) <= epsilon)
        return cls.from_schedule(overrides, iterations=p, period=p, batch=b, step=step(p))

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the class's pseudo-code."""
        estimate = self.estimator.start(ask, rng)
        goes_on = self.output == "last"
        chosen = None if goes_on else keep(x)
        for first in range(0, self.iterations, self.period):
            t0 = int(rng.integers(self.period))
            for t in range(min(self.period, self.iterations - first)):
                if t == t0 and not goes_on:
                    chosen = keep(x)
                v = estimate(x)
                at, x = x, ask.prox(x, v, self.step)
                yield State(x, at, v, chosen)
            x = x if goes_on else chosen


@dataclass(frozen=True, kw_only=True)
class Spider(RecursiveMethod):
    """SPIDER-SFO with normalised steps, unconstrained.

    v_k recursive
    option 2:  x_{k+1} = x_k - min(step/|v_k|, lam) v_k
    option 1:  x_{k+1} = x_k - (step/|v_k|) v_k, stop when |v_k| <= 2 tolerance
    """

    name = "spider"
    source = "Fang, Li, Lin, Zhang 2018, algorithm 1"
    counts = "T iterations: FO ceil(T/q), SFO n ceil(T/q) + 2S(T - ceil(T/q))"
    requires = _NEEDS | SMOOTH
    schedule_parameters = RecursiveMethod.schedule_parameters | {"lam"}
    guarantee = Guarantee(
        "E |grad f|",
        "5 epsilon",
        "output",
        "gradient_mapping_sq",
        0.5,
        lambda epsilon, constants: 5.0 * epsilon,
    )

    output: str = parameter("uniform", "uniform, or last (option 1: last)")
    step: float = positive(MISSING, "length of a step, epsilon/(L n0)")
    lam: float | None = positive(None, "option 2: largest multiple of v, 1/(2 L n0)")
    option: int = one_of_values(2, "1 or 2, as in the source", (1, 2))
    tolerance: float = nonnegative(0.0, "option 1 stops where |v| <= 2 tolerance")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method with period and batch sqrt n, step epsilon/L and K iterations.

        The number of iterations is K = floor(4 L Delta/epsilon^2) + 1. With n0 = 1, E|grad f| <= 5
        epsilon.
        """
        L, delta = cls.schedule_constants(constants, "L", "delta")
        root = round_up(math.sqrt(constants.n))
        return cls.from_schedule(
            overrides,
            iterations=math.floor(4.0 * L * delta / epsilon**2) + 1,
            step=epsilon / L,
            lam=1.0 / (2.0 * L),
            batch=root,
            period=root,
        )

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the class's pseudo-code."""
        estimate = self.estimator.start(ask, rng)
        longest = math.inf if self.lam is None else self.lam
        for k in range(self.iterations):
            v = estimate(x)
            norm = float(np.linalg.norm(v))
            if self.option == 1 and norm <= 2.0 * self.tolerance:
                if k == 0:  # the output is the start
                    yield State(x, x, v, x)
                return
            eta = self.step / norm if norm > 0.0 else 0.0
            at, x = x, ask.prox(x, v, min(eta, longest) if self.option == 2 else eta)
            yield State(x, at, v, x if self.option == 1 else None)


@dataclass(frozen=True, kw_only=True)
class ProxSpiderBoostM(RecursiveMethod):
    """Proximal SpiderBoost with momentum.

    alpha_{k+1} = 2/(ceil((k+1)/q) + 1)
    z_k = (1 - alpha_{k+1}) y_k + alpha_{k+1} x_k
    v_k recursive along z_k
    x_{k+1} = prox_{lambda_k h}(x_k - lambda_k v_k),  lambda_k = (1 + alpha_{k+1}) beta
    y_{k+1} = z_k + (beta/lambda_k)(x_{k+1} - x_k)
    """

    name = "prox-spiderboost-m"
    source = "wang2019 algorithm 3"
    counts = "T iterations: FO ceil(T/q), SFO n ceil(T/q) + 2S(T - ceil(T/q)), PO T"
    requires = _NEEDS | COMPOSITE

    output: str = parameter("uniform", "uniform among z_k, or last (y)")
    step: float = positive(MISSING, "beta, 1/(8L)")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method with step 1/(8L) and as many iterations as prox-spiderboost.

        The period and the batch are sqrt n. Theorem 3 of wang2019 states T only in O(.).
        """
        L, delta = cls.schedule_constants(constants, "L", "delta")
        root = math.sqrt(constants.n)
        return cls.from_schedule(
            overrides,
            iterations=max(1, round_up(20.0 * L * delta / epsilon**2)),
            step=1.0 / (8.0 * L),
            batch=round_up(root),
            period=max(1, math.floor(root)),
        )

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the class's pseudo-code."""
        estimate = self.estimator.start(ask, rng)
        y, beta = keep(x), self.step
        for k in range(self.iterations):
            alpha = 2.0 / (math.ceil((k + 1) / self.period) + 1.0)
            lam = (1.0 + alpha) * beta
            z = combine(y, x, alpha)
            v = estimate(z)
            before, x = x, ask.prox(x, v, lam)
            y = shift(z, x, before, beta / lam)
            yield State(y, z, v)
