"""Conditional gradient sliding (qu2018, li2019), with an inner Frank-Wolfe loop for projections.

The function condg(l, u, lambda, eta) minimises phi(x) = <l, x> + |x - u|^2/(2 lambda) over C. It
starts at u, uses exact line search, and stops when the Frank-Wolfe gap is at most eta. Every inner
step is one call of the linear minimisation oracle (LO).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from pfbench.algorithms.base import Algorithm, floor_or_one, round_up, smallest_integer
from pfbench.algorithms.estimator_algorithm import EstimatorAlgorithm
from pfbench.algorithms.guarantee import Guarantee, mapping_square_guarantee
from pfbench.base.checks import check_real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.parameters import integer, one_of_values, parameter, positive
from pfbench.base.protocols import AlgorithmOracles, Gradient
from pfbench.base.sample import Sample
from pfbench.base.state import Point, State
from pfbench.estimators.epochs import SVRG
from pfbench.points import combine, gap_and_distance, keep, shift, tilt

_MOVES = 1e-15
"""Weight below which a move changes a point by no more than rounding."""


def condg(ask: AlgorithmOracles, l: Any, u: Point, lam: float, eta: float) -> Point:  # noqa: E741
    """Minimise <l, x> + |x - u|^2/(2 lam) over the set by Frank-Wolfe until the gap is <= eta.

    This is algorithm 1 of qu2018. phi is <l, x> + |x - u|^2/(2 lam) as a function of x. The result
    is a new point, which equals u if the gap at u is at most eta; u is unchanged.

    Raises
    ------
    InputError
        If no step moves x by more than rounding, and the gap is still above eta.
    """
    x = keep(u)
    while True:
        g = tilt(l, x, u, 1.0 / lam)
        v = ask.lo(g)
        gap, length = gap_and_distance(g, x, v)
        if gap <= eta:
            return x
        xi = min(1.0, gap * lam / length**2)
        if xi < _MOVES:
            raise InputError(
                f"the inner loop condg cannot reach the gap eta={eta:g}, as rounding keeps the gap "
                f"at {gap:.3g}: give a larger eta as tolerance."
            )
        x = combine(x, v, xi)


@dataclass(frozen=True, kw_only=True)
class SlidingMethod(Algorithm):
    """Base class of the sliding methods of qu2018, with their common parameters."""

    output: str = parameter("uniform", "uniform, weighted, or last")
    iterations: int = integer(MISSING, "N, updates of the main sequence")
    smoothness: float = positive(MISSING, "L")
    tolerance: float | None = positive(None, "eta, gap at which condg stops; 1/N if not given")

    condg: ClassVar[Callable[..., Point]] = staticmethod(condg)
    requires = frozenset({"gradient", "lo"})
    schedule_parameters = frozenset({"iterations", "smoothness", "tolerance", "batch", "period"})
    scale_dependence = (
        "the source sets the gap eta = chi = 1/N, so its bounds add multiples of L to L Delta"
    )

    @property
    def eta(self) -> float:
        """Frank-Wolfe gap at which each inner loop, condg, stops."""
        return 1.0 / self.iterations if self.tolerance is None else self.tolerance

    @property
    def anytime(self) -> bool:
        """Whether it may stop at any time, as no iterate depends on N; false if eta is 1/N."""
        return self.tolerance is not None

    def output_weight(self, k: int) -> float:
        """Return k (k+1), the weight with which iterate k is drawn as the output."""
        return k * (k + 1.0)


@dataclass(frozen=True, kw_only=True)
class NCGS(SlidingMethod):
    """Non-convex conditional gradient sliding.

    Conditional gradient sliding for non-convex f, with option 1 or 2 of qu2018.

    for k = 1 .. N, alpha = 2/(k+1):
        md = (1 - alpha) ag + alpha theta
        theta+ = condg(grad f(md), theta, lambda, eta)
        option 1:  ag+ = md - (beta/lambda)(theta - theta+),  lambda = beta = 1/(2L)
        option 2:  ag+ = condg(grad f(md), md, beta, chi),  beta = 1/(2L), lambda = k beta/2
    """

    name = "ncgs"
    source = "qu2018 algorithm 2"
    counts = "N iterations: FO N, SFO nN, LO as many as condg needs"
    deterministic = True
    guarantee = mapping_square_guarantee("1/(2 L)", "least")

    option: int = one_of_values(1, "1 or 2, as in the source", (1, 2))

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method with N iterations, enough for accuracy epsilon by theorem 1 of qu2018.

        Theorem 1 of qu2018 bounds min_k |G|^2, for each option.
        """
        L, delta = cls.schedule_constants(constants, "L_f", "delta")
        if overrides.get("option", 1) == 1:
            N = max(1, round_up((12.0 * L * delta + 16.0 * L) / epsilon))
        else:
            D, M, ell = cls.schedule_constants(constants, "D", "M", "ell")

            def bound(N: int) -> float:
                return (
                    192.0 * L * L * D**2 / (N * N * (N + 1.0))
                    + 48.0 * ell * L / N * 3.0 * M**2
                    + 96.0 * L / N
                )

            N = smallest_integer(lambda N: bound(N) <= epsilon)
        return cls.from_schedule(overrides, iterations=N, smoothness=L)

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the class's pseudo-code."""
        beta = 1.0 / (2.0 * self.smoothness)
        theta, ag = keep(x), keep(x)
        for k in range(1, self.iterations + 1):
            md = combine(ag, theta, 2.0 / (k + 1.0))
            g = ask.gradient(md)
            lam = beta if self.option == 1 else k * beta / 2.0
            before, theta = theta, self.condg(ask, g, theta, lam, self.eta)
            if self.option == 1:
                ag = shift(md, theta, before, beta / lam)
            else:
                ag = self.condg(ask, g, md, beta, self.eta)
            yield State(ag, md, g)


@dataclass(frozen=True, kw_only=True)
class StochasticNCGS(SlidingMethod):
    """Stochastic non-convex conditional gradient sliding.

    Stochastic conditional gradient sliding for non-convex f, with batches of size m_k = k.

    It is NCGS with option 2; both calls of condg in an iteration use the same batch.
    """

    name = "ncgs-stochastic"
    source = "qu2018 algorithm 3"
    counts = "N iterations: SFO N(N+1)/2 (with batch: bN), LO as many as condg needs"
    requires = frozenset({"batch", "lo"})
    guarantee = Guarantee("E |g|^2, g the stochastic mapping", "epsilon", "output", "")

    output: str = parameter("weighted", "weighted by k(k+1), uniform, last")
    batch: int | None = integer(None, "m_k; k if not given")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method with N iterations, enough for accuracy epsilon by theorem 2 of qu2018.

        Theorem 2 of qu2018 is used in its provable form, with eta = chi = 1/N.
        """
        L, ell, D, M, sigma2 = cls.schedule_constants(constants, "L", "ell", "D", "M", "sigma2")

        def bound(N: int) -> float:
            return (
                384.0 * L * L * D**2 / (N * (N + 1.0) * (N + 2.0))
                + 96.0 * L * ell * 2.0 * M**2 / (N + 2.0)
                + 96.0 * L / (N * (N + 2.0))
                + 36.0 * L / N
                + 48.0 * sigma2 * (N + 3.0) / ((N + 1.0) * (N + 2.0))
            )

        N = smallest_integer(lambda N: bound(N) <= epsilon)
        return cls.from_schedule(overrides, iterations=N, smoothness=L)

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see option 2 of `NCGS`."""
        beta = 1.0 / (2.0 * self.smoothness)
        theta, ag = keep(x), keep(x)
        for k in range(1, self.iterations + 1):
            md = combine(ag, theta, 2.0 / (k + 1.0))
            G = ask.batch(ask.sample(rng, self.batch or k), md)
            theta = self.condg(ask, G, theta, k * beta / 2.0, self.eta)
            ag = self.condg(ask, G, md, beta, self.eta)
            yield State(ag, md, G)


@dataclass(frozen=True, kw_only=True)
class NCGSVR(SlidingMethod, EstimatorAlgorithm):
    """Variance-reduced non-convex conditional gradient sliding.

    The step is theta+ = condg(v, theta, 1/(3L), eta) with SVRG estimates v.
    """

    name = "ncgs-vr"
    source = "qu2018 algorithm 4"
    counts = "T iterations: FO ceil(T/m), SFO n ceil(T/m) + 2bT, LO as many as condg needs"
    requires = frozenset({"gradient", "difference", "lo"})
    guarantee = mapping_square_guarantee("1/(3 L)")

    batch: int = integer(MISSING, "b")
    period: int = integer(MISSING, "m, iterations between full gradients")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with period n^(1/3) and batch n^(2/3).

        T is a multiple of the period m.

        Then E|G|^2 <= 18 L (Delta+1)/T. The theorem needs m^2 <= 12 b, which holds for every n.
        """
        L, delta = cls.schedule_constants(constants, "L", "delta")
        n = constants.n
        m, b = max(1, round(n ** (1 / 3))), max(1, round(n ** (2 / 3)))
        T = m * max(1, round_up(18.0 * L * (delta + 1.0) / (epsilon * m)))
        return cls.from_schedule(overrides, iterations=T, smoothness=L, batch=b, period=m)

    @property
    def estimator(self) -> SVRG:
        """SVRG gradient estimator, which queries a batch even if x is the snapshot itself."""
        return SVRG(self.batch, self.period, at_snapshot=True)

    def move(self, ask: AlgorithmOracles, x: Point, g: Gradient, t: int) -> Point:
        """Return the next iterate: the result of condg from x for the gradient estimate g."""
        return self.condg(ask, g, x, 1.0 / (3.0 * self.smoothness), self.eta)


@dataclass(frozen=True, kw_only=True)
class CGS(Algorithm):
    """Conditional gradient sliding with restarts.

    for t = 1 .. restarts:  x = y = theta_{t-1}
        for k = 1 .. N:  gamma = 2/(k+1), beta = 3L/k
            z = (1 - gamma) y + gamma x
            x = condg(grad f(z), x, 1/beta, eta_{t,k})
            y = (1 - gamma) y + gamma x
        theta_t = y
    eta_{t,k} = 2 L D_t^2/(N k),  D_t^2 = 4 delta0 2^-t/sigma_hat
    """

    name = "cgs"
    source = "li2019 algorithm 1, from lan2016"
    counts = "T = restarts x N iterations: FO T, SFO nT, LO as many as condg needs"
    requires = frozenset({"gradient", "lo"})
    assumes = frozenset({"restricted strong convexity"})
    condg: ClassVar[Callable[..., Point]] = staticmethod(condg)
    schedule_parameters = frozenset(
        {"restarts", "period", "smoothness", "curvature", "delta", "batch"}
    )
    deterministic = True
    guarantee = Guarantee("f(x) - min f", "epsilon", "last", "excess")

    restarts: int = integer(1, "outer iterations")
    period: int = integer(MISSING, "N, inner iterations of each outer one")
    smoothness: float = positive(MISSING, "L")
    curvature: float = positive(MISSING, "sigma_hat, effective strong convexity")
    delta: float = positive(MISSING, "delta0, at least f(theta_0) - f(theta_hat)")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method for accuracy epsilon, with the schedule of li2019 theorem 1.

        There are log2(delta0/epsilon) restarts of 8 sqrt(L/sigma_hat) inner iterations. L,
        sigma_hat and delta0 are the explicit parameters, or else the problem's constants.
        """
        L = cls.resolve_constant("smoothness", constants, overrides)
        sigma = cls.resolve_constant("curvature", constants, overrides)
        delta = cls.resolve_constant("delta", constants, overrides)
        return cls.from_schedule(
            overrides,
            restarts=max(1, round_up(math.log2(max(delta / epsilon, 2.0)))),
            period=round_up(8.0 * math.sqrt(L / sigma)),
            smoothness=L,
            curvature=sigma,
            delta=delta,
        )

    @classmethod
    def resolve_constant(cls, name: str, constants: Constants, parameters: dict[str, Any]) -> float:
        """Return the parameter `name` if it is given, else the problem's constant of this name."""
        if name in parameters:
            return check_real(name, parameters[name], above=0.0)
        constant = {"smoothness": "L_f", "curvature": "sigma_hat", "delta": "delta"}[name]
        return cls.schedule_constants(constants, constant)[0]

    def eta(self, t: int, k: int) -> float:
        """Return the gap at which condg stops, in inner iteration k of outer iteration t."""
        D2 = 4.0 * self.delta * 2.0**-t / self.curvature
        return 2.0 * self.smoothness * D2 / (self.period * k)

    def gradient(self, ask: AlgorithmOracles, z: Point, y0: Point, mean: Any, rng: Any) -> Any:
        """Return the full gradient at z; STORC returns an estimate instead."""
        return ask.gradient(z)

    def snapshot_gradient(self, ask: AlgorithmOracles, y0: Point) -> Any:
        """Return None: unlike STORC, CGS needs no gradient at the start of an outer iteration."""
        return None

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the class's pseudo-code."""
        theta = keep(x)
        for t in range(1, self.restarts + 1):
            x, y = keep(theta), keep(theta)
            mean = self.snapshot_gradient(ask, theta)
            for k in range(1, self.period + 1):
                gamma, beta = 2.0 / (k + 1.0), 3.0 * self.smoothness / k
                z = combine(y, x, gamma)
                g = self.gradient(ask, z, theta, mean, rng)
                x = self.condg(ask, g, x, 1.0 / beta, self.eta(t, k))
                y = combine(y, x, gamma)
                yield State(y, z, g)
            theta = y


@dataclass(frozen=True, kw_only=True)
class STORC(CGS):
    """Stochastic variance-reduced conditional gradient sliding with restarts.

    The snapshot of outer iteration t is y_0 = theta_{t-1}.
    """

    name = "storc"
    source = "li2019 algorithm 2, from hazan2016"
    counts = "restarts x N iterations: FO restarts, SFO restarts (n + 2mN), LO as condg needs"
    requires = frozenset({"gradient", "difference", "lo"})
    deterministic = False
    guarantee = Guarantee("E f(x) - min f", "epsilon", "mean", "excess")

    batch: int = integer(MISSING, "m; above n drawn as multinomial counts")

    @classmethod
    def theory(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method with the inner iterations and restarts of CGS, and li2019's batch m.

        The batch is m = 5200 N L_max/sigma_hat or more, where N is the number of inner iterations.

        The schedule is that of li2019 theorem 2: m is as stated for convex f_i, else 8000 N
        L~/sigma_hat.
        """
        L = cls.resolve_constant("smoothness", constants, overrides)
        sigma = cls.resolve_constant("curvature", constants, overrides)
        L_max, ell = cls.schedule_constants(constants, "L_max", "ell")
        N = round_up(8.0 * math.sqrt(L / sigma))
        mixed = (L_max + ell) * (1.0 + ell / sigma)
        m = 5200.0 * N * L_max / sigma if ell == 0.0 else 8000.0 * N * mixed / sigma
        return super().theory(epsilon, constants, **{"batch": round_up(m)} | overrides)

    @classmethod
    def practical(cls, epsilon: float, constants: Constants, **overrides: Any) -> Self:
        """Return the method with the theorem's schedule, but with the batch m = n^(2/3).

        The m of the theorem is far above n.
        """
        batch = floor_or_one(constants.n ** (2 / 3))
        return super().theory(epsilon, constants, **{"batch": batch} | overrides)

    def snapshot_gradient(self, ask: AlgorithmOracles, y0: Point) -> Any:
        """Return the full gradient at the snapshot y0, the start of an outer iteration."""
        return ask.gradient(y0)

    def gradient(self, ask: AlgorithmOracles, z: Point, y0: Point, mean: Any, rng: Any) -> Any:
        """Return the SVRG estimate of grad f(z); `mean` is the gradient at the snapshot y0.

        The estimate is the mean over S of [grad f_i(z) - grad f_i(y_0)] plus grad f(y_0).
        """
        return ask.difference(draw_repeating_batch(rng, ask.n, self.batch), z, y0) + mean


def draw_repeating_batch(rng: np.random.Generator, n: int, size: int) -> Any:
    """Draw `size` indices below n with replacement; return them as a `Sample` if size > n.

    If `size` is above n, they are returned as distinct indices with multinomial counts.
    """
    if size <= n:
        return rng.integers(n, size=size)
    counts = rng.multinomial(size, np.full(n, 1.0 / n))
    indices = np.flatnonzero(counts)
    return Sample(indices, counts[indices])
