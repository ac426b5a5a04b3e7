"""Quadratics over a set, with exactly known minimiser and restricted strong convexity."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
import scipy

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.base.protocols import FeasibleSet
from pfbench.base.sample import Indices, weight_indices
from pfbench.problems.base import ConstantHessians
from pfbench.sets import L1Ball, L2Ball, Simplex
from pfbench.verification.instruments.indefinite import ConvexHull, IndefiniteQuadratic


@dataclass(frozen=True, eq=False)
class KnownQuadratic(ConstantHessians):
    """Mean of quadratics f_i over a set, built around a given minimiser theta_hat.

    f_i(x) = <c, u> + <a_i, u>^2/2 + shift |u|^2/2 with u = x - theta_hat.

    The points are vectors. f(theta_hat) = 0, so that f is the suboptimality itself, without
    cancellation. theta_hat is the minimiser if f is convex and -c is in the normal cone of the set
    at theta_hat. Without convexity, restricted strong convexity may make it the minimiser.

    Parameters
    ----------
    set
        The feasible set, of vectors of length d.
    rows
        a_i, shape (n, d).
    minimiser
        theta_hat, shape (d,), in the set.
    slope
        c, the gradient at theta_hat, shape (d,), with <c, v> >= <c, theta_hat> on the set.
    begin
        The start point, shape (d,), in the set.
    sigma_hat
        f(x) >= f(theta_hat) + (sigma_hat/2) |x - theta_hat|^2 on the set.
    shift
        Curvature of every f_i in addition to its row; negative for non-convex f_i.
    """

    name: ClassVar[str] = "known-quadratic"

    set: FeasibleSet
    rows: Floats
    minimiser: Floats
    slope: Floats
    begin: Floats
    sigma_hat: float
    shift: float = 0.0

    @property
    def n(self) -> int:
        """Number of components, which is the number of `rows`."""
        return len(self.rows)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the problem by name."""
        return {"n": self.n, "d": self.rows.shape[1]}

    def start(self) -> Floats:
        """Return a copy of the start point."""
        return self.begin.copy()

    @cached_property
    def hessian_matrix(self) -> Floats:
        """Hessian of f, shape (d, d)."""
        gram: Floats = self.rows.T @ self.rows / self.n
        return gram + self.shift * np.eye(len(gram))

    def constants(self, start: Floats) -> Constants:
        """Return the exact constants; delta is f(start) minus f at the stated minimiser."""
        squares = np.einsum("ij,ij->i", self.rows, self.rows)
        second = (self.rows.T * ((squares + 2.0 * self.shift) / self.n)) @ self.rows
        L_ms = np.sqrt(np.linalg.eigvalsh(second)[-1] + self.shift**2)
        L_f = np.abs(np.linalg.eigvalsh(self.hessian_matrix)).max()
        D = self.set.diameter
        return Constants(
            n=self.n,
            D=D,
            L_f=float(L_f),
            L_ms=float(L_ms),
            L_max=float(max(squares.max() + self.shift, abs(self.shift))),
            L2_ms=0.0,
            sigma2=float(L_ms * D) ** 2,
            delta=self.value(start),
            M=float(np.linalg.norm(start)) + D,
            sigma_hat=self.sigma_hat,
            ell=max(0.0, -self.shift),
        )

    def value(self, x: Floats) -> float:
        """Return f(x), which is 0 at the stated minimiser."""
        u = x - self.minimiser
        products = self.rows @ u
        square = float(products @ products) / self.n + self.shift * float(u @ u)
        return float(self.slope @ u) + 0.5 * square

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient of f at x, shape (d,)."""
        return self.slope + self.hessian_matrix @ (x - self.minimiser)

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x, shape (d,)."""
        return self.slope + self.difference(sample, x, self.minimiser)

    def apply_mean_hessian(self, sample: Indices | None, u: Floats) -> Floats:
        """Return the mean Hessian of the sampled components times u, shape (d,)."""
        if sample is None:
            return np.asarray(self.hessian_matrix @ u)
        indices, weights = weight_indices(sample)
        rows = self.rows[indices]
        return np.asarray((weights * (rows @ u)) @ rows + self.shift * u)


def rows_of_spectrum(rng: np.random.Generator, eigenvalues: Floats) -> Floats:
    """Return d random rows a_i, shape (d, d); the mean of a_i a_i' has these eigenvalues."""
    d = len(eigenvalues)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    mixing = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return np.asarray(math.sqrt(d) * mixing @ (np.sqrt(eigenvalues)[:, None] * basis))


def _log_spaced_eigenvalues(kappa: float, d: int) -> Floats:
    """Return d numbers from 1/kappa to 1, evenly spaced on a logarithmic scale."""
    return np.geomspace(1.0 / kappa, 1.0, d)


# --- strongly convex: sigma_hat = 1/kappa, L_f = 1 ------------------------------------------------


def vertex_of_simplex(
    rng: np.random.Generator, d: int, kappa: float, pull: float = 0.1
) -> KnownQuadratic:
    """Return a quadratic on the simplex whose minimiser is a vertex.

    The gradient at the minimiser is -`pull` times the vertex. With a large `pull`, Frank-Wolfe
    finds the vertex at once, and later linear minimisations return it.
    """
    first, second = np.eye(d)[:2]
    rows = rows_of_spectrum(rng, _log_spaced_eigenvalues(kappa, d))
    return KnownQuadratic(Simplex(d), rows, second, -pull * second, first, 1.0 / kappa)


def face_of_simplex(rng: np.random.Generator, d: int, kappa: float) -> KnownQuadratic:
    """Return a quadratic whose minimiser is the centre of a face with d/2 vertices.

    A method with linear minimisations needs every vertex of the face, and many of them several
    times.
    """
    inside = (np.arange(d) < d // 2).astype(np.float64)
    slope = (0.1 / d) * (1.0 - inside)
    rows = rows_of_spectrum(rng, _log_spaced_eigenvalues(kappa, d))
    begin = np.eye(d)[d - 1]
    return KnownQuadratic(Simplex(d), rows, inside / (d // 2), slope, begin, 1.0 / kappa)


def face_of_l1_ball(rng: np.random.Generator, d: int, kappa: float) -> KnownQuadratic:
    """Return a quadratic whose minimiser is the centre of a face of the l1 ball.

    The face has d/2 vertices. A method with linear minimisations needs every one of them, as for
    `face_of_simplex`.
    """
    inside = (np.arange(d) < d // 2).astype(np.float64)
    rows = rows_of_spectrum(rng, _log_spaced_eigenvalues(kappa, d))
    slope, begin = -(0.1 / d) * inside, -np.eye(d)[0]
    return KnownQuadratic(L1Ball(d), rows, inside / (d // 2), slope, begin, 1.0 / kappa)


def boundary_of_l2_ball(rng: np.random.Generator, d: int, kappa: float) -> KnownQuadratic:
    """Return a quadratic on the unit ball whose minimiser is a point of the sphere."""
    normal = np.full(d, 1.0 / math.sqrt(d))
    rows = rows_of_spectrum(rng, _log_spaced_eigenvalues(kappa, d))
    return KnownQuadratic(L2Ball(d), rows, normal, -0.1 * normal, -np.eye(d)[0], 1.0 / kappa)


def interior_of_l2_ball(rng: np.random.Generator, d: int, kappa: float) -> KnownQuadratic:
    """Return a quadratic on the unit ball whose minimiser is the centre.

    The start is displaced from the centre along the three flattest directions.
    """
    rows = rows_of_spectrum(rng, _log_spaced_eigenvalues(kappa, d))
    flattest = np.linalg.eigh(rows.T @ rows)[1][:, :3]
    begin = np.asarray(flattest.sum(axis=1), dtype=np.float64) * (0.99 / math.sqrt(3.0))
    return KnownQuadratic(L2Ball(d), rows, np.zeros(d), np.zeros(d), begin, 1.0 / kappa)


def nesterov_chain(d: int) -> KnownQuadratic:
    """Return Nesterov's worst quadratic for first-order methods, inside an l2 ball.

    The least eigenvalue sigma_hat of the Hessian is nearly 0.

    References
    ----------
    Nesterov, Introductory lectures on convex optimization, 2004, section 2.1.2.
    """
    values, vectors = np.linalg.eigh((2.0 * np.eye(d) - np.eye(d, k=1) - np.eye(d, k=-1)) / 4.0)
    rows = math.sqrt(d) * np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    minimiser = 1.0 - np.arange(1.0, d + 1.0) / (d + 1.0)
    ball, zero = L2Ball(d, 1.1 * float(np.linalg.norm(minimiser))), np.zeros(d)
    return KnownQuadratic(ball, rows, minimiser, zero, zero, float(values[0]))


# --- restricted strong convexity ------------------------------------------------------------------


def make_restricted_quadratic(
    rng: np.random.Generator, d: int, support: int, blind: int, *, excess: float = 0.0
) -> KnownQuadratic:
    """Return a quadratic over the l1 ball whose curvature is 0 or negative in `blind` directions.

    The Hessian is I - (1 + excess) sum over `blind` unit vectors w of w w', where w are rows of a
    Hadamard matrix over sqrt(d). Each w satisfies <w, v>^2 <= |v|_1^2/d. So restricted strong
    convexity (li2019 (4)) holds with sigma = 1 and tau = (1 + excess) blind/(2 d). The minimiser
    has s = `support` equal entries and l1 norm 1, and the subspace of its support has
    compatibility sqrt(s). So eps_stat = 0 and sigma_hat = 1 - 16 tau s. The minimiser is global
    even if f is not convex (excess > 0).

    Parameters
    ----------
    rng
        Random stream of the blind directions, the support, its signs and the start.
    d
        Dimension, a power of 2.
    support
        s.
    blind
        Number of directions.
    excess
        Minus the curvature in these directions, at least 0.
    """
    hadamard = scipy.linalg.hadamard(d).astype(np.float64)[rng.permutation(d)]
    product = hadamard[blind:] * math.sqrt((1.0 + excess) * (d - blind) / d)
    minimiser, order = np.zeros(d), rng.permutation(d)
    minimiser[order[:support]] = rng.choice([-1.0, 1.0], size=support) / support
    begin = np.eye(d)[order[-1]]
    sigma_hat = 1.0 - 8.0 * (1.0 + excess) * blind * support / d
    slope = -0.05 * np.sign(minimiser)
    return KnownQuadratic(L1Ball(d), product, minimiser, slope, begin, sigma_hat, shift=-excess)


def suboptimality(problem: IndefiniteQuadratic, x: Any) -> float:
    """Return the suboptimality f(x) - min f."""
    return problem.value(np.asarray(x)) - problem.minimum_value


def make_simplex_half_square(d: int) -> IndefiniteQuadratic:
    """Return |x|^2/2 on the simplex of d vertices; the start is a vertex.

    If a method adds one vertex in each step, x_t has at most t + 1 nonzero entries. So f(x_t) >=
    1/(2(t+1)), while C_f = 2. So for large d no such method gets below an eighth of the bound 2
    C_f/(t+2).
    """
    return IndefiniteQuadratic(
        ConvexHull(np.eye(d)), np.eye(d), np.zeros(d), np.eye(d)[0], 0.5 / d, 1.0
    )


def make_interval_quadratic(slope: float) -> IndefiniteQuadratic:
    """Return x^2/2 + slope x on [0, 1], whose curvature constant C_f is 1; the start is 1.

    With a small negative slope, the second step overshoots the minimiser by nearly 2/3. Then f -
    min f is 0.44 of the bound. With a large positive slope, h0 is far above C_f, and only a first
    step of 1 makes the run independent of h0.
    """
    ends, lower = ConvexHull(np.array([[0.0], [1.0]])), -0.5 * min(0.0, slope) ** 2
    return IndefiniteQuadratic(ends, np.eye(1), np.array([slope]), np.ones(1), lower, 1.0)


POLYTOPES = ("simplex", "cube", "l1")
"""The unit simplex, the cube [0, 1]^d and the unit l1 ball."""


def polytope_vertices(kind: str, d: int) -> Floats:
    """Return the vertices of a polytope of the given kind in R^d, shape (k, d) for k vertices."""
    if kind == "simplex":
        return np.eye(d)
    if kind == "cube":
        return np.array(list(product((0.0, 1.0), repeat=d)))
    return np.vstack([np.eye(d), -np.eye(d)])


def pyramidal_width(kind: str, d: int) -> float:
    """Return the pyramidal width of the polytope of the given kind in R^d, d >= 2.

    The width is the least distance between a proper face F and the hull of the vertices outside F
    (Pena, Rodriguez 2019). The values for the three polytopes are known in closed form, and the
    tests recompute them.
    """
    if kind == "simplex":
        return 2.0 / math.sqrt(d) if d % 2 == 0 else 2.0 / math.sqrt(d - 1.0 / d)
    return 1.0 / math.sqrt(d if kind == "cube" else d - 1)


def quadratic_on_facet(kind: str, d: int, kappa: float = 1.0, turn: int = 0) -> IndefiniteQuadratic:
    """Return a strongly convex quadratic whose minimiser lies inside a facet of a polytope.

    f(x) = (x - p)'A(x - p)/2, up to a constant, where A has eigenvalues from 1/kappa to 1 in a
    random basis with seed `turn`. The start is the first vertex. On the simplex and the cube, the
    last entry of the minimiser p is 0. On the l1 ball, p lies in the facet where all entries are
    positive.
    """
    rng = np.random.default_rng(turn)
    weights = np.arange(d, 0.0, -1.0)
    if kind == "simplex":
        weights[-1] = 0.0
    p = weights / weights.sum() if kind != "cube" else (weights - 1.0) / (2.0 * d)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    A = basis @ np.diag(np.geomspace(1.0 / kappa, 1.0, d)) @ basis.T
    A = (A + A.T) / 2.0
    vertices = polytope_vertices(kind, d)
    lower = -0.5 * float(p @ A @ p)
    return IndefiniteQuadratic(
        ConvexHull(vertices), A, -A @ p, vertices[0].copy(), lower, math.sqrt(d)
    )
