"""Balls of matrix norms other than the nuclear norm: spectral norm, norms of rows or columns.

The linear minimisation over a spectral ball may use matrix products only, as Muon does. The
Newton-Schulz iteration of degree kappa starts from X_0 = M/|M|_F, and takes q steps X <- p(XX')X.
Here p(l) is the sum over s <= kappa of c_s (1-l)^s with c_s = (2s)!/(4^s s!^2). Each step takes
kappa + 1 matrix products. A step of Muon's quintic, 3.4445 X - 4.7750 (XX')X + 2.0315 (XX')^2 X,
takes 3, and so does a step of a published list of such triples.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import scipy

from pfbench.base.arrays import Floats, LowerUpper
from pfbench.base.arrays import norm as euclidean
from pfbench.base.checks import check_integer, check_real
from pfbench.base.parameters import check_field_values, integer, one_of_values, parameter
from pfbench.sets.body import (
    ConvexBody,
    FlattenedBody,
    check_gradient,
    check_projectable,
    scale_to_unit,
)
from pfbench.sets.groups import GroupLassoBall
from pfbench.sets.norms import NormBall
from pfbench.sets.orthogonalisers import PRESETS, QUINTIC, Coefficients


@dataclass(frozen=True, repr=False, eq=False)
class MatrixBall(ConvexBody):
    """Base class of the balls of M x N matrices whose norm is at most `radius`.

    Raises
    ------
    InputError
        If a size is below 1 or the radius is not positive and finite.
    """

    points: ClassVar[str] = "matrices"
    has_projection: ClassVar[bool] = True

    size: tuple[int, int]
    radius: float = parameter(1.0, "size of the set, positive")

    def __post_init__(self) -> None:
        for side in self.size:
            check_integer("matrix size", side, minimum=1)
        check_real("radius", self.radius, above=0.0)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a point: (M, N)."""
        return self.size

    @property
    def max_norm(self) -> float:
        """Exact largest Frobenius norm in the ball, which is radius."""
        return self.radius

    @property
    def diameter(self) -> float:
        """Exact diameter, the distance between a vertex of largest norm and its negative."""
        return 2.0 * self.max_norm

    def start(self) -> Floats:
        """Return the zero matrix, shape (M, N)."""
        return np.zeros(self.shape)


class SpectralBall(MatrixBall, NormBall):
    """Matrices whose singular values are all at most `radius`."""

    name: ClassVar[str] = "spectral"
    summary: ClassVar[str] = "matrices whose singular values are all at most radius"
    source: ClassVar[str] = "Jaggi 2013 section 4 (Schatten norms)"
    omega: ClassVar[float] = 1.0

    @property
    def zeta(self) -> float:
        """Exact maximum sqrt(min(M, N)) of |x|_*/|x|_F, where |x|_* is the nuclear norm."""
        return math.sqrt(min(self.shape))

    @property
    def max_norm(self) -> float:
        """Exact largest Frobenius norm in the ball, radius * sqrt(min(M, N))."""
        return self.radius * self.zeta

    def norm(self, x: Floats) -> float:
        """Return the largest singular value of x."""
        scaled, exponent = scale_to_unit(x)
        largest = float(scipy.linalg.svdvals(scaled, check_finite=False)[0])
        return float(np.ldexp(largest, exponent))

    def lo(self, g: Any) -> Floats:
        """Return -radius * UV' for a singular value decomposition U S V' of g.

        If g is rank-deficient, the decomposition completes U and V, so that the result is a
        vertex. It takes O(M N min(M, N)).
        """
        u, vt = _compact_svd(scale_to_unit(check_gradient(g, self.shape))[0])[::2]
        return np.asarray(-self.radius * (u @ vt))

    def lo_zero_if_undetermined(self, g: Any) -> Floats:
        """Return -radius * UV', where U and V hold g's singular vectors of nonzero singular values.

        Singular vectors with a singular value of the size of rounding errors are left out.
        """
        u, s, vt = _compact_svd(scale_to_unit(check_gradient(g, self.shape))[0])
        retained = s > s[0] * max(self.shape) * np.finfo(np.float64).eps
        return np.asarray(-self.radius * (u[:, retained] @ vt[retained]))

    def minimum(self, g: Any) -> LowerUpper:
        """Return equal lower and upper bounds of min <g, v>: -radius times g's nuclear norm."""
        scaled, exponent = scale_to_unit(check_gradient(g, self.shape))
        total = float(scipy.linalg.svdvals(scaled, check_finite=False).sum())
        value = float(np.ldexp(-self.radius * total, exponent))
        return value, value

    def project(self, y: Any) -> Floats:
        """Return the Euclidean projection of y: its singular values are clipped at radius."""
        y = check_projectable(y, self.shape)
        scaled, exponent = scale_to_unit(y)
        u, s, vt = _compact_svd(scaled)
        cut = float(np.ldexp(self.radius, -exponent))
        if s[0] <= cut:
            return np.array(y)
        return np.asarray(np.ldexp((u * np.minimum(s, cut)) @ vt, exponent))


class RowBall(FlattenedBody, MatrixBall):
    """Matrices whose rows' Euclidean norms sum to at most `radius`."""

    name: ClassVar[str] = "row-norm"
    summary: ClassVar[str] = "matrices whose rows' Euclidean norms sum to at most radius"
    source: ClassVar[str] = "Yuan, Lin 2006; Jaggi 2013 section 4"

    @cached_property
    def _flat_body(self) -> GroupLassoBall:
        """Equivalent ball of vectors; each vector concatenates a matrix's rows (or columns)."""
        length = self.shape[1 if self._order == "C" else 0]
        return GroupLassoBall(math.prod(self.shape), self.radius, groups=length)


class ColumnBall(RowBall):
    """Matrices whose columns' Euclidean norms sum to at most `radius`; see `RowBall`."""

    name: ClassVar[str] = "column-norm"
    summary: ClassVar[str] = "matrices whose columns' Euclidean norms sum to at most radius"
    _order: ClassVar[Literal["C", "F"]] = "F"


class MaxRowBall(MatrixBall, NormBall):
    """Matrices whose rows all have a Euclidean norm of at most `radius`."""

    name: ClassVar[str] = "max-row-norm"
    summary: ClassVar[str] = "matrices whose rows' Euclidean norms are all at most radius"
    source: ClassVar[str] = "Pethick et al. 2025"
    omega: ClassVar[float] = 1.0

    _axis: ClassVar[int] = 1
    """Axis along which norms are taken."""

    @property
    def zeta(self) -> float:
        """Exact maximum of |x|_*/|x|_F, the root of the number of rows; |x|_* is the dual norm."""
        return math.sqrt(self.shape[1 - self._axis])

    @property
    def max_norm(self) -> float:
        """Exact largest Frobenius norm in the ball, reached if each row has norm `radius`."""
        return self.radius * self.zeta

    def _unit_rows(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the rows of x divided by their norms, and the norms; rows of norm 0 become 0."""
        largest = np.abs(x).max(axis=self._axis, keepdims=True)
        scaled = np.divide(x, largest, out=np.zeros_like(x, np.float64), where=largest > 0.0)
        lengths = np.linalg.norm(scaled, axis=self._axis, keepdims=True)
        np.divide(scaled, lengths, out=scaled, where=lengths > 0.0)
        return scaled, largest * lengths

    def norm(self, x: Floats) -> float:
        """Return the largest Euclidean norm of a row of x."""
        return float(self._unit_rows(x)[1].max())

    def lo(self, g: Any) -> Floats:
        """Return -radius * g_i/|g_i| in each row i; O(MN).

        Where g_i = 0, the row has radius in its first entry.
        """
        units, lengths = self._unit_rows(check_gradient(g, self.shape))
        first = np.zeros(self.shape)
        first[(slice(None), 0) if self._axis else 0] = -1.0
        return np.asarray(-self.radius * np.where(lengths > 0.0, units, first))

    def lo_zero_if_undetermined(self, g: Any) -> Floats:
        """Return -radius * g_i/|g_i| in each row i, and 0 in rows with g_i = 0."""
        return np.asarray(-self.radius * self._unit_rows(check_gradient(g, self.shape))[0])

    def minimum(self, g: Any) -> LowerUpper:
        """Return equal lower and upper bounds of the minimum of <g, v> over the ball.

        The minimum is -radius times the sum of the norms of the rows of g.
        """
        value = -self.radius * float(self._unit_rows(check_gradient(g, self.shape))[1].sum())
        return value, value

    def project(self, y: Any) -> Floats:
        """Return the Euclidean projection of y: rows of norm above `radius` are shortened to it."""
        y = check_projectable(y, self.shape)
        units, lengths = self._unit_rows(y)
        return np.where(lengths > self.radius, self.radius * units, y)


class MaxColumnBall(MaxRowBall):
    """Matrices whose columns all have a Euclidean norm of at most `radius`."""

    name: ClassVar[str] = "max-column-norm"
    summary: ClassVar[str] = "matrices whose columns' Euclidean norms are all at most radius"
    _axis: ClassVar[int] = 0


def _compact_svd(array: Floats) -> tuple[Floats, Floats, Floats]:
    u, s, vt = scipy.linalg.svd(array, full_matrices=False, check_finite=False)
    return u, s, vt


LMOS = tuple(dict.fromkeys(("exact", "newton-schulz", "quintic", *PRESETS)))
"""Algorithms for linear minimisation over a spectral ball."""


def inverse_sqrt_coefficients(degree: int) -> tuple[float, ...]:
    """Return the first `degree` + 1 coefficients of (1-u)^(-1/2) in powers of u."""
    return tuple(math.comb(2 * s, s) / 4.0**s for s in range(degree + 1))


def newton_schulz(X: Floats, degree: int, steps: int) -> Floats:
    """Return X after `steps` Newton-Schulz steps, which keep singular values in (0, 1].

    Each step multiplies by a polynomial in XX', or in X'X if that is smaller. The function
    `newton_schulz_scalar` does the same to singular values.
    """
    tall = X.shape[0] > X.shape[1]
    X = X.T if tall else X
    eye = np.eye(len(X))
    for _ in range(steps):
        U = eye - X @ X.T
        *rest, polynomial = (c * eye for c in inverse_sqrt_coefficients(degree))
        for term in reversed(rest):
            polynomial = polynomial @ U + term
        X = polynomial @ X
    return np.ascontiguousarray(X.T if tall else X)


def quintic_iterations(X: Floats, coefficients: Coefficients) -> Floats:
    """Return X after one step a X + b (XX')X + c (XX')^2 X for each of the triples (a, b, c)."""
    tall = X.shape[0] > X.shape[1]
    X = X.T if tall else X
    for a, b, c in coefficients:
        A = X @ X.T
        X = a * X + (b * A + c * (A @ A)) @ X
    return np.ascontiguousarray(X.T if tall else X)


def newton_schulz_scalar(s: Any, degree: int) -> Any:
    """Return singular values s after one Newton-Schulz step."""
    u = 1.0 - s * s
    return s * sum(c * u**k for k, c in enumerate(inverse_sqrt_coefficients(degree)))


@dataclass(frozen=True, repr=False, eq=False)
class OrthogonalisedBall(SpectralBall):
    """Spectral ball with a linear minimisation by matrix products only, as in Muon.

    Only `lo_zero_if_undetermined` may be inexact. Everything else is that of `SpectralBall`:
    measures, dual norms and constants are exact.

    Parameters
    ----------
    size, radius
        As for `SpectralBall`.
    lmo
        A name in `LMOS`; those of `PRESETS` have their own number of steps.
    degree
        kappa of Newton-Schulz.
    steps
        q, steps of Newton-Schulz or of the quintic.

    Raises
    ------
    InputError
        If a parameter is out of range.
    """

    source: ClassVar[str] = "Kim, Oh 2026; Jordan et al. 2024"

    lmo: str = one_of_values("exact", ", ".join(LMOS), LMOS)
    degree: int = integer(2, "kappa of Newton-Schulz, half the degree of its polynomial")
    steps: int = integer(5, "q, steps of Newton-Schulz or of the quintic")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_field_values(self)

    @property
    def coefficients(self) -> Coefficients:
        """Coefficients (a, b, c) of each step; they are not used if `lmo` is newton-schulz."""
        return [QUINTIC] * self.steps if self.lmo == "quintic" else PRESETS[self.lmo]

    @property
    def matrix_products_per_lmo(self) -> int:
        """Number of matrix products in one linear minimisation; 0 if it is exact.

        It is q (kappa + 1) for q Newton-Schulz steps of degree kappa, and 3 q for q other steps.
        """
        if self.lmo == "newton-schulz":
            return self.steps * (self.degree + 1)
        return 3 * len(self.coefficients)

    def lo_zero_if_undetermined(self, g: Any) -> Floats:
        """Return -radius * X_q, where X_q is g/|g|_F after q orthogonalising steps; 0 for g = 0."""
        if self.lmo == "exact":
            return super().lo_zero_if_undetermined(g)
        scaled, _ = scale_to_unit(check_gradient(g, self.shape))
        length = euclidean(scaled)
        if length == 0.0:
            return np.zeros(self.shape)
        X = scaled / length
        result = (
            newton_schulz(X, self.degree, self.steps)
            if self.lmo == "newton-schulz"
            else quintic_iterations(X, self.coefficients)
        )
        return -self.radius * result


def max_spectral_norm(ball: NormBall) -> float:
    """Return the largest spectral norm of a matrix in the ball, or an upper bound of it.

    For a spectral ball it is the radius. For other balls the largest Frobenius norm is a bound.
    """
    return ball.radius if isinstance(ball, SpectralBall) else ball.radius * ball.zeta
