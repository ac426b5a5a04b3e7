"""A long slope, on which a method needs as many steps as its theorem allows.

`Valley` has such a slope on a segment, on which errors of the estimate turn Frank-Wolfe the wrong
way.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.base.protocols import FeasibleSet
from pfbench.base.sample import Indices, weight_indices
from pfbench.problems.base import ComponentHessiansAtPoint, FiniteSum
from pfbench.sets import Box
from pfbench.sets.penalties import L1Penalty
from pfbench.sets.whole_space import WholeSpace


@dataclass(frozen=True)
class ConstantSlopeProblem(FiniteSum):
    """Finite sum on the real line with minimiser 0, whose slope is about g from the start to 0.

    f_i(x) = (g^2/a) log cosh(a x/g) + s_i k(x), with alternating signs s_i = +1, -1 and
    k'(x) = sigma sin(a x/sigma + phase). Here a = L/sqrt 2; if sigma = 0, a = L and k = 0. So f is
    the first term, with slope g and curvature at most a, and L_ms = L.

    With the penalty h = w |x|, the distance from the start to 0 is about Delta/(g + w). A method
    with step size eta makes steps of length eta (g + w). The gradient mapping stays above (g + w)/2
    up to a distance of order g/L from 0, so the method needs Delta/(eta (g + w)^2) steps, up to a
    constant number. For g + w = 2 epsilon this is a rate of epsilon^-2 for any n and any use of the
    samples. Only a table needs memory or time that grows with n.

    Parameters
    ----------
    n
        Number of components, even.
    g
        Slope, positive.
    gap
        Delta, about f + h at the start minus its minimum, at least 2 g (g + w)/a.
    L
        Mean-squared smoothness, positive.
    sigma
        Largest standard deviation of the component gradients, at least 0.
    weight
        w of the penalty; 0 for none.
    phase
        The phase of k'.
    """

    name: ClassVar[str] = "slope"
    best_known: ClassVar[tuple[float, str]] = (0.0, "at 0")

    n: int
    g: float
    gap: float
    L: float = 1.0
    sigma: float = 0.0
    weight: float = 0.0
    phase: float = 0.0

    @property
    def set(self) -> FeasibleSet:
        """Feasible set: the whole line."""
        return WholeSpace(1)

    @cached_property
    def penalty(self) -> L1Penalty | None:
        """Penalty w |x| with the weight w; None if w = 0."""
        return L1Penalty(self.weight) if self.weight > 0.0 else None

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the problem by name."""
        return {"n": self.n, "g": self.g, "gap": self.gap, "sigma": self.sigma}

    @cached_property
    def max_curvature(self) -> float:
        """Largest second derivative of f, which is called a in the formulas of the class."""
        return self.L if self.sigma == 0.0 else self.L / math.sqrt(2.0)

    def start(self) -> Floats:
        """Return the point where the objective is `gap` above its minimum, up to a tiny error."""
        bent = self.g * self.g * math.log(2.0) / self.max_curvature
        return np.array([(self.gap + bent) / (self.g + self.weight)])

    def constants(self, start: Floats) -> Constants:
        """Return the constants of the problem, except those that need a bounded set."""
        a = self.max_curvature
        ratio = 0.0 if self.sigma == 0.0 else a / self.sigma
        return Constants(
            n=self.n,
            L_f=a,
            L_ms=self.L,
            L_max=a if self.sigma == 0.0 else 2.0 * a,
            L2_ms=math.hypot(a * a / self.g, a * ratio),
            sigma2=self.sigma**2,
            delta=self.value(start) + self.weight * abs(float(start[0])),
            ell=0.0,
        )

    def value(self, x: Floats) -> float:
        """Return the value f(x), without the penalty."""
        u = abs(self.max_curvature * float(x[0]) / self.g)
        height = u + math.log1p(math.exp(-2.0 * u)) - math.log(2.0)
        return self.g * self.g / self.max_curvature * height

    def gradient(self, x: Floats) -> Floats:
        """Return the derivative f'(x), shape (1,)."""
        return np.array([self._slope(float(x[0]))])

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of f_i'(x) over the sample, shape (1,)."""
        r = float(x[0])
        return np.array([self._slope(r) + _mean_sign(sample) * self._spread(r)])

    def difference(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the mean of f_i'(x) - f_i'(y) over the sample, shape (1,)."""
        r, s = float(x[0]), float(y[0])
        change = self._spread(r) - self._spread(s)
        return np.array([self._slope(r) - self._slope(s) + _mean_sign(sample) * change])

    def _slope(self, r: float) -> float:
        return self.g * math.tanh(self.max_curvature * r / self.g)

    def _spread(self, r: float) -> float:
        if self.sigma == 0.0:
            return 0.0
        return self.sigma * math.sin(self.max_curvature * r / self.sigma + self.phase)


@dataclass(frozen=True)
class Valley(ConstantSlopeProblem):
    """`ConstantSlopeProblem` on a segment: from the start through the minimiser 0 to -`overshoot`.

    The sign of the estimate decides which end linear minimisation returns. So an error as large as
    f' turns the method the wrong way. The derivative f' is near g down to a distance g/L from 0.
    With g a few epsilon, a method with a stale estimate leaves the valley on its other side. There
    the Frank-Wolfe gap is g times the length of the segment. The part before the valley takes about
    the fraction epsilon/g of L Delta/epsilon^2 iterations, with gaps of about g D. The mean gap is
    therefore half of 2 epsilon D, which theorem 3.1 of shen2019 allows.

    Parameters
    ----------
    overshoot
        Length of the segment beyond the minimiser; positive.
    """

    name: ClassVar[str] = "valley"

    overshoot: float = 1.0

    @cached_property
    def set(self) -> Box:
        """Feasible set: the segment [-overshoot, start]."""
        return Box(1, np.array([-self.overshoot]), self.start())

    def constants(self, start: Floats) -> Constants:
        """Return the constants of `ConstantSlopeProblem`, with the segment's length as diameter."""
        return replace(super().constants(start), D=self.overshoot + float(self.start()[0]))

    def hessian(self, s: Floats) -> ComponentHessiansAtPoint:
        """Return the second derivatives f_i'' of all components at s."""
        r = float(s[0])
        bent = self.max_curvature / math.cosh(self.max_curvature * r / self.g) ** 2
        wave = self.max_curvature * r / self.sigma + self.phase if self.sigma else math.pi / 2.0
        above = self.max_curvature * math.cos(wave)

        def apply_hessian(sample: Indices | None, u: Floats) -> Floats:
            return np.asarray((bent if sample is None else bent + _mean_sign(sample) * above) * u)

        return ComponentHessiansAtPoint(apply_hessian)


def _mean_sign(sample: Indices) -> float:
    """Return the mean over a sample of the components' signs 1 and -1."""
    if isinstance(sample, np.ndarray):
        return 1.0 - 2.0 * float(np.count_nonzero(sample & 1)) / sample.size
    indices, weights = weight_indices(sample)
    return 1.0 - 2.0 * float(weights @ (indices & 1))
