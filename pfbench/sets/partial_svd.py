"""Singular values above a threshold, with a certificate that the others are below it.

A projection onto a nuclear-norm ball subtracts a threshold from the singular values, and sets
those below to 0. So does the proximal map of the nuclear norm. So only the singular values above
the threshold are needed. They are computed in a block Krylov space (C. Musco, C. Musco,
"Randomized block Krylov methods for stronger and faster approximate singular value decomposition",
NeurIPS 2015), with full reorthogonalisation. Let U and V be the orthonormal vectors of these
values. Then Y differs from a matrix with exactly these triplets by no more than the residuals ``Y
V - U S`` and ``Y'U - V S``. Soft-thresholding does not increase distances. So the result is as
near to the exact one, if no other singular value is above the threshold. Lanczos certifies this.
The checks do not depend on the computation of the triplets.
"""

from collections.abc import Callable

import numpy as np
import scipy

from pfbench.base.arrays import Floats
from pfbench.points.operators import DenseOperator
from pfbench.sets.lanczos import leading_singular_triple

WORTHWHILE = 400
"""Number of rows or columns below which a full decomposition is as fast."""

RESIDUAL = 1e-13
"""Largest residual, and hence error of the result, relative to the largest singular value."""

FAILURE = 1e-9
"""Probability with which a singular value above the threshold may be missed."""

_BLOCK = 12
"""Number of vectors multiplied at once: a block takes little longer than a vector."""

_SHARE = 5
"""Reciprocal of the largest Krylov space, as a share of the rows or columns."""

_FEW = 48
"""Size at which a space with no value below the threshold is abandoned for a full SVD."""

_NOTHING = 1e-14
"""Relative size below which a part of a block counts as a rounding error."""

_LEAST_MARGIN = 1e-3
"""Smallest relative distance of the other singular values from the threshold."""

Triplets = tuple[Floats, Floats, Floats]
"""Triplets: U, shape (M, k), the singular values, shape (k,), and V', shape (k, N)."""


def singular_triplets_above(y: Floats, threshold: Callable[[Floats], float]) -> Triplets | None:
    """Return the singular triplets of y with singular values above a threshold.

    Return None if a full decomposition is needed.

    Parameters
    ----------
    y
        The matrix, shape (M, N), finite.
    threshold
        Function of the leading singular values, in descending order: the threshold if the others
        are below it; 0 or less if these values do not determine it.

    Notes
    -----
    The random start is the same in each call, so that the result depends on y alone.
    """
    lower = min(y.shape)
    scale = float(np.abs(y).max(initial=0.0))
    if lower < WORTHWHILE or not 1e-100 < scale < 1e100:
        return None
    space = _KrylovSpace(y, np.random.default_rng(0))
    while space.size + _BLOCK <= lower // _SHARE and not space.complete:
        space.extend()
        u, s, vt, residuals = space.ritz_triplets()
        limit = threshold(s)
        nonzero = int(np.count_nonzero(s > limit))
        if limit <= 0.0 or (nonzero == len(s) and not space.complete):
            if space.size >= _FEW:
                break
        elif np.linalg.norm(residuals[:nonzero]) <= RESIDUAL * s[0]:
            triplets_above = u[:, :nonzero], s[:nonzero], vt[:nonzero]
            following = max(s[nonzero:].max(initial=0.0), RESIDUAL * s[0])
            if _are_triplets(y, triplets_above) and _is_remainder_below(
                y, triplets_above, limit, following
            ):
                return triplets_above
    return None


def _are_triplets(y: Floats, triplets: Triplets) -> bool:
    """Return whether left and right vectors are orthonormal, with residuals <= `RESIDUAL` |y|."""
    u, s, vt = triplets
    unit = np.eye(len(s))
    far = max(np.linalg.norm(u.T @ u - unit), np.linalg.norm(vt @ vt.T - unit))
    deviation = max(np.linalg.norm(y @ vt.T - u * s), np.linalg.norm(y.T @ u - vt.T * s))
    return bool(far <= RESIDUAL and deviation <= RESIDUAL * s.max(initial=0.0))


def _is_remainder_below(
    y: Floats, triplets: Triplets, limit: float, next_singular_value: float
) -> bool:
    """Return whether y minus its largest singular triplets has no singular value above `limit`.

    The largest singular value of this remainder is probably `next_singular_value`. If that is
    close to the limit, return False, because a proof would take too long.
    """
    margin = limit / next_singular_value - 1.0
    if margin < _LEAST_MARGIN:
        return False
    u, s, vt = triplets
    left = DenseOperator(y - (u * s) @ vt)
    rest = leading_singular_triple(
        left, np.random.default_rng(1), tolerance=margin, failure=FAILURE
    )
    return rest.upper <= limit


class _KrylovSpace:
    """Orthonormal bases U and V of growing block Krylov spaces of a matrix Y.

    They satisfy ``Y V = U B`` for a banded matrix B.

    Attributes
    ----------
    complete
        Whether the space is invariant: the last extension added nothing.
    """

    def __init__(self, y: Floats, rng: np.random.Generator) -> None:
        self._y = y
        M, N = y.shape
        self._next_block = np.linalg.qr(rng.standard_normal((N, _BLOCK)))[0]
        self._left_basis, self._right_basis = np.empty((M, 0)), np.empty((N, 0))
        self._band = np.empty((0, 0))
        self._coupling = np.empty((0, 0))
        self.complete = False

    @property
    def size(self) -> int:
        """Dimension of the space that V spans."""
        return self._right_basis.shape[1]

    def extend(self) -> None:
        """Extend both bases by one block."""
        right, left, size = self._next_block, self._left_basis, self.size
        inside, new, corner = _orthogonalise_block(self._y @ right, left)
        below = np.zeros((new.shape[1], size))
        self._band = np.block([[self._band, inside], [below, corner]])
        self._left_basis = np.hstack([left, new])
        self._right_basis = np.hstack([self._right_basis, right])
        _, self._next_block, self._coupling = _orthogonalise_block(
            self._y.T @ new, self._right_basis
        )
        self.complete = self._next_block.shape[1] == 0

    def ritz_triplets(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the Ritz triplets U, s, V' and the residual norms of ``Y'u - s v``."""
        p, s, qt = scipy.linalg.svd(self._band, full_matrices=False, check_finite=False)
        last = p[len(p) - self._coupling.shape[1] :]
        return (
            self._left_basis @ p,
            s,
            qt @ self._right_basis.T,
            np.linalg.norm(self._coupling @ last, axis=0),
        )


def _orthogonalise_block(block: Floats, basis: Floats) -> Triplets:
    """Return C, Q and R with ``block = basis C + Q R``, where Q is orthonormal.

    Q is orthogonal to the basis. It has as many columns as the block has directions outside the
    basis, up to rounding.
    """
    inside = basis.T @ block
    outside = block - basis @ inside
    recomputed = basis.T @ outside  # once more: what is left of the first time is rounding
    q, r, order = scipy.linalg.qr(
        outside - basis @ recomputed, mode="economic", pivoting=True, check_finite=False
    )
    new = int(np.count_nonzero(np.abs(np.diag(r)) > _NOTHING * np.linalg.norm(block)))
    corner = np.empty((new, block.shape[1]))
    corner[:, order] = r[:new]
    return inside + recomputed, np.asarray(q[:, :new], dtype=np.float64), corner
