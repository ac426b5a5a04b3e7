"""Possibly nonconvex quadratics with exact constants, and convex hulls of a few points."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import scipy

from pfbench.base.arrays import Floats, LowerUpper
from pfbench.base.constants import Constants
from pfbench.base.errors import RefusedError
from pfbench.base.protocols import FeasibleSet
from pfbench.base.sample import Indices, weight_indices
from pfbench.problems.base import FiniteSum
from pfbench.sets import Box, L1Ball, L2Ball, Simplex

_ENUMERATED = 10
"""Maximum number of vertices for which the faces of a simplex are enumerated."""


@dataclass(frozen=True, eq=False)
class ConvexHull:
    """Convex hull of a few points of R^d.

    Parameters
    ----------
    vertices
        The points, shape (k, d).
    """

    name: ClassVar[str] = "hull"
    has_projection: ClassVar[bool] = False
    polytope: ClassVar[bool] = True

    vertices: Floats

    @cached_property
    def diameter(self) -> float:
        """Largest Euclidean distance of two vertices."""
        return float(np.linalg.norm(self.vertices[:, None] - self.vertices, axis=2).max())

    @cached_property
    def radius(self) -> float:
        """Largest Euclidean norm of a vertex."""
        return float(np.linalg.norm(self.vertices, axis=1).max())

    def lo(self, g: Floats) -> Floats:
        """Return the first vertex v that minimises <g, v>."""
        return np.array(self.vertices[int(np.argmin(self.vertices @ g))])

    def minimum(self, g: Floats) -> LowerUpper:
        """Return min <g, v> over the vertices v twice, as a lower and as an upper bound."""
        lower = float((self.vertices @ g).min())
        return lower, lower

    def project(self, y: Floats) -> Floats:
        """Raise an error, as the projection has no closed form."""
        raise RefusedError("the hull of points has no projection: use a set that has one.")

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether x is a convex combination of the vertices.

        The tolerance is `tolerance` times the diameter.
        """
        scale = max(self.diameter, self.radius)
        ones = np.full(len(self.vertices), scale)
        system, right = np.vstack([self.vertices.T, ones]), np.append(x, scale)
        return bool(scipy.optimize.nnls(system, right)[1] <= tolerance * scale)

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return one of the vertices, drawn uniformly."""
        return np.array(self.vertices[int(rng.integers(len(self.vertices)))])

    def start(self) -> Floats:
        """Return the first vertex."""
        return np.array(self.vertices[0])


@dataclass(frozen=True, eq=False)
class IndefiniteQuadratic(FiniteSum):
    """Mean of quadratics f_i over a set, with exactly known variance of the gradients of the f_i.

    f_i(x) = <b + s_i, x> + x'(A + t_i I)x/2, where the s_i and the t_i have the mean 0. So f(x) =
    <b, x> + x'Ax/2, and the error of a batch gradient is the batch's mean of s_i + t_i x.

    Parameters
    ----------
    set
        The feasible set, of vectors of length d.
    A
        The Hessian, symmetric, shape (d, d).
    b
        The slope at 0, shape (d,).
    start_point
        The start point, shape (d,), in the set.
    minimum_value
        A lower bound of f on the set.
    radius
        The largest norm in the set.
    noise
        The s_i, shape (n, d).
    spread
        The t_i, shape (n,); 0 if not given.
    """

    name: ClassVar[str] = "indefinite-quadratic"

    set: FeasibleSet
    A: Floats
    b: Floats
    start_point: Floats
    minimum_value: float
    radius: float
    noise: Floats = field(default_factory=lambda: np.zeros((1, 1)))
    spread: Floats | None = None

    @cached_property
    def _t(self) -> Floats:
        return np.zeros(self.n) if self.spread is None else self.spread

    @property
    def n(self) -> int:
        """Number of components."""
        return len(self.noise)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the problem by name."""
        return {"n": self.n, "d": self.b.size}

    def start(self) -> Floats:
        """Return a copy of the start point."""
        return self.start_point.copy()

    def constants(self, start: Floats) -> Constants:
        """Return the problem's constants; all are exact except sigma2, which is an upper bound."""
        eigenvalues = np.linalg.eigvalsh(self.A)
        variance = float(np.mean(self._t**2))
        size = float(np.sqrt(np.mean(np.sum(self.noise**2, axis=1))))
        each = self.component_smoothness()
        L_ms = float(np.sqrt(np.max(eigenvalues**2) + variance))
        sigma2 = (size + math.sqrt(variance) * self.radius) ** 2
        delta = self.value(start) - self.minimum_value
        return Constants.from_derivations(
            n=(self.n, "as made"),
            D=(self.set.diameter, "the set's"),
            L_f=(float(np.abs(eigenvalues).max()), "the largest |eigenvalue| of A"),
            L_ms=(L_ms, "root of the largest squared eigenvalue of A plus the mean of t_i^2"),
            L_max=(float(each.max()), "the largest |eigenvalue| of an A + t_i I"),
            L_mean=(float(each.mean()), "the mean of the largest |eigenvalue| of A + t_i I"),
            L2_ms=(0.0, "the Hessians are constant"),
            sigma2=(sigma2, "at most (root mean |s_i|^2 + root mean t_i^2 times M)^2"),
            delta=(delta, "f(start) minus the stated lower bound of f"),
            M=(self.radius, "as made"),
            ell=(max(0.0, -float(eigenvalues[0])), "minus the least eigenvalue of A, if negative"),
        )

    def component_smoothness(self) -> Floats:
        """Return the exact smoothness constants L_i of the components; shape (n,)."""
        eigenvalues = np.linalg.eigvalsh(self.A)
        return np.asarray(np.maximum(eigenvalues[-1] + self._t, -eigenvalues[0] - self._t))

    def value(self, x: Floats) -> float:
        """Return the objective value f(x)."""
        return float(self.b @ x + 0.5 * (x @ (self.A @ x)))

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient of f at x, shape (d,)."""
        return np.asarray(self.b + self.A @ x)

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x, shape (d,)."""
        indices, weights = weight_indices(sample)
        return self.gradient(x) + weights @ self.noise[indices] + weights @ self._t[indices] * x

    def difference(self, sample: Indices, x: Floats, y: Floats) -> Floats:
        """Return the mean of grad f_i(x) - grad f_i(y) over the sample, shape (d,)."""
        indices, weights = weight_indices(sample)
        return np.asarray(self.A @ (x - y) + weights @ self._t[indices] * (x - y))

    def decrease(self, x: Floats, y: Floats) -> float:
        """Return f(x) - f(y), computed from y - x without cancellation."""
        step = y - x
        return -float(self.gradient(x) @ step + 0.5 * (step @ (self.A @ step)))


def curvature_upper_bound(vertices: Floats, A: Floats) -> float:
    """Return an upper bound of the curvature constant C_f of x'Ax/2 over the hull of `vertices`.

    The bound is exact if A is positive semidefinite. C_f is the largest u'Au over differences u of
    two points. The bound replaces A by its positive part on the span of all differences. The
    maximum of this convex function is attained at two vertices.
    """
    differences = (vertices[:, None] - vertices).reshape(-1, vertices.shape[1])
    _, sizes, rows = np.linalg.svd(differences, full_matrices=False)
    basis = rows[sizes > 1e-12 * sizes[0]]
    values, vectors = np.linalg.eigh(basis @ A @ basis.T)
    moved = differences @ (basis.T @ vectors)
    return float((moved**2 @ np.maximum(values, 0.0)).max())


def max_curvature_bound(problem: IndefiniteQuadratic) -> float:
    """Return an upper bound of the curvature constant C_f, positive even for concave f."""
    hull = problem.set
    if not isinstance(hull, ConvexHull):
        raise TypeError("the curvature is known only on a set that is a convex hull of points")
    return max(curvature_upper_bound(hull.vertices, problem.A), 1e-3)


def minimum_on_simplex(A: Floats, b: Floats) -> float:
    """Return the minimum of <b, x> + x'Ax/2 on the simplex, by enumerating all 2^d faces.

    A minimiser lies in the interior of some face, and is a stationary point there. Faces with a
    singular system are skipped, as their minimum is also attained on a smaller face.
    """
    d = b.size
    lowest = math.inf
    for size in range(1, d + 1):
        for face in combinations(range(d), size):
            index = list(face)
            system = np.zeros((size + 1, size + 1))
            system[:size, :size] = A[np.ix_(index, index)]
            system[size, :size] = system[:size, size] = 1.0
            try:
                x = np.linalg.solve(system, np.append(-b[index], 1.0))[:size]
            except np.linalg.LinAlgError:
                continue
            if x.min() >= 0.0:
                lowest = min(lowest, float(b[index] @ x + 0.5 * x @ system[:size, :size] @ x))
    return lowest


def random_on_simplex(rng: np.random.Generator, d: int, slope: float) -> IndefiniteQuadratic:
    """Return a random quadratic on the simplex: Gaussian Hessian, and Gaussian slope times `slope`.

    The start is the vertex with the largest f. `minimum_value` is exact for d <= 10, and a lower
    bound for larger d.
    """
    A = rng.standard_normal((d, d))
    A = (A + A.T) / 2.0
    b = slope * rng.standard_normal(d)
    begin = np.eye(d)[int(np.argmax(b + 0.5 * np.diag(A)))]
    lowest = float(b.min() + 0.5 * min(0.0, np.linalg.eigvalsh(A)[0]))
    minimum = minimum_on_simplex(A, b) if d <= _ENUMERATED else lowest
    return IndefiniteQuadratic(ConvexHull(np.eye(d)), A, b, begin, minimum, 1.0)


def transform_quadratic(
    problem: IndefiniteQuadratic, M: Floats, shift: Floats
) -> IndefiniteQuadratic:
    """Return the quadratic z -> f(M z + shift) over all z with M z + shift in the set of f."""
    hull = problem.set
    assert isinstance(hull, ConvexHull)
    vertices: Floats = np.asarray(np.linalg.solve(M, (hull.vertices - shift).T).T, dtype=np.float64)
    A, b = M.T @ problem.A @ M, M.T @ (problem.b + problem.A @ shift)
    begin: Floats = np.asarray(np.linalg.solve(M, problem.start_point - shift), dtype=np.float64)
    lower, recorded = problem.minimum_value - problem.value(shift), ConvexHull(vertices)
    return IndefiniteQuadratic(recorded, (A + A.T) / 2.0, b, begin, lower, recorded.radius)


def make_quadratic_linear_along_box(
    smoothness: float, steps_to_end: float, initial_gap: float, n: int = 1
) -> IndefiniteQuadratic:
    """Return a quadratic on a box that is a worst case for gradient descent, and linear in x_0.

    f(x) = -g x_0 + L x_1^2/2 on [0, l] x [-1, 1] with l = N g/L and g^2 = L Delta/N, from the
    start 0. N steps of length g/L reach the end of the box, where f = -Delta.

    Parameters
    ----------
    smoothness
        L.
    steps_to_end
        N, the number of gradient steps with step size 1/L from the start to the end.
    initial_gap
        Delta.
    n
        Number of components, all equal.
    """
    g = math.sqrt(smoothness * initial_gap / steps_to_end)
    length = steps_to_end * g / smoothness
    box = Box(2, np.array([0.0, -1.0]), np.array([length, 1.0]))
    A, b, radius = np.diag([0.0, smoothness]), np.array([-g, 0.0]), math.hypot(length, 1.0)
    return IndefiniteQuadratic(box, A, b, np.zeros(2), -initial_gap, radius, np.zeros((n, 2)))


def spread_on_simplex(d: int, offset: float = 0.0) -> IndefiniteQuadratic:
    """Return |x - c|^2/2 + offset x_0 up to a constant, where c is the centre of the simplex.

    All d entries of the minimiser are positive, except that the first is 0 if offset >= 1/d. The
    start is a vertex.
    """
    b = np.full(d, -1.0 / d)
    b[0] += offset
    return IndefiniteQuadratic(Simplex(d), np.eye(d), b, np.eye(d)[0], -0.5 / d, 1.0)


def random_on_l1_ball(rng: np.random.Generator, d: int, n: int, rise: float) -> IndefiniteQuadratic:
    """Return a random finite sum on the unit l1 ball, scaled so that f(start) - min f <= `rise`.

    Before scaling, the Hessian has eigenvalues from -0.3 to 1, and the linear part has entries of
    size 0.1. The scaled upper bound f(start) + |b|_inf + 0.3/2 is `rise`. The start is the vertex
    with the largest f.
    """
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    A = (basis * np.linspace(-0.3, 1.0, d)) @ basis.T
    A, b = (A + A.T) / 2.0, 0.1 * rng.standard_normal(d)
    heights = np.concatenate([b, -b]) + 0.5 * np.tile(np.diag(A), 2)
    highest = int(np.argmax(heights))
    begin = np.eye(d)[highest % d] * (1.0 if highest < d else -1.0)
    lower = -float(np.abs(b).max()) + 0.5 * float(np.linalg.eigvalsh(A)[0])
    scale = rise / (float(heights[highest]) - lower)
    noise, spread = 0.1 * rng.standard_normal((n, d)), 0.3 * rng.standard_normal(n)
    s, t = scale * (noise - noise.mean(axis=0)), scale * (spread - spread.mean())
    return IndefiniteQuadratic(L1Ball(d), scale * A, scale * b, begin, scale * lower, 1.0, s, t)


def noisy_ball(
    d: int, n: int, radius: float, noise: float = 0.0, spread: float = 0.0
) -> IndefiniteQuadratic:
    """Return |x|^2/2 on a ball as a finite sum, with component gradients that have known noise.

    Component i is <s_i, x> + (1 + t_i) |x|^2/2 with |s_i| = `noise` and t_i = +-`spread`. The start
    is on the boundary, and n must be even.
    """
    s = np.zeros((n, d))
    signs: Floats = np.asarray(1.0 - 2.0 * (np.arange(n) % 2), dtype=np.float64)
    s[np.arange(n), (np.arange(n) // 2) % d] = noise * signs
    begin = radius * np.eye(d)[0]
    ball = L2Ball(d, radius)
    return IndefiniteQuadratic(ball, np.eye(d), np.zeros(d), begin, 0.0, radius, s, spread * signs)
