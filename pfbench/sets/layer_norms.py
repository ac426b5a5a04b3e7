"""Norms of points with layers: the sum and the root of squares of the layers' norms.

Let |x_l| be the norm of layer l, with the radius rho_l and the constants zeta_l and omega_l:

    max (`NormProduct`):   max |x_l|/rho_l,               dual sum of rho_l |g_l|_*
    sum (`NormSum`):       sum of |x_l|/rho_l,            dual max rho_l |g_l|_*
    l2 (`NormRootSum`):    root of sum (|x_l|/rho_l)^2,   dual root of sum (rho_l |g_l|_*)^2

For max, a minimiser over the unit ball moves every layer by rho_l. For l2 it moves layer l by
rho_l rho_l |g_l|_*/|g|_*. For sum it moves only the layer of the largest rho_l |g_l|_*, by rho_l.
The unit ball of sum is in that of l2, and that of l2 in that of max. So a smoothness constant in
the norm max holds in all three norms. These statements are pfbench's.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats, LowerUpper
from pfbench.sets.body import check_gradient, is_point
from pfbench.sets.norms import NormProduct


class _WeightedLayers(NormProduct):
    """Base class of `NormSum` and `NormRootSum`, unit balls of norms that combine layer norms.

    The norm of layer l is scaled to |x_l|/rho_l.
    """

    has_projection: ClassVar[bool] = False

    @abstractmethod
    def _maximising_weights(self, sizes: Floats) -> Floats:
        """Return the nonnegative layer weights w of norm 1 that maximise <w, sizes>.

        The norm of the weights is their sum, or the root of their sum of squares.
        """

    def _dual_layer_norms(self, g: Any) -> Floats:
        """Return the dual norm of each layer times the radius of its ball, shape (layers,)."""
        pairs = self._balls_and_blocks(check_gradient(g, self.shape))
        return np.array([ball.radius * ball.dual_norm(block) for ball, block in pairs])

    def _norms_over_radii(self, x: Floats) -> Floats:
        """Return the norm of each layer divided by the radius of its ball, shape (layers,)."""
        return np.array(
            [ball.norm(block) / ball.radius for ball, block in self._balls_and_blocks(x)]
        )

    def _block_weights(self, g: Floats) -> list[float]:
        weights: list[float] = self._maximising_weights(self._dual_layer_norms(g)).tolist()
        return weights

    def minimum(self, g: Any) -> LowerUpper:
        """Return equal lower and upper bounds of min <g, v>, which is minus the dual norm of g."""
        sizes = self._dual_layer_norms(g)
        value = -float(sizes @ self._maximising_weights(sizes))
        return value, value

    @property
    def zeta(self) -> float:
        """Exact maximum of |x|_*/|x|_2: the largest product of a layer's radius and its zeta."""
        return max(ball.radius * ball.zeta for ball in self.balls)

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether the norm of x is at most ``1 + tolerance``."""
        return is_point(x, self.shape) and self.norm(x) <= 1.0 + tolerance

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return the vertex that minimises <g, v> for a random gradient g."""
        return self.lo(rng.standard_normal(self.shape))


@dataclass(frozen=True, repr=False, eq=False)
class NormSum(_WeightedLayers):
    """Unit ball of the norm sum_l |x_l|/rho_l, where the ball of layer x_l has radius rho_l."""

    name: ClassVar[str] = "sum"
    summary: ClassVar[str] = "sum of the norms of several layers"
    source: ClassVar[str] = "pfbench"

    def norm(self, x: Floats) -> float:
        """Return the norm of x: the sum over layers of the layer's norm divided by its radius."""
        return math.fsum(self._norms_over_radii(x))

    @property
    def omega(self) -> float:
        """Exact maximum of |x|/|x|_2: the root of the sum over layers of (omega/radius)^2."""
        return math.hypot(*(ball.omega / ball.radius for ball in self.balls))

    def _maximising_weights(self, sizes: Floats) -> Floats:
        return np.asarray(np.arange(len(sizes)) == np.argmax(sizes), dtype=np.float64)


@dataclass(frozen=True, repr=False, eq=False)
class NormRootSum(_WeightedLayers):
    """Unit ball of the norm (sum_l (|x_l|/rho_l)^2)^(1/2), where layer x_l has radius rho_l."""

    name: ClassVar[str] = "l2"
    summary: ClassVar[str] = "root of the sum of squares of the norms of several layers"
    source: ClassVar[str] = "pfbench"

    def norm(self, x: Floats) -> float:
        """Return the norm of x: the root of the sum over layers of (layer norm/layer radius)^2."""
        return math.hypot(*self._norms_over_radii(x))

    def _maximising_weights(self, sizes: Floats) -> Floats:
        size = math.hypot(*sizes)
        return np.asarray(sizes / size) if size else np.full(len(sizes), len(sizes) ** -0.5)
