"""Chain on each of n blocks: the lower bound for finite sums (Fang, Li, Lin, Zhang 2018).

The component f_i(x) = lambda H_K(x_[i]/beta) depends on the i-th block x_[i] of K coordinates. The
parameters are beta = sqrt 2 epsilon l/L, lambda = 2 epsilon^2 l sqrt n/L, and K = Delta/(12
lambda) rounded down. Here l is the certified smoothness of H_K. If a point is 0 beyond coordinate
k of block i, its gradient of f_i is 0 beyond coordinate k + 1 of that block. Let a method start at
0 and stay in the span of the returned gradients. Then |grad f| > epsilon until the method has used
at least n K/2 component gradients. Unlike the paper's version, pfbench's has no rotation of the
coordinates, no bounded domain and no quadratic term.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.checks import check_integer, check_real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError
from pfbench.base.sample import Indices, weight_indices
from pfbench.kernels import chain
from pfbench.problems.base import (
    ComponentHessiansAtPoint,
    FiniteSum,
    check_dense_point,
    check_entry_count,
    content_digest,
)
from pfbench.problems.chain_bounds import CHAIN_BOUNDS
from pfbench.sets.whole_space import WholeSpace


@dataclass(frozen=True, eq=False)
class FiniteSumChain(FiniteSum):
    """Hard finite-sum instance: n zero chains of K links, each on a separate block of a point.

    Attributes
    ----------
    n
        Number of components.
    epsilon
        Accuracy |grad f| <= epsilon for which the instance is hard.
    smoothness
        L, the mean-squared smoothness.
    delta
        Delta, an upper bound of f(0) - inf f.

    Raises
    ------
    InputError
        If a number is out of range, or epsilon leaves no chain, K < 1.
    """

    name: ClassVar[str] = "finite-sum-chain"
    source: ClassVar[str] = "Fang et al. 2018 theorem 3"

    n: int
    epsilon: float
    smoothness: float = 1.0
    delta: float = 1.0

    def __post_init__(self) -> None:
        check_integer("n", self.n, minimum=1)
        for name in ("epsilon", "smoothness", "delta"):
            check_real(name, getattr(self, name), above=0.0)
        if self.length < 1:
            raise InputError(
                f"epsilon={self.epsilon:g} is too large for n={self.n}, as the chain in each "
                "component would have no link: choose a smaller epsilon or n."
            )
        check_entry_count("a point", self.d)

    @cached_property
    def length(self) -> int:
        """Number K of links of each chain: Delta L/(24 l sqrt n epsilon^2), rounded down.

        Here l is the smoothness of a chain.
        """
        link = 24.0 * CHAIN_BOUNDS.smoothness_bound * math.sqrt(self.n)
        return math.floor(self.delta * self.smoothness / link / self.epsilon / self.epsilon)

    @property
    def beta(self) -> float:
        """Number by which a point is divided before the zero chains are evaluated at it."""
        return math.sqrt(2.0) * self.epsilon * CHAIN_BOUNDS.smoothness_bound / self.smoothness

    @property
    def value_factor(self) -> float:
        """Factor by which the value of a zero chain is multiplied in its component f_i."""
        square = 2.0 * self.epsilon * self.epsilon * CHAIN_BOUNDS.smoothness_bound
        return square * math.sqrt(self.n) / self.smoothness

    @property
    def min_component_gradients(self) -> int:
        """Lower bound of any method's number of component gradients until |grad f| <= epsilon.

        It is n K/2, rounded up, for methods that stay in the span of the returned gradients.
        """
        return -(-self.n * self.length // 2)

    @property
    def d(self) -> int:
        """Length of a point: the number of components times the length of a chain."""
        return self.n * self.length

    @cached_property
    def set(self) -> WholeSpace:
        """Feasible set: the whole space."""
        return WholeSpace(self.d)

    @property
    def digest(self) -> str:
        """Hash of the parameters n, epsilon, smoothness and delta."""
        numbers = self.name, self.n, self.epsilon, self.smoothness, self.delta
        return content_digest(numbers)

    # --- oracles ------------------------------------------------------------------------------

    @cached_property
    def _all_components(self) -> Integers:
        return np.arange(self.n)

    @cached_property
    def _inverse_scale(self) -> float:
        return 1.0 / self.beta

    @cached_property
    def _gradient_factor(self) -> float:
        """Factor of the zero chain's gradient in the gradient of a component f_i."""
        return self.value_factor / self.beta

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        x = check_dense_point(x, self.shape)
        return (
            self.value_factor
            / self.n
            * chain.sum_of_block_values(x, self.length, self._inverse_scale)
        )

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, shape (d,)."""
        return self.batch(self._all_components, x)

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x, shape (d,)."""
        indices, weights = weight_indices(sample)
        g = np.zeros(self.d)
        chain.add_gradients(
            indices, self._gradient_factor * weights, x, self.length, self._inverse_scale, g
        )
        return g

    def difference(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample, shape (d,)."""
        indices, weights = weight_indices(sample)
        g = np.zeros(self.d)
        chain.add_differences(
            indices, self._gradient_factor * weights, x, y, self.length, self._inverse_scale, g
        )
        return g

    def hessian(self, s: Floats) -> ComponentHessiansAtPoint:
        """Return the tridiagonal Hessians of all blocks at s, which take 16 d bytes."""
        diagonals, offs = np.empty((self.n, self.length)), np.empty((self.n, self.length - 1))
        chain.write_block_hessians(s, self.length, self._inverse_scale, diagonals, offs)

        def apply_hessian(sample: Indices | None, u: Floats) -> Floats:
            indices, weights = weight_indices(self._all_components if sample is None else sample)
            weights = self._gradient_factor * self._inverse_scale * weights
            g = np.zeros(self.d)
            chain.add_hessian_products(indices, weights, diagonals, offs, u, g)
            return g

        return ComponentHessiansAtPoint(apply_hessian)

    def table(self, x: Floats) -> "ChainSagaTable":
        """Return a SAGA table that stores the gradient of every component at x."""
        return ChainSagaTable(self, x)

    # --- constants ----------------------------------------------------------------------------

    def constants(self, start: Floats) -> Constants:
        """Return the constants of this problem (L_f, D, ...), each with its derivation as text."""
        bounds, L, root = CHAIN_BOUNDS, self.smoothness, math.sqrt(self.n)
        squares = self.length * (self._gradient_factor * bounds.gradient_entry_bound) ** 2
        return Constants.from_derivations(
            n=(self.n, f"number of chains, each of K = {self.length} links"),
            L_f=(L / root, "L_max/n = L/sqrt n, as the blocks are disjoint"),
            L_ms=(
                L,
                "L_max/sqrt n = L: E|grad f_i(x) - grad f_i(y)|^2 <= (1/n) sum L_max^2 "
                "|x_[i] - y_[i]|^2",
            ),
            L_max=(
                root * L,
                f"lambda l/beta^2 = sqrt n L, l = {bounds.smoothness_bound:.6g} certified by interval "  # noqa: E501
                "arithmetic (shen2019 lemma 7.1: 3^15 = 14348907)",
            ),
            L2_ms=(
                self.value_factor * bounds.hessian_smoothness_bound / self.beta**3 / root,
                "lambda/(beta^3 sqrt n) times a bound of the third derivatives of H_K, "
                f"{bounds.hessian_smoothness_bound:.6g}",
            ),
            sigma2=(
                (1.0 - 1.0 / self.n) * squares,
                "(1 - 1/n) K (lambda/beta)^2 times the square of the bound "
                f"{bounds.gradient_entry_bound:.6g} of an entry of the gradient of H_K; on the whole space",  # noqa: E501
            ),
            delta=(
                self.value(start) + self.value_factor * bounds.minus_inf_bound(self.length),
                "f(start) - inf, inf f >= -lambda (1 + (K - 1) sup Psi) sup Phi; from 0 at most "
                "12 K lambda <= Delta",
            ),
            ell=(L / root, "L_f"),
        )


class ChainSagaTable:
    """SAGA table of the gradients of all blocks, which takes 8 d bytes."""

    def __init__(self, problem: FiniteSumChain, x: Floats) -> None:
        self._problem = problem
        self._stored = self._read_stored_points(problem._all_components, x)
        self.mean = self._stored.ravel() / problem.n

    def difference(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean over the sample of (grad f_i(x) - stored gradient of f_i)."""
        indices, weights = weight_indices(sample)
        return self._sum_weighted_changes(indices, weights, self._read_stored_points(indices, x))

    def replace(self, sample: Indices, x: Floats) -> Floats:
        """Return `difference(sample, x)`, then store grad f_i(x) for each sampled component i."""
        indices, weights = weight_indices(sample)
        fresh = self._read_stored_points(indices, x)
        change = self._sum_weighted_changes(indices, weights, fresh)
        self._stored[indices] = fresh  # the same row for equal indices
        self.mean = self._stored.ravel() / self._problem.n
        return change

    def _read_stored_points(self, indices: Integers, x: Floats) -> Floats:
        problem = self._problem
        out = np.empty((indices.size, problem.length))
        chain.write_gradients(indices, x, problem.length, problem._inverse_scale, out)
        return problem._gradient_factor * out

    def _sum_weighted_changes(self, indices: Integers, weights: Floats, fresh: Floats) -> Floats:
        g = np.zeros((self._problem.n, self._problem.length))
        np.add.at(g, indices, weights[:, None] * (fresh - self._stored[indices]))
        return g.ravel()
