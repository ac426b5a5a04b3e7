"""Eigenvalues of weighted second moments of data rows, for the constants of linear models."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from pfbench.base.arrays import Floats
from pfbench.points.operators import DenseOperator, LinearOperator, SparseOperator
from pfbench.points.pattern import Pattern
from pfbench.sets.lanczos import leading_singular_triple

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


def moment_upper_bound(rows: Any, weights: Floats) -> float:
    """Return the largest eigenvalue of sum_i weights_i a_i a_i', rounded up.

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
    gram = _gram(scaled if scaled.shape[1] <= scaled.shape[0] else scaled.T)
    return _kth_smallest_eigenvalue(gram, gram.shape[0] - 1) * (1.0 + 1e-12)


def moment_lower_bound(rows: Any, weights: Floats) -> float:
    """Return the smallest eigenvalue of sum_i weights_i a_i a_i', rounded down.

    Parameters
    ----------
    rows, weights
        See `moment_upper_bound`.

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
    gram = _gram(scaled)
    rounding = 4.0 * float((n + d) * np.finfo(float).eps * gram.trace())
    return max(0.0, _kth_smallest_eigenvalue(gram, 0) - rounding)


def certificate_note(rows: Any) -> str:
    """Return a note for the derivation if `moment_upper_bound` is probabilistic, else ""."""
    if min(rows.shape) <= DENSE:
        return ""
    return f"; the eigenvalue by a Lanczos bound that fails with probability at most {FAILURE:g}"


def _is_sparse(matrix: Any) -> bool:
    return bool(scipy.sparse.issparse(matrix))


def _weight_rows(rows: Any, weights: Floats) -> Any:
    root = np.sqrt(weights)
    if _is_sparse(rows):
        return scipy.sparse.diags_array(root) @ rows
    return root[:, None] * rows


def _dense_gram(rows: Floats, weights: Floats) -> Floats:
    """Return sum_i weights_i a_i a_i' of dense rows, in blocks."""
    gram = np.zeros((rows.shape[1], rows.shape[1]))
    for start in range(0, len(rows), _ROWS):
        part = slice(start, start + _ROWS)
        block = _weight_rows(rows[part], weights[part])
        gram += block.T @ block
    return gram


def _gram(rows: Any) -> Any:
    """Return sum_i a_i a_i'; dense blocks are faster for sparse rows with many entries."""
    n, d = rows.shape
    if not _is_sparse(rows) or rows.nnz < _FULL * n * d:
        return rows.T @ rows
    gram, rows = np.zeros((d, d)), rows.tocsr()
    for start in range(0, n, _BLOCK):
        block = rows[start : start + _BLOCK].toarray()
        gram += block.T @ block
    return gram


def _as_operator_unless_zero(matrix: Any) -> LinearOperator | None:
    """Return the matrix as an operator for Lanczos, None if it is 0."""
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
