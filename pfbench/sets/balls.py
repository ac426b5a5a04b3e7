"""The l1, l2 and l-infinity balls around 0."""

import math
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats, norm
from pfbench.base.errors import DivergedError
from pfbench.sets.body import as_possibly_nonfinite_gradient, check_gradient, check_projectable
from pfbench.sets.norms import NormBall
from pfbench.sets.simplex import project_simplex
from pfbench.sets.vectors import VectorSet, check_finite_winner


class L1Ball(VectorSet, NormBall):
    """Vectors of length d whose absolute entries sum to at most `radius`."""

    name = "l1"
    summary = "vectors whose moduli sum to at most radius"
    polytope = True
    zeta: ClassVar[float] = 1.0

    @property
    def omega(self) -> float:
        """Exact: max |x|_1/|x|_2 = sqrt(d), where all moduli are equal."""
        return math.sqrt(self.d)

    def norm(self, x: Floats) -> float:
        """Return the sum of the moduli."""
        return float(np.abs(x).sum())

    def lo(self, g: Floats) -> Floats:
        """Return minus radius times the sign at the entry of g that is largest in modulus."""
        g = as_possibly_nonfinite_gradient(g, self.shape)
        index = check_finite_winner(g, int(np.argmax(np.abs(g))))
        return self._fill_vector(index, -math.copysign(self.radius, g[index]))

    def minimum(self, g: Floats) -> tuple[float, float]:
        """Return (-m, -m), m being radius times the largest modulus in g."""
        value = -self.radius * float(np.abs(check_gradient(g, self.shape)).max())
        return value, value

    def project(self, y: Floats) -> Floats:
        """Return the nearest point of the ball."""
        y = check_projectable(y, self.shape)
        size = np.abs(y)
        if size.sum() <= self.radius:
            return y.copy()
        return np.copysign(project_simplex(size, self.radius), y)

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a uniformly random vertex."""
        sign = 1.0 if rng.integers(2) else -1.0
        return self._fill_vector(int(rng.integers(self.d)), sign * self.radius)


class L2Ball(VectorSet, NormBall):
    """Vectors of length d with Euclidean norm at most `radius`; every boundary point is extreme."""

    name = "l2"
    summary = "vectors of Euclidean norm at most radius"
    zeta: ClassVar[float] = 1.0
    omega: ClassVar[float] = 1.0

    def norm(self, x: Floats) -> float:
        """Return the Euclidean norm."""
        return float(np.linalg.norm(x))

    def lo(self, g: Floats) -> Floats:
        """Return -radius g/|g|; for g = 0 the point radius e_1."""
        g = as_possibly_nonfinite_gradient(g, self.shape)
        largest = float(np.abs(g).max())
        if not math.isfinite(largest):
            raise DivergedError(
                "the gradient passed to the linear minimisation has NaN or infinite entries"
            )
        if largest == 0.0:
            return self._fill_vector(0, self.radius)
        scaled = g / largest
        return (-self.radius / norm(scaled)) * scaled

    def minimum(self, g: Floats) -> tuple[float, float]:
        """Return (-m, -m), m being radius |g|."""
        g = check_gradient(g, self.shape)
        largest = float(np.abs(g).max())
        if largest == 0.0:
            return 0.0, 0.0
        value = -self.radius * largest * norm(g / largest)
        return value, value

    def project(self, y: Floats) -> Floats:
        """Return the nearest point of the ball."""
        y = check_projectable(y, self.shape)
        largest = float(np.abs(y).max())
        if largest == 0.0:
            return y.copy()
        length = largest * norm(y / largest)
        return y.copy() if length <= self.radius else self.lo(-y)

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a uniform point of the sphere."""
        return self.lo(rng.standard_normal(self.d))


class LinfBall(VectorSet, NormBall):
    """Vectors of length d with every entry in [-radius, radius]."""

    name = "linf"
    summary = "vectors with every modulus at most radius"
    polytope = True
    omega: ClassVar[float] = 1.0

    @property
    def zeta(self) -> float:
        """Exact: max |x|_*/|x|_2 = sqrt(d), where all moduli are equal."""
        return math.sqrt(self.d)

    def norm(self, x: Floats) -> float:
        """Return the largest modulus."""
        return float(np.abs(x).max())

    @property
    def diameter(self) -> float:
        """2 radius sqrt(d)."""
        return 2.0 * self.radius * math.sqrt(self.d)

    def lo(self, g: Floats) -> Floats:
        """Return -radius sign(g); where g is 0 the entry is radius, so that it is a vertex."""
        g = as_possibly_nonfinite_gradient(g, self.shape)
        check_finite_winner(g, int(np.argmax(np.abs(g))))
        return np.where(g > 0.0, -self.radius, self.radius)

    def lo_zero_if_undetermined(self, g: Any) -> Floats:
        """Return -radius sgn(g), sgn(0) = 0."""
        return np.asarray(-self.radius * np.sign(check_gradient(g, self.shape)))

    def minimum(self, g: Floats) -> tuple[float, float]:
        """Return (-m, -m), m being radius times the l1 norm of g."""
        value = -self.radius * float(np.abs(check_gradient(g, self.shape)).sum())
        return value, value

    def project(self, y: Floats) -> Floats:
        """Return y with its entries clipped to [-radius, radius]."""
        return np.clip(check_projectable(y, self.shape), -self.radius, self.radius)

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a uniformly random vertex."""
        return np.where(rng.integers(2, size=self.d) == 1, self.radius, -self.radius)
