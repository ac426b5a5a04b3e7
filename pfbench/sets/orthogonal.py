"""Linear minimisation over a spectral ball by matrix products only, and its accuracy.

Newton-Schulz of degree kappa: X_0 = M/|M|_F, then q times X <- p(XX')X, p(l) = sum over s <= kappa
of c_s (1-l)^s with c_s = (2s)!/(4^s s!^2); kappa + 1 products each time. The quintic that Muon runs
with, 3.4445 X - 4.7750 (XX')X + 2.0315 (XX')^2 X, takes 3.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.arrays import norm as euclidean
from pfbench.base.parameters import check_field_values, integer, one_of_values
from pfbench.sets.body import check_gradient, scale_to_unit
from pfbench.sets.matrix_balls import SpectralBall

QUINTIC = (3.4445, -4.7750, 2.0315)
"""Coefficients of the quintic in use (Jordan et al. 2024)."""

LMOS = ("exact", "newton-schulz", "quintic")
"""Algorithms of the minimisation over a spectral ball."""


def inverse_sqrt_coefficients(degree: int) -> tuple[float, ...]:
    """Return c_0, ..., c_kappa, the first coefficients of (1-u)^(-1/2) in powers of u."""
    return tuple(math.comb(2 * s, s) / 4.0**s for s in range(degree + 1))


def newton_schulz(X: Floats, degree: int, steps: int) -> Floats:
    """Return X after a number of Newton-Schulz steps; singular values in (0, 1] stay there.

    Each step multiplies by a polynomial in XX', or in X'X if that is smaller;
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


def quintic_iterations(X: Floats, steps: int) -> Floats:
    """Return X after a number of steps of the quintic in use."""
    a, b, c = QUINTIC
    tall = X.shape[0] > X.shape[1]
    X = X.T if tall else X
    for _ in range(steps):
        A = X @ X.T
        X = a * X + (b * A + c * (A @ A)) @ X
    return np.ascontiguousarray(X.T if tall else X)


def newton_schulz_scalar(s: Any, degree: int) -> Any:
    """Apply one Newton-Schulz step to singular values s."""
    u = 1.0 - s * s
    return s * sum(c * u**k for k, c in enumerate(inverse_sqrt_coefficients(degree)))


def quintic_scalar(s: Any) -> Any:
    """Apply one step of the quintic to singular values s."""
    a, b, c = QUINTIC
    return a * s + b * s**3 + c * s**5


@dataclass(frozen=True, repr=False, eq=False)
class OrthogonalisedBall(SpectralBall):
    """Spectral ball whose `lo_zero_if_undetermined` may be inexact, by matrix products only.

    Everything else is that of `SpectralBall`: measures, dual norms and constants are exact.

    Parameters
    ----------
    size, radius
        As for `SpectralBall`.
    lmo
        A name in `LMOS`.
    degree
        kappa of Newton-Schulz.
    steps
        q.

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
    def matrix_products_per_lmo(self) -> int:
        """Number of matrix products: q (kappa + 1), or 3 q of the quintic; 0 if exact."""
        if self.lmo == "exact":
            return 0
        return self.steps * (3 if self.lmo == "quintic" else self.degree + 1)

    def lo_zero_if_undetermined(self, g: Any) -> Floats:
        """Return -radius X_q, from X_0 = g/|g|_F; 0 for g = 0."""
        if self.lmo == "exact":
            return super().lo_zero_if_undetermined(g)
        scaled, _ = scale_to_unit(check_gradient(g, self.shape))
        length = euclidean(scaled)
        if length == 0.0:
            return np.zeros(self.shape)
        X = scaled / length
        result = (
            quintic_iterations(X, self.steps)
            if self.lmo == "quintic"
            else newton_schulz(X, self.degree, self.steps)
        )
        return -self.radius * result
