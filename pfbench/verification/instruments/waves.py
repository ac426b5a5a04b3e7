"""A tiny sum of sines: non-convex, smooth, with a gradient and a Hessian that change everywhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pfbench.base.protocols import Penalty
from pfbench.base.sample import Indices, weighted
from pfbench.problems.base import FiniteSum
from pfbench.sets import L1Ball, L2Ball
from pfbench.sets.body import AnySet
from pfbench.sets.named_norms import norm_of_vectors
from pfbench.sets.norms import NormBall
from pfbench.sets.penalties import L1Penalty
from pfbench.sets.whole import WholeSpace

Floats = npt.NDArray[np.float64]

_WAVES = 4


@dataclass(frozen=True, eq=False)
class Waves(FiniteSum):
    """f_i(x) = sum over k of a_ik sin(<w_ik, x> + b_ik), four sines a component.

    No two components, points or steps have equal gradients, so that an estimate formed at another
    point, from another batch or with another weight is another vector. So few components have few
    batches: means over all draws are exact.

    Parameters
    ----------
    n
        Number of components.
    set
        The feasible set, of vectors of length d; the whole space for none.
    penalty
        The penalty, None for none.
    scale
        Factor of all a_ik.
    norm
        The ball of a norm in place of a set, None for none.
    """

    name: ClassVar[str] = "waves"

    n: int = 3
    set: AnySet = field(default_factory=lambda: WholeSpace(3))
    penalty: Penalty | None = None
    scale: float = 2.0
    norm: NormBall | None = None

    @cached_property
    def _waves(self) -> tuple[Floats, Floats, Floats]:
        """a, b, w, shapes (n, k), (n, k), (n, k, d)."""
        rng = np.random.default_rng(13)
        a = self.scale * rng.uniform(0.5, 1.5, (self.n, _WAVES))
        b = rng.uniform(-3.0, 3.0, (self.n, _WAVES))
        return a, b, rng.uniform(-1.0, 1.0, (self.n, _WAVES, *self.set.shape))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The sizes by name."""
        of_norm = {} if self.norm is None else {"norm": self.norm.name}
        return MappingProxyType({"n": self.n, "set": self.set.name, **of_norm})

    def start(self) -> Floats:
        """Return a fixed point that is no minimiser, of norm 0.83 where it has three entries."""
        return np.resize([0.6, -0.3, 0.5], self.set.shape)

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        a, b, w = self._waves
        return float((a * np.sin(w @ x + b)).sum() / self.n)

    def components(self, x: Floats) -> Floats:
        """Return the gradient of each f_i at x, shape (n, d)."""
        a, b, w = self._waves
        slopes = a * np.cos(w @ x + b)
        return np.asarray((slopes[:, None, :] @ w)[:, 0, :])

    def curvatures(self, s: Floats) -> Floats:
        """Return the Hessian of each f_i at s, shape (n, d, d)."""
        a, b, w = self._waves
        bends = -a * np.sin(w @ s + b)
        return np.asarray(np.einsum("ik,ikd,ike->ide", bends, w, w))

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, shape (d,)."""
        return np.asarray(self.components(x).mean(axis=0))

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x, shape (d,)."""
        indices, weights = weighted(sample)
        return np.asarray(weights @ self.components(x)[indices])

    def hessian(self, s: Floats) -> "WavesHessian":
        """Return all component Hessians at s."""
        return WavesHessian(self.curvatures(s))


class WavesHessian:
    """Component Hessians, shape (n, d, d), applied to differences of points."""

    def __init__(self, matrices: Floats) -> None:
        self._matrices = matrices

    def product(self, x: Floats, y: Floats) -> Floats:
        """Return the mean Hessian times x - y."""
        return np.asarray(self._matrices.mean(axis=0) @ (x - y))

    def batch(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the mean of the sampled component Hessians times x - y."""
        indices, weights = weighted(sample)
        return np.asarray(np.tensordot(weights, self._matrices[indices], axes=1) @ (x - y))


def on_space(n: int = 3, scale: float = 2.0) -> Waves:
    """Return sines without set and penalty; their few batches are enumerated."""
    return Waves(n, scale=scale)


def on_ball(n: int = 3, scale: float = 2.0) -> Waves:
    """Return sines on the unit ball, which steps from the start soon reach the boundary of."""
    return Waves(n, L2Ball(3, 1.0), scale=scale)


def on_octahedron(n: int = 3, scale: float = 2.0) -> Waves:
    """Return sines on the l1 ball of radius 1.5: linear minimisation returns vertices."""
    return Waves(n, L1Ball(3, 1.5), scale=scale)


def with_penalty(n: int = 3, scale: float = 2.0) -> Waves:
    """Return sines with an l1 penalty, whose proximal map is not linear."""
    return Waves(n, penalty=L1Penalty(0.2), scale=scale)


def with_norm(n: int = 3, scale: float = 2.0, norm: str = "linf") -> Waves:
    """Return sines of six variables with a norm; one of matrices has them as a block (2, 3)."""
    return Waves(n, WholeSpace(6), scale=scale, norm=norm_of_vectors(norm, 6))
