"""Quadratics whose component gradients differ by constant vectors s_i.

The components are f_i(x) = f(x) + <s_i, x>, where the s_i sum to 0. So the error of a gradient
estimate is that of a mean of the s_i, with a known and constant variance. Bounds of methods that
use norms are attained on these problems.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_choice, check_integer, check_real
from pfbench.base.constants import Constants
from pfbench.base.sample import Indices
from pfbench.problems.base import ConstantHessians, content_digest, index_weights
from pfbench.problems.moments import max_quadratic_form
from pfbench.sets.body import ConvexBody
from pfbench.sets.norms import NormBall

NOISES = ("none", "two-point", "skewed", "normal")
"""Distributions of the s_i; see `make_noise`."""


def make_noise(
    kind: str, sigma: float, shape: tuple[int, ...], components: int, rng: np.random.Generator
) -> Floats:
    """Return the noise offset of each component's gradient: mean 0, mean squared norm sigma^2.

    The result has shape (n, *shape); offset i is added to gradient i. For "two-point" (n = 2) the
    first entry is sigma or -sigma. For "skewed" (n = 4) it is 3 t once and -t three times, with t
    = sigma/sqrt 3. For "normal" the offsets are `components` centred and scaled normal arrays. For
    "none" n is 1, and the offset is 0.
    """
    check_choice("noise", kind, NOISES)
    check_real("sigma", sigma, minimum=0.0)
    first = {"two-point": (1.0, -1.0), "skewed": (3.0, -1.0, -1.0, -1.0), "none": (0.0,)}
    if kind == "normal":
        rows = rng.standard_normal((check_integer("components", components, minimum=2), *shape))
        rows -= rows.mean(axis=0)
    else:
        rows = np.zeros((len(first[kind]), *shape))
        rows.reshape(len(rows), -1)[:, 0] = first[kind]
    size = math.sqrt(float((rows * rows).sum()) / len(rows))
    return np.asarray(rows * (sigma / size if size > 0.0 else 0.0))


@dataclass(frozen=True, eq=False, kw_only=True)
class AdditiveNoiseQuadratic(ConstantHessians):
    """Convex quadratic f; component i is f(x) + <s_i, x>, with noise vectors s_i that sum to 0.

    Parameters
    ----------
    set
        The feasible set; the whole space for none.
    start_point
        The start point.
    noise
        The s_i, shape (n, *shape), of mean 0.
    """

    set: ConvexBody
    start_point: Floats
    noise: Floats

    properties: ClassVar[frozenset[str]] = frozenset({"convex"})

    @property
    def n(self) -> int:
        """Number of components."""
        return len(self.noise)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a point."""
        return self.set.shape

    def start(self) -> Floats:
        """Return a fresh copy of the start point."""
        return np.array(self.start_point)

    @abstractmethod
    def apply_hessian(self, u: Floats) -> Floats:
        """Return the Hessian times u."""

    @property
    @abstractmethod
    def hessian_matrix(self) -> Floats:
        """Square matrix G with which the Hessian maps a direction U to the product G U."""

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x."""
        indices, weights = index_weights(sample, self.n)
        return self.gradient(x) + np.tensordot(weights, self.noise[indices], axes=1)

    def apply_mean_hessian(self, sample: Indices | None, u: Floats) -> Floats:
        """Return the Hessian, which is the same for every component, times u."""
        if sample is not None:
            index_weights(sample, self.n)
        return self.apply_hessian(u)

    @property
    def best_known(self) -> tuple[float, str] | None:
        """Minimum of f on the whole space with its derivation; None for a constrained problem."""
        return None if self.is_bounded else (self.minimum_value, "minimum, by the normal equations")

    @property
    @abstractmethod
    def minimum_value(self) -> float:
        """Minimum of f on the whole space."""

    def smoothness_in_norm(self, norm: NormBall) -> tuple[float, str] | None:
        """Return the smoothness of f in `norm`, or an upper bound, with its derivation.

        It is the maximum of <X, G X> over the unit ball of the norm, where G is the Hessian
        matrix.
        """
        return max_quadratic_form(norm, self.hessian_matrix, math.prod(self.shape[1:]))

    @cached_property
    def _eigenvalues(self) -> Floats:
        return np.asarray(np.linalg.eigvalsh(self.hessian_matrix), dtype=np.float64)

    def constants(self, start: Floats) -> Constants:
        """Return the constants of this problem (L_f, D, ...), each with its derivation as text."""
        L = float(self._eigenvalues[-1])
        smooth = L, "the largest eigenvalue of the Hessian, which all components share"
        mu = max(0.0, float(self._eigenvalues[0]))
        return Constants.from_derivations(
            n=(self.n, "number of components"),
            D=(self.set.diameter, f"diameter of the set {self.set.name}"),
            L_f=smooth,
            L_ms=smooth,
            L_max=smooth,
            L2_ms=(0.0, "the Hessians are constant"),
            sigma2=(
                float((self.noise * self.noise).sum()) / self.n,
                "the mean of |s_i|^2: exact, at every point",
            ),
            delta=(self.value(start) - self.minimum_value, "f(start) - min f on the whole space"),
            M=(self.set.max_norm, f"largest norm in the set {self.set.name}"),
            sigma_hat=(mu or math.inf, "the least eigenvalue of the Hessian"),
            ell=(0.0, "f is convex"),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class SeparableQuadratic(AdditiveNoiseQuadratic):
    """Quadratic f(x) = sum_j h_j (x_j - c_j)^2/2 with weights h, centre c and additive noise.

    Parameters
    ----------
    weights
        The h_j, at least 0, shape (d,).
    centre
        The c_j, shape (d,); 0 if not given.
    """

    name: ClassVar[str] = "separable-quadratic"
    source: ClassVar[str] = "pfbench"

    weights: Floats
    centre: Floats | float = field(default=0.0)

    @cached_property
    def digest(self) -> str:
        """Hash of all numbers that define the problem."""
        arrays = (
            self.start_point,
            self.noise,
            self.weights,
            np.asarray(self.centre, dtype=np.float64),
        )
        return content_digest((self.name, self.set), *arrays)

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        u = x - self.centre
        return 0.5 * float(self.weights @ (u * u))

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, shape (d,)."""
        return self.weights * (x - self.centre)

    def apply_hessian(self, u: Floats) -> Floats:
        """Return the Hessian times u: the vector with the entries weights[j] * u[j], shape (d,)."""
        return self.weights * u

    @property
    def hessian_matrix(self) -> Floats:
        """Hessian matrix: the diagonal matrix of the weights."""
        return np.diag(self.weights)

    @cached_property
    def _eigenvalues(self) -> Floats:
        return np.sort(self.weights)

    def smoothness_in_norm(self, norm: NormBall) -> tuple[float, str] | None:
        """Return the smoothness of f in `norm`, with its derivation.

        For l-infinity it is sum_j h_j.
        """
        if norm.name == "linf":
            return float(self.weights.sum()), "the sum of the h_j, at every vertex: exact"
        return super().smoothness_in_norm(norm)

    minimum_value: ClassVar[float] = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class MatrixLeastSquares(AdditiveNoiseQuadratic):
    """Least-squares function f(W) = |A W - B|_F^2/2 of a matrix W, with additive component noise.

    Parameters
    ----------
    A, B
        Matrices of shapes (p, m) and (p, n); W has shape (m, n).
    """

    name: ClassVar[str] = "matrix-least-squares"
    source: ClassVar[str] = "Kim, Oh 2026; pfbench"

    A: Floats
    B: Floats

    @cached_property
    def digest(self) -> str:
        """Hash of all numbers that define the problem."""
        return content_digest((self.name, self.set), self.start_point, self.noise, self.A, self.B)

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        residual = self.A @ x - self.B
        return 0.5 * float(np.vdot(residual, residual))

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient A'(A W - B) at the point x = W, in the shape of W."""
        return np.asarray(self.A.T @ (self.A @ x - self.B))

    def apply_hessian(self, u: Floats) -> Floats:
        """Return the Hessian times u, which is A'A u."""
        return np.asarray(self.A.T @ (self.A @ u))

    @cached_property
    def hessian_matrix(self) -> Floats:
        """Matrix A'A of the Hessian, which maps a direction U to A'A U."""
        return np.asarray(self.A.T @ self.A)

    @cached_property
    def minimum_value(self) -> float:
        """Minimum of f on the whole space, computed by a least-squares solver."""
        result: Any = np.linalg.lstsq(self.A, self.B, rcond=None)[0]
        return self.value(result)
