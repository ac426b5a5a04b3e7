"""Linear minimisation over the ball of a norm: conditional gradient, Scion, Muon, Signum, Almond.

Notation of pethick2025: g_k the mean over a batch at x_k, alpha_k the weight of the newest
gradient, gamma the step, rho the radius of the ball, lmo(d) = argmin of <d, v> over |v| <= rho.

    scg, uscg:      d_k = (1 - alpha_k) d_{k-1} + alpha_k g_k
        scg:        x_{k+1} = (1 - gamma) x_k + gamma lmo(d_k)
        uscg:       x_{k+1} = (1 - gamma mu) x_k + gamma lmo(d_k), mu the weight decay
    uscg-mvr:       d_k = g_k + (1 - alpha) (d_{k-1} - the mean over the same batch at x_{k-1})
    uscg-transport: d_k = (1 - alpha) d_{k-1} + alpha g_k, g_k at x_{k-1} + (x_k - x_{k-1})/alpha
    almond:         d_k = (1 - alpha) d_{k-1} + alpha lmo(g_k), x_{k+1} = x_k + gamma d_k
    muon:           M_k = beta M_{k-1} + g_k, x_{k+1} = (1 - gamma mu) x_k + gamma lmo(M_k)
    muon-nesterov:  M_k = beta M_{k-1} + g_k, the same step with lmo(g_k + beta M_k)
    normuon:        Muon along lmo(M_k) with normalised rows, see the class
    signum, normalised-sgd:  m_k = beta m_{k-1} + (1 - beta) g_k, the same step with lmo(m_k)

Minimisation over a spectral ball is exact, or approximate by a Newton-Schulz or a quintic
iteration. A parameter of the problem's norm selects the algorithm. The measure lmo_products is its
number of matrix products, and lmo_lower and lmo_upper are its accuracy.
"""

from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from typing import Any, ClassVar

import numpy as np

from pfbench.algorithms.base import Algorithm
from pfbench.algorithms.estimator_algorithm import EstimatorAlgorithm
from pfbench.base.errors import InputError
from pfbench.base.parameters import integer, nonnegative, one_of_values, parameter, positive
from pfbench.base.protocols import AlgorithmOracles, Gradient
from pfbench.base.state import Point, State
from pfbench.estimators.momentum import STORM, Transport
from pfbench.points import combine

INITIAL_MOMENTA = ("gradient", "zero")
"""Initial values of a momentum: d_1 = g_1, or d_0 = 0."""


@dataclass(frozen=True, kw_only=True)
class MomentumAlgorithm(Algorithm):
    """Base class of methods that minimise <d, v> over a norm ball, for an average d of gradients.

    The momentum is an average of batch gradients.
    """

    requires = frozenset({"batch", "lo", "norm"})
    counts = "K iterations: SFO bK, LO K"
    anytime = True
    schedule_parameters = frozenset()

    output: str = parameter("uniform", "uniform among the x_k (the analysis's), or last")
    iterations: int = integer(MISSING, "K")
    step: float = positive(MISSING, "gamma")
    batch: int = integer(MISSING, "b, drawn uniformly with replacement")

    def batch_gradient(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Gradient:
        """Return the mean of the component gradients at x over a random batch."""
        return ask.batch(ask.sample(rng, self.batch), x)


@dataclass(frozen=True, kw_only=True)
class ConditionalGradient(MomentumAlgorithm):
    """Base class of scg and uscg, which average gradients; the newest has the weight alpha."""

    alpha: float | None = positive(
        None, "alpha, weight of the newest gradient, in (0, 1]; k^(-1/2) if not given", upper=1.0
    )
    begin: str = one_of_values(
        "gradient",
        "gradient (the analysis: alpha_1 = 1), or zero (the box: d_0 = 0)",
        INITIAL_MOMENTA,
    )

    def gradient_weight(self, k: int) -> float:
        """Return alpha_k, the weight of the newest gradient in iteration k >= 1."""
        if k == 1 and self.begin == "gradient":
            return 1.0
        return k**-0.5 if self.alpha is None else self.alpha

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the module's pseudo-code."""
        d: Any = 0.0
        for k in range(1, self.iterations + 1):
            alpha = self.gradient_weight(k)
            d = (1.0 - alpha) * d + alpha * self.batch_gradient(ask, x, rng)
            at, x = x, self.update(x, ask.lo(d))
            yield State(x, at, d)

    def update(self, x: Point, v: Point) -> Point:
        """Return the next iterate (1 - gamma) x + gamma v, for the vertex v and the step gamma."""
        return combine(x, v, self.step)


@dataclass(frozen=True, kw_only=True)
class SCG(ConditionalGradient):
    """Stochastic conditional gradient with momentum, over a set or the ball of a norm.

    Stochastic conditional gradient with momentum, over a set or over the ball of a norm.
    """

    name = "scg"
    source = "Pethick et al. 2025, SCG; the estimate of Mokhtari, Hassani, Karbasi 2020"
    requires = frozenset({"batch", "lo"})

    step: float = positive(MISSING, "gamma, in (0, 1]", upper=1.0)


@dataclass(frozen=True, kw_only=True)
class WeightDecayAlgorithm(MomentumAlgorithm):
    """Base class of methods with weight decay, whose iterates may leave the ball of the norm."""

    decay: float = nonnegative(0.0, "mu, weight decay: gamma mu x is subtracted in a step")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step * self.decay > 1.0:
            raise InputError(
                f"step={self.step:g} times decay={self.decay:g} exceeds 1: lower one of them."
            )

    def update(self, x: Point, v: Point) -> Point:
        """Return the next iterate (1 - gamma mu) x + gamma v, for step gamma and decay mu."""
        return (1.0 - self.step * self.decay) * x + self.step * v


@dataclass(frozen=True, kw_only=True)
class USCG(WeightDecayAlgorithm, ConditionalGradient):
    """Steps along minimisers over the ball of a norm at averaged gradients (Scion).

    Unconstrained stochastic conditional gradient: steps along minimisers over a norm ball.
    """

    name = "uscg"
    source = "Pethick et al. 2025, uSCG; with decay its constrained form in other parameters"


@dataclass(frozen=True, kw_only=True)
class EstimatorUSCG(EstimatorAlgorithm):
    """Base class of unconstrained conditional gradient along STORM or transport estimates."""

    requires = frozenset({"batch", "lo", "norm"})
    schedule_parameters = frozenset()

    output: str = parameter("uniform", "uniform among the x_k, or last")
    iterations: int = integer(MISSING, "K")
    step: float = positive(MISSING, "gamma")
    batch: int = integer(MISSING, "b, drawn uniformly with replacement")
    alpha: float = positive(MISSING, "alpha, weight of the newest gradient, in (0, 1]", upper=1.0)
    snapshot: int | None = integer(None, "b0, the first batch; b if not given")

    def move(self, ask: AlgorithmOracles, x: Point, g: Gradient, t: int) -> Point:
        """Return the next iterate, a step from x along the linear minimiser for the estimate g."""
        return x + self.step * ask.lo(g)


@dataclass(frozen=True, kw_only=True)
class USCGMVR(EstimatorUSCG):
    """Steps along minimisers over the ball of a norm at STORM estimates."""

    name = "uscg-mvr"
    source = "uSCG of Pethick et al. 2025 with the estimate of Cutkosky, Orabona 2019; pfbench"
    counts = "K iterations: SFO b0 + 2b(K-1), LO K"
    estimator_class = STORM


@dataclass(frozen=True, kw_only=True)
class USCGTransport(EstimatorUSCG):
    """Steps along minimisers over the ball of a norm at transported gradients."""

    name = "uscg-transport"
    source = "Jang, Lee 2026, LMO-IGT (abstract); the estimate of Cutkosky, Mehta 2020"
    counts = "K iterations: SFO b0 + b(K-1), LO K"
    estimator_class = Transport


@dataclass(frozen=True, kw_only=True)
class Almond(MomentumAlgorithm):
    """Steps along averages of minimisers over the ball of a norm.

    Almond: steps along an average of linear minimisers, rather than of gradients.
    """

    name = "almond"
    source = "Pethick et al. 2025, Almond"

    alpha: float = positive(MISSING, "alpha, weight of the newest minimiser, in (0, 1]", upper=1.0)

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update.

        See the module's pseudo-code; d_1 = lmo(g_1).
        """
        d: Any = None
        for _ in range(self.iterations):
            g = self.batch_gradient(ask, x, rng)
            v = ask.lo(g)
            d = v if d is None else (1.0 - self.alpha) * d + self.alpha * v
            at, x = x, x + self.step * d
            yield State(x, at, g)


@dataclass(frozen=True, kw_only=True)
class Muon(WeightDecayAlgorithm):
    """Muon: orthogonalised momentum, over the spectral norm.

    The step size eta of its source is gamma times the radius.
    """

    name = "muon"
    source = "Kim, Oh 2026; Jordan et al. 2024 without Nesterov's momentum"
    requires = frozenset({"batch", "lo", "norm", "norm spectral"})

    beta: float = nonnegative(MISSING, "beta, weight of the old momentum, in [0, 1)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beta >= 1.0:
            raise InputError(f"beta={self.beta:g} must be below 1.")

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update.

        The estimate in the state is (1 - beta) M.
        """
        M: Any = 0.0
        for _ in range(self.iterations):
            M = self.beta * M + self.batch_gradient(ask, x, rng)
            at, x = x, self.update(x, ask.lo(M))
            yield State(x, at, (1.0 - self.beta) * M)


@dataclass(frozen=True, kw_only=True)
class MuonNesterov(Muon):
    """Muon with Nesterov's momentum, over the spectral norm.

    Muon as used in practice, with Nesterov's momentum.

    The claim `peng2026-thm3.1` bounds its error. In the paper's form, M_k is an average, and lmo
    is taken at N_k = beta M_k + (1 - beta) g_k. This M_k is 1 - beta times the M_k of this module,
    so that N_k = (1 - beta) (g_k + beta M_k). As lmo does not change under positive multiples, the
    methods are the same.
    """

    name = "muon-nesterov"
    source = "Jordan et al. 2024"

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update.

        The estimate in the state is (1 - beta)(g + beta M).
        """
        M: Any = 0.0
        for _ in range(self.iterations):
            g = self.batch_gradient(ask, x, rng)
            M = self.beta * M + g
            ahead = g + self.beta * M
            at, x = x, self.update(x, ask.lo(ahead))
            yield State(x, at, (1.0 - self.beta) * ahead)


@dataclass(frozen=True, kw_only=True)
class NorMuon(Muon):
    """NorMuon: orthogonalised momentum with normalised rows, over the spectral norm.

    NorMuon: Muon with each row of a step divided by the root of its averaged mean square.

    V_k = lmo(M_k), and v_k = beta2 v_{k-1} + (1 - beta2) mean of V_k^2 over each row. The step is
    along D_k, the rows V_k/sqrt(v_k), scaled to the Frobenius norm 0.2 sqrt(m n) for points of
    shape (m, n). A vector is one row.
    """

    name = "normuon"
    source = "Zhang, Lin 2026, algorithm 1, alpha = 0"

    beta2: float = nonnegative(0.95, "beta2, weight of the old mean squares, in [0, 1]", upper=1.0)

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update."""
        M: Any = 0.0
        v: Any = 0.0
        for _ in range(self.iterations):
            M = self.beta * M + (1.0 - self.beta) * self.batch_gradient(ask, x, rng)
            V = ask.lo(M)
            v = self.beta2 * v + (1.0 - self.beta2) * (V * V).mean(axis=-1, keepdims=True)
            rows = np.divide(V, np.sqrt(v), out=V + 0.0, where=v > 0.0)
            D = 0.2 * np.sqrt(V.size) / (np.linalg.norm(rows) or 1.0) * rows
            at, x = x, self.update(x, D)
            yield State(x, at, M)


@dataclass(frozen=True, kw_only=True)
class Signum(Muon):
    """Signum: signs of averaged gradients, over the l-infinity norm.

    Signum: steps along the signs of averaged gradients.

    The step eta of its source is gamma rho.
    """

    name = "signum"
    source = "Bernstein, Wang, Azizzadenesheli, Anandkumar 2018, Signum"
    requires = frozenset({"batch", "lo", "norm", "norm linf"})
    initial_momentum: ClassVar[str] = "zero"

    beta: float = nonnegative(MISSING, "beta, weight of the old average, in [0, 1)")

    def run(self, ask: AlgorithmOracles, x: Point, rng: np.random.Generator) -> Iterator[State]:
        """Start at x, and yield a state after each update; see the module's pseudo-code."""
        m: Any = 0.0
        for k in range(self.iterations):
            g = self.batch_gradient(ask, x, rng)
            first = k == 0 and self.initial_momentum == "gradient"
            m = g if first else self.beta * m + (1.0 - self.beta) * g
            at, x = x, self.update(x, ask.lo(m))
            yield State(x, at, m)


@dataclass(frozen=True, kw_only=True)
class NormalisedSGD(Signum):
    """Normalised gradient steps with momentum, over the l2 norm.

    Normalised SGD: steps along averaged gradients, of the length gamma times the radius.
    """

    name = "normalised-sgd"
    source = "Cutkosky, Mehta 2020, with m_1 = g_1"
    requires = frozenset({"batch", "lo", "norm", "norm l2"})
    initial_momentum = "gradient"
