"""Sets of square matrices: doubly stochastic matrices, and the spectrahedron."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from pfbench.base.arrays import Floats, Integers, LowerUpper
from pfbench.base.checks import check_integer, check_real
from pfbench.base.parameters import parameter
from pfbench.points import RankOne
from pfbench.sets.balls import project_simplex
from pfbench.sets.body import ConvexBody, check_gradient, check_projectable, is_point, scale_to_unit


@dataclass(frozen=True, repr=False, eq=False)
class BirkhoffPolytope(ConvexBody):
    """Doubly stochastic m x m matrices: the convex hull of the permutation matrices.

    Raises
    ------
    InputError
        If m is below 1.
    """

    name: ClassVar[str] = "birkhoff"
    polytope: ClassVar[bool] = True
    summary: ClassVar[str] = "doubly stochastic matrices: convex hull of the permutation matrices"
    source: ClassVar[str] = "Birkhoff 1946; Crouse 2016 (linear assignment)"
    points: ClassVar[str] = "square matrices"

    m: int

    def __post_init__(self) -> None:
        check_integer("m", self.m, minimum=1)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a point: (m, m)."""
        return self.m, self.m

    @property
    def diameter(self) -> float:
        """Exact diameter sqrt(2m), the distance between permutations without a common entry.

        It is 0 if m = 1.
        """
        return math.sqrt(2.0 * self.m) if self.m > 1 else 0.0

    @property
    def max_norm(self) -> float:
        """Exact largest Frobenius norm sqrt(m), that of a vertex."""
        return math.sqrt(self.m)

    def lo(self, g: Any) -> Floats:
        """Return the permutation matrix v of least cost <g, v>, shape (m, m), in O(m^3).

        Ties are resolved in the same way each time (for g = 0, by the identity).
        """
        scaled, _ = scale_to_unit(check_gradient(g, self.shape))
        return self._vertex(scipy.optimize.linear_sum_assignment(scaled)[1])

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether no entry is negative and all rows and columns sum to 1.

        The absolute tolerance is `tolerance`.
        """
        return is_point(x, self.shape) and bool(
            x.min() >= -tolerance
            and np.abs(x.sum(axis=0) - 1.0).max() <= tolerance
            and np.abs(x.sum(axis=1) - 1.0).max() <= tolerance
        )

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a uniformly random permutation matrix."""
        return self._vertex(rng.permutation(self.m))

    def start(self) -> Floats:
        """Return the identity matrix, as 0 is not in the set."""
        return np.eye(self.m)

    def _vertex(self, columns: Integers) -> Floats:
        vertex = np.zeros(self.shape)
        vertex[np.arange(self.m), columns] = 1.0
        return vertex


_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, repr=False, eq=False)
class Spectrahedron(ConvexBody):
    """Symmetric positive semidefinite d x d matrices of trace `radius`, as dense arrays.

    A gradient or a point to project need not be symmetric, since only its symmetric part matters.

    Raises
    ------
    InputError
        If d is below 1 or the radius is not positive and finite.
    """

    name: ClassVar[str] = "spectrahedron"
    summary: ClassVar[str] = "positive semidefinite matrices of trace radius"
    source: ClassVar[str] = "Hazan 2008; Jaggi 2013 section 4"
    points: ClassVar[str] = "square matrices"
    has_projection: ClassVar[bool] = True

    d: int
    radius: float = parameter(1.0, "size of the set, positive")

    def __post_init__(self) -> None:
        check_integer("d", self.d, minimum=1)
        check_real("radius", self.radius, above=0.0)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a point: (d, d)."""
        return self.d, self.d

    @property
    def diameter(self) -> float:
        """Exact diameter radius * sqrt(2), the distance of orthogonal vertices (0 if d = 1)."""
        return self.radius * math.sqrt(2.0) if self.d > 1 else 0.0

    @property
    def max_norm(self) -> float:
        """Exact largest Frobenius norm: `radius`, the norm of a vertex."""
        return self.radius

    def lo(self, g: Any) -> RankOne:
        """Return radius * u u' for a unit eigenvector u of the smallest eigenvalue of g; O(d^3)."""
        u = _smallest_eigenvector(_check_symmetric(scale_to_unit(check_gradient(g, self.shape))[0]))
        return RankOne(u, u, self.radius)

    def minimum(self, g: Any) -> LowerUpper:
        """Return certified bounds of min <g, v>, which is radius times g's smallest eigenvalue.

        The upper bound is a Rayleigh quotient. The lower bound mu is proved by a successful
        Cholesky factorisation of g - mu I, with a margin for rounding errors: S. Rump,
        "Verification of positive definiteness" (BIT 46, 2006). The difference of the bounds is of
        the order d^2 2^-53 times the norm of g.
        """
        scaled, exponent = scale_to_unit(check_gradient(g, self.shape))
        S = _check_symmetric(scaled)
        if not S.any():
            return 0.0, 0.0
        u = _smallest_eigenvector(S)
        theta = float(u @ (S @ u)) / float(u @ u)
        # Rounding of the symmetric part and of the quotient, bounded by the Frobenius norm.
        slack = step = (self.d + 4) * _EPS * float(np.linalg.norm(S))
        while (proved := _eigenvalue_lower_bound(S, theta - step)) is None:
            step *= 4.0
        lower, upper = self.radius * (proved - slack), self.radius * (theta + slack)
        return float(np.ldexp(lower, exponent)), float(np.ldexp(upper, exponent))

    def project(self, y: Any) -> Floats:
        """Return the Euclidean projection of y, shape (d, d), in O(d^3).

        The eigenvalues are projected onto the simplex.
        """
        values, vectors = scipy.linalg.eigh(
            _check_symmetric(check_projectable(y, self.shape)), check_finite=False
        )
        # Eigenvalues by `radius` below the largest one become 0; cut there, no sum overflows.
        with np.errstate(over="ignore"):
            below = np.maximum(values - values[-1], -self.radius)
        weights = project_simplex(below, self.radius)
        used = np.flatnonzero(weights)
        root = vectors[:, used] * np.sqrt(weights[used])
        return np.asarray(root @ root.T)

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether x, an array or a vertex, is in the set, within tolerance * radius.

        This is the absolute tolerance of the asymmetry, of the trace and of the smallest
        eigenvalue.
        """
        if isinstance(x, RankOne):
            x = x.matrix()
        if not is_point(x, self.shape):
            return False
        slack = tolerance * self.radius
        if np.abs(x - x.T).max() > slack or abs(float(np.trace(x)) - self.radius) > slack:
            return False
        eigh = scipy.linalg.eigh(
            _check_symmetric(x), eigvals_only=True, subset_by_index=(0, 0), check_finite=False
        )
        return float(eigh[0]) >= -slack

    def random_vertex(self, rng: np.random.Generator) -> RankOne:
        """Return radius * u u' for a uniformly random unit vector u."""
        u = rng.standard_normal(self.d)
        u /= np.linalg.norm(u)
        return RankOne(u, u, self.radius)

    def start(self) -> Floats:
        """Return the vertex radius * e_1 e_1', shape (d, d), as 0 is not in the set."""
        point = np.zeros(self.shape)
        point[0, 0] = self.radius
        return point


def _check_symmetric(array: Floats) -> Floats:
    # Halves first: the sum of two entries may overflow.
    half = 0.5 * array
    return np.asarray(half + half.T)


def _smallest_eigenvector(S: Floats) -> Floats:
    """Return a unit eigenvector of the smallest eigenvalue of S."""
    vectors = scipy.linalg.eigh(S, subset_by_index=(0, 0), check_finite=False)[1]
    return np.ascontiguousarray(vectors[:, 0])


def _eigenvalue_lower_bound(S: Floats, mu: float) -> float | None:
    """Return a proved lower bound, near mu, of the smallest eigenvalue of S.

    Return None if mu is too large.
    """
    shifted = S.copy()
    diagonal = np.einsum("ii->i", shifted)
    diagonal -= mu
    trace = float(np.abs(diagonal).sum())
    try:
        scipy.linalg.cholesky(shifted, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return mu - (len(S) + 4) * _EPS * trace
