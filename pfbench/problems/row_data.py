"""Rows and labels of linear models: their sources, and their conversion to CSR format."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from pfbench.base.arrays import Floats
from pfbench.base.checks import check_finite_array
from pfbench.base.errors import InputError
from pfbench.base.parameters import CheckedParameters, integer, nonnegative
from pfbench.problems.data.loading import load_classification


@dataclass(frozen=True, kw_only=True)
class SyntheticRows(CheckedParameters):
    """Synthetic isotropic rows on the unit sphere, with labels of a noisy linear model."""

    seed: int = integer(0, "seed of the problem's data", minimum=0)
    rows: int = integer(2000, "number of rows (n)")
    columns: int = integer(20, "length of a row (d)")
    noise: float = nonnegative(0.1, "standard deviation of the noise added to a label")

    def draw(self, name: str = "synthetic") -> tuple[Any, Floats]:
        """Draw features, shape (n, d), and labels <a_i, w> plus noise, for a random vector w.

        The vector w is standard normal.
        """
        rng = np.random.default_rng(self.seed)
        n, d = self.rows, self.columns
        features = rng.standard_normal((n, d))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        labels: Any = features @ rng.standard_normal(d)
        labels += self.noise * rng.standard_normal(n)
        return features, labels


@dataclass(frozen=True, kw_only=True)
class BinaryData:
    """Data set with two classes, whose features are not scaled."""

    def draw(self, data_set: str) -> tuple[Any, Floats]:
        """Return sparse features, shape (n, d), and labels +1 and -1, shape (n,).

        Raises
        ------
        DataError
            If the data are missing or damaged.
        """
        data = load_classification(data_set)
        return data.features, data.labels


def draw_synthetic_rows(signs: bool = False, **overrides: Any) -> tuple[Floats, Floats]:
    """Draw the features and labels of `SyntheticRows`; with `signs`, labels become +1 or -1.

    The label 0 becomes +1.
    """
    features, labels = SyntheticRows(**overrides).draw()
    return features, label_signs_zero_positive(labels) if signs else labels


def label_signs_zero_positive(labels: Floats) -> Floats:
    """Return +1 for each label that is at least 0, else -1."""
    return np.where(labels >= 0.0, 1.0, -1.0)


MOST_ENTRIES = 2**32 - 1
"""Maximum number of entries and columns: compiled loops use 32-bit indices."""


def as_csr(features: Any) -> Any:
    """Convert a matrix to a float64 CSR array with sorted indices and summed duplicates.

    Parameters
    ----------
    features
        A matrix of shape (n, d) in any scipy sparse format, or a dense array.

    Raises
    ------
    InputError
        If `features` is not a matrix of finite numbers, is too large, or has inconsistent index
        arrays, which scipy does not check after construction.
    """
    try:
        if scipy.sparse.issparse(features):
            _check_indices_within_shape(features)
        matrix = scipy.sparse.csr_array(features, dtype=np.float64, copy=True)
    except (TypeError, ValueError, IndexError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"the features must be a matrix of numbers ({reason}).") from None
    if matrix.ndim != 2:
        raise InputError("the features must be a matrix of numbers, one row for each label.")
    if max(matrix.nnz, matrix.shape[1]) > MOST_ENTRIES:
        raise InputError(f"the features must have at most 2^32 - 1 entries, not {matrix.nnz}.")
    matrix.sum_duplicates()
    check_finite_array("the features", matrix.data)
    return matrix


def _check_indices_within_shape(features: Any) -> None:
    """Raise ValueError if an index of a sparse matrix is out of range."""
    if features.format in ("csr", "csc", "bsr"):
        features.check_format(full_check=True)
    elif features.format == "coo":
        for coord, length in zip(features.coords, features.shape, strict=True):
            if coord.size and (coord.min() < 0 or coord.max() >= length):
                raise ValueError("an index of the sparse matrix lies outside its shape")
