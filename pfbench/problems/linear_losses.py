"""Losses of linear models, with certified bounds of their derivatives."""

import math
from dataclasses import dataclass

from pfbench.kernels import linear


@dataclass(frozen=True)
class Loss:
    """Loss phi(z; b) of a linear model, with bounds of its derivatives with respect to z.

    Attributes
    ----------
    kind
        Number of the loss in `pfbench.kernels.linear`.
    slope, curvature, third
        sup |phi'|, sup |phi''|, sup |phi'''|.
    lower
        -inf phi'', 0 for a convex loss.
    derivation
        The bounds in words, with the points at which they are attained.
    """

    kind: int
    slope: float
    curvature: float
    third: float
    lower: float
    derivation: str


LOGISTIC = Loss(
    linear.LOGISTIC,
    1.0,
    0.25,
    1.0 / (6.0 * math.sqrt(3.0)),
    0.0,
    "log(1 + exp(-b z)): |phi'| <= 1, 0 <= phi'' <= 1/4 at 0, |phi'''| <= 1/(6 sqrt 3)",
)
ROBUST = Loss(
    linear.ROBUST,
    math.sqrt(0.5),
    1.0,
    1.0303302,
    0.125,
    "log(1 + r^2/2): |phi'| <= 1/sqrt 2 at r^2 = 2, -1/8 <= phi'' <= 1 at r^2 = 6 and 0, "
    "|phi'''| <= 1.03033 at r = 2 - sqrt 2",
)
LOG_COSH = Loss(
    linear.LOG_COSH,
    1.0,
    1.0,
    4.0 / (3.0 * math.sqrt(3.0)),
    0.0,
    "log cosh r: |phi'| <= 1, 0 <= phi'' <= 1 at 0, |phi'''| <= 4/(3 sqrt 3)",
)
SQUARE = Loss(linear.SQUARE, math.inf, 1.0, 0.0, 0.0, "r^2/2: phi'' = 1, phi''' = 0")
