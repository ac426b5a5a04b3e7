"""Problems on which all methods take the same path, and an estimator attains its error law."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.base.sample import Indices, weight_indices
from pfbench.problems.base import ComponentHessiansAtPoint, FiniteSum
from pfbench.sets import Box


@dataclass(frozen=True)
class ForcedPath(FiniteSum):
    """Finite sum on a segment, for which linear minimisation always returns the same endpoint.

    f_i(x) = s_i (sigma + h(r)) x_k - c r with r = x_0, alternating signs s_i = +1, -1, k running
    through 1 .. d-1, and h(r) = L r + L2 r^2/2 - kappa r^3/6. On the segment, grad f_i is
    s_i (sigma + h(r)) e_k - c e_0, and grad f = -c e_0, as n is a multiple of 2(d-1). So along the
    path E|grad f_i(x) - grad f_i(y)|^2 = (h(r) - h(r'))^2, and the error laws of shen2019
    (section 4) are attained where h' = L_ms and h'' = L2.

    Parameters
    ----------
    n
        Number of components, a multiple of 2(d-1); only a table needs memory that grows with n.
    d
        Dimension, at least 2.
    L, L2, kappa
        Derivatives of h at 0, at least 0.
    sigma
        Standard deviation of the component gradients at 0.
    gradient_slope
        c > 0, which forces the path.
    length
        Length of the segment.
    begin
        r at the start.
    """

    name: ClassVar[str] = "forced-path"

    n: int
    d: int = 65
    L: float = 1.0
    L2: float = 0.0
    kappa: float = 0.0
    sigma: float = 0.0
    gradient_slope: float = 1.0
    length: float = 1.0
    begin: float = 0.0

    @cached_property
    def set(self) -> Box:
        """Feasible set: the segment from 0 to `length` times the first unit vector."""
        return Box(self.d, np.zeros(self.d), self.length * np.eye(self.d)[0])

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the problem by name."""
        return {"n": self.n, "d": self.d, "L": self.L, "L2": self.L2}

    def start(self) -> Floats:
        """Return the start point: `begin` times the first unit vector; shape (d,)."""
        return np.asarray(self.begin * np.eye(self.d)[0])

    def constants(self, start: Floats) -> Constants:
        """Return the problem's constants, which are exact for points of the segment."""
        r = np.linspace(0.0, self.length, 1001)
        slopes = np.abs(self.L + self.L2 * r - self.kappa * r * r / 2.0)
        curvatures = np.abs(self.L2 - self.kappa * r)
        L = float(slopes.max())
        return Constants(
            n=self.n,
            D=self.length,
            L_f=0.0,
            L_ms=L,
            L_max=L,
            L_mean=L,
            L2_ms=float(curvatures.max()),
            sigma2=float((self.sigma + self.h(r)).max() ** 2),
            delta=self.gradient_slope * (self.length - float(start[0])),
            M=self.length,
            ell=0.0,
        )

    def component_smoothness(self) -> Floats:
        """Return the smoothness constants L_i of the components, all of them equal; shape (n,)."""
        return np.full(self.n, self.constants(self.start()).L_max)

    def value(self, x: Floats) -> float:
        """Return f(x) = -c x_0 for the slope c > 0 and the first coordinate x_0 of x."""
        return -self.gradient_slope * float(x[0])

    def gradient(self, x: Floats) -> Floats:
        """Return grad f(x) = -c e_0 for the slope c and the first unit vector e_0, shape (d,)."""
        g = np.zeros(self.d)
        g[0] = -self.gradient_slope
        return g

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at a point x of the segment."""
        g = self._mean_of_signed_axes(sample, self.sigma + self.h(float(x[0])))
        g[0] -= self.gradient_slope
        return g

    def difference(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the sample mean of grad f_i(x) - grad f_i(y), computed without cancellation."""
        r, s = float(x[0]), float(y[0])
        change = self.L + self.L2 * (r + s) / 2.0 - self.kappa * (r * r + r * s + s * s) / 6.0
        return self._mean_of_signed_axes(sample, change * (r - s))

    def hessian(self, s: Floats) -> ComponentHessiansAtPoint:
        """Return the Hessians of all components at s; the mean of the Hessians is 0.

        They are s_i h'(r) (e_0 e_k' + e_k e_0').
        """
        slope = self.h_derivative(float(s[0]))

        def apply_hessian(sample: Indices | None, u: Floats) -> Floats:
            if sample is None:
                return np.zeros(self.d)
            return self._mean_of_signed_axes(sample, slope * float(u[0]))

        return ComponentHessiansAtPoint(apply_hessian)

    def h_derivative(self, r: float) -> float:
        """Return the derivative h'(r) = L + L2 r - kappa r^2/2 of the method `h`."""
        return self.L + self.L2 * r - self.kappa * r * r / 2.0

    def h(self, r: Any) -> Any:
        """Return h(r) = L r + L2 r^2/2 - kappa r^3/6, which defines the component gradients."""
        return self.L * r + self.L2 * r * r / 2.0 - self.kappa * r**3 / 6.0

    def _mean_of_signed_axes(self, sample: Indices, factor: float) -> Floats:
        """Return `factor` times the sample mean of the components' signed unit vectors."""
        indices, weights = weight_indices(sample)
        signs = 1.0 - 2.0 * (indices % 2)
        k = 1 + (indices // 2) % (self.d - 1)
        return np.asarray(factor * np.bincount(k, signs * weights, minlength=self.d))
