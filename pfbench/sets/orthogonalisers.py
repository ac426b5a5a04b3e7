"""Published polynomial orthogonalisers: their maps of singular values, and certified intervals.

An orthogonaliser divides a matrix M by its Frobenius norm. Each step then maps every singular
value s to a s + b s^3 + c s^5.
"""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from pfbench.base.arrays import Floats, LowerUpper

Coefficients = Sequence[tuple[float, float, float]]
"""The triples (a, b, c) of the steps, in order; empty for exact orthogonalisation."""


def _scale(coefficients: Coefficients, divisor: float) -> Coefficients:
    return [(a / divisor, b / divisor**3, c / divisor**5) for a, b, c in coefficients]


QUINTIC = (3.4445, -4.7750, 2.0315)
"""Coefficients of the quintic in use (Jordan et al. 2024)."""

_POLAR = [
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
    (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
    (1.891301407787398, -1.2679958271945868, 0.37680408948524835),
]
_MODDED = [
    (8.156554524902461, -22.48329292557795, 15.878769915207462),
    (4.042929935166739, -2.808917465908714, 0.5000178451051316),
    (3.8916678022926607, -2.772484153217685, 0.5060648178503393),
    (3.285753657755655, -2.3681294933425376, 0.46449024233003106),
    (2.3465413258596377, -1.7097828382687081, 0.42323551169305323),
]
_DION = [
    (4.0848, -6.8946, 2.9270),
    (3.9505, -6.3029, 2.6377),
    (3.7418, -5.5913, 2.3037),
    (2.8769, -3.1427, 1.2046),
    (2.8366, -3.0525, 1.2012),
]


def _with_divided_input(coefficients: Coefficients, divisor: float) -> Coefficients:
    return [*_scale(coefficients[:1], divisor), *coefficients[1:]]


PRESETS: Mapping[str, Coefficients] = MappingProxyType(
    {
        "jordan": [QUINTIC] * 5,
        "polar-express-5": _with_divided_input(_scale(_POLAR[:5], 1.01), 1.01),
        "polar-express-6": _with_divided_input(_scale(_POLAR, 1.01), 1.01),
        "modded-nanogpt": _with_divided_input(_MODDED, 1.02),
        "optax-dion": _DION,
        "deepseek-v4": [QUINTIC] * 8 + [(2.0, -1.5, 0.5)] * 2,
        "newton-schulz": [(1.875, -1.25, 0.375)] * 5,
        "exact": [],
    }
)
"""Orthogonalisers of public code; their safety factors are included in the coefficients."""


def map_singular_values(coefficients: Coefficients, s: Floats) -> Floats:
    """Return the singular values to which an orthogonaliser maps the singular values s."""
    if not coefficients:
        return np.ones_like(s)
    for a, b, c in coefficients:
        s = a * s + b * s**3 + c * s**5
    return s


def certify_interval(coefficients: Coefficients, low: float, high: float = 1.0) -> LowerUpper:
    """Return the interval of values to which an orthogonaliser maps [low, high].

    The image under each step is that of the ends and of the critical points between them. So the
    result is exact up to rounding.

    Parameters
    ----------
    coefficients
        Triples (a, b, c) of the steps; empty for exact orthogonalisation.
    low, high
        Least and largest singular value of M/|M|_F.
    """
    if not coefficients:
        return 1.0, 1.0
    for a, b, c in coefficients:
        discriminant = 9 * b * b - 20 * a * c
        candidates = [low, high]
        if c != 0.0 and discriminant > 0.0:
            roots = [(-3 * b + sign * math.sqrt(discriminant)) / (10 * c) for sign in (-1, 1)]
            candidates += [math.sqrt(z) for z in roots if low**2 < z < high**2]
        values = [a * s + b * s**3 + c * s**5 for s in candidates]
        low, high = min(values), max(values)
    return low, high
