"""Losses of data rows, with certified bounds of their derivatives and the constants they imply."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pfbench.base.arrays import Floats
from pfbench.kernels import linear


@dataclass(frozen=True)
class Loss:
    """Loss phi(z) of the product z of a data row and the variable, with bounds of its derivatives.

    Attributes
    ----------
    slope, curvature, third
        sup |phi'|, sup |phi''|, sup |phi'''|.
    lower
        -inf phi'', 0 for a convex loss.
    derivation
        The bounds in words, with the points at which they are attained.
    """

    slope: float
    curvature: float
    third: float
    lower: float
    derivation: str


@dataclass(frozen=True)
class LinearLoss(Loss):
    """Loss of a linear model; `kind` is its number in `pfbench.kernels.linear`."""

    kind: int


SUP_REGULARISER_THIRD = 4.6685593
"""sup |r'''| of r(t) = t^2/(1+t^2), attained at t^2 = 1 - 2/sqrt 5; rounded up."""


def derive_constants(
    loss: Loss, moments: Sequence[float], squares: Floats, note: str = "", alpha: float = 0.0
) -> dict[str, tuple[float, str]]:
    """Return the constants of a mean of losses of data rows a by name, with their derivations.

    Parameters
    ----------
    loss
        The loss, with the same bounds for each row.
    moments
        Upper bounds of lambda_max(E |a|^(2 k) a a') for k = 0, 1, 2.
    squares
        |a|^2 of each row.
    note
        Remark on the moments, at the end of derivations.
    alpha
        Weight of the regulariser r(t) = t^2/(1+t^2) of each entry, with -1/2 <= r'' <= 2.
    """
    top, twice = loss.curvature, " + 2 alpha, as r'' <= 2" if alpha else ""
    bent = ", + alpha sup|r'''|, sup|r'''| = 4.66856" if alpha else ""
    half = " + alpha/2, as r'' >= -1/2" if alpha else ""
    return {
        "L_f": (
            top * moments[0] + 2.0 * alpha,
            f"sup|phi''| lambda_max(E a a'){twice}; {loss.derivation}{note}",
        ),
        "L_ms": (
            top * math.sqrt(moments[1]) + 2.0 * alpha,
            f"sup|phi''| sqrt(lambda_max(E |a|^2 a a')){twice}{note}",
        ),
        "L_max": (top * float(squares.max()) + 2.0 * alpha, f"sup|phi''| max |a|^2{twice}"),
        "L2_ms": (
            loss.third * math.sqrt(moments[2]) + SUP_REGULARISER_THIRD * alpha,
            f"sup|phi'''| sqrt(lambda_max(E |a|^4 a a')){bent}{note}",
        ),
        "sigma2": (loss.slope**2 * float(squares.mean()), "sup|phi'|^2 E |a|^2"),
        "ell": (
            loss.lower * moments[0] + alpha / 2.0,
            f"-inf phi'' lambda_max(E a a'){half}{note}",
        ),
    }


LOGISTIC = LinearLoss(
    1.0,
    0.25,
    1.0 / (6.0 * math.sqrt(3.0)),
    0.0,
    "log(1 + exp(-b z)): |phi'| <= 1, 0 <= phi'' <= 1/4 at 0, |phi'''| <= 1/(6 sqrt 3)",
    linear.LOGISTIC,
)
ROBUST = LinearLoss(
    math.sqrt(0.5),
    1.0,
    1.0303302,
    0.125,
    "log(1 + r^2/2): |phi'| <= 1/sqrt 2 at r^2 = 2, -1/8 <= phi'' <= 1 at r^2 = 6 and 0, "
    "|phi'''| <= 1.03033 at r = 2 - sqrt 2",
    linear.ROBUST,
)
LOG_COSH = LinearLoss(
    1.0,
    1.0,
    4.0 / (3.0 * math.sqrt(3.0)),
    0.0,
    "log cosh r: |phi'| <= 1, 0 <= phi'' <= 1 at 0, |phi'''| <= 4/(3 sqrt 3)",
    linear.LOG_COSH,
)
SQUARE = LinearLoss(math.inf, 1.0, 0.0, 0.0, "r^2/2: phi'' = 1, phi''' = 0", linear.SQUARE)
