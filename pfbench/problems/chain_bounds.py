"""Bounds of the zero chain H_T, such as its smoothness constant, for every length T.

shen2019 lemma 7.1 states that H_T is 3^15-smooth. pfbench derives a smaller constant from the
functions Psi and Phi of the chain. The entries of each row of the tridiagonal Hessian of H_T are
bounded (shen2019 section 7.1) by

    diagonal      |Psi''| Phi + Psi |Phi''|
    off-diagonal  Psi' Phi', twice

So its spectral norm is at most sup|Psi''| sup Phi + sup Psi sup|Phi''| + 2 sup Psi' sup Phi'.
Bounds of the gradient's entries and of the third derivatives follow in the same way.

Interval arithmetic gave the bounds of the suprema, at most a millionth above them. The tests
compare them with the values at all critical points, to 50 digits. With r = 1/(2 t - 1) in (0, inf),

    Psi = e(r),  Psi' = 4 r^3 e(r),  Psi'' = (16 r^6 - 24 r^4) e(r),
    Psi''' = (64 r^9 - 288 r^7 + 192 r^5) e(r),  e(r) = exp(1 - r^2),

and Phi increases to sqrt(2 pi e), with Phi' = exp((1 - t^2)/2), Phi'' = -t Phi' and Phi''' =
(t^2 - 1) Phi'.
"""

import math
from dataclasses import dataclass

PAPER_SMOOTHNESS = 3.0**15
"""Smoothness of H_T stated by shen2019 lemma 7.1."""


def _add_products_rounded_up(*terms: tuple[float, float, float]) -> float:
    """Return the sum of products of three nonnegative numbers; each operation is rounded up."""
    total = 0.0
    for a, b, c in terms:
        product = math.nextafter(math.nextafter(a * b, math.inf) * c, math.inf)
        total = math.nextafter(total + product, math.inf)
    return total


@dataclass(frozen=True)
class ChainBounds:
    """Bounds of Psi and Phi, the functions that form the zero chain H_T, and of their derivatives.

    Attributes
    ----------
    psi, psi_slope, psi_curvature, psi_third
        Bounds of Psi, |Psi'|, |Psi''|, |Psi'''|.
    phi, phi_slope, phi_curvature, phi_third
        Bounds of Phi, |Phi'|, |Phi''|, |Phi'''|.
    """

    psi: float = 2.718281828459049
    psi_slope: float = 4.457076053665868
    psi_curvature: float = 32.38665860063482
    psi_third: float = 457.7146510984416
    phi: float = 4.132731354122495
    phi_slope: float = 1.64872127070013
    phi_curvature: float = 1.000000762939455
    phi_third: float = 1.64872127070013

    @property
    def smoothness_bound(self) -> float:
        """Upper bound of the spectral norm of the Hessian of the zero chain H_T, for every T."""
        return _add_products_rounded_up(
            (1.0, self.psi_curvature, self.phi),
            (1.0, self.psi, self.phi_curvature),
            (2.0, self.psi_slope, self.phi_slope),
        )

    @property
    def hessian_smoothness_bound(self) -> float:
        """Upper bound of the Lipschitz constant of the Hessian of the zero chain H_T, for every T.

        For unit vectors, |sum_i t_i u_i v_i w_i| <= max |t_i|, even if any of u, v and w are
        shifted by one index. The third derivatives of the terms in consecutive coordinates a, b
        contribute eight such sums: aaa and bbb once, aab and abb three times.
        """
        return _add_products_rounded_up(
            (1.0, self.psi_third, self.phi),
            (1.0, self.psi, self.phi_third),
            (3.0, self.psi_curvature, self.phi_slope),
            (3.0, self.psi_slope, self.phi_curvature),
        )

    @property
    def gradient_entry_bound(self) -> float:
        """Upper bound of the absolute entries of the gradient of the zero chain H_T, for every T.

        The bound in shen2019 lemma 7.1 is 23.
        """
        return _add_products_rounded_up(
            (1.0, self.psi, self.phi_slope), (1.0, self.psi_slope, self.phi)
        )

    def minus_inf_bound(self, T: int) -> float:
        """Return an upper bound of -inf H_T, where H_T is the zero chain of length T.

        It is Psi(1) sup Phi + (T - 1) sup Psi sup Phi, with the bounds of the suprema.
        """
        return _add_products_rounded_up((1.0, 1.0, self.phi), (T - 1.0, self.psi, self.phi))


CHAIN_BOUNDS = ChainBounds()
"""Bounds for the chains of all lengths."""
