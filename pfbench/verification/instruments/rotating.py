"""Quadratic with rotating components, on which the batch size decides if a method converges."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.constants import Constants
from pfbench.base.sample import Indices, weight_indices
from pfbench.problems.base import FiniteSum
from pfbench.sets.whole_space import WholeSpace


@dataclass(frozen=True)
class RotatingBowl(FiniteSum):
    """Finite sum on R^d whose component gradients are affine in x and in a permutation of x.

    f_i(x) = mu |x|^2/2 + s_i (tau <x, R_k x>/2 + sigma x_k), with alternating signs s_i = +1, -1,
    k running through 1 .. d-1, and R_k the symmetric permutation that maps coordinate j to j xor k.
    So f(x) = mu |x|^2/2. Gradients of component i differ by (mu I + s_i tau R_k) (x - y), so
    E|grad f_i(x) - grad f_i(y)|^2 = (mu^2 + tau^2) |x - y|^2 at all x, y.

    The error of a recursive estimate is turned into new directions at each step, and it lasts until
    the next reference gradient. With mu about L over the length of an epoch, an epoch shrinks the
    gradient by a constant factor if the batch is as large as the theory requires. With a much
    smaller batch, the gradient grows. Only a table needs memory that grows with n.

    Parameters
    ----------
    n
        Number of components, even.
    mu
        Curvature of f, positive.
    tau
        Size of the turns, at least 0.
    sigma
        Standard deviation of the component gradients at 0, at least 0.
    radius
        |x| at the start, positive.
    d
        Dimension, a power of 2, at least 2.
    """

    name: ClassVar[str] = "rotating"
    best_known: ClassVar[tuple[float, str]] = (0.0, "at 0")

    n: int
    mu: float
    tau: float = 1.0
    sigma: float = 0.0
    radius: float = 1.0
    d: int = 8

    @cached_property
    def set(self) -> WholeSpace:
        """Feasible set: the whole space R^d."""
        return WholeSpace(self.d)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the problem by name."""
        return {"n": self.n, "mu": self.mu, "tau": self.tau, "sigma": self.sigma}

    def start(self) -> Floats:
        """Return the start point: `radius` times the first unit vector; shape (d,)."""
        return np.asarray(self.radius * np.eye(self.d)[0])

    def constants(self, start: Floats) -> Constants:
        """Return the problem's constants; sigma2 is an upper bound where |x| is at most |start|."""
        return Constants(
            n=self.n,
            L_f=self.mu,
            L_ms=math.hypot(self.mu, self.tau),
            L_max=self.mu + self.tau,
            L2_ms=0.0,
            sigma2=(self.sigma + self.tau * float(np.linalg.norm(start))) ** 2,
            delta=self.value(start),
            ell=0.0,
        )

    def value(self, x: Floats) -> float:
        """Return f(x) = mu |x|^2/2, where mu is the curvature of f."""
        return 0.5 * self.mu * float(x @ x)

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient mu x, where mu is the curvature of f; shape (d,)."""
        return self.mu * x

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x, shape (d,)."""
        shares = self._sum_weights_by_permutation(sample)
        return self.mu * x + self.tau * self._permute_and_sum(shares, x) + self.sigma * shares

    def difference(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the sample mean of grad f_i(x) - grad f_i(y), computed without cancellation."""
        move, shares = x - y, self._sum_weights_by_permutation(sample)
        return self.mu * move + self.tau * self._permute_and_sum(shares, move)

    @cached_property
    def _xor_table(self) -> Integers:
        """Matrix whose entry (j, k) is j xor k."""
        axes = np.arange(self.d)
        return np.asarray(axes[:, None] ^ axes)

    def _permute_and_sum(self, weights: Floats, x: Floats) -> Floats:
        """Return the sum of weights[k] R_k x over all coordinate permutations R_k; shape (d,)."""
        return np.asarray(x[self._xor_table] @ weights)

    def _sum_weights_by_permutation(self, sample: Indices) -> Floats:
        """Return, for each permutation, the sum of its signed sample weights; shape (d,)."""
        indices, weights = weight_indices(sample)
        signs, turns = self._signs_and_permutation_indices(indices)
        return np.asarray(np.bincount(turns, signs * weights, minlength=self.d), dtype=np.float64)

    def _signs_and_permutation_indices(self, indices: Integers) -> tuple[Floats, Integers]:
        """Return the sign of each given component, and the index of its coordinate permutation."""
        signs: Floats = np.asarray(1.0 - 2.0 * (indices % 2), dtype=np.float64)
        return signs, 1 + (indices // 2) % (self.d - 1)
