"""A network of two layers with a smooth activation, and its constants on a ball.

f_i(W_1, W_2) = |W_2 tanh(W_1 a_i) - b_i|^2/2. A point has two layers: W1 of shape (h, m) and W2 of
shape (k, h).

On |W_2| <= R, in the spectral norm, with z = W_1 a, u = tanh z, r = W_2 u - b: |u|^2 <= h and |r|
<= R sqrt h + |b|. In a direction (P, Q) of length 1 the second derivative is |Q u + W_2 (tanh'(z) P
a)|^2 + <r, 2 Q (tanh'(z) P a) + W_2 (tanh''(z) (P a)^2)>, where |tanh'| <= 1 and |tanh''| <= c =
4/(3 sqrt 3). So f_i is smooth with L_i = h + R^2 |a|^2 + (R sqrt h + |b|)(|a| + c R |a|^2). A
component gradient has a square of at most (R sqrt h + |b|)^2 (h + R^2 |a|^2).

In a norm of the layers let |W_l| <= rho_l in the unit ball, in the spectral norm. By the same
derivative L_norm is at most the mean of (rho_2 sqrt h + R rho_1 |a|)^2 + (R sqrt h + |b|)(2 rho_1
rho_2 |a| + c R rho_1^2 |a|^2).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.base.sample import Indices
from pfbench.points import Layers
from pfbench.problems.base import FiniteSum, content_digest, index_weights
from pfbench.sets.body import ConvexBody
from pfbench.sets.matrix_balls import max_spectral_norm
from pfbench.sets.norms import NormBall, NormProduct

_CURVED = 4.0 / (3.0 * math.sqrt(3.0)) * (1.0 + 1e-15)
"""sup |tanh''|, at tanh^2 = 1/3."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoLayerNetwork(FiniteSum):
    """Loss of a two-layer network on given data, as a finite sum over the data rows.

    Parameters
    ----------
    features
        The a_i, shape (n, m).
    targets
        The b_i, shape (n, k).
    hidden
        Number h of hidden units.
    set
        The feasible set of vectors of length h (m + k).
    begin
        The start point.
    domain
        Without a set, the spectral norm R of W2 up to which the constants hold.
    """

    name: ClassVar[str] = "two-layer-network"
    source: ClassVar[str] = "pfbench"

    features: Floats
    targets: Floats
    hidden: int
    set: ConvexBody
    begin: Floats
    domain: float = math.inf

    @property
    def n(self) -> int:
        """Number of data rows, which is the number of components."""
        return len(self.features)

    @property
    def blocks(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Shapes of the layers W_1 and W_2."""
        return (self.hidden, self.features.shape[1]), (self.targets.shape[1], self.hidden)

    @property
    def shape(self) -> tuple[int]:
        """Shape (d,) of a point, where d is the number of entries of the layers W_1 and W_2."""
        return (self.hidden * (self.features.shape[1] + self.targets.shape[1]),)

    @cached_property
    def digest(self) -> str:
        """Hash of all numbers that define the problem."""
        domain = (self.domain,) if math.isfinite(self.domain) else ()
        numbers = self.name, self.hidden, self.set, *domain
        return content_digest(numbers, self.features, self.targets, self.begin)

    def start(self) -> Layers:
        """Return a fresh copy of the start point."""
        return Layers(np.array(self.begin), tuple(zip(("W1", "W2"), self.blocks, strict=True)))

    def split(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the layers W_1 and W_2 of a point as views."""
        (h, m), (k, _) = self.blocks
        return x[: h * m].reshape(h, m), x[h * m :].reshape(k, h)

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        first, second = self.split(x)
        residual = np.tanh(self.features @ first.T) @ second.T - self.targets
        return 0.5 * float(np.vdot(residual, residual)) / self.n

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, shape (d,)."""
        return self._mean_gradient(np.arange(self.n), np.full(self.n, 1.0 / self.n), x)

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x."""
        return self._mean_gradient(*index_weights(sample, self.n), x)

    def _mean_gradient(self, indices: np.ndarray, weights: Floats, x: Floats) -> Floats:
        first, second = self.split(x)
        a = self.features[indices]
        u = np.tanh(a @ first.T)
        r = weights[:, None] * (u @ second.T - self.targets[indices])
        back = (r @ second) * (1.0 - u * u)
        return np.concatenate([(back.T @ a).ravel(), (r.T @ u).ravel()])

    @property
    def second_layer_norm_bound(self) -> float:
        """Upper bound of the spectral norm of W_2: over the set if it is bounded, else `domain`."""
        if isinstance(self.set, NormProduct):
            return max_spectral_norm(self.set.balls[1])
        return self.set.max_norm if self.is_bounded else self.domain

    def _row_norms_sq_and_max_residuals(self) -> tuple[Floats, Floats]:
        """Squared norms of the inputs a_i, and upper bounds of the norms of the residuals.

        The bound of a residual is R sqrt h + |b_i|.
        """
        squares = (self.targets * self.targets).sum(axis=1)
        residual = self.second_layer_norm_bound * math.sqrt(self.hidden) + np.sqrt(squares)
        return (self.features * self.features).sum(axis=1), residual

    def component_smoothness(self) -> Floats:
        """Return each component's smoothness for |W_2| <= `second_layer_norm_bound`, shape (n,).

        It is infinite if there is neither a bounded set nor a domain.
        """
        R, (a2, residual) = self.second_layer_norm_bound, self._row_norms_sq_and_max_residuals()
        return self.hidden + R * R * a2 + residual * (np.sqrt(a2) + _CURVED * R * a2)

    def smoothness_in_norm(self, norm: NormBall) -> tuple[float, str] | None:
        """Return an upper bound of the smoothness in `norm`, with its derivation.

        The bound rests on the spectral norms of the layers in the unit ball of `norm`. It is None
        if R is infinite, or if `norm` is not a norm of layers.
        """
        R = self.second_layer_norm_bound
        if not (math.isfinite(R) and isinstance(norm, NormProduct)):
            return None
        return self.layerwise_smoothness_bound(norm, R), (
            "the mean of (rho_2 sqrt h + R rho_1 |a|)^2 + (R sqrt h + |b|)(2 rho_1 rho_2 |a| + "
            f"c R rho_1^2 |a|^2), {self._location}"
        )

    @property
    def _location(self) -> str:
        R, of_layer = self.second_layer_norm_bound, isinstance(self.set, NormProduct)
        return f"on {'|x|' if self.is_bounded and not of_layer else '|W2|'} <= {R:.6g}"

    def layerwise_smoothness_bound(self, norm: NormProduct, R: float) -> float:
        """Return a smoothness bound in `norm` for all points with spectral norm |W_2| <= R."""
        rho_1, rho_2 = map(max_spectral_norm, norm.balls)
        a, b = (np.linalg.norm(rows, axis=1) for rows in (self.features, self.targets))
        root = math.sqrt(self.hidden)
        curved = 2.0 * rho_1 * rho_2 * a + _CURVED * R * (rho_1 * a) ** 2
        return float(((rho_2 * root + R * rho_1 * a) ** 2 + (R * root + b) * curved).mean())

    def constants(self, start: Floats) -> Constants:
        """Return the constants on the set or `domain`; only n and delta if neither is given."""
        R, h, location = self.second_layer_norm_bound, float(self.hidden), self._location
        (a2, residual), each = self._row_norms_sq_and_max_residuals(), self.component_smoothness()
        words = f"of L_i = h + R^2 |a|^2 + (R sqrt h + |b|)(|a| + c R |a|^2), {location}"
        return Constants.from_derivations(
            n=(self.n, "number of rows"),
            D=(self.set.diameter, f"diameter of the set {self.set.name}"),
            L_f=(float(each.mean()), f"the mean {words}"),
            L_ms=(math.sqrt(float((each * each).mean())), f"the root mean square {words}"),
            L_max=(float(each.max()), f"the largest {words}"),
            L_mean=(float(each.mean()), f"the mean {words}"),
            sigma2=(
                float((residual**2 * (h + R * R * a2)).mean()),
                f"the mean of (R sqrt h + |b|)^2 (h + R^2 |a|^2), {location}",
            ),
            delta=(self.value(start), "f(start) - 0, since f >= 0"),
            M=(self.set.max_norm, f"largest norm in the set {self.set.name}"),
            ell=(float(each.mean()), "L_f"),
        )
