"""Samplers of a function whose gradient gets additive or multiplicative noise of known moments."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_choice, check_real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.protocols import Gradient
from pfbench.problems.base import content_digest
from pfbench.problems.sampler import Atoms, SamplerWithKnownMean
from pfbench.problems.single_component import Operator, SingleComponent
from pfbench.sets.body import ConvexBody

NOISES = ("two-point", "skewed", "three-point", "pareto")
"""Distributions of a number of mean 0; see `NoiseDistribution`."""


@dataclass(frozen=True)
class NoiseDistribution:
    """Distribution of a scalar noise xi with mean 0 and known exact moments.

    Attributes
    ----------
    kind
        two-point: sigma or -sigma; skewed: a (1 - q) with probability q, else -a q; three-point:
        a or -a with probability q/2 each, else 0; pareto: symmetric with
        P(|xi| > sigma t) = t^(-tail) for t >= 1, of infinite variance for tail <= 2.
    sigma
        Root of the moment of order p, (E|xi|^p)^(1/p), above 0; for pareto the smallest |xi|.
    order
        The p of sigma, in (1, 2]; skewed and three-point noise set a so that sigma is right.
    probability
        The q of skewed and three-point, in (0, 1).
    tail
        Exponent of pareto, above 1.
    """

    kind: str = "two-point"
    sigma: float = 1.0
    order: float = 2.0
    probability: float = 0.5
    tail: float = 1.5

    def __post_init__(self) -> None:
        check_choice("noise", self.kind, NOISES)
        check_real("sigma", self.sigma, above=0.0)
        check_real("order", self.order, above=1.0, upper=2.0)
        check_real("tail", self.tail, above=1.0)
        if not check_real("probability", self.probability, above=0.0) < 1.0:
            raise InputError(f"probability={self.probability:g} must be below 1.")

    @cached_property
    def atoms(self) -> Atoms | None:
        """Values and probabilities of the distribution; None if it is continuous (pareto)."""
        q, p, sigma = self.probability, self.order, self.sigma
        if self.kind == "two-point":
            return Atoms(np.array([sigma, -sigma]), np.array([0.5, 0.5]))
        if self.kind == "skewed":
            a = sigma / (q * (1.0 - q) ** p + (1.0 - q) * q**p) ** (1.0 / p)
            return Atoms(np.array([a * (1.0 - q), -a * q]), np.array([q, 1.0 - q]))
        if self.kind == "three-point":
            a = sigma * q ** (-1.0 / p)
            return Atoms(np.array([a, -a, 0.0]), np.array([q / 2.0, q / 2.0, 1.0 - q]))
        return None

    def moment(self, order: float) -> float:
        """Return the moment E|xi|^order of the noise xi, which may be infinite."""
        if self.atoms is None:
            finite = order < self.tail
            return self.sigma**order * self.tail / (self.tail - order) if finite else math.inf
        values, probabilities = self.atoms
        return float(probabilities @ np.abs(values) ** order)

    def draw_scalars(self, rng: np.random.Generator, size: int) -> Floats:
        """Return `size` independent draws of the noise xi, shape (size,)."""
        if self.atoms is None:
            signs = 2.0 * rng.integers(2, size=size) - 1.0
            return np.asarray(self.sigma * signs * (1.0 - rng.random(size)) ** (-1.0 / self.tail))
        values, probabilities = self.atoms
        return np.asarray(values[rng.choice(len(values), size=size, p=probabilities)])


@dataclass(frozen=True, eq=False, kw_only=True)
class NoisyGradient(SamplerWithKnownMean):
    """Sampler of a function whose exact gradient is perturbed by noise.

    Attributes
    ----------
    noise
        Distribution of xi.
    """

    noise: NoiseDistribution

    @property
    def atoms(self) -> Atoms | None:  # type: ignore[override]
        """Values and probabilities of the noise xi; None if xi has infinitely many values."""
        return self.noise.atoms

    @property
    def digest(self) -> str:
        """Hash of the function and of the noise distribution."""
        return content_digest((type(self).__name__, self.inner.digest, self.noise))

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Return `size` independent draws of the noise xi, shape (size,)."""
        return self.noise.draw_scalars(rng, size)

    def constants(self, start: Any) -> Constants:
        """Return the constants of the function and of the noise, with their derivations."""
        names = ("D", "L_f", "L2_ms", "delta", "M", "sigma_hat", "ell")
        constants = self.inner.constants(start)
        return self.function_constants(start, *names, **self.noise_constants(constants, start))

    @abstractmethod
    def noise_constants(self, constants: Constants, start: Any) -> dict[str, tuple[float, str]]:
        """Return the constants that depend on the noise, by name, with their derivations."""


@dataclass(frozen=True, eq=False, kw_only=True)
class AdditiveNoise(NoisyGradient):
    """Gradient with additive noise, grad f(x, xi) = grad f(x) + xi E, where E is a unit vector.

    E is the first unit vector by default.

    Attributes
    ----------
    direction
        E, of Euclidean norm 1, in the shape of a point.
    """

    name: ClassVar[str] = "additive"
    source: ClassVar[str] = "pfbench"

    direction: Floats

    def mean_gradient(self, values: Any, x: Any) -> Gradient:
        """Return the gradient at x, plus the unit vector E times the mean of the drawn values."""
        return self.gradient(x) + float(np.mean(values)) * self.direction

    def noise_constants(self, constants: Constants, start: Any) -> dict[str, tuple[float, str]]:
        """Return the noise variance sigma2 and the smoothness constants L_ms and L_max, by name.

        The variance is the same at every point, and both smoothness constants are L_f.
        """
        smooth = constants.L_f, "L_f: all f(., xi) have the Hessian of f"
        variance = self.noise.moment(2.0), f"variance of the {self.noise.kind} noise: exact"
        return {"L_ms": smooth, "L_max": smooth, "sigma2": variance}


class MatrixAdditiveNoise(AdditiveNoise):
    """Sampler of a function of a matrix, whose gradient has additive noise."""

    name: ClassVar[str] = "matrix-additive"


@dataclass(frozen=True, eq=False, kw_only=True)
class MultiplicativeNoise(NoisyGradient):
    """Gradient with multiplicative noise, grad f(x, xi) = (1 + xi) grad f(x)."""

    name: ClassVar[str] = "multiplicative"
    source: ClassVar[str] = "pfbench"

    def mean_gradient(self, values: Any, x: Any) -> Gradient:
        """Return the gradient at x, times 1 plus the mean of the drawn values of xi."""
        return (1.0 + float(np.mean(values))) * self.gradient(x)

    def noise_constants(self, constants: Constants, start: Any) -> dict[str, tuple[float, str]]:
        """Return L_ms, and sigma2 as a bound of the variance over the set.

        The bound is infinite for an unbounded set.
        """
        nu2 = self.noise.moment(2.0)
        longest = float(np.linalg.norm(self.gradient(start))) + constants.L_f * self.set.diameter
        return {
            "L_ms": (constants.L_f * math.sqrt(1.0 + nu2), "L_f sqrt(1 + E xi^2)"),
            "sigma2": (nu2 * longest**2, "E xi^2 (|grad f(start)| + L_f D)^2"),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class CubedNorm(SingleComponent):
    """Function f(x) = rho |x|^3/6, whose Hessian has the exact Lipschitz constant rho.

    Attributes
    ----------
    rho
        Lipschitz constant of the Hessian, above 0.
    set, start_point
        The feasible set, and the start in it.
    """

    name: ClassVar[str] = "cubic"
    source: ClassVar[str] = "pfbench"
    properties: ClassVar[frozenset[str]] = frozenset({"convex"})

    rho: float
    set: ConvexBody
    start_point: Floats

    @cached_property
    def digest(self) -> str:
        """Hash of all numbers that define the problem."""
        return content_digest((self.name, self.rho, self.set), self.start_point)

    def start(self) -> Floats:
        """Return a fresh copy of the start point."""
        return np.array(self.start_point)

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        return self.rho * float(np.linalg.norm(x)) ** 3 / 6.0

    def gradient(self, x: Floats) -> Floats:
        """Return rho |x| x/2, shape (d,)."""
        return np.asarray(0.5 * self.rho * np.linalg.norm(x) * x)

    def hessian_operator(self, s: Floats) -> Operator:
        """Return the Hessian rho (|s| I + s s'/|s|)/2 at s, which is 0 at s = 0."""
        size = float(np.linalg.norm(s))
        return lambda u: 0.5 * self.rho * (size * u + (s * (s @ u) / size if size else 0.0))

    def constants(self, start: Floats) -> Constants:
        """Return the constants of this problem (L_f, D, ...), each with its derivation as text."""
        return Constants.from_derivations(
            n=(1, "one component"),
            D=(self.set.diameter, f"diameter of the set {self.set.name}"),
            L_f=(self.rho * self.set.max_norm, "rho times the largest norm in the set"),
            L2_ms=(self.rho, "rho: exact"),
            delta=(self.value(start), "f(start), as f >= 0"),
            M=(self.set.max_norm, f"largest norm in the set {self.set.name}"),
            ell=(0.0, "f is convex"),
        )
