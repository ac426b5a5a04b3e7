"""Families of functions with noise of known moments: finite sums, and samplers."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_real
from pfbench.base.errors import InputError
from pfbench.base.parameters import integer, parameter, positive
from pfbench.problems.additive_noise import NOISES as COMPONENT_NOISES
from pfbench.problems.additive_noise import MatrixLeastSquares, SeparableQuadratic, make_noise
from pfbench.problems.base import FiniteSum
from pfbench.problems.family import AnySetFamily
from pfbench.problems.noisy_gradients import (
    NOISES,
    AdditiveNoise,
    CubedNorm,
    MatrixAdditiveNoise,
    MultiplicativeNoise,
    NoiseDistribution,
)
from pfbench.problems.sampler import RandomGLM, RandomRegression, RandomRows
from pfbench.problems.two_layer import TwoLayerNetwork
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.body import ConvexBody
from pfbench.sets.catalogue import layer_norm_ball


@dataclass(frozen=True, kw_only=True)
class NoisyFamily(AnySetFamily):
    """Base class of the families of quadratics with additive noise."""

    only_set = "none"

    set: str | None = parameter(None, "feasible set, see `pfbench list sets`", "none")
    noise: str = parameter(
        "none", f"noise of the components: {', '.join(COMPONENT_NOISES)}; with none, n = 1"
    )
    sigma: float = parameter(1.0, "standard deviation of the noise, exact")
    components: int = parameter(64, "number of components (n) of normal noise")
    seed: int = integer(0, "seed of the random data", minimum=0)

    def _make_noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return make_noise(self.noise, self.sigma, shape, self.components, rng)


@dataclass(frozen=True, kw_only=True)
class SeparableFamily(NoisyFamily):
    """Family of separable quadratics of a given condition number, with additive noise.

    f is (kappa u_1^2 + u_2^2 + ... + u_d^2)/2 with u = x - c. The start point is (1, ..., 1) by
    default.
    """

    problem: ClassVar[type[FiniteSum]] = SeparableQuadratic
    summary = "(kappa x_1^2 + x_2^2 + ...)/2 with noise of known variance, convex"
    points = "vectors"

    columns: int = integer(11, "length of a point (d)")
    condition: float | None = parameter(None, "kappa", "d")
    begin: float = parameter(1.0, "value of each entry of the start, if that is in the set")
    centre: float = parameter(0.0, "each entry of c")

    def build(self) -> FiniteSum:
        """Build the problem from the values of this family's parameters."""
        d, rng = self.columns, np.random.default_rng(self.seed)
        weights = np.ones(d)
        condition = d if self.condition is None else self.condition
        weights[0] = check_real("condition", condition, minimum=0.0)
        feasible = self._build_feasible_set((d,))
        begin = np.full(d, check_real("begin", self.begin))
        quadratic = SeparableQuadratic(
            set=feasible,
            start_point=begin if feasible.contains(begin) else feasible.start(),
            noise=self._make_noise((d,), rng),
            weights=weights,
            centre=check_real("centre", self.centre),
        )
        return self._with_norm(quadratic)


@dataclass(frozen=True, kw_only=True)
class MatrixLeastSquaresFamily(NoisyFamily):
    """Family of least-squares problems |A W - B|^2/2 with normal random A and B."""

    problem: ClassVar[type[FiniteSum]] = MatrixLeastSquares
    summary = "|A W - B|^2/2 over matrices with noise of known variance, convex"
    points = "matrices"

    rows: int = integer(8, "rows of A and B")
    columns: int = integer(3, "columns of A, rows of W")
    outputs: int = integer(5, "columns of W")

    def build(self) -> FiniteSum:
        """Build the problem from the values of this family's parameters."""
        p, m, n = self.rows, self.columns, self.outputs
        rng = np.random.default_rng(self.seed)
        A, B = rng.standard_normal((p, m)), rng.standard_normal((p, n))
        feasible = self._build_feasible_set((m, n))
        noise = self._make_noise((m, n), rng)
        squares = MatrixLeastSquares(
            set=feasible, start_point=feasible.start(), noise=noise, A=A, B=B
        )
        return self._with_norm(squares)


@dataclass(frozen=True, kw_only=True)
class TwoLayerFamily(AnySetFamily):
    """Family of two-layer networks, fitted to the outputs of a random network of the same size."""

    problem: ClassVar[type[FiniteSum]] = TwoLayerNetwork
    summary = "network of two layers, |W2 tanh(W1 a) - b|^2/2, non-convex"
    points = "vectors"
    only_set = "l2"
    default_radius = 5.0

    set: str | None = parameter(
        None,
        "feasible set, see `pfbench list sets`, or a ball of each layer, such as "
        "spectral[radius=2]*l2; none for the whole space",
        "l2",
    )
    norm: str | None = parameter(
        None, "norm of both layers, or of each, such as spectral*linf, sum(spectral*linf)", "none"
    )
    rows: int = integer(40, "n")
    columns: int = integer(5, "inputs (m)")
    hidden: int = integer(4, "hidden units (h)")
    outputs: int = integer(3, "outputs (k)")
    domain: float | None = parameter(
        None, "with set=none, spectral norm of W2 up to which the constants hold", "infinite"
    )
    seed: int = integer(0, "seed of the data and of the start", minimum=0)

    def build(self) -> FiniteSum:
        """Build the problem from the values of this family's parameters."""
        n, m, h, k = self.rows, self.columns, self.hidden, self.outputs
        rng = np.random.default_rng(self.seed)
        features = rng.standard_normal((n, m)) / np.sqrt(m)
        hidden = np.tanh(features @ rng.standard_normal((m, h)))
        targets = hidden @ rng.standard_normal((h, k)) / np.sqrt(h)
        start = 0.3 * rng.standard_normal(h * (m + k))
        blocks = (h, m), (k, h)
        feasible: ConvexBody
        if self.set is not None and set(self.set) & set("*/[("):
            feasible = layer_norm_ball(self.set, blocks)
            start = start / max(1.0, feasible.norm(start))
        else:
            feasible = self._build_feasible_set(start.shape)
        network = TwoLayerNetwork(
            features=features,
            targets=targets,
            hidden=h,
            set=feasible,
            begin=start if feasible.contains(start) else feasible.project(start),
            domain=self._domain_radius_for_unbounded_set(feasible),
        )
        if self.norm is None:
            return network
        return NormedProblem(network, layer_norm_ball(self.norm, blocks))

    def _domain_radius_for_unbounded_set(self, feasible: ConvexBody) -> float:
        """Return the parameter `domain` (None: infinity); raise if given for a bounded set."""
        if self.domain is None:
            return math.inf
        if math.isfinite(feasible.diameter):
            raise InputError(
                "domain applies only without a bounded set: leave out domain, or choose set=none."
            )
        return check_real("domain", self.domain, above=0.0)


@dataclass(frozen=True, kw_only=True)
class NoiseFamily(AnySetFamily):
    """Base class of the families of samplers whose gradient is an exact gradient plus noise."""

    only_set = "none"

    set: str | None = parameter(None, "feasible set, see `pfbench list sets`", "none")
    noise: str = parameter("two-point", f"distribution of xi: {', '.join(NOISES)}")
    sigma: float = parameter(
        1.0, "root of the moment of xi, (E|xi|^order)^(1/order); for pareto the smallest |xi|"
    )
    order: float = parameter(2.0, "order of the moment that sigma states, in (1, 2]")
    probability: float = parameter(0.5, "q of skewed and three-point noise")
    tail: float = parameter(1.5, "exponent of pareto: P(|xi| > sigma t) = t^-tail")

    def _make_noise(self) -> NoiseDistribution:
        return NoiseDistribution(self.noise, self.sigma, self.order, self.probability, self.tail)


@dataclass(frozen=True, kw_only=True)
class NoisyVectorFamily(NoiseFamily):
    """Base class of the families of functions of a vector with noisy gradients."""

    points = "vectors"

    columns: int = integer(11, "length of a point (d)")
    begin: float = parameter(1.0, "each entry of the start, where it is in the set")

    def build(self) -> FiniteSum:
        """Build the sampler from the values of this family's parameters."""
        d = self.columns
        feasible = self._build_feasible_set((d,))
        begin = np.full(d, check_real("begin", self.begin))
        start = begin if feasible.contains(begin) else feasible.start()
        function = self._build_noiseless_function(feasible, start)
        return self._with_norm(self._add_noise(function, self._make_noise()))

    @abstractmethod
    def _build_noiseless_function(self, feasible: ConvexBody, start: Floats) -> FiniteSum:
        """Return the function f without noise."""

    def _add_noise(self, function: FiniteSum, noise: NoiseDistribution) -> FiniteSum:
        """Return a sampler of f with additive noise in the first entry of the gradient."""
        return AdditiveNoise(inner=function, noise=noise, direction=np.eye(1, function.shape[0])[0])


@dataclass(frozen=True, kw_only=True)
class AdditiveFamily(NoisyVectorFamily):
    """Family of separable quadratics with additive noise."""

    problem: ClassVar[type[FiniteSum]] = AdditiveNoise
    summary = (
        "sampler of (kappa x_1^2 + x_2^2 + ...)/2 with noise xi on the first partial derivative"
    )

    condition: float = positive(1.0, "kappa")

    def _build_noiseless_function(self, feasible: ConvexBody, start: Floats) -> FiniteSum:
        weights = np.ones(len(start))
        weights[0] = self.condition
        return SeparableQuadratic(
            set=feasible, start_point=start, noise=np.zeros((1, len(start))), weights=weights
        )


@dataclass(frozen=True, kw_only=True)
class MultiplicativeFamily(AdditiveFamily):
    """Family of separable quadratics with multiplicative noise."""

    problem: ClassVar[type[FiniteSum]] = MultiplicativeNoise
    summary = "sampler of (kappa x_1^2 + x_2^2 + ...)/2 whose gradient is multiplied by 1 + xi"

    def _add_noise(self, function: FiniteSum, noise: NoiseDistribution) -> FiniteSum:
        """Return a sampler of f with multiplicative noise."""
        return MultiplicativeNoise(inner=function, noise=noise)


@dataclass(frozen=True, kw_only=True)
class MatrixAdditiveFamily(NoiseFamily):
    """Family of the functions |W - B|_F^2/2 with a normal random matrix B, and additive noise.

    The noise is along a partial isometry.
    """

    problem: ClassVar[type[FiniteSum]] = MatrixAdditiveNoise
    summary = "sampler of |W - B|^2/2 over matrices, with noise xi E, E of rank r and norm 1"
    points = "matrices"

    rows: int = integer(6, "rows of a point")
    columns: int = integer(4, "columns of a point")
    rank: int = integer(2, "r, the rank of E; its singular values are 1/sqrt r")
    seed: int = integer(0, "seed of B", minimum=0)

    def build(self) -> FiniteSum:
        """Build the sampler from the values of this family's parameters."""
        m, k, r = self.rows, self.columns, self.rank
        if r > min(m, k):
            raise InputError(f"rank={r} must be at most {min(m, k)} for {m} x {k} matrices.")
        rng = np.random.default_rng(self.seed)
        feasible = self._build_feasible_set((m, k))
        function = MatrixLeastSquares(
            set=feasible,
            start_point=feasible.start(),
            noise=np.zeros((1, m, k)),
            A=np.eye(m),
            B=rng.standard_normal((m, k)),
        )
        E = np.eye(m, k) * (np.arange(k) < r) / np.sqrt(r)
        return self._with_norm(
            MatrixAdditiveNoise(inner=function, noise=self._make_noise(), direction=E)
        )


@dataclass(frozen=True, kw_only=True)
class CubicFamily(NoisyVectorFamily):
    """Family of the function rho |x|^3/6 with additive noise."""

    problem: ClassVar[type[FiniteSum]] = CubedNorm
    summary = "sampler of rho |x|^3/6 with noise xi on the first partial derivative"

    rho: float = positive(1.0, "Lipschitz constant of the Hessian")

    def _build_noiseless_function(self, feasible: ConvexBody, start: Floats) -> FiniteSum:
        return CubedNorm(rho=self.rho, set=feasible, start_point=start)


@dataclass(frozen=True, kw_only=True)
class RandomRowsFamily(AnySetFamily):
    """Base class of the families of losses on random rows.

    Features and targets are normal, and the probabilities of the rows are random.
    """

    problem: ClassVar[type[RandomRows]]
    points = "vectors"
    only_set = "l2"

    set: str | None = parameter(
        None, "feasible set, see `pfbench list sets`; none for the whole space", "l2"
    )
    rows: int = integer(12, "number of rows (K)")
    columns: int = integer(5, "length of a point (d)")
    seed: int = integer(0, "seed of the rows and of their probabilities", minimum=0)

    def build(self) -> FiniteSum:
        """Build the sampler from the values of this family's parameters."""
        K, d = self.rows, self.columns
        rng = np.random.default_rng(self.seed)
        features, targets = rng.standard_normal((K, d)), rng.standard_normal(K)
        weights = 0.5 + rng.random(K)
        return self._with_norm(
            self.problem(
                features=features,
                targets=targets,
                probabilities=weights / weights.sum(),
                set=self._build_feasible_set((d,)),
            )
        )


@dataclass(frozen=True, kw_only=True)
class RegressionFamily(RandomRowsFamily):
    """Family of least-squares losses on random rows."""

    problem: ClassVar[type[RandomRows]] = RandomRegression
    summary = "sampler of E (<a, x> - b)^2/2 over random rows (a, b), convex"


@dataclass(frozen=True, kw_only=True)
class GLMFamily(RandomRowsFamily):
    """Family of log-cosh losses on random rows."""

    problem: ClassVar[type[RandomRows]] = RandomGLM
    summary = "sampler of E log cosh(<a, x> - b) over random rows (a, b), convex"
