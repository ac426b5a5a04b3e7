"""Certified bounds of the zero chain H_T, such as its smoothness constant, for every length T.

shen2019 lemma 7.1 states that H_T is 3^15-smooth. pfbench derives a smaller constant from the
functions Psi and Phi of the chain. The entries of each row of the tridiagonal Hessian of H_T are
bounded (shen2019 section 7.1) by

    diagonal      |Psi''| Phi + Psi |Phi''|
    off-diagonal  Psi' Phi', twice

So its spectral norm is at most sup|Psi''| sup Phi + sup Psi sup|Phi''| + 2 sup Psi' sup Phi'.
Bounds of the gradient's entries and of the third derivatives follow in the same way.

The suprema are enclosed by interval arithmetic. Every operation is rounded outwards, so the upper
ends are proved. The proof assumes correctly rounded IEEE arithmetic, and an error of exp below 4
units in the last place. Psi is treated as a function of r = 1/(2 t - 1) in (0, inf), where

    Psi = e(r),  Psi' = 4 r^3 e(r),  Psi'' = (16 r^6 - 24 r^4) e(r),
    Psi''' = (64 r^9 - 288 r^7 + 192 r^5) e(r),  e(r) = exp(1 - r^2),

and Phi' = exp((1 - t^2)/2), Phi'' = -t Phi', Phi''' = (t^2 - 1) Phi' are even or odd in t >= 0. The
intervals [0, END] are cut until upper and lower bound agree. Beyond END every r^k exp(1 - r^2) with
k <= 9 and every t^k exp((1 - t^2)/2) with k <= 2 decreases, since END^2 > 9/2 and 2: there the
functions are at most the sum of the moduli of their terms at END.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Self

import numpy as np

from pfbench.base.arrays import Floats

PAPER_SMOOTHNESS = 3.0**15
"""Smoothness of H_T stated by shen2019 lemma 7.1."""

END = 10.0
"""Value of x at which the subdivided interval ends, and a tail with one bound begins."""

TOLERANCE = 1e-6
"""Relative width of the enclosures at which bisection stops."""

_EXP_ULPS = 4


@dataclass(frozen=True)
class RoundedInterval:
    """Array of intervals [lower, upper]; the result of an operation contains the exact result."""

    lower: Floats
    upper: Floats

    @classmethod
    def from_float(cls, number: float) -> Self:
        """Return the degenerate interval that contains only `number`."""
        return cls(np.array(number), np.array(number))

    def __add__(self, other: Self) -> "RoundedInterval":
        return _round_outwards(self.lower + other.lower, self.upper + other.upper)

    def __sub__(self, other: Self) -> "RoundedInterval":
        return _round_outwards(self.lower - other.upper, self.upper - other.lower)

    def __mul__(self, other: Self) -> "RoundedInterval":
        ends = [a * b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return _round_outwards(np.minimum.reduce(ends), np.maximum.reduce(ends))

    def exp(self) -> "RoundedInterval":
        """Return intervals that contain the exponentials of all numbers in these intervals."""
        return _round_outwards(np.exp(self.lower), np.exp(self.upper), _EXP_ULPS)

    def sqrt(self) -> "RoundedInterval":
        """Return intervals that contain the square roots of all numbers, which are nonnegative."""
        return _round_outwards(np.sqrt(self.lower), np.sqrt(self.upper))

    def modulus(self) -> "RoundedInterval":
        """Return the intervals of the absolute values of all numbers in these intervals."""
        maximum = np.maximum(0.0, np.maximum(self.lower, -self.upper))
        return RoundedInterval(maximum, np.maximum(-self.lower, self.upper))


def _round_outwards(lower: Floats, upper: Floats, ulps: int = 1) -> RoundedInterval:
    for _ in range(ulps):
        lower, upper = np.nextafter(lower, -np.inf), np.nextafter(upper, np.inf)
    return RoundedInterval(lower, upper)


@dataclass(frozen=True)
class DecayingFunction:
    """Function p(x) exp(c (1 - x^2)) on x >= 0, where p is a polynomial.

    Attributes
    ----------
    coefficients
        Coefficients of p, by the power of x.
    rate
        The rate c.
    """

    coefficients: Mapping[int, float]
    rate: float

    def enclose(self, x: RoundedInterval) -> RoundedInterval:
        """Return intervals that contain all values of the function on the intervals x."""
        square = x * x
        total = RoundedInterval.from_float(0.0)
        for power in range(max(self.coefficients), -1, -1):  # Horner's rule
            total = total * x + RoundedInterval.from_float(self.coefficients.get(power, 0.0))
        return (
            total
            * (
                RoundedInterval.from_float(self.rate) * (RoundedInterval.from_float(1.0) - square)
            ).exp()
        )

    def tail_modulus_bound(self) -> float:
        """Return an upper bound of the function's absolute value on x >= `END`."""
        positive = {power: abs(factor) for power, factor in self.coefficients.items()}
        return float(
            DecayingFunction(positive, self.rate).enclose(RoundedInterval.from_float(END)).upper
        )

    def supremum_bounds(self) -> tuple[float, float]:
        """Return certified lower and upper bounds of sup |p(x) exp(c (1 - x^2))|, x >= 0."""
        edges = np.linspace(0.0, END, 101)
        boxes = RoundedInterval(edges[:-1], edges[1:])
        lower = 0.0
        while True:
            middle = 0.5 * (boxes.lower + boxes.upper)
            at_middle = self.enclose(RoundedInterval(middle, middle)).modulus()
            lower = max(lower, float(at_middle.lower.max()))
            bounds = self.enclose(boxes).modulus().upper
            upper = max(float(bounds.max()), self.tail_modulus_bound())
            if upper <= lower * (1.0 + TOLERANCE):
                return lower, upper
            # What was cut off before lies below `lower`, so below `upper`.
            retained = bounds > lower
            left, middle, right = boxes.lower[retained], middle[retained], boxes.upper[retained]
            boxes = RoundedInterval(np.append(left, middle), np.append(middle, right))


FUNCTIONS: Mapping[str, DecayingFunction] = MappingProxyType(
    {
        "psi": DecayingFunction({0: 1.0}, 1.0),
        "psi_slope": DecayingFunction({3: 4.0}, 1.0),
        "psi_curvature": DecayingFunction({4: -24.0, 6: 16.0}, 1.0),
        "psi_third": DecayingFunction({5: 192.0, 7: -288.0, 9: 64.0}, 1.0),
        "phi_slope": DecayingFunction({0: 1.0}, 0.5),
        "phi_curvature": DecayingFunction({1: -1.0}, 0.5),
        "phi_third": DecayingFunction({0: -1.0, 2: 1.0}, 0.5),
    }
)
"""Psi and its derivatives as functions of r, Phi and its derivatives as functions of t."""


@dataclass(frozen=True)
class ChainBounds:
    """Certified bounds of the functions Psi and Phi of the chain H_T, and of their derivatives.

    Attributes
    ----------
    psi, psi_slope, psi_curvature, psi_third
        Bounds of Psi, |Psi'|, |Psi''|, |Psi'''|.
    phi, phi_slope, phi_curvature, phi_third
        Bounds of Phi, |Phi'|, |Phi''|, |Phi'''|.
    """

    psi: float
    psi_slope: float
    psi_curvature: float
    psi_third: float
    phi: float
    phi_slope: float
    phi_curvature: float
    phi_third: float

    @property
    def smoothness_bound(self) -> float:
        """Upper bound of the spectral norm of the Hessian of the chain H_T, for every length T."""
        return self._add_and_round_up(
            (1.0, self.psi_curvature, self.phi),
            (1.0, self.psi, self.phi_curvature),
            (2.0, self.psi_slope, self.phi_slope),
        )

    @property
    def hessian_smoothness_bound(self) -> float:
        """Upper bound of the Lipschitz constant of the Hessian of the chain H_T, for every T.

        For unit vectors, |sum_i t_i u_i v_i w_i| <= max |t_i|, even if any of u, v and w are
        shifted by one index. The third derivatives of the terms in consecutive coordinates a, b
        contribute eight such sums: aaa and bbb once, aab and abb three times.
        """
        return self._add_and_round_up(
            (1.0, self.psi_third, self.phi),
            (1.0, self.psi, self.phi_third),
            (3.0, self.psi_curvature, self.phi_slope),
            (3.0, self.psi_slope, self.phi_curvature),
        )

    @property
    def gradient_entry_bound(self) -> float:
        """Upper bound of the absolute entries of the gradient of the chain H_T, for every length T.

        The bound in shen2019 lemma 7.1 is 23.
        """
        return self._add_and_round_up(
            (1.0, self.psi, self.phi_slope), (1.0, self.psi_slope, self.phi)
        )

    def minus_inf_bound(self, T: int) -> float:
        """Return an upper bound of -inf H_T, where H_T is the chain of length T.

        It is Psi(1) sup Phi + (T - 1) sup Psi sup Phi, with the bounds of the suprema.
        """
        return self._add_and_round_up((1.0, 1.0, self.phi), (T - 1.0, self.psi, self.phi))

    def _add_and_round_up(self, *terms: tuple[float, float, float]) -> float:
        total = RoundedInterval.from_float(0.0)
        for factors in terms:
            a, b, c = map(RoundedInterval.from_float, factors)
            total = total + a * b * c
        return float(total.upper)


@cache
def chain_bounds() -> ChainBounds:
    """Return the certified bounds of the functions Psi and Phi, computed on the first call."""
    # Phi increases to sqrt(2 pi e); math.pi and math.e are within a unit in the last place.
    pi, e = (_round_outwards(np.array(number), np.array(number)) for number in (math.pi, math.e))
    phi = float((RoundedInterval.from_float(2.0) * pi * e).sqrt().upper)
    above = {name: function.supremum_bounds()[1] for name, function in FUNCTIONS.items()}
    return ChainBounds(phi=phi, **above)
