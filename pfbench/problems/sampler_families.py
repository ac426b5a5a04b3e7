"""Families of samplers: functions with noise of known moments, and random rows."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_integer, check_real
from pfbench.base.errors import InputError
from pfbench.base.parameters import parameter
from pfbench.problems.additive_noise import MatrixLeastSquares, SeparableQuadratic
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
from pfbench.problems.random_rows import RandomGLM, RandomRegression, RandomRows
from pfbench.problems.size_limits import check_length
from pfbench.sets.body import ConvexBody


@dataclass(frozen=True, kw_only=True)
class NoiseFamily(AnySetFamily):
    """Function whose gradient gets noise."""

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
    """Function of vectors whose gradient gets noise."""

    points = "vectors"

    columns: int = parameter(11, "length of a point (d)")
    begin: float = parameter(1.0, "each entry of the start, where it is in the set")

    def build(self) -> FiniteSum:
        """Return the sampler."""
        d = check_integer("columns", self.columns, minimum=1)
        check_length("a point", d)
        feasible = self._build_feasible_set((d,))
        begin = np.full(d, check_real("begin", self.begin))
        start = begin if feasible.contains(begin) else feasible.start()
        function = self._build_function(feasible, start)
        return self._add_norm(self._add_noise(function, self._make_noise()))

    @abstractmethod
    def _build_function(self, feasible: ConvexBody, start: Floats) -> FiniteSum:
        """Return f."""

    def _add_noise(self, function: FiniteSum, noise: NoiseDistribution) -> FiniteSum:
        """Return f with additive noise along the first coordinate."""
        return AdditiveNoise(
            function=function, noise=noise, direction=np.eye(1, function.shape[0])[0]
        )


@dataclass(frozen=True, kw_only=True)
class AdditiveFamily(NoisyVectorFamily):
    """Separable quadratic with additive noise."""

    problem: ClassVar[type[FiniteSum]] = AdditiveNoise
    summary = (
        "sampler of (kappa x_1^2 + x_2^2 + ...)/2 with noise xi on the first partial derivative"
    )

    condition: float = parameter(1.0, "kappa")

    def _build_function(self, feasible: ConvexBody, start: Floats) -> FiniteSum:
        weights = np.ones(len(start))
        weights[0] = check_real("condition", self.condition, above=0.0)
        return SeparableQuadratic(
            set=feasible, start_point=start, noise=np.zeros((1, len(start))), weights=weights
        )


@dataclass(frozen=True, kw_only=True)
class MultiplicativeFamily(AdditiveFamily):
    """Separable quadratic with multiplicative noise."""

    problem: ClassVar[type[FiniteSum]] = MultiplicativeNoise
    summary = "sampler of (kappa x_1^2 + x_2^2 + ...)/2 whose gradient is multiplied by 1 + xi"

    def _add_noise(self, function: FiniteSum, noise: NoiseDistribution) -> FiniteSum:
        """Return f with multiplicative noise."""
        return MultiplicativeNoise(function=function, noise=noise)


@dataclass(frozen=True, kw_only=True)
class MatrixAdditiveFamily(NoiseFamily):
    """Squared distance to a normal matrix with additive noise along a partial isometry."""

    problem: ClassVar[type[FiniteSum]] = MatrixAdditiveNoise
    summary = "sampler of |W - B|^2/2 over matrices, with noise xi E, E of rank r and norm 1"
    points = "matrices"

    rows: int = parameter(6, "rows of a point")
    columns: int = parameter(4, "columns of a point")
    rank: int = parameter(2, "r, the rank of E; its singular values are 1/sqrt r")
    seed: int = parameter(0, "seed of B")

    def build(self) -> FiniteSum:
        """Return the sampler."""
        m = check_integer("rows", self.rows, minimum=1)
        k = check_integer("columns", self.columns, minimum=1)
        r = check_integer("rank", self.rank, minimum=1)
        if r > min(m, k):
            raise InputError(f"rank={r} must be at most {min(m, k)}, the shorter side of a point.")
        check_length("a point", m * k)
        rng = np.random.default_rng(check_integer("seed", self.seed, minimum=0))
        feasible = self._build_feasible_set((m, k))
        function = MatrixLeastSquares(
            set=feasible,
            start_point=feasible.start(),
            noise=np.zeros((1, m, k)),
            A=np.eye(m),
            B=rng.standard_normal((m, k)),
        )
        E = np.eye(m, k) * (np.arange(k) < r) / np.sqrt(r)
        return self._add_norm(
            MatrixAdditiveNoise(function=function, noise=self._make_noise(), direction=E)
        )


@dataclass(frozen=True, kw_only=True)
class CubicFamily(NoisyVectorFamily):
    """Cube of the norm with additive noise."""

    problem: ClassVar[type[FiniteSum]] = CubedNorm
    summary = "sampler of rho |x|^3/6 with noise xi on the first partial derivative"

    rho: float = parameter(1.0, "Lipschitz constant of the Hessian")

    def _build_function(self, feasible: ConvexBody, start: Floats) -> FiniteSum:
        rho = check_real("rho", self.rho, above=0.0)
        return CubedNorm(rho=rho, set=feasible, start_point=start)


@dataclass(frozen=True, kw_only=True)
class RandomRowsFamily(AnySetFamily):
    """Loss on random rows: normal features and targets, with random probabilities."""

    problem: ClassVar[type[RandomRows]]
    points = "vectors"
    only_set = "l2"

    set: str | None = parameter(
        None, "feasible set, see `pfbench list sets`; none for the whole space", "l2"
    )
    rows: int = parameter(12, "number of rows (K)")
    columns: int = parameter(5, "length of a point (d)")
    seed: int = parameter(0, "seed of the rows and of their probabilities")

    def build(self) -> FiniteSum:
        """Return the sampler."""
        K = check_integer("rows", self.rows, minimum=1)
        d = check_integer("columns", self.columns, minimum=1)
        check_length("the features", K * d)
        rng = np.random.default_rng(check_integer("seed", self.seed, minimum=0))
        features, targets = rng.standard_normal((K, d)), rng.standard_normal(K)
        weights = 0.5 + rng.random(K)
        return self._add_norm(
            self.problem(
                features=features,
                targets=targets,
                probabilities=weights / weights.sum(),
                set=self._build_feasible_set((d,)),
            )
        )


@dataclass(frozen=True, kw_only=True)
class RegressionFamily(RandomRowsFamily):
    """Least squares on random rows."""

    problem: ClassVar[type[RandomRows]] = RandomRegression
    summary = "sampler of E (<a, x> - b)^2/2 over random rows (a, b), convex"


@dataclass(frozen=True, kw_only=True)
class GLMFamily(RandomRowsFamily):
    """Log-cosh loss on random rows."""

    problem: ClassVar[type[RandomRows]] = RandomGLM
    summary = "sampler of E log cosh(<a, x> - b) over random rows (a, b), convex"
