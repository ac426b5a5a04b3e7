"""Constants from second moments of data rows, in the Euclidean norm and in other norms.

The smoothness L_norm in |grad f(x) - grad f(y)|_* <= L_norm |x - y| is at most zeta^2 L_f, where
zeta is the largest |x|_*/|x|_2. Let 0 <= Hess f(x) <= G (x) I, a Kronecker product, where G is
positive semidefinite and acts on the rows of a matrix. Then, by Cauchy-Schwarz, L_norm is at most
the maximum of <X, G X> over |X| <= 1. It is equal to this maximum if f is the quadratic with that
Hessian. A convex function is largest at an extreme point of the ball, which `max_quadratic_form`
uses.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy

from pfbench.base.arrays import Floats
from pfbench.base.protocols import Measure
from pfbench.base.state import State
from pfbench.points import copy_or_view
from pfbench.points.operators import DenseOperator, LinearOperator, SparseOperator
from pfbench.points.pattern import Pattern
from pfbench.sets.balls import L1Ball, L2Ball
from pfbench.sets.lanczos import leading_singular_triple
from pfbench.sets.matrix_balls import MaxColumnBall, MaxRowBall, SpectralBall
from pfbench.sets.norms import EntrywiseBall, NormBall
from pfbench.sets.nuclear import NuclearBall

DENSE = 1500
"""Largest smaller side for which the Gram matrix is factorised."""

FAILURE = 1e-9
"""Probability with which one certified bound may be wrong."""

_FULL = 0.1
"""Share of nonzero entries above which sparse rows are multiplied as dense ones."""

_BLOCK = 1024
"""Number of rows converted to dense ones at a time."""

_ROWS = 1 << 15
"""Number of dense rows weighted at a time."""

_SHARPNESS = 1e-6
"""Relative distance of the certified bound from an attained value."""


def eigenvalue_upper_bound(rows: Any, weights: Floats) -> float:
    """Return an upper bound of the largest eigenvalue of sum_i weights_i a_i a_i'.

    Parameters
    ----------
    rows
        a_i as the rows of a dense or a scipy sparse matrix, shape (n, d).
    weights
        Nonnegative, shape (n,).

    Returns
    -------
    float
        The eigenvalue, increased by a relative 1e-12. If n and d are both above 1500, it is instead
        the certified bound of `leading_singular_triple`, which fails with probability at most 1e-9
        over its random start. That bound is larger by a relative 2e-6, or more if 300 Lanczos steps
        do not reach this.
    """
    n, d = rows.shape
    if not _is_sparse(rows) and d <= min(n, DENSE):
        gram = _dense_gram(rows, weights)
        return _kth_smallest_eigenvalue(gram, d - 1) * (1.0 + 1e-12)
    scaled = _weight_rows(rows, weights)
    if min(scaled.shape) > DENSE:
        operator = _as_operator_unless_zero(scaled)
        if operator is None:
            return 0.0
        # A fixed stream, which no data depend on: the same constants in every process.
        rng = np.random.default_rng(0)
        upper = leading_singular_triple(operator, rng, tolerance=_SHARPNESS, failure=FAILURE).upper
        return upper**2 * (1.0 + 1e-12)
    gram = _sum_outer_products(scaled if scaled.shape[1] <= scaled.shape[0] else scaled.T)
    return _kth_smallest_eigenvalue(gram, gram.shape[0] - 1) * (1.0 + 1e-12)


def eigenvalue_lower_bound(rows: Any, weights: Floats) -> float:
    """Return a lower bound of the smallest eigenvalue of sum_i weights_i a_i a_i'.

    Parameters
    ----------
    rows, weights
        See `eigenvalue_upper_bound`.

    Returns
    -------
    float
        The eigenvalue less 4 (n + d) eps times the trace, for the rounding errors of the Gram
        matrix and its eigenvalues. 0 if this is negative, or d is above n or 1500.
    """
    scaled = _weight_rows(rows, weights)
    n, d = scaled.shape
    if d > min(n, DENSE):
        return 0.0
    gram = _sum_outer_products(scaled)
    rounding = 4.0 * float((n + d) * np.finfo(float).eps * gram.trace())
    return max(0.0, _kth_smallest_eigenvalue(gram, 0) - rounding)


def eigenvalue_bound_probability_note(rows: Any) -> str:
    """Return a note on the failure probability of `eigenvalue_upper_bound`; "" if that is 0."""
    if min(rows.shape) <= DENSE:
        return ""
    return f"; the eigenvalue by a Lanczos bound that fails with probability at most {FAILURE:g}"


def _is_sparse(matrix: Any) -> bool:
    return bool(scipy.sparse.issparse(matrix))


def _weight_rows(rows: Any, weights: Floats) -> Any:
    root = np.sqrt(weights)
    return scipy.sparse.diags_array(root) @ rows if _is_sparse(rows) else root[:, None] * rows


def _dense_gram(rows: Floats, weights: Floats) -> Floats:
    """Return sum_i weights_i a_i a_i' for dense rows a_i, computed in blocks of rows."""
    gram = np.zeros((rows.shape[1], rows.shape[1]))
    for start in range(0, len(rows), _ROWS):
        part = slice(start, start + _ROWS)
        block = _weight_rows(rows[part], weights[part])
        gram += block.T @ block
    return gram


def _sum_outer_products(rows: Any) -> Any:
    """Return sum_i a_i a_i'; sparse rows with many entries are converted to dense blocks."""
    n, d = rows.shape
    if not _is_sparse(rows) or rows.nnz < _FULL * n * d:
        return rows.T @ rows
    gram, rows = np.zeros((d, d)), rows.tocsr()
    for start in range(0, n, _BLOCK):
        block = rows[start : start + _BLOCK].toarray()
        gram += block.T @ block
    return gram


def _as_operator_unless_zero(matrix: Any) -> LinearOperator | None:
    """Return the matrix as a linear operator for Lanczos iterations, or None if it is zero."""
    if not _is_sparse(matrix):
        return DenseOperator(np.ascontiguousarray(matrix)) if matrix.any() else None
    entries = matrix.tocoo()
    if not entries.data.any():
        return None
    i, j = entries.coords
    pattern, order = Pattern.from_coordinates(i, j, entries.shape)
    # One chunk of rows: the constants do not depend on the number of threads.
    complete = replace(pattern, bounds=np.array([0, pattern.shape[0]]))
    return SparseOperator(complete, np.ascontiguousarray(entries.data[order]))


def _kth_smallest_eigenvalue(gram: Any, k: int) -> float:
    """Return the k-th smallest eigenvalue of a symmetric matrix, dense or sparse."""
    array = gram.toarray() if _is_sparse(gram) else gram
    return float(scipy.linalg.eigh(array, eigvals_only=True, subset_by_index=(k, k))[0])


KINDS = ("l1", "l2", "linf", "spectral", "nuclear", "max-row-norm", "max-column-norm")
"""Norms that a method may require by name."""

_ENUMERATED = 14
"""Maximum dimension in which the maximum over sign vectors is enumerated."""

Stated = dict[str, tuple[float, str]]
"""Constants with their derivations, by name."""


def unmet_norm_requirement_reasons(problem: Any) -> dict[str, str]:
    """Return the requirements on a norm that the problem does not meet, each with its reason."""
    if problem.norm is None:
        return dict.fromkeys(("norm", *(f"norm {kind}" for kind in KINDS)), "it has no norm")
    if problem.is_bounded:
        reason = "its linear minimisation is over its feasible set"
        return dict.fromkeys(("norm", *(f"norm {kind}" for kind in KINDS)), reason)
    words = f"its norm is {problem.norm.name}"
    return {f"norm {kind}": words for kind in KINDS if kind not in problem.norm.block_norm_names}


# --- measures -------------------------------------------------------------------------------------


def dual_norm(problem: Any, state: State) -> float:
    """Return the dual norm |grad f(x)|_* of the gradient in the problem's norm, up to rounding."""
    return float(problem.norm.dual_norm(problem.gradient(copy_or_view(state.x))))


def lmo_product_over_dual_norm(problem: Any, state: State) -> float | None:
    """Return <M, O>/|M|_* for the gradient estimate M, where lo(M) = -rho O for the radius rho.

    It is 1 for an exact linear minimisation over the ball of radius rho. Return None without an
    estimate.
    """
    return None if state.estimate is None else float(problem.norm.lmo_quality(state.estimate).lower)


def lmo_norm_over_radius(problem: Any, state: State) -> float | None:
    """Return |O| for the gradient estimate M, where lo(M) = -rho O on the ball of radius rho.

    It is 1 for an exact linear minimisation over the ball of radius rho. Return None without an
    estimate.
    """
    return None if state.estimate is None else float(problem.norm.lmo_quality(state.estimate).upper)


def matrix_products_per_lmo(problem: Any, state: State) -> float:
    """Return the number of matrix products in one linear minimisation over the norm's ball."""
    return float(problem.norm.matrix_products_per_lmo)


OF_NORMS: Mapping[str, Measure] = MappingProxyType(
    {
        "dual_norm": dual_norm,
        "lmo_lower": lmo_product_over_dual_norm,
        "lmo_upper": lmo_norm_over_radius,
        "lmo_products": matrix_products_per_lmo,
    }
)
"""Measures of every problem with a norm."""


# --- constants ------------------------------------------------------------------------------------


def norm_constants(
    norm: NormBall | None, L_f: float, other_L_norm_bound: tuple[float, str] | None = None
) -> Stated:
    """Return the smoothness and the other constants of a norm by name, with their derivations.

    Without a norm, return an empty dict.

    Parameters
    ----------
    norm
        The ball.
    L_f
        The Euclidean smoothness.
    other_L_norm_bound
        Another upper bound of L_norm with its derivation.
    """
    if norm is None:
        return {}
    usual = norm.zeta**2 * L_f, "zeta^2 L_f: |g|_* <= zeta |g|_2 and |x|_2 <= zeta |x|"
    result = (
        usual
        if other_L_norm_bound is None or usual[0] < other_L_norm_bound[0]
        else other_L_norm_bound
    )
    return {
        "L_norm": result,
        "rho": (norm.radius, f"radius of the ball of the norm {norm.name}"),
        "zeta": (norm.zeta, f"largest |x|_*/|x|_2 of the norm {norm.name}: exact"),
        "omega": (norm.omega, f"largest |x|/|x|_2 of the norm {norm.name}: exact"),
    }


def max_quadratic_form(norm: NormBall, G: Floats, columns: int) -> tuple[float, str] | None:
    """Return the maximum of <X, G X> over the norm's unit ball |X| <= 1, or an upper bound.

    Return None if no bound is known.

    Parameters
    ----------
    norm
        Norm of matrices with `columns` columns, or of vectors if `columns` is 1.
    G
        Positive semidefinite, shape (m, m).
    columns
        The number of columns of X.
    """
    ball = norm.ball if isinstance(norm, EntrywiseBall) else norm
    eigenvalues = np.linalg.eigvalsh(G)
    top = float(eigenvalues[-1])
    if isinstance(ball, SpectralBall):
        rank = min(len(G), columns)
        total = float(eigenvalues[len(G) - rank :].sum())
        return total, f"the sum of the {rank} largest eigenvalues of G, at partial isometries"
    if isinstance(ball, NuclearBall | L2Ball):
        return top, "the largest eigenvalue of G, at its eigenvector"
    if isinstance(ball, L1Ball):
        return float(np.diag(G).max()), "the largest diagonal entry of G, at a vertex"
    if isinstance(ball, MaxColumnBall):
        return columns * top, "the number of columns times the largest eigenvalue of G"
    sums = float(np.abs(G).sum())
    if isinstance(ball, MaxRowBall):
        if (G >= 0.0).all():
            return sums, "the sum of the entries of G, at equal rows"
        total = min(sums, len(G) * top)
        return total, "the least of the sum of |G_ij| and m lambda_max(G), from above"
    if ball.name == "linf":
        if len(G) <= _ENUMERATED:
            return columns * _maximum_over_signs(
                G
            ), "the largest s'Gs over signs s, for each column"
        total = columns * min(sums, len(G) * top)
        return total, "for each column the least of sum |G_ij| and m lambda_max(G), from above"
    return None


def _maximum_over_signs(G: Floats) -> float:
    """Return the maximum of s'G s over the sign vectors s in {-1, 1}^m."""
    m = len(G)
    codes = np.arange(2 ** max(0, m - 1))[:, None]  # s and -s have the same square
    signs = np.where(codes >> np.arange(m) & 1, 1.0, -1.0)
    return float(np.einsum("ki,ij,kj->k", signs, G, signs, optimize=True).max())


def second_moment(rows: Floats) -> Floats:
    """Return the second moment E a a' of the rows a, shape (d, d)."""
    return np.asarray(rows.T @ rows / len(rows))
