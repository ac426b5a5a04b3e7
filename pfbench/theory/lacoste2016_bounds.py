"""The bounds of lacoste2016 (THEORY section 4), in the paper's symbols."""

import math


def decrease(gap: float, C: float) -> float:
    """Return min{g^2/(2C), g - (C/2) [g > C]}, what a step takes off f at least (9)."""
    return min(gap * gap / (2.0 * C), gap - (C / 2.0 if gap > C else 0.0))


def least_gap(h0: float, C: float, t: int) -> float:
    """Return max{2 h0, C}/sqrt(t+1), the bound of the least gap up to t (theorem 1, (6))."""
    return max(2.0 * h0, C) / math.sqrt(t + 1.0)


def sharp_least_gap(h0: float, C: float, t: int) -> float:
    """Return the sharper bound (15): h0/(t+1) + C/2 while t+1 <= 2 h0/C, else as (6)."""
    if t + 1.0 <= 2.0 * h0 / C:
        return h0 / (t + 1.0) + C / 2.0
    return math.sqrt(2.0 * h0 * C / (t + 1.0))
