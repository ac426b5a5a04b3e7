"""Nuclear-norm ball, and its warm-started linear minimisation."""

import math
from typing import Any, ClassVar

import numpy as np
import scipy

from pfbench.base.arrays import Floats, LowerUpper
from pfbench.base.checks import check_real
from pfbench.base.errors import DivergedError, InputError, RefusedError
from pfbench.points import FactoredMatrix, Pattern, RankOne
from pfbench.points.atoms import Factors, nuclear_norm_upper_bound, svd_of_factors
from pfbench.points.operators import DenseOperator, LinearOperator, SparseOperator, TiltedOperator
from pfbench.sets.balls import project_simplex
from pfbench.sets.body import as_possibly_nonfinite_gradient, check_projectable
from pfbench.sets.lanczos import GapResidualLimit, leading_singular_triple
from pfbench.sets.matrix_balls import MatrixBall
from pfbench.sets.norms import NormBall
from pfbench.sets.partial_svd import singular_triplets_above

DENSE_ENTRIES = 4_000_000
"""Maximum number of entries of a matrix that a projection forms."""

_EXACT_ENTRIES = 250_000
"""Maximum number of entries for which the support function uses a dense factorisation."""

CERTIFICATE_FAILURE = 1e-9
"""Probability with which one certified upper bound of `minimum` may be wrong."""

_CERTIFICATE_TOLERANCE = 1e-3


class NuclearBall(MatrixBall, NormBall):
    """All M x N matrices whose singular values sum to at most `radius`.

    Raises
    ------
    InputError
        If a size is below 1 or the radius is not positive and finite.
    """

    name: ClassVar[str] = "nuclear"
    summary: ClassVar[str] = "matrices whose singular values sum to at most radius"
    source: ClassVar[str] = "Jaggi 2013 section 4; Golub-Kahan-Lanczos"
    zeta: ClassVar[float] = 1.0

    @property
    def omega(self) -> float:
        """Exact maximum sqrt(min(M, N)) of the ratio of the nuclear norm to the Frobenius norm."""
        return math.sqrt(min(self.shape))

    def norm(self, x: Floats) -> float:
        """Return the nuclear norm of x, the sum of its singular values."""
        return float(scipy.linalg.svdvals(x).sum())

    def dual_norm(self, g: Floats) -> float:
        """Return the spectral norm of g, exact up to rounding at any size."""
        return _spectral_norm(g)

    @property
    def has_projection(self) -> bool:  # type: ignore[override]
        """Whether matrices have at most 4 000 000 entries, the limit for a projection."""
        return self.shape[0] * self.shape[1] <= DENSE_ENTRIES

    def make_warm_lmo(self, rng: np.random.Generator, tolerance: float) -> "NuclearLmo":
        """Return a linear minimisation that is warm-started with the vertex of the last call."""
        return NuclearLmo(self, rng, tolerance)

    def lo(self, g: Any) -> RankOne:
        """Return -radius u v', the minimiser of <g, .> for g's leading singular vectors u and v.

        g is an M x N array or a linear operator. The pair is exact up to 250 000 entries; above,
        it has a relative residual of 1e-10.
        """
        operator = self._check_operator(g)
        M, N = operator.shape
        if M * N > _EXACT_ENTRIES:
            return self.make_warm_lmo(np.random.default_rng(0), 1e-10).lo(operator)
        # Not by Lanczos: a start that is the same in each call can be orthogonal to a leading pair.
        u, v = _leading_pair(operator.dense())
        return RankOne(u, v, -self.radius, _pattern_or_none(operator))

    def minimum(self, g: Any) -> LowerUpper:
        """Return lower and upper bounds of min <g, v>, which is -radius times g's spectral norm.

        For up to 250 000 entries, both bounds are exact up to
        rounding. For larger matrices, Lanczos certifies them to a relative width of 1e-3. The
        lower bound fails with probability at most 1e-9.
        """
        operator = self._check_operator(g)
        M, N = operator.shape
        if M * N <= _EXACT_ENTRIES:
            sigma = _spectral_norm(operator.dense())
            return -self.radius * sigma, -self.radius * sigma
        triple = leading_singular_triple(
            operator,
            np.random.default_rng(0),
            tolerance=_CERTIFICATE_TOLERANCE,
            failure=CERTIFICATE_FAILURE,
            vectors=False,
        )
        return -self.radius * triple.upper, -self.radius * triple.sigma

    def _check_operator(self, g: Any) -> LinearOperator:
        """Return a gradient as a linear operator; raise if its shape is not that of the ball."""
        if not hasattr(g, "dense"):
            return as_operator(as_possibly_nonfinite_gradient(g, self.shape))
        if g.shape != self.shape:
            raise InputError(f"the gradient must have shape {self.shape}, not {g.shape}.")
        operator: LinearOperator = g
        return operator

    def check_projectable_size(self) -> None:
        """Raise if the matrices have more than 4 000 000 entries, the limit for a projection."""
        if not self.has_projection:
            M, N = self.shape
            raise RefusedError(
                f"a projection onto the nuclear ball would form a {M} x {N} matrix, with more than "
                f"{DENSE_ENTRIES} entries: use a projection-free method on this problem."
            )

    def project(self, y: Floats) -> Floats:
        """Return the Euclidean projection of y onto the ball, shape (M, N).

        Raises
        ------
        RefusedError
            If the matrix has more than 4 000 000 entries.
        DivergedError
            If y has NaN or infinite entries.
        """
        weights, left, right = self.project_factors(y)
        return np.asarray((left.T * weights) @ right)

    def project_factors(self, y: Floats) -> Factors:
        """Return the Euclidean projection of y onto the ball as a singular value decomposition."""
        self.check_projectable_size()
        y = check_projectable(y, self.shape)
        result = singular_triplets_above(y, self._projection_threshold)
        u, s, vt = result or scipy.linalg.svd(y, full_matrices=False, check_finite=False)
        if s.sum() > self.radius:
            s = project_simplex(s, self.radius)
        rank = int(np.count_nonzero(s))
        return Factors(s[:rank], np.ascontiguousarray(u[:, :rank].T), vt[:rank])

    def _projection_threshold(self, s: Floats) -> float:
        """Return the number that a projection subtracts from the singular values s.

        It is 0 if their sum is at most the radius.
        """
        return float(s[0] - project_simplex(s, self.radius)[0]) if s.sum() > self.radius else 0.0

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether the nuclear norm is at most ``radius (1 + tolerance)``."""
        if isinstance(x, FactoredMatrix):
            norm = nuclear_norm_upper_bound(x.factors())
            if norm > self.radius * (1.0 + tolerance):  # an upper bound that is quick to take
                norm = float(svd_of_factors(x.factors()).weights.sum())
        elif isinstance(x, RankOne):
            norm = abs(x.scale) * float(np.linalg.norm(x.u) * np.linalg.norm(x.v))
        else:
            return super().contains(x, tolerance)
        return norm <= self.radius * (1.0 + tolerance)

    def random_vertex(self, rng: np.random.Generator, pattern: Pattern | None = None) -> RankOne:
        """Return radius times the outer product of two uniformly random unit vectors."""
        u, v = (rng.standard_normal(size) for size in self.shape)
        return RankOne(u / np.linalg.norm(u), v / np.linalg.norm(v), self.radius, pattern)


class NuclearLmo:
    """Linear minimisation over a nuclear-norm ball, warm-started with the last vertex.

    The stopping rule is heuristic: the relative residual is at most `tolerance`. Measured gaps do
    not rely on it; see `NuclearBall.minimum`.
    """

    def __init__(self, ball: NuclearBall, rng: np.random.Generator, tolerance: float) -> None:
        self.radius = ball.radius
        self._rng = rng
        self._tolerance = check_real("tolerance", tolerance, above=0.0, upper=1.0)
        self._warm: Floats | None = None

    def lo(self, g: Any, gap_share: GapResidualLimit | None = None) -> RankOne:
        """Return a vertex v that approximately minimises <g, v> over the ball.

        `gap_share` is a second limit of the residual. The iteration stops as soon as one of the
        two limits is met.
        """
        operator = as_operator(g)
        triple = leading_singular_triple(
            operator, self._rng, tolerance=self._tolerance, warm=self._warm, gap_share=gap_share
        )
        self._warm = triple.v
        return RankOne(triple.u, triple.v, -self.radius, _pattern_or_none(operator))


def as_operator(g: Any) -> LinearOperator:
    """Return g as a linear operator; an array of shape (M, N) becomes a dense operator."""
    return DenseOperator(np.asarray(g, dtype=np.float64)) if isinstance(g, np.ndarray) else g


def _pattern_or_none(operator: LinearOperator) -> Pattern | None:
    """Return the sparsity pattern of a sparse operator, or None for a dense one."""
    return operator.pattern if isinstance(operator, SparseOperator | TiltedOperator) else None


def _leading_pair(array: Floats) -> tuple[Floats, Floats]:
    """Return the leading left and right singular vector of a matrix."""
    if not np.isfinite(array).all():
        raise DivergedError("the gradient has NaN or infinite entries")
    u, _, vt = scipy.linalg.svd(array, full_matrices=False, check_finite=False)
    return np.ascontiguousarray(u[:, 0]), np.ascontiguousarray(vt[0])


def _spectral_norm(array: Floats) -> float:
    largest = float(np.abs(array).max(initial=0.0))
    if not math.isfinite(largest):
        raise DivergedError("the gradient has NaN or infinite entries")
    if largest == 0.0:
        return 0.0
    scaled = array / largest
    gram = scaled @ scaled.T if array.shape[0] <= array.shape[1] else scaled.T @ scaled
    last = len(gram) - 1
    top = scipy.linalg.eigh(
        gram, eigvals_only=True, subset_by_index=(last, last), check_finite=False
    )
    return largest * math.sqrt(max(float(top[0]), 0.0))
