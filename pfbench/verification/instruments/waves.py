"""A sum of sines: non-convex, smooth, with a gradient and a Hessian that change everywhere.

Tiny, so that all draws are enumerated, or of the size of use.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.constants import Constants
from pfbench.base.protocols import Penalty
from pfbench.base.sample import Indices, weighted
from pfbench.problems.base import FiniteSum, HessianOf
from pfbench.sets import L1Ball, L2Ball, LinfBall
from pfbench.sets.body import Body
from pfbench.sets.named_norms import norm_of_vectors
from pfbench.sets.norms import NormBall
from pfbench.sets.penalties import L1Penalty
from pfbench.sets.whole import WholeSpace

_WAVES = 4

_RARE = 300.0
"""Factor of a few components: ten times that of the others' batches, once a batch has 32."""


@dataclass(frozen=True, eq=False)
class Waves(FiniteSum):
    """f_i(x) = sum over k of a_ik sin(<w_ik, x> + b_ik), four sines a component.

    No two components, points or steps have equal gradients, so that an estimate formed at another
    point, from another batch or with another weight is another vector. So few components have few
    batches: means over all draws are exact. At size there is one sine a component.

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
    rare
        One component in so many has an a_ik 300 times as large: a few batches are far from the
        others. 0 for none.
    kind
        "alike" if all components are equal, "level" if the start is a stationary point of f,
        "vertex" if it is one of the set.
    begin
        Draws the start, inside the set; 0 for the fixed one.
    """

    name: ClassVar[str] = "waves"

    n: int = 3
    set: Body = field(default_factory=lambda: WholeSpace(3))
    penalty: Penalty | None = None
    scale: float = 2.0
    norm: NormBall | None = None
    rare: int = 0
    begin: int = 0
    kind: str = ""

    @cached_property
    def _waves(self) -> tuple[Floats, Floats, Floats]:
        """a, b, w, shapes (n, k), (n, k), (n, k, d)."""
        rng, waves = np.random.default_rng(13), 1 if self.rare else _WAVES
        a = self.scale * rng.uniform(0.5, 1.5, (self.n, waves))
        b = rng.uniform(-3.0, 3.0, (self.n, waves))
        if self.rare:
            a[self.rare // 2 :: self.rare] *= _RARE
        w = rng.uniform(-1.0, 1.0, (self.n, waves, *self.set.shape))
        if self.kind == "alike":
            a, b, w = (np.repeat(part[:1], self.n, axis=0) for part in (a, b, w))
        return a, b, w

    @cached_property
    def _slope(self) -> Floats:
        """What is taken from each gradient, so that the start is stationary; else 0."""
        if self.kind != "level":
            return np.zeros(self.set.shape)
        return np.asarray(replace(self, kind="").gradient(self.start()))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The sizes by name."""
        of_norm = {} if self.norm is None else {"norm": self.norm.name}
        return MappingProxyType({"n": self.n, "set": self.set.name, **of_norm})

    def start(self) -> Floats:
        """Return a fixed point that is no minimiser, of norm 0.83 where it has three entries.

        With more than six it is as far inside the sets as there. A drawn one has an l1 norm of at
        most 1, which all sets here hold.
        """
        if self.kind == "vertex" and self.set.diameter < np.inf:
            direction = np.zeros(self.set.shape)
            direction[0] = 1.0
            return np.asarray(self.set.lo(direction))
        if self.begin:
            rng = np.random.default_rng(self.begin)
            direction = rng.normal(size=self.set.shape)
            return np.asarray(rng.random() * direction / np.abs(direction).sum())
        point = np.resize([0.6, -0.3, 0.5], self.set.shape)
        return point if point.size <= 6 else point * 3.0 / point.size

    @property
    def bounds(self) -> Constants:
        """Constants that hold on the whole space, by |sin| <= 1 and |cos| <= 1; M is 1."""
        a, _, w = self._waves
        a, lengths = np.abs(a), np.linalg.norm(w, axis=-1)
        of_slopes, of_bends, of_turns = ((a * lengths**k).sum(axis=1) for k in (1, 2, 3))
        return Constants(
            n=self.n,
            D=self.set.diameter,
            L_f=float(of_bends.mean()),
            L_ms=float(np.sqrt((of_bends**2).mean())),
            L_max=float(of_bends.max()),
            L_mean=float(of_bends.mean()),
            L2_ms=float(np.sqrt((of_turns**2).mean())),
            sigma2=float((of_slopes**2).mean()),
            delta=2.0 * float(a.sum(axis=1).mean()),
            M=1.0,
            ell=float(of_bends.mean()),
        )

    @cached_property
    def _bends(self) -> Floats:
        a, _, w = self._waves
        return np.asarray((np.abs(a) * (w * w).sum(axis=-1)).sum(axis=1))

    def component_smoothness(self) -> Floats:
        """Return L_i = sum over k of |a_ik| |w_ik|^2, shape (n,)."""
        return self._bends

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        a, b, w = self._waves
        return float((a * np.sin(w @ x + b)).sum() / self.n - self._slope @ x)

    def along(self, x: Floats, d: Floats) -> Callable[[Floats], Floats]:
        """Return the function of several gamma whose values are f(x + gamma d)."""
        a, b, w = self._waves
        here, by = w @ x + b, w @ d
        level, slope = self._slope @ x, self._slope @ d

        def values(gammas: Floats) -> Floats:
            sums = [(a * np.sin(here + gamma * by)).sum() / self.n for gamma in gammas]
            return np.asarray(sums - level - gammas * slope)

        return values

    def components(self, x: Floats, indices: Integers | None = None) -> Floats:
        """Return the gradient of each f_i at x, shape (n, d), or of those given."""
        a, b, w = self._waves if indices is None else (part[indices] for part in self._waves)
        slopes = a * np.cos(w @ x + b)
        return np.asarray((slopes[:, None, :] @ w)[:, 0, :] - self._slope)

    def curvatures(self, s: Floats) -> Floats:
        """Return the Hessian of each f_i at s, shape (n, d, d)."""
        a, b, w = self._waves
        bends = -a * np.sin(w @ s + b)
        return np.asarray(np.einsum("ik,ikd,ike->ide", bends, w, w))

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient at x, shape (d,)."""
        if not self.rare:
            return np.asarray(self.components(x).mean(axis=0))
        a, b, w = self._waves
        flat = w.reshape(-1, w.shape[-1])
        slopes = a.ravel() * np.cos(flat @ x + b.ravel())
        return np.asarray(slopes @ flat / self.n - self._slope)

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x, shape (d,)."""
        indices, weights = weighted(sample)
        return np.asarray(weights @ self.components(x, indices))

    def hessian(self, s: Floats) -> HessianOf:
        """Return all component Hessians at s, sums of h_ik w_ik w_ik^T."""
        a, b, w = self._waves
        bends, flat = -a * np.sin(w @ s + b), w.reshape(-1, w.shape[-1])
        mean = (flat.T * bends.ravel()) @ flat / len(w)

        def applied(sample: Indices | None, u: Floats) -> Floats:
            if sample is None:
                return np.asarray(mean @ u)
            indices, weights = weighted(sample)
            drawn = w[indices]
            slopes = weights[:, None] * bends[indices] * (drawn @ u)
            return np.asarray(np.tensordot(slopes, drawn, axes=2))

        return HessianOf(applied)


def on_space(n: int = 3, d: int = 3, **more: Any) -> Waves:
    """Return sines without set and penalty; their few batches are enumerated."""
    return Waves(n, WholeSpace(d), **more)


def on_ball(n: int = 3, d: int = 3, **more: Any) -> Waves:
    """Return sines on the unit ball, which steps from the start soon reach the boundary of."""
    return Waves(n, L2Ball(d, 1.0), **more)


def on_octahedron(n: int = 3, d: int = 3, **more: Any) -> Waves:
    """Return sines on the l1 ball of radius 1.5: linear minimisation returns vertices."""
    return Waves(n, L1Ball(d, 1.5), **more)


def on_box(n: int = 3, d: int = 100, **more: Any) -> Waves:
    """Return sines of many variables on a box, of which many vertices make the optimum."""
    return Waves(n, LinfBall(d, 0.1), **more)


def with_penalty(n: int = 3, d: int = 3, **more: Any) -> Waves:
    """Return sines with an l1 penalty, whose proximal map is not linear."""
    return Waves(n, WholeSpace(d), L1Penalty(0.2), **more)


def with_norm(n: int = 3, d: int = 6, norm: str = "linf", **more: Any) -> Waves:
    """Return sines of six variables with a norm; one of matrices has them as a block (2, 3)."""
    return Waves(n, WholeSpace(d), norm=norm_of_vectors(norm, d), **more)
